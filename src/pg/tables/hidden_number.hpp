// The number of persons, which PostgreSQL stores as that of a table's rows, or counts.
#pragma once

namespace dp_counter::pg {

/// VACUUM and ANALYZE store, where every role reads it, how many rows a table has: here, persons.
/// What a dump, a restore or a query of the table reads or writes is counted there, too. Takes all
/// that back, once it has happened; ticks themselves count nothing.
void hide_number_of_tallies();

} // namespace dp_counter::pg
