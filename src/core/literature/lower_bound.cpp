#include "core/literature/lower_bound.hpp"

#include <algorithm>
#include <iterator>

namespace dp_counter {

namespace {

struct Certified {
    std::int64_t horizon;
    double mse; ///< of continuous noise at epsilon = 1
};

constexpr Certified kTable[] = {
#include "core/literature/lower_bound_table.inc"
};

} // namespace

double laplace_lower_bound(std::int64_t horizon, PrivacyUnit unit) noexcept {
    const Certified* above = std::upper_bound(
        std::begin(kTable), std::end(kTable), horizon,
        [](std::int64_t at, const Certified& entry) { return at < entry.horizon; });
    // Continuous noise of scale b has the variance 2 b^2; the step's own discrete noise has less,
    // by a factor that no node with a greater scale, or on a finer lattice, comes below.
    return std::prev(above)->mse / 2 * unit.scale(1).variance();
}

} // namespace dp_counter
