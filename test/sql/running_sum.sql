-- Numbers by period: the window function dp_running_sum over GROUP BY. (epsilon = 1e9: no noise.)
CREATE TEMP TABLE visits AS
    SELECT i AS id, date '2026-01-01' + i % 9 AS day, i % 4 AS p, i % 3 = 0 AS flu, i % 7 AS amount FROM generate_series(1, 200) i
        WHERE i % 9 <> 5;
CREATE TEMP VIEW calendar AS SELECT d::date AS day FROM generate_series(date '2026-01-01', date '2026-01-09', '1 day') d;

-- everybody's first try leads on; so does the standard's form
SELECT day, dp_running_count(count(*), 1.0) OVER (ORDER BY day) FROM visits GROUP BY day;
\echo SQLSTATE :LAST_ERROR_SQLSTATE
SELECT day, dp_running_sum(count(*) FILTER (WHERE flu), 1e9, 1) OVER (ORDER BY day) AS private,
    sum(count(*) FILTER (WHERE flu)) OVER (ORDER BY day) AS truth
FROM visits GROUP BY day ORDER BY day;
-- joined to a calendar: a day without rows is a step as any
SELECT day, dp_running_sum(count(id) FILTER (WHERE flu), 1e9, 1) OVER (ORDER BY day) AS private
FROM calendar LEFT JOIN visits USING (day) GROUP BY day ORDER BY day;
-- NULL counts as 0 and takes its step: sum() of no row
SELECT day, sum(amount) IS NULL AS is_null, dp_running_sum(sum(amount), 1e9, 6, horizon => 9) OVER (ORDER BY day) AS private
FROM calendar LEFT JOIN visits USING (day) GROUP BY day ORDER BY day;
SELECT t, dp_running_sum(NULL, 1e9, 1, 3) OVER (ORDER BY t) FROM generate_series(1, 3) t;
SELECT t, dp_running_sum(1, 1e9, 1, 3) OVER (ORDER BY t) FROM generate_series(1, 0) t;

-- every form of the call, partitions, orders, negative addends
SELECT count(*), bool_and(truth = a AND truth = b AND truth = c AND truth = d AND truth = e AND truth = f) AS right
FROM (SELECT sum(amount - 3) OVER w AS truth, dp_running_sum(amount - 3, 1e9, 2) OVER w AS a,
    dp_running_sum(amount - 3, 1e9, 2, 100) OVER w AS b,
             dp_running_sum(amount - 3, 1e9, 2, 100, 3) OVER w AS c, dp_running_sum(amount - 3, 1e9, 2, NULL, 19, 'plain') OVER w AS d,
             dp_running_sum(sensitivity => 2, addend => amount - 3, epsilon => 1e9, mechanism => 'hat') OVER w AS e,
             dp_running_sum((amount - 3)::smallint, 1e9, 2::smallint) OVER w AS f
      FROM visits WINDOW w AS (PARTITION BY p ORDER BY id DESC)) s;
-- a frame that grows
SELECT array_agg(n) FROM (SELECT dp_running_sum(t, 1e9, 1) OVER (ORDER BY t ROWS UNBOUNDED PRECEDING) AS n FROM generate_series(1, 4) t) s;

-- The running sum has 128 bits and is never clamped; the release alone is: no error depends on the data.
SELECT t, dp_running_sum(CASE WHEN t <= 3 THEN 9223372036854775807 ELSE -9223372036854775807 END, 1e9, 1) OVER (ORDER BY t)
FROM generate_series(1, 8) t ORDER BY t;
SELECT t, dp_running_sum(CASE WHEN t <= 3 THEN -9223372036854775808 ELSE 9223372036854775807 END, 1e9, 1, horizon => 10) OVER (ORDER BY t)
FROM generate_series(1, 8) t ORDER BY t;

-- rows that tie are refused
SELECT dp_running_sum(amount, 1e9, 6) OVER (ORDER BY day) FROM visits;
SELECT dp_running_sum(amount, 1e9, 6, 1000) OVER () FROM visits;
\set VERBOSITY sqlstate
-- what PostgreSQL refuses, and types that find no function: sum(bigint) is numeric
SELECT dp_running_sum(amount, 1e9, 6) FROM visits;
SELECT dp_running_sum(amount, 1e9, 6) FILTER (WHERE flu) OVER (ORDER BY id) FROM visits;
SELECT dp_running_sum(DISTINCT amount, 1e9, 6) OVER (ORDER BY id) FROM visits;
SELECT dp_running_sum(amount, 1e9) OVER (ORDER BY id) FROM visits;
SELECT dp_running_sum(sum(amount::bigint), 1e9, 6) OVER (ORDER BY day) FROM visits GROUP BY day;

\set VERBOSITY default

-- without its mark in the catalog nothing is drawn
BEGIN;
UPDATE pg_proc SET provolatile = 's' WHERE proname = 'dp_running_sum';
SELECT dp_running_sum(amount, 1e9, 6) OVER (ORDER BY id) FROM visits;
ROLLBACK;

-- height * sensitivity / epsilon, just within the limit of 2^36
SELECT count(a + b + c) FROM (SELECT dp_running_sum(t, 1e9, 9223372036854775807) OVER w AS a, dp_running_sum(t, 1e-9, 68) OVER w AS b,
    dp_running_sum(t, 1, 22906492245, 1000000, 1000, 'plain') OVER w AS c
                              FROM generate_series(1, 3) t WINDOW w AS (ORDER BY t)) s;

-- bad input: the parameter, its value, the way out
\pset format unaligned
\pset tuples_only on
CREATE FUNCTION pg_temp.answer(arguments text, OUT answer text) LANGUAGE plpgsql AS $$
DECLARE
    state text;
    message text;
    hint text;
BEGIN
    EXECUTE format('SELECT array_agg(n)::text FROM (SELECT dp_running_sum(%s) OVER (ORDER BY t) AS n FROM generate_series(1, 3) t) s',
        arguments) INTO answer;
    answer := arguments || E'\n  ' || answer;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
    answer := arguments || E'\n  ' || state || ': ' || message || E'\n    HINT: ' || hint;
END $$;
SELECT pg_temp.answer(arguments)
FROM unnest(ARRAY[
    't, 1e9, NULL', 't, 1e9, 0', 't, 1e9, -1', 't, 1e9, -9223372036854775808', 't, NULL, 1', 't, 0, 1', 't, ''NaN'', 1', 't, 1e9, 1, 0',
        't, 1e9, 1, -1',
    't, 1e9, 1, 2', 't, 1e9, 1, 3, 1', 't, 1e9, 1, 3, 0', 't, 1e9, 1, 3, 3, ''none''',
    -- height * sensitivity / epsilon, at the limit and beyond it
    't, 1, 9223372036854775807', 't, 1e-9, 100, 100, 3, ''plain''',
    't, 1, 34359738369, 1000000, 1000, ''plain''', 't, 1, 9223372036854775807, 4611686018427387904',
        't, 1e-9, 9223372036854775807, NULL, 2, ''hat''',
    -- parameters that vary
    't, 1e9 + t, 1', 't, 1e9, t', 't, 1e9, 1, 10 + t', 't, 1e9, 1, 10, 1 + t',
        't, 1e9, 1, 10, 3, CASE WHEN t < 3 THEN ''hat'' ELSE ''plain'' END',
    't, 1e9, nullif(t, 2)', 't, 1e9, 1 + 0 * t']) arguments;
