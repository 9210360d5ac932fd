// The fuzzers' corpora (test/fuzz), replayed: every input that ever mattered.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <gtest/gtest.h>

#include "fuzz/targets.hpp"

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

} // namespace
} // namespace dp_counter
