// A source that was dropped, and a view of its name that is declared in its place: the counters go
// on with it.
//
// A load that drops its tables and makes them again (DROP ... CASCADE) takes the source along, and
// not its counters. Each remembers what it reads, by names and types, as of its declaration or its
// last tick: the source's row, the view and its columns are gone by then.
#pragma once

#include "pg/server/postgres_api.hpp"
#include "pg/tables/source_counters_table.hpp"
#include "pg/tables/sources_table.hpp"

namespace dp_counter::pg {

/// What a counter that reads these columns of its source remembers: an array of text, or NULLs.
[[nodiscard]] Datum remembered_of(const SourceCounterRow& counter, const SourceRow& source);

/// Whether what two counters remember has the same types of person and time.
[[nodiscard]] bool have_same_types(Datum remembered, Datum other);

/// Raises object_not_in_prerequisite_state.
[[noreturn]] void raise_source_dropped(Oid counter);

/// Lets the counters of the view's owner that remember a source of its name, now dropped, go on
/// with it, but for those of analysts. Raises undefined_column, datatype_mismatch and
/// invalid_parameter_value where one of them cannot: where a column has another type, the time
/// another name or, unless the owner vouches for it, the person, or the budget is another. The
/// caller has locked the source.
void reattach_counters(Oid source, const SourceRow& row, bool are_same_persons);

} // namespace dp_counter::pg
