#include "pg/tables/source_counters_table.hpp"

#include "pg/server/quiet_statistics.hpp"
#include "pg/server/relations.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/secret_tables.hpp"
#include "pg/tables/sources_table.hpp"

extern "C" {
#include "storage/lmgr.h"
#include "utils/array.h"
}

namespace dp_counter::pg {

namespace {

enum Column {
    kNumber,
    kSource,
    kEvent,
    kMeasure,
    kValue,
    kLower,
    kUpper,
    kBins,
    kPerPerson,
    kBy,
    kGroups,
    kOthers,
    kEvery,
    kSince,
    kGrace,
    kEnded,
    kOffsets,
    kKey,
    kAnalyst,
    kBegun,
    kRemembered,
    kContinues,
    kContinued,
    kOldEpsilon,
    kOldPerPerson,
    kActive
};

/// The numbers of its counters, also of those that have ended, or whose views are lost.
List* numbers_of_source(Oid source) {
    List* numbers = NIL;
    visit_secret_rows(kCountersOfSource, {oid_key(source, kSource)},
                      [&](const Datum* values, const bool*) {
                          numbers = lappend_number(numbers, DatumGetInt64(values[kNumber]));
                      });
    sort_numbers(numbers); // in the order in which they were made
    return numbers;
}

/// Locks each counter as forget_source does, if nobody has to be waited for; else false.
bool try_lock_counters(Oid source) {
    const ListCell* cell = nullptr;
    foreach (cell, numbers_of_source(source)) {
        const Oid counter = counter_numbered(number_at(cell));
        if (OidIsValid(counter) && !ConditionalLockRelationOid(counter, ShareUpdateExclusiveLock))
            return false;
        if (!try_lock_number(kCounters, number_at(cell)))
            return false;
    }
    return true;
}

} // namespace

bool read_source_counter(std::int64_t number, SourceCounterRow& row) {
    return visit_secret_rows(
        kSourceCounters, {number_key(number)}, [&](const Datum* values, const bool* nulls) {
            const auto column = [&](Column place) -> AttrNumber {
                return static_cast<AttrNumber>(nulls[place] ? 0 : DatumGetInt16(values[place]));
            };
            row.source = DatumGetObjectId(values[kSource]);
            if (!is_view(row.source))
                row.source = InvalidOid;
            row.event = column(kEvent);
            row.measure = {measure_named(TextDatumGetCString(values[kMeasure])), column(kValue),
                           DatumGetInt64(values[kLower]), DatumGetInt64(values[kUpper])};
            if (!nulls[kBins])
                row.measure.bins = bins_in(values[kBins]);
            row.per_person = nulls[kPerPerson] ? 0 : DatumGetInt64(values[kPerPerson]);
            row.active = nulls[kActive] ? 0 : DatumGetInt32(values[kActive]);
            row.by = column(kBy);
            row.groups = nulls[kGroups] ? 0 : DatumGetInt32(values[kGroups]);
            row.others = nulls[kOthers] ? 0 : DatumGetInt32(values[kOthers]);
            row.every = *DatumGetIntervalP(values[kEvery]);
            row.since = DatumGetTimestamp(values[kSince]);
            row.grace = *DatumGetIntervalP(values[kGrace]);
            row.ended = nulls[kEnded] ? 0 : DatumGetTimestampTz(values[kEnded]);
            row.offsets = DatumGetInt64(values[kOffsets]);
            row.key = DatumGetByteaPCopy(values[kKey]);
            row.analyst = DatumGetBool(values[kAnalyst]);
            row.begun = DatumGetBool(values[kBegun]);
            row.remembered = PointerGetDatum(DatumGetArrayTypePCopy(values[kRemembered]));
            row.old = {};
            if (!nulls[kContinues])
                row.old = {DatumGetInt64(values[kContinues]), DatumGetTimestamp(values[kContinued]),
                           DatumGetNumericCopy(values[kOldEpsilon]),
                           DatumGetInt64(values[kOldPerPerson])};
        });
}

Oid source_of(Oid counter) {
    SourceCounterRow row;
    return read_source_counter(number_of_counter(counter), row) ? row.source : InvalidOid;
}

bool has_source(Oid counter) {
    bool found = false;
    without_statistics(
        [&] { found = has_secret_row(kSourceCounters, {number_key(number_of_counter(counter))}); });
    return found;
}

void insert_source_counter(std::int64_t number, const SourceCounterRow& row) {
    const auto column = [](Column place, AttrNumber read) -> SecretColumn {
        return {place, Int16GetDatum(read), read == InvalidAttrNumber};
    };
    const bool is_first = row.old.number == 0;
    const bool has_bins = !row.measure.bins.empty();
    insert_secret_row(kSourceCounters,
                      {{kNumber, Int64GetDatum(number)},
                       {kSource, ObjectIdGetDatum(row.source)},
                       column(kEvent, row.event),
                       {kMeasure, CStringGetTextDatum(name_of(row.measure.kind))},
                       column(kValue, row.measure.column),
                       {kLower, Int64GetDatum(row.measure.lower)},
                       {kUpper, Int64GetDatum(row.measure.upper)},
                       {kBins, has_bins ? array_of(row.measure.bins) : Datum{0}, !has_bins},
                       {kPerPerson, Int64GetDatum(row.per_person), row.per_person == 0},
                       column(kBy, row.by),
                       {kGroups, Int32GetDatum(row.groups), row.groups == 0},
                       {kOthers, Int32GetDatum(row.others), row.others == 0},
                       {kEvery, IntervalPGetDatum(&row.every)},
                       {kSince, TimestampGetDatum(row.since)},
                       {kGrace, IntervalPGetDatum(&row.grace)},
                       {kOffsets, Int64GetDatum(row.offsets)},
                       {kKey, PointerGetDatum(row.key)},
                       {kAnalyst, BoolGetDatum(row.analyst)},
                       {kBegun, BoolGetDatum(row.begun)},
                       {kRemembered, row.remembered},
                       {kContinues, Int64GetDatum(row.old.number), is_first},
                       {kContinued, TimestampGetDatum(row.old.end), is_first},
                       {kOldEpsilon, NumericGetDatum(row.old.epsilon), is_first},
                       {kOldPerPerson, Int64GetDatum(row.old.per_person), is_first},
                       {kActive, Int32GetDatum(row.active), row.active == 0}});
}

void mark_begun(std::int64_t number) {
    if (!replace_in_secret_row(kSourceCounters, {number_key(number)},
                               {{kBegun, BoolGetDatum(true)}}))
        raise_dropped();
}

void mark_ended(std::int64_t number, TimestampTz ended, std::int64_t offsets, Datum remembered) {
    if (!replace_in_secret_row(kSourceCounters, {number_key(number)},
                               {{kEnded, TimestampTzGetDatum(ended)},
                                {kOffsets, Int64GetDatum(offsets)},
                                {kRemembered, remembered}}))
        raise_dropped();
}

void attach_counter(std::int64_t number, const SourceCounterRow& row) {
    if (!replace_in_secret_row(
            kSourceCounters, {number_key(number)},
            {{kSource, ObjectIdGetDatum(row.source)},
             {kEvent, Int16GetDatum(row.event), row.event == InvalidAttrNumber},
             {kValue, Int16GetDatum(row.measure.column), row.measure.column == InvalidAttrNumber},
             {kBy, Int16GetDatum(row.by), row.by == InvalidAttrNumber}}))
        raise_dropped();
}

void update_groups(std::int64_t number, std::int32_t groups) {
    if (!replace_in_secret_row(kSourceCounters, {number_key(number)},
                               {{kGroups, Int32GetDatum(groups)}}))
        raise_dropped();
}

void forget_tally_key(std::int64_t number) {
    auto* empty = static_cast<bytea*>(palloc(VARHDRSZ));
    SET_VARSIZE(empty, VARHDRSZ);
    if (!replace_in_secret_row(kSourceCounters, {number_key(number)},
                               {{kKey, PointerGetDatum(empty)}}))
        raise_dropped();
}

bool give_back_tally_key(std::int64_t number, const bytea* key) {
    return replace_in_secret_row(kSourceCounters, {number_key(number)},
                                 {{kKey, PointerGetDatum(key)}});
}

bool has_tally_key(const SourceCounterRow& row) {
    return VARSIZE_ANY_EXHDR(row.key) != 0;
}

List* counters_of_source(Oid source) {
    List* counters = NIL;
    const ListCell* cell = nullptr;
    foreach (cell, numbers_of_source(source)) {
        const Oid counter = counter_numbered(number_at(cell));
        if (OidIsValid(counter) && !find_ended_numbered(number_at(cell)).value_or(true))
            counters = lappend_oid(counters, counter);
    }
    return counters;
}

void forget_source(Oid source) {
    const ListCell* cell = nullptr;
    foreach (cell, numbers_of_source(source)) {
        const Oid counter = counter_numbered(number_at(cell));
        if (OidIsValid(counter))
            LockRelationOid(counter, ShareUpdateExclusiveLock); // before its number, as others do
        lock_number(kCounters, number_at(cell));
        (void)replace_in_secret_row(kSourceCounters, {number_key(number_at(cell))},
                                    {{kSource, ObjectIdGetDatum(InvalidOid)}});
    }
}

void forget_lost_sources() {
    ListCell* cell = nullptr;
    foreach (cell, all_sources()) {
        const Oid source = lfirst_oid(cell);
        if (is_view(source) || !try_lock_number(kSources, source) || !try_lock_counters(source))
            continue;
        delete_source(source);
        forget_source(source);
    }
}

} // namespace dp_counter::pg
