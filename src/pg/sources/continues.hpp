// A counter that continues another one, with another bound, period, measure or epsilon.
//
// It begins at the end of the other one's last closed period. How much of the bound persons have
// used up is handed over, by the first tick, which converts it: a window that both have counted in
// costs no more than the greater of their epsilons (docs/derivation.md, section 12). So the budget
// is charged for windows that begin later and, of the others, for what the new epsilon is greater.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"
#include "pg/sources/declare_counter.hpp"

namespace dp_counter::pg {

/// Where the last closed step of a counter ended, on the face of the rows' times. Its source may be
/// gone.
[[nodiscard]] Timestamp end_of_last_step(const OpenCounter& counter, Oid time_type);

/// Reads `continues`: into row.old and row.key or, of a counter that has closed no step, into
/// `replaced` and its since alone. Locks that counter to the end of the transaction, as who will
/// drop it does where it is `replaced` and this is no plan. Raises insufficient_privilege unless
/// the current user owns both, wrong_object_type for a counter without a source,
/// invalid_parameter_value for another budget, another source without same_persons and a counter
/// without a bound, datatype_mismatch for other types of person and time, and
/// object_not_in_prerequisite_state for a counter that has ended, that is in a copy, that has a
/// step to publish, or that was to continue another one and has closed none.
void read_continued(const SourceArguments& arguments, bool is_plan, SourceDeclaration& declaration);

/// Raises invalid_parameter_value if the range of a counter that continues another one begins
/// before that ended.
void check_begins_later(const SourceDeclaration& declaration);

/// Ends the counter that is continued; its tallies stay.
void end_continued(const SourceDeclaration& declaration);

/// Charges the budget of a counter that continues another one.
void charge_continuing(const SourceDeclaration& declaration, Numeric epsilon, const char* purpose,
                       std::int64_t number);

} // namespace dp_counter::pg
