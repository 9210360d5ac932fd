#include "pg/group_arguments.hpp"

extern "C" {
#include "executor/executor.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
}

namespace dp_counter::pg {

namespace {

bool depends(Node* node, void* context);

bool walk(Node* node, void* context) {
#if PG_VERSION_NUM >= 160000
    return expression_tree_walker(node, depends, context);
#else // declared for a walker without arguments, which to C++ has none
    const auto walker = reinterpret_cast<bool (*)()>(reinterpret_cast<void (*)()>(depends));
    return expression_tree_walker(node, walker, context);
#endif
}

/// Whether the expression depends on more than constants and query parameters.
bool depends(Node* node, void* context) {
    if (node == nullptr)
        return false;
    switch (nodeTag(node)) {
    case T_Param:
        return reinterpret_cast<const Param*>(node)->paramkind != PARAM_EXTERN;
    case T_Var:
    case T_SubLink:
    case T_SubPlan:
    case T_AlternativeSubPlan:
    case T_Aggref:
    case T_GroupingFunc:
    case T_WindowFunc:
        return true;
    default:
        return walk(node, context);
    }
}

void check_constant(Expr* expression) {
    auto* node = reinterpret_cast<Node*>(expression);
    if (depends(node, nullptr) || contain_mutable_functions(node))
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                 errmsg("epsilon, k and horizon must be constants or query parameters in GROUP BY"),
                 errhint("They belong to the query, not to its rows or groups, and are computed by "
                         "immutable functions alone. Groups with an epsilon of their own need a "
                         "query of their own.")));
}

} // namespace

void evaluate_group_arguments(FunctionCallInfo fcinfo, Argument* arguments, int count) {
    const PlanState* node = &reinterpret_cast<const AggState*>(fcinfo->context)->ss.ps;
    MemoryContext caller = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
    for (int i = 0; i < count; ++i) {
        const List* written = AggGetAggref(fcinfo)->args; // the bit is the first
        Expr* expression = static_cast<const TargetEntry*>(list_nth(written, 1 + i))->expr;
        check_constant(expression);
        ExprState* state = ExecInitExprWithParams(expression, node->state->es_param_list_info);
        arguments[i].value = ExecEvalExpr(state, node->ps_ExprContext, &arguments[i].isnull);
    }
    MemoryContextSwitchTo(caller);
}

} // namespace dp_counter::pg
