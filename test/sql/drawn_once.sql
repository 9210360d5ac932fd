-- A call of dp_laplace is one release where it is written: what would draw it again is refused where the planner
-- sees it. (epsilon = 1e9: no noise.)
CREATE TABLE dp_days AS SELECT day, day * 10 AS n FROM generate_series(1, 6) day;

CREATE FUNCTION pg_temp.answer(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
    hint text;
BEGIN
    EXECUTE format('SELECT string_agg(concat(q)::text, '' '') FROM (%s) q', query) INTO answer;
    RETURN answer;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS answer = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
    RETURN concat(SQLSTATE, ': ', answer, E'\n    HINT: ', hint);
END $$;
CREATE TYPE pg_temp.two AS (a bigint, b bigint);
CREATE FUNCTION pg_temp.pair(n bigint) RETURNS pg_temp.two LANGUAGE plpgsql AS $$ BEGIN RETURN ROW(n, n); END $$;
\pset format unaligned
\pset tuples_only on

-- refused: each would be drawn more often than it is written
SELECT E'\n' || query, pg_temp.answer(query) FROM unnest(ARRAY[
    'SELECT first_value(dp_laplace(n, 1e9, 1)) OVER (ORDER BY day) FROM dp_days',
    'SELECT last_value(dp_laplace(n, 1e9, 1) + 1) OVER (ORDER BY day) FROM dp_days',
    'SELECT nth_value(n, dp_laplace(1, 1e9, 1)::integer) OVER (ORDER BY day) FROM dp_days',
    'SELECT avg(dp_laplace(n, 1e9, 1)) OVER (ORDER BY day ROWS 6 PRECEDING) FROM dp_days',
    'SELECT count(*) FILTER (WHERE dp_laplace(n, 1e9, 1) > 9) OVER (ORDER BY day ROWS 6 PRECEDING) FROM dp_days',
    'SELECT sum(dp_laplace(n, 1e9, 1)) OVER (ORDER BY day RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE TIES) FROM dp_days',
    'SELECT generate_series(1, 3), dp_laplace(n, 1e9, 1) FROM dp_days',
    'SELECT generate_series(1, 3) + dp_laplace(n, 1e9, 1) FROM dp_days',
    'SELECT generate_series(generate_series(1, 2), dp_laplace(n, 1e9, 1)) FROM dp_days',
    'SELECT day FROM dp_days WHERE dp_laplace(n, 1e9, 1) BETWEEN 20 AND 30',
    'SELECT day FROM dp_days WHERE dp_laplace(n, 1e9, 1) NOT BETWEEN SYMMETRIC 30 AND 20',
    'SELECT day FROM dp_days WHERE 1 + dp_laplace(n, 1e9, 1) IN (day, n + 1)',
    'SELECT day FROM dp_days WHERE dp_laplace(n, 1e9, 1) NOT IN (10, 20, n)',
    'SELECT day FROM dp_days WHERE (dp_laplace(n, 1e9, 1), 1) IN ((10, 1), (20, 1))',
    'SELECT day FROM dp_days GROUP BY day HAVING dp_laplace(sum(n), 1e9, 1) BETWEEN 20 AND 30',
    'SELECT sum(dp_laplace(n, 1e9, 1)) BETWEEN 20 AND 30 FROM dp_days',
    'SELECT day FROM dp_days d WHERE dp_laplace(n, 1e9, 1) > ANY (SELECT n FROM dp_days)',
    'SELECT day FROM dp_days d WHERE dp_laplace(n, 1e9, 1) IN (SELECT n FROM dp_days e WHERE e.day >= d.day)',
    'SELECT dp_laplace(n, 1e9, 1) <> ALL (SELECT n FROM dp_days) FROM dp_days',
    'SELECT (dp_laplace(n, 1e9, 1), 1) < (SELECT n, day FROM dp_days LIMIT 1) FROM dp_days',
    'SELECT sum(dp_laplace(n, 1e9, 1)) FROM dp_days GROUP BY GROUPING SETS ((day), (n))',
    'SELECT day FROM dp_days GROUP BY ROLLUP (day) HAVING max(1 + dp_laplace(n, 1e9, 1)) > 0',
    'SELECT dp_running_count(true, 1e9) OVER (ORDER BY day) BETWEEN 2 AND 3 FROM dp_days',
    'SELECT dp_running_sum(n, 1e9, 1) OVER (ORDER BY day) IN (30, n) FROM dp_days',
    'SELECT (dp_running_sum(n, 1e9, 1) OVER (ORDER BY day), day) IN ((30, n), (60, n)) FROM dp_days',
    'SELECT 5 BETWEEN SYMMETRIC day AND dp_running_count(true, 1e9) OVER (ORDER BY day) FROM dp_days',
    'SELECT (pg_temp.pair(1 + dp_running_sum(n, 1e9, 1) OVER (ORDER BY day))).* FROM dp_days ORDER BY 1']) query;
-- in a function that is inlined, too
CREATE FUNCTION pg_temp.number(n bigint) RETURNS bigint LANGUAGE sql AS 'SELECT dp_laplace(n, 1e9, 1)';
CREATE FUNCTION pg_temp.is_few(n bigint) RETURNS boolean LANGUAGE sql AS 'SELECT dp_laplace(n, 1e9, 1) BETWEEN 1 AND 20';
SELECT E'\n' || query, pg_temp.answer(query) FROM unnest(ARRAY[
    'SELECT first_value(pg_temp.number(n)) OVER (ORDER BY day) FROM dp_days',
    'SELECT generate_series(1, 3), pg_temp.number(n) FROM dp_days',
    'SELECT pg_temp.number(n) BETWEEN 1 AND 20 FROM dp_days',
    'SELECT day FROM dp_days WHERE pg_temp.number(n) BETWEEN 1 AND 20',
    'SELECT day FROM dp_days GROUP BY day, n HAVING pg_temp.number(n) IN (n, day)',
    'SELECT count(*) FILTER (WHERE pg_temp.is_few(n)) FROM dp_days',
    'SELECT day FROM dp_days AS a JOIN dp_days AS b USING (day) WHERE a.n > 0 AND pg_temp.is_few(b.n)']) query;
-- right: two calls of such a function are two releases
CREATE FUNCTION pg_temp.more(n bigint) RETURNS bigint LANGUAGE sql AS 'SELECT dp_laplace(n, 1e9, 1) + 1';
CREATE FUNCTION pg_temp.is_much(n bigint) RETURNS boolean LANGUAGE sql AS 'SELECT dp_laplace(n, 1e9, 1) > 40';
SELECT E'\n' || query, pg_temp.answer(query) FROM unnest(ARRAY[
    'SELECT greatest(pg_temp.more(n), pg_temp.more(n)), ARRAY[pg_temp.more(n), pg_temp.more(n)] FROM dp_days',
    'SELECT day FROM dp_days WHERE pg_temp.is_much(n) AND pg_temp.is_much(n)',
    'SELECT pg_temp.is_much(n) OR pg_temp.is_much(n) FROM dp_days']) query;

-- right: drawn once a row
SELECT E'\n' || query, pg_temp.answer(query) FROM unnest(ARRAY[
    'SELECT day, dp_laplace(n, 1e9, 1) FROM dp_days',
    'SELECT day, dp_laplace(total, 1e9, 1) FROM (SELECT day % 2 AS day, sum(n)::bigint AS total FROM dp_days GROUP BY 1) s ORDER BY day',
    'SELECT day % 2, dp_laplace(count(*), 1e9, 1) FROM dp_days GROUP BY 1 ORDER BY 1',
    'SELECT first_value(m) OVER (ORDER BY day), avg(m) OVER (ORDER BY day ROWS 6 PRECEDING)::integer FROM (SELECT day, dp_laplace(n, 1e9, 1) AS m FROM dp_days) s',
    'WITH c AS (SELECT day, dp_laplace(n, 1e9, 1) AS m FROM dp_days) SELECT day FROM c WHERE m BETWEEN 20 AND 30 OR m IN (10, day)',
    'SELECT day, i, m FROM (SELECT day, dp_laplace(n, 1e9, 1) AS m FROM dp_days) s, generate_series(1, 2) i WHERE day = 1',
    'SELECT sum(dp_laplace(n, 1e9, 1)) OVER (ORDER BY day), sum(dp_laplace(n, 1e9, 1)) OVER () FROM dp_days',
    'SELECT first_value(sum(dp_laplace(n, 1e9, 1))) OVER (ORDER BY day % 2) FROM dp_days GROUP BY day % 2 ORDER BY day % 2',
    'SELECT row_number() OVER (ORDER BY day), dp_laplace(n, 1e9, 1), dp_laplace(n, 1e9, 1) FROM dp_days',
    'SELECT generate_series(1, dp_laplace(3, 1e9, 1)), sum(dp_laplace(n, 1e9, 1)) FROM dp_days',
    'SELECT unnest(ARRAY[dp_laplace(1, 1e9, 1), dp_laplace(2, 1e9, 1)])',
    'SELECT day % 2, dp_laplace(sum(n), 1e9, 1) FROM dp_days GROUP BY ROLLUP (day % 2) ORDER BY 1',
    'SELECT day FROM dp_days WHERE n > ANY (SELECT dp_laplace(day * 10, 1e9, 1) FROM dp_days)',
    'SELECT n FROM (SELECT dp_laplace(n, 1e9, 1) AS n FROM dp_days) s WHERE n IN (SELECT n FROM dp_days)',
    'SELECT day FROM dp_days WHERE dp_laplace(n, 1e9, 1) IN (20, 30) OR dp_laplace(n, 1e9, 1) = ANY (ARRAY[day, n - 30])',
    'SELECT day FROM dp_days WHERE dp_laplace(n, 1e9, 1) > 20 AND dp_laplace(n, 1e9, 1) < 50 AND (dp_laplace(n, 1e9, 1), day) < (40, 9)',
    'SELECT pg_temp.number(n), pg_temp.number(n) FROM dp_days WHERE pg_temp.number(n) > 20 AND pg_temp.number(n) < 50 GROUP BY n HAVING pg_temp.number(n) > 0 ORDER BY n',
    'SELECT CASE dp_laplace(n, 1e9, 1) WHEN 10 THEN 1 WHEN 20 THEN 2 ELSE COALESCE(NULLIF(dp_laplace(n, 1e9, 1), 30), 3) END FROM dp_days',
    'SELECT n FROM (SELECT dp_laplace(n, 1e9, 1) AS n FROM dp_days UNION ALL SELECT dp_laplace(7, 1e9, 1)) s WHERE n BETWEEN 7 AND 10',
    'SELECT max(m) - min(m) FROM (SELECT DISTINCT dp_laplace(n, 1e9, 1) AS m FROM dp_days ORDER BY m) s']) query;
\pset tuples_only off
\pset format aligned

-- prepared, in a view, stored, by plpgsql
PREPARE number(integer) AS SELECT day, dp_laplace(n, 1e9, 1) AS m FROM dp_days WHERE day < $1;
EXECUTE number(3);
PREPARE wrong(integer) AS SELECT first_value(dp_laplace(n, 1e9, 1)) OVER (ORDER BY day) FROM dp_days WHERE day < $1;
EXECUTE wrong(3);
CREATE VIEW dp_wrong AS SELECT first_value(dp_laplace(n, 1e9, 1)) OVER (ORDER BY day) FROM dp_days;
SELECT * FROM dp_wrong;
CREATE TABLE dp_stored AS SELECT day, dp_laplace(n, 1e9, 1) AS m FROM dp_days;
INSERT INTO dp_stored SELECT day + 10, dp_laplace(n, 1e9, 1) FROM dp_days;
INSERT INTO dp_stored VALUES (21, dp_laplace(1, 1e9, 1)), (22, dp_laplace(2, 1e9, 1));
UPDATE dp_stored SET m = dp_laplace(m, 1e9, 1) + 1 WHERE day > 20 RETURNING *;
DO $$ DECLARE m bigint; BEGIN m := dp_laplace(5, 1e9, 1); ASSERT m = 5; END $$;
SELECT count(*), sum(m) FROM dp_stored;
DROP TABLE dp_days, dp_stored CASCADE;
