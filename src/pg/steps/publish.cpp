#include "pg/steps/publish.hpp"

#include "pg/server/commits.hpp"
#include "pg/tables/releases_table.hpp"

namespace dp_counter::pg {

namespace {

void explain_publication(void* argument) {
    const auto* row = static_cast<const CounterRow*>(argument);
    errcontext("publication of step %lld, which is closed; the next tick tries again",
               static_cast<long long>(row->steps));
}

} // namespace

void publish(const CounterRow& row, XLogRecPtr closed_at) {
    if (closed_at == InvalidXLogRecPtr ? !await_standbys() : !standbys_have(closed_at))
        ereport(ERROR,
                (errcode(ERRCODE_OPERATOR_INTERVENTION), // a cancel ends such a wait
                 errmsg("step %lld is closed, but synchronous standbys have not confirmed it",
                        static_cast<long long>(row.steps)),
                 errdetail(
                     "If it were published now and a standby took over, it would be drawn again."),
                 errhint("The next tick publishes it, once the standbys have it.")));
    ErrorContextCallback context{error_context_stack, explain_publication,
                                 const_cast<CounterRow*>(&row)};
    error_context_stack = &context;
    publish_steps(row.number, row.steps);
    error_context_stack = context.previous;
}

} // namespace dp_counter::pg
