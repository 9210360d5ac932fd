// What other modules see of the queries of a worker: that they run, not how many rows they have.
#pragma once

namespace dp_counter::pg {

/// Among the flags of ExecutorStart: the query is the view's. PostgreSQL hands it on and has no use
/// for it.
inline constexpr int kQueryOfView = 1 << 30;

/// For the rest of the process's life: modules that look into the executor, such as pg_qualstats,
/// pgaudit or pg_stat_kcache, find counts of 0 in the view's query. Their hooks for its start and
/// its end run, since they expect both; those around its run do not, but in plans of Citus, which
/// needs its own. Of other queries, those of functions that the view calls for each row, they are
/// not told. A debugger or profiler of PL/pgSQL is not told of its statements. No parallel worker
/// is started, whatever the settings of a function: it would have neither these hooks nor those of
/// strangers.hpp.
void quiet_executor_hooks();

} // namespace dp_counter::pg
