// What is public of an event counter: its guarantee, and when it may close its next step.
#pragma once

#include <cstdint>

#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/tables/counters_table.hpp"

namespace dp_counter::pg {

/// The guarantee, in words.
[[nodiscard]] char* guarantee_of_events(Numeric epsilon);

/// Reads the least time between two steps; null if the argument is NULL. Raises
/// invalid_parameter_value unless it is one positive unit, and datetime_field_overflow if it ends
/// out of range.
[[nodiscard]] const Interval* read_every(const Argument& argument);

/// When the step after step `steps` may close, at the earliest: any time for the first one, and no
/// time where it would be out of range. Never raises an error.
[[nodiscard]] TimestampTz next_step_due(std::int64_t steps, TimestampTz released_at,
                                        const Interval& every);

/// Whether it has a step that may close now.
[[nodiscard]] bool is_step_due(const CounterRow& row, TimestampTz now);

} // namespace dp_counter::pg
