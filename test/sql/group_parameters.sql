-- In GROUP BY epsilon, k and horizon belong to the query: immutable expressions over constants and query parameters,
-- so that a group without rows has them too. (epsilon = 1e9: no noise.)

CREATE TEMP TABLE visits (t integer, hospital text, flu boolean, e float8, k integer, h bigint);
INSERT INTO visits SELECT t, 'north', t % 3 = 0, 1e9, 3, 100 FROM generate_series(1, 20) t;

-- A sublink in the epsilon of groups without rows ended the server, since the final function hung it into the plan.
SELECT count(x) FROM (SELECT (SELECT repeat('A',3000+count(*)::int)
   || dp_count(e > 0, CASE WHEN o.i IN (SELECT g FROM generate_series(1,5) g) THEN 1.0 ELSE 0.5 END)
   || repeat('A',3000+count(*)::int) FROM generate_series(1, o.i % 2) e) AS x
 FROM generate_series(1,1000) o(i) OFFSET 0) s;
\echo SQLSTATE :LAST_ERROR_SQLSTATE

-- The same answer with rows and without: what is a constant, and what is not.
CREATE FUNCTION pg_temp.answer(query text, OUT answer text) LANGUAGE plpgsql AS $$
DECLARE
    state text;
    message text;
BEGIN
    EXECUTE query INTO answer;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
    answer := state || ': ' || message;
END $$;
CREATE FUNCTION pg_temp.answers(epsilon text, k text, horizon text, OUT "call" text, OUT "with rows" text, OUT "without" text,
    OUT "no groups" text)
LANGUAGE sql AS $$
    SELECT c, pg_temp.answer('SELECT ' || c || ' FROM visits'), pg_temp.answer('SELECT ' || c || ' FROM visits WHERE false'),
           pg_temp.answer('SELECT ' || c || ' FROM visits WHERE false GROUP BY hospital, e, k, h')
    FROM (SELECT CASE WHEN k IS NULL THEN format('dp_count(flu, %s)', epsilon) ELSE format('dp_running_count(flu, %s, %s, %s)', epsilon,
        k, horizon) END) s (c)
$$;
CREATE FUNCTION pg_temp.constant(x float8) RETURNS float8 IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN x; END';
\pset format unaligned
\pset fieldsep '\n    '
SELECT a.* FROM (VALUES (1, '1e9'), (2, '5e8 * 2'), (3, 'pg_temp.constant(1e9)'), (4, '''1e9'''), (5, '(1e9)::numeric'),
                        (10, 'NULL'), (11, '0'), (12, '-1'), (13, '''NaN'''), (14, '1e10'), (15, '1 / (0 * 1e9)'),
                        (20, 'e'), (21, 'max(e)'), (22, '1e9 + 0 * t'), (23, '(SELECT 1e9)'), (24, '(SELECT max(v.e) FROM visits v)'),
                        (25, 'CASE WHEN hospital IN (SELECT ''north'') THEN 1e9 ELSE 1e8 END'), (26, '1e9 + 0 * random()'),
                        (27, '1e9 + 0 * extract(year FROM now())::int'), (28, 'current_setting(''server_version_num'')::float8')) v (i, e),
              pg_temp.answers(e, NULL, NULL) a ORDER BY i;
SELECT a.* FROM (VALUES (1, '1e9', '3', '100'), (2, '1e9', 'NULL', '20'), (3, '1e9', '3', 'NULL::bigint'),
    (4, '5e8 * 2', '1 + 2', '10 * 2::bigint'),
                        (10, 'NULL', '3', '100'), (11, '-1', '3', '100'), (12, '1e9', '1', '100'), (13, '1e9', '0', '100'),
                            (14, '1e9', '65536', '100'),
                        (15, '1e9', '3', '0'), (16, '1e9', '3', '-1'), (17, '1e9', '3', '9223372036854775807'),
                        (20, 'e', '3', '100'), (21, '1e9', 'k', '100'), (22, '1e9', '3', 'h'), (23, '1e9', '3', '(SELECT 100)'),
                            (24, '1e9', '(3 + random() * 0)::int', '100')) v (i, e, k, h),
              pg_temp.answers(e, k, h) a ORDER BY i;
\pset format aligned
-- nor from outside: a correlated subquery or LATERAL
SELECT g, s.n FROM generate_series(1, 2) g, LATERAL (SELECT dp_count(flu, 1e9 / g) AS n FROM visits) s;
SELECT g, (SELECT dp_running_count(flu, 1e9, g, 100) FROM visits WHERE false) FROM generate_series(2, 3) g;
-- A wrong one is an error before the rows are: the second row's bit cannot be computed.
SELECT dp_count(1 / (t - 2) > 0, -1) FROM visits;
SELECT dp_running_count(1 / (t - 2) > 0, 1e9, 1, 100) FROM visits;
-- the bit may be anything
SELECT hospital, dp_count(flu AND t < (SELECT avg(v.t) FROM visits v) AND random() < 2, 1e9) FROM visits GROUP BY hospital;
SELECT dp_count(flu, 1e9 ORDER BY random()) FROM visits;

-- query parameters, with plans for the values and for all values
PREPARE counts (float8, numeric, integer, bigint, boolean) AS
    SELECT dp_count(flu, $1), dp_count(flu, $2), dp_count(flu, $1 / 2), dp_running_count(flu, $1, $3, $4) FROM visits WHERE $5;
SET plan_cache_mode = force_custom_plan;
EXECUTE counts (1e9, 1e8, 3, 100, true);
EXECUTE counts (1e9, 1e8, 3, 100, false);
EXECUTE counts (1e9, NULL, 3, 100, true);
EXECUTE counts (1e9, NULL, 3, 100, false);
EXECUTE counts (1e9, 1e8, 1, 100, true);
EXECUTE counts (1e9, 1e8, 1, 100, false);
SET plan_cache_mode = force_generic_plan;
EXECUTE counts (1e9, 1e8, 3, 100, true);
EXECUTE counts (1e9, 1e8, 3, 100, false);
EXECUTE counts (1e9, NULL, 3, 100, true);
EXECUTE counts (1e9, NULL, 3, 100, false);
EXECUTE counts (1e9, 1e8, 1, 100, true);
EXECUTE counts (1e9, 1e8, 1, 100, false);
-- which the plan may compute below the aggregate, if it groups by them, too
PREPARE grouped (float8, integer) AS
    SELECT $1 AS e, hospital, dp_count(flu, $1), dp_running_count(flu, $1 / 2, $2 + 1, 100) FROM visits GROUP BY $1, $2 + 1, hospital;
EXECUTE grouped (1e9, 2);
SET enable_hashagg = off;
EXECUTE grouped (1e9, 2);
EXECUTE grouped (NULL, 2);
RESET enable_hashagg;
-- but not below an outer join, which may make it NULL
PREPARE joined (float8) AS
    SELECT s.e, dp_count(flu, s.e) FROM (SELECT g AS t, $1 * 2 AS e FROM generate_series(15, 100000) g) s RIGHT JOIN visits USING (t)
        GROUP BY s.e;
SET enable_mergejoin = off; -- so that it is a Hash Right Join
EXECUTE joined (1e8);
RESET enable_mergejoin;
-- a numeric variable of PL/pgSQL
CREATE FUNCTION pg_temp.counted(epsilon numeric, upto integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    twice numeric := epsilon * 2;
    n bigint;
    m bigint;
BEGIN
    SELECT dp_count(flu, twice), dp_running_count(flu, epsilon / 2, 3, upto + 1) INTO n, m FROM visits WHERE t <= upto;
    twice := 1e8;
    RETURN format('%s %s %s', n, m, (SELECT dp_count(flu, twice) FROM visits WHERE t <= upto));
END $$;
SELECT i, pg_temp.counted(1e8, 20), pg_temp.counted(1e8, 0) FROM generate_series(1, 2) i;
SELECT pg_temp.answer('SELECT pg_temp.counted(NULL, 0)');
SET plan_cache_mode = force_custom_plan;
SELECT pg_temp.counted(1e8, 20), pg_temp.counted(1e8, 0);
RESET plan_cache_mode;

-- Many groups without rows: evaluated once a query, compiled never. With JIT on, 10,000 of them took 6 s and 130 MB, a hundred
-- times as long as without; 5 to 10 times is what it takes to compile the rest.
CREATE FUNCTION pg_temp.best_time(query text) RETURNS interval LANGUAGE plpgsql AS $$
DECLARE
    start timestamptz;
    best interval;
BEGIN
    FOR i IN 1 .. 3 LOOP
        start := clock_timestamp();
        EXECUTE query;
        best := least(best, clock_timestamp() - start);
    END LOOP;
    RETURN best;
END $$;
SET jit = on;
SET jit_above_cost = 0;
SET jit_inline_above_cost = 0;
SET jit_optimize_above_cost = 0;
PREPARE empty (numeric) AS
    SELECT count(n), min(n), max(n) FROM (SELECT (SELECT dp_count(flu, $1 / 2) FROM visits WHERE t < -g) AS n
        FROM generate_series(1, 10000) g OFFSET 0) s;
SET plan_cache_mode = force_generic_plan;
EXECUTE empty (2e9);
SELECT pg_temp.best_time('EXECUTE empty (2e9)') AS compiled \gset
SET jit = off;
SELECT :'compiled' < 30 * pg_temp.best_time('EXECUTE empty (2e9)') AS fast;
SET jit = on;
-- and a cancel works
SET statement_timeout = '200ms';
SELECT count(n) FROM (SELECT (SELECT dp_count(flu, 1e9) FROM visits WHERE t < -g) AS n FROM generate_series(1, 100000000) g OFFSET 0) s;
