#include <cmath>
#include <optional>

#include "core/accuracy/box_error.hpp"
#include "core/accuracy/release_interval.hpp"
#include "core/base/checkpoint.hpp"
#include "core/count/box_state.hpp"

#include "pg/steps/boxes.hpp"

#include "pg/server/backend_random.hpp"
#include "pg/server/secret_memory.hpp"
#include "pg/server/wall.hpp"
#include "pg/steps/stored_state.hpp"

namespace dp_counter::pg {

namespace {

/// The noise of a law, public values alone. The last one outlives the functions below, since errors
/// that PostgreSQL raises in them would pass over destructors.
struct Boxes {
    explicit Boxes(const BoxLaw& law)
        : sampler(law), stddev(std::sqrt(law.variance())),
          width(BoxError(law).half_width(1, kReleaseConfidence)) {}

    BoxNoise sampler;
    double stddev;
    std::int64_t width;
};
std::optional<Boxes> known;

void prepare(const BoxLaw& law) {
    run([&] {
        if (!known || !(known->sampler.law() == law))
            known.emplace(law);
    });
}

BoxState* allocate_state(MemoryContext context) {
    return static_cast<BoxState*>(allocate_secret(context, sizeof(BoxState)));
}

struct varlena* store(MemoryContext context, const BoxState& state) {
    struct varlena* stored = allocate_stored(context, BoxState::kBytes);
    state.encode(reinterpret_cast<unsigned char*>(VARDATA(stored)));
    return stored;
}

} // namespace

struct varlena* new_box_state(MemoryContext context, const BoxLaw& law) {
    prepare(law);
    return store(context, *allocate_state(context));
}

struct varlena* release_boxes(MemoryContext context, const BoxLaw& law,
                              const struct varlena* stored, std::int64_t steps,
                              const int128* counts, std::int64_t count, ClosedRelease* releases) {
    prepare(law);
    const Release release = begin_release(law.unit);
    BoxState* state = allocate_state(context);
    run([&] {
        state->decode(bytes_of(stored), law.size);
        check_step(state->step, steps);
        for (std::int64_t i = 0; i < count; ++i) {
            checkpoint();
            const std::int64_t released =
                saturated(counts[i] + state->advance(known->sampler, release));
            releases[i] = {{state->step, released, known->stddev}, known->width};
        }
    });
    return store(context, *state);
}

} // namespace dp_counter::pg
