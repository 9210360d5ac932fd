// Where a long computation of public values can be interrupted.
#pragma once

namespace dp_counter {

/// Called in long computations several times in 100 ms or more often, if set; it may throw. The
/// exception leaves caches as they were, or with more complete entries.
using Checkpoint = void (*)();

inline Checkpoint on_checkpoint = nullptr;

inline void checkpoint() {
    if (on_checkpoint != nullptr)
        on_checkpoint();
}

} // namespace dp_counter
