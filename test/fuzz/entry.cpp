// libFuzzer's entry point; -DFUZZ_TARGET=fuzz_planner and so on chooses what is fuzzed.
#include "fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    dp_counter::test::FUZZ_TARGET({data, size});
    return 0;
}
