#include "core/base/error.hpp"
#include "core/count/box_state.hpp"
#include "fuzz/input.hpp"
#include "fuzz/seal.hpp"

namespace dp_counter::test {

namespace {

constexpr unsigned char kHead[] = {'D', 'P', 'B', 'S', 1, 0};

/// Two blocks and the rest of one. No radius outlives its block, and no noise exceeds it.
void go_on(BoxState& state, const BoxNoise& sampler) {
    Input nothing({});
    InputRandom random(nothing);
    const Release release(sampler.law().unit, random);
    const std::int32_t size = sampler.law().size;
    for (std::int32_t i = 0; i < 3 * size; ++i) {
        const std::int64_t radius = state.radius;
        const bool begins = state.step % size == 0;
        const std::int64_t noise = state.advance(sampler, release);
        require(begins || (noise <= radius && noise >= -radius), "noise is within its radius");
        require(state.step % size != 0 || state.radius == 0, "a block that is over has no radius");
    }
}

} // namespace

void fuzz_box(Bytes input) {
    if (input.size() < 2)
        return;
    const std::int32_t size = 1 + input[1] % BoxLaw::kMostSize;
    State bytes(input.begin() + 2, input.end());
    if (input[0] % 8 != 0)
        seal(bytes, kHead);
    BoxState state{};
    bool is_decoded = false;
    try {
        state.decode(bytes, size);
        is_decoded = true;
        require(bytes.size() == BoxState::kBytes, "a state has one length");
        require(state.step % size != 0 || state.radius == 0, "a block that begins has no radius");
        State again(bytes.size());
        state.encode(again.data());
        require(again == bytes, "a state has one form");
        go_on(state, BoxNoise(BoxLaw(PrivacyUnit(Epsilon(1), 3), size)));
    } catch (const Error& error) {
        require(is_decoded || error.fault() == Fault::corrupt, "what cannot be read is corrupt");
    }
}

} // namespace dp_counter::test
