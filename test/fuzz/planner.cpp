#include <cstddef>

#include "core/count/epochs.hpp"
#include "core/count/mechanism_cache.hpp"
#include "core/count/noise_stream.hpp"
#include "fuzz/input.hpp"
#include "unit/support.hpp"

namespace dp_counter::test {

namespace {

constexpr Mechanism kMechanisms[] = {Mechanism::subtraction, Mechanism::plain, Mechanism::hat};

Request take_request(Input& input) {
    const auto epsilon = input.take<double>();
    const auto horizon = input.take<std::int64_t>();
    Request request{horizon, Epsilon(epsilon), {}, {}};
    const auto mechanism = input.take<std::uint8_t>();
    if (mechanism < std::size(kMechanisms))
        request.mechanism = kMechanisms[mechanism];
    if ((input.take<std::uint8_t>() & 1U) != 0)
        request.radix = input.take<std::int32_t>();
    return request;
}

void check_plan(const Request& request, const MechanismSpec& spec) {
    require(spec.horizon == request.horizon && spec.unit.epsilon == request.unit.epsilon,
            "the plan is for the request");
    require(!request.mechanism || spec.mechanism == *request.mechanism, "the mechanism is kept");
    require(!request.radix || spec.radix == *request.radix, "k is kept");
    require(spec.height >= 1 && spec.height <= kMaxHeight, "the height is in range");
    require(!spec.is_tree() || spec.digits().capacity(spec.height) >= spec.horizon,
            "the digits reach the horizon");
    for (int level = 0; level < spec.scales(); ++level)
        require(spec.scale(level).sensitivity >= static_cast<unsigned>(spec.height),
                "no level has less noise than the height asks for");
}

/// Some steps of a stream; all of a short one.
void run(const PreparedMechanism& prepared, Input& input) {
    const std::size_t bytes = NoiseStream::bytes(prepared);
    if (bytes > (std::size_t{1} << 22))
        return;
    const Block block = block_of(bytes);
    NoiseStream* stream = NoiseStream::create(block.get(), prepared);
    InputRandom random(input);
    const Release release(prepared.spec().unit, random);
    const std::int64_t horizon = prepared.spec().horizon;
    const std::int64_t steps = horizon < 300 ? horizon : 300;
    for (std::int64_t t = 1; t <= steps; ++t)
        (void)stream->advance(release);
    (void)sample_noise(prepared, steps,
                       [&](int level) { return release.draw(prepared.sampler(level)); });
    if (steps == horizon) {
        bool refused = false;
        try {
            (void)stream->advance(release);
        } catch (const Error&) {
            refused = true;
        }
        require(refused, "a row past the horizon is refused");
    }
}

} // namespace

void fuzz_planner(Bytes bytes) {
    Input input(bytes);
    try {
        const Request request = take_request(input);
        static MechanismCache cache; // as in a backend
        if (request.horizon == kUnbounded) {
            run(cache.prepare(request, input.take<std::uint8_t>() % kEpochs), input);
            return;
        }
        const PreparedMechanism& prepared = cache.prepare(request);
        check_plan(request, prepared.spec());
        run(prepared, input);
    } catch (const Error& error) {
        require(error.fault() == Fault::parameter || error.fault() == Fault::overflow,
                "parameters fail as parameters");
    }
}

} // namespace dp_counter::test
