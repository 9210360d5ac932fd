// Refuses calls that the query would evaluate more than once, as far as the planner sees it.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "nodes/parsenodes.h"
}

namespace dp_counter::pg {

/// Raises feature_not_supported if the query holds a call of `function`, a window function or a
/// plain one, that the parser copied: BETWEEN, IN and comparisons of rows repeat what they compare.
/// (Not in a view, which forgets the places in the text by which copies are known.) Once functions
/// that contain a call are inlined, what is equal counts as written twice.
void check_not_copied(const Query* query, Oid function, bool is_inlined = false);

/// Raises feature_not_supported if the query holds a call of a window function more often than it
/// was written. (Not in a view, as above.)
void check_has_no_copy(const Query* query, const WindowFunc* call);

/// Raises feature_not_supported if the query holds a call of the plain function `function` where it
/// is drawn again: among the arguments of a window function that may read a row's arguments more
/// than once, or beside a set-returning function, for each row of the set.
void check_not_repeated(const Query* query, Oid function);

} // namespace dp_counter::pg
