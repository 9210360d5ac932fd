// Stored states with a right head and checksum, so that a fuzzer reaches what lies behind them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <sodium.h>

namespace dp_counter::test {

using State = std::vector<unsigned char>;

/// The bytes with the head and the checksum that they would have if dp_counter had written them.
inline void seal(State& bytes, std::span<const unsigned char> head) {
    constexpr std::size_t kChecksumBytes = 32;
    if (bytes.size() < head.size() + kChecksumBytes)
        return;
    std::copy(head.begin(), head.end(), bytes.begin());
    const std::size_t size = bytes.size() - kChecksumBytes;
    crypto_generichash(bytes.data() + size, kChecksumBytes, bytes.data(), size, nullptr, 0);
}

} // namespace dp_counter::test
