// The module: its magic block and what happens when it is loaded.
#include "core/base/checkpoint.hpp"
#include "pg/live/pending_events.hpp"
#include "pg/live/privileges.hpp"
#include "pg/server/backend_random.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/wall.hpp"

extern "C" {
#include "utils/guc.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void); // NOLINT: the name is PostgreSQL's
}

void _PG_init(void) {
    dp_counter::on_checkpoint = dp_counter::pg::throw_if_interrupted;
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
