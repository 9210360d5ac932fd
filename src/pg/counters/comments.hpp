// The COMMENTs on the view of a counter and on its columns.
#pragma once

#include "pg/server/postgres_api.hpp"
#include "pg/sources/declare_counter.hpp"

extern "C" {
#include "utils/numeric.h"
}

namespace dp_counter::pg {

/// Comments on a new counter, whose own columns follow those of its source.
void comment_on_counter(Oid counter, Numeric epsilon, const SourceDeclaration* source);

} // namespace dp_counter::pg
