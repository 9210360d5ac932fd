// dp_counter_resume: lets a counter go on in a copy of its database.
#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/sources/source_counter.hpp"
#include "pg/tables/counter_privileges.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/faces.hpp"

extern "C" {
#include "miscadmin.h"
#include "storage/lmgr.h"
}

DP_FUNCTION(dp_counter_resume) {
    using namespace dp_counter::pg;
    const Oid counter = read_relation(fcinfo->args[0], "counter");
    PreventCommandIfReadOnly("dp_counter_resume()");
    check_counter_owner(counter); // before the lock, so that nobody else can make others wait
    LockRelationOid(counter, AccessShareLock);
    lock_counter(counter);
    check_counter_owner(counter);
    CounterRow row;
    read_running_counter(counter, row);
    keep_face(kFacesOfCounters, counter);
    check_has_tallies(counter, row);
    move_counter_here(counter);
    PG_RETURN_VOID();
}
