// Where random bits come from: a buffer of words that an implementation refills.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/checked.hpp"

namespace dp_counter {

/// A stream of uniform random words. Reading is inline; only refill() is virtual. A word that was
/// handed out is wiped from the buffer at once, so that memory never reveals past noise.
///
/// Production has one implementation, Keystream; tests pass their own.
class RandomSource {
public:
    RandomSource() = default;
    RandomSource(const RandomSource&) = delete;
    RandomSource& operator=(const RandomSource&) = delete;

    /// 32 uniform bits.
    [[nodiscard]] std::uint32_t next32() {
        if (next_ == kWords) [[unlikely]] {
            refill(words_);
            next_ = 0;
        }
        const std::uint32_t word = words_[next_];
        words_[next_++] = 0;
        return word;
    }

    /// The next `count` words in one piece, or null where the buffer ends before them. They count
    /// as read, but for the last ones that are given back; the caller wipes the others.
    [[nodiscard]] std::uint32_t* take(std::size_t count) noexcept {
        if (kWords - next_ < count) [[unlikely]]
            return nullptr;
        next_ += count;
        return words_ + next_ - count;
    }
    void give_back(std::size_t count) noexcept { next_ -= count; }

    /// 64 uniform bits: two words, the first is the high half.
    [[nodiscard]] std::uint64_t next64() {
        const std::uint64_t high = next32();
        return high << 32 | next32();
    }

    /// 128 uniform bits, the high half first.
    [[nodiscard]] uint128 next128() {
        const uint128 high = next64();
        return high << 64 | next64();
    }

protected:
    static constexpr std::size_t kWords =
        248; ///< and a key make 1024 bytes, ChaCha20 at its fastest

    ~RandomSource() = default;

    /// Fills all kWords words with fresh uniform bits.
    virtual void refill(std::uint32_t* words) = 0;

    /// Forgets and wipes what is buffered: the next read refills.
    void discard() noexcept;

private:
    std::uint32_t words_[kWords] = {};
    std::size_t next_ = kWords;
};

} // namespace dp_counter
