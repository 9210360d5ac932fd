// Bisection over integers.
#pragma once

namespace dp_counter {

/// The least integer in first .. last that `holds` does not hold for, or last + 1 where it holds
/// for all. Once it does not hold, it holds for no greater one.
template <class Integer, class Holds>
[[nodiscard]] Integer first_without(Integer first, Integer last, Holds&& holds) {
    for (Integer end = last + 1; first < end;) {
        const Integer middle = first + (end - first) / 2;
        if (holds(middle))
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

} // namespace dp_counter
