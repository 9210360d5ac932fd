// PostgreSQL's trees of nodes: their walkers, what a node calls, and trees that catalogs store.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "nodes/nodes.h"
#include "utils/syscache.h"
}

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

/// What the node of a function or an operator calls.
struct NodeCall {
    Oid function; ///< invalid of another node
    const List* arguments;
};

[[nodiscard]] NodeCall call_in(const Node* node);

/// The tree that a catalog's row holds as a text; null where it has none.
[[nodiscard]] void* stored_tree(SysCacheIdentifier cache, HeapTuple row, AttrNumber column);

} // namespace dp_counter::pg
