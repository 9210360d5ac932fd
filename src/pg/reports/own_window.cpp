// dp_own_window: the window of a person in which a time is, for queries of a budget's owner.
#include <cstring>

#include "core/count/own_window.hpp"

#include "pg/budgets/budgets.hpp"
#include "pg/budgets/unit.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/plain_value.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/relations.hpp"

extern "C" {
#include "utils/date.h"
}

namespace dp_counter::pg {
namespace {

/// What a call site knows of its budget, for as long as its query runs.
struct KnownBudget {
    Oid budget;
    Oid root;
    BudgetUnit unit;
    unsigned char key[kWindowKeyBytes];
};

BudgetUnit read_unit(Oid budget) {
    check_is_budget(budget);
    const BudgetUnit unit = unit_of_budget(budget);
    if (unit.per_days == 0)
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("budget \"%s\" does not renew", name_of_relation(budget)),
                        errhint("Its unit is a person's life: group by the person alone.")));
    if (!OidIsValid(unit.time_type))
        ereport(ERROR,
                (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                 errmsg("budget \"%s\" has no source yet", name_of_relation(budget)),
                 errhint("The first source determines the types of person and time: declare it "
                         "with dp_source_create.")));
    return unit;
}

/// For the owner of the root alone: a phase is secret, also from the owner of a share.
const BudgetUnit& unit_for(FmgrInfo* call, Oid budget) {
    auto* known = static_cast<KnownBudget*>(call->fn_extra);
    if (known == nullptr)
        call->fn_extra = known =
            static_cast<KnownBudget*>(MemoryContextAllocZero(call->fn_mcxt, sizeof(KnownBudget)));
    const Oid root = known->budget == budget ? known->root : root_of_budget(budget);
    check_owner(root);
    if (known->budget != budget) {
        known->unit = read_unit(budget);
        std::memcpy(known->key, known->unit.key, kWindowKeyBytes);
        known->unit.key = known->key;
        known->budget = budget;
        known->root = root;
    }
    return known->unit;
}

/// The argument as `expected`, which an untyped literal becomes.
Datum read_typed(FunctionCallInfo fcinfo, int index, const char* parameter, Oid expected) {
    const Oid type = get_fn_expr_argtype(fcinfo->flinfo, index);
    const Datum value = fcinfo->args[index].value;
    if (type == UNKNOWNOID) {
        Oid input = InvalidOid;
        Oid element = InvalidOid;
        getTypeInputInfo(expected, &input, &element);
        return OidInputFunctionCall(input, DatumGetCString(value), element, -1);
    }
    if (plain_type(type) != expected)
        ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                        errmsg("%s must be of type %s, not %s", parameter, format_type_be(expected),
                               format_type_be(type)),
                        errhint("The sources of the budget have this type. Cast the value.")));
    return value;
}

bool is_finite(Oid type, Datum time) {
    return type == DATEOID ? !DATE_NOT_FINITE(DatumGetDateADT(time))
                           : !TIMESTAMP_NOT_FINITE(DatumGetTimestamp(time));
}

} // namespace

DP_FUNCTION(dp_own_window) {
    const BudgetUnit& unit = unit_for(fcinfo->flinfo, read_relation(fcinfo->args[0], "budget"));
    if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
        PG_RETURN_NULL();
    const Datum time = read_typed(fcinfo, 2, "at", unit.time_type);
    if (!is_finite(unit.time_type, time))
        PG_RETURN_NULL();
    const Datum value = read_typed(fcinfo, 1, "person", unit.person_type);
    PlainValue person{};
    const Oid type = get_fn_expr_argtype(fcinfo->flinfo, 1);
    read_plain(type == UNKNOWNOID ? unit.person_type : type, value, person);
    const std::int32_t phase =
        person_phase(unit, person.bytes(), static_cast<std::size_t>(person.size));
    PG_RETURN_INT64(own_window(day_of_time(unit.time_type, time), phase, unit.per_days));
}

} // namespace dp_counter::pg
