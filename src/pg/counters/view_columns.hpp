// The columns of a counter's view.
#pragma once

#include "pg/server/postgres_api.hpp"
#include "pg/sources/declare_counter.hpp"
#include "pg/tables/public_view.hpp"

namespace dp_counter::pg {

inline constexpr int kMostViewColumns = 12;

/// Writes the columns, of dp_counter_private.published, and returns their number. `source` is null
/// for an event counter; `extension` is the quoted schema of the extension.
int view_columns(const SourceDeclaration* source, const char* extension, ViewColumn* columns);

} // namespace dp_counter::pg
