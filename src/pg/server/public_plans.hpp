// The plans and errors of mechanisms that this backend remembers, for streams, counters and the
// planner alike. Public values only.
#pragma once

#include "core/accuracy/forecast.hpp"
#include "core/count/mechanism_cache.hpp"

namespace dp_counter::pg {

extern MechanismCache public_plans;
extern Forecast public_forecast; ///< on top of public_plans

} // namespace dp_counter::pg
