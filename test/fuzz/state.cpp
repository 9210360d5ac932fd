#include <cstddef>

#include "core/count/state_codec.hpp"
#include "fuzz/input.hpp"
#include "fuzz/seal.hpp"
#include "unit/support.hpp"

namespace dp_counter::test {

namespace {

constexpr unsigned char kHead[] = {'D', 'P', 'C', 'S', 1, 0};

void go_on(CounterState& state, const PreparedMechanism& prepared) {
    Input nothing({});
    InputRandom random(nothing);
    const Release release(prepared.spec().unit, random);
    const auto draw = [&](int level) { return release.draw(prepared.sampler(level)); };
    for (int i = 0; i < 20; ++i) {
        if (state.next_epoch())
            return;
        (void)state.advance(prepared, draw);
    }
}

} // namespace

void fuzz_state(Bytes input) {
    if (input.empty())
        return;
    State bytes(input.begin() + 1, input.end());
    if (input[0] % 8 != 0)
        seal(bytes, kHead);
    test::Block block;
    bool is_decoded = false;
    try {
        const StateCodec::Public stored = StateCodec::decode_public(bytes);
        const PreparedMechanism prepared(stored.spec);
        block = test::block_of(CounterState::bytes(prepared));
        CounterState* state = StateCodec::decode(stored, prepared, block.get());
        is_decoded = true;
        require(StateCodec::encoded_bytes(*state) == bytes.size(), "a state has one length");
        State again(bytes.size());
        StateCodec::encode(*state, again.data());
        require(again == bytes, "a state has one form");
        go_on(*state, prepared);
    } catch (const Error& error) {
        require(is_decoded || error.fault() == Fault::corrupt, "what cannot be read is corrupt");
    }
}

} // namespace dp_counter::test
