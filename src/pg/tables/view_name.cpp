// The type of a view in the tables that dumps contain: its OID, written as its qualified name.
//
// A regclass would not do: its input raises an error where a dump lacks one view, and so all rows
// of the table would be lost; and it writes the OID of a view that is gone as a number, which may
// be another relation's where it is restored.
#include <cstring>

#include "pg/server/postgres_api.hpp"
#include "pg/server/relations.hpp"

extern "C" {
#include "catalog/namespace.h"
#include "utils/varlena.h"
}

namespace {

constexpr const char* kNone = "-";

} // namespace

/// The view of this name; none where there is no such view.
DP_FUNCTION(dp_counter_view_name_in) {
    const char* name = PG_GETARG_CSTRING(0);
    if (std::strcmp(name, kNone) == 0)
        PG_RETURN_OID(InvalidOid);
    List* names = textToQualifiedNameList(cstring_to_text(name));
    const Oid view = RangeVarGetRelid(makeRangeVarFromNameList(names), NoLock, true);
    PG_RETURN_OID(dp_counter::pg::is_view(view) ? view : InvalidOid);
}

/// Its qualified name; a minus sign where it is gone.
DP_FUNCTION(dp_counter_view_name_out) {
    const Oid view = PG_GETARG_OID(0);
    PG_RETURN_CSTRING(dp_counter::pg::is_view(view) ? dp_counter::pg::quoted_name(view)
                                                    : pstrdup(kNone));
}
