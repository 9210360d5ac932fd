-- Persons of a period without a bound: noise in blocks of periods that share a secret radius.
\pset format unaligned
SET client_min_messages = notice;
SET timezone = 'UTC';
SET datestyle = 'ISO';
CREATE SCHEMA boxes;
SET search_path = boxes, public;
-- four years
CREATE TABLE visits AS SELECT i % 40 AS patient, '2023-01-01'::timestamp + i * interval '1 day' AS at, 'w' || i % 2 AS ward
    FROM generate_series(0, 1460) AS i;
CREATE VIEW years_dp AS SELECT *, at::date AS day, at AT TIME ZONE 'UTC' AS instant FROM visits;
CREATE VIEW days_dp AS SELECT * FROM years_dp;
CREATE VIEW instants_dp AS SELECT * FROM years_dp;
CREATE VIEW weeks_dp AS SELECT * FROM years_dp;
CREATE VIEW life_dp AS SELECT * FROM years_dp;
SELECT dp_budget_create('years', 1e7, per => '365 days'), dp_budget_create('fours', 1e7, per => '28 days'),
    dp_budget_create('weeks', 1e7, per => '7 days'), dp_budget_create('life', 1e7), dp_budget_create('instants', 1e7, per => '365 days');
SELECT dp_source_create('years_dp', 'years', 'patient', 'at', 'UTC'), dp_source_create('days_dp', 'fours', 'patient', 'at', 'UTC'),
    dp_source_create('weeks_dp', 'weeks', 'patient', 'at', 'UTC'), dp_source_create('life_dp', 'life', 'patient', 'at', 'UTC');
SELECT dp_source_create('instants_dp', 'instants', 'patient', 'instant', 'Europe/Berlin'); -- another type of time, another budget

-- Declared: k periods are a block, and a window touches at most `sensitivity` of them. What has a bound, groups or totals has other noise.
CREATE FUNCTION declare(name text, source regclass, every interval, horizon bigint DEFAULT NULL, bound integer DEFAULT NULL,
    groups text[] DEFAULT NULL, cumulative boolean DEFAULT false, epsilon numeric DEFAULT 1) RETURNS regclass LANGUAGE sql AS
    $$ SELECT dp_counter_create(name, source, epsilon, every, '2024-01-01', horizon, persons => true, per_person => bound, by => CASE
        WHEN groups IS NOT NULL THEN 'ward' END, groups => groups, cumulative => cumulative) $$;
DO $$ BEGIN
    PERFORM declare('months', 'years_dp', '1 month');
    PERFORM declare('weeks_of_year', 'years_dp', '7 days'), declare('weeks_of_berlin', 'instants_dp', '7 days');
    PERFORM declare('days_of_year', 'years_dp', '1 day'), declare('quarters', 'years_dp', '3 months'),
        declare('full_years', 'years_dp', '1 year');
    PERFORM declare('days_of_28', 'days_dp', '1 day'), declare('days_of_7', 'weeks_dp', '1 day'),
        declare('hours_of_7', 'weeks_dp', '1 hour');
    PERFORM declare('life_24', 'life_dp', '1 month', 24), declare('life_104', 'life_dp', '7 days', 104),
        declare('one', 'life_dp', '1 year', 1);
    PERFORM declare('months_of_3', 'years_dp', '1 month', 3), declare('months_of_6', 'years_dp', '1 month', 6),
        declare('months_of_30', 'years_dp', '1 month', 30), declare('weeks_of_65', 'years_dp', '7 days', 65),
        declare('faint', 'years_dp', '1 month', epsilon => 0.000001), declare('clear', 'years_dp', '1 month', epsilon => 20);
    PERFORM declare('grouped', 'years_dp', '1 month', groups => '{w0,w1}'), declare('totals', 'years_dp', '1 month', cumulative => true),
        declare('bounded', 'years_dp', '1 month', bound => 8);
END $$;
SELECT counter, mechanism, k, sensitivity FROM dp_counters ORDER BY counter::text;
SELECT counter, number, round(stddev::numeric, 1) AS stddev, half_width, sensitivity
    FROM unnest('{months,weeks_of_year,days_of_28,days_of_7,life_24,full_years}'::regclass[]) AS counter, dp_counter_plan(counter)
    ORDER BY counter::text, periods;
SELECT obj_description('months'::regclass);
SELECT obj_description('full_years'::regclass);
SELECT obj_description('life_24'::regclass);
SELECT declare('too_faint', 'years_dp', '1 minute', epsilon => 0.000000001);
SELECT dp_counter_create('with_k', 'years_dp', 1, '1 month', '2024-01-01', persons => true, k => 4);
SELECT dp_counter_create('with_mechanism', 'years_dp', 1, '1 month', '2024-01-01', persons => true, mechanism => 'box');

-- A bound with more noise than none
BEGIN;
SELECT declare('months_8', 'years_dp', '1 month', bound => 8), declare('grouped_14', 'years_dp', '1 month', bound => 14,
    groups => '{w0}'), declare('totals_13', 'years_dp', '1 month', bound => 13, cumulative => true);
SELECT declare('months_9', 'years_dp', '1 month', bound => 9);
SELECT declare('grouped_15', 'years_dp', '1 month', bound => 15, groups => '{w0}');
SELECT declare('totals_14', 'years_dp', '1 month', bound => 14, cumulative => true);
SELECT declare('life_bound', 'life_dp', '1 month', bound => 500); -- without a horizon it has to have one
SELECT declare('life_bound_11', 'life_dp', '1 month', 24, bound => 11);
ROLLBACK;

-- Released: exact where epsilon makes the noise vanish, with a probability of less than 1e-100 that it does not, over blocks and ticks.
-- A block's radius is 0 where none is open.
SET client_min_messages = warning;
SELECT count(dp_counter_drop(counter)) FROM dp_counters WHERE counter NOT IN ('months'::regclass, 'life_24'::regclass);
SELECT declare('exact', 'years_dp', '1 month', epsilon => 500);
SELECT sensitivity, k FROM dp_counters WHERE counter = 'exact'::regclass;
CREATE PROCEDURE tick_at(counter regclass, day timestamp) LANGUAGE plpgsql AS $$ BEGIN
    UPDATE dp_counter_private.source_counters AS s SET grace = date_trunc('day', now() AT TIME ZONE 'UTC') - day
        WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter = tick_at.counter);
    COMMIT;
    CALL dp_tick(counter);
END $$;
CREATE FUNCTION stored(counter regclass) RETURNS TABLE (stream integer, total bigint, step integer, has_radius boolean, bytes integer)
    LANGUAGE sql AS
    $$ SELECT stream, total, get_byte(state, 6), substring(state FROM 15 FOR 8) <> '\x0000000000000000', length(state)
        FROM dp_counter_private.streams JOIN dp_counter_private.counters AS c USING (number) WHERE c.counter = $1 $$;
SELECT * FROM stored('months');
CALL tick_at('exact', '2024-06-01');
CALL tick_at('exact', '2025-04-01');
SELECT e.step, e.count, count(DISTINCT patient) - e.count AS error FROM exact AS e JOIN visits ON date_trunc('month', at) = e.period
    GROUP BY 1, 2 ORDER BY 1;
CALL tick_at('months', '2024-04-01'); -- three of four
SELECT step, bytes FROM stored('months');
CALL tick_at('life_24', '2024-04-01');
SELECT step, bytes, has_radius FROM stored('life_24'); -- its radius is 0 with a probability of 1e-31
SELECT step, round(stddev::numeric, 4) AS stddev, high - count AS width FROM months ORDER BY step;
CALL tick_at('months', '2024-05-01');
SELECT step, bytes, has_radius FROM stored('months');
CALL tick_at('months', '2025-01-01');
SELECT step, bytes, has_radius FROM stored('months');
-- in one block, or in two
SELECT step, stddev = (SELECT max(stddev) FROM months) * sqrt(4) AS is_its_root, high - count AS width
    FROM dp_counter_changes('months', 4) ORDER BY step;
SELECT steps, mechanism, k, sensitivity FROM dp_counters WHERE counter = 'months'::regclass;
CALL tick_at('life_24', '2026-01-01');
SELECT step, bytes, has_radius FROM stored('life_24');
SELECT count(*), count(DISTINCT stddev) FROM life_24;

-- Hostile bytes: refused, and nothing is released.
CALL tick_at('months', '2025-03-01');
CREATE TABLE good AS SELECT number, state FROM dp_counter_private.streams WHERE number = (SELECT number FROM dp_counter_private.counters
    WHERE counter = 'months'::regclass);
UPDATE dp_counter_private.streams AS s SET state = '' FROM good WHERE s.number = good.number;
CALL tick_at('months', '2025-05-01');
UPDATE dp_counter_private.streams AS s SET state = set_byte(good.state, 14, 255 - get_byte(good.state, 14)) FROM good
    WHERE s.number = good.number;
CALL tick_at('months', '2025-05-01');
-- of another step
UPDATE dp_counter_private.streams AS s SET state = other.state FROM dp_counter_private.streams AS other, good WHERE s.number = good.number
    AND other.number = (SELECT number FROM dp_counter_private.counters WHERE counter = 'exact'::regclass);
CALL tick_at('months', '2025-05-01');
SELECT max(step) FROM months;
UPDATE dp_counter_private.streams AS s SET state = good.state FROM good WHERE s.number = good.number;
CALL tick_at('months', '2025-05-01');
SELECT max(step) FROM months;

-- What else says how accurate it is: from the columns of dp_counters.
SELECT dp_stddev(4, NULL, 1.0, k, mechanism, sensitivity) = 4 ^ 0.5 * dp_stddev(1, NULL, 1.0, k, mechanism, sensitivity) AS of_four,
    dp_interval(0, 1, NULL, 1.0, 0.95, k, mechanism, sensitivity) AS one, dp_interval(0, 4, NULL, 1.0, 0.95, k, mechanism,
    sensitivity) AS a_block, dp_interval(0, 6, NULL, 1.0, 0.95, k, mechanism, sensitivity, since_step => 2) AS two_blocks FROM dp_counters
    WHERE counter = 'months'::regclass;
SELECT dp_interval(0, 1, NULL, 1.0, mechanism => 'box');
SELECT dp_interval(0, 1, NULL, 1.0, mechanism => 'box', k => 65);
SELECT dp_stddev(1, NULL, 1.0, mechanism => 'box', k => 0);
SELECT dp_stddev(3, NULL, 1.0, mechanism => 'box', k => 4, since_step => 4);
SELECT dp_avg_interval(1, 1, 1, NULL, 1.0, mechanism => 'box', k => 4);
SELECT * FROM dp_plan(NULL, 1.0, mechanism => 'box');

-- The end deletes the state, and so does a drop.
SELECT dp_counter_end('months');
SELECT count(*) FROM stored('months');
SELECT mechanism, k, sensitivity, steps FROM dp_counters WHERE counter = 'months'::regclass;
SELECT count(*) FROM dp_counter_changes('months', 4);
SELECT dp_counter_drop('exact');
DROP VIEW months, life_24;
SELECT count(*) FROM dp_counter_private.streams AS s WHERE NOT EXISTS (SELECT FROM dp_counter_private.counters AS c
    WHERE c.number = s.number);
\set VERBOSITY terse
SET client_min_messages = error;
DROP TABLE visits CASCADE;
SELECT count(dp_budget_drop(budget)) FROM dp_budgets WHERE budget IS NOT NULL;
DROP SCHEMA boxes CASCADE;
