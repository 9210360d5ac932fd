// The characteristic function of a sum of steps of box noise.
#pragma once

#include <vector>

#include "core/accuracy/characteristic_function.hpp"
#include "core/noise/box_law.hpp"

namespace dp_counter {

/// So many steps of each of so many blocks.
struct BoxPart {
    int steps;
    double blocks;
};

/// The product over the blocks of E D_R(theta)^steps, where D_R, of one step of radius R, is
/// sin((2R + 1) theta / 2) / ((2R + 1) sin(theta / 2)). The law of R is written down as it is, all
/// of its terms being positive, for radii beyond which it has less than 1e-15.
class BoxSum final : public Characteristic {
public:
    /// The noise has the ratio exp(-rate) in blocks of `size`.
    BoxSum(std::int32_t size, double rate, std::vector<BoxPart> parts);

    [[nodiscard]] double lattice() const noexcept override { return 1; }
    [[nodiscard]] int groups() const noexcept override { return static_cast<int>(radii_.size()); }
    [[nodiscard]] double tail_radius(double probability) const noexcept override;
    [[nodiscard]] double largest_weight() const noexcept override { return 1; }
    void evaluate(double start, double step, int count, double* values) const noexcept override;
    [[nodiscard]] double supremum(double from, double to, double enough) const noexcept override;

    [[nodiscard]] double variance() const noexcept;

private:
    struct Radius {
        double probability;
        double width; ///< 2R + 1
    };

    /// The product over the parts, where one step of radius R has factor(width).
    template <class Factor>
    [[nodiscard]] double product(Factor&& factor) const noexcept;

    double rate_;
    std::vector<BoxPart> parts_;
    std::vector<Radius> radii_;
};

} // namespace dp_counter
