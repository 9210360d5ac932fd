#include "core/accuracy/kept_share.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dp_counter {

KeptShare kept_share(std::span<const ReleasedPart> parts, double scale) noexcept {
    double kept = 0;
    double all = 0;
    double kept_kept = 0;
    double kept_all = 0;
    double all_all = 0;
    for (const ReleasedPart& part : parts) {
        kept += part.released * part.kept;
        all += part.released * part.all;
        kept_kept += part.kept * part.kept;
        kept_all += part.kept * part.all;
        all_all += part.all * part.all;
    }
    KeptShare share{std::numeric_limits<double>::quiet_NaN(), 0, 1};
    if (all > 0)
        share.share = std::clamp(kept / all, 0.0, 1.0);
    // P(abs(Z) > reach) = 2 q^(floor(reach) + 1) / (1 + q) is at most 5 %, q = exp(-1 / scale).
    const double reach = scale * std::log(40 / (1 + std::exp(-1 / scale)));
    // a p^2 - 2 b p + c <= 0
    const double square = reach * reach;
    const double a = all * all - square * all_all;
    const double b = kept * all - square * kept_all;
    const double c = kept * kept - square * kept_kept;
    if (!(all > 0 && a > 0))
        return share;
    const double root = std::sqrt(std::max(b * b - a * c, 0.0));
    const double low = (b - root) / a;
    const double high = (b + root) / a;
    if (low > 1 || high < 0)
        return share;
    share.low = std::max(low, 0.0);
    share.high = std::min(high, 1.0);
    return share;
}

} // namespace dp_counter
