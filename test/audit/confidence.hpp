// How probable an event is, from how often it was seen: bounds with a stated error.
#pragma once

#include <cstdint>

namespace dp_counter::test {

/// A lower and an upper bound for the probability of an event seen `hits` times in `trials`
/// independent trials. Each is wrong with probability at most `error`, whatever the probability is
/// (Clopper and Pearson 1934: no approximation).
[[nodiscard]] double least_probability(std::int64_t hits, std::int64_t trials, double error);
[[nodiscard]] double greatest_probability(std::int64_t hits, std::int64_t trials, double error);

/// A quick lower bound for ln(p/q), `errors` standard errors off (Wilson scores): good enough to
/// choose between events, not to accuse a mechanism.
[[nodiscard]] double rough_log_ratio(std::int64_t p_hits, std::int64_t q_hits, std::int64_t trials,
                                     double errors);

} // namespace dp_counter::test
