#include "pg/server/public_plans.hpp"

namespace dp_counter::pg {

constinit MechanismCache public_plans;
constinit Forecast public_forecast(public_plans);

} // namespace dp_counter::pg
