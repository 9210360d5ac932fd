// How many periods the rows of one own window can touch: what the noise of persons without
// per_person, and of active persons, is made for (derivation.md, section 12). It depends on the
// time zone's offsets, which the operating system's data may change after the declaration.
#pragma once

#include <cstdint>

#include "pg/calendar/periods.hpp"
#include "pg/tables/open_counter.hpp"
#include "pg/tables/sources_table.hpp"

namespace dp_counter::pg {

/// The greatest horizon, and the most periods in one own window.
inline constexpr std::int64_t kMostPeriods = 10000000;

[[nodiscard]] Schedule schedule_of(const SourceCounterRow& row, const SourceRow& source);

/// The most blocks of so many periods that one own window of `per_days` touches, at most
/// kMostPeriods + 1; `steps` are closed.
[[nodiscard]] std::int64_t touched_blocks(const SourceCounterRow& row, const SourceRow& source,
                                          std::int32_t per_days, std::int64_t horizon,
                                          std::int32_t block, std::int64_t steps = 0);

/// The most ends of periods at which one own window of `per_days` changes whether its person is
/// active; `steps` are closed.
[[nodiscard]] std::int64_t touched_ends(const SourceCounterRow& row, const SourceRow& source,
                                        std::int32_t per_days, std::int64_t steps = 0);

/// In how many groups, at one end, it changes whether its person is active: with groups also in
/// that in which the person was before.
[[nodiscard]] std::int64_t stocks_of_person(const SourceCounterRow& row);

/// In how many more periods a person without per_person can count than the own window touches: in
/// the last one it may count by an event of the next window instead, in another group.
[[nodiscard]] std::int64_t moved_periods(const SourceCounterRow& row, std::int32_t per_days);

/// Raises object_not_in_prerequisite_state where, by the offsets that the time zone has now, and by
/// the one by which the last period was closed, one own window can change more than the counter's
/// noise was made for.
void check_noise_suffices(const OpenCounter& counter, const SourceRow& source,
                          std::int32_t per_days);

} // namespace dp_counter::pg
