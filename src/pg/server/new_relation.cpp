#include "pg/server/new_relation.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {

void raise_renamed(const char* name) {
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_IN_USE),
             errmsg("\"%s\" or its schema was renamed meanwhile", name), errhint("Try again.")));
}

void check_new(const char* name, Oid schema) {
    if (OidIsValid(get_relname_relid(name, schema)))
        ereport(ERROR,
                (errcode(ERRCODE_DUPLICATE_TABLE), errmsg("relation \"%s\" already exists", name)));
}

Oid new_relation(const char* name, Oid schema) {
    HeapTuple row = SearchSysCache2(RELNAMENSP, CStringGetDatum(name), ObjectIdGetDatum(schema));
    const bool is_new = HeapTupleIsValid(row) &&
                        TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(row->t_data));
    if (!is_new)
        raise_renamed(name);
    const Oid relation = reinterpret_cast<const FormData_pg_class*>(GETSTRUCT(row))->oid;
    ReleaseSysCache(row);
    return relation;
}

} // namespace dp_counter::pg
