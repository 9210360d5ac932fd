// Memory for counts and noise: wiped before PostgreSQL gets it back.
#pragma once

#include <cstddef>

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// Allocates `bytes` zeroed bytes in `context`, aligned to 64. They are overwritten with zeros when
/// the context is reset or deleted: at the end of the partition or group, on ERROR, under LIMIT.
/// (AggRegisterCallback would miss the last two.) Raises out of memory as palloc does.
[[nodiscard]] void* allocate_secret(MemoryContext context, std::size_t bytes);

} // namespace dp_counter::pg
