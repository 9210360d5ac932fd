// Streams that count the releases that begin, for the SQL fuzzer (make counted). It stands in for
// src/pg/query/streams.cpp and wraps what draws; the shipped sources hold none of it.
#define open_stream uncounted_open_stream
#define release_once uncounted_release_once
#define release_value uncounted_release_value
#include "pg/query/streams.cpp"
#undef open_stream
#undef release_once
#undef release_value

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

Stream open_stream(MemoryContext context, const Parameters& parameters, std::int64_t horizon) {
    ++begun();
    return uncounted_open_stream(context, parameters, horizon);
}

std::int64_t release_once(const Parameters& parameters, std::int64_t horizon,
                          const Progress& progress) {
    ++begun();
    return uncounted_release_once(parameters, horizon, progress);
}

std::int64_t release_value(double epsilon, std::int64_t sensitivity, std::int64_t value) {
    ++begun();
    return uncounted_release_value(epsilon, sensitivity, value);
}

} // namespace dp_counter::pg

/// How many releases have begun since the last call.
DP_FUNCTION(dp_releases_begun) {
    (void)fcinfo;
    PG_RETURN_INT64(dp_counter::pg::begun().exchange(0));
}
