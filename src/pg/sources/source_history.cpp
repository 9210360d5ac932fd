#include "pg/sources/source_history.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "pg/server/as_role.hpp"
#include "pg/server/relations.hpp"
#include "pg/server/session_role.hpp"
#include "pg/tables/secret_tables.hpp"

extern "C" {
#include "lib/stringinfo.h"
#include "utils/fmgrprotos.h"
#include "utils/snapmgr.h"
}

namespace dp_counter::pg {

namespace {

enum Column { kBudget, kFacts, kRole = kFacts + 8, kSessionRole, kBookedAt };

constexpr int kFactCount = kRole - kFacts;

/// In the words of dp_source_create; null: for nothing.
const char* vouched_for(Oid source, const SourceRow& row) {
    StringInfoData words;
    initStringInfo(&words);
    if (row.person_wise)
        appendStringInfoString(&words, row.window_wise ? "window_wise" : "person_wise");
    const ListCell* cell = nullptr;
    foreach (cell, row.never_fails)
        appendStringInfo(&words, "%s%s",
                         foreach_current_index(cell) > 0
                             ? ", "
                             : (words.len > 0 ? "; never_fails " : "never_fails "),
                         quote_identifier(get_attname(
                             source, static_cast<AttrNumber>(lfirst_int(cell)), false)));
    return words.len > 0 ? words.data : nullptr;
}

/// Calls `work` where constants and names are written as everywhere else.
template <class Work>
void with_plain_texts(const Work& work) {
    static constexpr const char* kSettings[][2] = {{"datestyle", "ISO"},
                                                   {"intervalstyle", "postgres"},
                                                   {"timezone", "UTC"},
                                                   {"bytea_output", "hex"},
                                                   {"extra_float_digits", "1"},
                                                   {"xmloption", "content"},
                                                   {"lc_monetary", "C"},
                                                   {"quote_all_identifiers", "off"},
                                                   {"standard_conforming_strings", "on"}};
    as_role(GetUserId(), [&] {
        for (const auto& [name, value] : kSettings)
            (void)set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true,
                                    0, false);
        work();
    });
}

bool is_same(const char* fact, Datum booked, bool is_null) {
    return fact == nullptr ? is_null
                           : !is_null && std::strcmp(fact, TextDatumGetCString(booked)) == 0;
}

/// Whether the last row of this budget and source has them.
bool is_booked(std::int64_t budget, const char* const* facts) {
    TimestampTz last = DT_NOBEGIN;
    bool are_same = false;
    visit_secret_rows(
        kSourceHistory, {number_key(budget, kBudget)}, [&](const Datum* values, const bool* nulls) {
            const TimestampTz booked_at = DatumGetTimestampTz(values[kBookedAt]);
            if (booked_at < last || !is_same(facts[0], values[kFacts], nulls[kFacts]))
                return;
            last = booked_at;
            are_same = true;
            for (int i = 0; i < kFactCount; ++i)
                are_same = are_same && is_same(facts[i], values[kFacts + i], nulls[kFacts + i]);
        });
    return are_same;
}

} // namespace

void book_source(Oid source, const SourceRow& row) {
    const auto owner = [](Oid relation) { return GetUserNameFromId(owner_of(relation), false); };
    const char* texts[kFactCount]; // in the order of the columns; null where there is none
    PushActiveSnapshot(GetTransactionSnapshot()); // pg_get_viewdef reads the catalogs by SQL
    with_plain_texts([&] {
        const char* facts[] = {
            quoted_name(source),
            owner(source),
            OidIsValid(row.budget) ? owner(row.budget) : nullptr,
            get_attname(source, row.person, false),
            get_attname(source, row.at, false),
            row.time_zone,
            vouched_for(source, row),
            TextDatumGetCString(DirectFunctionCall1(pg_get_viewdef, ObjectIdGetDatum(source)))};
        std::copy_n(facts, std::size(texts), texts);
    });
    PopActiveSnapshot();
    if (is_booked(row.budget_number, texts))
        return;
    const auto text = [&](int fact) {
        return SecretColumn{kFacts + fact,
                            texts[fact] == nullptr ? Datum{0} : CStringGetTextDatum(texts[fact]),
                            texts[fact] == nullptr};
    };
    const auto role = [](int column, Oid user) {
        return SecretColumn{column, CStringGetTextDatum(GetUserNameFromId(user, false))};
    };
    insert_secret_row(kSourceHistory, {{kBudget, Int64GetDatum(row.budget_number)},
                                       text(0),
                                       text(1),
                                       text(2),
                                       text(3),
                                       text(4),
                                       text(5),
                                       text(6),
                                       text(7),
                                       role(kRole, GetUserId()),
                                       role(kSessionRole, session_role()),
                                       {kBookedAt, TimestampTzGetDatum(GetCurrentTimestamp())}});
}

} // namespace dp_counter::pg
