// The releases of all counters: one table, of which every counter has a view.
//
// A release is stored when its step is closed, and visible when the step is published: the row of
// the counter in dp_counter_private.publications has the last step that readers see.
#pragma once

#include <cstdint>

#include "core/accuracy/release_interval.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/tables/secret_tables.hpp"

namespace dp_counter::pg {

/// A release of one stream at one step. Trivial; no release where all is zero.
struct ClosedRelease {
    CounterRelease release;
    std::int64_t width; ///< of the interval, to each side
};

/// The second number of an average, and the interval of the share that the first has of both.
struct ClosedAverage {
    std::int64_t below;
    ShareInterval share;
};

/// Releases of one group, or of one bin of it, from 1; else `bin` is 0. `averages` is null but for
/// averages; `periods` holds the beginning of the period of each, and is null for a counter without
/// periods. `least` is what no sum is below.
struct GroupReleases {
    std::int32_t group;
    std::int32_t bin;
    std::int64_t count;
    const ClosedRelease* releases;
    const ClosedAverage* averages;
    const TimestampTz* periods;
    std::int64_t least;
};

/// Stores releases as part of the current transaction, between begin_releases and end_secret_rows.
[[nodiscard]] NewSecretRows begin_releases();
void insert_releases(const NewSecretRows& rows, std::int64_t number, TimestampTz released_at,
                     const GroupReleases& group);

/// Stores that a new counter has published nothing.
void insert_publication(std::int64_t number);

/// How many steps of the counter everybody may see. Raises data_corrupted where it has no row.
[[nodiscard]] std::int64_t published_steps(std::int64_t number);

/// Raises object_not_in_prerequisite_state unless all steps are published.
void check_published(Oid counter, std::int64_t number, std::int64_t steps);

/// Shows everybody the steps up to this one. Raises data_corrupted where the counter has no row.
void publish_steps(std::int64_t number, std::int64_t steps);

} // namespace dp_counter::pg
