// Whether pg_dump takes the rows of the extension's tables.
//
// Not from CREATE EXTENSION on: pg_dump fails for whoever may not read a table that it is to dump,
// and the owner of a database, who may not, would be without backups for an empty table.
#pragma once

namespace dp_counter::pg {

/// Declares the tables to pg_dump, as pg_extension_config_dump() does, unless that is done: before
/// the first row of counters or budgets is stored, which all others belong to, in its transaction.
/// It is for ever: to forget it, one would have to know that nobody is about to store a row.
void keep_in_dumps();

} // namespace dp_counter::pg
