-- dp_running_count as an aggregate: the count after the last row in GROUP BY, a running count
-- without spooling under OVER. (epsilon = 1e9: no noise.)

CREATE TEMP TABLE visits (t integer, hospital text, flu boolean);
INSERT INTO visits SELECT t, CASE WHEN t % 4 = 0 THEN 'north' ELSE 'south' END, t % 3 = 0
FROM generate_series(1, 20) t;

-- after the last row
SELECT dp_running_count(flu, 1e9, 3, 20) FROM visits;
SELECT dp_running_count(flu, 1e9, NULL, 20) FROM visits;
SELECT pg_typeof(dp_running_count(flu, 1e9, 3, 20)) FROM visits;

SELECT hospital, count(*), dp_running_count(flu, 1e9, 3, 20)
FROM visits GROUP BY hospital ORDER BY hospital COLLATE "C";

-- in the order of choice (the order decides nothing but which noise terms a row meets)
SELECT dp_running_count(flu, 1e9, 3, 20 ORDER BY t DESC) FROM visits;

-- HAVING and ORDER BY see the value that is shown
SELECT hospital, dp_running_count(flu, 1e9, 3, 20)
FROM visits GROUP BY hospital
HAVING dp_running_count(flu, 1e9, 3, 20) > 4
ORDER BY dp_running_count(flu, 1e9, 3, 20);

-- no row: no step was made and nothing is hidden; groups that do not exist have no row
SELECT dp_running_count(flu, 1e9, 3, 20) FROM visits WHERE false;
SELECT dp_running_count(flu, 0.001, 3, 20) FROM visits WHERE false;
SELECT hospital, dp_running_count(flu, 1e9, 3, 20) FROM visits WHERE false GROUP BY hospital;

-- under OVER with a growing frame: a release for every row
SELECT t,
       dp_running_count(flu, 1e9, 3, 20) OVER (ORDER BY t) AS by_default,
       dp_running_count(flu, 1e9, 3, 20) OVER (ORDER BY t GROUPS UNBOUNDED PRECEDING) AS by_groups,
       dp_running_count(flu, 1e9, 3, 20) OVER (PARTITION BY hospital ORDER BY t) AS by_hospital
FROM visits ORDER BY t;

-- rows that tie share one output, after the last of them
SELECT t / 4 AS week, dp_running_count(flu, 1e9, 3, 20) OVER (ORDER BY t / 4), sum(flu::integer) OVER (ORDER BY t / 4) AS truth
FROM visits ORDER BY week;

CREATE FUNCTION pg_temp.last_of(k integer, horizon bigint, upto bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT dp_running_count(t * t % 7 < 3, 1e9, k, horizon) FROM generate_series(1, upto) t);
END $$;
-- every k counts right at every step: rows that differ from the true count
WITH stream AS (
    SELECT k, horizon, t, t * t % 7 < 3 AS bit
    FROM unnest(ARRAY[NULL, 2, 3, 4, 5, 19, 20, 101, 4096]) k,
         unnest(ARRAY[1, 2, 3, 4, 15, 16, 40, 41, 500]) horizon,
         generate_series(1, horizon) t
), over_rows AS (
    SELECT k, horizon, t,
           dp_running_count(bit, 1e9, k, horizon) OVER w AS released,
           sum(bit::integer) OVER w AS truth
    FROM stream
    WINDOW w AS (PARTITION BY k, horizon ORDER BY t)
), grouped AS (
    SELECT pg_temp.last_of(k, horizon, horizon) AS released, sum(bit::integer) AS truth
    FROM stream GROUP BY k, horizon
)
SELECT 'over' AS form, count(*), count(*) FILTER (WHERE released IS DISTINCT FROM truth) AS wrong FROM over_rows
UNION ALL
SELECT 'group', count(*), count(*) FILTER (WHERE released IS DISTINCT FROM truth) FROM grouped;

-- both forms in one query
SELECT hospital, dp_running_count(flu, 1e9, 3, 20),
       dp_running_count(max(t) > 19, 1e9, 3, 20) OVER (ORDER BY hospital COLLATE "C")
FROM visits GROUP BY hospital ORDER BY hospital COLLATE "C";

-- Without a horizon the stream goes on for ever, in epochs of growing length: right at every step,
-- across the borders of the first four, for every k.
SELECT dp_running_count(flu, 1e9, 3, NULL::bigint) FROM visits;
SELECT t, dp_running_count(flu, 1e9, 3, NULL::bigint) OVER (ORDER BY t) FROM visits ORDER BY t LIMIT 16;
WITH stream AS (
    SELECT k, t, t * t % 7 < 3 AS bit
    FROM unnest(ARRAY[NULL, 2, 3, 19]) k, generate_series(1, 1100) t
), over_rows AS (
    SELECT k, t,
           dp_running_count(bit, 1e9, k, NULL::bigint) OVER w AS released,
           sum(bit::integer) OVER w AS truth
    FROM stream
    WINDOW w AS (PARTITION BY k ORDER BY t)
), grouped AS (
    SELECT pg_temp.last_of(k, NULL, last) AS released, sum(bit::integer) AS truth
    FROM stream, generate_series(0, 1100, 50) AS last WHERE t <= last GROUP BY k, last
)
SELECT 'over' AS form, count(*), count(*) FILTER (WHERE released IS DISTINCT FROM truth) AS wrong FROM over_rows
UNION ALL
SELECT 'group', count(*), count(*) FILTER (WHERE released IS DISTINCT FROM truth) FROM grouped;

-- A row beyond the horizon has no noise planned for it.
SELECT dp_running_count(flu, 1e9, 3, 19) FROM visits;
\echo SQLSTATE :LAST_ERROR_SQLSTATE
SELECT dp_running_count(flu, 1e9, 3, 19) OVER (ORDER BY t) FROM visits;
-- LIMIT ends the stream before it
SELECT t, dp_running_count(flu, 1e9, 3, 6) OVER (ORDER BY t) FROM visits ORDER BY t LIMIT 6;
-- a horizon is for each group and each partition
SELECT hospital, dp_running_count(flu, 1e9, 3, 15) FROM visits GROUP BY hospital ORDER BY hospital COLLATE "C";
SELECT hospital, dp_running_count(flu, 1e9, 3, 14) FROM visits GROUP BY hospital ORDER BY hospital COLLATE "C";

-- What would filter steps away or count a row in several releases is refused.
SELECT dp_running_count(flu, 1e9, 3, 20) FILTER (WHERE flu) FROM visits;
\echo SQLSTATE :LAST_ERROR_SQLSTATE
SELECT dp_running_count(flu, 1e9, 3, 20) FILTER (WHERE false) FROM visits;
SELECT dp_running_count(flu, 1e9, 3, 20) FILTER (WHERE flu) FROM visits WHERE false;
SELECT dp_running_count(DISTINCT flu, 1e9, 3, 20) FROM visits;
\echo SQLSTATE :LAST_ERROR_SQLSTATE
SELECT hospital, dp_running_count(flu, 1e9, 3, 20) FROM visits GROUP BY ROLLUP (hospital);
\echo SQLSTATE :LAST_ERROR_SQLSTATE
SELECT hospital, flu, dp_running_count(flu, 1e9, 3, 20) FROM visits GROUP BY CUBE (hospital, flu);
SELECT hospital, flu, dp_running_count(flu, 1e9, 3, 20) FROM visits GROUP BY GROUPING SETS (hospital, flu);
SELECT dp_running_count(flu, 1e9, 3, 20) FROM visits GROUP BY GROUPING SETS ((), ());
-- as its rewriting is not: one grouping that is written as a set
SELECT hospital, dp_running_count(flu, 1e9, 3, 20) FROM visits
GROUP BY GROUPING SETS ((hospital)) ORDER BY hospital COLLATE "C";

-- The condition belongs into the bit.
SELECT dp_running_count(flu AND hospital = 'south', 1e9, 3, 20) FROM visits;
