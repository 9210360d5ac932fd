// The views of counters and budgets, their faces: a view is one by what its own query reads.
//
// The rows of counters and budgets have numbers. Each keeps the OID of its face too, which a dump
// shows as a name, but a name, or an OID, may be another relation's by now. Ordinary roles cannot
// write a query that reads rows by a number: they may not use the private schema. A number whose
// face is lost keeps all that was spent, and is nothing that anybody can call.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"
#include "pg/tables/secret_tables.hpp"

namespace dp_counter::pg {

/// The table of counters or that of budgets. Its first two columns are number and face.
struct FacedTable {
    SecretTable by_number, by_face;
};

inline constexpr FacedTable kFacesOfCounters{kCounters, kCountersByFace};
inline constexpr FacedTable kFacesOfBudgets{kBudgets, kBudgetsByFace};

/// The number whose rows the view's own query reads; 0 if it is no face, or there is no such
/// relation. It takes no lock.
[[nodiscard]] std::int64_t number_of_face(Oid view);

/// Whether it is that number's face.
[[nodiscard]] bool is_face(Oid view, std::int64_t number);

/// The number of the row that has this face; 0 if there is none. Of a view that is gone, dropped by
/// this very command, the row that had it. A second view of a number is not its face.
[[nodiscard]] std::int64_t number_in(const FacedTable& table, Oid face);

/// The number of the row that keeps this OID, whatever is there now; 0 if there is none.
[[nodiscard]] std::int64_t number_kept_with(const FacedTable& table, Oid face);

/// The face of a number's row; invalid where it is lost, or there is no row.
[[nodiscard]] Oid face_of(const FacedTable& table, std::int64_t number);

/// Keeps the view as the face of the number that it reads, if that has a row, which has lost its
/// own: one of a dump, say, whose view came later or under another name.
void keep_face(const FacedTable& table, Oid view);

} // namespace dp_counter::pg
