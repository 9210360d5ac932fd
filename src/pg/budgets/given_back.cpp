#include <algorithm>

#include "pg/budgets/given_back.hpp"
#include "pg/server/postgres_api.hpp"

extern "C" {
#include "access/xact.h"
}

namespace dp_counter::pg {

namespace {

/// The outermost level of subtransactions that has given back; 0: none.
int level = 0;

extern "C" void refuse_to_prepare(XactEvent event, void* /*argument*/) {
    if (event == XACT_EVENT_PRE_PREPARE && level != 0)
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("cannot PREPARE a transaction that gives epsilon back to a budget"),
                        errdetail("A copy of the database that commits what this one rolls back "
                                  "would spend that epsilon again."),
                        errhint("COMMIT it, or drop, end and continue counters in a transaction of "
                                "their own.")));
    if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT)
        level = 0;
}

extern "C" void follow_subtransaction(SubXactEvent event, SubTransactionId /*mine*/,
                                      SubTransactionId /*parent*/, void* /*argument*/) {
    const int ending = GetCurrentTransactionNestLevel();
    if (event == SUBXACT_EVENT_ABORT_SUB && level >= ending)
        level = 0;
    else if (event == SUBXACT_EVENT_COMMIT_SUB)
        level = std::min(level, ending - 1);
}

} // namespace

void initialize_given_back() {
    RegisterXactCallback(refuse_to_prepare, nullptr);
    RegisterSubXactCallback(follow_subtransaction, nullptr);
}

void note_given_back() {
    const int current = GetCurrentTransactionNestLevel();
    level = level == 0 ? current : std::min(level, current);
}

} // namespace dp_counter::pg
