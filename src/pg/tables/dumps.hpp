// Whether pg_dump dumps the rows of the extension's tables.
//
// It does not do so from CREATE EXTENSION on: pg_dump fails if its role may not read a table that
// it dumps, and the owner of a database, who may not, could not dump it because of an empty table.
#pragma once

namespace dp_counter::pg {

/// Declares the tables to pg_dump, as pg_extension_config_dump() does, unless they are declared.
/// Call it before storing a row of counters or budgets, to which all other rows belong, in the same
/// transaction. It is never undone: that would require that no transaction is about to store a row.
/// A NOTICE tells a role that is no superuser, once in a database, how to dump from then on.
void keep_in_dumps();

} // namespace dp_counter::pg
