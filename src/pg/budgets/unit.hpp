// What a budget protects: all rows of a person or, where it renews, those in one own window. A
// budget within another one protects what the outermost one does, the root, which keeps the unit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pg/server/postgres_api.hpp"
#include "pg/tables/sources_table.hpp"

namespace dp_counter::pg {

inline constexpr std::size_t kWindowKeyBytes = 32;

/// Trivial.
struct BudgetUnit {
    std::int32_t per_days;    ///< of a window; 0: a person's life, and the rest is empty
    const unsigned char* key; ///< kWindowKeyBytes in CurrentMemoryContext
    Oid person_type;          ///< that all its sources have; invalid before the first one
    Oid time_type;            ///< the same
};

/// Of an existing budget, and of that of a source.
[[nodiscard]] BudgetUnit unit_of_budget(Oid budget);
[[nodiscard]] BudgetUnit unit_of_source(const SourceRow& source);

/// The person's phase in [0, per_days) under a budget that renews. Persons are the bytes of their
/// plain values, integers of all widths 8 bytes, big-endian.
[[nodiscard]] std::int32_t person_phase(const BudgetUnit& unit, const void* person,
                                        std::size_t bytes);

/// The day, from 2000-01-01 on, of a finite time of such a type, as its column shows it
/// (timestamptz: in UTC).
[[nodiscard]] std::int64_t day_of_time(Oid time_type, Datum time);

/// Makes the database's key if there is none, before the first budget that renews, and returns its
/// digest. Raises data_corrupted if there is such a budget, whose key is lost.
[[nodiscard]] std::int64_t make_window_key();

/// Takes these types for all sources of the root, if it renews, in the current transaction. Raises
/// datatype_mismatch if an earlier source has others. A budget for life takes all.
void take_source_types(Oid budget, Oid person_type, Oid time_type);

} // namespace dp_counter::pg
