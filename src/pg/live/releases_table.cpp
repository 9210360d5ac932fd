#include "pg/live/releases_table.hpp"

#include "pg/live/progress.hpp"
#include "pg/live/secret_tables.hpp"

extern "C" {
#include "access/xact.h"
#include "catalog/indexing.h"
#include "utils/timestamp.h"
}

namespace dp_counter::pg {

namespace {

enum Column {
    kCounter,
    kStep,
    kStream,
    kPeriod,
    kReleasedAt,
    kCount,
    kStddev,
    kLow,
    kHigh,
    kColumns
};
enum PublicationColumn { kPublishedCounter, kSteps };

constexpr const char* kMissing = "the counter's publication is missing";

} // namespace

void insert_releases(std::int32_t counter, std::int32_t stream, TimestampTz released_at,
                     const TimestampTz* periods, const ClosedRelease* releases,
                     std::int64_t count) {
    bool nulls[kColumns] = {};
    Datum values[kColumns] = {};
    values[kCounter] = Int32GetDatum(counter);
    values[kStream] = Int32GetDatum(stream);
    values[kReleasedAt] = TimestampTzGetDatum(released_at);
    nulls[kPeriod] = periods == nullptr;
    Relation table = open_secret(kReleasesTable);
    CatalogIndexState indexes = CatalogOpenIndexes(table);
    for (std::int64_t i = 0; i < count; ++i) {
        check_progress();
        const CounterRelease& release = releases[i].release;
        const ReleaseInterval& interval = releases[i].interval;
        if (periods != nullptr)
            values[kPeriod] = TimestampTzGetDatum(periods[i]);
        values[kStep] = Int64GetDatum(release.step);
        values[kCount] = Int64GetDatum(release.count);
        values[kStddev] = Float8GetDatum(release.stddev);
        values[kLow] = Int64GetDatum(interval.low);
        values[kHigh] = Int64GetDatum(interval.high);
        HeapTuple tuple = heap_form_tuple(RelationGetDescr(table), values, nulls);
        CatalogTupleInsertWithInfo(table, tuple, indexes);
        heap_freetuple(tuple);
    }
    CatalogCloseIndexes(indexes);
    close_secret(table);
    CommandCounterIncrement();
}

void insert_publication(std::int32_t counter) {
    insert_secret_row(kPublications,
                      {{kPublishedCounter, Int32GetDatum(counter)}, {kSteps, Int64GetDatum(0)}});
}

std::int64_t published_steps(std::int32_t counter) {
    std::int64_t steps = 0;
    if (!visit_secret_rows(
            kPublications, {number_key(counter)},
            [&](const Datum* values, const bool*) { steps = DatumGetInt64(values[kSteps]); }))
        raise_damaged(kMissing);
    return steps;
}

void publish_steps(std::int32_t counter, std::int64_t steps) {
    if (!replace_in_secret_row(kPublications, {number_key(counter)},
                               {{kSteps, Int64GetDatum(steps)}}))
        raise_damaged(kMissing);
}

void delete_releases(std::int32_t counter) {
    delete_secret_rows(kReleasesTable, {number_key(counter)});
    delete_secret_rows(kPublications, {number_key(counter)});
}

} // namespace dp_counter::pg
