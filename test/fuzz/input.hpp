// Values out of a fuzzer's bytes, and promises.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/noise/random_source.hpp"
#include "fuzz/targets.hpp"

namespace dp_counter::test {

/// Reads values from the front; zeros where the bytes have run out.
class Input {
public:
    explicit Input(Bytes bytes) : bytes_(bytes) {}

    template <class Value>
    [[nodiscard]] Value take() {
        Value value{};
        const std::size_t size = bytes_.size() < sizeof value ? bytes_.size() : sizeof value;
        if (size != 0)
            std::memcpy(&value, bytes_.data(), size);
        bytes_ = bytes_.subspan(size);
        return value;
    }
    [[nodiscard]] bool empty() const { return bytes_.empty(); }

private:
    Bytes bytes_;
};

/// Random words from the input, then from a simple generator: a constant source would keep a
/// sampler busy for ever.
class InputRandom final : public RandomSource {
public:
    explicit InputRandom(Input& input) : input_(input) {}

private:
    void refill(std::uint32_t* words) override {
        for (std::size_t i = 0; i < kWords; ++i) {
            if (!input_.empty()) {
                words[i] = input_.take<std::uint32_t>();
                continue;
            }
            state_ ^= state_ << 13; // xorshift
            state_ ^= state_ >> 7;
            state_ ^= state_ << 17;
            words[i] = static_cast<std::uint32_t>(state_ >> 32);
        }
    }

    Input& input_;
    std::uint64_t state_ = 88172645463325252U;
};

/// A promise of the code under test. Broken, it ends the process, which is what a fuzzer sees.
inline void require(bool kept, const char* promise) {
    if (kept)
        return;
    std::fprintf(stderr, "broken promise: %s\n", promise);
    std::abort();
}

} // namespace dp_counter::test
