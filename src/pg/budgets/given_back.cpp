#include "pg/budgets/given_back.hpp"
#include "pg/server/postgres_api.hpp"

extern "C" {
#include "access/xact.h"
}

namespace dp_counter::pg {

namespace {

bool has_given_back = false; // the transaction

extern "C" void check_not_prepared(XactEvent event, void* /*argument*/) {
    if (event == XACT_EVENT_PRE_PREPARE && has_given_back)
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("cannot PREPARE a transaction that gives epsilon back to a budget"),
                        errdetail("A copy of the database that commits what this one rolls back "
                                  "would spend that epsilon again."),
                        errhint("COMMIT it, or drop and end counters in a transaction of their "
                                "own.")));
    if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT)
        has_given_back = false;
}

} // namespace

void initialize_given_back() {
    RegisterXactCallback(check_not_prepared, nullptr);
}

void note_given_back() {
    has_given_back = true;
}

} // namespace dp_counter::pg
