// This backend's cryptographic generator.
#pragma once

#include "core/noise/random_source.hpp"

namespace dp_counter::pg {

/// Prepares libsodium; called once by _PG_init.
void initialize_random();

/// The generator of this process, keyed from the operating system at its first use here. A process
/// that inherited one by fork() discards it and takes a new key. Locked into memory and kept out of
/// core dumps where the system allows; wiped at exit. May raise a PostgreSQL error.
[[nodiscard]] RandomSource& backend_random();

} // namespace dp_counter::pg
