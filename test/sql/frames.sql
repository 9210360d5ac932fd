-- Window frames. An aggregate sees its frame: one that moves, or excludes rows, would make
-- PostgreSQL count again with fresh noise for every row, and is refused. So is one that ends between
-- rows that tie: their order is the plan's choice and may be sorted by the secret (ties.sql).

CREATE TEMP TABLE visits (t integer, flu boolean);
INSERT INTO visits SELECT t, t % 2 = 0 FROM generate_series(1, 8) t;

-- frames that only grow
SELECT t,
       dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t) AS "default",
       dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t RANGE UNBOUNDED PRECEDING) AS "range",
       dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t GROUPS UNBOUNDED PRECEDING) AS "groups",
       dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t RANGE BETWEEN UNBOUNDED PRECEDING AND 2 FOLLOWING) AS range_ahead,
       dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS groups_behind,
       dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t RANGE BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING) AS range_behind,
       dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t GROUPS BETWEEN UNBOUNDED PRECEDING AND 2 FOLLOWING) AS groups_ahead,
       dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE NO OTHERS) AS no_others,
       dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS whole,
       dp_running_count(flu, 1e9, 3, 8) OVER () AS no_order
FROM visits ORDER BY t;

-- Frames that do not move on repeat their release: there are as many releases as frames.
SELECT count(DISTINCT whole) AS whole, count(DISTINCT pairs) AS pairs, count(DISTINCT ahead) AS ahead,
       count(DISTINCT behind) AS behind, min(behind) FILTER (WHERE t <= 6) = 0 AND max(behind) FILTER (WHERE t <= 6) = 0 AS nothing_yet
FROM (SELECT t,
             dp_running_count(flu, 1e-9, 3, 8) OVER (ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS whole,
             dp_running_count(flu, 1e-9, 3, 8) OVER (ORDER BY (t + 1) / 2) AS pairs,
             dp_running_count(flu, 1e-9, 3, 8) OVER (ORDER BY t RANGE BETWEEN UNBOUNDED PRECEDING AND 6 FOLLOWING) AS ahead,
             dp_running_count(flu, 1e-9, 3, 8) OVER (ORDER BY t GROUPS BETWEEN UNBOUNDED PRECEDING AND 6 PRECEDING) AS behind
      FROM visits) s;

-- frames that move
SELECT dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM visits;
\echo SQLSTATE :LAST_ERROR_SQLSTATE
SELECT dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t ROWS 1000 PRECEDING) FROM visits;
SELECT dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t RANGE 2 PRECEDING) FROM visits;
SELECT dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t GROUPS 1 PRECEDING) FROM visits;
SELECT dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM visits;
SELECT dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM visits;
SELECT dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) FROM visits;
SELECT dp_running_count(flu, 1e9, 3, 8) OVER (ROWS CURRENT ROW) FROM visits;

-- frames that end between rows that tie
SELECT dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t ROWS UNBOUNDED PRECEDING) FROM visits;
\echo SQLSTATE :LAST_ERROR_SQLSTATE
SELECT dp_running_count(flu, 1e9, 3, 8) OVER (ROWS UNBOUNDED PRECEDING) FROM visits;
SELECT dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND 2 FOLLOWING) FROM visits;
SELECT dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING) FROM visits;
SELECT dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND 1000000 FOLLOWING) FROM visits;
-- what they told: the true rows moved behind the others by an UPDATE, whose place the noisy count tells
CREATE TEMP TABLE moved AS SELECT id, hashint4(id) % 2 = 0 AS flu FROM generate_series(1, 2000) id;
UPDATE moved SET flu = flu WHERE flu;
SELECT avg((guess = flu)::integer) > 0.9 AS told
FROM (SELECT flu, row_number() OVER () > count(*) OVER () - last_value(n) OVER (ROWS BETWEEN UNBOUNDED PRECEDING
    AND UNBOUNDED FOLLOWING) AS guess
      FROM (SELECT flu, dp_running_count(flu, 0.1, NULL, 2000) OVER (ROWS UNBOUNDED PRECEDING) AS n FROM moved) s) g;
SELECT count(DISTINCT n) AS "one value for all that tie" FROM (SELECT flu, dp_running_count(flu, 0.1, NULL, 2000) OVER () AS n
    FROM moved) s;

-- frames with holes
SELECT dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) FROM visits;
\echo SQLSTATE :LAST_ERROR_SQLSTATE
SELECT dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE TIES) FROM visits;
SELECT dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t GROUPS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE GROUP) FROM visits;
SELECT dp_running_count(flu, 1e9, 3, 8) OVER (ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW)
    FROM visits;

-- the window function, which PostgreSQL gives no frame: the same, whatever is beside it, planned once or anew
CREATE FUNCTION pg_temp.answer(query text, OUT answer text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE query INTO answer;
EXCEPTION WHEN OTHERS THEN
    answer := SQLSTATE || ': ' || SQLERRM;
END $$;
SELECT clause, beside, pg_temp.answer(format('SELECT %s dp_running_count(t > 0, 1e9) OVER w FROM visits WINDOW w AS (ORDER BY t %s)',
    beside, clause))
FROM unnest(ARRAY['ROWS BETWEEN 27 PRECEDING AND CURRENT ROW', 'ROWS -1 PRECEDING', 'RANGE 2 PRECEDING', 'GROUPS CURRENT ROW',
                  'ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING',
                      'ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW',
                  'GROUPS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES',
                      'ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING',
                  'RANGE BETWEEN UNBOUNDED PRECEDING AND 2 FOLLOWING']) clause,
     unnest(ARRAY['', 'sum(t) OVER w,', 'row_number() OVER w,', 'dp_monotone(t) OVER w,']) beside
ORDER BY beside COLLATE "C", clause COLLATE "C";
SELECT dp_running_sum(t, 1e9, 1) OVER (ORDER BY t ROWS 27 PRECEDING) FROM visits;
SELECT dp_running_count(flu::integer::bit, 1e9) OVER (ORDER BY t ROWS 27 PRECEDING) FROM visits WHERE false;
PREPARE moving(integer) AS SELECT dp_running_count(flu, 1e9) OVER (ORDER BY t ROWS $1 PRECEDING) FROM visits;
EXECUTE moving(27);
CREATE TEMP VIEW moving AS SELECT dp_running_count(flu, 1e9) OVER (ORDER BY t ROWS 27 PRECEDING) FROM visits;
SELECT * FROM moving;
EXPLAIN SELECT * FROM moving;

-- FILTER, where PostgreSQL would let it through
SELECT dp_running_count(flu, 1e9, 3, 8) FILTER (WHERE flu) OVER (ORDER BY t) FROM visits;
\echo SQLSTATE :LAST_ERROR_SQLSTATE
SELECT dp_running_count(flu, 1e9, 3, 8) FILTER (WHERE false) OVER (ORDER BY t) FROM visits;
SELECT dp_running_count(flu, 1e9, 3, 8) FILTER (WHERE true) OVER (ORDER BY t) FROM visits;
-- its neighbor in the window may have none either: they cannot be told apart
SELECT dp_running_count(flu, 1e9, 3, 8) OVER w, dp_running_count(flu, 1e9, 4, 8) FILTER (WHERE flu) OVER w
FROM visits WINDOW w AS (ORDER BY t);
-- other functions may
SELECT t, dp_running_count(flu, 1e9, 3, 8) OVER w, count(*) FILTER (WHERE flu) OVER w
FROM visits WINDOW w AS (ORDER BY t) ORDER BY t LIMIT 3;
SELECT t, dp_running_count(flu, 1e9, 3, 8) OVER w, sum(t) OVER (w ROWS 1 PRECEDING)
FROM visits WINDOW w AS (ORDER BY t) ORDER BY t LIMIT 3;

-- DISTINCT is not for windows at all
\set VERBOSITY sqlstate
SELECT dp_running_count(DISTINCT flu, 1e9, 3, 8) OVER (ORDER BY t) FROM visits;
SELECT dp_count(DISTINCT flu, 1e9) OVER () FROM visits;
