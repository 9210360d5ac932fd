// The number of persons, which PostgreSQL stores as that of a table's rows.
#pragma once

namespace dp_counter::pg {

/// VACUUM and ANALYZE store, where every role reads it, how many rows a table has: here, persons.
/// Takes that back, once they have run.
void hide_number_of_tallies();

} // namespace dp_counter::pg
