#include <algorithm>
#include <bit>

#include "core/base/checkpoint.hpp"

#include "pg/persons/groups.hpp"

#include "pg/persons/columns.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/backend_random.hpp"
#include "pg/server/plain_value.hpp"
#include "pg/server/relations.hpp"
#include "pg/server/wall.hpp"
#include "pg/tables/groups_table.hpp"
#include "pg/tables/public_view.hpp"

extern "C" {
#include "nodes/primnodes.h"
}

namespace dp_counter::pg {

namespace {

constexpr int kGroupColumn = 2; // of a counter's view, after the period

/// Of an enum.
Datum array_of(const Groups& groups) {
    return PointerGetDatum(construct_array(groups.declared, groups.count, groups.type, sizeof(Oid),
                                           true, TYPALIGN_INT));
}

char* text_of(Datum value, Oid type) {
    Oid output = InvalidOid;
    bool is_varlena = false;
    getTypeOutputInfo(type, &output, &is_varlena);
    return OidOutputFunctionCall(output, value);
}

/// Where the value's number is, or where it would be.
std::int32_t* place_of(const Groups& groups, Datum value) {
    PlainValue wanted{};
    read_plain(groups.type, value, wanted);
    std::uint32_t place = static_cast<std::uint32_t>(hash_plain(wanted, groups.key)) & groups.last;
    for (; groups.numbers[place] != 0; place = (place + 1) & groups.last) {
        PlainValue found{};
        read_plain(groups.type, groups.declared[groups.numbers[place] - 1], found);
        if (compare_plain(found, wanted) == 0)
            break;
    }
    return &groups.numbers[place];
}

/// Takes `declared` over. Raises invalid_parameter_value where one comes twice.
Groups groups_of(Datum* declared, std::int32_t count, Oid type) {
    const std::uint32_t places = std::bit_ceil(2 * static_cast<std::uint32_t>(count));
    Groups groups{};
    groups.type = type;
    groups.count = count;
    groups.declared = declared;
    groups.numbers = static_cast<std::int32_t*>(palloc0(places * sizeof(std::int32_t)));
    groups.last = places - 1;
    make_secret_key(groups.key, sizeof groups.key);
    for (std::int32_t i = 0; i < count; ++i) {
        CHECK_FOR_INTERRUPTS();
        std::int32_t* number = place_of(groups, declared[i]);
        if (*number != 0)
            ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                            errmsg("group \"%s\" is declared twice", text_of(declared[i], type)),
                            errhint("Each group is one element of groups, or one row of "
                                    "groups_from.")));
        *number = i + 1;
    }
    return groups;
}

/// The constant array of this type, with so many elements, that has the groups in the query of the
/// counter's view. Raises object_not_in_prerequisite_state.
Const* constant_of_groups(Oid counter, const Query* query, Oid type, std::int32_t count) {
    if (list_length(query->targetList) >= kGroupColumn) {
        const auto* group = reinterpret_cast<const SubscriptingRef*>(
            list_nth_node(TargetEntry, query->targetList, kGroupColumn - 1)->expr);
        auto* array =
            reinterpret_cast<Const*>(IsA(group, SubscriptingRef) ? group->refexpr : nullptr);
        if (array != nullptr && IsA(array, Const) && array->consttype == get_array_type(type) &&
            !array->constisnull) {
            ArrayType* labels = DatumGetArrayTypeP(array->constvalue);
            if (!ARR_HASNULL(labels) && ArrayGetNItems(ARR_NDIM(labels), ARR_DIMS(labels)) == count)
                return array;
        }
    }
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("view \"%s\" no longer contains its groups", name_of_relation(counter)),
             errdetail("The view was replaced. The counter reads the labels of an enum from it."),
             errhint("Restore the view from a backup, or drop the counter.")));
}

void name_group(void* written) {
    errcontext("group \"%s\"", *static_cast<const char* const*>(written));
}

/// Reads texts.
Groups parse_groups(const Datum* texts, std::int32_t count, Oid type) {
    Oid input = InvalidOid;
    Oid parameter = InvalidOid;
    getTypeInputInfo(type, &input, &parameter);
    FmgrInfo function;
    fmgr_info(input, &function);
    auto* declared = static_cast<Datum*>(palloc(static_cast<Size>(count) * sizeof(Datum)));
    char* written = nullptr;
    ErrorContextCallback naming{error_context_stack, name_group, static_cast<void*>(&written)};
    error_context_stack = &naming;
    for (std::int32_t i = 0; i < count; ++i) {
        CHECK_FOR_INTERRUPTS();
        written = TextDatumGetCString(texts[i]);
        declared[i] = InputFunctionCall(&function, written, parameter, -1);
    }
    error_context_stack = naming.previous;
    return groups_of(declared, count, type);
}

/// Of an enum.
Groups groups_in(const Const* constant, Oid type) {
    Datum* declared = nullptr;
    int count = 0;
    deconstruct_array(DatumGetArrayTypeP(constant->constvalue), type, sizeof(Oid), true,
                      TYPALIGN_INT, &declared, nullptr, &count);
    return groups_of(declared, count, type);
}

} // namespace

Groups read_groups(ArrayType* written, Oid type) {
    const Oid element = ARR_ELEMTYPE(written);
    std::int16_t length = 0;
    bool is_by_value = false;
    char alignment = 0;
    get_typlenbyvalalign(element, &length, &is_by_value, &alignment);
    Datum* values = nullptr;
    bool* nulls = nullptr;
    int count = 0;
    deconstruct_array(written, element, length, is_by_value, alignment, &values, &nulls, &count);
    if (count == 0)
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("groups must not be empty"),
                 errhint("Name at least one. A counter without groups is declared without by.")));
    check_number_of_groups(count);
    for (std::int32_t i = 0; i < count; ++i) {
        CHECK_FOR_INTERRUPTS();
        check_not_null({values[i], nulls[i]}, "groups", "Rows without a group are not counted.");
        if (element != type && element != TEXTOID)
            values[i] = CStringGetTextDatum(text_of(values[i], element));
    }
    return element == type ? groups_of(values, count, type) : parse_groups(values, count, type);
}

Groups with_others(const Groups& groups, Datum name) {
    const Groups others = parse_groups(&name, 1, groups.type);
    if (find_group(groups, others.declared[0]) != 0)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("others must not be \"%s\"", TextDatumGetCString(name)),
                        errdetail("It is one of the groups."),
                        errhint("Choose a name for the rows of all other groups.")));
    check_number_of_groups(groups.count + 1);
    return join_groups(groups, others, false);
}

void check_number_of_groups(std::int32_t count) {
    if (count > kMostGroups)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("groups must be at most %d, not %d", kMostGroups, count),
                        errhint("Use fewer groups, or several counters.")));
}

Groups groups_of_counter(const OpenCounter& counter) {
    const Oid type = column_type(counter.declared->source, counter.declared->by);
    const std::int32_t count = counter.declared->groups;
    const StoredGroups stored = read_stored_groups(counter.row.number, count);
    Groups groups =
        type_is_enum(type)
            ? groups_in(constant_of_groups(counter.view, query_of_view(counter.view), type, count),
                        type)
            : parse_groups(stored.names, count, type);
    groups.dropped = stored.dropped;
    return groups;
}

void replace_groups(Oid counter, const Groups& before, const Groups& groups) {
    Query* query = query_of_view(counter);
    Const* constant = constant_of_groups(counter, query, before.type, before.count);
    constant->constvalue = array_of(groups);
    replace_query_of_view(counter, query);
}

Groups join_groups(const Groups& before, const Groups& added, bool is_known_skipped) {
    std::int32_t count = before.count;
    auto* declared =
        static_cast<Datum*>(palloc(static_cast<Size>(count + added.count) * sizeof(Datum)));
    std::copy_n(before.declared, count, declared);
    for (std::int32_t i = 0; i < added.count; ++i) {
        CHECK_FOR_INTERRUPTS();
        if (*place_of(before, added.declared[i]) == 0)
            declared[count++] = added.declared[i];
        else if (!is_known_skipped)
            ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT),
                            errmsg("group \"%s\" has been declared before",
                                   text_of(added.declared[i], added.type)),
                            errhint("Leave it out. A group that was dropped cannot come back: show "
                                    "it under another name in the view.")));
    }
    return groups_of(declared, count, before.type);
}

void sort_groups(Groups& groups) {
    const auto is_before = [&groups](Datum a, Datum b) {
        checkpoint(); // may throw
        PlainValue first{};
        PlainValue second{};
        read_plain(groups.type, a, first);
        read_plain(groups.type, b, second);
        return compare_plain(first, second) < 0;
    };
    Datum* end = groups.declared + groups.count;
    if (run([&] { return std::is_sorted(groups.declared, end, is_before); }))
        return;
    run([&] { std::sort(groups.declared, end, is_before); });
    groups = groups_of(groups.declared, groups.count, groups.type);
}

Datum* names_of(const Groups& groups) {
    auto* texts = static_cast<Datum*>(palloc(static_cast<Size>(groups.count) * sizeof(Datum)));
    for (std::int32_t i = 0; i < groups.count; ++i) {
        CHECK_FOR_INTERRUPTS();
        texts[i] = CStringGetTextDatum(text_of(groups.declared[i], groups.type));
    }
    return texts;
}

const char* sql_of_group(const Groups& groups) {
    if (!type_is_enum(groups.type))
        return psprintf("name::%s", format_type_be_qualified(groups.type));
    const char* text = text_of(array_of(groups), get_array_type(groups.type));
    return psprintf("(%s::%s[])[stream]", quote_literal_cstr(text),
                    format_type_be_qualified(groups.type));
}

std::int32_t find_group(const Groups& groups, Datum value) {
    const std::int32_t number = *place_of(groups, value);
    return number != 0 && groups.is_dropped(number) ? 0 : number;
}

} // namespace dp_counter::pg
