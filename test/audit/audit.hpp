// The audit: a lower bound for epsilon from releases of two neighboring streams.
#pragma once

#include "audit/event.hpp"

namespace dp_counter::test {

struct Audit {
    double epsilon; ///< at least this much is spent
    Event event;    ///< the event that shows it
};

/// If a mechanism is epsilon-differentially private, P(E) <= e^epsilon Q(E) for every event E. The
/// one half of the runs finds an event (both ways round), the other half counts it: then
/// ln(lower bound of P / upper bound of Q) exceeds the mechanism's epsilon with probability at most
/// `error`. One event is tested, so nothing has to be paid for the search.
[[nodiscard]] Audit audit(const Releases& one, const Releases& other, double error);

} // namespace dp_counter::test
