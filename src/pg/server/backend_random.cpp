#include <new>

#include <sodium.h>

#include "core/noise/keystream.hpp"
#include "pg/server/backend_random.hpp"
#include "pg/server/postgres_api.hpp"

extern "C" {
#include "storage/ipc.h"
}

namespace dp_counter::pg {

namespace {

Keystream* keystream = nullptr; ///< in pages of its own
int owner_pid = 0;              ///< the process whose key it has

/// Allocates separate pages, which are excluded from core dumps. They are locked unless
/// RLIMIT_MEMLOCK is too low; then the key may be swapped out, like the rest of the backend.
Keystream* new_keystream() {
    void* pages = sodium_malloc(sizeof(Keystream));
    if (pages == nullptr)
        ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
                        errdetail("Protected memory for random numbers could not be allocated.")));
    return new (pages) Keystream;
}

extern "C" void wipe_at_exit(int /*code*/, Datum /*argument*/) {
    wipe_random();
}

void own_keystream() {
    on_proc_exit(wipe_at_exit, 0);
    owner_pid = MyProcPid;
}

} // namespace

void initialize_random() {
    if (sodium_init() < 0)
        ereport(ERROR, (errcode(ERRCODE_SYSTEM_ERROR), errmsg("could not initialize libsodium")));
    if (keystream == nullptr) {
        keystream = new_keystream();
        own_keystream();
    }
}

Release begin_release(const PrivacyUnit& unit) {
    if (owner_pid != MyProcPid) [[unlikely]] {
        keystream->rekey(); // inherited by fork(): never read a stream that the parent reads
        (void)sodium_mlock(keystream, sizeof *keystream); // a lock is not inherited
        own_keystream();
    }
    return {unit, *keystream};
}

void wipe_random() {
    if (owner_pid == MyProcPid)
        keystream->wipe();
}

void make_secret_key(void* key, std::size_t bytes) {
    randombytes_buf(key, bytes);
}

} // namespace dp_counter::pg
