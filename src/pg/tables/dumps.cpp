#include "pg/tables/dumps.hpp"

#include "pg/tables/secret_tables.hpp"

extern "C" {
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_extension.h"
#include "commands/dbcommands.h"
#include "commands/extension.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
}

namespace dp_counter::pg {
namespace {

struct Dumped {
    const char* name;
    const char* condition = "";
};

constexpr Dumped kDumped[] = {
    {"counters_number_seq"},
    {"counters"},
    {"streams"},
    {"releases"},
    {"publications"},
    {"sources"},
    {"contributions"},
    {"source_counters"},
    {"groups"},
    {"tallies"},
    // Without slots of counters that were dropped or have ended: a recorder may commit afterwards.
    {"events",
     "WHERE number IN (SELECT number FROM dp_counter_private.counters WHERE ended_at IS NULL)"},
    {"budgets"},
    {"dropped_budgets"},
    {"budget_entries"},
    {"source_history"},
    {"window_key"},
};

/// Whether all tables are declared: an older version may have had fewer.
bool is_declared(HeapTuple extension, Relation extensions) {
    bool is_null = false;
    const Datum tables = heap_getattr(extension, Anum_pg_extension_extconfig,
                                      RelationGetDescr(extensions), &is_null);
    return !is_null && ARR_DIMS(DatumGetArrayTypeP(tables))[0] == lengthof(kDumped);
}

void declare(HeapTuple extension, Relation extensions) {
    Datum tables[lengthof(kDumped)];
    Datum conditions[lengthof(kDumped)];
    for (std::size_t i = 0; i < lengthof(kDumped); ++i) {
        tables[i] = ObjectIdGetDatum(secret_relation(kDumped[i].name));
        conditions[i] = CStringGetTextDatum(kDumped[i].condition);
    }
    Datum values[Natts_pg_extension] = {};
    bool nulls[Natts_pg_extension] = {};
    bool replaced[Natts_pg_extension] = {};
    values[Anum_pg_extension_extconfig - 1] = PointerGetDatum(
        construct_array(tables, lengthof(kDumped), OIDOID, sizeof(Oid), true, TYPALIGN_INT));
    values[Anum_pg_extension_extcondition - 1] = PointerGetDatum(
        construct_array(conditions, lengthof(kDumped), TEXTOID, -1, false, TYPALIGN_INT));
    replaced[Anum_pg_extension_extconfig - 1] = true;
    replaced[Anum_pg_extension_extcondition - 1] = true;
    HeapTuple row =
        heap_modify_tuple(extension, RelationGetDescr(extensions), values, nulls, replaced);
    CatalogTupleUpdate(extensions, &row->t_self, row);
    CommandCounterIncrement(); // a COPY of many rows asks for each
}

/// Returns whether the tables were declared; if not, declares them if `declares`.
bool visit_extension(Oid oid, bool declares) {
    ScanKeyData key;
    ScanKeyInit(&key, Anum_pg_extension_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(oid));
    const LOCKMODE lock = declares ? RowExclusiveLock : AccessShareLock;
    Relation extensions = table_open(ExtensionRelationId, lock);
    SysScanDesc scan = systable_beginscan(extensions, ExtensionOidIndexId, true, nullptr, 1, &key);
    HeapTuple row = systable_getnext(scan);
    if (!HeapTupleIsValid(row))
        elog(ERROR, "extension %u does not exist", oid);
    const bool was_declared = is_declared(row, extensions);
    if (declares && !was_declared)
        declare(row, extensions);
    systable_endscan(scan);
    table_close(extensions, lock);
    return was_declared;
}

} // namespace

void keep_in_dumps() {
    const Oid extension = get_extension_oid("dp_counter", false);
    if (visit_extension(extension, false))
        return;
    // If two transactions create first counters, the second one waits, and checks again.
    LockDatabaseObject(ExtensionRelationId, extension, 0, ShareUpdateExclusiveLock);
    if (!visit_extension(extension, true) && !superuser())
        ereport(NOTICE,
                (errmsg("from now on pg_dump of database \"%s\" needs a superuser, or a role with "
                        "BYPASSRLS and pg_read_all_data",
                        get_database_name(MyDatabaseId)),
                 errhint("Any other role calls pg_dump -N dp_counter_private, which leaves out "
                         "counters, releases and budgets.")));
}

/// The CHECK constraint of counters and budgets, for rows that SQL inserts: those of a restored
/// dump. Unlike a trigger, it also runs with pg_restore --disable-triggers.
DP_FUNCTION(dp_counter_kept_in_dumps) {
    keep_in_dumps();
    PG_RETURN_BOOL(true);
}

} // namespace dp_counter::pg
