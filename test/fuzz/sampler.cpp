#include "core/noise/release.hpp"
#include "fuzz/input.hpp"

namespace dp_counter::test {

void fuzz_sampler(Bytes bytes) {
    Input input(bytes);
    try {
        const Epsilon epsilon(input.take<double>());
        const auto high = input.take<std::uint64_t>();
        const uint128 sensitivity = static_cast<uint128>(high) << 64 | input.take<std::uint64_t>();
        const DiscreteLaplace sampler({epsilon, sensitivity});
        require(sampler.bytes() <= sizeof sampler, "the part in use lies in the object");
        InputRandom random(input);
        const Release release(epsilon, random);
        for (int i = 0; i < 64; ++i)
            (void)release.draw(sampler);
    } catch (const Error& error) {
        require(error.fault() == Fault::parameter || error.fault() == Fault::overflow,
                "parameters fail as parameters");
    }
}

} // namespace dp_counter::test
