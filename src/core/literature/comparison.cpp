#include "core/literature/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "core/accuracy/release_error.hpp"
#include "core/literature/square_root_factorization.hpp"
#include "core/tree/tree_choice.hpp"

namespace dp_counter {

namespace {

Compared of_spec(const char* name, const MechanismSpec& spec) {
    const ReleaseError errors(spec);
    std::optional<std::int32_t> radix;
    if (spec.radix != 0)
        radix = spec.radix;
    return {name, radix, Guarantee::pure, errors.mse(), errors.max_variance()};
}

Compared of_summary(const char* name, Guarantee guarantee, const ErrorSummary& error) {
    return {name, {}, guarantee, error.mse, error.max_variance};
}

/// The square of the l2 sensitivity of the square-root factorization.
double square_root_sensitivity(std::int64_t horizon, std::int64_t contributions) noexcept {
    return contributions == 1 ? square_root_norms(horizon).last
                              : first_columns_norm(horizon, contributions);
}

void add_gaussian(std::vector<Compared>& rows, std::int64_t horizon, PrivacyUnit unit, Delta delta,
                  std::int64_t contributions) {
    const Epsilon epsilon = unit.epsilon;
    const double step = static_cast<double>(unit.sensitivity) / static_cast<double>(contributions);
    const auto add = [&](const char* name, double stddev) {
        rows.push_back(of_summary(name, Guarantee::approximate,
                                  square_root_error(horizon, step * stddev, contributions)));
    };
    const double henzinger = henzinger_gaussian_stddev(epsilon, delta);
    if (gaussian_is_private(henzinger, epsilon, delta)) {
        // Their factorization is the same: its sensitivity grows by as much as their bound on it.
        const double growth =
            square_root_sensitivity(horizon, contributions) / square_root_sensitivity(horizon, 1);
        rows.push_back({"Henzinger-Upadhyay-Upadhyay bound",
                        {},
                        Guarantee::approximate,
                        step * step * growth * henzinger_bound(horizon, epsilon, delta),
                        {}});
    }
    const double classic = classic_gaussian_stddev(epsilon, delta);
    if (gaussian_is_private(classic, epsilon, delta))
        add("square root, classic Gaussian", classic);
    const double analytic = analytic_gaussian_stddev(epsilon, delta);
    add("square root, analytic Gaussian", analytic);
    if (contributions == 1)
        rows.push_back({"normalized square root, analytic Gaussian",
                        {},
                        Guarantee::approximate,
                        step * step * analytic * analytic * normalized_square_root_mean(horizon),
                        {}});
}

void check_contributions(std::int64_t contributions, std::int64_t horizon, PrivacyUnit unit) {
    if (contributions < 1 || contributions > horizon)
        throw Error(Fault::parameter,
                    "contributions must be between 1 and the horizon, " + std::to_string(horizon) +
                        ", not " + std::to_string(contributions),
                    "It is the number of steps that one protected unit can change.");
    if (contributions > unit.sensitivity)
        throw Error(Fault::parameter,
                    "contributions must be at most the sensitivity, " +
                        std::to_string(unit.sensitivity) + ", not " + std::to_string(contributions),
                    "The sensitivity is the most that one protected unit can change in total: at "
                    "least 1 in each step to which it contributes.");
}

} // namespace

Compared best_even_subtraction(std::int64_t horizon, PrivacyUnit unit) {
    const auto even = [](std::int32_t half) {
        return DigitSystem::offset(2 * std::min(half, kMaxRadix / 2));
    };
    const DigitSystem best = choose_tree(even, horizon, unit);
    return of_spec("subtraction, best even k",
                   {Mechanism::subtraction, best.radix(), best.height(horizon), horizon, unit, {}});
}

ErrorSummary noise_per_step(std::int64_t horizon, PrivacyUnit unit) noexcept {
    const double variance = unit.scale(1).variance();
    const auto steps = static_cast<double>(horizon);
    return {variance * (steps + 1) / 2, variance * steps};
}

double henzinger_bound(std::int64_t horizon, Epsilon epsilon, Delta delta) noexcept {
    const double growth = 1 + std::log(0.8 * static_cast<double>(horizon)) / std::numbers::pi;
    const double c = henzinger_gaussian_stddev(epsilon, delta);
    return c * c * growth * growth;
}

ErrorSummary square_root_error(std::int64_t horizon, double stddev,
                               std::int64_t contributions) noexcept {
    const SquareRootNorms norms = square_root_norms(horizon);
    const double variance = stddev * stddev * square_root_sensitivity(horizon, contributions);
    return {variance * norms.mean, variance * norms.last};
}

std::vector<Compared> compare(std::int64_t horizon, PrivacyUnit unit,
                              const std::optional<Delta>& delta, std::int64_t contributions) {
    if (horizon < 1)
        throw Error(Fault::parameter, "horizon must be at least 1, not " + std::to_string(horizon));
    check_contributions(contributions, horizon, unit);
    std::vector<Compared> rows;
    const auto add = [&](const char* name, Mechanism mechanism, std::optional<std::int32_t> k) {
        rows.push_back(of_spec(name, make_mechanism({horizon, unit, k, mechanism})));
    };
    add("subtraction, best k", Mechanism::subtraction, {}); // refuses a bad horizon, as all would
    try {
        add("hat", Mechanism::hat, {});
    } catch (const Error&) { // an epsilon too small for its lattices: there is no such count
    }
    std::rotate(rows.begin(), rows.begin() + 1, rows.end()); // hat wins ties
    add("subtraction, k = 19", Mechanism::subtraction, 19);
    rows.push_back(best_even_subtraction(horizon, unit));
    add("plain, best k", Mechanism::plain, {});
    add("binary tree", Mechanism::plain, 2);
    rows.push_back(of_summary("Honaker online", Guarantee::pure, honaker_online(horizon, unit)));
    rows.push_back(of_summary("noise per step", Guarantee::pure, noise_per_step(horizon, unit)));
    if (delta)
        add_gaussian(rows, horizon, unit, *delta, contributions);
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Compared& a, const Compared& b) { return a.mse < b.mse; });
    return rows;
}

} // namespace dp_counter
