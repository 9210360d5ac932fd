// Searches the best hat mechanism for a grid of horizons and prints src/core/hat/hat_table.inc.
//
//   g++ -std=c++20 -O2 -Isrc tools/make_hat_table.cpp
//   src/core/hat/hat_{levels,weights,variance}.cpp
//       src/core/{noise/laplace_scale,base/epsilon,tree/offset_digits}.cpp -o /tmp/make_hat_table
//   /tmp/make_hat_table > /tmp/hat_table.inc        (two minutes; progress on stderr)
//   mv /tmp/hat_table.inc src/core/hat/hat_table.inc
//
// Up to kDense it searches anew. The rows of the present table behind it are climbed from where
// they are, on the top level alone. (They come from a search of the whole range with level ends;
// with fading ones it takes hours.) Run on the table that it has made it prints that table again.
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

#include "core/hat/hat_table.hpp"
#include "core/hat/hat_variance.hpp"

namespace {

using namespace dp_counter;
using Shapes = std::vector<HatShape>;

constexpr double kTolerance = 1.002;
constexpr std::int64_t kFirst = 6;    // below, noise per step is better
constexpr std::int64_t kDense = 4096; // up to here it searches anew
constexpr double kNever = 1e300;

struct Found {
    double cost = kNever;
    Shapes shapes;
};

double cost_of(std::int64_t horizon, const Shapes& shapes) {
    for (const HatShape& shape : shapes)
        if (shape.radix < 2 || shape.radix > kMaxFadingRadix || shape.offset < 0 ||
            shape.offset > 3 * shape.radix ||
            std::abs(shape.extra) > (&shape == &shapes.back() ? kMostExtra : 0))
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
        if (cost >= found.cost * (1 - 1e-6))
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
                if (i != j)
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
            for (const double top_knots : {4.5, 2.5, 6.5})
                starts.push_back(uniform(horizon, levels, top_knots));
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
        return best;
    }

private:
    std::map<int, Found> best_of_height_;
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
        auto next =
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
        if (std::prev(next)->from == horizon)
            std::prev(next)->shapes = best.shapes;
        else
            next = entries.insert(next, {horizon, best.shapes}) + 1;
        if (next == entries.end() || next->from > horizon + 1)
            entries.insert(next, {horizon + 1, old});
    }
}

/// Between the horizons of the grid: lets each entry begin where that is best for all of them, from
/// behind the begin of the one before to its own end.
void settle_boundaries(std::vector<Entry>& entries) {
    for (std::size_t i = 1; i < entries.size(); ++i) {
        const std::int64_t end = i + 1 < entries.size() ? entries[i + 1].from : kDense;
        double gain = 0; // of a begin before `at`
        double best = 0;
        for (std::int64_t at = end; at-- > entries[i - 1].from + 1;) {
            gain += std::log(cost_of(at, entries[i - 1].shapes) / cost_of(at, entries[i].shapes));
            if (gain > best) {
                best = gain;
                entries[i].from = at;
            }
        }
    }
}

/// The rows of the present table behind kDense.
std::vector<Entry> present() {
    std::vector<Entry> entries;
    for (const HatTableEntry& row : kHatTable)
        if (row.from > kDense)
            entries.push_back({row.from, Shapes(row.shape, row.shape + row.levels)});
    return entries;
}

/// Climbs in the top level's shape alone, from an entry's own shapes and its neighbors', by the
/// costs at both ends of the entry's horizons. The first one, often a round number, counts twice.
/// (A neighbor's has to be a tenth of a percent better: other first levels, other first steps.)
void retune(std::vector<Entry>& entries) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const std::int64_t from = entries[i].from;
        const std::int64_t to = i + 1 < entries.size() ? entries[i + 1].from - 1 : from * 6 / 5;
        const auto cost = [&](const Shapes& s) {
            return (2 * cost_of(from, s) + cost_of(to, s)) / 3;
        };
        Found best{cost(entries[i].shapes), entries[i].shapes};
        for (std::size_t start = i - std::min<std::size_t>(i, 1);
             start < std::min(i + 2, entries.size()); ++start) {
            Found here{cost(entries[start].shapes), entries[start].shapes};
            for (bool better = true; better;) {
                better = false;
                for (const HatShape change :
                     {HatShape{0, 0, 1}, HatShape{0, 0, -1}, HatShape{1, 0}, HatShape{-1, 0},
                      HatShape{0, 1}, HatShape{0, -1}, HatShape{1, 1}, HatShape{-1, -1},
                      HatShape{1, -2}, HatShape{-1, 2}, HatShape{3, 0}, HatShape{-3, 0}}) {
                    Shapes next = here.shapes;
                    next.back().radix += change.radix;
                    next.back().offset += change.offset;
                    next.back().extra += change.extra;
                    const double changed = cost(next);
                    if (changed < here.cost * (1 - 1e-5)) {
                        here = {changed, next};
                        better = true;
                    }
                }
            }
            if (here.cost < best.cost * (start == i ? 1 : 0.999))
                best = here;
        }
        entries[i].shapes = best.shapes;
        std::fprintf(stderr, "%lld: %.3f\n", static_cast<long long>(from), best.cost);
    }
}

bool is_same(const Shapes& a, const Shapes& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const HatShape& x, const HatShape& y) {
                          return x.radix == y.radix && x.offset == y.offset && x.extra == y.extra;
                      });
}

void print(const std::vector<Entry>& entries) {
    std::printf("// Made by tools/make_hat_table.cpp. {first horizon, {{radix, offset, extra} per "
                "level}}\n");
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const Entry& entry = entries[i];
        if (i > 0 && is_same(entry.shapes, entries[i - 1].shapes))
            continue;
        std::printf("{%lld, %zu, {", static_cast<long long>(entry.from), entry.shapes.size());
        const char* separator = "";
        for (const HatShape& shape : entry.shapes) {
            std::printf("%s{%d, %d, %d}", separator, shape.radix, shape.offset, shape.extra);
            separator = ", ";
        }
        std::printf("}},\n");
    }
}

using Grid = std::vector<std::pair<std::int64_t, Found>>;

/// Whether the shapes are good enough at a horizon of the grid, and at those between it and the one
/// before: the number of knots changes there.
bool serves(const Shapes& shapes, const Grid& grid, std::size_t i) {
    const auto& [horizon, found] = grid[i];
    const std::int64_t gap = i > 0 ? horizon - grid[i - 1].first : 1;
    for (std::int64_t before = 0; before < gap; before += (gap + 3) / 4)
        if (cost_of(horizon - before, shapes) > found.cost * kTolerance)
            return false;
    return true;
}

} // namespace

int main() {
    Grid grid;
    Search search;
    for (std::int64_t horizon = kFirst; horizon <= kDense;) {
        grid.emplace_back(horizon, search.find(horizon, 8));
        std::fprintf(stderr, "%lld: %.3f, height %zu\n", static_cast<long long>(horizon),
                     grid.back().second.cost, grid.back().second.shapes.size() + 1);
        horizon =
            std::max(horizon + 1,
                     static_cast<std::int64_t>(std::llround(static_cast<double>(horizon) * 1.02)));
    }
    // An entry serves as long as it is within the tolerance; its first horizon's best or one of the
    // next few, whichever serves longest.
    std::vector<Entry> entries;
    for (std::size_t i = 0; i < grid.size();) {
        const Shapes* chosen = &grid[i].second.shapes;
        std::size_t furthest = i + 1;
        for (std::size_t candidate = i; candidate < std::min(i + 12, grid.size()); ++candidate) {
            const Shapes& shapes = grid[candidate].second.shapes;
            std::size_t end = i;
            while (end < grid.size() && serves(shapes, grid, end))
                ++end;
            if (end > furthest) {
                furthest = end;
                chosen = &shapes;
            }
        }
        entries.push_back({grid[i].first, *chosen});
        i = furthest;
    }
    serve_asked_horizons(entries);
    settle_boundaries(entries);
    std::vector<Entry> rest = present();
    retune(rest);
    entries.insert(entries.end(), rest.begin(), rest.end());
    print(entries);
}
