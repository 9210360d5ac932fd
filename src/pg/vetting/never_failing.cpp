#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "pg/vetting/never_failing.hpp"

#include "pg/server/relations.hpp"

extern "C" {
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_proc.h"
#include "mb/pg_wchar.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "utils/regproc.h"
#include "utils/typcache.h"
}

namespace dp_counter::pg {

namespace {

// --- the list. test/pgtap/never_fails.sql reads it, and tries each with extreme values.

/// Never, whatever the arguments are.
constexpr Oid kNever[] = {
    3508, 3509, 3510, 3511, 3512, 3513,
    3514, // enum: = <> < > <= >=, cmp
    1718, 1719, 1720, 1721, 1722, 1723,
    1769,                               // numeric: = <> > >= < <=, cmp
    2338, 2339, 2340, 2341, 2342, 2343, // date and timestamp: < <= = > >= <>
    2351, 2352, 2353, 2354, 2355, 2356, // date and timestamptz
    2364, 2365, 2366, 2367, 2368, 2369, // timestamp and date
    2377, 2378, 2379, 2380, 2381, 2382, // timestamptz and date
    2520, 2521, 2522, 2523, 2524, 2525, // timestamp and timestamptz
    2527, 2528, 2529, 2530, 2531, 2532, // timestamptz and timestamp
    1317, 1381, 1369, 1374,       // length, char_length, character_length, octet_length of text
    1318, 1372, 1367, 1375,       // of character
    2010, 720,                    // length, octet_length of bytea
    1892, 1893, 1894, 1895,       // & | # ~ of smallint
    1898, 1899, 1900, 1901,       // of integer
    1904, 1905, 1906, 1907,       // of bigint
    1373, 1389, 1390, 2048,       // isfinite
    2029, 1178,                   // timestamp and timestamptz to date
    313,  481,  754,  2557, 2558, // integers to wider ones, integer to boolean and back
    235,  316,  482,  311,  236,  318,
    652,              // integers and real to double precision, integers to real
    1740, 1781, 1782, // integers to numeric
    946,  2971,       // "char" and boolean to text
    1299,             // now
};

/// LIKE and NOT LIKE, of text, character, bytea and name: with a pattern that is constant and does
/// not end in the middle of an escape.
constexpr Oid kPattern[] = {850, 851, 1631, 1632, 2005, 2006, 858, 859};

/// ILIKE and NOT ILIKE, of text, character and name: also, the other argument is short.
constexpr Oid kFoldedPattern[] = {1633, 1634, 1660, 1661, 1635, 1636};

/// Where the argument is short: they need several bytes of memory for each of the argument.
constexpr Oid kShort[] = {
    870, 871,      // lower, upper
    885, 881, 882, // btrim, ltrim, rtrim of blanks
    401,           // character to text
};

/// Casts to varchar(n) and character(n), where they are explicit: these truncate, or add blanks.
constexpr Oid kExplicit[] = {669, 668};
constexpr std::int32_t kMostTypmod = 10485760 + VARHDRSZ; // the most that a declaration can name

/// With arrays whose elements can be compared without an error: = <> && @> <@
constexpr Oid kEqualElements[] = {744, 390, 2747, 2748, 2749};
/// < > <= >=, cmp
constexpr Oid kOrderedElements[] = {391, 392, 393, 396, 382};

/// extract of timestamp and timestamptz, date_part of the same: with a field that is constant and
/// one of these
constexpr Oid kTimeField[] = {6202, 6203, 2021, 1171};
constexpr const char* kTimeFields[] = {"hour", "minute", "second"};
/// extract of date. date_part of date casts to timestamp.
constexpr Oid kDateField[] = {6199};
constexpr const char* kDateFields[] = {"century", "decade", "year", "isoyear", "quarter", "month",
                                       "week",    "day",    "dow",  "isodow",  "doy"};

/// Marked LEAKPROOF, but they fail: for large circles and line segments, where OpenSSL forbids MD5,
/// or by copying a text that is then too long for a row.
constexpr Oid kLeakproofButFail[] = {
    1462, 1463, 1464, 1465, 1466, 1467, // circles
    999,  1482, 1483, 1484, 1485, 1486, // line segments
    2311, 2321, 3419, 3420, 3421, 3422, // md5, sha224, sha256, sha384, sha512
    458,  459,  1063, 1064,             // text_larger, text_smaller, bpchar_larger, bpchar_smaller
};

template <class Range, class Value>
bool has(const Range& range, const Value& value) {
    return std::find(std::begin(range), std::end(range), value) != std::end(range);
}

// --- a call

/// With what a node calls; `arguments` is NIL where it does not show them.
struct Call {
    Oid function;
    Oid collation;
    List* arguments;
};

Call call_of(const FuncExpr* call) {
    return {call->funcid, call->inputcollid, call->args};
}

Call call_of(const OpExpr* call) {
    return {get_opcode(call->opno), call->inputcollid, call->args};
}

Node* argument(const Call& call, int number) {
    return list_length(call.arguments) < number
               ? nullptr
               : static_cast<Node*>(list_nth(call.arguments, number - 1));
}

Node* without_relabeling(Node* value) {
    while (value != nullptr && (IsA(value, RelabelType) || IsA(value, CollateExpr)))
        value = reinterpret_cast<Node*>(IsA(value, RelabelType)
                                            ? reinterpret_cast<RelabelType*>(value)->arg
                                            : reinterpret_cast<CollateExpr*>(value)->arg);
    return value;
}

/// The constant, not NULL, that an argument is; null if it is none.
const Const* constant(const Call& call, int number) {
    Node* value = without_relabeling(argument(call, number));
    if (value == nullptr || !IsA(value, Const) || reinterpret_cast<Const*>(value)->constisnull)
        return nullptr;
    return reinterpret_cast<Const*>(value);
}

/// Whether a constant of text or bytea has no backslash at its end that escapes nothing.
bool is_whole_pattern(const Const* pattern) {
    if (pattern == nullptr || (pattern->consttype != TEXTOID && pattern->consttype != BYTEAOID))
        return false;
    const struct varlena* text = PG_DETOAST_DATUM_PACKED(pattern->constvalue);
    const char* bytes = VARDATA_ANY(text);
    const auto size = static_cast<std::size_t>(VARSIZE_ANY_EXHDR(text));
    std::size_t backslashes = 0;
    while (backslashes < size && bytes[size - 1 - backslashes] == '\\')
        ++backslashes;
    return backslashes % 2 == 0;
}

/// Whether values have 10 million characters at most: varchar(n), character(n), constants, names,
/// and what the functions above make of them.
bool is_short(Node* value) {
    value = without_relabeling(value);
    if (value == nullptr)
        return false;
    if (IsA(value, Const))
        return true;
    if (IsA(value, FuncExpr) && has(kShort, reinterpret_cast<FuncExpr*>(value)->funcid))
        return is_short(static_cast<Node*>(linitial(reinterpret_cast<FuncExpr*>(value)->args)));
    const Oid type = exprType(value);
    return type == NAMEOID || ((type == VARCHAROID || type == BPCHAROID) && exprTypmod(value) >= 0);
}

/// Whether the C library can convert each text: other encodings have characters that it cannot.
bool has_plain_encoding() {
    return GetDatabaseEncoding() == PG_UTF8 || pg_database_encoding_max_length() == 1;
}

bool is_field(const Const* field, bool with_time) {
    if (field == nullptr || field->consttype != TEXTOID)
        return false;
    const char* name = TextDatumGetCString(field->constvalue);
    const auto is_it = [&](const char* other) { return std::strcmp(name, other) == 0; };
    return std::any_of(std::begin(kDateFields), std::end(kDateFields), is_it) ||
           (with_time && std::any_of(std::begin(kTimeFields), std::end(kTimeFields), is_it));
}

bool never_fails(const Call& call);

/// Whether the type's values can be compared: for equality, or for their order.
bool is_comparable(Oid type, Oid collation, bool ordered) {
    const TypeCacheEntry* entry =
        lookup_type_cache(type, ordered ? TYPECACHE_CMP_PROC : TYPECACHE_EQ_OPR);
    const Oid function = ordered ? entry->cmp_proc : get_opcode(entry->eq_opr);
    return never_fails({function, collation, NIL}) &&
           (!type_is_collatable(type) || OidIsValid(collation));
}

bool has_comparable_elements(const Call& call, bool ordered) {
    Node* array = argument(call, 1);
    const Oid element = array == nullptr ? InvalidOid : get_base_element_type(exprType(array));
    return OidIsValid(element) && is_comparable(element, call.collation, ordered);
}

/// Comparisons fail where no collation is known, and LIKE for one that is nondeterministic.
bool has_collation(const Call& call) {
    const ListCell* cell = nullptr;
    foreach (cell, call.arguments)
        if (type_is_collatable(exprType(static_cast<Node*>(lfirst(cell)))))
            return OidIsValid(call.collation) && get_collation_isdeterministic(call.collation);
    return true;
}

bool never_fails(const Call& call) {
    const Oid function = call.function;
    if (!OidIsValid(function) || function >= FirstNormalObjectId || !has_collation(call))
        return false;
    if (has(kPattern, function))
        return is_whole_pattern(constant(call, 2));
    if (has(kFoldedPattern, function))
        return is_whole_pattern(constant(call, 2)) && is_short(argument(call, 1)) &&
               has_plain_encoding();
    if (has(kShort, function))
        return is_short(argument(call, 1)) && has_plain_encoding();
    if (has(kExplicit, function)) {
        const Const* length = constant(call, 2);
        const Const* is_explicit = constant(call, 3);
        return length != nullptr && DatumGetInt32(length->constvalue) <= kMostTypmod &&
               is_explicit != nullptr && DatumGetBool(is_explicit->constvalue);
    }
    if (has(kEqualElements, function))
        return has_comparable_elements(call, false);
    if (has(kOrderedElements, function))
        return has_comparable_elements(call, true);
    if (has(kTimeField, function) || has(kDateField, function))
        return is_field(constant(call, 1), has(kTimeField, function));
    return has(kNever, function) ||
           (get_func_leakproof(function) && !has(kLeakproofButFail, function));
}

bool is_constant(Node* value);

/// Whether the planner computes the call, and raises its error, before it reads a row.
bool is_constant(const Call& call) {
    const auto is_constant_argument = [](const ListCell& cell) {
        return is_constant(static_cast<Node*>(lfirst(&cell)));
    };
    const List* arguments = call.arguments;
    return func_volatile(call.function) == PROVOLATILE_IMMUTABLE &&
           !get_func_retset(call.function) && arguments != NIL &&
           std::all_of(arguments->elements, arguments->elements + arguments->length,
                       is_constant_argument);
}

bool is_constant(Node* value) {
    value = without_relabeling(value);
    if (IsA(value, FuncExpr))
        return is_constant(call_of(reinterpret_cast<FuncExpr*>(value)));
    if (IsA(value, OpExpr))
        return is_constant(call_of(reinterpret_cast<OpExpr*>(value)));
    return IsA(value, Const);
}

const char* why_call_may_fail(const Call& call) {
    return is_constant(call) || never_fails(call) ? nullptr : format_procedure(call.function);
}

// --- a node

const char* why_sort_may_fail(const SortGroupClause* clause) {
    for (const Oid operation : {clause->eqop, clause->sortop}) {
        const Call call{get_opcode(operation), InvalidOid, NIL};
        if (OidIsValid(operation) && !never_fails(call))
            return format_procedure(call.function);
    }
    return nullptr;
}

const char* why_cast_may_fail(Node* from, Oid to) {
    const Oid type = exprType(from);
    const bool is_plain = type == INT2OID || type == INT4OID || type == INT8OID ||
                          type == UUIDOID || type_is_enum(type);
    return is_plain && (to == TEXTOID || to == VARCHAROID)
               ? nullptr
               : psprintf("a cast from %s to %s", format_type_be(type), format_type_be(to));
}

/// Casts of arrays that change nothing but the name of the type.
const char* why_cast_may_fail(ArrayCoerceExpr* cast) {
    return IsA(without_relabeling(reinterpret_cast<Node*>(cast->elemexpr)), CaseTestExpr)
               ? nullptr
               : psprintf("a cast from %s to %s",
                          format_type_be(exprType(reinterpret_cast<Node*>(cast->arg))),
                          format_type_be(cast->resulttype));
}

/// Arrays of which the size is known.
bool is_fixed_array(const ArrayExpr* array) {
    const auto is_constant = [](ListCell* cell) {
        return IsA(without_relabeling(static_cast<Node*>(lfirst(cell))), Const);
    };
    bool are_constants = !array->multidims;
    ListCell* cell = nullptr;
    foreach (cell, array->elements)
        are_constants = are_constants && is_constant(cell);
    return are_constants || (!array->multidims && get_typlen(array->element_typeid) > 0);
}

const char* why_comparison_may_fail(const MinMaxExpr* expression) {
    return is_comparable(expression->minmaxtype, expression->inputcollid, true)
               ? nullptr
               : psprintf("a comparison of values of type %s",
                          format_type_be(expression->minmaxtype));
}

const char* why_subquery_may_fail(const SubLink* link) {
    return link->subLinkType == EXISTS_SUBLINK || link->subLinkType == ANY_SUBLINK ||
                   link->subLinkType == ALL_SUBLINK
               ? nullptr
               : "a subquery that may return several rows";
}

const char* why_query_may_fail(const Query* query) {
    return query->limitCount != nullptr || query->limitOffset != nullptr ||
                   query->rowMarks != NIL || query->hasRecursive || query->hasModifyingCTE
               ? "LIMIT, OFFSET, FOR UPDATE or WITH RECURSIVE"
               : nullptr;
}

const char* why_entry_may_fail(const RangeTblEntry* entry) {
    if (entry->tablesample != nullptr)
        return "TABLESAMPLE";
    ListCell* cell = nullptr;
    foreach (cell, entry->rtekind == RTE_RELATION && entry->relkind != RELKIND_VIEW
                       ? find_all_inheritors(entry->relid, AccessShareLock, nullptr)
                       : NIL)
        if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_FOREIGN_TABLE)
            return psprintf("foreign table \"%s\"", name_of_relation(lfirst_oid(cell)));
    return nullptr;
}

template <class Type>
const Type* as(Node* node) {
    return reinterpret_cast<const Type*>(node);
}

} // namespace

const char* why_node_may_fail(Node* node) {
    switch (nodeTag(node)) {
    // Values, and what chooses between them.
    case T_Var:
        return as<Var>(node)->varattno == 0 ? "a whole row" : nullptr;
    case T_Const:
    case T_Param:
    case T_SQLValueFunction:
    case T_RelabelType:
    case T_CollateExpr:
    case T_BoolExpr:
    case T_BooleanTest:
    case T_NullTest:
    case T_CaseExpr:
    case T_CaseWhen:
    case T_CaseTestExpr:
    case T_CoalesceExpr:
    // What a query is made of.
    case T_List:
    case T_TargetEntry:
    case T_FromExpr:
    case T_JoinExpr:
    case T_RangeTblRef:
    case T_CommonTableExpr:
        return nullptr;
    // Calls.
    case T_FuncExpr:
        return why_call_may_fail(call_of(as<FuncExpr>(node)));
    case T_OpExpr:
    case T_DistinctExpr:
    case T_NullIfExpr:
        return why_call_may_fail(call_of(as<OpExpr>(node)));
    case T_ScalarArrayOpExpr:
        return why_call_may_fail({get_opcode(as<ScalarArrayOpExpr>(node)->opno),
                                  as<ScalarArrayOpExpr>(node)->inputcollid,
                                  as<ScalarArrayOpExpr>(node)->args});
    case T_Aggref:
        return format_procedure(as<Aggref>(node)->aggfnoid);
    case T_WindowFunc:
        return format_procedure(as<WindowFunc>(node)->winfnoid);
    // Others.
    case T_MinMaxExpr:
        return why_comparison_may_fail(as<MinMaxExpr>(node));
    case T_CoerceViaIO:
        return why_cast_may_fail(reinterpret_cast<Node*>(as<CoerceViaIO>(node)->arg),
                                 as<CoerceViaIO>(node)->resulttype);
    case T_ArrayCoerceExpr:
        return why_cast_may_fail(reinterpret_cast<ArrayCoerceExpr*>(node));
    case T_ArrayExpr:
        if (is_fixed_array(as<ArrayExpr>(node)))
            return nullptr;
        break;
    case T_SubLink:
        return why_subquery_may_fail(as<SubLink>(node));
    case T_SortGroupClause:
        return why_sort_may_fail(as<SortGroupClause>(node));
    case T_SetOperationStmt:
        return as<SetOperationStmt>(node)->op == SETOP_UNION && as<SetOperationStmt>(node)->all
                   ? nullptr
                   : "UNION, INTERSECT or EXCEPT";
    case T_Query:
        return why_query_may_fail(as<Query>(node));
    case T_RangeTblEntry:
        return why_entry_may_fail(as<RangeTblEntry>(node));
    case T_RangeTblFunction:
        return "a function in FROM";
    default:
        break;
    }
    return "an array, a row, JSON, XML or GROUPING";
}

} // namespace dp_counter::pg
