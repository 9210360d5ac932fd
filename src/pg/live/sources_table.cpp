#include "pg/live/sources_table.hpp"

#include "pg/live/secret_tables.hpp"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
}

namespace dp_counter::pg {

namespace {

enum Column { kSource, kBudget, kPerson, kAt, kTimeZone, kPersonWise, kColumns };

SysScanDesc begin_scan(Relation table, Oid source) {
    ScanKeyData key;
    ScanKeyInit(&key, kSource + 1, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(source));
    return systable_beginscan(table, secret_relation(kSources.index), true, nullptr, 1, &key);
}

} // namespace

void lock_source(Oid source, bool exclusive) {
    LockDatabaseObject(secret_relation(kSources.table), source, 0,
                       exclusive ? ExclusiveLock : ShareLock);
}

bool read_source(Oid source, SourceRow& row) {
    Relation table = open_secret(kSources);
    SysScanDesc scan = begin_scan(table, source);
    HeapTuple tuple = systable_getnext(scan);
    const bool found = HeapTupleIsValid(tuple);
    if (found) {
        Datum values[kColumns];
        bool nulls[kColumns];
        heap_deform_tuple(tuple, RelationGetDescr(table), values, nulls);
        row = {DatumGetObjectId(values[kBudget]), DatumGetInt16(values[kPerson]),
               DatumGetInt16(values[kAt]), TextDatumGetCString(values[kTimeZone]),
               DatumGetBool(values[kPersonWise])};
    }
    systable_endscan(scan);
    close_secret(table);
    return found;
}

void insert_source(Oid source, const SourceRow& row) {
    Datum values[kColumns] = {ObjectIdGetDatum(source),           ObjectIdGetDatum(row.budget),
                              Int16GetDatum(row.person),          Int16GetDatum(row.at),
                              CStringGetTextDatum(row.time_zone), BoolGetDatum(row.person_wise)};
    bool nulls[kColumns] = {};
    Relation table = open_secret(kSources);
    HeapTuple tuple = heap_form_tuple(RelationGetDescr(table), values, nulls);
    CatalogTupleInsert(table, tuple);
    heap_freetuple(tuple);
    close_secret(table);
    CommandCounterIncrement();
}

void delete_source(Oid source) {
    Relation table = open_secret(kSources);
    SysScanDesc scan = begin_scan(table, source);
    HeapTuple row = systable_getnext(scan);
    if (HeapTupleIsValid(row))
        CatalogTupleDelete(table, &row->t_self);
    systable_endscan(scan);
    close_secret(table);
    CommandCounterIncrement();
}

void check_charges_no_source(Oid budget, const char* name) {
    Relation table = open_secret(kSources);
    ScanKeyData key;
    ScanKeyInit(&key, kBudget + 1, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(budget));
    SysScanDesc scan = systable_beginscan(table, InvalidOid, false, nullptr, 1, &key);
    HeapTuple row = systable_getnext(scan);
    if (HeapTupleIsValid(row)) {
        bool is_null = false;
        const Datum source = heap_getattr(row, kSource + 1, RelationGetDescr(table), &is_null);
        ereport(ERROR, (errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
                        errmsg("cannot drop budget %s because a source is charged to it", name),
                        errdetail("It is \"%s\".", get_rel_name(DatumGetObjectId(source))),
                        errhint("dp_source_drop makes that an ordinary view again.")));
    }
    systable_endscan(scan);
    close_secret(table);
}

} // namespace dp_counter::pg
