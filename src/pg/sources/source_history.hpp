// What a source was when it was read: evidence for who audits its budget.
//
// The privacy of a release rests on the view's query, and on what its owner vouches for. Neither is
// in a release, and both may change. A row is added where one of them, or an owner, is another than
// in the last row of this budget and name; none is ever changed or deleted.
#pragma once

#include "pg/server/postgres_api.hpp"
#include "pg/tables/sources_table.hpp"

namespace dp_counter::pg {

/// Books what is declared now of an existing source, and its query, unless that is booked already:
/// at its declaration, and where a tick or a report reads it.
void book_source(Oid source, const SourceRow& row);

} // namespace dp_counter::pg
