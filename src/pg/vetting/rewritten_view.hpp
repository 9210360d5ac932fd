// Statements over a source as PostgreSQL rewrites them, with all views and policies expanded: what
// this room looks at, and what a tick plans. Nothing here is planned or evaluated.
#pragma once

#include "pg/server/postgres_api.hpp"
#include "pg/tables/sources_table.hpp"

extern "C" {
#include "nodes/parsenodes.h"
}

namespace dp_counter::pg {

/// The statement with parameters of these types, rewritten. It reads the source alone, by its name.
/// Raises object_in_use where the name means another relation by now.
[[nodiscard]] Query* rewritten(const char* sql, Oid* types, int count, Oid source);

/// Raises with this SQLSTATE if a rewritten statement has what belongs to a role that could not act
/// as the source's owner (query_owners.hpp; a worker refuses what no query shows, too), or calls
/// what is not accepted (view_calls.hpp). `person` and `at` are their places in its result.
void check_calls(Query* statement, Oid source, AttrNumber person, AttrNumber at, int sqlstate);

/// The same for the source's view, with feature_not_supported.
void check_source_calls(Oid source, const SourceRow& row);

/// The query of the source's view, rewritten as its owner: whose policies hold depends on it.
[[nodiscard]] const Query* expanded_view(Oid source);

} // namespace dp_counter::pg
