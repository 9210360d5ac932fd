// Searches the best hat mechanism for a grid of horizons and prints src/core/hat/hat_table.inc.
//
//   g++ -std=c++20 -O2 -Isrc tools/make_hat_table.cpp
//   src/core/hat/hat_{levels,weights,variance}.cpp
//       src/core/{noise/laplace_scale,base/epsilon,tree/offset_digits}.cpp -o /tmp/make_hat_table
//   /tmp/make_hat_table > src/core/hat/hat_table.inc        (some minutes; progress on stderr)
//
// Up to the horizon in the argument (300) it searches anew. The rows of the present table behind it
// are climbed from where they are: on all levels up to kDense, then on the top level alone. (They
// come from a search of the whole range with level ends; with fading ones it takes an hour.)
//
// The measure is the exact mean variance for continuous noise, in units of 1/epsilon^2. For every
// horizon of the grid and every sensible height it climbs from the best of the last horizon, from
// uniform radices and from shaken versions of its best, changing radices, offsets and knots by
// small steps. An entry of the table then serves all horizons up to where another one is better by
// more than kTolerance. The search is deterministic.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "core/hat/hat_variance.hpp"

namespace {

using namespace dp_counter;
using Shapes = std::vector<HatShape>;

constexpr double kTolerance = 1.002;
constexpr std::int64_t kFirst = 6;    // below, noise per step is better
constexpr std::int64_t kDense = 4096; // every horizon up to here is checked
constexpr std::int64_t kLarge = 5000; // from here on fewer starts
constexpr double kNever = 1e300;

struct Found {
    double cost = kNever;
    Shapes shapes;
};

double cost_of(std::int64_t horizon, const Shapes& shapes) {
    for (const HatShape& shape : shapes)
        if (shape.radix < 2 || shape.radix > 300 || shape.offset < 0 ||
            shape.offset > 3 * shape.radix ||
            std::abs(shape.extra) > (&shape == &shapes.back() ? kMostExtra : 1))
            return kNever;
    const HatLevels spec = hat_levels(horizon, shapes, HatLevels::End::fading);
    static std::vector<std::int64_t> block;
    block.resize(HatWeights::bytes(spec) / sizeof(std::int64_t) + 2);
    const HatRowNorms energy = hat_mean_row_norms(*HatWeights::create(block.data(), spec));
    double sum = 0;
    for (int l = 0; l < spec.height; ++l)
        sum += energy.level[l];
    return 2 * sum * spec.height * spec.height;
}

/// Changes one shape, or two, as long as that helps.
void climb(std::int64_t horizon, Found& found) {
    found.cost = cost_of(horizon, found.shapes);
    const auto n = found.shapes.size();
    const auto attempt = [&](std::size_t i, HatShape change, std::size_t j, HatShape other) {
        Shapes next = found.shapes;
        for (const auto& [at, by] : {std::pair{i, change}, std::pair{j, other}}) {
            next[at].radix += by.radix;
            next[at].offset += by.offset;
            next[at].extra += by.extra;
        }
        const double cost = cost_of(horizon, next);
        if (cost >= found.cost * (1 - (horizon <= kDense ? 1e-6 : 2e-5)))
            return false;
        found = {cost, next};
        return true;
    };
    for (bool better = true; better;) {
        better = false;
        for (std::size_t i = n; i-- > 0;) {
            for (const HatShape change :
                 {HatShape{1, 0}, HatShape{-1, 0}, HatShape{0, 1}, HatShape{0, -1}, HatShape{1, 1},
                  HatShape{-1, -1}, HatShape{0, 0, 1}, HatShape{0, 0, -1}, HatShape{2, 1},
                  HatShape{-2, -1}, HatShape{0, 2}, HatShape{0, -2}})
                while (attempt(i, change, i, {}))
                    better = true;
        }
        if (better)
            continue;
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j)
                if (i != j && horizon <= kLarge)
                    for (const std::int32_t by : {1, 2})
                        better = attempt(i, {by, 0}, j, {-by, 0}) || better;
    }
}

std::uint32_t next_random() {
    static std::uint64_t state = 1;
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>(state >> 40);
}

Shapes shaken(Shapes shapes) {
    for (HatShape& shape : shapes) {
        const int width = std::max(1, shape.radix / 6);
        shape.radix += static_cast<std::int32_t>(next_random() % (2U * width + 1)) - width;
        shape.offset += static_cast<std::int32_t>(next_random() % (2U * width + 1)) - width;
        shape.radix = std::max(shape.radix, 2);
        shape.offset = std::clamp(shape.offset, 0, 2 * shape.radix);
    }
    return shapes;
}

Shapes uniform(std::int64_t horizon, int levels, double top_knots) {
    const double exact = std::pow(static_cast<double>(horizon) / top_knots, 1.0 / levels);
    const int radix = std::max(2, static_cast<int>(std::lround(exact)));
    Shapes shapes(static_cast<std::size_t>(levels), HatShape{radix, radix * 13 / 10});
    const int percent[] = {65, 88, 114}; // offsets usually grow from the top down
    for (std::size_t i = 0; i < std::min(shapes.size(), std::size(percent)); ++i)
        shapes[shapes.size() - 1 - i].offset = radix * percent[i] / 100;
    shapes.back().extra = -1; // it fades over more than a radix
    return shapes;
}

class Search {
public:
    /// The best for a horizon; horizons must come in growing order.
    Found find(std::int64_t horizon, int shakes) {
        const double ideal = std::log(static_cast<double>(horizon) / 4.5) / std::log(18.0);
        const int middle = std::max(1, static_cast<int>(std::lround(ideal)));
        Found best;
        for (int levels = std::max(1, middle - 1); levels <= middle + 1; ++levels) {
            Found& here = best_of_height_[levels];
            std::vector<Shapes> starts;
            if (!here.shapes.empty())
                starts.push_back(here.shapes);
            if (horizon > kLarge && here.cost > last_best_ * 1.05 && here.cost < kNever)
                continue; // this height is past its time, or not yet there
            starts.push_back(uniform(horizon, levels, 4.5));
            if (horizon <= kLarge) {
                starts.push_back(uniform(horizon, levels, 2.5));
                starts.push_back(uniform(horizon, levels, 6.5));
            }
            here.cost = kNever;
            const auto try_from = [&](const Shapes& start) {
                Found found{kNever, start};
                climb(horizon, found);
                if (found.cost < here.cost)
                    here = found;
            };
            for (const Shapes& start : starts)
                try_from(start);
            if (here.cost > best.cost * 1.02)
                continue;
            for (int i = 0; i < shakes; ++i)
                try_from(shaken(here.shapes));
            if (here.cost < best.cost)
                best = here;
        }
        last_best_ = best.cost;
        return best;
    }

private:
    std::map<int, Found> best_of_height_;
    double last_best_ = kNever;
};

struct Entry {
    std::int64_t from;
    Shapes shapes;
};

/// Days and months that are asked for often, and powers of two: each gets what a climb from the
/// entries around it finds, as an entry of its own, where that is better.
void serve_asked_horizons(std::vector<Entry>& entries) {
    for (const std::int64_t horizon :
         {12,  24,  30,  31,  52,  60,  90,  100, 120,  128,  168,  180,  250,  256,  360,
          365, 366, 500, 512, 720, 730, 731, 744, 1000, 1024, 1095, 1461, 1826, 2000, 2048}) {
        const auto next =
            std::upper_bound(entries.begin(), entries.end(), horizon,
                             [](std::int64_t t, const Entry& entry) { return t < entry.from; });
        const Shapes old = std::prev(next)->shapes;
        Found best{cost_of(horizon, old), old};
        const double before = best.cost;
        for (auto near = next - std::min<std::ptrdiff_t>(3, next - entries.begin());
             near != entries.end() && near - next < 3; ++near) {
            Found found{kNever, near->shapes};
            climb(horizon, found);
            if (found.cost < best.cost)
                best = found;
        }
        if (best.cost > before * 0.9998)
            continue;
        const bool begins = std::prev(next)->from == horizon;
        auto at = begins ? std::prev(next) : entries.insert(next, {horizon, {}});
        at->shapes = best.shapes;
        const std::int64_t end = horizon + 1;
        if (std::next(at) == entries.end() || std::next(at)->from > end) {
            if (cost_of(end, best.shapes) > cost_of(end, old))
                entries.insert(std::next(at), {end, old});
        }
    }
}

/// Between the horizons of the grid: lets each entry begin as early as it is better than the one
/// before, down to half the way.
void settle_boundaries(std::vector<Entry>& entries) {
    for (std::size_t i = 1; i < entries.size(); ++i) {
        const std::int64_t least = (entries[i - 1].from + entries[i].from) / 2;
        for (std::int64_t at = entries[i].from; at > least;) {
            at -= std::max<std::int64_t>(1, entries[i].from / 64);
            if (at <= least || cost_of(at, entries[i].shapes) > cost_of(at, entries[i - 1].shapes))
                break;
            entries[i].from = at;
        }
    }
}

/// Round horizons are asked for most: each gets the best of the entries around it, its top level
/// tuned, as an entry of its own. That serves up to 2 % more, and on from there if it is better.
void serve_round_horizons(std::vector<Entry>& entries) {
    for (std::int64_t power = 1000; power <= entries.back().from / 10; power *= 10)
        for (const std::int64_t horizon : {power, 2 * power, 5 * power}) {
            const auto next =
                std::upper_bound(entries.begin(), entries.end(), horizon,
                                 [](std::int64_t t, const Entry& entry) { return t < entry.from; });
            const Shapes old = std::prev(next)->shapes;
            Found best{cost_of(horizon, old), old};
            const double before = best.cost;
            for (auto near = next - std::min<std::ptrdiff_t>(4, next - entries.begin());
                 near != entries.end() && near - next < 3; ++near)
                for (const int radix : {-2, -1, 0, 1, 2})
                    for (const int offset : {-2, 0, 2}) {
                        Shapes shapes = near->shapes;
                        shapes.back().radix += radix;
                        shapes.back().offset += offset;
                        const double cost = cost_of(horizon, shapes);
                        if (cost < best.cost)
                            best = {cost, shapes};
                    }
            if (best.cost > before * 0.999)
                continue;
            const std::int64_t end = horizon + horizon / 50;
            const bool goes_on = next == entries.end() || next->from <= end ||
                                 cost_of(end, best.shapes) <= cost_of(end, old);
            const auto at = entries.insert(next, {horizon, best.shapes});
            if (!goes_on)
                entries.insert(std::next(at), {end, old});
        }
}

/// The rows of the present table behind this horizon.
std::vector<Entry> present(double behind) {
    struct Row {
        std::int64_t from;
        std::size_t levels;
        HatShape shape[12];
    };
    constexpr Row rows[] = {
#include "core/hat/hat_table.inc"
    };
    std::vector<Entry> entries;
    for (const Row& row : rows)
        if (static_cast<double>(row.from) > behind)
            entries.push_back({row.from, Shapes(row.shape, row.shape + row.levels)});
    return entries;
}

/// Climbs on all levels where that is quick.
void climb_again(std::vector<Entry>& entries) {
    Shapes last;
    for (std::size_t i = 0; i + 1 < entries.size() && entries[i].from <= kDense; ++i) {
        const std::int64_t horizon = (2 * entries[i].from + entries[i + 1].from) / 3;
        Found best{kNever, entries[i].shapes};
        climb(horizon, best);
        if (!last.empty()) {
            Found other{kNever, last};
            climb(horizon, other);
            if (other.cost < best.cost)
                best = other;
        }
        entries[i].shapes = last = best.shapes;
    }
}

/// Climbs in the top level's shape alone, by the costs at both ends of the entry's horizons.
void retune(std::vector<Entry>& entries) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (entries[i].from <= kDense)
            continue;
        Shapes& shapes = entries[i].shapes;
        const std::int64_t from = entries[i].from;
        const std::int64_t to = i + 1 < entries.size() ? entries[i + 1].from - 1 : from * 6 / 5;
        const auto cost = [&](const Shapes& s) { return cost_of(from, s) + cost_of(to, s); };
        double best = cost(shapes);
        for (bool better = true; better;) {
            better = false;
            for (const HatShape change :
                 {HatShape{0, 0, 1}, HatShape{0, 0, -1}, HatShape{1, 0}, HatShape{-1, 0},
                  HatShape{0, 1}, HatShape{0, -1}, HatShape{1, 1}, HatShape{-1, -1},
                  HatShape{1, -2}, HatShape{-1, 2}, HatShape{3, 0}, HatShape{-3, 0}}) {
                Shapes next = shapes;
                next.back().radix += change.radix;
                next.back().offset += change.offset;
                next.back().extra += change.extra;
                const double here = cost(next);
                if (here < best * (1 - 1e-5)) {
                    best = here;
                    shapes = next;
                    better = true;
                }
            }
        }
        std::fprintf(stderr, "%lld: %.3f\n", static_cast<long long>(from), best / 2);
    }
}

void print(const std::vector<Entry>& entries) {
    std::printf("// Made by tools/make_hat_table.cpp. {first horizon, {{radix, offset, extra} per "
                "level}}\n");
    for (const Entry& entry : entries) {
        std::printf("{%lld, %zu, {", static_cast<long long>(entry.from), entry.shapes.size());
        const char* separator = "";
        for (const HatShape& shape : entry.shapes) {
            std::printf("%s{%d, %d, %d}", separator, shape.radix, shape.offset, shape.extra);
            separator = ", ";
        }
        std::printf("}},\n");
    }
}

} // namespace

int main(int argc, char** argv) {
    const double last = argc > 1 ? std::atof(argv[1]) : 300;
    std::vector<std::pair<std::int64_t, Found>> grid;
    Search search;
    for (std::int64_t horizon = kFirst; static_cast<double>(horizon) <= last;) {
        grid.emplace_back(horizon, search.find(horizon, horizon <= kDense ? 8 : 0));
        std::fprintf(stderr, "%lld: %.3f, height %zu\n", static_cast<long long>(horizon),
                     grid.back().second.cost, grid.back().second.shapes.size() + 1);
        const double ratio = horizon <= kDense ? 1.02 : horizon <= kLarge ? 1.06 : 1.2;
        horizon =
            std::max(horizon + 1,
                     static_cast<std::int64_t>(std::llround(static_cast<double>(horizon) * ratio)));
    }
    // An entry serves as long as it is within the tolerance; its first horizon's best or one of the
    // next few, whichever serves longest.
    std::vector<Entry> entries;
    for (std::size_t i = 0; i < grid.size();) {
        const Shapes* chosen = nullptr;
        std::size_t furthest = i;
        for (std::size_t candidate = i; candidate < std::min(i + 12, grid.size()); ++candidate) {
            const Shapes& shapes = grid[candidate].second.shapes;
            std::size_t end = i;
            while (end < grid.size() &&
                   cost_of(grid[end].first, shapes) <= grid[end].second.cost * kTolerance)
                ++end;
            if (end > furthest) {
                furthest = end;
                chosen = &shapes;
            }
        }
        entries.push_back({grid[i].first, *chosen});
        i = furthest;
    }
    settle_boundaries(entries);
    serve_round_horizons(entries);
    std::vector<Entry> rest = present(last);
    climb_again(rest);
    retune(rest);
    entries.insert(entries.end(), rest.begin(), rest.end());
    serve_asked_horizons(entries);
    print(entries);
}
