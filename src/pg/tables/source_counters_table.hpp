// What counters over a source count, and when their last closed period ended.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"
#include "pg/tables/measure.hpp"

extern "C" {
#include "utils/numeric.h"
}

namespace dp_counter::pg {

/// The counter that another one continues. Its own rows may be gone.
struct Predecessor {
    std::int64_t number; ///< 0: there is none
    Timestamp end;       ///< of its last closed period, on the face of the rows' times
    Numeric epsilon;
    std::int64_t per_person;
};

/// A row of dp_counter_private.source_counters. Columns are numbers; 0 where there is none.
struct SourceCounterRow {
    Oid source; ///< invalid where its view is gone
    AttrNumber event;
    Measure measure;
    std::int64_t per_person; ///< 0: persons without a bound
    std::int32_t active;     ///< days for which a person is active after an event; else 0
    AttrNumber by;
    std::int32_t groups; ///< how many; 0 without `by`
    std::int32_t others; ///< the one that has the rows of undeclared groups; 0 without
    Interval every;
    Timestamp since; ///< local to the source's time zone
    Interval grace;
    TimestampTz ended;    ///< the instant at which the last closed period ended; else 0
    std::int64_t offsets; ///< digest_of_offsets of the time zone, as the last tick had it
    bytea* key;           ///< of its tallies
    bool analyst;         ///< declared by a role that does not own the source
    bool begun;           ///< of an analyst's: a tick may have read rows
    Datum remembered;     ///< text[]: what it reads, for when its source is gone (reattach.hpp)
    Predecessor old;

    /// Whether it keeps something of each person (tallies.hpp).
    [[nodiscard]] bool has_tallies() const { return per_person != 0 || active != 0; }
};

/// Reads the row into CurrentMemoryContext; false for an event counter.
[[nodiscard]] bool read_source_counter(std::int64_t number, SourceCounterRow& row);

/// The source of a counter; invalid for an event counter, and where its view is gone.
[[nodiscard]] Oid source_of(Oid counter);

/// Statistics do not count it, since recorders call it.
[[nodiscard]] bool has_source(Oid counter);

void insert_source_counter(std::int64_t number, const SourceCounterRow& row);

/// Stores that a tick of an analyst's counter begins to read rows.
void mark_begun(std::int64_t number);

/// Stores when the last closed period ended, the offsets with which that was computed, and what the
/// counter has read.
void mark_ended(std::int64_t number, TimestampTz ended, std::int64_t offsets, Datum remembered);

/// Stores the source and the columns of a counter whose source was dropped.
void attach_counter(std::int64_t number, const SourceCounterRow& row);

/// Stores how many groups there are.
void update_groups(std::int64_t number, std::int32_t groups);

/// Overwrites the key of its tallies, which it has no longer.
void forget_tally_key(std::int64_t number);

/// Stores the key again; false if the counter with this number was dropped.
[[nodiscard]] bool give_back_tally_key(std::int64_t number, const bytea* key);

/// Whether the counter has the key of its tallies: one that has ended has not, unless what was to
/// continue it was dropped.
[[nodiscard]] bool has_tally_key(const SourceCounterRow& row);

/// The OIDs of a source's counters that have not ended and whose views are there, in
/// CurrentMemoryContext; of InvalidOid those whose source was dropped.
[[nodiscard]] List* counters_of_source(Oid source);

/// Removes a dropped source from its counters, which stay. If they kept its OID, a restored dump
/// could give them another role's source.
void forget_source(Oid source);

/// Deletes the sources whose views are gone, before another relation has the OID of one. They may
/// be other roles': waits for nobody, and leaves one that is locked to a later call.
void forget_lost_sources();

} // namespace dp_counter::pg
