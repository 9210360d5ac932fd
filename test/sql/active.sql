-- Persons with an event in the last days before the end of each period: stocks, with anchored noise.
\pset format unaligned
SET client_min_messages = notice;
SET timezone = 'UTC';
SET datestyle = 'ISO';
CREATE SCHEMA actives;
SET search_path = actives, public;
CREATE TABLE visits AS SELECT ((i::bigint * i * 7 + i * 7919) % 61) AS patient,
    '2023-01-01'::timestamp + (i::bigint * i * 31 % 1459) * interval '1 day' AS at, 'w' || i * 31 % 3 AS ward, i % 7 = 0 AS urgent
    FROM generate_series(0, 3999) AS i;
CREATE VIEW years_dp AS SELECT *, at::date AS day, at AT TIME ZONE 'UTC' AS instant FROM visits;
CREATE VIEW days_dp AS SELECT * FROM years_dp;
CREATE VIEW weeks_dp AS SELECT * FROM years_dp;
CREATE VIEW life_dp AS SELECT * FROM years_dp;
SELECT dp_budget_create('years', 1e7, per => '365 days'), dp_budget_create('fours', 1e7, per => '28 days'),
    dp_budget_create('weeks', 1e7, per => '7 days'), dp_budget_create('life', 1e7);
SELECT dp_source_create('years_dp', 'years', 'patient', 'at', 'UTC'), dp_source_create('days_dp', 'fours', 'patient', 'at', 'UTC'),
    dp_source_create('weeks_dp', 'weeks', 'patient', 'at', 'UTC'), dp_source_create('life_dp', 'life', 'patient', 'at', 'UTC');

-- Declared: k is the most ends of periods that are strictly within the days of a window and those of active; few of them have less
-- noise in each period by itself.
CREATE FUNCTION declare(name text, source regclass, every interval, active interval, epsilon numeric DEFAULT 1,
    groups text[] DEFAULT NULL, since timestamp DEFAULT '2024-01-01') RETURNS regclass LANGUAGE sql AS
    $$ SELECT dp_counter_create(name, source, epsilon, every, since, active => active, by => CASE WHEN groups IS NOT NULL THEN 'ward' END,
        groups => groups) $$;
SELECT declare('days_of_28', 'days_dp', '1 day', '28 days'), declare('days_of_7', 'weeks_dp', '1 day', '7 days'),
    declare('days_of_30', 'weeks_dp', '1 day', '30 days'), declare('months', 'years_dp', '1 month', '365 days'),
    declare('weeks_of_year', 'years_dp', '7 days', '365 days'), declare('full_years', 'years_dp', '1 year', '365 days'),
    declare('grouped', 'days_dp', '1 day', '28 days', groups => '{w0,w1}'), declare('years_by_ward', 'years_dp', '1 year', '365 days',
    groups => '{w0,w1}'), declare('quarters', 'years_dp', '3 months', '365 days');
SELECT counter, measure, active, per, per_person, mechanism, k, sensitivity, cumulative FROM dp_counters ORDER BY counter::text;
SELECT counter, number, round(stddev::numeric, 1) AS stddev, half_width, sensitivity
    FROM unnest('{months,days_of_28,full_years,grouped}'::regclass[]) AS counter, dp_counter_plan(counter) ORDER BY counter::text,
    periods, number DESC;
-- of more than 256 places in a block the plan leaves out some, but none where a change is across two blocks
BEGIN;
SELECT declare('days_of_366', 'years_dp', '1 day', '366 days');
SELECT number, half_width, half_width = (SELECT max(upper(dp_interval(0, step + periods, NULL, 1, k => 730, mechanism => 'anchored',
    since_step => step))) - 1 FROM generate_series(1, 730) AS step) AS is_the_widest
    FROM dp_counter_plan('days_of_366') WHERE number LIKE 'change%' ORDER BY periods;
ROLLBACK;
SELECT obj_description('days_of_28'::regclass);
SELECT obj_description('full_years'::regclass);
SELECT obj_description('grouped'::regclass);
SELECT attname, col_description(attrelid, attnum) FROM pg_attribute WHERE attrelid = 'months'::regclass AND attnum > 0 ORDER BY attnum;
SELECT purpose, epsilon, since, until FROM years ORDER BY purpose;

-- The error of a stock, and of what it grew by: within a block the anchor is gone, those of two blocks are independent.
SELECT round(sqrt(avg(dp_stddev(step, NULL, 1, k, mechanism, sensitivity) ^ 2))::numeric, 2) AS of_28_days FROM dp_counters,
    generate_series(1, 55) AS step WHERE counter = 'days_of_28'::regclass GROUP BY k;
SELECT dp_stddev(1, NULL, 1, 55, 'anchored') = dp_stddev(56, NULL, 1, 55, 'anchored') AS in_each_block,
    dp_stddev(30, NULL, 1, 55, 'anchored', since_step => 29) < dp_stddev(30, NULL, 1, 55, 'anchored') AS without_anchor,
    round((dp_stddev(57, NULL, 1, 55, 'anchored', since_step => 54) ^ 2 - dp_stddev(57, NULL, 1, 55, 'anchored') ^ 2 - dp_stddev(54, NULL,
    1, 55, 'anchored') ^ 2)::numeric, 6) AS dependence;
SELECT dp_interval(100, 1, NULL, 1, k => 55, mechanism => 'anchored') AS anchor,
    dp_interval(100, 30, NULL, 1, k => 55, mechanism => 'anchored') AS within,
    dp_interval(0, 60, NULL, 1, k => 55, mechanism => 'anchored', since_step => 30) AS change;
SELECT dp_stddev(1, NULL, 1, mechanism => 'anchored');
SELECT dp_stddev(1, NULL, 1, mechanism => 'anchored', k => 1);
SELECT dp_stddev(1, NULL, 1, mechanism => 'anchored', k => 9, sensitivity => 9223372036854775807);
SELECT dp_avg_interval(1, 1, 1, NULL, 1.0, mechanism => 'anchored', k => 4);
SELECT * FROM dp_plan(NULL, 1.0, mechanism => 'anchored');

-- Refused
SELECT declare('bad', 'life_dp', '1 day', '28 days');
SELECT declare('bad', 'days_dp', '1 day', '27 days');
SELECT declare('bad', 'days_dp', '1 day', '1 month');
SELECT declare('bad', 'days_dp', '1 day', '36 hours');
SELECT declare('bad', 'days_dp', '1 day', '-28 days');
SELECT declare('bad', 'days_dp', '1 day', '0 days');
SELECT declare('bad', 'days_dp', '1 day', '36526 days');
SELECT declare('bad', 'days_dp', '1 second', '36525 days');
SELECT dp_counter_create('bad', 'days_dp', 1, '1 day', '2024-01-01', active => '28 days', persons => true);
SELECT dp_counter_create('bad', 'days_dp', 1, '1 day', '2024-01-01', active => '28 days', sum => 'patient', upper => 5);
SELECT dp_counter_create('bad', 'days_dp', 1, '1 day', '2024-01-01', active => '28 days', upper => 5);
SELECT dp_counter_create('bad', 'days_dp', 1, '1 day', '2024-01-01', active => '28 days', share => 'urgent');
SELECT dp_counter_create('bad', 'days_dp', 1, '1 day', '2024-01-01', active => '28 days', per_person => 5);
SELECT dp_counter_create('bad', 'days_dp', 1, '1 day', '2024-01-01', active => '28 days', cumulative => true);
SELECT dp_counter_create('bad', 'days_dp', 1, '1 day', '2024-01-01', active => '28 days', horizon => 10);
SELECT dp_counter_create('bad', 'days_dp', 1, '1 day', '2024-01-01', active => '28 days', k => 10);
SELECT dp_counter_create('bad', 'days_dp', 1, '1 day', '2024-01-01', active => '28 days', mechanism => 'anchored');
SELECT dp_counter_create('bad', 'days_dp', 1, '1 day', active => '28 days', continues => 'days_of_28');
SELECT dp_budget_create('narrow', 5, within => 'fours', since => '2024-01-01', until => 'infinity');
SELECT dp_counter_create('bad', 'days_dp', 1, '1 day', '2024-01-01', active => '28 days', budget => 'narrow');
SELECT dp_counter_create('in_time', 'days_dp', 1, '1 day', '2024-01-29', active => '28 days', budget => 'narrow');

-- Released: exact where epsilon makes the noise vanish, but for a probability of 1e-15. Rows of the days before since count.
SET client_min_messages = warning;
CREATE PROCEDURE tick_at(counter regclass, day timestamp) LANGUAGE plpgsql AS $$ BEGIN
    UPDATE dp_counter_private.source_counters AS s SET grace = now() AT TIME ZONE (SELECT time_zone FROM dp_counters AS c
        WHERE c.counter = tick_at.counter) - day WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n
        WHERE n.counter = tick_at.counter);
    COMMIT;
    CALL dp_tick(counter);
END $$;
CREATE FUNCTION stored(counter regclass) RETURNS TABLE (stream integer, step integer, has_anchor boolean, bytes integer) LANGUAGE sql AS
    $$ SELECT stream, get_byte(state, 6), substring(state FROM 15 FOR 8) <> '\x0000000000000000', length(state)
        FROM dp_counter_private.streams JOIN dp_counter_private.counters AS c USING (number) WHERE c.counter = $1 ORDER BY stream $$;
SELECT declare('exact', 'weeks_dp', '1 day', '9 days', 1000), declare('at_once', 'weeks_dp', '1 day', '9 days', 1000);
SELECT counter, mechanism, k FROM dp_counters WHERE counter IN ('exact'::regclass, 'at_once'::regclass) ORDER BY counter::text;
CREATE PROCEDURE tick_often(counter regclass, first date, last date, days integer) LANGUAGE plpgsql AS $$ BEGIN
    FOR i IN 0 .. (last - first) / days LOOP CALL tick_at(counter, first + i * days); END LOOP;
END $$;
CALL tick_often('exact', '2024-01-02', '2024-01-20', 1);
CALL tick_often('exact', '2024-01-25', '2024-03-01', 5);
CALL tick_at('exact', '2024-06-01');
CALL tick_at('at_once', '2024-06-01');
SELECT count(*) AS steps, count(*) FILTER (WHERE e.count <> o.count) AS differ, count(DISTINCT e.count) > 5 AS varies,
    count(*) FILTER (WHERE e.count <> (SELECT count(DISTINCT patient) FROM visits
        WHERE at >= e.period + interval '1 day' - interval '9 days' AND at < e.period + interval '1 day')) AS wrong
FROM exact AS e JOIN at_once AS o USING (step);
SELECT count(*) AS steps, count(*) FILTER (WHERE c.count <> (SELECT a.count - b.count FROM exact AS a, exact AS b WHERE a.step = c.step
    AND b.step = c.step - 5)) AS wrong, min(step), bool_or(c.count < 0) AS falls, bool_and(low <= c.count AND high >= c.count) AS covered
    FROM dp_counter_changes('exact', 5) AS c;
SELECT count(*) FROM dp_counter_changes('exact', 152);

-- Late rows are not read, and do not make anybody older or younger.
INSERT INTO visits VALUES (99, '2024-05-30', 'w0', false), (100, '2024-06-05', 'w0', false), (0, '2024-05-01', 'w0', false);
CALL tick_at('exact', '2024-06-08');
INSERT INTO visits VALUES (100, '2024-06-02', 'w0', false), (100, '2024-06-20', 'w0', false);
CALL tick_at('exact', '2024-06-25');
SELECT period, count - (SELECT count(DISTINCT patient) FROM visits WHERE at >= e.period + interval '1 day' - interval '9 days'
    AND at < e.period + interval '1 day' AND (patient, at) NOT IN (VALUES (99::bigint, '2024-05-30'::timestamp), (0, '2024-05-01'),
    (100, '2024-06-02'))) AS error FROM exact AS e WHERE step > 152 AND count <> (SELECT count(DISTINCT patient) FROM visits
    WHERE at >= e.period + interval '1 day' - interval '9 days' AND at < e.period + interval '1 day');
SELECT count(*) < 40 AS those_who_are_active FROM dp_counter_private.tallies AS t
    WHERE number = (SELECT number FROM dp_counter_private.counters WHERE counter = 'exact'::regclass);

-- What is stored of a block's noise: nothing where one begins.
SELECT declare('faint', 'weeks_dp', '1 day', '7 days', 0.000001); -- an anchor of 0 has a probability of 1e-7
SELECT * FROM stored('faint');
CALL tick_at('faint', '2024-01-02');
SELECT * FROM stored('faint');
CALL tick_at('faint', '2024-01-03');
SELECT * FROM stored('faint');
CALL tick_at('faint', '2024-01-13');
SELECT * FROM stored('faint');
CALL tick_at('faint', '2024-01-14');
SELECT * FROM stored('faint');
CALL tick_at('days_of_7', '2024-01-20');
SELECT count(DISTINCT stddev) AS errors, max(step) FILTER (WHERE stddev = (SELECT stddev FROM days_of_7 WHERE step = 1)) AS second_anchor
    FROM days_of_7;
SELECT count(*) AS wrong FROM days_of_7, dp_counters AS c WHERE c.counter = 'days_of_7'::regclass
    AND days_of_7.stddev <> dp_stddev(step, NULL, 1, k, mechanism, c.sensitivity);

-- Hostile bytes: refused, and nothing is released.
SET client_min_messages = notice;
CREATE TABLE good AS SELECT number, state FROM dp_counter_private.streams WHERE number = (SELECT number FROM dp_counter_private.counters
    WHERE counter = 'days_of_7'::regclass);
UPDATE dp_counter_private.streams AS s SET state = '' FROM good WHERE s.number = good.number;
CALL tick_at('days_of_7', '2024-02-01');
UPDATE dp_counter_private.streams AS s SET state = set_byte(good.state, 14, 255 - get_byte(good.state, 14)) FROM good
    WHERE s.number = good.number;
CALL tick_at('days_of_7', '2024-02-01');
-- of another epsilon
UPDATE dp_counter_private.streams AS s SET state = other.state FROM dp_counter_private.streams AS other, good WHERE s.number = good.number
    AND other.number = (SELECT number FROM dp_counter_private.counters WHERE counter = 'exact'::regclass);
CALL tick_at('days_of_7', '2024-02-01');
SELECT max(step) FROM days_of_7;
UPDATE dp_counter_private.streams AS s SET state = good.state FROM good WHERE s.number = good.number;
UPDATE dp_counter_private.tallies AS t SET stream = 2 FROM good WHERE t.number = good.number AND own_window < 2147483647;
CALL tick_at('days_of_7', '2024-02-01');
UPDATE dp_counter_private.tallies AS t SET stream = 1 FROM good WHERE t.number = good.number AND own_window < 2147483647;
CALL tick_at('days_of_7', '2024-02-01');
SELECT max(step) FROM days_of_7;
SET client_min_messages = warning;

-- Three readings that are not private, each with what one window changes (docs/derivation.md): one tick for many periods takes the last
-- event of all for each of them; days in the zone can have 23 hours; a tally is deleted while its own window goes on.
CREATE TABLE places (who bigint, at timestamp, ward text, other_side boolean);
CREATE VIEW with_dp AS SELECT who, at, at AT TIME ZONE 'UTC' AS instant, ward FROM places;
CREATE VIEW without_dp AS SELECT who, at, at AT TIME ZONE 'UTC' AS instant, ward FROM places WHERE other_side;
CREATE VIEW with_instants_dp AS SELECT * FROM with_dp;
CREATE VIEW without_instants_dp AS SELECT * FROM without_dp;
SELECT dp_budget_create('threes', 1e7, per => '3 days'), dp_budget_create('twos', 1e7, per => '2 days');
SELECT dp_source_create('with_dp', 'threes', 'who', 'at', 'UTC'), dp_source_create('without_dp', 'threes', 'who', 'at', 'UTC'),
    dp_source_create('with_instants_dp', 'twos', 'who', 'instant', 'Europe/Berlin'), dp_source_create('without_instants_dp', 'twos',
    'who', 'instant', 'Europe/Berlin');
CREATE FUNCTION differences() RETURNS TABLE (block bigint, anchors numeric, increments numeric) LANGUAGE plpgsql AS $$ BEGIN
    block := (SELECT CASE mechanism WHEN 'anchored' THEN k ELSE sensitivity / 2 END FROM dp_counters WHERE counter = 'side_0'::regclass);
    SELECT sum(abs(d)) FILTER (WHERE (step - 1) % block = 0), sum(abs(d - coalesce(before, 0))) FILTER (WHERE (step - 1) % block > 0)
        INTO anchors, increments
    FROM (SELECT step, d, lag(d) OVER (PARTITION BY ward ORDER BY step) AS before FROM (SELECT step, ward, a.count - b.count AS d
        FROM side_0 AS a JOIN side_1 AS b USING (step, ward)) AS s) AS s;
    RETURN NEXT;
END $$;
CREATE FUNCTION declare_sides(prefix text, every interval, since timestamp, active interval) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    PERFORM dp_counter_create('side_0', ('with_' || prefix)::regclass, 1000, every, since, active => active, by => 'ward',
        groups => '{w0,w1,w2}'), dp_counter_create('side_1', ('without_' || prefix)::regclass, 1000, every, since, active => active,
        by => 'ward', groups => '{w0,w1,w2}');
END $$;
INSERT INTO places VALUES (1, '2024-01-10', 'w0', false);
SELECT declare_sides('dp', '1 day', '2024-01-01', '3 days');
CALL tick_at('side_0', '2024-01-14');
CALL tick_at('side_1', '2024-01-14');
SELECT string_agg(count::text, ' ' ORDER BY step) AS path FROM side_0 WHERE ward = 'w0';
SELECT * FROM differences();
SELECT dp_counter_drop('side_0'), dp_counter_drop('side_1');
TRUNCATE places;
INSERT INTO places VALUES (1, '2026-03-28 00:05', 'w0', false), (1, '2026-03-29 23:55', 'w0', false);
SELECT declare_sides('instants_dp', '1 hour', '2026-03-27 00:15', '2 days');
CALL tick_at('side_0', '2026-04-03 00:15');
CALL tick_at('side_1', '2026-04-03 00:15');
SELECT * FROM differences();
SELECT sum(count) AS hours FROM side_0;
SELECT dp_counter_drop('side_0'), dp_counter_drop('side_1');
TRUNCATE places;
-- A person of phase 2, whose window from day 11 on goes on after the person has ceased to be active.
CREATE TABLE person AS SELECT who FROM generate_series(1, 1000) AS who
    WHERE dp_own_window('threes', who::bigint, '2000-01-03'::timestamp) > dp_own_window('threes', who::bigint, '2000-01-02'::timestamp)
    LIMIT 1;
INSERT INTO places SELECT who, timestamp '2000-01-01' + day * interval '1 day', ward, true FROM person,
    (VALUES (11, 'w2'), (13, 'w0'), (14, 'w1'), (16, 'w0')) AS events (day, ward);
CREATE PROCEDURE without(own_window bigint, often boolean) LANGUAGE plpgsql AS $$ BEGIN
    UPDATE places SET other_side = dp_own_window('threes', who, at) <> own_window;
    PERFORM declare_sides('dp', '2 days', '2000-01-03', '3 days');
    FOR side IN 0 .. 1 LOOP
        IF often THEN CALL tick_often(('side_' || side)::regclass, '2000-01-05', '2000-01-23', 2);
        ELSE CALL tick_at(('side_' || side)::regclass, '2000-01-23'); END IF;
    END LOOP;
END $$;
CALL without(3, true);
SELECT string_agg(right(ward, 1), ' ' ORDER BY step) AS path FROM side_0 WHERE count = 1;
SELECT * FROM differences();
SELECT dp_counter_drop('side_0'), dp_counter_drop('side_1');
CALL without(4, true);
SELECT * FROM differences();
SELECT dp_counter_drop('side_0'), dp_counter_drop('side_1');

-- Groups: a person is in that of the first event of the last one's own window. New ones begin in mid-block, dropped ones end there.
SELECT dp_counter_create('by_ward', 'weeks_dp', 1000, '1 day', '2024-01-01', active => '9 days', by => 'ward', groups => '{w0,w1}');
CALL tick_at('by_ward', '2024-01-05');
SELECT dp_counter_add_groups('by_ward', '{w2}');
SELECT stream, bytes = lag(bytes) OVER (ORDER BY stream) AS as_long FROM stored('by_ward');
CALL tick_at('by_ward', '2024-03-01');
-- whatever the phases and the order within a day are: 181 to 365, 237 to 381 and 180 to 336
SELECT ward, min(step), max(step), sum(count) BETWEEN 180 AND 381 AS counted FROM by_ward GROUP BY ward ORDER BY ward;
SELECT count(*) AS wrong FROM (SELECT step, sum(count) AS count FROM by_ward WHERE step > 20 GROUP BY step) AS w
    JOIN exact AS e USING (step) WHERE w.count <> e.count;
SELECT count(*) AS with_since, min(step) FILTER (WHERE group_value = 'w2') AS first_of_w2 FROM dp_counter_changes('by_ward', 3);
SELECT dp_counter_drop_groups('by_ward', '{w0}');
SELECT stream FROM stored('by_ward');
CALL tick_at('by_ward', '2024-03-05');
SELECT ward, max(step) FROM by_ward GROUP BY ward ORDER BY ward;
-- Who was in the dropped one is counted again, in the rest, from an event in a later own window on.
SELECT dp_counter_create('in_rest', 'weeks_dp', 1e6, '1 day', '2024-01-01', active => '9 days', by => 'ward', groups => '{w0,w1}',
    others => 'rest');
CALL tick_at('in_rest', '2024-03-01');
SET client_min_messages = notice;
SELECT dp_counter_drop_groups('in_rest', '{w0}');
SET client_min_messages = warning;
CALL tick_at('in_rest', '2024-03-20');
SELECT step - 60 AS days_after_the_drop, abs(e.count - sum(r.count)) > 1 AS some_left_out FROM in_rest AS r JOIN exact AS e USING (step)
    WHERE step IN (60, 61, 71, 79) GROUP BY step, e.count ORDER BY step;

-- An analyst declares one as a count.
CREATE ROLE active_analyst;
GRANT USAGE, CREATE ON SCHEMA actives TO active_analyst;
GRANT REFERENCES (urgent) ON days_dp TO active_analyst;
SELECT dp_source_create('days_dp', 'fours', 'patient', 'at', 'UTC', never_fails => '{urgent}');
SELECT dp_budget_create('research', 50, within => 'fours', since => '-infinity', until => 'infinity');
GRANT INSERT, SELECT ON research TO active_analyst;
SET ROLE active_analyst;
SELECT dp_counter_create('urgent_28', 'days_dp', 1, '7 days', '2025-01-01', event => 'urgent', active => '28 days', budget => 'research');
SELECT dp_counter_create('urgent_seconds', 'days_dp', 1, '1 second', '2025-01-01', event => 'urgent', active => '28 days',
    budget => 'research');
RESET ROLE;
SELECT mechanism, k, active FROM dp_counters WHERE counter = 'urgent_28'::regclass;

-- The end deletes states and tallies, and ends the charge with the last closed period.
SELECT dp_counter_end('days_of_7');
SELECT count(*) FROM stored('days_of_7');
SELECT count(*) FROM dp_counter_private.tallies JOIN good USING (number);
SELECT purpose, since, until FROM weeks WHERE purpose LIKE '%days_of_7';
SELECT active, mechanism, k, steps FROM dp_counters WHERE counter = 'days_of_7'::regclass;
SELECT count(*) FROM dp_counter_changes('days_of_7', 4);
SELECT dp_counter_create('bad', 'weeks_dp', 1, '1 day', per_person => 3, continues => 'exact');
SELECT dp_counter_drop('exact');
SELECT purpose, since, until FROM weeks WHERE purpose LIKE '%exact';
\set VERBOSITY terse
SET client_min_messages = error;
SELECT count(dp_counter_drop(counter)) > 0 FROM dp_counters;
DROP TABLE visits, places CASCADE;
REVOKE ALL ON research FROM active_analyst;
REVOKE ALL ON SCHEMA actives FROM active_analyst;
SELECT dp_budget_drop('research'), dp_budget_drop('narrow');
SELECT count(dp_budget_drop(budget)) > 0 FROM dp_budgets WHERE budget IS NOT NULL;
DROP SCHEMA actives CASCADE;
DROP ROLE active_analyst;
