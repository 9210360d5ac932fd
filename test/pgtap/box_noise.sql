-- Through SQL: the noise of persons by period has the law of blocks that share a radius, and the intervals that are computed hold it.
--
-- A counter of an empty source, days under own windows of 7 days: blocks of B = 3, of which a window touches K = 3,
-- some 27,000 of them. The noise of a block has P(z) proportional to exp(-max |z| epsilon / K). The greatest |z| of a
-- block says whether K is right, whether a block begins where it should, and whether its steps share a radius; that of
-- two blocks which follow each other, whether they do not.
--
-- False alarms: blocks are independent. A share of the blocks fails where its Kullback-Leibler distance from the
-- expected one exceeds 20 / blocks, with a probability below 2 exp(-20) = 4e-9 by Chernoff's bound; there are 24. A
-- correlation fails at 6 standard deviations: 2e-9. (Of steps with one radius it has 1.45 times that of independent
-- ones: 9.) Together below 2e-7.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS dp_counter;
SELECT plan(12);
CREATE SCHEMA box_noise;
SET search_path = box_noise, public;
CREATE TABLE events (person integer, day date);
CREATE VIEW events_dp AS SELECT * FROM events;
SELECT dp_budget_create('weeks', 1, per => '7 days') \g /dev/null
SELECT dp_source_create('events_dp', 'weeks', 'person', 'day', 'UTC') \g /dev/null
SELECT dp_counter_create('days', 'events_dp', 1, '1 day', '1800-01-01', persons => true) \g /dev/null
CALL dp_tick('days');
SELECT is((SELECT concat_ws(' ', mechanism, k, sensitivity) FROM dp_counters WHERE counter = 'days'::regclass), 'box 3 3',
    'blocks of 3 days, of which a window touches 3');

CREATE TABLE blocks AS
SELECT (step - 1) / 3 AS block, array_agg(count ORDER BY step) AS z, max(abs(count)) AS most FROM days GROUP BY 1 HAVING count(*) = 3;
-- P(R = r) and P(max |z| = m) of another K too
CREATE FUNCTION radii(blocks integer) RETURNS TABLE (r integer, p float8) LANGUAGE sql AS
    $$ SELECT r, (2 * r + 1) ^ 3 * exp(-r / blocks::float8) / sum((2 * r + 1) ^ 3 * exp(-r / blocks::float8)) OVER ()
        FROM generate_series(0, 300) AS r $$;
CREATE FUNCTION law(blocks integer) RETURNS TABLE (m integer, p float8) LANGUAGE sql AS $$
    SELECT m, within - lag(within, 1, 0::float8) OVER (ORDER BY m)
    FROM (SELECT m, sum(p * ((2 * least(m, r) + 1.0::float8) / (2 * r + 1)) ^ 3) AS within FROM generate_series(0, 300) AS m,
        radii(blocks) GROUP BY m) AS w
$$;
CREATE FUNCTION distance(f float8, p float8) RETURNS float8 LANGUAGE sql AS
    $$ SELECT (CASE WHEN f > 0 THEN f * ln(f / p) ELSE 0 END) + (CASE WHEN f < 1 THEN (1 - f) * ln((1 - f) / (1 - p)) ELSE 0 END) $$;
-- the worst bin of 3, the last one open, in units of what is allowed
CREATE FUNCTION misfit(most bigint[], blocks integer) RETURNS float8 LANGUAGE sql AS $$
    WITH seen AS (SELECT least(m / 3, 19) AS bin, count(*) AS n FROM unnest(most) AS m GROUP BY 1),
         expected AS (SELECT least(m / 3, 19) AS bin, sum(p) AS p FROM law(blocks) GROUP BY 1)
    SELECT max(cardinality(most) * distance(coalesce(n, 0) / cardinality(most)::float8, p)) / 20 FROM expected LEFT JOIN seen USING (bin)
$$;
CREATE FUNCTION within(z bigint[], width bigint, p float8) RETURNS float8 LANGUAGE sql AS
    $$ SELECT cardinality(z) * distance(avg((abs(x) <= width)::integer)::float8, p) / 20 FROM unnest(z) AS x $$;

SELECT cmp_ok(misfit(array_agg(most), 3), '<', 1::float8, 'the greatest noise of a block has its law') FROM blocks;
SELECT cmp_ok(abs(corr(a.most, b.most)) * sqrt(count(*)), '<', 6::float8, 'blocks are independent') FROM blocks AS a
    JOIN blocks AS b ON b.block = a.block + 1 WHERE a.block % 2 = 0;
SELECT cmp_ok(abs(corr(a.z[3], a.z[1])) * sqrt(count(*)), '<', 9::float8, 'steps are uncorrelated') FROM blocks AS a;

-- What holds |z| as often as it says: by the law of one step, P(|z| <= w | R) = (2 min(w, R) + 1) / (2R + 1).
CREATE TABLE widths AS SELECT number, periods, half_width, stddev FROM dp_counter_plan('days');
SELECT cmp_ok(within(array_agg(z[2]), (SELECT half_width FROM widths WHERE periods = 1),
    (SELECT sum(p * (2 * least(half_width, r) + 1.0) / (2 * r + 1)) FROM radii(3), widths WHERE periods = 1)), '<', 1::float8,
    'one period') FROM blocks;
-- Sums of 4 and of 12, each of blocks of its own: at least 95 % of them, and less than 96.
CREATE FUNCTION sums(lag integer) RETURNS TABLE (s bigint) LANGUAGE sql AS
    $$ SELECT sum(x) FROM (SELECT block * 3 + i AS step, x FROM blocks, unnest(z) WITH ORDINALITY AS v (x, i)) AS steps
        WHERE (step - 1) % (lag + 6) < lag GROUP BY (step - 1) / (lag + 6) HAVING count(*) = lag $$;
SELECT cmp_ok(least(within(array_agg(s), half_width, 0.95), within(array_agg(s), half_width, 0.96)), '<', 1::float8, number) FROM widths,
    sums(periods::integer) WHERE periods IN (4, 12) GROUP BY number, periods, half_width ORDER BY periods;
-- The variance of a sum of a block, by its fourth moment, to 6 deviations.
SELECT cmp_ok(abs(avg(q) - 3 * max(w.stddev) ^ 2) / (stddev(q) / sqrt(count(*))), '<', 6::float8, 'its stddev')
    FROM (SELECT (z[1] + z[2] + z[3])::float8 ^ 2 AS q FROM blocks) AS b, widths AS w WHERE w.periods = 1;

-- Power: what is broken is found out.
SELECT cmp_ok(misfit(array_agg(most), 2), '>', 1::float8, 'power: it is not the law of one block less') FROM blocks;
SELECT cmp_ok(misfit(array_agg(greatest(abs(a.z[1]), abs(b.z[2]), abs(c.z[3]))), 3), '>', 1::float8,
    'power: nor that of a radius for each step') FROM blocks AS a JOIN blocks AS b ON b.block = a.block + 1
    JOIN blocks AS c ON c.block = a.block + 2;
SELECT cmp_ok(misfit(array_agg(greatest(abs(a.z[2]), abs(a.z[3]), abs(b.z[1]))), 3), '>', 1::float8,
    'power: nor of blocks that begin elsewhere') FROM blocks AS a JOIN blocks AS b ON b.block = a.block + 1;
SELECT cmp_ok(abs(corr(abs(z[1]), abs(z[2]))) * sqrt(count(*)), '>', 6::float8,
    'power: nor would two blocks with one radius be independent') FROM blocks;

SELECT * FROM finish();
DROP VIEW days, events_dp;
SELECT dp_budget_drop('weeks') \g /dev/null
DROP SCHEMA box_noise CASCADE;
