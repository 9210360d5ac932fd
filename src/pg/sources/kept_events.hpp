// Which share of the events a counter's bound keeps, as far as it has been released.
#pragma once

#include "pg/sources/guarantee.hpp"

namespace dp_counter::pg {

/// A sentence, from what reports released about the counter's own bound, for its event, or,
/// where none has looked at that, about the bounds next to it. If nobody has
/// asked, what asking costs. It is the greatest share that can be, since of a unit with more events
/// than a report looks at it takes the fewest: no report says how many it has. Null where no event
/// is lost by a bound: a counter of persons.
[[nodiscard]] char* kept_of(const Promise& promise);

} // namespace dp_counter::pg
