#include "pg/live/releases_table.hpp"

#include "pg/live/secret_tables.hpp"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
}

namespace dp_counter::pg {

namespace {

enum Column { kCounter, kStep, kReleasedAt, kCount, kStddev, kLow, kHigh, kColumns };

} // namespace

void insert_release(const CounterRow& row) {
    Datum values[kColumns] = {};
    const bool nulls[kColumns] = {};
    values[kCounter] = Int32GetDatum(row.number);
    values[kStep] = Int64GetDatum(row.steps);
    values[kReleasedAt] = TimestampTzGetDatum(row.released_at);
    values[kCount] = Int64GetDatum(row.count);
    values[kStddev] = Float8GetDatum(row.stddev);
    values[kLow] = Int64GetDatum(row.low);
    values[kHigh] = Int64GetDatum(row.high);
    Relation table = open_secret(kReleasesTable);
    HeapTuple tuple = heap_form_tuple(RelationGetDescr(table), values, const_cast<bool*>(nulls));
    CatalogTupleInsert(table, tuple);
    heap_freetuple(tuple);
    close_secret(table);
    CommandCounterIncrement();
}

void delete_releases(std::int32_t number) {
    Relation table = open_secret(kReleasesTable);
    ScanKeyData key;
    ScanKeyInit(&key, kCounter + 1, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(number));
    SysScanDesc scan =
        systable_beginscan(table, secret_relation(kReleasesTable.index), true, nullptr, 1, &key);
    HeapTuple row = nullptr;
    while (HeapTupleIsValid(row = systable_getnext(scan)))
        CatalogTupleDelete(table, &row->t_self);
    systable_endscan(scan);
    close_secret(table);
    CommandCounterIncrement();
}

} // namespace dp_counter::pg
