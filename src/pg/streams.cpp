#include "pg/streams.hpp"

#include "core/plan_cache.hpp"
#include "pg/backend_random.hpp"
#include "pg/secret_memory.hpp"
#include "pg/wall.hpp"

extern "C" {
#include "miscadmin.h"
}

namespace dp_counter::pg {

namespace {

/// Whether a cancel or a shutdown waits that CHECK_FOR_INTERRUPTS would act on.
bool must_stop() {
    return (QueryCancelPending || ProcDiePending) && InterruptHoldoffCount == 0 &&
           CritSectionCount == 0;
}

PlanCache cache; // this backend's; constant-initialised, public values only

} // namespace

RunningCount* open_stream(MemoryContext context, const Parameters& parameters,
                          std::int64_t horizon) {
    Failure failure;
    const PreparedPlan* prepared = nullptr;
    std::size_t bytes = 0;
    if (!guarded(failure, [&] {
            prepared = &cache.prepare(to_request(parameters, horizon));
            bytes = RunningCount::bytes(*prepared);
        }))
        failure.raise();
    void* block = allocate_secret(context, bytes);
    return RunningCount::create(block, *prepared);
}

std::int64_t advance(RunningCount* stream, bool bit) {
    static Failure failure; // off the stack: a function with arrays there pays for a guard a row
    RandomSource& random = backend_random();
    std::int64_t release = 0;
    if (!guarded(failure, [&] { release = stream->advance(bit, random); })) [[unlikely]]
        failure.raise();
    return release;
}

void raise_beyond(std::int64_t horizon) {
    Failure failure;
    (void)guarded(failure, [&] { Progress::throw_beyond(horizon); });
    failure.raise();
}

void check_parameters(const Parameters& parameters, std::int64_t horizon) {
    Failure failure;
    if (!guarded(failure, [&] { (void)cache.prepare(to_request(parameters, horizon)); }))
        failure.raise();
}

std::int64_t release_once(const Parameters& parameters, std::int64_t horizon,
                          const Progress& progress) {
    RandomSource& random = backend_random();
    Failure failure;
    std::int64_t release = 0;
    if (!guarded(failure, [&] {
            const PreparedPlan& prepared = cache.prepare(to_request(parameters, horizon));
            release = release_last(prepared, progress, [&](int level) {
                if (must_stop()) [[unlikely]] // one level: a draw a row
                    throw Interrupted{};
                return prepared.sampler(level).draw(random);
            });
        }))
        failure.raise();
    return release;
}

std::int64_t release_count(double epsilon, std::int64_t count) {
    RandomSource& random = backend_random();
    Failure failure;
    std::int64_t release = 0;
    if (!guarded(failure, [&] {
            const LaplaceScale scale{Epsilon(epsilon), 1};
            release = checked_add(count, cache.sampler(scale)->draw(random));
        }))
        failure.raise();
    return release;
}

} // namespace dp_counter::pg
