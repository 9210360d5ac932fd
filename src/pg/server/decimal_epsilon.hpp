// An epsilon as a budget adds it up: the decimal number that was declared.
#pragma once

#include <cstdint>

#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"

extern "C" {
#include "utils/numeric.h"
}

namespace dp_counter::pg {

/// As SQL writes it.
[[nodiscard]] char* text_of(Numeric number);

[[nodiscard]] Numeric zero_epsilon();

/// Exact arithmetic of decimals. Results are in CurrentMemoryContext, or arguments.
[[nodiscard]] Numeric decimal(const char* number);
[[nodiscard]] Numeric sum(Numeric a, Numeric b);
[[nodiscard]] Numeric difference(Numeric a, Numeric b);
[[nodiscard]] Numeric product(Numeric a, Numeric b);
[[nodiscard]] Numeric times(std::int64_t n, Numeric a);
[[nodiscard]] Numeric larger(Numeric a, Numeric b);
[[nodiscard]] Numeric smaller(Numeric a, Numeric b);
[[nodiscard]] bool is_less(Numeric a, Numeric b);
/// Without zeros at the end.
[[nodiscard]] Numeric trimmed(Numeric number);

/// Raises null_value_not_allowed, or invalid_parameter_value for what is not positive and finite,
/// or has more than a hundred decimal places.
[[nodiscard]] Numeric read_decimal_epsilon(const Argument& argument);

/// The largest double not above it: what a mechanism may spend of it. Outside of the range of an
/// epsilon it is some other number outside.
[[nodiscard]] double mechanism_epsilon(Numeric epsilon);

} // namespace dp_counter::pg
