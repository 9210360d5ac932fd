#include "pg/steps/cells.hpp"

#include <cmath>
#include <optional>

#include "core/accuracy/independent_error.hpp"
#include "core/accuracy/noise_distribution.hpp"
#include "core/base/checkpoint.hpp"
#include "core/noise/discrete_laplace.hpp"

#include "pg/server/backend_random.hpp"
#include "pg/server/wall.hpp"

namespace dp_counter::pg {

namespace {

/// The noise of a unit, public values alone.
struct CellNoise {
    CellNoise(const PrivacyUnit& of, const IndependentError& errors)
        : unit(of), sampler(of.scale(1)), stddev(std::sqrt(errors.variance_at(1))),
          width(NoiseDistribution(errors.noise_at(1)).half_width(kReleaseConfidence)),
          exact(errors.noise_at(1), kReleaseConfidence) {}

    double quantile(int node) {
        if (quantiles[node] == 0)
            quantiles[node] = exact.at(node);
        return quantiles[node];
    }

    PrivacyUnit unit;
    DiscreteLaplace sampler;
    double stddev;
    std::int64_t width;
    ShareQuantiles exact;
    double quantiles[kShareCells / 2 + 1] = {}; ///< 0 where not computed
};
/// That of the unit, the same object for one call after the other: it outlives the functions below,
/// since errors that PostgreSQL raises in them would pass over destructors.
CellNoise& noise_of(const PrivacyUnit& unit) {
    static std::optional<CellNoise> known;
    if (!known || known->unit != unit)
        known.emplace(unit, IndependentError(unit));
    return *known;
}

} // namespace

void check_cells(const PrivacyUnit& unit) {
    run([&] { (void)noise_of(unit); });
}

void release_cells(const PrivacyUnit& unit, std::int64_t first, const int128* counts,
                   std::int64_t count, ClosedRelease* releases) {
    const Release release = begin_release(unit);
    run([&] {
        const CellNoise& noise = noise_of(unit);
        for (std::int64_t i = 0; i < count; ++i) {
            checkpoint();
            const std::int64_t released = saturated(counts[i] + release.draw(noise.sampler));
            releases[i] = {{first + i, released, noise.stddev}, noise.width};
        }
    });
}

ShareInterval share_of_cells(const PrivacyUnit& unit, std::int64_t above, std::int64_t below) {
    return run([&] {
        CellNoise& noise = noise_of(unit);
        return share_interval(above, below, [&](int node) { return noise.quantile(node); });
    });
}

} // namespace dp_counter::pg
