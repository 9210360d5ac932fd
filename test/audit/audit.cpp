#include "audit/audit.hpp"

#include <algorithm>
#include <cmath>

#include "audit/confidence.hpp"

namespace dp_counter::test {

namespace {

std::int64_t hits(const Event& event, const Releases& releases, std::size_t from, std::size_t to) {
    std::int64_t count = 0;
    for (std::size_t i = from; i < to; ++i)
        count += event.holds(releases.run(i)) ? 1 : 0;
    return count;
}

/// The runs dealt to four quarters in turn. Runs that a defect ties to each other lie beside each
/// other: a quarter that has few of these bundles finds events that hold for them alone.
Releases dealt(const Releases& releases) {
    constexpr std::size_t kQuarters = 4;
    Releases result(releases.steps());
    result.reserve(releases.runs());
    for (std::size_t quarter = 0; quarter < kQuarters; ++quarter)
        for (std::size_t i = quarter; i < releases.runs(); i += kQuarters)
            for (std::size_t column = 0; column < releases.width(); ++column)
                result.add(releases.run(i)[column]);
    return result;
}

} // namespace

Audit audit(const Releases& in_turn, const Releases& other_in_turn, double error) {
    const Releases one = dealt(in_turn);
    const Releases other = dealt(other_in_turn);
    const std::size_t runs = std::min(one.runs(), other.runs());
    const std::size_t quarter = runs / 4;
    const std::size_t half = 2 * quarter;
    Found forth = find_event(one, other, quarter);
    Found back = find_event(other, one, quarter);
    const bool turned = back.score > forth.score;
    const Releases& often = turned ? other : one;
    const Releases& seldom = turned ? one : other;
    Event event = turned ? std::move(back.event) : std::move(forth.event);

    const auto trials = static_cast<std::int64_t>(runs - half);
    const double p = least_probability(hits(event, often, half, runs), trials, error / 2);
    const double q = greatest_probability(hits(event, seldom, half, runs), trials, error / 2);
    return {p > q ? std::log(p / q) : 0, std::move(event)};
}

} // namespace dp_counter::test
