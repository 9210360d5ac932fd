#include <algorithm>
#include <cstddef>
#include <vector>

#include <sodium.h>

#include "core/count/state_codec.hpp"
#include "fuzz/input.hpp"
#include "unit/support.hpp"

namespace dp_counter::test {

namespace {

using State = std::vector<unsigned char>;

constexpr std::size_t kChecksumBytes = 32;
constexpr unsigned char kHead[] = {'D', 'P', 'C', 'S', 1, 0};

/// The bytes with the head and the checksum that they would have if dp_counter had written them.
void seal(State& bytes) {
    if (bytes.size() < sizeof kHead + kChecksumBytes)
        return;
    std::copy(std::begin(kHead), std::end(kHead), bytes.begin());
    const std::size_t size = bytes.size() - kChecksumBytes;
    crypto_generichash(bytes.data() + size, kChecksumBytes, bytes.data(), size, nullptr, 0);
}

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
        seal(bytes);
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
