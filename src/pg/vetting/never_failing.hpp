// Which functions and expressions never raise an error, whatever the rows are: an analyst who may
// declare counters, but reads nothing, would learn from an error what it depends on.
// (docs/decisions/never-fails.md says what is assumed.)
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "nodes/nodes.h"
}

namespace dp_counter::pg {

/// Names the function or expression if the node itself, not one below it, may raise an error for
/// some rows, or is not known never to; null if it cannot.
[[nodiscard]] const char* why_node_may_fail(Node* node);

} // namespace dp_counter::pg
