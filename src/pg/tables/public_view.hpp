// The name of a counter or budget: a view of its rows in the extension's tables, which users read
// and grant.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "nodes/parsenodes.h"
}

namespace dp_counter::pg {

/// The relation that CREATE makes for this name: in the schema named, or else in the first one of
/// the search path. Raises feature_not_supported for a temporary one, and insufficient_privilege
/// unless the current user has CREATE on the schema.
[[nodiscard]] RangeVar* parse_new_name(text* name);

/// Raises insufficient_privilege unless the current user and, if valid, `owner` have CREATE on the
/// schema.
void check_may_create(Oid schema, Oid owner);

/// A column of such a view.
struct ViewColumn {
    const char* name;       ///< not quoted
    const char* type;       ///< as SQL writes it
    const char* expression; ///< of the columns of its rows, as SQL writes it
};

struct NewView {
    Oid view;
    std::int64_t number; ///< of the counter or budget: of no other, not even one rolled back
};

/// Makes the view of those rows of dp_counter_private.`rows` whose first column is a new number, as
/// CREATE VIEW by the current user would: the user owns it and needs CREATE on the schema. Raises
/// what CREATE VIEW and parse_new_name raise; who may not create it uses up no number.
///
/// With owner a valid OID the view is that role's, which needs CREATE on the schema too, and the
/// current user gets SELECT on it.
[[nodiscard]] NewView create_view_of(text* name, const char* rows, const ViewColumn* columns,
                                     int count, Oid owner = InvalidOid);

/// The same with all columns but the first.
[[nodiscard]] NewView create_view_of(text* name, const char* rows);

/// The query of a view, on which the caller holds a lock: a copy, in CurrentMemoryContext.
[[nodiscard]] Query* query_of_view(Oid view);

/// Stores a query with the columns of the one that the view has, as its owner, who is the current
/// user.
void replace_query_of_view(Oid view, Query* query);

/// Drops it as DROP VIEW by its owner would.
void drop_view(Oid view);

} // namespace dp_counter::pg
