#include "core/count/shown_groups.hpp"

namespace dp_counter {

std::size_t add_up(std::span<GroupWeight> weights) noexcept {
    std::ranges::sort(weights, {}, &GroupWeight::group);
    std::size_t count = 0;
    for (const GroupWeight& next : weights)
        if (count > 0 && weights[count - 1].group == next.group)
            weights[count - 1].weight += next.weight;
        else
            weights[count++] = next;
    return count;
}

} // namespace dp_counter
