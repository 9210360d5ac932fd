// Names as they are stored and compared: the same text whatever quote_all_identifiers says.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "utils/guc.h"
}

namespace dp_counter::pg {

/// If `work` raises an error, the abort of the transaction restores the setting.
template <class Work>
void with_plain_names(const Work& work) {
    const int settings = NewGUCNestLevel();
    (void)set_config_option("quote_all_identifiers", "off", PGC_USERSET, PGC_S_SESSION,
                            GUC_ACTION_SAVE, true, 0, false);
    work();
    AtEOXact_GUC(false, settings);
}

} // namespace dp_counter::pg
