// A C++ object that lives as long as a memory context, whatever errors PostgreSQL raises meanwhile.
#pragma once

#include <memory>
#include <new>
#include <optional>

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// Room for an object, which is destroyed when the context is reset or deleted.
template <class T>
std::optional<T>& room_in(MemoryContext context) {
    struct Kept {
        MemoryContextCallback callback;
        std::optional<T> object;
    };
    Kept* kept = new (MemoryContextAlloc(context, sizeof(Kept))) Kept{};
    kept->callback.func = [](void* argument) { std::destroy_at(static_cast<Kept*>(argument)); };
    kept->callback.arg = kept;
    MemoryContextRegisterResetCallback(context, &kept->callback); // before there is an object
    return kept->object;
}

} // namespace dp_counter::pg
