-- A histogram with many bins: they are the steps of a running total, one for each group and period. Noise stays within 12 of its
-- standard deviations but for a probability below 1e-6 in all.
\set VERBOSITY terse
CREATE SCHEMA wide_histograms;
SET search_path = wide_histograms, public;
SET client_min_messages = warning;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT dp_budget_create('patients', 1000, per => '365 days');
CREATE TABLE stays AS
SELECT g % 5000 AS person, timestamp '2024-01-01' + g * 37 % 366 * interval '1 day' AS at, (ARRAY['north', 'south', 'west'])[1 + g % 3] AS
     region, CASE WHEN g % 11 <> 0 THEN g * g % 300 - 4 END AS minutes
FROM generate_series(1, 20000) AS g;
CREATE VIEW stays_dp AS SELECT * FROM stays;
SELECT dp_source_create('stays_dp', budget => 'patients', person => 'person', at => 'at');
-- from where totals place a median better by a quarter
CREATE TABLE made AS
SELECT bins, dp_counter_create('bins' || bins, 'stays_dp', 1, '1 month', '2024-01-01', per_person => 6, histogram => 'minutes',
                               bins => ARRAY(SELECT generate_series(1, bins)))
FROM unnest('{2,32,64,100,128,1024,4096}'::integer[]) AS bins;
SELECT m.bins, mechanism, k, cumulative, sensitivity FROM made AS m JOIN dp_counters ON counter = dp_counter_create ORDER BY m.bins;
SELECT dp_counter_drop(dp_counter_create) FROM made;
-- with groups, in two ticks of some months
SELECT dp_counter_create('minutes', 'stays_dp', 2, '1 month', '2024-01-01', per_person => 4, histogram => 'minutes',
                         bins => ARRAY(SELECT generate_series(0, 255)), by => 'region', groups => '{south,north}', others => 'others');
CALL dp_tick('minutes');
SELECT (SELECT count(*) FROM minutes) = 3 * 256 * steps AS complete, steps > 20 AS all_periods,
       stddev = (SELECT max(stddev) FROM minutes) AS widest
FROM dp_counters WHERE counter = 'minutes'::regclass;
CREATE TABLE off AS
SELECT m.*, coalesce(truth, 0) AS truth, count - coalesce(truth, 0) AS off
FROM minutes AS m LEFT JOIN
     (SELECT date_trunc('month', at)::timestamp AS period, CASE WHEN region = 'west' THEN 'others' ELSE region END AS region,
             least(greatest(minutes, 0), 255) AS bin, count(*) AS truth FROM stays WHERE minutes IS NOT NULL GROUP BY 1, 2, 3) AS t
     USING (period, region, bin)
WHERE step <= 12;
SELECT bool_and(abs(off) < 12 * stddev) AS near, count(*) FILTER (WHERE off <> 0) > 5000 AS noisy,
       round(sqrt(avg(off ^ 2)) / avg(stddev)) = 1 AS as_stated, avg((abs(off) <= width)::int) BETWEEN 0.93 AND 0.98 AS covered,
       bool_and(low = greatest(2 * count - high, 0)) FILTER (WHERE high > 0) AS low
FROM off, (SELECT max(high - count) AS width FROM minutes WHERE high > 0) AS w;
-- bins add up to totals, whose noise is less than that of half as many bins
SELECT count(*), sqrt(avg(total ^ 2)) < max(stddev) * sqrt(64) AS telescopes
FROM (SELECT sum(off) AS total, max(stddev) AS stddev FROM off GROUP BY step, region) AS o;
SELECT sqrt(avg(total ^ 2)) < max(stddev) * sqrt(64) AS halves_too
FROM (SELECT sum(off) AS total, max(stddev) AS stddev FROM off WHERE bin < 128 GROUP BY step, region) AS o;
-- periods and groups have noise of their own
SELECT abs(corr(a.off, b.off)) < 0.12 AS groups, abs(corr(a.off, c.off)) < 0.12 AS periods
FROM off AS a JOIN off AS b ON (a.step, a.bin) = (b.step, b.bin) AND b.region = 'south'
     JOIN off AS c ON (a.step, a.bin) = (c.step - 1, c.bin) AND c.region = 'north'
WHERE a.region = 'north';
-- the same errors, of one period and of more
SELECT bool_and((m.stddev, m.count, m.low, m.high) = (c.stddev, c.count, c.low, c.high)) AS as_shown,
       count(*) = (SELECT count(*) FROM minutes) AS all
FROM dp_counter_changes('minutes', 1) AS c JOIN minutes AS m ON (c.step, c.group_value, c.bin) = (m.step, m.region, m.bin);
SELECT bool_and(abs(c.stddev / (m.stddev * sqrt(12)) - 1) < 1e-9) AS of_twelve,
       bool_and(c.high - c.count BETWEEN 1.9 * c.stddev AND 2.1 * c.stddev + 12) FILTER (WHERE c.high > 0) AS wide
FROM dp_counter_changes('minutes', 12) AS c JOIN minutes AS m ON (c.step, c.group_value, c.bin) = (m.step, m.region, m.bin);
SELECT number, periods, groups, stddev = (SELECT max(stddev) FROM minutes) AS of_view,
       half_width = (SELECT max(high - count) FROM minutes WHERE high > 0) AS width
FROM dp_counter_plan('minutes') WHERE periods = 1 AND number ~ 'bin';
-- a median is less off than with noise for each bin by itself
SELECT p.number, p.half_width, upper(dp_interval(0, 256, NULL, 2, 0.95, NULL, 'laplace', 4)) / 2 AS of_bins
    FROM dp_counter_plan('minutes') AS p WHERE periods = 1 AND number ~ 'median';
SELECT dp_stddev(4, NULL, 2, 256, 'bins', 4) = 2 * (SELECT max(stddev) FROM minutes) AS of_four,
       upper(dp_interval(0, 1, NULL, 2, 0.95, 256, 'bins', 4)) - 1 = (SELECT max(high - count) FROM minutes WHERE high > 0) AS widest;
-- quantiles
SELECT q.group_value, fraction, bool_and(abs(quantile - true_quantile) < 40) AS near,
       bool_and(quantile BETWEEN coalesce(low, 0) AND coalesce(high, 255)) AS within,
       max(coalesce(high, 256) - coalesce(low, 0)) < 150 AS narrow
FROM dp_counter_quantiles('minutes', '{0.1,0.5,0.75}', 12, until => '2025-01-01') AS q
     JOIN LATERAL (SELECT percentile_disc(fraction) WITHIN GROUP (ORDER BY least(greatest(minutes, 0), 255)) AS true_quantile
                   FROM stays AS s WHERE CASE WHEN s.region = 'west' THEN 'others' ELSE s.region END = group_value AND minutes IS NOT NULL
                  ) AS t ON true
GROUP BY 1, 2 ORDER BY 1, 2;
-- groups that are added have noise of their own, from the next period on; others go
SELECT dp_counter_create('grows', 'stays_dp', 1, '1 month', '2024-01-01', horizon => 24, per_person => 4, histogram => 'minutes',
                         bins => ARRAY(SELECT generate_series(0, 127)), by => 'region', groups => '{north}');
SELECT dp_counter_add_groups('grows', '{south}');
SELECT dp_counter_drop_groups('grows', '{north}');
CALL dp_tick('grows');
SELECT region, count(*) = 24 * 128 AS complete, min(count) < 0 AS noisy FROM grows GROUP BY 1;
SELECT dp_counter_end('grows');
-- a counter that continues another one goes on with its tallies, whatever the noise is
SELECT dp_counter_create('first', 'stays_dp', 1, '1 month', '2024-01-01', horizon => 2, per_person => 3);
CALL dp_tick('first');
SELECT dp_counter_create('second', 'stays_dp', 1, '1 month', horizon => 2, per_person => 3, histogram => 'minutes',
                         bins => ARRAY(SELECT generate_series(0, 499)), continues => 'first');
CALL dp_tick('second');
SELECT step, count(*), bool_and(bin < 300 OR abs(count) < 12 * stddev) AS near FROM second GROUP BY step ORDER BY step;
-- what is refused
CREATE FUNCTION answer(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    hint text;
    result text;
BEGIN
    EXECUTE 'SELECT ' || call INTO result;
    RETURN result;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
    RETURN SQLSTATE || ': ' || SQLERRM || ' (' || hint || ')';
END $$;
SELECT answer(format('dp_stddev(1, NULL, %s, ''bins'', 1)', of)) FROM unnest('{"1, NULL","1, 1","1, 4097","1, -5","0, 256"}'::text[]) AS of;
SELECT answer('dp_stddev(1, NULL, 1, 256, ''bins'', 1, 2)');
SELECT answer('dp_avg_interval(1, 1, 1, NULL, 1, k => 256, mechanism => ''bins'', sensitivity => 1)');
SELECT answer('mechanism FROM dp_plan(NULL, 1, 256, ''bins'')');
DO $$ BEGIN PERFORM dp_counter_drop(counter) FROM dp_counters; END $$;
DROP VIEW stays_dp;
SELECT dp_budget_drop('patients');
DROP SCHEMA wide_histograms CASCADE;
