#include <string_view>

#include "pg/server/arguments.hpp"

#include "core/base/epsilon.hpp"

#include "pg/server/wall.hpp"

extern "C" {
#include "commands/event_trigger.h"
#include "mb/pg_wchar.h"
#include "utils/fmgrprotos.h"
#include "utils/varbit.h"
}

namespace dp_counter::pg {

namespace {

double read_epsilon(const Argument& argument) {
    check_not_null(argument, "epsilon", Epsilon::kUsual);
    return DatumGetFloat8(argument.value);
}

std::int64_t read_sensitivity(const Argument& argument) {
    check_not_null(argument, "sensitivity",
                   "It is the most that one protected unit can change, over all rows together: 1 "
                   "if each unit is counted once.");
    return DatumGetInt64(argument.value);
}

} // namespace

void check_not_null(const Argument& argument, const char* parameter, const char* hint) {
    if (argument.isnull)
        ereport(ERROR,
                (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not be null", parameter),
                 hint != nullptr ? errhint("%s", hint) : 0));
}

void check_every(const Interval& every) {
    const int units =
        (every.month != 0 ? 1 : 0) + (every.day != 0 ? 1 : 0) + (every.time != 0 ? 1 : 0);
    if (units == 1 && every.month >= 0 && every.day >= 0 && every.time >= 0)
        return;
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("every must be one positive unit, not \"%s\"", text_of(every)),
                    errhint("Use months, days or a time: '1 month', '7 days', '15 minutes'.")));
}

char* text_of(const Interval& interval) {
    return DatumGetCString(DirectFunctionCall1(interval_out, IntervalPGetDatum(&interval)));
}

char* text_of(Timestamp time) {
    return DatumGetCString(DirectFunctionCall1(timestamp_out, TimestampGetDatum(time)));
}

int128 length_of(const Interval& interval, int days_in_month) {
    const int128 days = int128{interval.month} * days_in_month + interval.day;
    return days * USECS_PER_DAY + interval.time;
}

void check_number(const char* parameter, std::int64_t number, std::int64_t most, const char* hint) {
    if (number < 1 || number > most)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("%s must be between 1 and %lld, not %lld", parameter,
                               static_cast<long long>(most), static_cast<long long>(number)),
                        errhint("%s", hint)));
}

const Node* command_of_event(FunctionCallInfo fcinfo, const char* function) {
    if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
        ereport(ERROR, (errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
                        errmsg("%s is an event trigger function", function)));
    return reinterpret_cast<const EventTriggerData*>(fcinfo->context)->parsetree;
}

Oid read_relation(const Argument& argument, const char* parameter) {
    check_not_null(argument, parameter);
    return DatumGetObjectId(argument.value);
}

PrivacyUnit read_unit(const Argument& epsilon, const Argument& sensitivity) {
    const double value = read_epsilon(epsilon);
    const std::int64_t most = read_sensitivity(sensitivity);
    return run([&] {
        PrivacyUnit unit(Epsilon(value), most);
        unit.require_scale(1);
        return unit;
    });
}

Request read_request(const RequestArguments& arguments) {
    Request request{kUnbounded, read_unit(arguments.epsilon, arguments.sensitivity), {}, {}};
    if (!arguments.horizon.isnull) {
        request.horizon = DatumGetInt64(arguments.horizon.value);
        run([&] { check_horizon(request.horizon); });
    }
    if (!arguments.k.isnull)
        request.radix = DatumGetInt32(arguments.k.value);
    if (!arguments.mechanism.isnull) {
        struct varlena* text = PG_DETOAST_DATUM_PACKED(arguments.mechanism.value);
        // An error shows the beginning of a longer name, which ends with a whole character.
        constexpr int kMostShown = 64;
        const int length =
            pg_mbcliplen(VARDATA_ANY(text), static_cast<int>(VARSIZE_ANY_EXHDR(text)), kMostShown);
        const std::string_view name(VARDATA_ANY(text), static_cast<std::size_t>(length));
        request.mechanism = run([&] { return mechanism_from_name(name); });
    }
    return request;
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
                        errhint("dp_running_count takes one bit per row: a boolean or a bit(1).")));
    return (static_cast<unsigned char>(data[sizeof length]) & 0x80U) != 0;
}

void raise_not_constant(const char* parameters, const char* stream) {
    ereport(
        ERROR,
        (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
         errmsg("%s must be constant within a partition", parameters),
         errhint("Partition by the columns that they depend on: every partition is a separate %s.",
                 stream)));
}

} // namespace dp_counter::pg
