// Half widths of one bridge's or hat's releases, each in a fraction of a microsecond where the
// steps come one after the other.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/accuracy/characteristic_function.hpp"
#include "core/accuracy/inversion.hpp"
#include "core/accuracy/noise_sum.hpp"
#include "core/hat/hat_weights.hpp"
#include "core/noise/privacy_unit.hpp"

namespace dp_counter {

/// The characteristic function of a release's noise is a product over the levels, and a factor
/// depends on little of the step (Place): of levels 0 and 1 on the rows of levels 1 and 2; of level
/// l >= 2 on those of l and l + 1 and on u, how far their tick has passed. In u its weights are
/// straight lines, so that its logarithm g(u) at one theta is interpolated by a parabola: with
/// kappa = 1/sinh^2(1/(2 scale)) the third derivative of log(1 + kappa sin^2(x)) is at most
/// 4 kappa sqrt(kappa + 1) in size (its Fourier series, sum of -2 rho^n cos(2 n x)/n with
/// rho = exp(-1/scale), summed term by term), and that bounds the error of g. Thetas are the same
/// at all steps, the factors are kept, and one step costs a product over the levels and two sums.
///
/// Every bound is added to the probability that is asked for: no width is too narrow, and it is at
/// most 1 wider than the least. Where that cannot be shown there is no answer.
class HatWidths {
public:
    /// `carried` is the noise that all releases have besides the hat's. Takes up to 1 ms.
    HatWidths(const HatWeights& weights, PrivacyUnit unit, NoiseSum carried, double confidence);

    /// Of the release at t, 1 <= t <= horizon. `weights` must be the constructor's, wherever it
    /// lies now. The answer depends on the arguments alone.
    [[nodiscard]] std::optional<std::int64_t> at(const HatWeights& weights, std::int64_t t);

    /// Whether it ever answers.
    [[nodiscard]] bool is_useful() const noexcept { return period_ > 0; }

private:
    static constexpr int kTerms = 48; ///< of the Fourier sum, at most
    static constexpr std::int64_t kManySlots = 1024;
    static constexpr std::int64_t kFewSlots = 64;

    struct Place { ///< in a level
        std::int64_t cell;
        std::int64_t tick; ///< of the cell
        double u;          ///< how far it has passed, 0 to 1
    };

    /// Levels 0 and 1 (carried noise included), or one above them.
    struct Factor {
        std::int64_t row = -1;   ///< of level 1, or l
        std::int64_t above = -1; ///< row of the next level; of the top: its cell
        double log_moment = 0;   ///< at rate_, or a little more
        double cubic = 0;        ///< g's error is at most square * theta^2 + cubic * theta^3
        double square = 0;
        int terms = 0; ///< of levels 0 and 1: 0 where they do not suffice
        /// Levels 0 and 1: the coefficients of the Fourier sum. Others: the parabolas of g at
        /// its thetas, all constants first.
        std::vector<double> value;
        std::int64_t guess = 0; ///< levels 0 and 1: the width where these rows were seen last
    };

    /// A level above 1 at one place of its tick.
    struct Point {
        double log_moment; ///< at rate_
        double sizes;      ///< of the coefficients
        double g[kTerms];  ///< not finite where it underflows
    };
    /// The end of the tick that was looked at last, which is where the next one begins.
    struct End {
        std::int64_t row = -1; ///< as of a Factor
        std::int64_t above = -1;
        int terms = 0;
        Point point{};
    };

    /// With at least the first `terms` terms, if the level is above 1.
    [[nodiscard]] Factor& factor(const HatWeights& weights, std::int64_t t, const Place* places,
                                 int l, int terms);
    /// By so many steps that stand for all; whether two others are answered.
    [[nodiscard]] bool prepare(const HatWeights& weights, int looked_at);
    void fill_leaves(const HatWeights& weights, std::int64_t t, Factor& out) const;
    [[nodiscard]] Point point(const HatWeights& weights, std::int64_t t, const Place* places, int l,
                              double u, int terms) const;
    void fill_above(const HatWeights& weights, std::int64_t t, const Place* places, int l,
                    int terms, Factor& out);

    PrivacyUnit unit_;
    NoiseSum carried_;
    double confidence_;
    double tolerance_;
    double eta_ = 0;
    double period_ = 0;
    double step_ = 0; ///< theta_1
    double reach_ = 0;
    double rate_ = 0; ///< of Chernoff's bound
    double most_log_moment_ = 0;
    int terms_ = 0;                            ///< the most that any step has needed
    std::vector<std::vector<Factor>> factors_; ///< of levels 1, 2, ..., found by their rows
    std::vector<End> ends_;                    ///< of the same levels
};

} // namespace dp_counter
