// Walkers of PostgreSQL's trees of nodes.
#pragma once

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// A walker or mutator as expression_tree_walker and its like take it: in PostgreSQL 15 they are
/// declared for functions without arguments, which in C++ has none.
template <class Result, class... Arguments>
auto tree_walker(Result (*walker)(Arguments...)) {
#if PG_VERSION_NUM >= 160000
    return walker;
#else
    return reinterpret_cast<Result (*)()>(reinterpret_cast<void (*)()>(walker));
#endif
}

} // namespace dp_counter::pg
