// Functions that return a set of rows.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "funcapi.h"
#include "utils/tuplestore.h"
}

namespace dp_counter::pg {

/// An empty set of rows for the calling function to fill.
[[nodiscard]] Tuplestorestate* open_rows(FunctionCallInfo fcinfo, TupleDesc* type);

} // namespace dp_counter::pg
