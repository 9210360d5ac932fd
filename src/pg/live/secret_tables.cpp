#include "pg/live/secret_tables.hpp"

extern "C" {
#include "access/table.h"
#include "catalog/namespace.h"
#include "utils/lsyscache.h"
}

namespace dp_counter::pg {

Oid secret_relation(const char* name) {
    const Oid schema = get_namespace_oid("dp_counter_private", true);
    const Oid relation = OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;
    if (!OidIsValid(relation))
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                        errmsg("table dp_counter_private.%s does not exist", name),
                        errhint("CREATE EXTENSION dp_counter makes it.")));
    return relation;
}

Relation open_secret(const SecretTable& table) {
    return table_open(secret_relation(table.table), RowExclusiveLock);
}

void close_secret(Relation relation) {
    table_close(relation, RowExclusiveLock);
}

} // namespace dp_counter::pg
