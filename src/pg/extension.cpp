// The module: its magic block and what happens when it is loaded.
#include <new>

#include "core/base/checkpoint.hpp"
#include "pg/budgets/given_back.hpp"
#include "pg/events/pending_events.hpp"
#include "pg/server/backend_random.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/wall.hpp"

extern "C" {
#include "utils/guc.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void); // NOLINT: the name is PostgreSQL's
}

namespace {

/// Calls operator new and delete once, so that the dynamic linker resolves them, malloc and free
/// among all of the server's libraries. A postmaster that preloads the module does it for all
/// backends.
void bind_allocation() {
    char* volatile one = new (std::nothrow) char; // volatile: else compilers leave it out
    delete one;
    char* volatile many = new (std::nothrow) char[1];
    delete[] many;
}

} // namespace

void _PG_init(void) {
    dp_counter::on_checkpoint = dp_counter::pg::throw_if_interrupted;
    bind_allocation();
    dp_counter::pg::initialize_random();
    // The extension has no settings, above all no seed. The reserved prefix makes any SET of one
    // fail.
    MarkGUCPrefixReserved("dp_counter");
    dp_counter::pg::initialize_given_back(); // last: callbacks may be registered once only
    dp_counter::pg::initialize_pending_events();
}
