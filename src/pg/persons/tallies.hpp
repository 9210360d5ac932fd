// How many events of each person a counter has counted, in the person's last own window or, where
// the budget does not renew, over its whole life.
//
// The tallies alone enforce the bound per person, whatever happens to the counted rows. A person is
// stored as a digest under a key of the counter: the table does not show who is in it, and the
// tallies of two counters cannot be joined. Two persons share a digest with a probability of
// 2^-128, and then a tally, which adds up the events of both in the later window: neither exceeds
// the bound.
//
// A counter of active persons stores when the last event of each was, instead of a number, and the
// group of the first event of its window; of two persons with one digest the later ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/count/person_bound.hpp"
#include "pg/server/postgres_api.hpp"

extern "C" {
#include "access/genam.h"
#include "catalog/indexing.h"
#include "executor/tuptable.h"
#include "utils/relcache.h"
#include "utils/uuid.h"
}

namespace dp_counter::pg {

inline constexpr std::size_t kTallyKeyBytes = 32;

/// A new key, in `context`, to be stored with the counter.
[[nodiscard]] bytea* new_tally_key(MemoryContext context);

/// The tally of a person who had none.
struct NewTally {
    pg_uuid_t digest;
    Tally tally;
};

/// The tallies of one counter, while a tick has its lock. Trivial.
struct Tallies {
    std::int64_t number;
    const unsigned char* key;
    std::int32_t first_window; ///< tallies of earlier ones are no longer needed
    bool is_fresh;             ///< nothing has been stored: there is nothing to look for
    bool has_times;            ///< `used` is the time of the person's last event, not a number
    Relation table;
    Relation index;
    IndexScanDesc scan;
    TupleTableSlot* slot;
    CatalogIndexState indexes;
    pg_uuid_t digest;      ///< of the person read last
    ItemPointerData place; ///< of that person's row; invalid if there was none
    NewTally* kept;        ///< not yet stored
    std::size_t kept_count;
};

/// The window of a person who has no tally; later than it is every other.
inline constexpr std::int32_t kNoWindow = INT32_MIN;

/// Takes the counter's key, which also orders rows of one time. Call it before all else.
void take_tally_key(Tallies& tallies, const bytea* key);

/// `first_window` is the first one in which an event can still come after this tick; kNoWindow
/// where the budget does not renew. Call it inside without_statistics.
void open_tallies(Tallies& tallies, std::int64_t number, std::int32_t first_window, bool is_fresh);

/// The tally of this person as of the last step; {kNoWindow, 0} if there is none.
[[nodiscard]] Tally read_tally(Tallies& tallies, const void* person, std::size_t bytes);

/// Stores the tally of the person read last, in the current transaction. Call it once per tick for
/// every person of its periods.
void write_tally(Tallies& tallies, const Tally& tally);

void close_tallies(Tallies& tallies);

/// Stores the mark of a counter: a tally of no person, which stays with all others of the counter.
void mark_tallies(std::int64_t number);

/// Raises data_corrupted where the mark is missing: the tallies are lost, in a restored dump say,
/// and everybody would count again. `reader` is the number of the counter that needs them.
void check_tallies(std::int64_t number, std::int64_t reader);

/// Gives the tallies of a counter, and its mark, to one that continues it: as much of the bound
/// `to` is used up as of `from`. Call it inside without_statistics.
void take_over_tallies(std::int64_t from_number, std::int64_t to_number, std::int64_t from,
                       std::int64_t to);

/// Deletes the counter's tallies, but the mark, for which keeps(tally, context) is false.
void sweep_tallies(std::int64_t number, bool (*keeps)(const Tally& tally, void* context),
                   void* context);

/// Deletes all tallies of a counter. Statistics do not count them, since each is a person.
void delete_tallies(std::int64_t number);

} // namespace dp_counter::pg
