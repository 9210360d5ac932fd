#include "audit/event.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "audit/confidence.hpp"

namespace dp_counter::test {

std::vector<View> views(const std::vector<std::int64_t>& steps) {
    const int width = static_cast<int>(steps.size());
    const auto step = [&](int column) {
        return column < 0 ? 0 : steps[static_cast<std::size_t>(column)];
    };
    std::vector<View> all;
    for (int a = 0; a < width; ++a)
        for (int b = View::kStart; b < a; ++b) {
            all.push_back({a, b});
            for (int c = View::kStart; c < b; ++c)
                if (step(a) - step(b) == step(b) - step(c))
                    all.push_back({a, b, c});
        }
    return all;
}

std::string Event::text(const std::vector<std::int64_t>& steps) const {
    std::string result;
    for (const Cut& cut : cuts) {
        const auto step = [&](int column) {
            return std::to_string(column < 0 ? 0 : steps[static_cast<std::size_t>(column)]);
        };
        const View& view = cut.view;
        result += result.empty() ? "" : " and ";
        result += "n" + step(view.a);
        if (view.c != View::kNone)
            result += "-2n" + step(view.b) + (view.c < 0 ? "" : "+n" + step(view.c));
        else if (view.b >= 0)
            result += "-n" + step(view.b);
        result += (cut.above ? ">=" : "<=") + std::to_string(cut.threshold);
    }
    return result.empty() ? "everything" : result;
}

namespace {

using Runs = std::vector<const std::int64_t*>;

/// Standard errors to stay below: more while growing, where the best of thousands of cuts is taken.
constexpr double kGrowing = 4.5;
constexpr double kChecking = 3;

/// A view's values sorted into bins of equal width around the median; the outermost are open.
class Bins {
public:
    static constexpr std::size_t kBins = 64;

    /// From a sample of values, which it reorders.
    explicit Bins(std::vector<std::int64_t>& sample) {
        const auto quantile = [&](double q) {
            const auto at = sample.begin() +
                            static_cast<std::ptrdiff_t>(q * static_cast<double>(sample.size() - 1));
            std::nth_element(sample.begin(), at, sample.end());
            return *at;
        };
        const std::int64_t low = quantile(0.02);
        const std::int64_t high = quantile(0.98);
        width_ = std::max<std::int64_t>(1, (high - low) / 32);
        // Around the middle of the bulk: 16 bins to spare on either side.
        first_ = low + (high - low) / 2 - width_ * static_cast<std::int64_t>(kBins / 2);
    }

    [[nodiscard]] std::size_t bin(std::int64_t value) const {
        if (value < first_)
            return 0;
        return std::min<std::size_t>(kBins - 1,
                                     static_cast<std::size_t>((value - first_) / width_));
    }
    /// The least value in this bin and those above.
    [[nodiscard]] std::int64_t edge(std::size_t bin) const {
        return first_ + static_cast<std::int64_t>(bin) * width_;
    }

private:
    std::int64_t first_;
    std::int64_t width_;
};

struct Choice {
    Cut cut;
    double score;
};

std::array<std::int64_t, Bins::kBins> histogram(const View& view, const Runs& runs,
                                                const Bins& bins) {
    std::array<std::int64_t, Bins::kBins> count{};
    for (const std::int64_t* run : runs)
        ++count[bins.bin(view.of(run))];
    return count;
}

std::optional<Choice> best_cut(const View& view, const Runs& often, const Runs& seldom,
                               std::size_t trials) {
    std::vector<std::int64_t> sample;
    for (const Runs* runs : {&often, &seldom})
        for (std::size_t i = 0; i < std::min<std::size_t>(runs->size(), 500); ++i)
            sample.push_back(view.of((*runs)[i]));
    if (sample.empty())
        return std::nullopt;
    const Bins bins(sample);
    const auto p = histogram(view, often, bins);
    const auto q = histogram(view, seldom, bins);
    std::optional<Choice> best;
    const auto offer = [&](const Choice& choice) {
        if (!best || choice.score > best->score)
            best = choice;
    };
    std::int64_t p_below = 0;
    std::int64_t q_below = 0;
    const auto p_all = static_cast<std::int64_t>(often.size());
    const auto q_all = static_cast<std::int64_t>(seldom.size());
    const auto n = static_cast<std::int64_t>(trials);
    for (std::size_t i = 0; i + 1 < Bins::kBins; ++i) {
        p_below += p[i];
        q_below += q[i];
        const std::int64_t edge = bins.edge(i + 1);
        offer({{view, false, edge - 1}, rough_log_ratio(p_below, q_below, n, kGrowing)});
        offer({{view, true, edge}, rough_log_ratio(p_all - p_below, q_all - q_below, n, kGrowing)});
    }
    return best;
}

void keep_where(Runs& runs, const Cut& cut) {
    std::erase_if(runs, [&](const std::int64_t* run) { return !cut.holds(run); });
}

/// Two samples, cut down together.
struct Pair {
    Runs often;
    Runs seldom;

    void keep(const Cut& cut) {
        keep_where(often, cut);
        keep_where(seldom, cut);
    }
    [[nodiscard]] double score(std::size_t trials, double errors) const {
        return rough_log_ratio(static_cast<std::int64_t>(often.size()),
                               static_cast<std::int64_t>(seldom.size()),
                               static_cast<std::int64_t>(trials), errors);
    }
};

std::optional<Choice> best_cut_of_all(const std::vector<View>& all, const Pair& sample,
                                      std::size_t trials) {
    std::optional<Choice> best;
    for (const View& view : all) {
        const std::optional<Choice> choice = best_cut(view, sample.often, sample.seldom, trials);
        if (choice && (!best || choice->score > best->score))
            best = choice;
    }
    return best;
}

} // namespace

Found find_event(const Releases& often, const Releases& seldom, std::size_t runs) {
    constexpr std::size_t kMostCuts = 12;
    const std::vector<View> all = views(often.steps());
    Pair grow{often.quarter(0, runs), seldom.quarter(0, runs)};
    Pair check{often.quarter(1, runs), seldom.quarter(1, runs)};
    Found found;
    std::vector<Cut> cuts;
    double grown = 0;
    while (cuts.size() < kMostCuts) {
        const std::optional<Choice> choice = best_cut_of_all(all, grow, runs);
        if (!choice || choice->score <= grown)
            break;
        grown = choice->score;
        cuts.push_back(choice->cut);
        grow.keep(choice->cut);
        check.keep(choice->cut);
        if (const double score = check.score(runs, kChecking); score > found.score)
            found = {{cuts}, score};
    }
    return found;
}

} // namespace dp_counter::test
