#include <cstring>

#include "pg/tables/counters_table.hpp"

#include "core/accuracy/anchored_error.hpp"
#include "core/accuracy/bins_error.hpp"
#include "core/accuracy/box_error.hpp"

#include "pg/server/arguments.hpp"
#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/quiet_statistics.hpp"
#include "pg/server/relations.hpp"
#include "pg/tables/dumps.hpp"
#include "pg/tables/faces.hpp"
#include "pg/tables/secret_tables.hpp"

extern "C" {
#include "commands/sequence.h"
#include "utils/snapmgr.h"
}

namespace dp_counter::pg {

namespace {

enum Column {
    kNumber,
    kCounter,
    kEpsilon,
    kSensitivity,
    kHorizon,
    kMechanism,
    kK,
    kSteps,
    kReleasedAt,
    kStddev,
    kEvery,
    kCumulative,
    kLastFailed,
    kLastSqlstate,
    kEndedAt,
    kSystem,
    kDatabase,
    kTimeline
};

SecretColumn mechanism_column(const char* name) {
    return {kMechanism, CStringGetTextDatum(name)};
}

/// NULL: hats with chosen radices, or independent noise.
SecretColumn k_column(std::int32_t k) {
    return {kK, Int32GetDatum(k), k == 0};
}

SecretColumn system_column(const Place& place) {
    return {kSystem, Int64GetDatum(place.system)};
}

SecretColumn database_column(const Place& place) {
    return {kDatabase, ObjectIdGetDatum(place.database)};
}

SecretColumn timeline_column(const Place& place) {
    return {kTimeline, Int32GetDatum(place.timeline)};
}

void replace_failure(std::int64_t number, const SecretColumn& at, const SecretColumn& sqlstate) {
    without_statistics([&] {
        (void)replace_in_secret_row(kCounters, {number_key(number)}, {at, sqlstate});
    });
}

} // namespace

std::optional<bool> find_ended(Oid counter) {
    return find_ended_numbered(number_of_counter(counter));
}

std::optional<bool> find_ended_numbered(std::int64_t number) {
    std::optional<bool> ended;
    without_statistics([&] {
        (void)visit_secret_rows(kCounters, {number_key(number)},
                                [&](const Datum*, const bool* nulls) { ended = !nulls[kEndedAt]; });
    });
    return ended;
}

std::int64_t number_of_counter(Oid counter) {
    std::int64_t number = 0;
    without_statistics([&] { number = number_in(kFacesOfCounters, counter); });
    return number;
}

Oid counter_numbered(std::int64_t number) {
    return face_of(kFacesOfCounters, number);
}

bool read_counter(std::int64_t number, CounterRow& row) {
    return visit_secret_rows(
        kCounters, {number_key(number)}, [&](const Datum* values, const bool* nulls) {
            row.number = number;
            row.horizon = nulls[kHorizon] ? kUnbounded : DatumGetInt64(values[kHorizon]);
            row.steps = DatumGetInt64(values[kSteps]);
            row.released_at = nulls[kReleasedAt] ? 0 : DatumGetTimestampTz(values[kReleasedAt]);
            row.stddev = nulls[kStddev] ? 0 : DatumGetFloat8(values[kStddev]);
            row.cumulative = DatumGetBool(values[kCumulative]);
            row.epsilon = DatumGetNumericCopy(values[kEpsilon]);
            row.sensitivity = DatumGetInt64(values[kSensitivity]);
            row.mechanism = DatumGetTextPCopy(values[kMechanism]);
            row.k = nulls[kK] ? 0 : DatumGetInt32(values[kK]);
            const char* mechanism = text_to_cstring(row.mechanism);
            row.is_anchored = std::strcmp(mechanism, kAnchoredName) == 0;
            row.is_in_totals = std::strcmp(mechanism, kBinsName) == 0;
            row.block = row.is_anchored || std::strcmp(mechanism, kBoxName) == 0 ? row.k : 0;
            row.has_ended = !nulls[kEndedAt];
            row.has_every = !nulls[kEvery];
            row.has_failed = !nulls[kLastFailed];
            row.place = {DatumGetInt64(values[kSystem]), DatumGetObjectId(values[kDatabase]),
                         DatumGetInt32(values[kTimeline])};
            if (row.has_every)
                row.every = *DatumGetIntervalP(values[kEvery]);
        });
}

PrivacyUnit privacy_of(const CounterRow& row) {
    return read_unit({Float8GetDatum(mechanism_epsilon(row.epsilon)), false},
                     {Int64GetDatum(row.sensitivity), false});
}

namespace {

/// Also by a row of another transaction that is open.
bool is_used(std::int64_t number) {
    constexpr int kNumberOfEntry = 2; // the column
    SnapshotData dirty;
    InitDirtySnapshot(dirty);
    const auto has = [&](const SecretTable& names, int column = 0) {
        return has_secret_row(names, {number_key(number, column)}, &dirty);
    };
    return has(kCounters) || has(kBudgets) || has(kDroppedBudgets) || has(kEntriesByEntry) ||
           has(kEntriesOfCounter, kNumberOfEntry);
}

} // namespace

std::int64_t next_number() {
    for (;;) {
        const std::int64_t number = nextval_internal(secret_relation("counters_number_seq"), false);
        // The lock is that of a counter: never taken of one that is there.
        if (!is_used(number) && try_lock_number(kCounters, number)) {
            if (!is_used(number)) // by who had the lock meanwhile
                return number;
            unlock_number(kCounters, number);
        }
        CHECK_FOR_INTERRUPTS();
    }
}

void have_number(std::int64_t number) {
    unlock_number(kCounters, number);
}

void insert_counter(Oid counter, std::int64_t number, Numeric epsilon, const Request& request,
                    const MechanismSpec* spec, const NoiseOfPeriods& noise, const Interval* every) {
    keep_in_dumps();
    const Place here = this_place();
    insert_secret_row(
        kCounters,
        {{kCounter, ObjectIdGetDatum(counter)},
         {kNumber, Int64GetDatum(number)},
         {kEpsilon, NumericGetDatum(epsilon)},
         {kSensitivity, Int64GetDatum(request.unit.sensitivity)},
         {kHorizon, Int64GetDatum(request.horizon), request.horizon == kUnbounded},
         mechanism_column(spec != nullptr ? mechanism_name(spec->mechanism) : noise.name),
         k_column(spec != nullptr ? spec->radix : noise.k),
         {kSteps, Int64GetDatum(0)},
         {kEvery, IntervalPGetDatum(every), every == nullptr},
         {kCumulative, BoolGetDatum(spec != nullptr)},
         system_column(here),
         database_column(here),
         timeline_column(here)});
    have_number(number);
}

void update_counter(const MechanismSpec* spec, const CounterRow& row) {
    if (!replace_in_secret_row(kCounters, {number_key(row.number)},
                               {spec != nullptr
                                    ? mechanism_column(mechanism_name(spec->mechanism))
                                    : SecretColumn{kMechanism, PointerGetDatum(row.mechanism)},
                                k_column(spec != nullptr ? spec->radix : row.k),
                                {kSteps, Int64GetDatum(row.steps)},
                                {kReleasedAt, TimestampTzGetDatum(row.released_at)},
                                {kStddev, Float8GetDatum(row.stddev)}}))
        raise_dropped();
}

void store_failure(Oid counter, TimestampTz at, int sqlstate) {
    const std::int64_t number = number_of_counter(counter);
    if (try_lock_number(kCounters, number))
        replace_failure(number, {kLastFailed, TimestampTzGetDatum(at)},
                        {kLastSqlstate, CStringGetTextDatum(unpack_sql_state(sqlstate))});
}

void forget_failure(std::int64_t number) {
    replace_failure(number, {kLastFailed, 0, true}, {kLastSqlstate, 0, true});
}

List* all_counters() {
    List* counters = NIL;
    visit_secret_rows(kCounters, {}, [&](const Datum* values, const bool*) {
        const Oid counter = DatumGetObjectId(values[kCounter]);
        if (is_face(counter, DatumGetInt64(values[kNumber])))
            counters = lappend_oid(counters, counter);
    });
    return counters;
}

void raise_ended(Oid counter, const char* hint) {
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("counter \"%s\" has ended", name_of_relation(counter)), errhint("%s", hint)));
}

void move_counter_here(std::int64_t number) {
    const Place here = this_place();
    if (!replace_in_secret_row(kCounters, {number_key(number)},
                               {system_column(here), database_column(here), timeline_column(here)}))
        raise_dropped();
}

void mark_counter_ended(std::int64_t number) {
    if (!replace_in_secret_row(kCounters, {number_key(number)},
                               {{kEndedAt, TimestampTzGetDatum(GetCurrentTimestamp())},
                                {kLastFailed, 0, true},
                                {kLastSqlstate, 0, true}}))
        raise_dropped();
}

} // namespace dp_counter::pg
