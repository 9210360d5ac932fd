// What a counter counted in the last periods, from releases that the caller may read: for the
// functions that compute from it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/count/moving_windows.hpp"
#include "pg/calendar/periods.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/tables/open_counter.hpp"

namespace dp_counter::pg {

/// What is asked of a counter: windows of `lag` steps that end with the steps first .. last.
struct Asked : OpenCounter {
    std::int64_t lag, first, last;

    [[nodiscard]] bool is_sum() const {
        return declared && declared->measure.kind == MeasureKind::sum;
    }
    /// Stocks, of which the change is shown, as of totals.
    [[nodiscard]] bool is_active() const { return declared && declared->active != 0; }
    [[nodiscard]] bool is_difference() const { return row.cumulative || is_active(); }
    [[nodiscard]] bool is_average() const { return declared && declared->measure.is_average(); }
    [[nodiscard]] bool has_group() const { return declared && declared->by != InvalidAttrNumber; }
    [[nodiscard]] bool has_bins() const { return declared && !declared->measure.bins.empty(); }
    /// When a step's period begins; step 1 .. row.steps.
    [[nodiscard]] Timestamp beginning(std::int64_t step) const {
        return face_of_boundary({TIMESTAMPOID, "", declared->since, declared->every, {}}, step - 1);
    }
};
/// What windows have one of: a group or, in a histogram, a bin of a group, named by its lower end.
struct WindowName {
    std::string_view group;
    std::int64_t bin;
    std::int32_t place; ///< of the bin, from 0
};
[[nodiscard]] WindowName name_of(const Asked& asked, const std::string& name);

/// Raises what is wrong with the arguments, and insufficient_privilege for who may not read the
/// counter.
[[nodiscard]] Asked read_asked(const Argument& counter, const Argument& lag, const Argument& since,
                               const Argument& until);

/// Empty windows, which live as long as the memory context.
[[nodiscard]] MovingWindows& windows_in(MemoryContext context, const Asked& asked);

/// Reads the releases through the windows, as the caller, and calls put(step, context) for each
/// step asked for, once all releases of the step are in the windows.
void read_windows(const Asked& asked, MovingWindows& windows,
                  void (*put)(std::int64_t step, void* context), void* context);

/// The same with result.put(step).
template <class Result>
void read_windows(const Asked& asked, MovingWindows& windows, Result& result) {
    read_windows(
        asked, windows,
        [](std::int64_t step, void* context) { static_cast<Result*>(context)->put(step); },
        &result);
}

} // namespace dp_counter::pg
