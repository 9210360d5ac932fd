#include <algorithm>

#include "pg/sources/touched_periods.hpp"

#include "pg/persons/columns.hpp"
#include "pg/server/relations.hpp"

namespace dp_counter::pg {

Schedule schedule_of(const SourceCounterRow& row, const SourceRow& source) {
    return {column_type(row.source, source.at), source.time_zone, row.since, row.every, row.grace};
}

std::int64_t touched_blocks(const SourceCounterRow& row, const SourceRow& source,
                            std::int32_t per_days, std::int64_t horizon, std::int32_t block,
                            std::int64_t steps) {
    const std::int64_t all =
        horizon == kUnbounded ? kMostPeriods + 1 : (horizon + block - 1) / block;
    return per_days == 0 ? all
                         : std::min(all, most_periods(schedule_of(row, source), per_days, block,
                                                      {steps, row.ended}));
}

std::int64_t touched_ends(const SourceCounterRow& row, const SourceRow& source,
                          std::int32_t per_days, std::int64_t steps) {
    return most_periods(schedule_of(row, source), per_days + row.active, 1, {steps, row.ended}) - 1;
}

std::int64_t stocks_of_person(const SourceCounterRow& row) {
    return row.by == InvalidAttrNumber ? 1 : 2;
}

std::int64_t moved_periods(const SourceCounterRow& row, std::int32_t per_days) {
    return row.by != InvalidAttrNumber && per_days != 0 ? 1 : 0;
}

void check_noise_suffices(const OpenCounter& counter, const SourceRow& source,
                          std::int32_t per_days) {
    const SourceCounterRow& declared = *counter.declared;
    const CounterRow& row = counter.row;
    std::int64_t touched = 0;
    std::int64_t most = 0;
    if (declared.active != 0) {
        touched = touched_ends(declared, source, per_days, row.steps);
        most = row.is_anchored ? row.block : row.sensitivity / stocks_of_person(declared);
    } else if (declared.per_person == 0) {
        touched = touched_blocks(declared, source, per_days, row.horizon, std::max(row.block, 1),
                                 row.steps) +
                  moved_periods(declared, per_days);
        most = row.sensitivity;
    }
    if (touched > most)
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("time zone \"%s\" has got other offsets than counter \"%s\" was "
                               "declared with",
                               source.time_zone, name_of_relation(counter.view)),
                        errdetail("One own window can change %lld of its periods or blocks, and "
                                  "the noise is for %lld.",
                                  static_cast<long long>(touched), static_cast<long long>(most)),
                        errhint("End the counter with dp_counter_end, and create another one.")));
}

} // namespace dp_counter::pg
