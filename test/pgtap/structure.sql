-- Through SQL, over 4000 runs of every stream: the variance of the release at every step and the
-- covariance of the releases at every two steps are those of the paper's tree of noisy nodes.
--
-- The expectation is computed here, independently of the extension, from the definition: all digit
-- strings are enumerated, and a step uses the nodes that are passed on the way from 0 to t, highest
-- digit first, in strides of one power of k. Then covariance(a, b) = node variance * number of
-- nodes that a and b have in common, node variance = 2q/(1-q)^2, q = exp(-epsilon/h).
--
-- False alarms: each statistic is a mean of 4000 independent terms with known mean and known
-- variance (products of sums of node noises; fourth cumulant of a node: V(1 + 3V)), told in standard
-- deviations, z. The heaviest tail is that of the square of a single node: P(|z| > 9) < 10^-12.4 by
-- Chernoff's bound (4000 runs, node scales of 2 to 4). The file has fewer than 6000 statistics, and
-- fails for a right build with a probability below 10^-8.
--
-- Power: the last part gives the same test releases of wrong mechanisms. Each must be found out.
BEGIN;
SET LOCAL client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS dp_counter;
RESET client_min_messages;
SELECT plan(28);

-- The mechanism as the paper defines it ------------------------------------------------------------

CREATE FUNCTION pg_temp.lowest(mechanism text, k bigint) RETURNS bigint LANGUAGE sql AS
    $$ SELECT CASE mechanism WHEN 'plain' THEN 0 ELSE -((k - 1) / 2) END $$;
CREATE FUNCTION pg_temp.highest(mechanism text, k bigint) RETURNS bigint LANGUAGE sql AS
    $$ SELECT CASE mechanism WHEN 'plain' THEN k - 1 ELSE k / 2 END $$;

-- all numbers from 1 on that h digits write, each with its digits, lowest first
CREATE FUNCTION pg_temp.numbers(mechanism text, k bigint, h integer)
RETURNS TABLE (t bigint, digits bigint[]) LANGUAGE sql AS $$
    WITH RECURSIVE strings AS (
        SELECT 0 AS length, 0::bigint AS value, '{}'::bigint[] AS digits
        UNION ALL
        SELECT length + 1, value + d * (k ^ length)::bigint, digits || d
        FROM strings, generate_series(pg_temp.lowest(mechanism, k), pg_temp.highest(mechanism, k)) d
        WHERE length < h
    )
    SELECT value, digits FROM strings WHERE length = h AND value > 0
$$;

-- the smallest number of digits that write the horizon
CREATE FUNCTION pg_temp.height(mechanism text, k bigint, horizon bigint) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    h integer := 1;
BEGIN
    WHILE horizon > (SELECT max(t) FROM pg_temp.numbers(mechanism, k, h)) LOOP h := h + 1; END LOOP;
    RETURN h;
END $$;

-- the nodes that a step uses; from: where the digit that passes the node starts
CREATE FUNCTION pg_temp.nodes(mechanism text, k bigint, h integer)
RETURNS TABLE (t bigint, level integer, "from" bigint, node bigint) LANGUAGE sql AS $$
    SELECT t, l, p, p + i * sign(digits[l])::bigint * (k ^ (l - 1))::bigint
    FROM pg_temp.numbers(mechanism, k, h), generate_series(1, h) l,
         LATERAL (SELECT coalesce(sum(digits[m] * (k ^ (m - 1))::bigint), 0)::bigint AS p FROM generate_series(l + 1, h) m) s,
         generate_series(1, abs(digits[l])) i
$$;

CREATE FUNCTION pg_temp.node_variance(epsilon float8, h integer) RETURNS float8 LANGUAGE sql AS
    $$ SELECT 2 * exp(-epsilon / h) / (1 - exp(-epsilon / h)) ^ 2 $$;

-- The streams under test ---------------------------------------------------------------------------

-- steps: those that are looked at; the others pass
CREATE TEMP TABLE streams (stream text PRIMARY KEY, mechanism text, k bigint, horizon bigint, epsilon float8, steps bigint[],
                           h integer);
INSERT INTO streams VALUES
    ('binary tree by subtraction', 'subtraction', 2, 15, 1, NULL),
    ('binary tree', 'plain', 2, 15, 1, NULL),
    ('k = 3, subtraction', 'subtraction', 3, 40, 1, NULL),
    ('k = 3, plain', 'plain', 3, 26, 1, NULL),
    ('k = 4, subtraction', 'subtraction', 4, 42, 0.75, NULL),
    ('k = 4, plain', 'plain', 4, 63, 1, '{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,31,32,33,34,47,48,49,50,62,63}'),
    ('k = 19, subtraction', 'subtraction', 19, 180, 0.5,
        '{1,2,3,8,9,10,11,18,19,20,27,28,29,30,85,86,87,94,95,96,152,162,171,172,179,180}'),
    ('k = 19, plain', 'plain', 19, 100, 1, '{1,2,3,8,9,10,17,18,19,20,21,36,37,38,39,56,57,58,75,76,77,94,95,96,99,100}'),
    ('NULL bits', 'subtraction', 3, 40, 1, '{1,2,3,4,5,6,12,13,14,15,38,39,40}'),
    ('separate queries', 'subtraction', 3, 13, 1, NULL);
UPDATE streams SET h = pg_temp.height(mechanism, k, horizon),
                   steps = coalesce(steps, (SELECT array_agg(t) FROM generate_series(1, horizon) t));
SELECT results_eq(
    'SELECT h, count(*)::integer FROM streams GROUP BY h ORDER BY h',
    $$ VALUES (2, 2), (3, 4), (4, 4) $$,
    'heights by enumeration');

CREATE TEMP TABLE zeros AS
    SELECT run, t FROM generate_series(1, 4000) run, generate_series(1, 180) t;
CREATE TEMP TABLE releases (stream text, run integer, t bigint, n bigint);

-- each through another door
INSERT INTO releases SELECT 'binary tree by subtraction', run, t, dp_running_count(false, 1, 2) OVER (PARTITION BY run ORDER BY t)
    FROM zeros WHERE t <= 15;
INSERT INTO releases SELECT 'binary tree', run, t, dp_running_count(false, 1, 2, 'plain', 15) OVER (PARTITION BY run ORDER BY t)
    FROM zeros WHERE t <= 15;
INSERT INTO releases SELECT 'k = 3, subtraction', run, t, dp_running_count(false, 1, 3, 'subtraction') OVER (PARTITION BY run ORDER BY t)
    FROM zeros WHERE t <= 40;
INSERT INTO releases SELECT 'k = 3, plain', run, t, dp_running_count(false, 1, 3, 'plain', 26) OVER (PARTITION BY run ORDER BY t)
    FROM zeros WHERE t <= 26;
INSERT INTO releases SELECT 'k = 4, subtraction', run, t, dp_running_count(false, 0.75, 4, 42) OVER (PARTITION BY run ORDER BY t)
    FROM zeros WHERE t <= 42;
INSERT INTO releases SELECT * FROM (
    SELECT 'k = 4, plain', run, t, dp_running_count(B'0', 1, 4, 'plain') OVER (PARTITION BY run ORDER BY t)
    FROM zeros WHERE t <= 63) s WHERE t = ANY ((SELECT steps FROM streams WHERE stream = 'k = 4, plain')::bigint[]);
INSERT INTO releases SELECT * FROM (
    SELECT 'k = 19, subtraction', run, t, dp_running_count(false, 0.5, 19) OVER (PARTITION BY run ORDER BY t)
    FROM zeros) s WHERE t = ANY ((SELECT steps FROM streams WHERE stream = 'k = 19, subtraction')::bigint[]);
INSERT INTO releases SELECT * FROM (
    SELECT 'k = 19, plain', run, t, dp_running_count(false, 1, 19, 'plain', 100) OVER (PARTITION BY run ORDER BY t)
    FROM zeros WHERE t <= 100) s WHERE t = ANY ((SELECT steps FROM streams WHERE stream = 'k = 19, plain')::bigint[]);
INSERT INTO releases SELECT * FROM (
    SELECT 'NULL bits', run, t, dp_running_count(nullif(t % 3 = 1, t % 2 = 0), 1, 3) OVER (PARTITION BY run ORDER BY t)
                                - count(*) FILTER (WHERE nullif(t % 3 = 1, t % 2 = 0)) OVER (PARTITION BY run ORDER BY t)
    FROM zeros WHERE t <= 40) s WHERE t = ANY ((SELECT steps FROM streams WHERE stream = 'NULL bits')::bigint[]);
INSERT INTO releases SELECT 'separate queries', run, s.t, s.n
    FROM generate_series(1, 4000) run,
         LATERAL (SELECT t, dp_running_count(run < 0, 1, 3) OVER (ORDER BY t) AS n FROM generate_series(1, 13) t) s;

-- The test -----------------------------------------------------------------------------------------

-- a stream's releases at a step, over the runs
CREATE TEMP TABLE samples (stream text, t bigint, n float8[]);
ALTER TABLE samples ALTER n SET STORAGE EXTERNAL;

-- what is measured: means over the runs
CREATE FUNCTION pg_temp.moments(sampled text)
RETURNS TABLE (stream text, kind text, a bigint, b bigint, mean float8, runs bigint) LANGUAGE sql AS $$
    SELECT sampled, CASE WHEN x.t = y.t THEN 'variance' ELSE 'covariance' END, x.t, y.t, p.*
    FROM samples x JOIN samples y USING (stream),
         LATERAL (SELECT avg(i * j) AS mean, count(*) AS runs FROM unnest(x.n, y.n) u (i, j)) p
    WHERE stream = sampled AND x.t <= y.t
    UNION ALL -- what changes from one step to the next
    SELECT sampled, 'change', x.t, y.t, p.*
    FROM samples x JOIN samples y USING (stream),
         LATERAL (SELECT avg((i - j) * (i - j)) AS mean, count(*) AS runs FROM unnest(x.n, y.n) u (i, j)) p
    WHERE stream = sampled AND y.t = x.t + 1
    UNION ALL
    SELECT sampled, 'mean', t, t, p.*
    FROM samples x, LATERAL (SELECT avg(i) AS mean, count(*) AS runs FROM unnest(n) i) p
    WHERE stream = sampled
    UNION ALL -- one run and the next
    SELECT sampled, 'across runs', t, t, p.*
    FROM samples x,
         LATERAL (SELECT avg(i * j) AS mean, count(*) AS runs FROM unnest(n[2:], n[:cardinality(n) - 1]) u (i, j)) p
    WHERE stream = sampled
$$;
CREATE TEMP TABLE measured (stream text, kind text, a bigint, b bigint, mean float8, runs bigint);

-- what is expected of two steps: the nodes of each and those in common
CREATE TEMP TABLE shared (stream text, a bigint, b bigint, of_a float8, of_b float8, common float8);

-- how far the measured moments of one stream are from the expectation for another (or the same), in
-- standard deviations; v is the node variance
CREATE FUNCTION pg_temp.statistics(sampled text, expected text, v float8)
RETURNS TABLE (kind text, a bigint, b bigint, z float8) LANGUAGE sql AS $$
    SELECT kind, a, b, CASE kind
        WHEN 'mean' THEN mean / sqrt(v * of_a / runs)
        WHEN 'across runs' THEN mean / sqrt(v * v * of_a * of_a / runs)
        WHEN 'change' THEN (mean - v * apart) / sqrt((2 * v * v * apart * apart + v * (1 + 3 * v) * apart) / runs)
        ELSE (mean - v * common) / sqrt((v * v * (of_a * of_b + common * common) + v * (1 + 3 * v) * common) / runs)
        END
    FROM (SELECT a, b, of_a, of_b, common, of_a + of_b - 2 * common AS apart FROM shared WHERE stream = expected) o
         JOIN measured m USING (a, b)
    WHERE m.stream = sampled
$$;

INSERT INTO samples SELECT stream, t, array_agg(n ORDER BY run) FROM releases GROUP BY stream, t;
CREATE TEMP TABLE used AS
    SELECT stream, t, array_agg(node) AS nodes
    FROM streams, pg_temp.nodes(mechanism, k, h) WHERE t = ANY (steps) GROUP BY stream, t;
INSERT INTO shared
    SELECT stream, a.t, b.t, cardinality(a.nodes), cardinality(b.nodes),
           (SELECT count(*) FROM unnest(a.nodes) x JOIN unnest(b.nodes) y ON x = y)
    FROM used a JOIN used b USING (stream) WHERE a.t <= b.t;

-- of a few, by hand: the nodes of t = 14 = 9 + 2*3 - 1 and of t = 13 = 9 + 3 + 1 with k = 3
SELECT results_eq(
    $$ SELECT t, array_agg(node ORDER BY node) FROM pg_temp.nodes('subtraction', 3, 4) WHERE t IN (13, 14) GROUP BY t ORDER BY t $$,
    $$ VALUES (13::bigint, ARRAY[9, 12, 13]::bigint[]), (14, ARRAY[14, 15, 18, 27]::bigint[]) $$,
    'nodes of 13 = 9 + 3 + 1 and of 14 = 27 - 9 - 3 - 1, k = 3, subtraction');
SELECT is((SELECT array_agg(node ORDER BY node) FROM pg_temp.nodes('plain', 2, 4) WHERE t = 11), ARRAY[8, 10, 11]::bigint[],
    'nodes of 11 = 8 + 2 + 1 in the binary tree');

INSERT INTO measured SELECT m.* FROM streams, pg_temp.moments(stream) m;
ANALYZE measured;
ANALYZE shared;

CREATE TEMP TABLE results AS
    SELECT stream, s.* FROM streams, pg_temp.statistics(stream, stream, pg_temp.node_variance(epsilon, h)) s;
SELECT cmp_ok((SELECT count(*) FROM results), '<', 5000::bigint, 'as many statistics as the bound allows for');
SELECT cmp_ok((SELECT count(*) FROM results), '>', 4000::bigint, 'as many statistics as meant');
SELECT cmp_ok((SELECT max(abs(z)) FROM results r WHERE r.stream = s.stream), '<', 9::float8,
              stream || ': means, variances, covariances, changes, neighboring runs')
FROM streams s ORDER BY stream COLLATE "C";
-- GROUP BY: the release after the last of t rows has the variance of step t; groups are independent.
INSERT INTO samples
    SELECT 'group', last, array_agg(n ORDER BY run)
    FROM (SELECT run, last, dp_running_count(false, 1, 3, 40) AS n
          FROM zeros JOIN unnest(ARRAY[1, 2, 4, 5, 13, 14, 40]) last ON t <= last GROUP BY run, last) s GROUP BY last;
INSERT INTO shared
    SELECT 'group', a.t, b.t, cardinality(a.nodes), cardinality(b.nodes), CASE WHEN a.t = b.t THEN cardinality(a.nodes) ELSE 0 END
    FROM used a JOIN used b USING (stream)
    WHERE stream = 'k = 3, subtraction' AND a.t <= b.t AND a.t IN (1, 2, 4, 5, 13, 14, 40) AND b.t IN (1, 2, 4, 5, 13, 14, 40);
INSERT INTO measured SELECT * FROM pg_temp.moments('group');
SELECT cmp_ok((SELECT max(abs(z)) FROM pg_temp.statistics('group', 'group', pg_temp.node_variance(1, 4)) WHERE kind <> 'change'), '<',
    9::float8,
              'GROUP BY: the variance of the last step, independent groups');

-- The default is as accurate as the paper's best k or better: a mean square error of at most 56.2 at
-- T = 100 and epsilon = 1 (the best plain k has 72.8). The mean over 4000 runs scatters by 0.7.
SELECT cmp_ok((SELECT avg(n * n) FROM (SELECT dp_running_count(false, 1) OVER (PARTITION BY run ORDER BY t) AS n FROM zeros
    WHERE t <= 100) s),
              '<', 62::numeric, 'the default has at most the error of the best k');

-- Power --------------------------------------------------------------------------------------------

-- wrong expectations for the real releases
SELECT cmp_ok((SELECT min(worst) FROM (SELECT max(abs(z)) AS worst FROM streams,
    pg_temp.statistics(stream, stream, pg_temp.node_variance(epsilon, h - 1)) GROUP BY stream) s),
              '>', 9::float8, 'power: an expectation with scale h - 1 is rejected in every stream');
SELECT cmp_ok((SELECT min(worst) FROM (SELECT max(abs(z)) AS worst FROM streams,
    pg_temp.statistics(stream, stream, pg_temp.node_variance(epsilon, h + 1)) GROUP BY stream) s),
              '>', 9::float8, 'power: an expectation with scale h + 1 is rejected in every stream');
SELECT cmp_ok((SELECT max(abs(z)) FROM pg_temp.statistics('k = 3, subtraction', 'k = 3, plain', pg_temp.node_variance(1, 4))), '>',
    9::float8,
              'power: subtraction is not taken for plain');
SELECT cmp_ok((SELECT max(abs(z)) FROM pg_temp.statistics('k = 4, subtraction', 'k = 3, subtraction', pg_temp.node_variance(0.75, 3))),
    '>', 9::float8,
              'power: k = 4 is not taken for k = 3');

-- Wrong mechanisms, built here from independent draws: a node's noise is the draw of its label. Node
-- and label agree in the right one.
CREATE TEMP TABLE tree AS SELECT * FROM pg_temp.nodes('subtraction', 3, 4);
CREATE TEMP TABLE looked_at AS SELECT unnest(steps) AS t FROM streams WHERE stream = 'NULL bits';
CREATE FUNCTION pg_temp.found_out(labels text) RETURNS float8 LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM samples WHERE stream = 'built';
    DELETE FROM measured WHERE stream = 'built';
    EXECUTE format($q$
        WITH labels AS MATERIALIZED (SELECT l.* FROM (%s) l (t, label) JOIN looked_at USING (t)),
             draws AS MATERIALIZED (
                 SELECT run, label, dp_count(false, 0.25) AS z
                 FROM generate_series(1, 4000) run, (SELECT DISTINCT label FROM labels) l GROUP BY run, label)
        INSERT INTO samples
            SELECT 'built', t, array_agg(n ORDER BY run)
            FROM (SELECT run, t, sum(z) AS n FROM labels JOIN draws USING (label) GROUP BY run, t) s GROUP BY t $q$, labels);
    INSERT INTO measured SELECT * FROM pg_temp.moments('built');
    RETURN (SELECT max(abs(z)) FROM pg_temp.statistics('built', 'NULL bits', pg_temp.node_variance(1, 4)));
END $$;
SELECT cmp_ok(pg_temp.found_out('SELECT t, node FROM tree'), '<', 9::float8, 'built from the right nodes, a stream passes');
SELECT cmp_ok(pg_temp.found_out('SELECT t, 100 + 4 * "from" + level FROM tree'), '>', 9::float8,
              'power: siblings that share one noise are found out');
SELECT cmp_ok(pg_temp.found_out('SELECT t, CASE WHEN level = 2 THEN 100 + 3 * node + t % 3 ELSE node END FROM tree'), '>', 9::float8,
              'power: a digit whose nodes are drawn anew at every step is found out');
SELECT cmp_ok(pg_temp.found_out('SELECT t, CASE WHEN level = 4 AND t >= 23 THEN 100 ELSE node END FROM tree'), '>', 9::float8,
              'power: a carry that draws one live node anew is found out');
SELECT cmp_ok(pg_temp.found_out('SELECT t, node FROM tree WHERE level > 1'), '>', 9::float8,
              'power: a lowest level without noise is found out');
SELECT cmp_ok(pg_temp.found_out('SELECT u.t, node FROM generate_series(1, 40) u (t) JOIN tree ON tree.t = u.t - u.t / 3'), '>', 9::float8,
              'power: NULL bits that do not advance time are found out');
SELECT cmp_ok(pg_temp.found_out('SELECT t, node FROM tree UNION ALL SELECT 40, 300'), '>', 9::float8,
              'power: one node too many at one step is found out');

SELECT * FROM finish();
ROLLBACK;
