#include "pg/sources/groups_from.hpp"

#include "pg/persons/groups.hpp"
#include "pg/server/plain_value.hpp"
#include "pg/server/relations.hpp"
#include "pg/sources/relations_read.hpp"

extern "C" {
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "executor/spi.h"
#include "storage/lmgr.h"
#include "utils/array.h"
}

namespace dp_counter::pg {

namespace {

void check_table(Oid table) {
    LockRelationOid(table, AccessShareLock);
    check_exists(table);
    const char kind = get_rel_relkind(table);
    if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE)
        ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                        errmsg("groups_from: \"%s\" is not a table", name_of_relation(table)),
                        errhint("It is read once. Store the groups in a table.")));
}

/// The column's values as an array of text, or of integers.
Datum read_table(Oid table, const char* column) {
    const AttrNumber number = get_attnum(table, column);
    if (number <= InvalidAttrNumber)
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
                        errmsg("groups_column: column \"%s\" of \"%s\" does not exist", column,
                               name_of_relation(table))));
    const Oid type = get_atttype(table, number);
    SPI_connect();
    const char* sql = psprintf("SELECT pg_catalog.array_agg(%s ORDER BY g.name) FROM "
                               "(SELECT %s FROM %s LIMIT %d) AS g (name)",
                               plain_type(type) == INT8OID ? "g.name" : sql_of_text("g.name", type),
                               quote_identifier(column), quoted_name(table), kMostGroups + 1);
    // Not read-only: by a snapshot of its own, after it has waited for the table.
    if (SPI_execute(sql, false, 1) != SPI_OK_SELECT)
        elog(ERROR, "could not read \"%s\"", name_of_relation(table));
    bool is_empty = false;
    const Datum texts = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_empty);
    const Datum array = SPI_datumTransfer(
        is_empty ? PointerGetDatum(construct_empty_array(TEXTOID)) : texts, false, -1);
    SPI_finish();
    return array;
}

} // namespace

WrittenGroups read_written_groups(const Argument& groups, const Argument& table,
                                  const Argument& column) {
    if (table.isnull != column.isnull)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("%s requires %s", table.isnull ? "groups_column" : "groups_from",
                               table.isnull ? "groups_from" : "groups_column"),
                        errhint("Name a table and its column that contains the groups.")));
    if (table.isnull)
        return {groups, InvalidOid};
    if (!groups.isnull)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("groups and groups_from exclude each other")));
    const Oid relation = DatumGetObjectId(table.value);
    check_table(relation);
    return {{read_table(relation, TextDatumGetCString(column.value)), false}, relation};
}

void check_not_read(const WrittenGroups& groups, Oid source) {
    if (!OidIsValid(groups.table))
        return;
    if (OidIsValid(first_read(source, find_all_inheritors(groups.table, NoLock, nullptr))))
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                 errmsg("groups_from: source \"%s\" reads \"%s\"", name_of_relation(source),
                        name_of_relation(groups.table)),
                 errdetail("The groups are public, and the rows of a source are secret."),
                 errhint("Store the groups in another table, which is known without the rows.")));
}

} // namespace dp_counter::pg
