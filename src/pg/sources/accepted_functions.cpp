#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <iterator>

#include "pg/sources/accepted_functions.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_amproc.h"
#include "catalog/pg_language.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
}

namespace dp_counter::pg {

namespace {

bool is_time(Oid type) {
    return type == DATEOID || type == TIMEOID || type == TIMETZOID || type == TIMESTAMPOID ||
           type == TIMESTAMPTZOID || type == INTERVALOID;
}

bool is_one_of(const char* name, std::initializer_list<const char*> names) {
    for (const char* other : names)
        if (std::strcmp(name, other) == 0)
            return true;
    return false;
}

/// Functions of pg_catalog that are stable because the output functions of their arguments may be.
/// They are accepted if these are.
bool makes_text(const char* function) {
    return is_one_of(function, {"concat", "concat_ws", "format", "textanycat", "anytextcat"});
}

/// Some stable functions of pg_catalog read tables, statistics or transactions. Those of dates and
/// times do not, nor do the input and output functions of enums; all others are not accepted.
bool reads_no_data(const FormData_pg_proc* function) {
    const char* name = NameStr(function->proname);
    if (std::strncmp(name, "pg_", 3) == 0)
        return false;
    const Oid* arguments = function->proargtypes.values;
    const int count = function->proargtypes.dim1;
    const bool from_text = count > 0 && arguments[0] == CSTRINGOID; // an input function
    bool has_time = is_time(function->prorettype);
    for (int i = 0; i < count; ++i) {
        has_time = has_time || is_time(arguments[i]);
        if (!from_text && (arguments[i] == OIDOID || arguments[i] == REGCLASSOID ||
                           arguments[i] == XIDOID || arguments[i] == NAMEOID))
            return false;
    }
    return has_time || is_one_of(name, {"enum_in", "enum_out"});
}

bool is_in_c(Oid language) {
    return language == ClanguageId || language == INTERNALlanguageId;
}

/// Whether all that an extension's aggregate calls is accepted.
bool is_accepted_aggregate(Oid aggregate) {
    HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
    if (!HeapTupleIsValid(tuple))
        return false;
    const auto* row = reinterpret_cast<const FormData_pg_aggregate*>(GETSTRUCT(tuple));
    bool accepted = true;
    for (const Oid function :
         {row->aggtransfn, row->aggfinalfn, row->aggcombinefn, row->aggserialfn, row->aggdeserialfn,
          row->aggmtransfn, row->aggminvtransfn, row->aggmfinalfn})
        accepted =
            accepted && (!OidIsValid(function) || is_accepted(function, Strictness::immutable));
    ReleaseSysCache(tuple);
    return accepted;
}

/// The arguments of a node that makes text of them; NIL if it is no such node.
const List* arguments_made_text(Node* node) {
    Oid function = InvalidOid;
    const List* arguments = NIL;
    if (IsA(node, FuncExpr)) {
        function = reinterpret_cast<FuncExpr*>(node)->funcid;
        arguments = reinterpret_cast<FuncExpr*>(node)->args;
    } else if (IsA(node, OpExpr)) {
        function = get_opcode(reinterpret_cast<OpExpr*>(node)->opno);
        arguments = reinterpret_cast<OpExpr*>(node)->args;
    }
    const bool is_made = OidIsValid(function) && function < FirstNormalObjectId &&
                         makes_text(get_func_name(function));
    return is_made ? arguments : NIL;
}

/// Of the value's type or, where it is an array, of its elements'.
Oid output_function(Node* value) {
    const Oid type = getBaseType(exprType(value));
    const Oid element = get_element_type(type);
    Oid function = InvalidOid;
    bool has_length = false;
    getTypeOutputInfo(OidIsValid(element) ? element : type, &function, &has_length);
    return function;
}

/// Whether the function's result depends on dictionaries too: the functions of text search are
/// marked immutable, but each session loads dictionaries once, by names that a search path
/// resolves.
bool reads_dictionaries(const FormData_pg_proc* function) {
    const Oid* arguments = function->proargtypes.values;
    return function->proargtypes.dim1 > 0 &&
           (arguments[0] == REGCONFIGOID || arguments[0] == REGDICTIONARYOID);
}

/// Built-in functions: not those that a superuser has added to pg_catalog.
bool is_accepted_builtin(const FormData_pg_proc* function, Strictness strictness) {
    if (function->pronamespace != PG_CATALOG_NAMESPACE)
        return false;
    if (function->provolatile == PROVOLATILE_IMMUTABLE)
        return strictness == Strictness::fixed || !reads_dictionaries(function);
    return strictness == Strictness::fixed && function->provolatile == PROVOLATILE_STABLE &&
           reads_no_data(function);
}

/// Whether the function takes or returns values of any type: it may then check domains.
bool takes_any_type(const FormData_pg_proc* function) {
    const auto is_any = [](Oid type) {
        return type == ANYOID || type == RECORDOID || type == RECORDARRAYOID ||
               IsPolymorphicType(type);
    };
    const Oid* arguments = function->proargtypes.values;
    return is_any(function->prorettype) ||
           std::any_of(arguments, arguments + function->proargtypes.dim1, is_any);
}

/// Functions of extensions. Stable ones are not accepted: they read settings, or run SQL.
bool is_accepted_extension(Oid oid, const FormData_pg_proc* function) {
    return function->provolatile == PROVOLATILE_IMMUTABLE && !takes_any_type(function) &&
           OidIsValid(getExtensionOfObject(ProcedureRelationId, oid)) &&
           (function->prokind == PROKIND_AGGREGATE ? is_accepted_aggregate(oid)
                                                   : is_in_c(function->prolang));
}

struct Search {
    Strictness strictness;
    Oid function;
};

/// For check_functions_in_node, which stops at the first one.
bool is_unaccepted(Oid function, void* context) {
    auto* search = static_cast<Search*>(context);
    search->function = function;
    return !is_accepted(function, search->strictness);
}

struct Operators {
    Oid oids[2];
    [[nodiscard]] const Oid* begin() const { return oids; }
    [[nodiscard]] const Oid* end() const { return oids + 2; }
};

Operators operators_of(Node* node) {
    if (IsA(node, OpExpr) || IsA(node, DistinctExpr) || IsA(node, NullIfExpr))
        return {{reinterpret_cast<const OpExpr*>(node)->opno, InvalidOid}};
    if (IsA(node, ScalarArrayOpExpr))
        return {{reinterpret_cast<const ScalarArrayOpExpr*>(node)->opno, InvalidOid}};
    if (IsA(node, SortGroupClause)) {
        const auto* order = reinterpret_cast<const SortGroupClause*>(node);
        return {{order->sortop, order->eqop}};
    }
    return {};
}

bool is_builtin_or_extension(Oid operation) {
    return operation < FirstNormalObjectId ||
           OidIsValid(getExtensionOfObject(OperatorRelationId, operation));
}

/// With what the planner may put in its place.
bool is_accepted_operator(Oid operation) {
    if (operation < FirstNormalObjectId)
        return true;
    const Oid negator = get_negator(operation);
    const Oid commutator = get_commutator(operation);
    const Oid places[] = {operation, negator, commutator,
                          OidIsValid(negator) ? get_commutator(negator) : InvalidOid,
                          OidIsValid(commutator) ? get_negator(commutator) : InvalidOid};
    return std::all_of(std::begin(places), std::end(places), [](Oid place) {
        return !OidIsValid(place) || (is_builtin_or_extension(place) &&
                                      is_accepted(get_opcode(place), Strictness::fixed));
    });
}

} // namespace

Oid language_of(Oid function) {
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple))
        return InvalidOid;
    const Oid language = reinterpret_cast<const FormData_pg_proc*>(GETSTRUCT(tuple))->prolang;
    ReleaseSysCache(tuple);
    return language;
}

bool is_accepted(Oid function, Strictness strictness) {
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple))
        return false;
    const auto* row = reinterpret_cast<const FormData_pg_proc*>(GETSTRUCT(tuple));
    const bool accepted = function < FirstNormalObjectId ? is_accepted_builtin(row, strictness)
                                                         : is_accepted_extension(function, row);
    ReleaseSysCache(tuple);
    return accepted;
}

Oid unaccepted_function(Node* node, Strictness strictness) {
    const List* arguments = arguments_made_text(node);
    ListCell* cell = nullptr;
    foreach (cell, arguments) {
        const Oid output = output_function(static_cast<Node*>(lfirst(cell)));
        if (!is_accepted(output, strictness))
            return output;
    }
    Search search{strictness, InvalidOid};
    return arguments == NIL && check_functions_in_node(node, is_unaccepted, &search)
               ? search.function
               : InvalidOid;
}

Oid unaccepted_operator(Node* node) {
    for (const Oid operation : operators_of(node))
        if (OidIsValid(operation) && !is_accepted_operator(operation))
            return operation;
    return InvalidOid;
}

Oid unaccepted_support_of_family(Oid family) {
    CatCList* members = SearchSysCacheList1(AMPROCNUM, ObjectIdGetDatum(family));
    Oid found = InvalidOid;
    for (int i = 0; i < members->n_members; ++i) {
        const Oid function =
            reinterpret_cast<const FormData_pg_amproc*>(GETSTRUCT(&members->members[i]->tuple))
                ->amproc;
        if (!is_in_c(language_of(function)))
            found = function;
    }
    ReleaseSysCacheList(members);
    return found;
}

Oid unaccepted_support(Node* node) {
    Oid found = InvalidOid;
    for (const Oid operation : operators_of(node)) {
        if (!OidIsValid(operation))
            continue;
        CatCList* families = SearchSysCacheList1(AMOPOPID, ObjectIdGetDatum(operation));
        for (int i = 0; i < families->n_members && !OidIsValid(found); ++i)
            found = unaccepted_support_of_family(
                reinterpret_cast<const FormData_pg_amop*>(GETSTRUCT(&families->members[i]->tuple))
                    ->amopfamily);
        ReleaseSysCacheList(families);
    }
    return found;
}

bool is_accepted_type(Oid type) {
    Oid base = getBaseType(type);
    const Oid element = get_element_type(base);
    if (OidIsValid(element))
        base = getBaseType(element);
    if (base < FirstNormalObjectId || get_typtype(base) == TYPTYPE_ENUM)
        return true;
    const TypeCacheEntry* entry =
        lookup_type_cache(base, TYPECACHE_BTREE_OPFAMILY | TYPECACHE_HASH_OPFAMILY);
    return get_typtype(base) == TYPTYPE_BASE &&
           OidIsValid(getExtensionOfObject(TypeRelationId, base)) &&
           !OidIsValid(unaccepted_support_of_family(entry->btree_opf)) &&
           !OidIsValid(unaccepted_support_of_family(entry->hash_opf));
}

} // namespace dp_counter::pg
