// Releases that draw from this backend's cryptographic generator.
#pragma once

#include <cstddef>

#include "core/noise/release.hpp"

namespace dp_counter::pg {

/// Prepares libsodium and the generator; called by _PG_init. May raise a PostgreSQL error.
void initialize_random();

/// Begins a release of this unit: the only access to random numbers. (A counter calls it at every
/// tick.) It draws from the generator of this process, keyed from the operating system. A process
/// that inherited one by fork(), from a postmaster that preloads the module, takes a new key. The
/// generator is locked into memory and excluded from core dumps where the system allows, and wiped
/// at exit. May raise a PostgreSQL error.
[[nodiscard]] Release begin_release(const PrivacyUnit& unit);

/// Wipes the generator, if it is this process's: for an exit that does not come to the callbacks.
void wipe_random();

/// Fills a key that is not part of any release with random bits of the operating system.
void make_secret_key(void* key, std::size_t bytes);

} // namespace dp_counter::pg
