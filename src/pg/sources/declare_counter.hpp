// Reads and checks the declaration of a counter over a source.
#pragma once

#include <cstdint>
#include <optional>

#include "pg/budgets/budgets.hpp"
#include "pg/budgets/unit.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/sources/read_measure.hpp"
#include "pg/tables/open_counter.hpp"
#include "pg/tables/public_view.hpp"
#include "pg/tables/sources_table.hpp"

namespace dp_counter::pg {

/// The greatest bound per person: so many events are in memory.
inline constexpr std::int64_t kMostPerPerson = 1000000;

/// The arguments of dp_counter_create, in the order of SQL.
struct SourceArguments {
    Argument name, source, epsilon, every, since, horizon, event, per_person;
    MeasureArguments measure;
    Argument by, groups, groups_from, groups_column, others, grace, cumulative, k, mechanism;
    Argument budget, continues, same_persons;
};

/// Needs no destructor.
struct SourceDeclaration {
    SourceCounterRow row;
    SourceRow source;
    BudgetUnit unit;
    Oid budget;                           ///< that is charged
    Oid owner;                            ///< the source's, unless it is the caller; else invalid
    std::optional<OpenCounter> continued; ///< the counter that it continues, if it does
    Oid replaced;             ///< the same, of one that has closed no step: it is dropped
    Timestamp replaced_since; ///< of that one
    EntryRange range;         ///< for which its budget is charged
    bool cumulative;          ///< else each period is released by itself
    std::int64_t sensitivity; ///< the most that one unit can change, in l1; of box noise in blocks
    std::int32_t block;       ///< of box and anchored noise the periods of a block; else 0
    bool is_in_totals;        ///< a histogram whose bins are the steps of running totals
    std::int32_t streams;
    Datum* groups;         ///< their names, texts; null without `by`; that of `others` is the last
    ViewColumn columns[2]; ///< of the counter's view: the period, and the group
    int column_count;

    /// Of a counter that is not cumulative.
    [[nodiscard]] NoiseOfPeriods noise() const;
};

/// Reads a counter's declaration, which is to be made unless it is a plan, and locks its source and
/// budget against DROP until the transaction ends. Raises an error for any wrong argument, first
/// for missing privileges (analyst.hpp).
[[nodiscard]] SourceDeclaration read_declaration(const SourceArguments& arguments, bool is_plan);

} // namespace dp_counter::pg
