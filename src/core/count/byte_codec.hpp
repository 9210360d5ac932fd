// What the formats of stored states share: numbers, little-endian, and a checksum at the end.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "core/base/checked.hpp"

namespace dp_counter {

inline constexpr std::size_t kChecksumBytes = 32; ///< BLAKE2b-256

[[noreturn]] void throw_corrupt();

/// Throws Error (corrupt) where the bytes are no state.
inline void require(bool condition) {
    if (!condition)
        throw_corrupt();
}

/// The bits of a number, room for shifts by a byte included.
template <class Int>
using Bits = std::conditional_t<sizeof(Int) == 16, uint128, std::uint64_t>;

/// Writes to `out`, or counts bytes alone if that is null.
class ByteWriter {
public:
    explicit ByteWriter(unsigned char* out) : out_(out) {}

    template <class Int>
    void integer(Int value) {
        auto bits = static_cast<Bits<Int>>(value);
        if (out_ != nullptr) {
            unsigned char* to = out_ + size_; // a copy, which no store to it can change
            for (std::size_t i = 0; i < sizeof(Int); ++i, bits >>= 8)
                to[i] = static_cast<unsigned char>(bits);
        }
        size_ += sizeof(Int);
    }
    void real(double value) { integer(std::bit_cast<std::uint64_t>(value)); }
    void raw(std::span<const unsigned char> bytes) {
        for (const unsigned char value : bytes)
            integer(value);
    }
    [[nodiscard]] std::size_t size() const { return size_; }

    /// Writes that of all that comes before.
    void checksum();

private:
    unsigned char* out_;
    std::size_t size_ = 0;
};

/// Reads numbers one after the other.
class ByteReader {
public:
    using Bytes = std::span<const unsigned char>;

    explicit ByteReader(Bytes bytes) : rest_(bytes) {}

    template <class Int>
    [[nodiscard]] Int integer() {
        const unsigned char* bytes = take(sizeof(Int));
        Bits<Int> bits = 0;
        for (std::size_t i = sizeof(Int); i-- > 0;)
            bits = bits << 8 | bytes[i];
        return static_cast<Int>(bits);
    }
    template <class Int>
    [[nodiscard]] Int integer(Int low, Int high) {
        const auto value = integer<Int>();
        require(value >= low && value <= high);
        return value;
    }
    [[nodiscard]] double real(double low, double high) {
        const auto value = std::bit_cast<double>(integer<std::uint64_t>());
        require(value >= low && value <= high); // false for NaN
        return value;
    }
    [[nodiscard]] Bytes rest() const { return rest_; }

private:
    const unsigned char* take(std::size_t size) {
        require(rest_.size() >= size);
        const unsigned char* bytes = rest_.data();
        rest_ = rest_.subspan(size);
        return bytes;
    }

    Bytes rest_;
};

/// What lies between magic bytes with a version and the checksum, once all are checked.
[[nodiscard]] ByteReader::Bytes
checked(ByteReader::Bytes bytes, std::span<const unsigned char, 4> magic, std::uint16_t version);

} // namespace dp_counter
