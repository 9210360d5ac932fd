#include "pg/server/attempt.hpp"

extern "C" {
#include "executor/spi.h"
#include "utils/snapmgr.h"
}

namespace dp_counter::pg {

ErrorData* recover() {
    if (ERRCODE_TO_CATEGORY(geterrcode()) == ERRCODE_OPERATOR_INTERVENTION)
        PG_RE_THROW();
    ErrorData* error = CopyErrorData();
    FlushErrorState();
    while (ActiveSnapshotSet()) // SPI_rollback expects those of portals alone
        PopActiveSnapshot();
    SPI_rollback();
    SPI_start_transaction();
    return error;
}

} // namespace dp_counter::pg
