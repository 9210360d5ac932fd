#include "audit/audit.hpp"

#include <algorithm>
#include <cmath>

#include "audit/confidence.hpp"

namespace dp_counter::test {

namespace {

/// In how many runs it holds, of the two quarters that did not find it.
std::int64_t hits(const Event& event, const Releases& releases, std::size_t runs) {
    std::int64_t count = 0;
    for (const std::size_t quarter : {2, 3})
        for (const std::int64_t* run : releases.quarter(quarter, runs))
            count += event.holds(run) ? 1 : 0;
    return count;
}

} // namespace

Audit audit(const Releases& one, const Releases& other, double error) {
    const std::size_t quarter = std::min(one.runs(), other.runs()) / Releases::kQuarters;
    Found forth = find_event(one, other, quarter);
    Found back = find_event(other, one, quarter);
    const bool turned = back.score > forth.score;
    const Releases& often = turned ? other : one;
    const Releases& seldom = turned ? one : other;
    Event event = turned ? std::move(back.event) : std::move(forth.event);

    const auto trials = static_cast<std::int64_t>(2 * quarter);
    const double p = least_probability(hits(event, often, quarter), trials, error / 2);
    const double q = greatest_probability(hits(event, seldom, quarter), trials, error / 2);
    return {p > q ? std::log(p / q) : 0, std::move(event)};
}

} // namespace dp_counter::test
