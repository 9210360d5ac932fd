// A report: a release about a source into a new table of the caller, to choose a bound from.
//
// One transaction of a worker charges the budget, reads the rows, draws the noise, stores the
// result in the table, and is flushed. It commits before anyone sees the result, who could
// otherwise roll it back: from the draw to the commit no user's code runs, and no message shows a
// number.
#pragma once

#include <cstdint>

#include "core/noise/privacy_unit.hpp"
#include "pg/budgets/sweep.hpp"
#include "pg/budgets/unit.hpp"
#include "pg/persons/reader.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/tables/sources_table.hpp"

extern "C" {
#include "utils/array.h"
#include "utils/numeric.h"
}

namespace dp_counter::pg {

/// A call of a procedure that reports, with the arguments that all have.
struct ReportCall {
    FunctionCallInfo fcinfo;
    const char* procedure;
    const char* worker; ///< its entry point
    Argument source, name, epsilon, event, since, until;

    /// From a struct that has these among the procedure's arguments.
    template <class Arguments>
    ReportCall(FunctionCallInfo info, const char* procedure_name, const char* worker_name,
               const Arguments& arguments)
        : fcinfo(info), procedure(procedure_name), worker(worker_name), source(arguments.source),
          name(arguments.name), epsilon(arguments.epsilon), event(arguments.event),
          since(arguments.since), until(arguments.until) {}
};

/// What is asked of the worker. Trivial; the epsilon, a numeric, follows, and the list if there is
/// one.
struct ReportRequest {
    Oid source;
    AttrNumber event;
    AttrNumber column; ///< of a sum or an average whose upper bound is asked for, or 0
    AttrNumber by;     ///< of the groups that are asked for, or 0
    bool has_list;     ///< ask_for_report says it
    EntryRange range;
    Oid schema; ///< of the table that it creates
    NameData name;
    std::int32_t most;
    double plan_epsilon;
    std::int64_t weight; ///< the cells of a period times what one more of the bound adds in each
    Interval every;
};

/// In the session that calls: checks the arguments, and fills what all reports ask. Raises an error
/// for what can be refused before anything is read.
[[nodiscard]] ReportRequest begin_report(const ReportCall& call);

/// Asks the worker, and raises its error. `list` is an array of groups, or null.
void ask_for_report(const ReportCall& call, ReportRequest request, const ArrayType* list = nullptr);

/// In the worker. Trivially destructible.
struct Report {
    const ReportRequest* request;
    ArrayType* list;     ///< of groups, or null
    PrivacyUnit privacy; ///< of sensitivity 1
    Numeric epsilon;     ///< as declared
    SourceRow row;
    Oid time_type;
    BudgetUnit unit;
    const char* table; ///< qualified and quoted
};

/// Makes the report in one transaction: locks the source, charges its budget for the range of
/// times, as "purpose in table", calls `make`, which reads and stores, and commits. If that returns
/// true, it has stored what bounds keep: another transaction writes the COMMENTs of the source's
/// counters anew.
void serve_report(const char* request, const char* purpose, bool (*make)(const Report& report));

/// The whole days in a range: from `first` to before `end`, counted from 2000-01-01, of infinite
/// times before and after all.
struct WholeDays {
    std::int64_t first, end;
};
[[nodiscard]] WholeDays whole_days(EntryRange range);

/// Reads the rows in the range. Calls add(most, context) for each unit with an event: with the
/// number of its events or, with a column of integers, the greatest value of its events. Under a
/// budget that renews these are the own windows that are wholly in the range: those cut at its ends
/// look small.
void read_units(const Report& report, AttrNumber column, void (*add)(std::int64_t, void*),
                void* context);

/// Receives the events of these units, one unit after the other, in a memory context that is reset
/// after each event. `end` comes for the units that count alone, `is_first` for each.
struct UnitConsumer {
    void (*event)(const PlainValue& person, const SourceEvent& event, bool is_first, void* context);
    void (*end)(void* context);
    void* context;
};

/// Reads the rows in the range, as read_units does.
void read_events_of_units(const Report& report, AttrNumber column, const UnitConsumer& consumer);

/// Makes the table, before the rows are read: it runs the event triggers of others, as who calls,
/// and what functions of the view's owner leave in this session must not reach them. The view is
/// evaluated read only, so these functions cannot change the table.
/// Raises object_not_in_prerequisite_state if an event trigger changes its columns, or adds
/// an index.
[[nodiscard]] Oid create_report_table(const Report& report, const char* columns, const Oid* types,
                                      int count);

/// Inserts a row by no statement, whose plan and parameters debug_print_plan and auto_explain show.
void insert_report_row(Oid table, Datum* values, bool* nulls);

} // namespace dp_counter::pg
