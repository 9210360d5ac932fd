-- dp_laplace: the Laplace mechanism on one exact number. (epsilon = 1e9: no noise.)
SELECT dp_laplace(5, 1e9, 1) AS five, dp_laplace(-5, 1e9, 1000) AS minus_five,
    dp_laplace(value => 7, sensitivity => 3, epsilon => 1e9) AS named;
-- NULL counts as 0: a strict function would tell an empty group
SELECT g, dp_laplace(sum(i) FILTER (WHERE i > 5), 1e9, 9) AS n FROM generate_series(1, 9) i, LATERAL (SELECT i % 3 AS g) s WHERE i <> 8
    AND i <> 6 AND i <> 9
GROUP BY g ORDER BY g;
SELECT dp_laplace(NULL, 1e9, 1) AS nothing;
-- it saturates
SELECT dp_laplace(9223372036854775807, 1e9, 1) AS most, dp_laplace(-9223372036854775808, 1e9, 1) AS least;
SELECT count(*) AS releases, count(*) FILTER (WHERE n = 9223372036854775807) BETWEEN 200 AND 800 AS half_at_the_limit,
    min(n) < 9223372036854775807 AS some_below
FROM (SELECT dp_laplace(9223372036854775807, 0.001, 1) AS n FROM generate_series(1, 1000)) s;
-- a call is a release at every row and every evaluation, also with constant arguments
SELECT count(DISTINCT n) > 900 AS fresh FROM (SELECT dp_laplace(0, 1e-9, 1) AS n FROM generate_series(1, 1000)) s;
PREPARE number AS SELECT dp_laplace(0, 1e-9, 1) AS n;
CREATE TEMP TABLE one AS EXECUTE number;
CREATE TEMP TABLE other AS EXECUTE number;
SELECT count(*) AS equal FROM one, other WHERE one.n = other.n;
-- named in a subquery it is drawn once, however often it is read
SELECT n = m AS same FROM (SELECT n, n AS m FROM (SELECT dp_laplace(0, 1e-9, 1) AS n) s) t;

-- without its mark in the catalog nothing is drawn, nor while planning
BEGIN;
UPDATE pg_proc SET provolatile = 'i' WHERE proname = 'dp_laplace';
EXPLAIN SELECT dp_laplace(0, 1e-9, 1);
ROLLBACK;

-- bad input: the parameter, its value, the way out
\pset format unaligned
\pset tuples_only on
CREATE FUNCTION pg_temp.answer(arguments text, OUT answer text) LANGUAGE plpgsql AS $$
DECLARE
    state text;
    message text;
    hint text;
BEGIN
    EXECUTE format('SELECT dp_laplace(%s)', arguments) INTO answer;
    answer := arguments || E'\n  ' || answer;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
    answer := arguments || E'\n  ' || state || CASE WHEN state <> '42883' THEN ': ' || message || E'\n    HINT: ' || hint ELSE '' END;
END $$;
SELECT pg_temp.answer(arguments)
FROM unnest(ARRAY['1, NULL, 1', '1, 1, NULL', '1, 1, 0', '1, 1, -1', '1, 0, 1', '1, -1, 1', '1, ''NaN'', 1', '1, ''Infinity'', 1',
    '1, 1e-10, 1',
                  '1, 1, 68719476737', '1, 1e-9, 69', '1, 1, 9223372036854775807', 'NULL, NULL, 1', '1, 1', 'true, 1, 1']) arguments;
\pset tuples_only off
\pset format aligned

-- Above a subquery with the GROUP BY, or the aggregate, the exact totals are found in parallel; in the same SELECT they
-- are not. The same for dp_running_sum.
CREATE TABLE dp_visits AS SELECT i % 10 AS g, i FROM generate_series(1, 20000) i;
ANALYZE dp_visits;
CREATE FUNCTION pg_temp.plan(query text, OUT plan text) LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        plan := concat(plan, line, E'\n');
    END LOOP;
END $$;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0.001;
SET min_parallel_table_scan_size = 0;
SELECT query, CASE WHEN plan ~ 'Finalize(.|\n)*Gather(.|\n)*Partial(.|\n)*Parallel Seq Scan' THEN 'partial aggregate in workers'
                   WHEN plan ~ 'Partial' THEN plan ELSE 'aggregate in the leader' END AS partial
FROM unnest(ARRAY['SELECT g, count(*) FROM dp_visits GROUP BY g',
                  'SELECT g, dp_laplace(n, 1.0, 1) FROM (SELECT g, count(*) AS n FROM dp_visits GROUP BY g) s',
                  'SELECT dp_laplace(n, 1.0, 1) FROM (SELECT count(*) AS n FROM dp_visits) s',
                  'SELECT g, dp_laplace(count(*), 1.0, 1) FROM dp_visits GROUP BY g',
                  'SELECT g, dp_count(true, 1.0) FROM dp_visits GROUP BY g',
                  'SELECT g, sum(count(*)) OVER (ORDER BY g) FROM dp_visits GROUP BY g',
                  'SELECT g, dp_running_sum(count(*), 1.0, 1) OVER (ORDER BY g) FROM dp_visits GROUP BY g']) query, pg_temp.plan(query);
SELECT g, dp_laplace(n, 1e9, 1), dp_running_sum(n, 1e9, 1) OVER (ORDER BY g) FROM (SELECT g, count(*) AS n FROM dp_visits GROUP BY g) s
    ORDER BY g LIMIT 3;
-- partition-wise, and pushed down where sum() is
CREATE TABLE dp_years (t integer, bit boolean) PARTITION BY RANGE (t);
CREATE TABLE dp_years_1 PARTITION OF dp_years FOR VALUES FROM (0) TO (10000);
CREATE TABLE dp_years_2 PARTITION OF dp_years FOR VALUES FROM (10000) TO (40000);
INSERT INTO dp_years SELECT t, t % 3 = 0 FROM generate_series(1, 20000) t;
ANALYZE dp_years;
SET enable_partitionwise_aggregate = on;
SET max_parallel_workers_per_gather = 0;
SELECT bool_and(plan ~ 'Append(.|\n)*Aggregate(.|\n)*Aggregate') AS partition_wise
FROM unnest(ARRAY['SELECT t, sum(count(*)) OVER (ORDER BY t) FROM dp_years GROUP BY t',
                  'SELECT t, dp_running_sum(count(*), 1.0, 1) OVER (ORDER BY t) FROM dp_years GROUP BY t',
                  'SELECT t, dp_laplace(n, 1.0, 1) FROM (SELECT t, count(*) AS n FROM dp_years GROUP BY t) s']) query, pg_temp.plan(query);
DROP TABLE dp_visits, dp_years;
