#include <new>

#include <sodium.h>

#include "core/noise/keystream.hpp"
#include "pg/server/backend_random.hpp"
#include "pg/server/postgres_api.hpp"

extern "C" {
#include "miscadmin.h"
#include "storage/ipc.h"
}

namespace dp_counter::pg {

namespace {

alignas(Keystream) unsigned char storage[sizeof(Keystream)];
Keystream* keystream = nullptr;
int owner_pid = 0;

extern "C" void wipe_at_exit(int /*code*/, Datum /*argument*/) {
    if (keystream != nullptr)
        keystream->wipe();
}

} // namespace

void initialize_random() {
    if (sodium_init() < 0)
        ereport(ERROR, (errcode(ERRCODE_SYSTEM_ERROR), errmsg("could not initialize libsodium")));
}

Release begin_release(const PrivacyUnit& unit) {
    if (owner_pid != MyProcPid) [[unlikely]] {
        if (keystream == nullptr)
            keystream = new (storage) Keystream;
        else
            keystream->rekey(); // inherited by fork(): never read a stream that the parent reads
        // May fail under a low RLIMIT_MEMLOCK; then the key can be swapped, like all of the
        // backend.
        (void)sodium_mlock(storage, sizeof storage);
        on_proc_exit(wipe_at_exit, 0);
        owner_pid = MyProcPid;
    }
    return {unit, *keystream};
}

void make_secret_key(void* key, std::size_t bytes) {
    randombytes_buf(key, bytes);
}

} // namespace dp_counter::pg
