#include <cstring>

#include "pg/sources/reattach.hpp"

#include "pg/budgets/budgets.hpp"
#include "pg/budgets/unit.hpp"
#include "pg/calendar/time_zones.hpp"
#include "pg/persons/columns.hpp"
#include "pg/server/plain_names.hpp"
#include "pg/server/plain_value.hpp"
#include "pg/server/relations.hpp"
#include "pg/tables/open_counter.hpp"

extern "C" {
#include "storage/lmgr.h"
#include "utils/array.h"
}

namespace dp_counter::pg {

namespace {

/// The elements of the array. A column's type follows its name.
enum Part {
    kView,
    kPerson,
    kTime = kPerson + 2,
    kEvent = kTime + 2,
    kValue = kEvent + 2,
    kBy = kValue + 2,
    kParts = kBy + 2
};

/// Null where the counter has no such column.
const char* parts_of(Datum remembered, const char** parts) {
    Datum* texts = nullptr;
    bool* nulls = nullptr;
    int count = 0;
    deconstruct_array(DatumGetArrayTypeP(remembered), TEXTOID, -1, false, TYPALIGN_INT, &texts,
                      &nulls, &count);
    for (int i = 0; i < kParts; ++i)
        parts[i] = i < count && !nulls[i] ? TextDatumGetCString(texts[i]) : nullptr;
    return parts[kView];
}

[[noreturn]] void raise_cannot_go_on(Oid counter, Oid source, int sqlstate, const char* detail) {
    ereport(
        ERROR,
        (errcode(sqlstate),
         errmsg("counter \"%s\" cannot go on with view \"%s\"", name_of_relation(counter),
                name_of_relation(source)),
         errdetail("%s", detail),
         errhint("Its source, of this name, was dropped. Change the view or its declaration, or "
                 "end the counter first (dp_counter_end).")));
}

/// The column of this name; 0 where the counter reads none.
AttrNumber column_named(Oid counter, Oid source, const char* name) {
    if (name == nullptr)
        return InvalidAttrNumber;
    const AttrNumber column = get_attnum(source, name);
    if (column <= InvalidAttrNumber)
        raise_cannot_go_on(counter, source, ERRCODE_UNDEFINED_COLUMN,
                           psprintf("It reads column \"%s\", which the view does not have.", name));
    return column;
}

/// Raises an error where the view is not what the counter remembers.
void check_same(Oid counter, const SourceCounterRow& row, const SourceRow& source,
                bool are_same_persons, const char* const* before) {
    const char* now[kParts];
    (void)parts_of(remembered_of(row, source), now);
    for (int i = kPerson; i < kParts; i += 2) {
        const int type = i + 1;
        if (before[i] == nullptr)
            continue;
        const char* what = i == kPerson ? "The person"
                           : i == kTime ? "The time"
                                        : psprintf("Column \"%s\"", before[i]);
        if (std::strcmp(before[type], now[type]) != 0)
            raise_cannot_go_on(
                counter, row.source, ERRCODE_DATATYPE_MISMATCH,
                psprintf("%s is of type %s, and was of type %s.", what, now[type], before[type]));
        if (std::strcmp(before[i], now[i]) != 0 && !(i == kPerson && are_same_persons))
            raise_cannot_go_on(counter, row.source, ERRCODE_INVALID_PARAMETER_VALUE,
                               psprintf(R"(%s is in column "%s", and was in column "%s".%s)", what,
                                        now[i], before[i],
                                        i == kPerson
                                            ? " If each person has the same value in both, say so: "
                                              "same_persons => true."
                                            : ""));
    }
    const std::int32_t days = unit_of_source(source).per_days;
    if (digest_of_offsets(source.time_zone, row.since, days) != row.offsets)
        raise_cannot_go_on(counter, row.source, ERRCODE_INVALID_PARAMETER_VALUE,
                           psprintf("Time zone \"%s\" has other offsets from UTC than that of the "
                                    "counter's periods.",
                                    source.time_zone));
}

/// Whether the counter has no source, and had one with the name and owner of this view.
bool waits_for(const std::optional<OpenCounter>& counter, Oid view, const char** parts) {
    if (!counter || counter->row.has_ended || !counter->declared || counter->declared->analyst ||
        OidIsValid(counter->declared->source))
        return false;
    const char* name = parts_of(counter->declared->remembered, parts);
    return name != nullptr && std::strcmp(name, quoted_name(view)) == 0 && is_view(counter->view) &&
           owner_of(counter->view) == owner_of(view) &&
           OidIsValid(budget_of_counter(counter->row.number));
}

void check_budget(const OpenCounter& counter, const SourceRow& declared, Oid source) {
    const Oid budget = budget_of_counter(counter.row.number);
    if (!is_within(budget, declared.budget_number))
        raise_cannot_go_on(counter.view, source, ERRCODE_INVALID_PARAMETER_VALUE,
                           psprintf("It is charged to budget \"%s\".", shown_name(budget)));
}

void reattach(Oid counter, Oid source, const SourceRow& declared, bool are_same_persons) {
    const char* parts[kParts];
    if (!waits_for(find_counter(counter), source, parts))
        return;                                         // without a lock that others would wait for
    LockRelationOid(counter, ShareUpdateExclusiveLock); // its comment may change
    const auto found = lock_counter(counter);
    if (!waits_for(found, source, parts))
        return;
    check_budget(*found, declared, source);
    SourceCounterRow row = *found->declared;
    row.source = source;
    row.event = column_named(counter, source, parts[kEvent]);
    row.measure.column = column_named(counter, source, parts[kValue]);
    row.by = column_named(counter, source, parts[kBy]);
    check_same(counter, row, declared, are_same_persons, parts);
    attach_counter(found->row.number, row);
    ereport(NOTICE, (errmsg("counter \"%s\" goes on with source \"%s\"", name_of_relation(counter),
                            name_of_relation(source))));
}

} // namespace

Datum remembered_of(const SourceCounterRow& counter, const SourceRow& source) {
    const auto type = [&](AttrNumber column) {
        return format_type_be_qualified(column_type(counter.source, column));
    };
    const char* parts[kParts] = {};
    const auto add = [&](Part part, AttrNumber column) {
        if (column == InvalidAttrNumber)
            return;
        parts[part] = get_attname(counter.source, column, false);
        parts[part + 1] = type(column);
    };
    with_plain_names([&] {
        parts[kView] = quoted_name(counter.source);
        add(kPerson, source.person);
        parts[kPerson + 1] =
            format_type_be_qualified(plain_type(column_type(counter.source, source.person)));
        add(kTime, source.at);
        add(kEvent, counter.event);
        add(kValue, counter.measure.column);
        add(kBy, counter.by);
    });
    Datum texts[kParts] = {};
    bool nulls[kParts] = {};
    for (int i = 0; i < kParts; ++i) {
        nulls[i] = parts[i] == nullptr;
        texts[i] = nulls[i] ? Datum{0} : CStringGetTextDatum(parts[i]);
    }
    int size = kParts;
    int first = 1;
    return PointerGetDatum(
        construct_md_array(texts, nulls, 1, &size, &first, TEXTOID, -1, false, TYPALIGN_INT));
}

bool have_same_types(Datum remembered, Datum other) {
    const char* parts[kParts];
    const char* others[kParts];
    (void)parts_of(remembered, parts);
    (void)parts_of(other, others);
    const auto is_same = [&](int type) {
        return parts[type] != nullptr && std::strcmp(parts[type], others[type]) == 0;
    };
    return is_same(kPerson + 1) && is_same(kTime + 1);
}

void raise_source_dropped(Oid counter) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("the source of counter \"%s\" was dropped", name_of_relation(counter)),
                    errhint("Its releases remain. It goes on when its owner declares a view of the "
                            "same name as a source of the same budget again. Or end it with "
                            "dp_counter_end.")));
}

void reattach_counters(Oid source, const SourceRow& row, bool are_same_persons) {
    const ListCell* cell = nullptr;
    foreach (cell, counters_of_source(InvalidOid))
        reattach(lfirst_oid(cell), source, row, are_same_persons);
}

} // namespace dp_counter::pg
