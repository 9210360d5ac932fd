-- Memory: constant however long a stream is and however many partitions there are, of the size that
-- the paper promises, and given back after an error, a cancel, a timeout, a LIMIT, a closed cursor.
BEGIN;
SET LOCAL client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS dp_counter;
RESET client_min_messages;
SELECT plan(25);

-- all the memory of this backend
CREATE FUNCTION pg_temp.memory() RETURNS bigint LANGUAGE plpgsql AS $$ -- of its own plan, made once
BEGIN
    RETURN (SELECT sum(total_bytes) FROM pg_backend_memory_contexts);
END $$;

-- Within one query ----------------------------------------------------------------------------------

-- How much more there is at the last row than at row 1000. (A column that is not used would not be
-- computed: hence 0 * max(n).) An index hands out the rows in order: a sort would have memory of its own; so would
-- the local buffers of a temporary table.
CREATE UNLOGGED TABLE dp_steps AS SELECT generate_series(1::bigint, 1000000) AS t;
CREATE INDEX ON dp_steps (t);
ANALYZE dp_steps;
SET LOCAL enable_sort = off;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
-- First a short one to fill the caches. Then again, up to five times, while it is large: a leak is large every time; the
-- caches grow only when another session has changed a catalog meanwhile.
CREATE FUNCTION pg_temp.growth(count text, last bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    growth bigint;
BEGIN
    FOR i IN 0..5 LOOP
        EXECUTE format($q$
            SELECT max(memory) - min(memory) + 0 * max(n) FROM (
                SELECT %1$s AS n, CASE WHEN t = 1000 OR t = %2$s THEN pg_temp.memory() END AS memory
                FROM (SELECT t FROM dp_steps WHERE t <= %2$s ORDER BY t) s) q $q$,
            count, CASE i WHEN 0 THEN 2000 ELSE last END) INTO growth;
        EXIT WHEN i > 0 AND growth <= 16384;
    END LOOP;
    RETURN growth;
END $$;
SELECT cmp_ok(pg_temp.growth('dp_running_count(t % 3 = 0, 1, horizon => 1000000000) OVER (ORDER BY t)', 1000000), '<=', 16384::bigint,
              'window with a horizon: 1,000,000 rows take no more memory than 1000');
SELECT cmp_ok(pg_temp.growth('dp_running_count(t % 3 = 0, 1, 3, 1000000000) OVER (ORDER BY t)', 1000000), '<=', 16384::bigint,
              'aggregate OVER: 1,000,000 rows take no more memory than 1000');
SELECT cmp_ok(pg_temp.growth('dp_running_count(t % 3 = 0, 1, horizon => 1000000000) OVER (ORDER BY t, repeat(''x'', 1000))', 100000),
    '<=', 16384::bigint,
              'window with a long text in its ORDER BY: 100,000 rows take no more memory than 1000');
-- the rows wait in the tuplestore until they are counted: work_mem bounds it
SET LOCAL work_mem = '64kB';
SELECT cmp_ok(pg_temp.growth('dp_running_count(t % 3 = 0, 1) OVER (ORDER BY t)', 1000000), '<=', 131072::bigint,
              'window that counts its rows first: 1,000,000 rows take no more memory than 1000 but for the tuplestore');
RESET work_mem;
RESET enable_sort;
RESET enable_seqscan;
RESET enable_bitmapscan;

-- The lemma on space: with subtraction at most h(k-1)/2 noise terms are live.
CREATE FUNCTION pg_temp.state(k integer, mechanism text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    memory bigint[] := '{}';
BEGIN
    FOREACH k IN ARRAY ARRAY[3, k, 3, k] LOOP
        memory := memory || (
            SELECT max(m) + 0 * max(n) FROM (SELECT dp_running_count(true, 1, k, mechanism, 4000000000000000000) OVER (ORDER BY t) AS n,
                                       CASE t WHEN 100 THEN pg_temp.memory() END AS m FROM generate_series(1, 100) t) q);
    END LOOP;
    RETURN memory[4] - memory[3];
END $$;
SELECT cmp_ok(pg_temp.state(65535, 'subtraction'), '<=', 4 * 65534 / 2 * 8 + 8192::bigint,
    'h = 4, k = 65535: state of at most h(k-1)/2 numbers');
SELECT ok(pg_temp.state(65535, 'subtraction') >= 700000, 'which the measure sees');
SELECT cmp_ok(pg_temp.state(1001, 'subtraction'), '<=', 7 * 1000 / 2 * 8 + 8192::bigint,
    'h = 7, k = 1001: state of at most h(k-1)/2 numbers');
SELECT cmp_ok(pg_temp.state(65535, 'plain'), '<=', 8192::bigint, 'plain, k = 65535: a state of few numbers');

-- 100,000 partitions, in order by an index
CREATE TEMP TABLE many AS SELECT p, t, (p + t) % 3 = 0 AS bit FROM generate_series(1, 100000) p, generate_series(1, 3) t;
CREATE INDEX ON many (p, t);
ANALYZE many;
SET LOCAL enable_sort = off;
SET LOCAL enable_hashagg = off;
CREATE FUNCTION pg_temp.growth_over_partitions(count text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    growth bigint;
BEGIN
    FOR i IN 0..5 LOOP -- as above; the first is stopped early
        EXECUTE format($q$
            SELECT max(memory) - min(memory) + 0 * max(n) FROM (
                SELECT n, CASE WHEN p = 1000 OR p = 100000 THEN pg_temp.memory() END AS memory FROM (%s) s LIMIT %s) q $q$,
            count, CASE i WHEN 0 THEN 3000 ELSE 1000000 END) INTO growth;
        EXIT WHEN i > 0 AND growth <= 16384;
    END LOOP;
    RETURN growth;
END $$;
SELECT cmp_ok(pg_temp.growth_over_partitions(
                  'SELECT p, dp_running_count(bit, 1) OVER (PARTITION BY p ORDER BY t) AS n FROM many OFFSET 0'), '<=', 16384::bigint,
              'window: 100,000 partitions take no more memory than 1000');
SELECT cmp_ok(pg_temp.growth_over_partitions(
                  'SELECT p, dp_running_count(bit, 1, 3, 3) OVER (PARTITION BY p ORDER BY t) AS n FROM many OFFSET 0'), '<=', 16384::bigint,
              'aggregate OVER: 100,000 partitions take no more memory than 1000');
SELECT cmp_ok(pg_temp.growth_over_partitions(
                  'SELECT p, dp_count(bit, 1) OVER (PARTITION BY p) AS n FROM many OFFSET 0'), '<=', 16384::bigint,
              'dp_count OVER: 100,000 partitions take no more memory than 1000');
SELECT cmp_ok(pg_temp.growth_over_partitions(
                  'SELECT p, dp_running_count(bit, 1, 3, 3) + dp_count(bit, 1) AS n FROM many GROUP BY p OFFSET 0'), '<=', 16384::bigint,
              'GROUP BY in order: 100,000 groups take no more memory than 1000');
RESET enable_sort;
RESET enable_hashagg;
-- in a hash table there are all the groups at a time
DROP INDEX many_p_t_idx;
SET LOCAL work_mem = '1GB';
SET LOCAL enable_sort = off;
CREATE TEMP TABLE hashed AS
    SELECT (pg_temp.memory() - before) / 100000 AS bytes, s.*
    FROM (SELECT pg_temp.memory() AS before OFFSET 0) b,
         LATERAL (SELECT dp_count(bit, 1), dp_running_count(bit, 1, 3, 3) FROM many WHERE before IS NOT NULL GROUP BY p LIMIT 1) s;
SELECT cmp_ok(bytes, '<=', 1200::bigint, 'hash table of 100,000 groups: at most 600 bytes a state') FROM hashed;
SELECT ok(bytes >= 100, 'which the measure sees') FROM hashed;
RESET work_mem;
RESET enable_sort;

-- After a query ------------------------------------------------------------------------------------

-- A state of 800 kB for each: one that stays behind is seen.
\set big '65535, ''subtraction'', 4000000000000000000'
CREATE FUNCTION pg_temp.fails(t bigint) RETURNS boolean LANGUAGE plpgsql AS
    $$ BEGIN IF t = 50 THEN RAISE 'broken'; END IF; RETURN true; END $$;
CREATE FUNCTION pg_temp.cancels(t bigint) RETURNS boolean LANGUAGE plpgsql AS
    $$ BEGIN IF t = 50 THEN PERFORM pg_cancel_backend(pg_backend_pid()), pg_sleep(60); END IF; RETURN true; END $$;
CREATE FUNCTION pg_temp.waits(t bigint) RETURNS boolean LANGUAGE plpgsql AS
    $$ BEGIN IF t = 50 THEN PERFORM pg_sleep(60); END IF; RETURN true; END $$;
CREATE TEMP TABLE steps AS SELECT generate_series(1, 100) AS t;

-- What memory a statement that may fail leaves behind, run so many times; an error of another kind is passed on. The
-- lesser of two rounds: what leaks does so in both, while another session's invalidation makes the caches grow once.
CREATE FUNCTION pg_temp.left_by(statement text, state text, times integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    before bigint;
    growth bigint;
    caught text;
BEGIN
    FOR i IN -4..times LOOP -- some first to fill the caches
        IF i = 1 THEN before := pg_temp.memory(); END IF;
        BEGIN
            EXECUTE statement;
            caught := 'none';
        EXCEPTION WHEN query_canceled OR OTHERS THEN
            caught := SQLSTATE;
        END;
        IF caught <> state THEN RAISE 'SQLSTATE % instead of %', caught, state; END IF;
        IF i = times / 2 THEN
            growth := pg_temp.memory() - before;
            before := before + growth;
        END IF;
    END LOOP;
    RETURN least(growth, pg_temp.memory() - before);
END $$;
SELECT cmp_ok(pg_temp.left_by('SELECT dp_running_count(t % 2 = 0, 1, ' || :'big' || ') OVER (ORDER BY t) FROM steps', 'none', 200), '<=',
    65536::bigint,
              'success, 200 times: memory back to where it was');
SELECT cmp_ok(pg_temp.left_by('SELECT dp_running_count(pg_temp.fails(t), 1, ' || :'big' || ') OVER (ORDER BY t) FROM steps', 'P0001',
    200), '<=', 65536::bigint,
              'an error in the middle of a window, 200 times: memory back to where it was');
SELECT cmp_ok(pg_temp.left_by('SELECT dp_running_count(pg_temp.fails(t), 1, 65535, 4000000000000000000) OVER (ORDER BY t) FROM steps',
    'P0001', 200), '<=', 65536::bigint,
              'an error in the middle of an aggregate, 200 times: memory back to where it was');
SELECT cmp_ok(pg_temp.left_by('SELECT t % 10, dp_running_count(pg_temp.fails(t), 1, 3, 100), dp_count(true, 1) FROM steps GROUP BY 1',
    'P0001', 2000), '<=', 65536::bigint,
              'an error in the middle of groups, 2000 times: memory back to where it was');
SELECT cmp_ok(pg_temp.left_by('SELECT dp_running_count(true, 1, 3, horizon => 99) OVER (ORDER BY t) FROM steps', '22000', 2000), '<=',
    65536::bigint,
              'an error of the count itself, 2000 times: memory back to where it was');
SELECT cmp_ok(pg_temp.left_by('SELECT dp_running_count(true, 1, 1) OVER (ORDER BY t) FROM steps', '22023', 2000), '<=', 65536::bigint,
              'an error in a parameter, 2000 times: memory back to where it was');
SELECT cmp_ok(pg_temp.left_by('SELECT dp_running_count(pg_temp.cancels(t), 1, ' || :'big' || ') OVER (ORDER BY t) FROM steps', '57014',
    50), '<=', 65536::bigint,
              'a cancel in the middle, 50 times: memory back to where it was');
SELECT cmp_ok(pg_temp.left_by('SELECT dp_running_count(true, 1, ' || :'big' || ') OVER (ORDER BY t) FROM steps LIMIT 50', 'none', 200),
    '<=', 65536::bigint,
              'LIMIT, 200 times: memory back to where it was');

-- cursors that are closed half-way
CREATE FUNCTION pg_temp.half_read() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    c CURSOR FOR SELECT dp_running_count(true, 1, 65535, 'subtraction', 4000000000000000000) OVER (ORDER BY t) FROM steps;
    a CURSOR FOR SELECT dp_running_count(true, 1, 65535, 4000000000000000000) OVER (ORDER BY t) FROM steps;
    n bigint;
BEGIN
    OPEN c;
    OPEN a;
    FOR i IN 1..50 LOOP FETCH c INTO n; FETCH a INTO n; END LOOP;
    CLOSE c;
    CLOSE a;
END $$;
SELECT cmp_ok(pg_temp.left_by('SELECT pg_temp.half_read()', 'none', 200), '<=', 65536::bigint,
              'cursors closed half-way, 200 times: memory back to where it was');

-- a statement timeout in the middle (the clock runs for the statement outside, from its parsing on; so long that no
-- machine is still at its beginning, or at the end of the next one)
SELECT pg_temp.left_by('SELECT dp_running_count(true, 1, ' || :'big' || ') OVER (ORDER BY t) FROM steps', 'none', 5) \gset warm_
CREATE TEMP TABLE measured AS SELECT pg_temp.memory() AS before;
SET LOCAL statement_timeout = '3s';
DO $$
BEGIN
    PERFORM dp_running_count(pg_temp.waits(t), 1, 65535, 'subtraction', 4000000000000000000) OVER (ORDER BY t) FROM steps;
EXCEPTION WHEN query_canceled THEN NULL;
END $$;
SET LOCAL statement_timeout = 0;
SELECT cmp_ok(pg_temp.memory() - before, '<=', 262144::bigint, 'a timeout in the middle: memory back to where it was') FROM measured;

-- and it still counts
SELECT is((SELECT max(n) FROM (SELECT dp_running_count(t % 2 = 0, 1e9) OVER (ORDER BY t) AS n FROM steps) s), 50::bigint,
    'the session goes on');

SELECT * FROM finish();
ROLLBACK;
