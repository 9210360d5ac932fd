-- LATERAL subqueries, nested loops, correlated subqueries: a subquery that PostgreSQL evaluates
-- again is a new release. A result that it merely reads again is not.

CREATE TEMP TABLE visits (t integer, hospital integer, flu boolean);
INSERT INTO visits SELECT t, t % 3, t % 2 = 0 FROM generate_series(1, 30) t;

-- right counts
SELECT g, array_agg(n ORDER BY t)
FROM generate_series(1, 4) g, LATERAL (SELECT t, dp_running_count(flu, 1e9) OVER (ORDER BY t) AS n FROM visits WHERE t <= 2 * g) s
GROUP BY g ORDER BY g;
SELECT g, array_agg(n ORDER BY t)
FROM generate_series(1, 4) g, LATERAL (SELECT t, dp_running_count(flu, 1e9, 2 + g, 2 * g) OVER (ORDER BY t) AS n FROM visits
    WHERE t <= 2 * g) s
GROUP BY g ORDER BY g;
-- parameters from outside are constant in every evaluation
SELECT g, max(n)
FROM generate_series(1, 4) g,
     LATERAL (SELECT dp_running_count(flu, 1e9 / g, 1 + g, CASE WHEN g > 2 THEN 'plain' END, 30 + g) OVER (ORDER BY t) AS n FROM visits) s
GROUP BY g ORDER BY g;
SELECT g, n, m
FROM generate_series(0, 3) g,
     LATERAL (SELECT dp_count(flu, 1e9) AS n, dp_running_count(flu, 1e9, 3, 30) AS m FROM visits WHERE hospital = g) s
ORDER BY g;
SELECT g, (SELECT dp_count(flu, 1e9) FROM visits WHERE hospital = g) AS n,
       (SELECT max(n) FROM (SELECT dp_running_count(flu, 1e9) OVER (ORDER BY t) AS n FROM visits WHERE hospital = g) s) AS m
FROM generate_series(0, 3) g ORDER BY g;
-- a rescan before the end
SELECT g, array_agg(n ORDER BY n)
FROM generate_series(1, 3) g,
     LATERAL (SELECT dp_running_count(flu, 1e9, horizon => 100 + g) OVER (ORDER BY t) AS n FROM visits WHERE t > g LIMIT 3 + g) s
GROUP BY g ORDER BY g;
-- an error in one evaluation
SELECT g, s.n FROM generate_series(28, 31) g,
     LATERAL (SELECT dp_running_count(flu, 1e9, 3, 29) AS n FROM visits WHERE t <= g) s;
SELECT g, s.n FROM generate_series(1, -1, -1) g, LATERAL (SELECT dp_count(flu, g) OVER () AS n FROM visits LIMIT 1) s;

-- every evaluation is a new release
SELECT count(DISTINCT ns) AS releases
FROM (SELECT g, array_agg(n ORDER BY t) AS ns
      FROM generate_series(1, 5) g,
           LATERAL (SELECT t, dp_running_count(flu, 1e-9) OVER (ORDER BY t) AS n FROM visits WHERE t > -g) s
      GROUP BY g) u;
SELECT count(DISTINCT n) AS releases
FROM generate_series(1, 5) g, LATERAL (SELECT dp_count(flu, 1e-9) AS n FROM visits WHERE t > -g) s;
SELECT count(DISTINCT n) AS releases
FROM (SELECT (SELECT dp_count(flu, 1e-9) FROM visits WHERE t > -g) AS n FROM generate_series(1, 5) g) s;

-- A hash aggregate that is read again answers from its table: final functions run again on the same
-- state and must give the release that they gave.
SET enable_material = off;
SET enable_sort = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
CREATE FUNCTION pg_temp.plan_has(query text, node text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line LIKE '%' || node || '%' THEN RETURN true; END IF;
    END LOOP;
    RETURN false;
END $$;
\set query 'SELECT s.hospital, g, s.n, s.m FROM generate_series(1, 5) g LEFT JOIN (SELECT hospital, dp_count(flu, 1e-9) AS n, dp_running_count(flu, 1e-9, 3, 30) AS m FROM visits GROUP BY hospital) s ON s.hospital < g + 10'
SELECT pg_temp.plan_has(:'query', 'HashAggregate') AND pg_temp.plan_has(:'query', 'Nested Loop')
    AND NOT pg_temp.plan_has(:'query', 'Materialize') AS read_again;
SELECT hospital, count(*) AS readings, count(DISTINCT n) AS counts, count(DISTINCT m) AS running_counts FROM (:query) q GROUP BY hospital
    ORDER BY hospital;
RESET enable_material;
RESET enable_sort;
RESET enable_hashjoin;
RESET enable_mergejoin;

-- A subquery that PostgreSQL chooses to evaluate for every row of another one is a release each time;
-- where it keeps the rows (as it does by default) it is one.
\set query 'SELECT g, array_agg(n ORDER BY t) AS ns FROM generate_series(1, 5) g LEFT JOIN (SELECT t, dp_running_count(flu, 1e-9) OVER (ORDER BY t) AS n FROM visits) s ON t < g + 100 GROUP BY g'
SELECT count(DISTINCT ns) AS releases FROM (:query) q;
SET enable_material = off;
SELECT count(DISTINCT ns) AS releases FROM (:query) q;
RESET enable_material;

-- the initial plan of an uncorrelated subquery is evaluated once
SELECT count(DISTINCT n) AS releases FROM (SELECT (SELECT dp_count(flu, 1e-9) FROM visits) AS n FROM generate_series(1, 100) g) s;
