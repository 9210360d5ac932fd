// The privacy parameter, exactly.
#pragma once

#include <cstdint>

namespace dp_counter {

/// A privacy parameter epsilon in [1e-9, 1e9]. A double is a dyadic rational, and that rational,
/// mantissa * 2^exponent, is what every probability is computed from: nothing is rounded.
class Epsilon {
public:
    /// The largest double not above 10^-9, so that a declared 0.000000001 is in range.
    static constexpr double kMin = 0x1.12e0be826d694p-30;
    static constexpr double kMax = 1e9;
    /// The hint of errors about an epsilon.
    static constexpr const char* kUsual =
        "Small values protect more and add more noise; 0.1 to 1 is usual.";

    /// Throws Error (parameter) unless value is finite and within [kMin, kMax].
    explicit Epsilon(double value);

    [[nodiscard]] double value() const noexcept { return value_; }
    [[nodiscard]] std::uint64_t mantissa() const noexcept { return mantissa_; }
    [[nodiscard]] int exponent() const noexcept { return exponent_; }

    friend bool operator==(const Epsilon&, const Epsilon&) = default;

private:
    double value_;
    std::uint64_t mantissa_; ///< odd or not, below 2^53
    int exponent_;
};

} // namespace dp_counter
