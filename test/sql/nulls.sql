-- A NULL bit counts as 0 and advances time: a row that did not would move the later bits to other
-- nodes of the tree and void the proof. NULL parameters. (epsilon = 1e9: no noise.)

CREATE TEMP TABLE visits (t integer, flu boolean);
INSERT INTO visits VALUES (1, true), (2, NULL), (3, false), (4, NULL), (5, true), (6, NULL);

SELECT t, flu,
       dp_running_count(flu, 1e9) OVER w AS "window",
       dp_running_count(flu::integer::bit, 1e9) OVER w AS bit,
       dp_running_count(flu, 1e9, 3, 6) OVER w AS aggregate
FROM visits WINDOW w AS (ORDER BY t) ORDER BY t;
SELECT dp_running_count(flu, 1e9, 3, 6), dp_count(flu, 1e9) FROM visits;

-- all of them NULL
SELECT t, dp_running_count(NULL::boolean, 1e9) OVER w, dp_running_count(NULL::bit, 1e9) OVER w,
       dp_running_count(NULL, 1e9, 3, 6) OVER w
FROM visits WINDOW w AS (ORDER BY t) ORDER BY t;
SELECT dp_running_count(NULL, 1e9, 3, 6), dp_count(NULL, 1e9) FROM visits;

-- They are steps: a horizon of 5 does not hold 6 rows, three of them NULL.
SELECT dp_running_count(flu, 1e9, horizon => 5) OVER (ORDER BY t) FROM visits;
SELECT dp_running_count(flu::integer::bit, 1e9, horizon => 5) OVER (ORDER BY t) FROM visits;
SELECT dp_running_count(flu, 1e9, 3, 5) OVER (ORDER BY t) FROM visits;
SELECT dp_running_count(flu, 1e9, 3, 5) FROM visits;
SELECT dp_running_count(NULL, 1e9, 3, 5) FROM visits;

-- PostgreSQL 19 has IGNORE NULLS. It would be no step of a row that is NULL, so it is refused, as of row_number().
CREATE FUNCTION pg_temp.ignores_nulls(call text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('server_version_num')::integer < 190000 THEN
        RETURN false;
    END IF;
    EXECUTE format('SELECT %s IGNORE NULLS OVER (ORDER BY t) FROM visits', call);
    RETURN true;
EXCEPTION WHEN feature_not_supported THEN
    RETURN false;
END $$;
SELECT call, pg_temp.ignores_nulls(call)
FROM unnest(ARRAY['dp_running_count(flu, 1e9)', 'dp_running_count(flu::integer::bit, 1e9)',
                  'dp_running_sum(flu::integer, 1e9, 1)', 'dp_monotone(t)']) AS call;

-- and each has a noise of its own: with much noise neighboring releases differ
SELECT count(*) AS releases, count(DISTINCT n) > 990 AS all_noisy
FROM (SELECT dp_running_count(NULL::boolean, 1e-6) OVER (ORDER BY t) AS n FROM generate_series(1, 1000) t) s;
SELECT count(*) AS releases, count(DISTINCT n) > 990 AS all_noisy
FROM (SELECT dp_running_count(NULL, 1e-6, 3, 1000) OVER (ORDER BY t) AS n FROM generate_series(1, 1000) t) s;

-- ORDER BY and PARTITION BY values may be NULL like any other
SELECT g, t, dp_running_count(flu, 1e9) OVER (PARTITION BY g ORDER BY t NULLS FIRST)
FROM (VALUES (1, NULL, true), (1, 2, true), (NULL, 1, true), (NULL, 2, true)) v (g, t, flu)
ORDER BY g NULLS FIRST, t NULLS FIRST;

-- k, mechanism and (in the window function) horizon may be NULL: chosen, chosen, the number of rows
SELECT max(n) FROM (SELECT dp_running_count(flu, 1e9, NULL, NULL, NULL::bigint) OVER (ORDER BY t) AS n FROM visits) s;
SELECT max(n) FROM (SELECT dp_running_count(flu, 1e9, NULL, NULL::text, NULL::bigint) OVER (ORDER BY t) AS n FROM visits) s;
SELECT dp_running_count(flu, 1e9, NULL, 6) FROM visits;
SELECT dp_running_count(flu, 1e9, 3, NULL::bigint) FROM visits;
-- epsilon may not
SELECT dp_running_count(flu, NULL) OVER () FROM visits;
\echo SQLSTATE :LAST_ERROR_SQLSTATE
SELECT dp_running_count(flu, NULL, 3, 6) FROM visits;
\echo SQLSTATE :LAST_ERROR_SQLSTATE
SELECT dp_count(flu, NULL) FROM visits;
