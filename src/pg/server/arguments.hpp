// The arguments of the functions that take parameters, read, checked and held constant.
#pragma once

#include <cstring>
#include <type_traits>

#include "core/count/mechanism_spec.hpp"
#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// One SQL argument.
using Argument = NullableDatum;

/// The arguments of a call, as a struct that has one Argument for each, in the order of SQL.
template <class Arguments>
[[nodiscard]] Arguments arguments_of(FunctionCallInfo fcinfo) {
    static_assert(std::is_trivially_copyable_v<Arguments>);
    Assert(sizeof(Arguments) == static_cast<Size>(fcinfo->nargs) * sizeof(Argument));
    Arguments arguments;
    std::memcpy(&arguments, fcinfo->args, sizeof arguments);
    return arguments;
}

static_assert(std::is_trivially_copyable_v<Request>); // lives in PostgreSQL's memory

/// The parameters of a call, as SQL passes them; by default those of a count.
struct RequestArguments {
    Argument epsilon;
    Argument sensitivity{Int64GetDatum(1), false};
    Argument horizon{0, true};
    Argument k{0, true};
    Argument mechanism{0, true};
};

/// Raises null_value_not_allowed.
void check_not_null(const Argument& argument, const char* parameter, const char* hint = nullptr);

/// Raises invalid_parameter_value unless the number is 1 to `most`.
void check_number(const char* parameter, std::int64_t number, std::int64_t most, const char* hint);

/// The command for which an event trigger is called. Raises event_trigger_protocol_violated where
/// the function, of this name, is called in another way.
[[nodiscard]] const Node* command_of_event(FunctionCallInfo fcinfo, const char* function);

/// The relation that a regclass argument names. Raises null_value_not_allowed.
[[nodiscard]] Oid read_relation(const Argument& argument, const char* parameter);

/// Each raises null_value_not_allowed for an epsilon or a sensitivity that is NULL, and
/// invalid_parameter_value for what no request can have. A NULL horizon reads as kUnbounded. (The
/// function that prepares the mechanism raises what that refuses.)
[[nodiscard]] PrivacyUnit read_unit(const Argument& epsilon,
                                    const Argument& sensitivity = RequestArguments{}.sensitivity);
[[nodiscard]] Request read_request(const RequestArguments& arguments);

/// Raises invalid_parameter_value unless `every` is one positive unit: months, days or a time.
void check_every(const Interval& every);

/// As PostgreSQL shows it.
[[nodiscard]] char* text_of(const Interval& interval);
[[nodiscard]] char* text_of(Timestamp time);

/// In microseconds, with months of so many days.
[[nodiscard]] int128 length_of(const Interval& interval, int days_in_month);

/// Whether a boolean or bit(1) argument is true; NULL is not. bit_from_bit raises
/// string_data_length_mismatch for a bit string of another length.
[[nodiscard]] inline bool is_true(const Argument& argument) {
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

} // namespace dp_counter::pg
