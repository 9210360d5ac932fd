-- dp_running_count as a window function. With epsilon = 1e9 the noise vanishes: a release equals
-- the true count.

CREATE TEMP TABLE visits (t integer, flu boolean);
INSERT INTO visits SELECT t, t % 3 = 0 FROM generate_series(1, 10) t;

SELECT t, flu, dp_running_count(flu, 1e9) OVER (ORDER BY t) FROM visits ORDER BY t;

-- a row per input row, of type bigint, in the window's order, whatever the order of the output
SELECT pg_typeof(dp_running_count(flu, 1e9) OVER (ORDER BY t)) FROM visits LIMIT 1;
SELECT t, dp_running_count(flu, 1e9) OVER (ORDER BY t DESC) FROM visits ORDER BY t;
SELECT t, dp_running_count(flu, 1e9) OVER (ORDER BY flu DESC, t) FROM visits ORDER BY t;

-- several windows in one query
SELECT t,
       dp_running_count(flu, 1e9) OVER up AS up,
       dp_running_count(flu, 1e9) OVER down AS down,
       sum(flu::integer) OVER up AS true_up,
       row_number() OVER down AS place
FROM visits
WINDOW up AS (ORDER BY t), down AS (ORDER BY t DESC)
ORDER BY t;

-- the bit may be any condition
SELECT t, dp_running_count(t > 4 AND flu, 1e9) OVER (ORDER BY t) FROM visits ORDER BY t;

-- k, mechanism and horizon, each and together
SELECT t,
       dp_running_count(flu, 1e9, 3) OVER w AS k,
       dp_running_count(flu, 1e9, 3, 'plain') OVER w AS plain,
       dp_running_count(flu, 1e9, 3, 'subtraction') OVER w AS subtraction,
       dp_running_count(flu, 1e9, NULL, 'plain') OVER w AS plain_best_k,
       dp_running_count(flu, 1e9, NULL, 'subtraction') OVER w AS subtraction_best_k,
       dp_running_count(flu, 1e9, horizon => 10) OVER w AS horizon,
       dp_running_count(flu, 1e9, 3, 'plain', 1000000) OVER w AS all_five
FROM visits
WINDOW w AS (ORDER BY t)
ORDER BY t;

-- every k and mechanism counts right at every step, at the borders of the trees and beyond:
-- rows that differ from the true count
WITH stream AS (
    SELECT k, mechanism, horizon, t, t * t % 7 < 3 AS bit
    FROM unnest(ARRAY[NULL, 2, 3, 4, 5, 6, 7, 19, 20, 100, 101, 1000, 65534, 65535]) k,
         unnest(ARRAY[NULL, 'subtraction', 'plain', 'hat']) mechanism,
         unnest(ARRAY[1, 2, 3, 4, 5, 15, 16, 40, 41, 180, 181, 500]) horizon,
         generate_series(1, horizon) t
    WHERE mechanism IS DISTINCT FROM 'hat' OR k IS NULL OR k <= 4096
), counted AS (
    SELECT dp_running_count(bit, 1e9, k, mechanism, horizon) OVER w AS told,
           dp_running_count(bit, 1e9, k, mechanism) OVER w AS untold,
           sum(bit::integer) OVER w AS truth
    FROM stream
    WINDOW w AS (PARTITION BY k, mechanism, horizon ORDER BY t)
)
SELECT count(*) AS rows,
       count(*) FILTER (WHERE told IS DISTINCT FROM truth) AS told_wrong,
       count(*) FILTER (WHERE untold IS DISTINCT FROM truth) AS untold_wrong
FROM counted;

-- a longer stream
SELECT count(*) AS rows, count(*) FILTER (WHERE n <> truth) AS wrong, max(n) AS last
FROM (SELECT dp_running_count(t % 5 = 0, 1e9) OVER w AS n,
             sum((t % 5 = 0)::integer) OVER w AS truth
      FROM generate_series(1, 100000) t
      WINDOW w AS (ORDER BY t)) s;

-- The count is that of the rows up to the current one, also where the frame is all of the partition. (Other frames: frames.sql.)
SELECT t,
       dp_running_count(flu, 1e9) OVER (ORDER BY t ROWS UNBOUNDED PRECEDING) AS rows,
       dp_running_count(flu, 1e9) OVER (ORDER BY t GROUPS UNBOUNDED PRECEDING) AS groups,
       dp_running_count(flu, 1e9) OVER (ORDER BY t GROUPS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS whole
FROM visits
ORDER BY t;

-- A third argument that may be meant as a horizon: a NOTICE, once a statement.
SELECT max(n + m + o) FROM (SELECT dp_running_count(flu, 1e9, 10) OVER (PARTITION BY t % 2 ORDER BY t) AS n,
    dp_running_count(flu::integer::bit, 1e9, k => 1000) OVER (ORDER BY t) AS m,
                                   dp_running_count(flu, 1e9, 10) OVER (ORDER BY t DESC) AS o FROM visits) s;
DO $$ BEGIN FOR i IN 1 .. 3 LOOP PERFORM dp_running_count(flu, 1e9, 10) OVER (ORDER BY t) FROM visits; END LOOP; END $$;
SELECT max(n) FROM (SELECT dp_running_count(flu, 1e9, 9) OVER (ORDER BY t) AS n FROM visits) s; -- none
SELECT max(n) FROM (SELECT dp_running_count(flu, 1e9, 10, 'plain') OVER (ORDER BY t) AS n FROM visits) s;
SELECT max(n) FROM (SELECT dp_running_count(flu, 1e9, 10, horizon => 10) OVER (ORDER BY t) AS n FROM visits) s;
SELECT max(n) FROM (SELECT dp_running_sum(t, 1e9, 1, k => 10) OVER (ORDER BY t) AS n FROM visits) s;

-- no rows, no releases
SELECT t, dp_running_count(flu, 1e9) OVER (ORDER BY t) FROM visits WHERE false;
SELECT t, dp_running_count(flu, 1e9, horizon => 5) OVER (ORDER BY t) FROM visits WHERE false;

-- the smallest stream
SELECT dp_running_count(true, 1e9) OVER (), dp_running_count(false, 1e9, 65535, 'plain', 1) OVER ();

-- LIMIT stops a stream early; with a horizon no bit is read ahead
SELECT t, dp_running_count(flu, 1e9) OVER (ORDER BY t) FROM visits ORDER BY t LIMIT 3;
SELECT t, dp_running_count(flu, 1e9) OVER (ORDER BY t) FROM visits ORDER BY t OFFSET 8;
CREATE TEMP SEQUENCE rows_read;
CREATE TEMP TABLE endless AS SELECT generate_series(1, 100000) AS t;
CREATE INDEX ON endless (t);
ANALYZE endless;
SELECT t, dp_running_count(nextval('rows_read') > 0 AND t % 2 = 0, 1e9, horizon => 4611686018427387904) OVER (ORDER BY t)
FROM endless
LIMIT 4;
SELECT last_value AS rows_read FROM rows_read;

-- over other tables' rows: joins, grouped input, set operations
SELECT v.t, dp_running_count(v.flu, 1e9) OVER (ORDER BY v.t, p.day)
FROM visits v JOIN (VALUES (1), (2)) p (day) ON v.t > 6
ORDER BY v.t, p.day;
SELECT day, dp_running_count(bool_or(flu), 1e9) OVER (ORDER BY day) FROM (SELECT t % 3 AS day, flu FROM visits) d GROUP BY day ORDER BY day;
SELECT dp_running_count(flu, 1e9) OVER (ORDER BY t)
FROM (SELECT t, flu FROM visits UNION ALL SELECT 100 + t, true FROM visits) u
ORDER BY 1 DESC
LIMIT 1;

-- into a table, as the source of an update and a delete
CREATE TEMP TABLE published AS
    SELECT t, dp_running_count(flu, 1e9) OVER (ORDER BY t) AS n FROM visits;
SELECT array_agg(n ORDER BY t) FROM published;
UPDATE published p SET n = s.n
FROM (SELECT t, dp_running_count(NOT flu, 1e9) OVER (ORDER BY t) AS n FROM visits) s
WHERE s.t = p.t;
SELECT array_agg(n ORDER BY t) FROM published;
INSERT INTO published
    SELECT t + 10, dp_running_count(flu, 1e9) OVER (ORDER BY t) FROM visits WHERE t <= 3
    RETURNING t, n;

-- A window function stands in the select list and in ORDER BY alone: PostgreSQL refuses the rest.
\set VERBOSITY sqlstate
SELECT t FROM visits WHERE dp_running_count(flu, 1e9) OVER () > 3;
SELECT t FROM visits GROUP BY t HAVING dp_running_count(true, 1e9) OVER () > 3;
SELECT dp_running_count(flu, 1e9) FROM visits;
SELECT dp_running_count(flu, 1e9) FILTER (WHERE flu) OVER (ORDER BY t) FROM visits;
SELECT dp_running_count(DISTINCT flu, 1e9) OVER (ORDER BY t) FROM visits;
SELECT dp_running_count(flu, 1e9 ORDER BY t) OVER () FROM visits;
SELECT sum(dp_running_count(flu, 1e9) OVER ()) FROM visits;
SELECT dp_running_count(dp_running_count(flu, 1e9) OVER () > 3, 1e9) OVER () FROM visits;
