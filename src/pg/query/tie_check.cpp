#include "pg/query/tie_check.hpp"

extern "C" {
#include "executor/executor.h"
#include "nodes/execnodes.h"
#include "utils/datum.h"
}

#if PG_VERSION_NUM <                                                                               \
    190000 // WinRowsArePeers copies two rows out of the tuplestore: three times the time

/// The beginning of the struct of this name in nodeWindowAgg.c, the same in PostgreSQL 13 to 18.
struct WindowObjectData {
    NodeTag type;
    WindowAggState* winstate;
};

namespace dp_counter::pg {

struct TieCheck {
    WindowObject window;
    int columns; ///< of ORDER BY
    const AttrNumber* column;
    bool has_references;  ///< some column is not passed by value
    MemoryContext memory; ///< of what they refer to
    TupleTableSlot* previous;
};

namespace {

/// The row that window functions are evaluated at: their arguments are read from it, too
/// (WinGetFuncArgCurrent). It is a copy, which nothing else that a window does can move.
TupleTableSlot* current_row(const TieCheck* check) {
    return check->window->winstate->ss.ss_ScanTupleSlot;
}

void keep(TieCheck* check, TupleTableSlot* row) {
    if (check->has_references)
        MemoryContextReset(check->memory);
    for (int i = 0; i < check->columns; ++i) {
        const AttrNumber column = check->column[i];
        bool is_null = false;
        Datum value = slot_getattr(row, column, &is_null);
        Form_pg_attribute type = TupleDescAttr(row->tts_tupleDescriptor, column - 1);
        if (!is_null && !type->attbyval) {
            MemoryContext caller = MemoryContextSwitchTo(check->memory);
            value = datumCopy(value, false, type->attlen);
            MemoryContextSwitchTo(caller);
        }
        check->previous->tts_values[column - 1] = value;
        check->previous->tts_isnull[column - 1] = is_null;
    }
}

bool is_equal(TieCheck* check, TupleTableSlot* row) {
    const WindowAggState* node = check->window->winstate;
    ExprContext* context = node->tmpcontext;
    context->ecxt_outertuple = check->previous;
    context->ecxt_innertuple = row;
    return ExecQualAndReset(node->ordEqfunction, context);
}

} // namespace

TieCheck* open_tie_check(WindowObject window, MemoryContext query) {
    WindowAggState* node = window->winstate;
    if (!IsA(window, WindowObjectData) || !IsA(node, WindowAggState) ||
        !IsA(node->ss.ps.plan, WindowAgg))
        elog(ERROR, "dp_counter does not know the executor of this server's windows");
    const auto* plan = reinterpret_cast<const WindowAgg*>(node->ss.ps.plan);
    MemoryContext caller = MemoryContextSwitchTo(query);
    TupleDesc row = node->ss.ss_ScanTupleSlot->tts_tupleDescriptor;
    auto* check = static_cast<TieCheck*>(palloc0(sizeof(TieCheck)));
    check->window = window;
    check->columns = plan->ordNumCols;
    check->column = plan->ordColIdx;
    for (int i = 0; i < check->columns; ++i)
        check->has_references |= !TupleDescAttr(row, check->column[i] - 1)->attbyval;
    if (check->has_references)
        check->memory = AllocSetContextCreate(CurrentMemoryContext, "dp_counter previous row",
                                              ALLOCSET_SMALL_SIZES);
    check->previous =
        ExecStoreAllNullTuple(ExecInitExtraTupleSlot(node->ss.ps.state, row, &TTSOpsVirtual));
    MemoryContextSwitchTo(caller);
    return check;
}

bool ties_with_previous(TieCheck* check, std::int64_t row) {
    TupleTableSlot* current = current_row(check);
    const bool ties = row > 0 && (check->columns == 0 || is_equal(check, current));
    Assert(row == WinGetCurrentPosition(check->window));
    Assert(row == 0 || ties == WinRowsArePeers(check->window, row - 1, row));
    keep(check, current);
    return ties;
}

} // namespace dp_counter::pg

#else // reviewed by nobody yet

namespace dp_counter::pg {

struct TieCheck {
    WindowObject window;
};

TieCheck* open_tie_check(WindowObject window, MemoryContext query) {
    auto* check = static_cast<TieCheck*>(MemoryContextAlloc(query, sizeof(TieCheck)));
    check->window = window;
    return check;
}

bool ties_with_previous(TieCheck* check, std::int64_t row) {
    return row > 0 && WinRowsArePeers(check->window, row - 1, row);
}

} // namespace dp_counter::pg

#endif
