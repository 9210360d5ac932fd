-- Errors, cancels and timeouts in the middle of a count: the session goes on, and the next count
-- starts afresh.

CREATE TEMP TABLE visits (t integer, flu boolean);
INSERT INTO visits SELECT t, t % 2 = 0 FROM generate_series(1, 1000) t;

-- true at even rows, until something happens at this one
CREATE FUNCTION pg_temp.fails(t integer, at integer) RETURNS boolean LANGUAGE plpgsql AS
    $$ BEGIN IF t = at THEN RAISE EXCEPTION 'the bit of row % is broken', t; END IF; RETURN t % 2 = 0; END $$;
CREATE FUNCTION pg_temp.cancels(t integer, at integer) RETURNS boolean LANGUAGE plpgsql AS
    $$ BEGIN IF t = at THEN PERFORM pg_cancel_backend(pg_backend_pid()), pg_sleep(60); END IF; RETURN t % 2 = 0; END $$;
CREATE FUNCTION pg_temp.waits(t integer, at integer) RETURNS boolean LANGUAGE plpgsql AS
    $$ BEGIN IF t = at THEN PERFORM pg_sleep(60); END IF; RETURN t % 2 = 0; END $$;
CREATE TEMP VIEW counts AS
    SELECT max(a) AS "window", max(b) AS told, max(c) AS aggregate
    FROM (SELECT dp_running_count(flu, 1e9) OVER (ORDER BY t) AS a,
                 dp_running_count(flu, 1e9, horizon => 1000) OVER (ORDER BY t) AS b,
                 dp_running_count(flu, 1e9, 3, 1000) OVER (ORDER BY t) AS c
          FROM visits) s;
\set SHOW_CONTEXT never
SELECT * FROM counts;

-- an error in the middle
SELECT max(n) FROM (SELECT dp_running_count(pg_temp.fails(t, 500), 1e9) OVER (ORDER BY t) AS n FROM visits) s;
SELECT * FROM counts;
SELECT max(n) FROM (SELECT dp_running_count(pg_temp.fails(t, 500), 1e9, horizon => 1000) OVER (ORDER BY t) AS n FROM visits) s;
SELECT max(n) FROM (SELECT dp_running_count(pg_temp.fails(t, 500), 1e9, 3, 1000) OVER (ORDER BY t) AS n FROM visits) s;
SELECT dp_running_count(pg_temp.fails(t, 500), 1e9, 3, 1000) FROM visits;
SELECT dp_count(pg_temp.fails(t, 500), 1e9) FROM visits;
SELECT t % 10, dp_count(pg_temp.fails(t, 500), 1e9), dp_running_count(pg_temp.fails(t, 1000), 1e9, 3, 1000) FROM visits GROUP BY 1;
SELECT * FROM counts;
-- in the first row and in the last
SELECT max(n) FROM (SELECT dp_running_count(pg_temp.fails(t, 1), 1e9) OVER (ORDER BY t) AS n FROM visits) s;
SELECT max(n) FROM (SELECT dp_running_count(pg_temp.fails(t, 1000), 1e9) OVER (ORDER BY t) AS n FROM visits) s;
-- in another column while the count is running
SELECT max(n), min(x) FROM (SELECT dp_running_count(flu, 1e9) OVER (ORDER BY t) AS n, 1 / (t - 700) AS x FROM visits) s;
SELECT * FROM counts;

-- our own errors in the middle
SELECT max(n) FROM (SELECT dp_running_count(flu, 1e9, horizon => 999) OVER (ORDER BY t) AS n FROM visits) s;
SELECT max(n) FROM (SELECT dp_running_count(flu, 1e9 - t / 1000) OVER (ORDER BY t) AS n FROM visits) s;
SELECT * FROM counts;

-- caught, and gone on in the same transaction
DO $$
DECLARE
    failures integer := 0;
    n bigint;
BEGIN
    FOR i IN 1..200 LOOP
        BEGIN
            PERFORM dp_running_count(flu, 1e9, horizon => i) OVER (ORDER BY t) FROM visits WHERE t <= i + 1;
        EXCEPTION WHEN data_exception THEN failures := failures + 1;
        END;
        BEGIN
            PERFORM dp_running_count(pg_temp.fails(t, i), 1e9, 3, 1000) FROM visits;
        EXCEPTION WHEN raise_exception THEN failures := failures + 1;
        END;
        SELECT dp_running_count(flu, 1e9, 3, i) INTO n FROM visits WHERE t <= i;
        IF n <> i / 2 THEN RAISE EXCEPTION 'counted % of %', n, i / 2; END IF;
    END LOOP;
    RAISE NOTICE '% failures caught', failures;
END $$;
SELECT * FROM counts;

-- a cancel in the middle
SELECT max(n) FROM (SELECT dp_running_count(pg_temp.cancels(t, 500), 1e9) OVER (ORDER BY t) AS n FROM visits) s;
\echo SQLSTATE :LAST_ERROR_SQLSTATE
SELECT max(n) FROM (SELECT dp_running_count(pg_temp.cancels(t, 500), 1e9, 3, 1000) OVER (ORDER BY t) AS n FROM visits) s;
SELECT dp_count(pg_temp.cancels(t, 500), 1e9) FROM visits;
SELECT * FROM counts;

-- a timeout in the middle, while a bit is awaited (the rollback takes the timeout away: no other statement
-- can meet it, however slow the machine)
BEGIN;
SET LOCAL statement_timeout = '50ms';
SELECT max(n) FROM (SELECT dp_running_count(pg_temp.waits(t, 500), 1e9) OVER (ORDER BY t) AS n FROM visits) s;
\echo SQLSTATE :LAST_ERROR_SQLSTATE
ROLLBACK;
BEGIN;
SET LOCAL statement_timeout = '50ms';
SELECT max(n) FROM (SELECT dp_running_count(pg_temp.waits(t, 500), 1e9, 3, 1000) OVER (ORDER BY t) AS n FROM visits) s;
ROLLBACK;
BEGIN;
SET LOCAL statement_timeout = '50ms';
SELECT dp_running_count(pg_temp.waits(t, 500), 1e9, 3, 1000) FROM visits;
ROLLBACK;
-- and while it counts without end: a stream can be stopped
CREATE TEMP TABLE long AS SELECT generate_series(1, 100000) AS t;
CREATE INDEX ON long (t);
ANALYZE long;
BEGIN;
SET LOCAL statement_timeout = '50ms';
SELECT max(n) FROM (SELECT dp_running_count(u % 2 = 0, 1, horizon => 1000000000000) OVER (ORDER BY t, u) AS n
                    FROM long, generate_series(1, 1000) u) s; -- an incremental sort feeds it at once
ROLLBACK;
BEGIN;
SET LOCAL statement_timeout = '50ms';
SELECT max(n) FROM (SELECT dp_running_count(u % 2 = 0, 1, NULL, 1000000000000) OVER (ORDER BY t, u) AS n
                    FROM long, generate_series(1, 1000) u) s;
ROLLBACK;
BEGIN;
SET LOCAL statement_timeout = '50ms';
SELECT dp_count(t % 2 = 0, 1) FROM (SELECT generate_series(1, 1000000000000) t) g;
ROLLBACK;
SELECT * FROM counts;

-- Long answers of the planner can be stopped: they look for interrupts every few milliseconds. A timeout of 20 ms ends each in less
-- than half the time, on whatever machine, that it then takes without one: some tenths of a second, or this test would take long.
CREATE FUNCTION pg_temp.time_of(query text) RETURNS interval LANGUAGE plpgsql AS $$
DECLARE
    start timestamptz := clock_timestamp();
BEGIN
    EXECUTE query;
    RETURN clock_timestamp() - start;
EXCEPTION WHEN query_canceled THEN
    RETURN clock_timestamp() - start;
END $$;
\set query 'SELECT dp_interval(5, 1, 1, 5e-3, 0.999999999, 4096, ''hat'')'
BEGIN; -- the inversion of a characteristic function
SET LOCAL statement_timeout = '20ms';
SELECT pg_temp.time_of(:'query') AS stopped \gset
ROLLBACK;
SELECT :'stopped' < pg_temp.time_of(:'query') / 2 AS in_time;
\set query 'SELECT * FROM dp_plan(4611686018427387904, 1, 1024, ''hat'')'
BEGIN; -- the tables and errors of hats
SET LOCAL statement_timeout = '20ms';
SELECT pg_temp.time_of(:'query') AS stopped \gset
ROLLBACK;
SELECT :'stopped' < pg_temp.time_of(:'query') / 2 AS in_time;
\set query 'SELECT dp_stddev(4611686018427387000, NULL, 1, 1024, ''hat'')'
BEGIN; -- of all epochs
SET LOCAL statement_timeout = '20ms';
SELECT pg_temp.time_of(:'query') AS stopped \gset
ROLLBACK;
SELECT :'stopped' < pg_temp.time_of(:'query') / 2 AS in_time;
\set query 'SELECT dp_running_count(true, 1, 4096, ''hat'', 4611686018427387000 - t) OVER (PARTITION BY t) FROM generate_series(1, 4) t'
BEGIN; -- the starts of streams, between which PostgreSQL looks as well
SET LOCAL statement_timeout = '20ms';
SELECT pg_temp.time_of(:'query') AS stopped \gset
ROLLBACK;
SELECT :'stopped' < pg_temp.time_of(:'query') / 2 AS in_time;
SELECT 'EXPLAIN SELECT ARRAY[' || string_agg('dp_laplace(1, 1, 1)', ', ') || '] IS NULL' AS query FROM generate_series(1, 1200) \gset
BEGIN; -- the planner, which looks for copies of each call
SET LOCAL statement_timeout = '20ms';
SELECT pg_temp.time_of(:'query') AS stopped \gset
ROLLBACK;
SELECT :'stopped' < pg_temp.time_of(:'query') / 2 AS in_time;
-- and what they had not finished is made when they are asked again
SELECT mechanism, height FROM dp_plan(4611686018427387904, 1, 1024, 'hat');
SELECT * FROM counts;

-- a failed transaction, a rolled back subtransaction
BEGIN;
SELECT max(n) FROM (SELECT dp_running_count(pg_temp.fails(t, 500), 1e9) OVER (ORDER BY t) AS n FROM visits) s;
ROLLBACK;
BEGIN;
SAVEPOINT s;
SELECT max(n) FROM (SELECT dp_running_count(pg_temp.fails(t, 500), 1e9) OVER (ORDER BY t) AS n FROM visits) s;
ROLLBACK TO s;
SELECT * FROM counts;
COMMIT;
