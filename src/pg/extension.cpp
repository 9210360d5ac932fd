// The module: its magic block and what happens when it is loaded.
#include <new>

#include "core/base/checkpoint.hpp"
#include "pg/events/pending_events.hpp"
#include "pg/server/backend_random.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/wall.hpp"
#include "pg/tables/counter_privileges.hpp"

extern "C" {
#include "utils/guc.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void); // NOLINT: the name is PostgreSQL's
}

namespace {

/// libstdc++ looks for malloc and free, and for its own operators between them, in all of the
/// server's libraries when they are first called: a postmaster that preloads the module does it for
/// all backends.
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
    dp_counter::pg::initialize_pending_events();
    dp_counter::pg::initialize_known_counters();
    // There is no setting, above all no seed; the prefix is taken so that none can be pretended.
#if PG_VERSION_NUM >= 150000
    MarkGUCPrefixReserved("dp_counter");
#else
    EmitWarningsOnPlaceholders("dp_counter");
#endif
}
