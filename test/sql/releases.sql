-- What one release is: a call, where it is written, at every evaluation. Two equal calls are two releases, and what
-- PostgreSQL copies as text is written as often as it is copied.
-- With epsilon this small two independent releases agree with a probability below 1e-9.

CREATE TEMP TABLE visits (t integer, flu boolean);
INSERT INTO visits SELECT t, t % 2 = 0 FROM generate_series(1, 20) t;

-- the same call, written twice, shares no noise
SELECT bool_or(a = b) AS share
FROM (SELECT dp_running_count(flu, 1e-9) OVER (ORDER BY t) AS a, dp_running_count(flu, 1e-9) OVER (ORDER BY t) AS b FROM visits) s;
SELECT bool_or(a = b) AS share
FROM (SELECT dp_running_count(flu, 1e-9) OVER w AS a, dp_running_count(flu, 1e-9) OVER w + 1 - 1 AS b
    FROM visits WINDOW w AS (ORDER BY t)) s;
SELECT bool_or(a = b) AS share
FROM (SELECT dp_running_count(flu, 1e-9, 3, 20) OVER w AS a, dp_running_count(flu, 1e-9, 3, 20) OVER w AS b
    FROM visits WINDOW w AS (ORDER BY t)) s;
SELECT dp_running_count(flu, 1e-9, 3, 20) = dp_running_count(flu, 1e-9, 3, 20) AS share FROM visits;
SELECT dp_count(flu, 1e-9) = dp_count(flu, 1e-9) AS share FROM visits;
SELECT bool_or(a = b) AS share
FROM (SELECT dp_count(flu, 1e-9) OVER () AS a, dp_count(flu, 1e-9) OVER () AS b FROM visits) s;
-- nor do two columns that add a noise of zeros to a truth
SELECT bool_or(a - 1 = b - 2) AS share
FROM (SELECT 1 + dp_running_count(false, 1e-9, horizon => 20) OVER w AS a, 2 + dp_running_count(false, 1e-9, horizon => 20) OVER w AS b
      FROM visits WINDOW w AS (ORDER BY t)) s;

-- The select list's own expression in ORDER BY or DISTINCT is not written again.
SELECT array_agg(n) = array_agg(n ORDER BY n) AS sorted_by_what_is_shown
FROM (SELECT dp_running_count(flu, 1e-9) OVER (ORDER BY t) AS n FROM visits
      ORDER BY dp_running_count(flu, 1e-9) OVER (ORDER BY t)) s;
SELECT array_agg(n) = array_agg(n ORDER BY n) AS sorted_by_what_is_shown
FROM (SELECT dp_count(flu, 1e-9) AS n FROM visits GROUP BY t ORDER BY dp_count(flu, 1e-9)) s;

-- A column that holds a release is read as often as one likes: the planner copies no call, evaluates none while
-- planning, and a condition outside sees what is shown.
CREATE TEMP VIEW one AS SELECT (SELECT dp_count(flu, 1e-9) FROM visits) AS x;
SELECT a = b AND b = c AS share FROM (SELECT x AS a, x AS b, x AS c FROM one) s;
SELECT a = b AND b = c AS share FROM (SELECT x AS a, x AS b, x AS c
    FROM (SELECT (SELECT max(n) FROM (SELECT dp_running_count(flu, 1e-9) OVER (ORDER BY t) AS n FROM visits) r) AS x) s) s;
SELECT count(*) FILTER (WHERE y < 0) AS beside_case
FROM (SELECT CASE WHEN x < 0 THEN 0 ELSE x END AS y FROM (SELECT (SELECT dp_count(flu, 1e-9) FROM visits WHERE t > -g) AS x
    FROM generate_series(1, 1000) g) s) s;
SELECT count(*) FILTER (WHERE x <= 0) AS beside_where
FROM (SELECT (SELECT dp_count(flu, 1e-9) FROM visits WHERE t > -g) AS x FROM generate_series(1, 1000) g) s WHERE x > 0;
SELECT count(DISTINCT x + y) AS releases
FROM generate_series(1, 100), (SELECT (SELECT dp_count(flu, 1e-9) FROM visits) AS x, 1 AS y) s; -- once, not a row
SELECT count(*) FILTER (WHERE n <= 0) AS beside_where FROM (SELECT t, dp_running_count(flu, 1e-9) OVER (ORDER BY t) AS n FROM visits) s
    WHERE n > 0;
SELECT count(*) FILTER (WHERE n <= 0) AS beside_where FROM (SELECT t, dp_count(flu, 1e-9) AS n FROM visits GROUP BY t) s WHERE n > 0;
SELECT bool_and(n = m) AS share FROM (SELECT n, n AS m FROM (SELECT dp_running_count(flu, 1e-9) OVER (ORDER BY t) AS n FROM visits) s) u;
SELECT bool_and(n = m) AS share FROM (SELECT n, n AS m FROM (SELECT t, dp_count(flu, 1e-9) AS n FROM visits GROUP BY t) s) u;

-- different calls: another epsilon, k, mechanism, horizon, bit, order, partition or kind
SELECT bool_and(a = b) AS epsilon, bool_and(a = c) AS k, bool_and(a = d) AS mechanism, bool_and(a = e) AS horizon,
       bool_and(a = f) AS bit, bool_and(a = g) AS "order", bool_and(a = h) AS aggregate, bool_and(a = i) AS type
FROM (SELECT dp_running_count(flu, 1e-9, 3, 'plain') OVER w AS a,
             dp_running_count(flu, 1.5e-9, 3, 'plain') OVER w AS b,
             dp_running_count(flu, 1e-9, 4, 'plain') OVER w AS c,
             dp_running_count(flu, 1e-9, 3, 'subtraction') OVER w AS d,
             dp_running_count(flu, 1e-9, 3, 'plain', 20) OVER w AS e,
             dp_running_count(NOT flu, 1e-9, 3, 'plain') OVER w AS f,
             dp_running_count(flu, 1e-9, 3, 'plain') OVER (ORDER BY t, flu) AS g,
             dp_running_count(flu, 1e-9, 3, 20) OVER w AS h,
             dp_running_count(flu::integer::bit, 1e-9, 3, 'plain') OVER w AS i
      FROM visits WINDOW w AS (ORDER BY t)) s;
SELECT dp_count(flu, 1e-9) = dp_count(flu, 2e-9) AS epsilon, dp_count(flu, 1e-9) = dp_count(flu AND true OR t < 0, 1e-9) AS bit FROM visits;

-- every evaluation is a new release
CREATE TEMP TABLE evaluations AS
    SELECT 1 AS e, t, dp_running_count(flu, 1e-9) OVER (ORDER BY t) AS n FROM visits;
INSERT INTO evaluations SELECT 2, t, dp_running_count(flu, 1e-9) OVER (ORDER BY t) FROM visits;
INSERT INTO evaluations SELECT 3, t, dp_running_count(flu, 1e-9, 3, 20) OVER (ORDER BY t) FROM visits;
INSERT INTO evaluations SELECT 4, t, dp_running_count(flu, 1e-9, 3, 20) OVER (ORDER BY t) FROM visits;
SELECT count(DISTINCT ns) AS releases FROM (SELECT array_agg(n ORDER BY t) AS ns FROM evaluations GROUP BY e) s;

-- A view is evaluated wherever it is used.
CREATE TEMP VIEW running AS SELECT t, dp_running_count(flu, 1e-9) OVER (ORDER BY t) AS n FROM visits;
CREATE TEMP VIEW total AS SELECT dp_count(flu, 1e-9) AS n FROM visits;
SELECT bool_and(a.n = b.n) AS share FROM running a JOIN running b USING (t);
SELECT a.n = b.n AS share FROM total a, total b;
-- a CTE that is used twice, once
WITH r AS (SELECT t, dp_running_count(flu, 1e-9) OVER (ORDER BY t) AS n FROM visits)
SELECT bool_and(a.n = b.n) AS share FROM r a JOIN r b USING (t);
WITH r AS (SELECT dp_count(flu, 1e-9) AS n FROM visits)
SELECT a.n = b.n AS share FROM r a, r b;
-- even where it is asked to be written out
WITH r AS NOT MATERIALIZED (SELECT t, dp_running_count(flu, 1e-9) OVER (ORDER BY t) AS n FROM visits)
SELECT bool_and(a.n = b.n) AS share FROM r a JOIN r b USING (t);
WITH r AS NOT MATERIALIZED (SELECT t, dp_running_count(flu, 1e-9, 3, 20) OVER (ORDER BY t) AS n FROM visits)
SELECT bool_and(a.n = b.n) AS share FROM r a JOIN r b USING (t);
WITH r AS NOT MATERIALIZED (SELECT dp_count(flu, 1e-9) AS n FROM visits)
SELECT a.n = b.n AS share FROM r a, r b;
-- a materialized view holds one release until it is refreshed
CREATE MATERIALIZED VIEW dp_held AS SELECT t, dp_running_count(flu, 1e-9) OVER (ORDER BY t) AS n
    FROM (SELECT t, t % 2 = 0 AS flu FROM generate_series(1, 20) t) s;
CREATE TEMP TABLE first_release AS SELECT * FROM dp_held;
SELECT bool_and(a.n = b.n) AS held FROM dp_held a JOIN first_release b USING (t);
REFRESH MATERIALIZED VIEW dp_held;
SELECT bool_and(a.n = b.n) AS held FROM dp_held a JOIN first_release b USING (t);
DROP MATERIALIZED VIEW dp_held;

-- What multiplies releases all the same, since the call is written again (docs/queries.md: "Release once, read often").
-- x BETWEEN a AND b is x >= a AND x <= b: with one release it is never both above 0 and below it
SELECT bool_or(x BETWEEN 1 AND -1) AS as_column, bool_or((SELECT dp_count(flu, 1e-9) FROM visits WHERE t > -g) BETWEEN 1
    AND -1) AS as_sublink
FROM (SELECT g, (SELECT dp_count(flu, 1e-9) FROM visits WHERE t > -g) AS x FROM generate_series(1, 1000) g) s;
-- (a record).* names the record for every column
CREATE TYPE pg_temp.pair AS (a bigint, b bigint);
SELECT a = b AS share FROM (SELECT ((SELECT ROW(n, n)::pg_temp.pair FROM (SELECT dp_count(flu, 1e-9) AS n FROM visits OFFSET 0) s)).*) s;
-- HAVING, and another window's ORDER BY, that repeat a call (unless the select list has the same expression as a whole)
SELECT count(*) FILTER (WHERE n <= 0) > 0 AS beside_having
FROM (SELECT g, dp_count(g > 0, 1e-9) AS n FROM generate_series(1, 1000) g GROUP BY g HAVING dp_count(g > 0, 1e-9) > 0) s;
SELECT count(*) FILTER (WHERE n <= 0) AS in_an_outer_query
FROM (SELECT g, dp_count(g > 0, 1e-9) AS n FROM generate_series(1, 1000) g GROUP BY g) s WHERE n > 0;
SELECT bool_and(n = by_rank) AS ranked_by_what_is_shown
FROM (SELECT n, (array_agg(n) OVER (ORDER BY n DESC ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING))[rank] AS by_rank
      FROM (SELECT dp_count(flu, 1e-9) AS n, rank() OVER (ORDER BY -dp_count(flu, 1e-9)) AS rank FROM visits GROUP BY t) r) s;
SELECT bool_and(n = by_rank) AS in_an_outer_query
FROM (SELECT n, (array_agg(n) OVER (ORDER BY n DESC ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING))[rank] AS by_rank
      FROM (SELECT n, rank() OVER (ORDER BY n DESC) AS rank FROM (SELECT dp_count(flu, 1e-9) AS n FROM visits GROUP BY t) q) r) s;
-- a CASE that repeats it
SELECT bool_or(n < 0) AS beside_case
FROM (SELECT CASE WHEN dp_running_count(flu, 1e-9) OVER w < 0 THEN 0 ELSE dp_running_count(flu, 1e-9) OVER w END AS n
      FROM (SELECT g, true AS flu FROM generate_series(1, 1000) g) v WINDOW w AS (PARTITION BY g)) s;
-- a rule repeats the query of the statement
CREATE TEMP TABLE dp_stored (n bigint);
CREATE TEMP TABLE dp_logged (n bigint);
CREATE RULE log AS ON INSERT TO dp_stored DO ALSO INSERT INTO dp_logged VALUES (NEW.n);
INSERT INTO dp_stored SELECT dp_count(flu, 1e-9) FROM visits;
SELECT s.n = l.n AS share FROM dp_stored s, dp_logged l;
-- REFRESH: above. From 17 on a role with the privilege MAINTAIN may do it, and may do it again and again.
CREATE ROLE regress_dp_maintainer;
CREATE FUNCTION pg_temp.maintained() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    before bigint;
BEGIN
    CREATE MATERIALIZED VIEW dp_maintained AS SELECT dp_count(v > 0, 1e-9) AS n FROM generate_series(1, 9) v;
    IF current_setting('server_version_num')::integer >= 170000 THEN
        before := n FROM dp_maintained;
        EXECUTE 'GRANT MAINTAIN ON dp_maintained TO regress_dp_maintainer';
        SET LOCAL ROLE regress_dp_maintainer;
        REFRESH MATERIALIZED VIEW dp_maintained;
        RESET ROLE;
        RETURN before <> n FROM dp_maintained;
    END IF;
    RETURN true;
END $$;
SELECT pg_temp.maintained() AS a_new_release;
DROP MATERIALIZED VIEW dp_maintained;
DROP ROLE regress_dp_maintainer;
-- (A restored dump refreshes its materialized views: test/t/marks.pl.)
-- A table made from the query is one release, whatever reads it.
CREATE TEMP TABLE dp_released AS SELECT t, dp_running_count(flu, 1e-9) OVER (ORDER BY t) AS n FROM visits;
SELECT bool_and(a.n = b.n) AS share FROM dp_released a JOIN dp_released b USING (t);
WITH r AS MATERIALIZED (SELECT dp_count(flu, 1e-9) AS n FROM visits) SELECT a.n = b.n AS share FROM r a, r b;

-- The mark in the catalog is looked up once a query: without it nothing is drawn. (pg_upgrade forgets those of the
-- aggregates.)
BEGIN;
SELECT dp_repair();
UPDATE pg_proc SET provolatile = 'i' WHERE oid = 'dp_count(boolean, float8)'::regprocedure;
UPDATE pg_proc SET provolatile = 's' WHERE oid = 'dp_running_count(boolean, float8, integer, bigint)'::regprocedure;
SAVEPOINT s;
SELECT dp_count(flu, 1e9) FROM visits;
\echo SQLSTATE :LAST_ERROR_SQLSTATE
ROLLBACK TO s;
\set VERBOSITY terse
SELECT dp_count(flu, 1e9) FROM visits WHERE false;
ROLLBACK TO s;
SELECT dp_count(flu, 1e9) OVER () FROM visits;
ROLLBACK TO s;
SELECT dp_running_count(flu, 1e9, 3, 20) FROM visits;
ROLLBACK TO s;
SELECT dp_running_count(flu, 1e9, 3, 20) FROM visits WHERE false;
ROLLBACK TO s;
SELECT dp_running_count(flu, 1e9, 3, 20) OVER (ORDER BY t), sum(t) OVER (ORDER BY t) FROM visits;
ROLLBACK TO s;
SELECT dp_repair();
SELECT dp_count(flu, 1e9), dp_running_count(flu, 1e9, 3, 20) FROM visits;
ALTER FUNCTION dp_running_count(boolean, float8, integer, text, bigint) STABLE;
ALTER FUNCTION dp_running_count(bit, float8, integer, text, bigint) IMMUTABLE;
SAVEPOINT s;
SELECT dp_running_count(flu, 1e9) OVER (ORDER BY t) FROM visits;
ROLLBACK TO s;
SELECT dp_running_count(flu::integer::bit, 1e9) OVER (ORDER BY t) FROM visits;
ROLLBACK TO s;
SELECT dp_repair();
SELECT max(n) FROM (SELECT dp_running_count(flu, 1e9) OVER (ORDER BY t) AS n FROM visits) AS counts;
ROLLBACK;
\set VERBOSITY default

-- Noise is integer, and of either sign.
SELECT bool_or(n < 0) AS below, bool_or(n > 0) AS above FROM (SELECT dp_count(false, 0.01) AS n FROM generate_series(1, 1000) p
    GROUP BY p) s;

-- There is no seed: neither a setting nor PostgreSQL's own generator moves the noise.
SELECT count(*) AS settings FROM pg_settings WHERE name LIKE 'dp\_counter%';
SELECT setseed(0.5);
CREATE TEMP TABLE seeded AS SELECT dp_count(flu, 1e-9) AS n FROM visits;
SELECT setseed(0.5);
SELECT dp_count(flu, 1e-9) = (SELECT n FROM seeded) AS repeats FROM visits;
