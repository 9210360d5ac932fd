-- histogram => 'column', bins => '{...}': events by the bin of a column, and quantiles of them. At epsilon 1e9 numbers are exact.
\set VERBOSITY terse
CREATE SCHEMA histograms;
SET search_path = histograms, public;
SET client_min_messages = warning;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT dp_budget_create('patients', 1e15, per => '365 days');
CREATE TABLE stays AS
SELECT g % 500 AS person, timestamp '2024-01-01' + g * 37 % 366 * interval '1 day' + g % 24 * interval '1 hour' AS at, (ARRAY['north',
     'south', 'west'])[1 + g % 3] AS region,
       CASE WHEN g % 11 <> 0 THEN g * g % 47 - 4 END AS nights, g % 5 <> 0 AS is_stay, (g % 7)::smallint AS small, g % 3 = 0 AS flu,
            g::text AS note
FROM generate_series(1, 6000) AS g;
CREATE VIEW stays_dp AS SELECT * FROM stays;
SELECT dp_source_create('stays_dp', budget => 'patients', person => 'person', at => 'at');
CREATE FUNCTION bin_of(value bigint, bins bigint[]) RETURNS bigint LANGUAGE sql AS 'SELECT bins[greatest(width_bucket(value, bins), 1)]';
SELECT dp_counter_create('nights', source => 'stays_dp', epsilon => 1e9, every => '1 month', since => '2024-01-01', per_person => 100,
     event => 'is_stay',
                         histogram => 'nights', bins => '{0,1,2,3,4,5,7,10,14,21,30}', by => 'region', groups => '{north,south,east}',
                              others => 'others');
SELECT dp_counter_create('small', 'stays_dp', 1e9, '3 months', '2024-01-01', horizon => 4, per_person => 100, histogram => 'small',
     bins => '{2,5}');
CALL dp_tick('stays_dp');
-- every bin of every group and period, exactly: those without rows too, NULL values nowhere, values below and above in the end bins
CREATE VIEW truth AS
SELECT period, r.region, bin, count(nights) AS count
FROM generate_series(timestamp '2024-01-01', '2024-12-01',
     '1 month') AS period CROSS JOIN unnest('{north,south,east,others}'::text[]) AS r (region)
     CROSS JOIN unnest('{0,1,2,3,4,5,7,10,14,21,30}'::bigint[]) AS bin
     LEFT JOIN stays ON date_trunc('month', at) = period AND CASE WHEN stays.region = 'west' THEN 'others' ELSE stays.region END = r.region
                        AND bin_of(nights, '{0,1,2,3,4,5,7,10,14,21,30}') = bin AND is_stay
GROUP BY 1, 2, 3;
SELECT count(*), sum(t.count) AS stays, bool_and(n.count = t.count AND n.low = t.count AND n.high = t.count) AS exact
FROM truth AS t FULL JOIN (SELECT * FROM nights WHERE step <= 12) AS n USING (period, region, bin);
SELECT period, bin, step, count FROM small ORDER BY step, bin;
SELECT (SELECT sum(count) FROM truth) = (SELECT count(nights) FROM stays WHERE is_stay) AS all_rows;
-- months add up to a year, and so does what dp_counter_changes says
SELECT count(*), bool_and(c.count = t.count AND c.low = t.count AND c.high = t.count AND c.period = '2024-12-01' AND c.sum IS NULL) AS year
FROM dp_counter_changes('nights', 12, until => '2025-01-01') AS c FULL JOIN (SELECT region, bin, sum(count) AS count
     FROM truth GROUP BY 1, 2) AS t ON region = group_value AND c.bin = t.bin;
SELECT group_value, bin, step, count FROM dp_counter_changes('small', 2) ORDER BY step, bin;
-- quantiles: those of the truth are in [low, high), and so is what is shown
CREATE FUNCTION exact(lag integer) RETURNS TABLE (period timestamp, region text, fraction numeric, value integer) LANGUAGE sql AS $$
    SELECT period, CASE WHEN s.region = 'west' THEN 'others' ELSE s.region END, f, percentile_disc(f::float8) WITHIN GROUP (ORDER BY nights)
    FROM generate_series(timestamp '2024-01-01' + (lag - 1) * interval '1 month', '2024-12-01', '1 month') AS period,
         unnest('{0.25,0.5,0.75,0.9}'::numeric[]) AS f, stays AS s
    WHERE is_stay AND at < period + interval '1 month' AND at >= period - (lag - 1) * interval '1 month'
         AND nights IS NOT NULL GROUP BY 1, 2, 3 $$;
SELECT lag, count(*), bool_and(value >= coalesce(low, -9) AND value < coalesce(high, 99)) AS within,
       bool_and(quantile BETWEEN coalesce(low, 0) AND coalesce(high, 30)) AS clipped, max(high - low) AS widest,
            count(*) FILTER (WHERE low IS NULL) AS first_bin, count(*) FILTER (WHERE high IS NULL) AS last_bin
FROM unnest('{1,3,12}'::integer[]) AS lag, LATERAL exact(lag) AS e LEFT JOIN LATERAL dp_counter_quantiles('nights', '{0.25,0.5,0.75,0.9}',
     lag) AS q
     ON q.period = e.period AND q.group_value = e.region AND q.fraction = e.fraction GROUP BY lag ORDER BY lag;
SELECT * FROM dp_counter_quantiles('nights', '{0.5,0.900}', lag => 12, until => '2025-01-01')
ORDER BY period, group_value COLLATE "C", fraction;
SELECT * FROM dp_counter_quantiles('small', '{0.1,0.9}', since => '2024-04-01', until => '2024-10-01');
SELECT count(*) FROM dp_counter_quantiles('small', '{0.5}', lag => 5);
-- a group without rows has no quantiles; at epsilon 1e9 its total is 0
SELECT DISTINCT quantile, low, high FROM dp_counter_quantiles('nights', '{0.5}') WHERE group_value = 'east';
-- two bins with noise, N_1 - N_2 with q = 1/2: P(X >= 7) = 0.017 and P(X >= 6) = 0.030. So from 7 on the median is in the
-- first bin, and below -7 it is in the second.
SELECT dp_counter_create('two', 'stays_dp', 0.6931471805599453, '1 year', '2024-01-01', per_person => 1, histogram => 'small',
     bins => '{0,10}');
CALL dp_tick('two');
CREATE FUNCTION two(first bigint, second bigint) RETURNS TABLE (quantile numeric, low bigint, high bigint) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE dp_counter_private.releases SET count = CASE bin WHEN 1 THEN first ELSE second END
    WHERE number = (SELECT number FROM dp_counter_private.counters WHERE counter = 'two'::regclass) AND step = 1;
    RETURN QUERY SELECT round(q.quantile::numeric, 4), q.low, q.high FROM dp_counter_quantiles('two', '{0.5}', until => '2025-01-01') AS q;
END $$;
SELECT v.*, two.* FROM (VALUES (7, 3), (9, 3), (9, 2), (5, 12), (5, 13), (-5, 2), (-1, 1), (0, 0), (9223372036854775807, 0),
    (9223372036854775807, 9223372036854775807)) AS v (first, second), two(v.first, v.second);
-- what is said of it
SELECT measure, value, bins, lower, upper, cumulative, mechanism, sensitivity FROM dp_counters WHERE counter = 'nights'::regclass;
SELECT DISTINCT left(guarantee, 29) AS opening, guarantee ~ 'At most 100 events of each window count, each in one of 11 bins, from' AS bins,
       guarantee ~ 'One row of the view more or less costs at most 20000000,' AS row FROM dp_counter_plan('nights');
SELECT number, periods, groups, sensitivity FROM dp_counter_plan('nights') ORDER BY number ~ 'rank', periods;
SELECT obj_description('nights'::regclass) ~ '^Histograms of single periods\. All releases together are 1000000000-differentially private' AS comment;
SELECT attname, format_type(atttypid, NULL) AS type, left(col_description('nights'::regclass, attnum), 60) AS comment
FROM pg_attribute WHERE attrelid = 'nights'::regclass AND attnum > 0 ORDER BY attnum;
-- columns of the view may have other names
ALTER VIEW nights RENAME bin TO nights_from;
ALTER VIEW nights RENAME region TO ward;
SELECT count(*) FROM dp_counter_quantiles('nights', '{0.5}', 12, until => '2025-01-01');
-- the bound counts events over all bins and groups
SELECT dp_counter_create('bounded', 'stays_dp', 1e9, '1 year', '2024-01-01', per_person => 3,
                         histogram => 'small', bins => '{0,1,2,3,4,5,6}', by => 'flu', groups => '{true,false}');
CALL dp_tick('bounded');
SELECT sum(count) FILTER (WHERE step = 1) BETWEEN 500 * 3 AND 500 * 6 AS bound, sum(count) < 6000 AS bounded,
       count(*) FILTER (WHERE count > 0 AND step = 1) AS filled FROM bounded;
-- groups that are added have all bins, from the next period on; windows that are shorter are left out
SELECT dp_counter_create('grows', 'stays_dp', 1e9, '1 month', '2024-01-01', per_person => 100,
                         histogram => 'small', bins => '{0,3}', by => 'region', groups => '{north}');
SELECT dp_counter_add_groups('grows', '{south}');
SELECT dp_counter_drop_groups('grows', '{north}');
SELECT groups FROM dp_counters WHERE counter = 'grows'::regclass;
CALL dp_tick('grows');
SELECT region, bin, step, count FROM grows WHERE step <= 2 ORDER BY step, bin;
SELECT dp_counter_add_groups('grows', '{west}');
SELECT group_value, step, fraction, low, high FROM dp_counter_quantiles('grows', '{0.9}', 2, until => '2024-04-01');
-- a counter that continues another one goes on with its tallies, whatever the measures are
SELECT dp_counter_create('first', 'stays_dp', 1e9, '1 month', '2024-01-01', horizon => 2, per_person => 3);
CALL dp_tick('first');
SELECT dp_counter_create('second', 'stays_dp', 1e9, '1 month', horizon => 10, per_person => 3, histogram => 'small', bins => '{0,3}',
     continues => 'first');
CALL dp_tick('second');
SELECT (SELECT sum(count) FROM first) + (SELECT sum(count) FROM second) = (SELECT sum(count) FROM bounded WHERE step = 1) AS one_bound;
SELECT period, bin FROM second WHERE step = 1 ORDER BY bin;
-- an enum as group; a source that is dropped and made again, whose columns are found by name and type; the end
CREATE TYPE ward AS ENUM ('north', 'south', 'west');
CREATE VIEW wards_dp AS SELECT person, at, region::ward AS ward, small FROM stays;
SELECT dp_source_create('wards_dp', budget => 'patients', person => 'person', at => 'at');
SELECT dp_counter_create('wards', 'wards_dp', 1e9, '6 months', '2024-01-01', per_person => 100, horizon => 2,
                         histogram => 'small', bins => '{0,3}', by => 'ward', groups => '{west,north}');
CALL dp_tick('wards');
ALTER TYPE ward RENAME VALUE 'west' TO 'tower';
SELECT ward, bin, sum(count) AS count FROM wards GROUP BY 1, 2 ORDER BY 1, 2;
DROP VIEW wards_dp CASCADE;
CREATE VIEW wards_dp AS SELECT person, at, NULL::ward AS ward, small::integer AS small FROM stays;
SELECT dp_source_create('wards_dp', budget => 'patients', person => 'person', at => 'at');
DROP VIEW wards_dp CASCADE;
CREATE VIEW wards_dp AS SELECT small, person, at, NULL::ward AS ward FROM stays;
SET client_min_messages = notice;
SELECT dp_source_create('wards_dp', budget => 'patients', person => 'person', at => 'at');
SET client_min_messages = warning;
SELECT dp_counter_end('wards');
SELECT group_value, step, fraction, low, high FROM dp_counter_quantiles('wards', '{0.5}') ORDER BY step, group_value;
-- an analyst needs REFERENCES on the column, and its bins are cells
CREATE ROLE histogram_analyst;
GRANT USAGE, CREATE ON SCHEMA histograms TO histogram_analyst;
SELECT dp_budget_create('team', 1e12, within => 'patients', since => '2020-01-01', least_epsilon => 0.1, most_cells => 1000);
GRANT INSERT ON team TO histogram_analyst;
GRANT REFERENCES (is_stay, small) ON stays_dp TO histogram_analyst;
SET ROLE histogram_analyst;
SELECT dp_counter_create('a', 'stays_dp', 1, '1 month', '2024-01-01', per_person => 1, budget => 'team', histogram => 'nights',
     bins => '{0,1}');
SELECT dp_counter_create('a', 'stays_dp', 1, '1 month', '2024-01-01', per_person => 1, budget => 'team',
                         histogram => 'small', bins => ARRAY(SELECT generate_series(1, 84)));
SELECT dp_counter_create('a', 'stays_dp', 1, '1 month', '2024-01-01', per_person => 1, budget => 'team',
                         histogram => 'small', bins => ARRAY(SELECT generate_series(1, 83)));
RESET ROLE;
-- readers need SELECT on the view
CREATE ROLE histogram_reader;
GRANT USAGE ON SCHEMA histograms TO histogram_reader;
SET ROLE histogram_reader;
SELECT * FROM dp_counter_quantiles('nights', '{0.5}');
RESET ROLE;
GRANT SELECT ON nights TO histogram_reader;
SET ROLE histogram_reader;
SELECT count(*) FROM dp_counter_quantiles('nights', '{0.5}', 12, until => '2025-01-01');
RESET ROLE;
-- what is refused
\pset tuples_only on
CREATE FUNCTION answer(call text, OUT answer text) LANGUAGE plpgsql AS $$
DECLARE
    state text;
    message text;
    hint text;
BEGIN
    EXECUTE 'SELECT count(*) FROM ' || call INTO answer;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
    answer := call || E'\n    ' || state || ': ' || message || CASE WHEN hint <> '' THEN E'\n    HINT: ' || hint ELSE '' END;
END $$;
SELECT answer(format($$dp_counter_create('x', 'stays_dp', 1, '1 month', '2024-01-01', per_person => 1, %s)$$, arguments)) FROM unnest(ARRAY[
    $$histogram => 'nights'$$, $$bins => '{0,1}'$$, $$histogram => 'nights', bins => '{}'$$, $$histogram => 'nights', bins => '{0}'$$,
    $$histogram => 'nights', bins => '{0,NULL}'$$, $$histogram => 'nights', bins => '{0,2,2}'$$, $$histogram => 'nights',
         bins => '{0,2,1}'$$,
    $$histogram => 'nights', bins => ARRAY(SELECT generate_series(1, 4097))$$, $$histogram => 'note', bins => '{0,1}'$$,
    $$histogram => 'flu', bins => '{0,1}'$$, $$histogram => 'at', bins => '{0,1}'$$, $$histogram => 'nothing', bins => '{0,1}'$$,
    $$histogram => 'nights', bins => '{0,1}', cumulative => true$$, $$histogram => 'nights', bins => '{0,1}', upper => 5$$,
    $$histogram => 'nights', bins => '{0,1}', lower => 0$$, $$histogram => 'nights', bins => '{0,1}', persons => true$$,
    $$histogram => 'nights', bins => '{0,1}', avg => 'small', upper => 5$$, $$histogram => 'nights', bins => '{0,1}', k => 2$$,
    $$histogram => 'nights', bins => '{0,1}', by => 'person', groups => ARRAY(SELECT generate_series(1, 500001)::text)$$]) AS arguments;
SELECT answer($$dp_counter_create('x', 'stays_dp', 1, '1 month', '2024-01-01', histogram => 'nights', bins => '{0,1}')$$);
CREATE VIEW bins_dp AS SELECT person, at, small, region AS bin, region AS count FROM stays;
SELECT dp_source_create('bins_dp', budget => 'patients', person => 'person', at => 'at');
SELECT answer(format($$dp_counter_create('x', 'bins_dp', 1, '1 month', '2024-01-01', per_person => 1,
    histogram => 'small', bins => '{0,1}', by => %L, groups => '{a}')$$, by)) FROM unnest('{bin,count}'::text[]) AS by;
SELECT dp_counter_create('wide', 'stays_dp', 1e9, '1 year', '2024-01-01', per_person => 100, histogram => 'nights',
     bins => ARRAY(SELECT generate_series(1, 4096)),
                         by => 'person', groups => ARRAY(SELECT generate_series(1, 244)::text));
SELECT answer($$dp_counter_add_groups('wide', '{245}')$$);
SELECT dp_counter_drop('wide');
SELECT answer(format('dp_counter_quantiles(%s)', arguments)) FROM unnest(ARRAY[
    $$'nights', NULL$$, $$'nights', '{}'$$, $$'nights', '{0.5,NULL}'$$, $$'nights', '{0}'$$, $$'nights', '{1}'$$, $$'nights', '{-0.5}'$$,
    $$'nights', '{NaN}'$$, $$'nights', '{Infinity}'$$, $$'nights', '{0.0005}'$$, $$'nights', '{0.5,0.33333}'$$,
    $$'nights', array_fill(0.5::numeric, '{1000}')$$, $$'nights', '{0.5}', 0$$, $$'nights', '{0.5}', NULL$$, $$'nights', '{0.5}',
         2147483648$$,
    $$'nights', '{0.5}', since => '2024-02-01', until => '2024-02-01'$$, $$NULL, '{0.5}'$$, $$'stays', '{0.5}'$$, $$'first',
         '{0.5}'$$]) AS arguments;
-- as many fractions as there are, more periods than there are, and the same fraction twice
SELECT answer($$dp_counter_quantiles('small', ARRAY(SELECT generate_series(0.001, 0.999, 0.001)))$$),
       answer($$dp_counter_quantiles('nights', '{0.5}', 1000000)$$), answer($$dp_counter_quantiles('small', '{0.5,0.5}')$$);
\pset tuples_only off
DROP OWNED BY histogram_analyst, histogram_reader;
DROP ROLE histogram_analyst, histogram_reader;
DO $$ BEGIN PERFORM dp_counter_drop(counter) FROM dp_counters; END $$;
DROP VIEW stays_dp, wards_dp, bins_dp;
SELECT dp_budget_drop('team'), dp_budget_drop('patients');
DROP SCHEMA histograms CASCADE;
