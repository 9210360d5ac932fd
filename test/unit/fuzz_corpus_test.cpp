// The fuzzers' corpora (test/fuzz), replayed: every input that ever mattered.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/count/anchored_state.hpp"
#include "core/count/state_codec.hpp"
#include "fuzz/targets.hpp"
#include "unit/support.hpp"

namespace dp_counter {
namespace {

TEST(FuzzCorpus, EveryInputIsAnsweredOrRefused) {
    for (const test::FuzzTarget& target : test::kFuzzTargets) {
        int inputs = 0;
        const std::filesystem::path folder =
            std::filesystem::path("test/fuzz/corpus") / target.name;
        for (const auto& entry : std::filesystem::directory_iterator(folder)) {
            std::ifstream file(entry.path(), std::ios::binary);
            const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
            SCOPED_TRACE(entry.path());
            target.run({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
            ++inputs;
        }
        EXPECT_GT(inputs, 0) << target.name;
    }
}

/// Seeds that are refused at once, since the format has changed, would fuzz nothing.
TEST(FuzzCorpus, SeedsOfStatesAreStates) {
    int seeds = 0;
    for (const auto& entry : std::filesystem::directory_iterator("test/fuzz/corpus/state")) {
        const std::string name = entry.path().filename();
        if (!name.starts_with("seed-") || !name.ends_with("-raw"))
            continue;
        std::ifstream file(entry.path(), std::ios::binary);
        const std::vector<unsigned char> input(std::istreambuf_iterator<char>(file), {});
        SCOPED_TRACE(name);
        const StateCodec::Bytes state = StateCodec::Bytes(input).subspan(1); // how to seal it
        const StateCodec::Public stored = StateCodec::decode_public(state);
        const PreparedMechanism prepared(stored.spec);
        const test::Block block = test::block_of(CounterState::bytes(prepared));
        EXPECT_EQ(StateCodec::encoded_bytes(*StateCodec::decode(stored, prepared, block.get())),
                  state.size());
        ++seeds;
    }
    EXPECT_GT(seeds, 5);
}

TEST(FuzzCorpus, SeedsOfAnchoredStatesAreStates) {
    for (const char* name : {"seed-raw", "seed-raw-groups"}) {
        std::ifstream file(std::string("test/fuzz/corpus/anchored/") + name, std::ios::binary);
        const std::vector<unsigned char> input(std::istreambuf_iterator<char>(file), {});
        ASSERT_GT(input.size(), 2U) << name;
        const AnchoredLaw law(PrivacyUnit(Epsilon(1), 1 + input[0] / 8 % 2), 2 + input[1] % 64);
        AnchoredState state{};
        const StateCodec::Bytes rest =
            state.decode(StateCodec::Bytes(input).subspan(2), law); // how to seal it, and the block
        EXPECT_EQ(StateCodec::decode_public(rest).request, law.increments()) << name;
    }
}

} // namespace
} // namespace dp_counter
