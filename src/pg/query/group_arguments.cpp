#include "pg/query/group_arguments.hpp"

#include "pg/server/tree_walker.hpp"

extern "C" {
#include "executor/executor.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "optimizer/optimizer.h"
}

namespace dp_counter::pg {

namespace {

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
        return expression_tree_walker(node, tree_walker(depends), context);
    }
}

/// Whether the node passes on the rows of the node below unchanged.
bool hands_on(const ::Plan* plan) {
    return IsA(plan, Sort) || IsA(plan, IncrementalSort) || IsA(plan, Material) ||
           IsA(plan, Gather) || IsA(plan, GatherMerge);
}

/// The expression of a node of `plan` with columns replaced by what the nodes below compute for
/// them. A generic plan that also groups by a query parameter computes the parameter there.
Node* resolve(Node* node, void* plan) {
    if (node == nullptr)
        return nullptr;
    if (!IsA(node, Var))
        return expression_tree_mutator(node, tree_walker(resolve), plan);
    const auto* variable = reinterpret_cast<const Var*>(node);
    const ::Plan* below = static_cast<const ::Plan*>(plan)->lefttree;
    while (variable->varno == OUTER_VAR && below != nullptr) {
        const auto* target =
            static_cast<const TargetEntry*>(list_nth(below->targetlist, variable->varattno - 1));
        if (!IsA(target->expr, Var))
            return reinterpret_cast<Node*>(target->expr);
        if (!hands_on(below))
            break;
        variable = reinterpret_cast<const Var*>(target->expr);
        below = below->lefttree;
    }
    return node;
}

void check_constant(Expr* expression) {
    auto* node = reinterpret_cast<Node*>(expression);
    if (depends(node, nullptr) || contain_mutable_functions(node))
        ereport(
            ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             errmsg("epsilon, k and horizon must be constants or query parameters in GROUP BY"),
             errhint(
                 "They must not depend on rows or groups, and may call only immutable functions. "
                 "For groups with a different epsilon, write a separate query. If they are "
                 "constants, the table is distributed and they were fetched with its rows: write "
                 "dp_laplace(n, epsilon, 1) above a subquery with count(*) AS n.")));
}

} // namespace

void evaluate_group_arguments(FunctionCallInfo fcinfo, Argument* arguments, int count) {
    const PlanState* node = &reinterpret_cast<const AggState*>(fcinfo->context)->ss.ps;
    MemoryContext caller = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
    for (int i = 0; i < count; ++i) {
        const List* written = AggGetAggref(fcinfo)->args; // the bit is the first
        Expr* argument = static_cast<const TargetEntry*>(list_nth(written, 1 + i))->expr;
        Node* whole = resolve(reinterpret_cast<Node*>(argument), node->plan);
        auto* expression = reinterpret_cast<Expr*>(whole);
        check_constant(expression);
        ExprState* state = ExecInitExprWithParams(expression, node->state->es_param_list_info);
        arguments[i].value = ExecEvalExpr(state, node->ps_ExprContext, &arguments[i].isnull);
    }
    MemoryContextSwitchTo(caller);
}

} // namespace dp_counter::pg
