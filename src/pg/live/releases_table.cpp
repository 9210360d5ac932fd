#include "pg/live/releases_table.hpp"

#include "pg/live/secret_tables.hpp"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
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
enum PublicationColumn { kPublishedCounter, kSteps, kPublicationColumns };

/// A scan of the counter's rows: the counter is the first column of both tables.
SysScanDesc begin_scan(Relation table, const SecretTable& names, std::int32_t counter) {
    ScanKeyData key;
    ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(counter));
    return systable_beginscan(table, secret_relation(names.index), true, nullptr, 1, &key);
}

void delete_rows(const SecretTable& names, std::int32_t counter) {
    Relation table = open_secret(names);
    SysScanDesc scan = begin_scan(table, names, counter);
    HeapTuple row = nullptr;
    while (HeapTupleIsValid(row = systable_getnext(scan))) {
        CHECK_FOR_INTERRUPTS();
        CatalogTupleDelete(table, &row->t_self);
    }
    systable_endscan(scan);
    close_secret(table);
    CommandCounterIncrement();
}

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
        CHECK_FOR_INTERRUPTS();
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
    Datum values[kPublicationColumns] = {Int32GetDatum(counter), Int64GetDatum(0)};
    bool nulls[kPublicationColumns] = {};
    Relation table = open_secret(kPublications);
    HeapTuple tuple = heap_form_tuple(RelationGetDescr(table), values, nulls);
    CatalogTupleInsert(table, tuple);
    heap_freetuple(tuple);
    close_secret(table);
    CommandCounterIncrement();
}

void publish_steps(std::int32_t counter, std::int64_t steps) {
    Datum values[kPublicationColumns] = {Int32GetDatum(counter), Int64GetDatum(steps)};
    bool nulls[kPublicationColumns] = {};
    bool replaces[kPublicationColumns] = {false, true};
    Relation table = open_secret(kPublications);
    SysScanDesc scan = begin_scan(table, kPublications, counter);
    HeapTuple old = systable_getnext(scan);
    if (!HeapTupleIsValid(old))
        ereport(ERROR,
                (errcode(ERRCODE_DATA_CORRUPTED), errmsg("the counter's publication is missing"),
                 errhint("Restore the extension's tables from a backup, or drop the counter.")));
    HeapTuple changed = heap_modify_tuple(old, RelationGetDescr(table), values, nulls, replaces);
    CatalogTupleUpdate(table, &old->t_self, changed);
    heap_freetuple(changed);
    systable_endscan(scan);
    close_secret(table);
    CommandCounterIncrement();
}

void delete_releases(std::int32_t counter) {
    delete_rows(kReleasesTable, counter);
    delete_rows(kPublications, counter);
}

} // namespace dp_counter::pg
