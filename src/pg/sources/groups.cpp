#include <algorithm>

#include "core/base/checkpoint.hpp"

#include "pg/sources/groups.hpp"

#include "pg/server/arguments.hpp"
#include "pg/server/wall.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
}

namespace dp_counter::pg {

namespace {

bool is_less(const Groups::Entry& a, const Groups::Entry& b) {
    return compare_plain(a.value, b.value) < 0;
}

ArrayType* array_of(Datum* values, std::int32_t count, Oid type) {
    std::int16_t length = 0;
    bool by_value = false;
    char alignment = 0;
    get_typlenbyvalalign(type, &length, &by_value, &alignment);
    return construct_array(values, count, type, length, by_value, alignment);
}

char* text_of(Datum value, Oid type) {
    Oid output = InvalidOid;
    bool is_varlena = false;
    getTypeOutputInfo(type, &output, &is_varlena);
    return OidOutputFunctionCall(output, value);
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
                 errhint("Leave out by and groups for a counter without groups.")));
    Oid input = InvalidOid;
    Oid parameter = InvalidOid;
    getTypeInputInfo(type, &input, &parameter);
    const auto size = static_cast<Size>(count);
    Groups groups{type, count, static_cast<Groups::Entry*>(palloc0(size * sizeof(Groups::Entry))),
                  static_cast<Datum*>(palloc(size * sizeof(Datum)))};
    for (int i = 0; i < count; ++i) {
        CHECK_FOR_INTERRUPTS();
        check_not_null({texts[i], nulls[i]}, "groups", "Rows without a group are not counted.");
        groups.declared[i] =
            OidInputFunctionCall(input, TextDatumGetCString(texts[i]), parameter, -1);
        read_plain(type, groups.declared[i], groups.sorted[i].value);
        groups.sorted[i].number = i + 1;
    }
    run([&] {
        std::sort(groups.sorted, groups.sorted + count,
                  [](const Groups::Entry& a, const Groups::Entry& b) {
                      checkpoint(); // may throw
                      return is_less(a, b);
                  });
    });
    for (int i = 1; i < count; ++i)
        if (!is_less(groups.sorted[i - 1], groups.sorted[i]))
            ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                            errmsg("group \"%s\" is declared twice",
                                   text_of(groups.declared[groups.sorted[i].number - 1], type))));
    return groups;
}

ArrayType* write_groups(const Groups& groups) {
    auto* texts = static_cast<Datum*>(palloc(static_cast<Size>(groups.count) * sizeof(Datum)));
    for (std::int32_t i = 0; i < groups.count; ++i)
        texts[i] = CStringGetTextDatum(text_of(groups.declared[i], groups.type));
    return array_of(texts, groups.count, TEXTOID);
}

char* sql_of_groups(const Groups& groups) {
    ArrayType* array = array_of(groups.declared, groups.count, groups.type);
    const char* text = text_of(PointerGetDatum(array), get_array_type(groups.type));
    return psprintf("%s::%s[]", quote_literal_cstr(text), format_type_be_qualified(groups.type));
}

std::int32_t find_group(const Groups& groups, Datum value) {
    Groups::Entry wanted{};
    read_plain(groups.type, value, wanted.value);
    const Groups::Entry* end = groups.sorted + groups.count;
    const Groups::Entry* found =
        std::lower_bound(static_cast<const Groups::Entry*>(groups.sorted), end, wanted, is_less);
    return found != end && !is_less(wanted, *found) ? found->number : 0;
}

} // namespace dp_counter::pg
