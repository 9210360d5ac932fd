#include <cmath>
#include <optional>
#include <vector>

#include "core/base/checkpoint.hpp"
#include "core/count/noise_stream.hpp"

#include "pg/steps/bins.hpp"

#include "pg/server/backend_random.hpp"
#include "pg/server/public_plans.hpp"
#include "pg/server/secret_memory.hpp"
#include "pg/server/wall.hpp"
#include "pg/steps/stored_state.hpp"

namespace dp_counter::pg {

namespace {

/// The errors of the bins of a law, public values alone. The last ones outlive the functions below,
/// since errors that PostgreSQL raises in them would pass over destructors.
struct Errors {
    explicit Errors(const BinsLaw& of) : law(of) {
        for (std::int32_t bin = 1; bin <= law.bins; ++bin) {
            checkpoint();
            const AskedBin asked{law, bin};
            stddev.push_back(std::sqrt(public_forecast.variance_at(asked, 1, 0)));
            width.push_back(public_forecast.half_width(asked, 1, kReleaseConfidence));
        }
    }

    BinsLaw law;
    std::vector<double> stddev;
    std::vector<std::int64_t> width;
};
std::optional<Errors> known;

} // namespace

void release_bins(MemoryContext context, const BinsLaw& law, std::int64_t first,
                  const int128* counts, std::size_t apart, std::int64_t count,
                  ClosedRelease* releases) {
    const PreparedMechanism* prepared = run([&] {
        if (!known || !(known->law == law))
            known.emplace(law);
        return &prepare(make_mechanism(law.totals()));
    });
    const Release release = begin_release(law.unit);
    void* block = allocate_secret(context, NoiseStream::bytes(*prepared));
    run([&] {
        for (std::int64_t i = 0; i < count; ++i) {
            NoiseStream* noise = NoiseStream::create(block, *prepared);
            int128 total = 0;
            int128 released = 0; // of the bins before
            for (std::int32_t bin = 0; bin < law.bins; ++bin) {
                checkpoint();
                total +=
                    counts[static_cast<std::size_t>(i) * apart + static_cast<std::size_t>(bin)];
                const int128 next = total + noise->advance(release);
                releases[bin * count + i] = {{first + i, saturated(next - released),
                                              known->stddev[static_cast<std::size_t>(bin)]},
                                             known->width[static_cast<std::size_t>(bin)]};
                released = next;
            }
        }
    });
}

} // namespace dp_counter::pg
