#include <cstring>

#include "pg/server/arguments.hpp"

extern "C" {
#include "mb/pg_wchar.h"
#include "utils/varbit.h"
}

namespace dp_counter::pg {

bool operator==(const Parameters& a, const Parameters& b) noexcept {
    return a.epsilon == b.epsilon && a.sensitivity == b.sensitivity && a.horizon == b.horizon &&
           a.k == b.k && a.has_mechanism == b.has_mechanism &&
           std::strncmp(a.mechanism, b.mechanism, sizeof a.mechanism) == 0;
}

double read_epsilon(const Argument& argument) {
    if (argument.isnull)
        ereport(ERROR,
                (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("epsilon must not be null"),
                 errhint("Small values protect more and add more noise; 0.1 to 1 is usual.")));
    return DatumGetFloat8(argument.value);
}

std::int64_t read_sensitivity(const Argument& argument) {
    if (argument.isnull)
        ereport(ERROR,
                (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("sensitivity must not be null"),
                 errhint("It is the most that one protected unit can change, in total over all "
                         "rows: 1 where each is counted once.")));
    return DatumGetInt64(argument.value);
}

void read_k(Parameters& parameters, const Argument& argument) {
    parameters.k = 0;
    if (argument.isnull)
        return;
    parameters.k = DatumGetInt32(argument.value);
    if (parameters.k == 0) // would read as "not given"
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("k must be between %d and %d, not 0", kMinRadix, kMaxRadix),
                        errhint("Leave k out to have the most accurate one chosen.")));
}

void read_mechanism(Parameters& parameters, const Argument& argument) {
    std::memset(parameters.mechanism, 0, sizeof parameters.mechanism);
    parameters.has_mechanism = !argument.isnull;
    if (argument.isnull)
        return;
    struct varlena* text = PG_DETOAST_DATUM_PACKED(argument.value);
    // A longer name is cut at a character's end; it is unknown in any case.
    const int length = pg_mbcliplen(VARDATA_ANY(text), static_cast<int>(VARSIZE_ANY_EXHDR(text)),
                                    Parameters::kMaxMechanismName);
    std::memcpy(parameters.mechanism, VARDATA_ANY(text), static_cast<std::size_t>(length));
}

void read_horizon(Parameters& parameters, const Argument& argument) {
    parameters.horizon = kUnbounded;
    if (argument.isnull)
        return;
    parameters.horizon = DatumGetInt64(argument.value);
    if (parameters.horizon == kUnbounded) // would read as "not given"
        ereport(
            ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             errmsg("horizon must be between 1 and %lld, not 0",
                    static_cast<long long>(kMaxHorizon)),
             errhint("The horizon is the greatest number of rows that the count may run over.")));
}

bool bit_from_bit(const Argument& argument) {
    if (argument.isnull)
        return false;
    // VarBit is int32 length, then the bits; the short varlena header leaves it unaligned.
    struct varlena* string = PG_DETOAST_DATUM_PACKED(argument.value);
    const char* data = VARDATA_ANY(string);
    std::int32_t length = 0;
    std::memcpy(&length, data, sizeof length);
    if (length != 1)
        ereport(ERROR, (errcode(ERRCODE_STRING_DATA_LENGTH_MISMATCH),
                        errmsg("bit string length %d does not match type bit(1)", length),
                        errhint("dp_running_count takes one bit a row: a boolean or a bit(1).")));
    return (static_cast<unsigned char>(data[sizeof length]) & 0x80U) != 0;
}

void raise_not_constant(const char* parameters, const char* stream) {
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s must be constant within a partition", parameters),
                    errhint("Partition by what they depend on: every partition is a %s of its own.",
                            stream)));
    pg_unreachable();
}

Request to_request(const Parameters& parameters, std::int64_t horizon) {
    Request request{
        horizon, PrivacyUnit(Epsilon(parameters.epsilon), parameters.sensitivity), {}, {}};
    if (parameters.k != 0)
        request.radix = parameters.k;
    if (parameters.has_mechanism)
        request.mechanism = mechanism_from_name(parameters.mechanism);
    return request;
}

} // namespace dp_counter::pg
