// Releases that are counted as they begin, for the SQL fuzzer (make counted). It stands in for
// src/pg/server/backend_random.cpp; the shipped sources hold none of it.
#define begin_release uncounted_begin_release
#include "pg/server/backend_random.cpp"
#undef begin_release

#include <atomic>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace dp_counter::pg {

namespace {

using Counter = std::atomic<std::int64_t>;

/// One counter for all processes of the server, as a parallel worker may draw: a file in the data
/// directory, which is every backend's working directory.
Counter& begun() {
    static Counter* counter = nullptr;
    if (counter == nullptr) {
        const int file = open("dp_releases_begun", O_RDWR | O_CREAT, S_IRUSR | S_IWUSR);
        void* page = MAP_FAILED;
        if (file >= 0 && ftruncate(file, sizeof(Counter)) == 0)
            page = mmap(nullptr, sizeof(Counter), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (page == MAP_FAILED)
            ereport(ERROR, (errmsg("could not map the counter of releases")));
        close(file);
        counter = static_cast<Counter*>(page);
    }
    return *counter;
}

} // namespace

Release begin_release(const PrivacyUnit& unit) {
    ++begun();
    return uncounted_begin_release(unit);
}

} // namespace dp_counter::pg

/// How many releases have begun since the last call.
DP_FUNCTION(dp_releases_begun) {
    (void)fcinfo;
    PG_RETURN_INT64(dp_counter::pg::begun().exchange(0));
}
