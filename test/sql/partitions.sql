-- PARTITION BY: every partition is a count of its own, with noise of its own.

CREATE TEMP TABLE visits (t integer, hospital text, flu boolean);
INSERT INTO visits SELECT t, (ARRAY['north', 'south', 'east'])[1 + t % 3], t % 2 = 0 FROM generate_series(1, 15) t;

SELECT hospital, t, flu,
       dp_running_count(flu, 1e9) OVER w AS "window",
       dp_running_count(flu, 1e9, horizon => 5) OVER w AS horizon,
       dp_running_count(flu::integer::bit, 1e9) OVER w AS bit,
       dp_running_count(flu, 1e9, 3, 5) OVER w AS aggregate
FROM visits
WINDOW w AS (PARTITION BY hospital ORDER BY t)
ORDER BY hospital COLLATE "C", t;

-- partitions of different lengths, of one row, by expressions, by several columns
SELECT p, count(*), max(n)
FROM (SELECT t / 7 AS p, dp_running_count(true, 1e9) OVER (PARTITION BY t / 7 ORDER BY t) AS n FROM visits) s
GROUP BY p ORDER BY p;
SELECT max(n) FROM (SELECT dp_running_count(true, 1e9) OVER (PARTITION BY t) AS n FROM visits) s;
SELECT hospital, flu, max(n)
FROM (SELECT hospital, flu, dp_running_count(flu, 1e9) OVER (PARTITION BY hospital, flu ORDER BY t) AS n FROM visits) s
GROUP BY hospital, flu ORDER BY hospital COLLATE "C", flu;

-- parameters may differ between partitions
SELECT p, epsilon, k, mechanism, horizon, max(n)
FROM (SELECT p, epsilon, k, mechanism, horizon,
             dp_running_count(true, epsilon, k, mechanism, horizon) OVER (PARTITION BY p ORDER BY t) AS n
      FROM (VALUES (1, 1e9, 3, 'plain', 4), (2, 1e8, NULL, 'plain', 9), (3, 1e9, 19, NULL, NULL), (4, 1e7, NULL, NULL, 1000000))
               v (p, epsilon, k, mechanism, horizon), generate_series(1, 4) t) s
GROUP BY p, epsilon, k, mechanism, horizon ORDER BY p;
SELECT DISTINCT p, dp_running_count(true, epsilon, k, horizon) OVER w, dp_count(true, epsilon) OVER w
FROM (VALUES (1, 1e9, 3, 4), (2, 1e8, NULL, 9), (3, 1e7, NULL, 1000000))
         v (p, epsilon, k, horizon), generate_series(1, 4) t
WINDOW w AS (PARTITION BY p) ORDER BY p;

-- the horizon is for each partition
SELECT hospital, t, dp_running_count(flu, 1e9, horizon => 4) OVER (PARTITION BY hospital ORDER BY t) FROM visits;
\echo SQLSTATE :LAST_ERROR_SQLSTATE

-- noise is fresh in each: the first releases of 1000 partitions are not equal
SELECT count(DISTINCT a) > 900 AS "window", count(DISTINCT b) > 900 AS aggregate, count(DISTINCT c) > 900 AS count
FROM (SELECT dp_running_count(false, 1e-6, 3) OVER w AS a,
             dp_running_count(false, 1e-6, 3, 10) OVER w AS b,
             dp_count(false, 1e-6) OVER w AS c
      FROM generate_series(1, 1000) p WINDOW w AS (PARTITION BY p)) s;
SELECT count(DISTINCT a) > 900 AS aggregate, count(DISTINCT b) > 900 AS count
FROM (SELECT dp_running_count(false, 1e-6, 3, 10) AS a, dp_count(false, 1e-6) AS b
      FROM generate_series(1, 1000) p GROUP BY p) s;

-- the true count and the noise of one partition do not leak into the next: zeros stay near zero
SELECT p, min(n), max(n)
FROM (SELECT p, dp_running_count(p = 1, 1e9) OVER (PARTITION BY p ORDER BY t) AS n
      FROM generate_series(1, 3) p, generate_series(1, 1000) t) s
GROUP BY p ORDER BY p;

-- 100,000 partitions
CREATE TEMP TABLE many AS
    SELECT p, t, (p + t) % 3 = 0 AS bit FROM generate_series(1, 100000) p, generate_series(1, 3) t;
SELECT count(*), count(*) FILTER (WHERE a <> truth) AS wrong_window, count(*) FILTER (WHERE b <> truth) AS wrong_aggregate
FROM (SELECT dp_running_count(bit, 1e9) OVER w AS a,
             dp_running_count(bit, 1e9, 3, 3) OVER w AS b,
             sum(bit::integer) OVER w AS truth
      FROM many WINDOW w AS (PARTITION BY p ORDER BY t)) s;
SELECT count(*), count(*) FILTER (WHERE a <> truth) AS wrong_aggregate, count(*) FILTER (WHERE b <> truth) AS wrong_count
FROM (SELECT dp_running_count(bit, 1e9, 3, 3) AS a, dp_count(bit, 1e9) AS b, sum(bit::integer) AS truth
      FROM many GROUP BY p) s;
SET enable_hashagg = off;
SELECT count(*), count(*) FILTER (WHERE a <> truth) AS wrong_aggregate, count(*) FILTER (WHERE b <> truth) AS wrong_count
FROM (SELECT dp_running_count(bit, 1e9, 3, 3) AS a, dp_count(bit, 1e9) AS b, sum(bit::integer) AS truth
      FROM many GROUP BY p) s;
RESET enable_hashagg;
-- of different horizons, each with a plan of its own
SELECT count(*), count(*) FILTER (WHERE n <> truth) AS wrong
FROM (SELECT dp_running_count(bit, 1e9, NULL, NULL, p) OVER w AS n, sum(bit::integer) OVER w AS truth
      FROM many WHERE p BETWEEN 3 AND 2000 WINDOW w AS (PARTITION BY p ORDER BY t)) s;

-- What is public of a mechanism is shared with the backend's cache, which keeps one of these: the first stream of each partition
-- still counts with its own, without noise.
SELECT count(*) FILTER (WHERE exact <> truth) AS wrong, count(*) FILTER (WHERE noisy <> truth) > 9000 AS noisy
FROM (SELECT dp_running_count(b, 1e9, NULL, 'hat', 1000) OVER w AS exact,
             dp_running_count(b, 1e-3, NULL, 'hat', 1000) OVER w AS noisy,
             sum(b::integer) OVER w AS truth
      FROM (SELECT t, t / 100 AS p, t % 3 = 0 AS b FROM generate_series(0, 9999) t) AS rows
      WINDOW w AS (PARTITION BY p ORDER BY t)) AS releases;
