#include <algorithm>

#include "core/base/checkpoint.hpp"

#include "pg/persons/groups.hpp"

#include "pg/persons/columns.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/relations.hpp"
#include "pg/server/wall.hpp"
#include "pg/tables/groups_table.hpp"
#include "pg/tables/public_view.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
}

namespace dp_counter::pg {

namespace {

constexpr int kGroupColumn = 2; // of a counter's view, after the period

bool is_less(const Groups::Entry& a, const Groups::Entry& b) {
    return compare_plain(a.value, b.value) < 0;
}

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

/// Takes `declared` over. Raises invalid_parameter_value where one comes twice.
Groups groups_of(Datum* declared, std::int32_t count, Oid type) {
    Groups groups{type, count,
                  static_cast<Groups::Entry*>(MemoryContextAllocHuge(
                      CurrentMemoryContext, static_cast<Size>(count) * sizeof(Groups::Entry))),
                  declared, nullptr};
    for (std::int32_t i = 0; i < count; ++i) {
        CHECK_FOR_INTERRUPTS();
        read_plain(type, declared[i], groups.sorted[i].value);
        groups.sorted[i].number = i + 1;
    }
    const auto is_before = [](const Groups::Entry& a, const Groups::Entry& b) {
        checkpoint(); // may throw
        return is_less(a, b);
    };
    run([&] {
        if (!std::is_sorted(groups.sorted, groups.sorted + count, is_before))
            std::sort(groups.sorted, groups.sorted + count, is_before);
    });
    for (std::int32_t i = 1; i < count; ++i) {
        CHECK_FOR_INTERRUPTS();
        if (!is_less(groups.sorted[i - 1], groups.sorted[i]))
            ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                            errmsg("group \"%s\" is declared twice",
                                   text_of(declared[groups.sorted[i].number - 1], type)),
                            errhint("Each group is one element of groups, or one row of "
                                    "groups_from.")));
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
    pg_unreachable();
}

/// Reads texts; a null `nulls` means that none is null.
Groups parse_groups(const Datum* texts, const bool* nulls, std::int32_t count, Oid type) {
    Oid input = InvalidOid;
    Oid parameter = InvalidOid;
    getTypeInputInfo(type, &input, &parameter);
    FmgrInfo function;
    fmgr_info(input, &function);
    auto* declared = static_cast<Datum*>(palloc(static_cast<Size>(count) * sizeof(Datum)));
    for (std::int32_t i = 0; i < count; ++i) {
        CHECK_FOR_INTERRUPTS();
        check_not_null({texts[i], nulls != nullptr && nulls[i]}, "groups",
                       "Rows without a group are not counted.");
        declared[i] = InputFunctionCall(&function, TextDatumGetCString(texts[i]), parameter, -1);
    }
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

/// The number of the value's group, dropped or not, or 0.
std::int32_t number_of(const Groups& groups, Datum value) {
    Groups::Entry wanted{};
    read_plain(groups.type, value, wanted.value);
    const Groups::Entry* end = groups.sorted + groups.count;
    const Groups::Entry* found =
        std::lower_bound(static_cast<const Groups::Entry*>(groups.sorted), end, wanted, is_less);
    return found != end && !is_less(wanted, *found) ? found->number : 0;
}

} // namespace

Groups read_groups(ArrayType* written, Oid type) {
    Datum* texts = nullptr;
    bool* nulls = nullptr;
    int count = 0;
    deconstruct_array(written, TEXTOID, -1, false, TYPALIGN_INT, &texts, &nulls, &count);
    if (count == 0)
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("groups must not be empty"),
                 errhint("Name at least one. A counter without groups is declared without by.")));
    check_number_of_groups(count);
    return parse_groups(texts, nulls, count, type);
}

Groups with_others(const Groups& groups, Datum name) {
    const Groups others = parse_groups(&name, nullptr, 1, groups.type);
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
            : parse_groups(stored.names, nullptr, count, type);
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
        if (number_of(before, added.declared[i]) == 0)
            declared[count++] = added.declared[i];
        else if (!is_known_skipped)
            ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT),
                            errmsg("group \"%s\" has been declared before",
                                   text_of(added.declared[i], added.type))));
    }
    return groups_of(declared, count, before.type);
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
    const std::int32_t number = number_of(groups, value);
    return number != 0 && groups.is_dropped(number) ? 0 : number;
}

} // namespace dp_counter::pg
