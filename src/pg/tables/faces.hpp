// The views of counters and budgets, their faces: a view is one by what its own query reads.
//
// The rows of counters and budgets have numbers. A name, or an OID, may be another relation's by
// now. Ordinary roles cannot write a query that reads rows by a number: they may not use the
// private schema.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// The number whose rows the view's own query reads; 0 if it is no face, or there is no such
/// relation. It takes no lock.
[[nodiscard]] std::int64_t number_of_face(Oid view);

/// Whether it is that number's face.
[[nodiscard]] bool is_face(Oid view, std::int64_t number);

} // namespace dp_counter::pg
