// The arguments of dp_running_count and dp_running_sum, read, checked and held constant.
#pragma once

#include <cstdint>

#include "core/count/mechanism_spec.hpp"
#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// The parameters as SQL passes them. Trivial: lives in PostgreSQL's memory.
struct Parameters {
    static constexpr int kMaxMechanismName = 31;

    double epsilon;
    std::int64_t sensitivity = 1; ///< of a count; what is zeroed is refused
    std::int64_t horizon;         ///< kUnbounded where NULL
    std::int32_t k;               ///< 0 where NULL
    bool has_mechanism;
    char mechanism[kMaxMechanismName + 1]; ///< ends in zeros

    friend bool operator==(const Parameters& a, const Parameters& b) noexcept;
};

/// One SQL argument.
using Argument = NullableDatum;

/// Each raises null_value_not_allowed or invalid_parameter_value where the argument cannot be read.
[[nodiscard]] double read_epsilon(const Argument& argument);
[[nodiscard]] std::int64_t read_sensitivity(const Argument& argument);
void read_k(Parameters& parameters, const Argument& argument);
void read_mechanism(Parameters& parameters, const Argument& argument);
void read_horizon(Parameters& parameters, const Argument& argument);

/// The value of a boolean or bit(1) argument; NULL counts as 0. bit_from_bit raises
/// string_data_length_mismatch for a bit string of another length.
[[nodiscard]] inline bool bit_from_boolean(const Argument& argument) {
    return !argument.isnull && DatumGetBool(argument.value);
}
[[nodiscard]] bool bit_from_bit(const Argument& argument);

/// The value of a bigint argument; NULL counts as 0.
[[nodiscard]] inline std::int64_t addend_from_bigint(const Argument& argument) {
    return argument.isnull ? 0 : DatumGetInt64(argument.value);
}

/// Raises invalid_parameter_value: a parameter changed between two rows of one stream.
[[noreturn]] void raise_not_constant(const char* parameters = "epsilon, k, mechanism and horizon",
                                     const char* stream = "count");

/// The request that the parameters make, with this horizon. Core: may throw.
[[nodiscard]] Request to_request(const Parameters& parameters, std::int64_t horizon);

} // namespace dp_counter::pg
