-- The order of rows within a tie is the plan's choice and may be sorted by the secret: the window
-- function refuses rows that tie.

CREATE TEMP TABLE visits (id integer, day integer, flu boolean);
INSERT INTO visits SELECT id, id / 2500, hashint4(id) % 2 = 0 FROM generate_series(1, 10000) id;

-- The attack: if a day's zeros come before its ones, the day's noisy count tells where the ones begin.
CREATE FUNCTION pg_temp.attack(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    share float8;
BEGIN
    EXECUTE 'CREATE TEMP TABLE output AS SELECT row_number() OVER () AS place, q.* FROM (SELECT id, day, ' || call
        || ' AS n FROM visits) q';
    SELECT avg((guess = flu)::integer) INTO share
    FROM (SELECT id, place > max(place) OVER d - (last_value(n) OVER d - first_value(n) OVER d) AS guess
          FROM output WINDOW d AS (PARTITION BY day ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)) g
         JOIN visits USING (id);
    DROP TABLE output;
    RETURN CASE WHEN share > 0.9 THEN 'more than 90 %' WHEN share > 0.6 THEN 'more than 60 %' ELSE 'hardly a half' END
        || ' of the bits told';
EXCEPTION WHEN cardinality_violation THEN
    RETURN SQLERRM;
END $$;

-- An index that ends in the bit hands out each day's rows sorted by it.
CREATE INDEX visits_by_flu ON visits (day, flu, id);
ANALYZE visits;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
SELECT pg_temp.attack('dp_running_count(flu, 0.1) OVER (ORDER BY day)') AS counted,
       pg_temp.attack('dp_running_count(flu, 0.1, horizon => 10000) OVER (ORDER BY day)') AS streaming,
       pg_temp.attack('dp_running_count(flu, 0.1) OVER (PARTITION BY day)') AS partitions;
SELECT pg_temp.attack('dp_running_count(flu, 0.1) OVER (ORDER BY day, id)') AS with_a_key; -- in every index's order
RESET enable_seqscan;
RESET enable_bitmapscan;
RESET enable_sort;
DROP INDEX visits_by_flu;

-- Nor is a row released whose tie comes after a LIMIT: of a pair the row without the bit would always come first.
CREATE TEMP TABLE pairs AS SELECT id / 2 AS pair, 0 AS day, id, (id % 2 = 0) = (hashint4(id / 2) % 2 = 0) AS flu
    FROM generate_series(0, 9999) id;
CREATE INDEX ON pairs (pair, day, flu, id);
ANALYZE pairs;
SELECT count(*) AS outputs, count(*) FILTER (WHERE NOT flu) AS without_the_bit
FROM (SELECT DISTINCT pair FROM pairs) p,
     LATERAL (SELECT id, dp_running_count(flu, 0.1) OVER (ORDER BY day) FROM pairs q WHERE q.pair = p.pair LIMIT 1) first
         JOIN pairs USING (id);
SELECT count(*) AS outputs, count(*) FILTER (WHERE NOT flu) AS without_the_bit
FROM (SELECT DISTINCT pair FROM pairs) p,
     LATERAL (SELECT id, dp_running_count(flu, 0.1, horizon => 9) OVER (ORDER BY day) FROM pairs q WHERE q.pair = p.pair LIMIT 1) first
         JOIN pairs USING (id);
SELECT count(*) AS outputs
FROM (SELECT DISTINCT pair FROM pairs) p,
     LATERAL (SELECT id, dp_running_count(flu, 0.1, horizon => 9) OVER (ORDER BY id) FROM pairs q WHERE q.pair = p.pair LIMIT 1) first;

-- An UPDATE of the true rows moves them behind the others.
UPDATE visits SET flu = flu WHERE flu;
SET enable_sort = off;
SELECT pg_temp.attack('dp_running_count(flu, 0.1) OVER ()') AS counted,
       pg_temp.attack('dp_running_count(flu, 0.1, horizon => 10000) OVER ()') AS streaming,
       pg_temp.attack('dp_running_count(flu::integer::bit, 0.1) OVER (ORDER BY 1 + 1)') AS by_a_constant;
RESET enable_sort;

SELECT id, dp_running_count(flu, 0.1) OVER (ORDER BY day) FROM visits;
\echo SQLSTATE :LAST_ERROR_SQLSTATE
SELECT id, dp_running_count(flu, 0.1, horizon => 10000) OVER () FROM visits;

-- a public unique key mends it, whatever the frame
SELECT count(*) AS rows, count(*) FILTER (WHERE n <> truth) AS wrong
FROM (SELECT dp_running_count(flu, 1e9) OVER (ORDER BY day, id) AS n, sum(flu::integer) OVER (ORDER BY day, id) AS truth FROM visits) s;
SELECT count(*) AS rows, count(*) FILTER (WHERE n <> truth) AS wrong
FROM (SELECT dp_running_count(flu, 1e9, horizon => 10000) OVER (PARTITION BY day ORDER BY id DESC) AS n,
             sum(flu::integer) OVER (PARTITION BY day ORDER BY id DESC) AS truth FROM visits) s;

-- Which rows tie is a matter of the ORDER BY columns alone: every frame refuses the same, also where another function of the window
-- looks at it. (Where none does the planner is told to take ROWS.)
CREATE FUNCTION pg_temp.answer(clause text, source text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
    form text;
    answers text[];
BEGIN
    FOREACH form IN ARRAY ARRAY['0, dp_running_count(true, 1e9) OVER (%1$s)', '0, dp_running_count(true, 1e9, horizon => 1000) OVER (%1$s)',
                                'last_value(0) OVER (%1$s), dp_running_count(true, 1e9) OVER (%1$s)',
                                'sum(0) OVER (%1$s), dp_running_count(true, 1e9, horizon => 1000) OVER (%1$s)'] LOOP
        BEGIN
            EXECUTE format('SELECT array_agg(n + 0 * coalesce(beside, 0))::text FROM (SELECT ' || form || ' FROM %2$s) s (beside, n)',
                           clause, source) INTO answer;
        EXCEPTION WHEN OTHERS THEN
            answer := SQLSTATE || ': ' || SQLERRM;
        END;
        answers := answers || answer;
    END LOOP;
    RETURN CASE WHEN answers[1] = ALL (answers) THEN answer ELSE answers::text END;
END $$;
SELECT clause || frame AS clause, pg_temp.answer(clause || frame, '(VALUES (1), (2), (2), (3)) v (t)')
FROM unnest(ARRAY['', 'ORDER BY t', 'ORDER BY -t']) clause,
     unnest(ARRAY['', ' RANGE UNBOUNDED PRECEDING', ' ROWS UNBOUNDED PRECEDING',
         ' ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING',
                  ' GROUPS UNBOUNDED PRECEDING']) frame
WHERE clause <> '' OR frame !~ 'GROUPS'
ORDER BY clause COLLATE "C", frame COLLATE "C";

-- what is equal to ORDER BY ties: NULLs, zeros, strings under the collation, rows
SELECT source, pg_temp.answer('ORDER BY t', source)
FROM unnest(ARRAY['(VALUES (NULL), (1), (2)) v (t)', '(VALUES (NULL), (1), (NULL)) v (t)', '(VALUES (0.0::float8), (''-0'')) v (t)',
                  '(VALUES (1.0), (1.00)) v (t)', '(VALUES (''a''), (''A'')) v (t)', '(VALUES (''NaN''::float8), (''NaN'')) v (t)',
                  '(VALUES (ROW(1, 2)), (ROW(1, 3))) v (t)', '(VALUES (ROW(1, 2)), (ROW(1, 2))) v (t)']) source;
-- Keys of every type, by value or not, in every place.
CREATE TEMP TABLE keys AS SELECT s AS set, i, (s * i + i * i * i) % 5 AS a, (s / 3 + i) % 3 AS b FROM generate_series(1, 40) s,
    generate_series(1, 5) i;
SELECT key, count(*) AS sets, count(*) FILTER (WHERE ties) AS with_ties,
       count(*) FILTER (WHERE answer <> CASE WHEN ties THEN '21000: rows tie in the window''s order' ELSE '{1,2,3,4,5}' END) AS wrong
FROM unnest(ARRAY['a::bigint << 32', 'a::float8', 'nullif(a, 2)', 'a::text', 'repeat(''long '', 1000) || a', 'a / 10.0', 'a::text::name',
    'ARRAY[a]',
                  'lpad(a::text, 32, ''0'')::uuid', 'make_interval(days => a)', 'ROW(a, nullif(a, 3)::text)']) key,
     (SELECT set, count(*) > count(DISTINCT (a, b)) AS ties FROM keys GROUP BY set) s,
     pg_temp.answer(format(CASE WHEN set % 2 = 0 THEN 'ORDER BY b, %s DESC' ELSE 'ORDER BY %s, b' END, key),
         format('(SELECT * FROM keys WHERE set = %s) v', set)) answer
GROUP BY key ORDER BY key COLLATE "C";
CREATE TEMP TABLE toasted (t text);
ALTER TABLE toasted ALTER t SET STORAGE EXTERNAL;
INSERT INTO toasted SELECT repeat('x', 10000) || i FROM generate_series(1, 3) i;
SELECT pg_temp.answer('ORDER BY t', 'toasted') AS no_tie,
    pg_temp.answer('ORDER BY t', '(SELECT * FROM toasted UNION ALL SELECT max(t) FROM toasted) v') AS tie;
-- rows of different partitions never tie; the first row of a partition ties with none
SELECT pg_temp.answer('PARTITION BY p ORDER BY t', '(VALUES (1, 1), (2, 1), (3, 1), (3, 2)) v (p, t)') AS apart,
       pg_temp.answer('PARTITION BY p', '(VALUES (1), (2), (3)) v (p)') AS single,
       pg_temp.answer('PARTITION BY p ORDER BY t', '(VALUES (1, 1), (2, 1), (3, 2), (3, 2)) v (p, t)') AS last_ties,
       pg_temp.answer('PARTITION BY p ORDER BY t::text', '(VALUES (1, 1), (2, 1), (3, 1)) v (p, t)') AS texts;
-- nor do those of different scans
SELECT array_agg(n) FROM generate_series(1, 3) o, LATERAL (SELECT dp_running_count(o > 0, 1e9, horizon => 9) OVER (ORDER BY t) AS n
    FROM (VALUES ('a'), ('b')) v (t)) s;
SELECT array_agg(n) FROM generate_series(1, 3) o, LATERAL (SELECT dp_running_count(o > 0, 1e9) OVER (ORDER BY t) AS n
    FROM (VALUES ('a'), ('b')) v (t) LIMIT 1) s;

-- A tie is seen wherever it stands: at the places where passed rows are forgotten (every 64), in memory and spilled.
SET work_mem = '64kB';
SELECT count(*) AS places, count(*) FILTER (WHERE answer <> '21000: rows tie in the window''s order') AS missed
FROM (SELECT pg_temp.answer('ORDER BY t',
    format('(SELECT i - (i >= %s)::integer AS t, repeat(''x'', 100) FROM generate_series(1, 260) i) v', place)) AS answer
      FROM generate_series(2, 260) place) s;
CREATE FUNCTION pg_temp.tie_at(place integer) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count(n) FROM (SELECT dp_running_count(true, 1, 19) OVER (ORDER BY i - (i >= place)::integer) AS n
                           FROM generate_series(1, 20000) i) s;
    RETURN 'no tie';
EXCEPTION WHEN cardinality_violation THEN
    RETURN SQLERRM;
END $$;
SET jit = on;
SET jit_above_cost = 0;
SELECT place, pg_temp.tie_at(place) FROM unnest(ARRAY[2, 20001]) place; -- where PostgreSQL can compile
RESET jit;
RESET jit_above_cost;
SELECT place, pg_temp.tie_at(place) FROM unnest(ARRAY[2, 64, 65, 66, 10000, 19999, 20000, 20001]) place;
-- Two streams over one window, one of them with marks: neither disturbs the other.
SELECT count(*) AS rows, count(*) FILTER (WHERE a <> truth OR b <> truth) AS wrong
FROM (SELECT dp_running_count(i % 3 = 0, 1e9) OVER w AS a, dp_running_count(i % 3 = 0, 1e9, horizon => 20000) OVER w AS b,
             sum((i % 3 = 0)::integer) OVER w AS truth, lag(i, 100) OVER w
      FROM generate_series(1, 20000) i WINDOW w AS (ORDER BY i)) s;
RESET work_mem;

-- no row that ties is released, the first of them neither: a cursor gets those before it, and nothing after the error
BEGIN;
DECLARE c CURSOR FOR SELECT t, dp_running_count(true, 1e9, horizon => 9) OVER (ORDER BY t) FROM (VALUES ('one'), ('two'), ('two')) v (t);
FETCH 1 FROM c;
SAVEPOINT a;
FETCH 1 FROM c;
ROLLBACK TO a;
FETCH 1 FROM c;
ROLLBACK;
