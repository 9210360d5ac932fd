-- What one release is. Identical calls in a query share one, so that writing a call twice costs
-- epsilon once; different calls, and every new evaluation, are releases of their own.
-- With epsilon this small two independent releases agree with a probability below 1e-9.

CREATE TEMP TABLE visits (t integer, flu boolean);
INSERT INTO visits SELECT t, t % 2 = 0 FROM generate_series(1, 20) t;

-- the same call, written twice
SELECT bool_and(a = b) AS share
FROM (SELECT dp_running_count(flu, 1e-9) OVER (ORDER BY t) AS a, dp_running_count(flu, 1e-9) OVER (ORDER BY t) AS b FROM visits) s;
SELECT bool_and(a = b) AS share
FROM (SELECT dp_running_count(flu, 1e-9) OVER w AS a, dp_running_count(flu, 1e-9) OVER w + 1 - 1 AS b FROM visits WINDOW w AS (ORDER BY t)) s;
SELECT bool_and(a = b) AS share
FROM (SELECT dp_running_count(flu, 1e-9, 3, 20) OVER w AS a, dp_running_count(flu, 1e-9, 3, 20) OVER w AS b FROM visits WINDOW w AS (ORDER BY t)) s;
SELECT dp_running_count(flu, 1e-9, 3, 20) = dp_running_count(flu, 1e-9, 3, 20) AS share FROM visits;
SELECT dp_count(flu, 1e-9) = dp_count(flu, 1e-9) AS share FROM visits;
SELECT bool_and(a = b) AS share
FROM (SELECT dp_count(flu, 1e-9) OVER () AS a, dp_count(flu, 1e-9) OVER () AS b FROM visits) s;

-- in the select list and in ORDER BY, HAVING, a CASE
SELECT array_agg(n) = array_agg(n ORDER BY n) AS sorted_by_what_is_shown
FROM (SELECT dp_running_count(flu, 1e-9) OVER (ORDER BY t) AS n FROM visits
      ORDER BY dp_running_count(flu, 1e-9) OVER (ORDER BY t)) s;
SELECT count(*) FILTER (WHERE n <= 0) AS beside_having
FROM (SELECT t, dp_count(flu, 1e-9) AS n FROM visits GROUP BY t HAVING dp_count(flu, 1e-9) > 0) s;
SELECT count(*) FILTER (WHERE n < 0) AS beside_case
FROM (SELECT CASE WHEN dp_running_count(flu, 1e-9) OVER w < 0 THEN 0 ELSE dp_running_count(flu, 1e-9) OVER w END AS n
      FROM visits WINDOW w AS (ORDER BY t)) s;

-- a condition outside sees what is shown, too
SELECT count(*) FILTER (WHERE n <= 0) AS beside_where FROM (SELECT t, dp_running_count(flu, 1e-9) OVER (ORDER BY t) AS n FROM visits) s WHERE n > 0;
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
-- unless it is asked to be written out
WITH r AS NOT MATERIALIZED (SELECT t, dp_running_count(flu, 1e-9) OVER (ORDER BY t) AS n FROM visits)
SELECT bool_and(a.n = b.n) AS share FROM r a JOIN r b USING (t);
-- a materialized view holds one release until it is refreshed
CREATE MATERIALIZED VIEW dp_held AS SELECT t, dp_running_count(flu, 1e-9) OVER (ORDER BY t) AS n
    FROM (SELECT t, t % 2 = 0 AS flu FROM generate_series(1, 20) t) s;
CREATE TEMP TABLE first_release AS SELECT * FROM dp_held;
SELECT bool_and(a.n = b.n) AS held FROM dp_held a JOIN first_release b USING (t);
REFRESH MATERIALIZED VIEW dp_held;
SELECT bool_and(a.n = b.n) AS held FROM dp_held a JOIN first_release b USING (t);
DROP MATERIALIZED VIEW dp_held;

-- Noise is integer, and of either sign.
SELECT bool_or(n < 0) AS below, bool_or(n > 0) AS above FROM (SELECT dp_count(false, 0.01) AS n FROM generate_series(1, 1000) p GROUP BY p) s;

-- There is no seed: neither a setting nor PostgreSQL's own generator moves the noise.
SELECT count(*) AS settings FROM pg_settings WHERE name LIKE 'dp\_counter%';
SELECT setseed(0.5);
CREATE TEMP TABLE seeded AS SELECT dp_count(flu, 1e-9) AS n FROM visits;
SELECT setseed(0.5);
SELECT dp_count(flu, 1e-9) = (SELECT n FROM seeded) AS repeats FROM visits;
