// Which mechanism, with which parameters: decided before the first row, from public values alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/digit_system.hpp"
#include "core/laplace_scale.hpp"

namespace dp_counter {

enum class Mechanism : std::uint8_t {
    subtraction, ///< k-ary tree with negative digits: the paper's Algorithm 2, odd and even k
    plain,       ///< k-ary tree without subtraction; k = 2 is the binary tree mechanism
};

[[nodiscard]] const char* mechanism_name(Mechanism mechanism) noexcept;

/// The mechanism of that name. Throws Error (parameter) if there is none.
[[nodiscard]] Mechanism mechanism_from_name(std::string_view text);

/// What the analyst asked for; what is not given is chosen.
struct Request {
    std::int64_t horizon; ///< the most steps the stream may have, 1 .. kMaxHorizon
    Epsilon epsilon;
    std::optional<std::int32_t> radix; ///< k, kMinRadix .. kMaxRadix
    std::optional<Mechanism> mechanism;

    friend bool operator==(const Request&, const Request&) = default;
};

/// A mechanism with all its parameters. Every one of the releases at steps 1 .. horizon together is
/// epsilon-differentially private: each bit lies in exactly `height` tree nodes (the l1
/// sensitivity), and each node's count carries discrete Laplace noise of scale height / epsilon.
struct Plan {
    Mechanism mechanism;
    std::int32_t radix;
    int height;
    std::int64_t horizon;
    Epsilon epsilon;

    [[nodiscard]] DigitSystem digits() const;
    [[nodiscard]] LaplaceScale scale() const noexcept;

    /// Mean of the releases' variances over steps 1 .. horizon.
    [[nodiscard]] double mse() const noexcept;
};

/// Completes a request. Without k and mechanism: the least exact MSE of all radices of both
/// mechanisms; without k: of all radices of that mechanism; with k alone: subtraction. Ties go to
/// the lower height, then to the smaller radix, then to the smaller state (plain): equal requests
/// always have equal plans. Throws Error (parameter) for values out of range.
[[nodiscard]] Plan make_plan(const Request& request);

} // namespace dp_counter
