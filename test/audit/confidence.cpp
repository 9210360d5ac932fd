#include "audit/confidence.hpp"

#include <algorithm>
#include <cmath>

#include <boost/math/special_functions/beta.hpp>

namespace dp_counter::test {

double least_probability(std::int64_t hits, std::int64_t trials, double error) {
    if (hits == 0)
        return 0;
    return boost::math::ibeta_inv(static_cast<double>(hits), static_cast<double>(trials - hits + 1),
                                  error);
}

double greatest_probability(std::int64_t hits, std::int64_t trials, double error) {
    if (hits == trials)
        return 1;
    return boost::math::ibetac_inv(static_cast<double>(hits + 1),
                                   static_cast<double>(trials - hits), error);
}

namespace {

/// The end of a Wilson interval on the side that `z` points to.
double wilson(double hits, double trials, double z) {
    const double p = hits / trials;
    const double spread = z * std::sqrt(p * (1 - p) / trials + z * z / (4 * trials * trials));
    return (p + z * z / (2 * trials) + spread) / (1 + z * z / trials);
}

} // namespace

double rough_log_ratio(std::int64_t p_hits, std::int64_t q_hits, std::int64_t trials,
                       double errors) {
    const auto n = static_cast<double>(trials);
    const double p = std::max(wilson(static_cast<double>(p_hits), n, -errors), 1e-300);
    return std::log(p / wilson(static_cast<double>(q_hits), n, errors));
}

} // namespace dp_counter::test
