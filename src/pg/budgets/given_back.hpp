// A transaction that gives epsilon back cannot be prepared.
//
// It could be committed in a copy of the database, where the epsilon is then spent again, and
// rolled back in the original, which spends it as well.
#pragma once

namespace dp_counter::pg {

/// Hooks into transaction ends; called once by _PG_init.
void initialize_given_back();

/// PREPARE TRANSACTION raises feature_not_supported, unless what the current subtransaction does is
/// rolled back.
void note_given_back();

} // namespace dp_counter::pg
