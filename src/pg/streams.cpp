#include "pg/streams.hpp"

#include "core/plan_cache.hpp"
#include "pg/backend_random.hpp"
#include "pg/secret_memory.hpp"
#include "pg/wall.hpp"

namespace dp_counter::pg {

namespace {

PlanCache cache; // this backend's; constant-initialised, public values only

} // namespace

RunningCount* open_stream(MemoryContext context, const Parameters& parameters,
                          std::int64_t horizon) {
    Failure failure;
    const Plan* plan = nullptr;
    const DiscreteLaplace* sampler = nullptr;
    std::size_t bytes = 0;
    if (!guarded(failure, [&] {
            plan = &cache.plan(to_request(parameters, horizon));
            sampler = &cache.sampler(plan->scale());
            bytes = RunningCount::bytes(*plan, *sampler);
        }))
        failure.raise();
    void* block = allocate_secret(context, bytes);
    RunningCount* stream = nullptr;
    if (!guarded(failure, [&] { stream = RunningCount::create(block, *plan, *sampler); }))
        failure.raise();
    return stream;
}

std::int64_t advance(RunningCount* stream, bool bit) {
    RandomSource& random = backend_random();
    Failure failure;
    std::int64_t release = 0;
    if (!guarded(failure, [&] { release = stream->advance(bit, random); })) [[unlikely]]
        failure.raise();
    return release;
}

void record(Progress& progress, bool bit, std::int64_t horizon) {
    Failure failure;
    if (!guarded(failure, [&] { progress.record(bit, horizon); })) [[unlikely]]
        failure.raise();
}

void check_parameters(const Parameters& parameters, std::int64_t horizon) {
    Failure failure;
    if (!guarded(failure, [&] { (void)cache.plan(to_request(parameters, horizon)); }))
        failure.raise();
}

std::int64_t release_once(const Parameters& parameters, std::int64_t horizon,
                          const Progress& progress) {
    RandomSource& random = backend_random();
    Failure failure;
    std::int64_t release = 0;
    if (!guarded(failure, [&] {
            const Plan& plan = cache.plan(to_request(parameters, horizon));
            release = release_last(plan, progress, cache.sampler(plan.scale()), random);
        }))
        failure.raise();
    return release;
}

std::int64_t release_count(double epsilon, std::int64_t count) {
    RandomSource& random = backend_random();
    Failure failure;
    std::int64_t release = 0;
    if (!guarded(failure, [&] {
            const DiscreteLaplace& sampler = cache.sampler({Epsilon(epsilon), 1});
            release = checked_add(count, sampler.draw(random));
        }))
        failure.raise();
    return release;
}

} // namespace dp_counter::pg
