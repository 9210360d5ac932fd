#include "pg/server/tree_walker.hpp"

extern "C" {
#include "nodes/primnodes.h"
}

namespace dp_counter::pg {

NodeCall call_in(const Node* node) {
    switch (nodeTag(node)) {
    case T_FuncExpr: {
        const auto* call = reinterpret_cast<const FuncExpr*>(node);
        return {call->funcid, call->args};
    }
    case T_OpExpr:
    case T_DistinctExpr:
    case T_NullIfExpr: {
        const auto* call = reinterpret_cast<const OpExpr*>(node);
        return {get_opcode(call->opno), call->args};
    }
    case T_ScalarArrayOpExpr: {
        const auto* call = reinterpret_cast<const ScalarArrayOpExpr*>(node);
        return {get_opcode(call->opno), call->args};
    }
    default:
        return {InvalidOid, NIL};
    }
}

void* stored_tree(SysCacheIdentifier cache, HeapTuple row, AttrNumber column) {
    bool is_null = false;
    const Datum stored = SysCacheGetAttr(cache, row, column, &is_null);
    return is_null ? nullptr : stringToNode(TextDatumGetCString(stored));
}

} // namespace dp_counter::pg
