#include "pg/sources/relations_read.hpp"

#include "pg/server/relations.hpp"

extern "C" {
#include "executor/spi.h"
}

namespace dp_counter::pg {

namespace {

constexpr const char* kReads =
    "WITH RECURSIVE reads (relation) AS (SELECT $1 UNION SELECT n.relation FROM reads AS r, "
    "LATERAL (SELECT d.refobjid FROM pg_catalog.pg_rewrite AS w, pg_catalog.pg_depend AS d "
    "WHERE w.ev_class OPERATOR(pg_catalog.=) r.relation "
    "AND d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_rewrite'::pg_catalog.regclass "
    "AND d.objid OPERATOR(pg_catalog.=) w.oid "
    "AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass "
    "UNION ALL "
    "SELECT d.refobjid FROM pg_catalog.pg_policy AS p, pg_catalog.pg_depend AS d "
    "WHERE p.polrelid OPERATOR(pg_catalog.=) r.relation "
    "AND d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_policy'::pg_catalog.regclass "
    "AND d.objid OPERATOR(pg_catalog.=) p.oid "
    "AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass "
    "UNION ALL "
    "SELECT i.inhrelid FROM pg_catalog.pg_inherits AS i "
    "WHERE i.inhparent OPERATOR(pg_catalog.=) r.relation) AS n (relation)) "
    "SELECT relation FROM reads";

} // namespace

List* relations_read(Oid view) {
    MemoryContext caller = CurrentMemoryContext;
    Oid types[] = {OIDOID};
    Datum values[] = {ObjectIdGetDatum(view)};
    SPI_connect();
    if (SPI_execute_with_args(kReads, 1, types, values, nullptr, false, 0) != SPI_OK_SELECT)
        elog(ERROR, "could not read what \"%s\" depends on", name_of_relation(view));
    List* relations = NIL;
    MemoryContext spi = MemoryContextSwitchTo(caller);
    for (uint64 i = 0; i < SPI_processed; ++i) {
        bool is_null = false;
        relations =
            lappend_oid(relations, DatumGetObjectId(SPI_getbinval(
                                       SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &is_null)));
    }
    MemoryContextSwitchTo(spi);
    SPI_finish();
    return relations;
}

Oid first_read(Oid view, const List* relations) {
    const ListCell* cell = nullptr;
    foreach (cell, relations_read(view))
        if (list_member_oid(relations, lfirst_oid(cell)))
            return lfirst_oid(cell);
    return InvalidOid;
}

} // namespace dp_counter::pg
