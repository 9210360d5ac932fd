#include <cstdint>

#include <sodium.h>

#include "pg/server/secret_memory.hpp"

namespace dp_counter::pg {

namespace {

constexpr std::size_t kAlignment = 64; // a cache line; palloc promises 8

struct Secret {
    MemoryContextCallback callback;
    void* begin;
    std::size_t bytes;
};

extern "C" void wipe_secret(void* argument) {
    const auto* secret = static_cast<const Secret*>(argument);
    sodium_memzero(secret->begin, secret->bytes);
}

} // namespace

void* allocate_secret(MemoryContext context, std::size_t bytes) {
    auto* secret = static_cast<Secret*>(MemoryContextAllocExtended(
        context, sizeof(Secret) + kAlignment + bytes, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
    const auto unaligned = reinterpret_cast<std::uintptr_t>(secret + 1) % kAlignment;
    secret->begin =
        reinterpret_cast<char*>(secret + 1) + (unaligned == 0 ? 0 : kAlignment - unaligned);
    secret->bytes = bytes;
    secret->callback.func = wipe_secret;
    secret->callback.arg = secret;
    MemoryContextRegisterResetCallback(context, &secret->callback);
    return secret->begin;
}

} // namespace dp_counter::pg
