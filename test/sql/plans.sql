-- Prepared statements, generic plans, parallel plans, plans of different shapes.

CREATE TABLE dp_stream AS SELECT t, t % 3 AS p, t % 5 = 0 AS bit FROM generate_series(1, 3000) t;
ANALYZE dp_stream;

CREATE FUNCTION pg_temp.plan_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    plan text := '';
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        plan := plan || line || E'\n';
    END LOOP;
    RETURN plan;
END $$;

-- Prepared statements: every parameter from outside, with plans for the values and for all values.
PREPARE running (float8, integer, text, bigint) AS
    SELECT count(*), max(n), bool_and(n = truth) AS right
    FROM (SELECT dp_running_count(bit, $1, $2, $3, $4) OVER (ORDER BY t) AS n, sum(bit::integer) OVER (ORDER BY t) AS truth
          FROM dp_stream) s;
PREPARE streaming (float8, integer, bigint) AS
    SELECT count(*), max(n), bool_and(n = truth) AS right
    FROM (SELECT dp_running_count(bit, $1, $2, $3) OVER (ORDER BY t) AS n, sum(bit::integer) OVER (ORDER BY t) AS truth
          FROM dp_stream) s;
PREPARE last_of (float8, integer, bigint) AS SELECT dp_running_count(bit, $1, $2, $3), dp_count(bit, $1) FROM dp_stream;
SET plan_cache_mode = force_custom_plan;
EXECUTE running (1e9, 3, 'plain', 3000);
EXECUTE running (1e8, NULL, NULL, NULL);
EXECUTE streaming (1e9, 19, 3000);
EXECUTE last_of (1e9, NULL, 5000);
SET plan_cache_mode = force_generic_plan;
EXECUTE running (1e9, 3, 'plain', 3000);
EXECUTE running (1e8, NULL, NULL, NULL);
EXECUTE streaming (1e9, 19, 3000);
EXECUTE last_of (1e9, NULL, 5000);
EXECUTE running (-1, 3, NULL, NULL);
EXECUTE running (1e9, 1, NULL, NULL);
\set VERBOSITY terse
EXECUTE running (1e9, 3, 'none', NULL);
\set VERBOSITY default
EXECUTE running (1e9, 3, NULL, 2999);
EXECUTE streaming (1e9, 3, NULL);
EXECUTE last_of (NULL, 3, 3000);
EXECUTE running (1e9, 3, 'plain', 3000);
RESET plan_cache_mode;

-- each execution is a new release
PREPARE noisy AS SELECT dp_count(bit, 1e-9) AS n FROM dp_stream;
CREATE TEMP TABLE released (n bigint);
CREATE TEMP TABLE one AS EXECUTE noisy;
INSERT INTO released SELECT n FROM one;
DROP TABLE one;
CREATE TEMP TABLE one AS EXECUTE noisy;
INSERT INTO released SELECT n FROM one;
SELECT count(DISTINCT n) AS releases FROM released;

-- EXPLAIN reads no row; EXPLAIN ANALYZE runs the query
SELECT pg_temp.plan_of('SELECT dp_running_count(bit, -1) OVER (ORDER BY t) FROM dp_stream') LIKE '%WindowAgg%' AS planned;
DO $$ BEGIN EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT dp_running_count(bit, 1) OVER (ORDER BY t), dp_count(bit, 1) OVER () FROM dp_stream'; END $$;

-- Parallel plans: the scan may be parallel, the count stays in the leader, above the Gather.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
\set running 'SELECT dp_running_count(bit, 1e9) OVER (ORDER BY t) AS n FROM dp_stream'
\set streaming 'SELECT dp_running_count(bit, 1e9, 3, 3000) OVER (ORDER BY t) AS n FROM dp_stream'
\set grouped 'SELECT p, dp_count(bit, 1e9) AS n, dp_running_count(bit, 1e9, 3, 3000) AS m FROM dp_stream GROUP BY p'
SELECT pg_temp.plan_of(:'running') ~ 'WindowAgg(.|\n)*Gather(.|\n)*Parallel Seq Scan' AS window_above_gather,
       pg_temp.plan_of(:'streaming') ~ 'WindowAgg(.|\n)*Gather(.|\n)*Parallel Seq Scan' AS aggregate_above_gather,
       pg_temp.plan_of(:'grouped') ~ 'Aggregate(.|\n)*Gather(.|\n)*Parallel Seq Scan' AS group_above_gather,
       pg_temp.plan_of(:'grouped') ~ 'Partial' AS partial;
SELECT count(*), max(n) FROM (:running) s;
SELECT count(*), max(n) FROM (:streaming) s;
SELECT * FROM (:grouped) s ORDER BY p;
-- as a subquery of a parallel query
SELECT count(*), sum(s.n) FROM dp_stream d JOIN (SELECT t, dp_running_count(bit, 1e9) OVER (ORDER BY t) AS n FROM dp_stream) s USING (t);
-- A count on the inner side of a hash join: marked PARALLEL SAFE it would stand below the Gather, where each worker counts
-- on its own (2997 releases for 1000 groups were seen). The leader counts, once.
CREATE TABLE dp_outer AS SELECT t, t % 20000 AS g FROM generate_series(1, 60000) t;
ANALYZE dp_outer;
ALTER TABLE dp_stream SET (parallel_workers = 0);
SET parallel_tuple_cost = 0.01;
SET enable_mergejoin = off;
SET enable_nestloop = off;
\set joined 'SELECT o.t, s.g, s.n FROM dp_outer o JOIN (SELECT t % 1000 AS g, dp_count(bit, 1e-9) AS n FROM dp_stream GROUP BY 1) s USING (g)'
SELECT pg_temp.plan_of(:'joined') ~ 'Hash Join(.|\n)*Aggregate' AS inner_side,
    pg_temp.plan_of(:'joined') ~ 'Gather(.|\n)*Aggregate' AS below_gather;
SELECT count(*) AS rows, count(DISTINCT g) AS groups, count(DISTINCT (g, n)) AS releases FROM (:joined) s;
BEGIN;
UPDATE pg_proc SET proparallel = 's' WHERE oid = 'dp_count(boolean, float8)'::regprocedure OR proname ~ '^dp_count_(transition|final)$';
SELECT pg_temp.plan_of(:'joined') ~ 'Gather(.|\n)*Aggregate' AS below_gather_if_safe;
ROLLBACK;
ALTER TABLE dp_stream RESET (parallel_workers);
SET parallel_tuple_cost = 0;
RESET enable_mergejoin;
RESET enable_nestloop;
DROP TABLE dp_outer;
-- and where PostgreSQL is told to try
SELECT count(set_config(name, 'on', false)) AS tried FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT count(*), max(n) FROM (:running) s;
SELECT count(*), max(n) FROM (:streaming) s;
SELECT * FROM (:grouped) s ORDER BY p;
SELECT count(*), max(n) FROM (SELECT dp_running_count(bit, 1e9, 3, 2999) OVER (ORDER BY t) AS n FROM dp_stream) s;
SELECT count(set_config(name, 'off', false)) AS reset FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;

-- the input in order from an index, from a sort, from an incremental sort, by expressions
CREATE INDEX dp_stream_t ON dp_stream (t);
SET enable_seqscan = off;
SELECT count(*), max(n) FROM (:running) s;
SELECT count(*), max(n) FROM (SELECT dp_running_count(bit, 1e9) OVER (ORDER BY t, p) AS n FROM dp_stream) s;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SELECT count(*), max(n) FROM (:running) s;
RESET enable_seqscan;
RESET enable_indexscan;
RESET enable_bitmapscan;
SELECT count(*), max(n) FROM (SELECT dp_running_count(bit, 1e9) OVER (ORDER BY t % 2, p, t / 2) AS n FROM dp_stream) s;

-- partitions that spill to disk
SET work_mem = '64kB';
SELECT count(*), max(n), bool_and(n = truth) AS right
FROM (SELECT dp_running_count(t % 2 = 0, 1e9) OVER w AS n, sum((t % 2 = 0)::integer) OVER w AS truth
      FROM generate_series(1, 50000) t WINDOW w AS (ORDER BY t)) s;
SELECT count(*), sum(n), sum(m)
FROM (SELECT dp_count(true, 1e9) AS n, dp_running_count(true, 1e9, 3, 30) AS m FROM generate_series(1, 60000) t GROUP BY t % 20000) s;
RESET work_mem;

-- partitioned tables
CREATE TABLE dp_years (t integer, bit boolean) PARTITION BY RANGE (t);
CREATE TABLE dp_years_1 PARTITION OF dp_years FOR VALUES FROM (0) TO (1000);
CREATE TABLE dp_years_2 PARTITION OF dp_years FOR VALUES FROM (1000) TO (4000);
INSERT INTO dp_years SELECT t, bit FROM dp_stream;
SET enable_partitionwise_aggregate = on;
SELECT count(*), max(n) FROM (SELECT dp_running_count(bit, 1e9) OVER (ORDER BY t) AS n FROM dp_years) s;
SELECT count(*), sum(n) FROM (SELECT dp_count(bit, 1e9) AS n FROM dp_years GROUP BY t) s;
SELECT dp_count(bit, 1e9), dp_running_count(bit, 1e9, 3, 3000) FROM dp_years;
RESET enable_partitionwise_aggregate;

-- functions in SQL and PL/pgSQL around the count
CREATE FUNCTION pg_temp.late(upto integer) RETURNS SETOF bigint LANGUAGE sql STABLE AS
    $$ SELECT dp_running_count(bit, 1e9) OVER (ORDER BY t) FROM dp_stream WHERE t <= upto $$;
SELECT count(*), max(n) FROM pg_temp.late(100) n;
SELECT g, (SELECT max(n) FROM pg_temp.late(g) n) FROM unnest(ARRAY[5, 10, 50]) g;

DROP TABLE dp_stream, dp_years;
