-- dp_count: one private count. (epsilon = 1e9: no noise.)

CREATE TEMP TABLE visits (t integer, hospital text, flu boolean);
INSERT INTO visits SELECT t, CASE WHEN t % 4 = 0 THEN 'north' ELSE 'south' END, t % 3 = 0
FROM generate_series(1, 20) t;
INSERT INTO visits VALUES (21, 'south', NULL);

SELECT dp_count(flu, 1e9), pg_typeof(dp_count(flu, 1e9)) FROM visits;
SELECT hospital, dp_count(flu, 1e9), dp_count(true, 1e9) AS visits
FROM visits GROUP BY hospital ORDER BY hospital COLLATE "C";
SELECT hospital, dp_count(flu, 1e9) FROM visits GROUP BY hospital
HAVING dp_count(flu, 1e9) > 4 ORDER BY dp_count(flu, 1e9);
SELECT dp_count(flu, 1e9 ORDER BY t), dp_count(NOT flu, 1e9 ORDER BY t DESC) FROM visits;

-- an epsilon for each partition, but one epsilon in it (in GROUP BY: group_parameters.sql)
SELECT DISTINCT hospital, dp_count(flu, CASE hospital WHEN 'north' THEN 1e9 ELSE 1e8 END) OVER (PARTITION BY hospital)
FROM visits ORDER BY 1;
SELECT dp_count(flu, CASE hospital WHEN 'north' THEN 1e9 ELSE 1e8 END) OVER () FROM visits;
\echo SQLSTATE :LAST_ERROR_SQLSTATE

-- Without a row there is noise around 0: whether there were rows does not show.
SELECT dp_count(flu, 1e9) FROM visits WHERE false;
SELECT count(DISTINCT n) > 1 AS noisy
FROM generate_series(1, 100) i, LATERAL (SELECT dp_count(flu, 0.01) AS n FROM visits WHERE t < -i) s;
-- groups that do not exist have no row
SELECT hospital, dp_count(flu, 1e9) FROM visits WHERE false GROUP BY hospital;

-- over a whole partition
SELECT hospital, t, dp_count(flu, 1e9) OVER (PARTITION BY hospital) AS hospital_total, dp_count(flu, 1e9) OVER () AS total
FROM visits WHERE t < 9 ORDER BY hospital COLLATE "C", t;
SELECT DISTINCT dp_count(flu, 1e9) OVER (ORDER BY t RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS range,
       dp_count(flu, 1e9) OVER (ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS rows,
       dp_count(flu, 1e9) OVER (ORDER BY t GROUPS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS groups
FROM visits;
-- one release for all of its rows
SELECT count(DISTINCT n)
FROM (SELECT dp_count(flu, 0.001) OVER (ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS n FROM visits) s;

-- Over a growing frame the differences would be single bits with fresh noise, or none.
SELECT dp_count(flu, 1e9) OVER (ORDER BY t) FROM visits;
\echo SQLSTATE :LAST_ERROR_SQLSTATE
SELECT dp_count(flu, 1e9) OVER (ORDER BY t ROWS UNBOUNDED PRECEDING) FROM visits;
SELECT dp_count(flu, 1e9) OVER (ROWS UNBOUNDED PRECEDING) FROM visits;
SELECT dp_count(flu, 1e9) OVER (ORDER BY t GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING) FROM visits;
SELECT dp_count(flu, 1e9) OVER (ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND 1000000 FOLLOWING) FROM visits;
-- Frames that move are fresh noise over the same rows.
SELECT dp_count(flu, 1e9) OVER (ORDER BY t ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM visits;
SELECT dp_count(flu, 1e9) OVER (ORDER BY t ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM visits;
SELECT dp_count(flu, 1e9) OVER (ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW) FROM visits;

SELECT dp_count(flu, 1e9) FILTER (WHERE t > 3) FROM visits;
\echo SQLSTATE :LAST_ERROR_SQLSTATE
SELECT dp_count(flu, 1e9) FILTER (WHERE false) FROM visits;
SELECT dp_count(flu, 1e9) FILTER (WHERE t > 3) OVER () FROM visits;
SELECT dp_count(DISTINCT flu, 1e9) FROM visits;
SELECT hospital, dp_count(flu, 1e9) FROM visits GROUP BY ROLLUP (hospital);
SELECT hospital, dp_count(flu, 1e9) FROM visits WHERE false GROUP BY ROLLUP (hospital);
SELECT hospital, dp_count(flu, 1e9) FROM visits GROUP BY GROUPING SETS ((hospital), (hospital), ());

-- As many distinct values as there are rows make no difference to the type of plan.
SELECT count(*), sum(n)
FROM (SELECT g, dp_count(g % 10 = i, 1e9) AS n
      FROM generate_series(1, 2000) g, generate_series(0, 9) i GROUP BY g) s;
