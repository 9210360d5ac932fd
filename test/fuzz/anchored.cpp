#include <algorithm>
#include <optional>

#include "core/count/anchored_state.hpp"
#include "core/noise/discrete_laplace.hpp"
#include "fuzz/input.hpp"
#include "fuzz/seal.hpp"
#include "unit/support.hpp"

namespace dp_counter::test {

namespace {

constexpr unsigned char kHead[] = {'D', 'P', 'A', 'S', 1, 0};
constexpr unsigned char kHeadOfIncrements[] = {'D', 'P', 'C', 'S', 1, 0};
constexpr std::size_t kHeadBytes = 22;
constexpr std::size_t kChecksumBytes = 32;

/// As the server has it: the state, and the stream of the block's increments, if it goes on.
struct Decoded {
    AnchoredState state{};
    std::optional<PreparedMechanism> prepared; ///< of that stream
    test::Block memory;
    CounterState* increments = nullptr;
};

/// To the end of the block, and through the next one. No noise outlives its block, and only the
/// first step of a block has that of its anchor alone.
void go_on(const AnchoredLaw& law, Decoded& decoded) {
    Input nothing({});
    InputRandom random(nothing);
    const DiscreteLaplace sampler(law.anchor());
    const Release anchors(law.unit, random);
    const Release nodes(law.increments().unit, random);
    AnchoredState& state = decoded.state;
    for (std::int64_t i = 0; i < 2 * law.block && state.step < kMaxHorizon; ++i) {
        if (state.begins_increments(law)) {
            decoded.prepared.emplace(make_mechanism(law.increments()));
            decoded.memory = test::block_of(CounterState::bytes(*decoded.prepared));
            decoded.increments =
                CounterState::create(decoded.memory.get(), law.increments(), *decoded.prepared);
        }
        const bool is_anchor = law.increments_at(state.step + 1) == 0;
        const std::int64_t noise = state.advance(
            law, decoded.increments, decoded.prepared ? &*decoded.prepared : nullptr,
            [&] { return anchors.draw(sampler); },
            [&](int level) { return nodes.draw(decoded.prepared->sampler(level)); });
        require(!is_anchor || noise == state.anchor, "the noise of an anchor is its own");
        require(state.step % law.block != 0 || state.anchor == 0, "no anchor outlives its block");
    }
}

} // namespace

void fuzz_anchored(Bytes input) {
    if (input.size() < 2)
        return;
    const std::int64_t block = 2 + input[1] % 64;
    State bytes(input.begin() + 2, input.end());
    if (input[0] % 8 != 0) { // the increments first: the outer checksum is of theirs, too
        if (bytes.size() > kHeadBytes + kChecksumBytes) {
            const auto begin = bytes.begin() + kHeadBytes;
            const auto end = bytes.end() - kChecksumBytes;
            State increments(begin, end);
            seal(increments, kHeadOfIncrements);
            std::copy(increments.begin(), increments.end(), begin);
        }
        seal(bytes, kHead);
    }
    const AnchoredLaw law(PrivacyUnit(Epsilon(1), 1 + input[0] / 8 % 2), block);
    Decoded decoded;
    bool is_decoded = false;
    try {
        const StateCodec::Bytes rest = decoded.state.decode(bytes, law);
        if (!rest.empty()) {
            const StateCodec::Public stored = StateCodec::decode_public(rest);
            decoded.prepared.emplace(stored.spec);
            decoded.memory = test::block_of(CounterState::bytes(*decoded.prepared));
            decoded.increments =
                StateCodec::decode(stored, *decoded.prepared, decoded.memory.get());
            decoded.state.check_increments(law, *decoded.increments);
        }
        is_decoded = true;
        require(AnchoredState::bytes(decoded.increments) == bytes.size(), "a state has one length");
        State again(bytes.size());
        decoded.state.encode(decoded.increments, again.data());
        require(again == bytes, "a state has one form");
        go_on(law, decoded);
    } catch (const Error& error) {
        require(is_decoded || error.fault() == Fault::corrupt, "what cannot be read is corrupt");
    }
}

} // namespace dp_counter::test
