#include "pg/server/result_rows.hpp"

namespace dp_counter::pg {

Tuplestorestate* open_rows(FunctionCallInfo fcinfo, TupleDesc* type) {
    auto* result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
    if (result == nullptr || !IsA(result, ReturnSetInfo) ||
        (result->allowedModes & SFRM_Materialize) == 0)
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("set-valued function called in context that cannot accept a set")));
    MemoryContext caller = MemoryContextSwitchTo(result->econtext->ecxt_per_query_memory);
    if (get_call_result_type(fcinfo, nullptr, type) != TYPEFUNC_COMPOSITE)
        ereport(ERROR,
                (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("return type must be a row type")));
    Tuplestorestate* rows = tuplestore_begin_heap(true, false, work_mem);
    result->returnMode = SFRM_Materialize;
    result->setResult = rows;
    result->setDesc = *type;
    MemoryContextSwitchTo(caller);
    return rows;
}

} // namespace dp_counter::pg
