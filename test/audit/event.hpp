// Events in the joint distribution of several releases, and the search for a telling one.
#pragma once

#include <string>
#include <vector>

#include "audit/releases.hpp"

namespace dp_counter::test {

/// A combination of releases: at `a`, less that at `b`, and for a second difference o_a - 2 o_b +
/// o_c. Columns of Releases; kStart is step 0, where the count is 0.
struct View {
    static constexpr int kStart = -1;
    int a;
    int b;
    int c = kNone;

    static constexpr int kNone = -2;

    [[nodiscard]] std::int64_t of(const std::int64_t* run) const {
        const auto at = [run](int column) { return column < 0 ? 0 : run[column]; };
        return c == kNone ? at(a) - at(b) : at(a) - 2 * at(b) + at(c);
    }
};

/// All differences of two releases (with step 0: the releases themselves), and the second
/// differences over equal distances. Tree nodes are sums over intervals, so the noise of a node,
/// and that of two siblings against each other, is among these.
[[nodiscard]] std::vector<View> views(const std::vector<std::int64_t>& steps);

/// view >= threshold, or view <= threshold
struct Cut {
    View view;
    bool above;
    std::int64_t threshold;

    [[nodiscard]] bool holds(const std::int64_t* run) const {
        const std::int64_t value = view.of(run);
        return above ? value >= threshold : value <= threshold;
    }
};

/// A box: all cuts hold.
struct Event {
    std::vector<Cut> cuts;

    [[nodiscard]] bool holds(const std::int64_t* run) const {
        for (const Cut& cut : cuts)
            if (!cut.holds(run))
                return false;
        return true;
    }
    [[nodiscard]] std::string text(const std::vector<std::int64_t>& steps) const;
};

struct Found {
    Event event;
    double score = 0; ///< a rough bound for ln(often / seldom), from the runs that checked it
};

/// Looks for an event that is much more probable under `often` than under `seldom`. So many
/// `runs` of the first quarter of each grow a box, cut after cut, always by the cut that raises a
/// lower bound of the ratio most; as many of the second one say after which cut to stop. For pure
/// differential privacy with a tree, where the ratio is a product over the nodes that hold the bit,
/// the best event is such a box.
[[nodiscard]] Found find_event(const Releases& often, const Releases& seldom, std::size_t runs);

} // namespace dp_counter::test
