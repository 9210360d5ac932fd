// What a text could do in a worker if it ran there although nothing has found it.
#pragma once

namespace dp_counter::pg {

/// For the rest of the process's life raises insufficient_privilege while a view is evaluated,
/// whatever calls it, for
/// - a VOLATILE function of PostgreSQL or an extension, unless it is known to do nothing;
/// - a function that reads a relation by its name;
/// - a statement that is no query.
/// So a stranger's text can decide whether the tick fails, and how long it takes, but tell nobody
/// more.
void refuse_all_but_reading();

} // namespace dp_counter::pg
