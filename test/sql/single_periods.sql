-- Counts of each period (cumulative => false) beside running totals: what dp_counter_changes adds up, and groups that a
-- counter gets during its life.
\pset format unaligned
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE SCHEMA flows;
SET search_path = flows, public;
CREATE TABLE visits (patient integer, at timestamp, ward text, cents integer);
CREATE VIEW visits_dp AS SELECT * FROM visits;
-- 20 days
INSERT INTO visits SELECT i % 97, '2025-01-01'::timestamp + i * interval '1 hour', 'w' || i % 5, i % 50 FROM generate_series(0, 479) AS i;
SELECT dp_budget_create('budget', 1e12);
SELECT dp_source_create('visits_dp', 'budget', 'patient', 'at', 'UTC');
CREATE FUNCTION make(name text, epsilon numeric, cumulative boolean, sum text DEFAULT NULL, horizon bigint DEFAULT NULL,
    groups text[] DEFAULT '{w0,w1}') RETURNS regclass LANGUAGE sql AS
    $$ SELECT dp_counter_create(name, 'visits_dp', epsilon, '1 day', '2025-01-01', horizon, per_person => 10, by => 'ward',
        groups => groups, cumulative => cumulative, sum => sum, upper => CASE WHEN sum IS NOT NULL THEN 30 END) $$;
-- Ticks all counters as if it were this day: a step is closed once its grace is over.
CREATE PROCEDURE tick_at(day timestamp) LANGUAGE plpgsql AS $$ BEGIN
    UPDATE dp_counter_private.source_counters SET grace = date_trunc('day', now() AT TIME ZONE 'UTC') - day
        WHERE source = 'flows.visits_dp'::regclass;
    COMMIT;
    CALL dp_tick('visits_dp');
END $$;
SELECT make('flow', 1e9, false), make('flow_sum', 1e9, false, 'cents'), make('total', 1e9, true),
    make('total_20', 1e9, true, horizon => 20), make('noisy', 0.5, false, 'cents', 25), make('noisy_total', 0.5, true, horizon => 20),
    make('vague', 1e-9, true, horizon => 20);
CALL tick_at('2025-01-13');
SELECT counter, cumulative, mechanism, k, horizon, steps, steps_left FROM dp_counters WHERE counter::text LIKE 'flow%'
    OR counter::text LIKE 'total%' ORDER BY counter::text;

-- groups come from the next step on; a view keeps its OID, privileges and comments
CREATE ROLE flows_reader;
GRANT USAGE ON SCHEMA flows TO flows_reader;
GRANT SELECT ON total TO flows_reader;
COMMENT ON VIEW total IS 'mine';
COMMENT ON COLUMN total.ward IS 'the ward';
CREATE TABLE before AS SELECT oid, relacl FROM pg_class WHERE oid = 'total'::regclass;
SELECT dp_counter_add_groups(counter, '{w3,w2}')
    FROM unnest(ARRAY['flow', 'flow_sum', 'total', 'total_20', 'noisy', 'noisy_total', 'vague']::regclass[]) AS counter;
SELECT count(*) AS same, obj_description('total'::regclass) AS own, col_description('total'::regclass, 2) AS of_column FROM before
    JOIN pg_class USING (oid, relacl) WHERE oid = 'total'::regclass;
SELECT DISTINCT ward FROM total ORDER BY ward;
SELECT counter, groups FROM dp_counters WHERE counter::text = 'total';
CALL tick_at('2025-01-21');
SELECT spent FROM dp_budgets WHERE budget = 'budget'::regclass; -- nothing for groups
-- nothing was counted for a group before it was there
SELECT counter, ward, min(step) AS first, max(step) AS last, sum(count) FROM (SELECT 'flow' AS counter, ward, step, count FROM flow
    UNION ALL SELECT 'total', ward, step, CASE step WHEN 20 THEN count END FROM total UNION ALL SELECT 'total_20', ward, step, CASE step
    WHEN 20 THEN count END FROM total_20) AS c GROUP BY counter, ward ORDER BY counter, ward;
-- each stream has noise of its own: with that of another, the releases would differ by the counts. Right noise of a
-- scale of 1e10 or more is so near with a probability below 8 steps * 6 pairs * 200 / 2e10, 5e-7
SELECT count(*), min(abs(a.count - b.count)) > 100 AS differ FROM vague AS a JOIN vague AS b USING (step) WHERE a.ward < b.ward
    AND step > 12;

-- changes against plain SQL, at an enormous epsilon: for any lag, of both kinds, with groups from the beginning and
-- later ones. (A patient has 5 visits.)
CREATE VIEW truth AS SELECT ward, step, at FROM visits, LATERAL (SELECT 1 + (at::date - '2025-01-01'::date) AS step) AS s
    WHERE ward IN ('w0', 'w1') OR (ward IN ('w2', 'w3') AND step > 12);
SELECT count(*), count(*) FILTER (WHERE c.count = expected) AS right, bool_and(c.low = c.count AND c.high = c.count AND c.stddev < 0.3
    AND c.avg IS NULL AND c.sum IS NULL AND c.period = '2025-01-01'::timestamp + (c.step - 1) * interval '1 day') AS shown
FROM unnest(ARRAY[1, 2, 7, 8, 9, 19, 20, 21, 1000, 2147483647]) AS lag, unnest(ARRAY['flow', 'total', 'total_20']::regclass[]) AS counter,
    dp_counter_changes(counter, lag) AS c,
     LATERAL (SELECT count(*) AS expected FROM truth AS t WHERE t.ward = c.group_value AND t.step <= c.step AND t.step > c.step - lag) AS t;
SELECT count(*), count(*) FILTER (WHERE c.sum = expected) AS right, bool_and(c.count IS NULL) AS no_count
FROM unnest(ARRAY[1, 3, 20]) AS lag, dp_counter_changes('flow_sum', lag) AS c,
     LATERAL (SELECT coalesce(sum(least(v.cents, 30)), 0) AS expected FROM truth AS t JOIN visits AS v USING (ward, at)
         WHERE t.ward = c.group_value AND t.step <= c.step AND t.step > c.step - lag) AS t;
-- the error is that of the periods that were added up, as many as the group has; sensitivity is per_person * upper
SELECT count(*), bool_and(c.sum = n.sum AND c.stddev = dp_stddev(n.periods, NULL, 0.5, mechanism => 'laplace', sensitivity => 300)
                          AND int8range(c.low::bigint, c.high::bigint, '[]') = dp_interval(n.sum, n.periods, NULL, 0.5,
                              mechanism => 'laplace', sensitivity => 300, within => '[0,)')) AS right
FROM unnest(ARRAY[1, 2, 8, 9, 21]) AS lag,
     LATERAL (SELECT n.ward, n.step, count(*) AS periods, sum(m.sum)::bigint AS sum FROM noisy AS n JOIN noisy AS m ON m.ward = n.ward
         AND m.step BETWEEN n.step - lag + 1 AND n.step GROUP BY n.ward, n.step) AS n
     JOIN dp_counter_changes('noisy', lag) AS c ON c.step = n.step AND c.group_value = n.ward;
-- one period's is that of the view
SELECT count(*), bool_and(c.sum = n.sum AND c.stddev = n.stddev AND c.low = n.low AND c.high = n.high)
    FROM dp_counter_changes('noisy', 1) AS c JOIN noisy AS n ON n.step = c.step AND n.ward = c.group_value;
-- The noise of 20,000 cells without rows: its mean within 6 standard errors (1e-8), its variance, that of a Laplace
-- variable, within 15 % (9 standard errors), 2.5 % of the cells above the interval, within 0.6 % (5 standard errors,
-- 3e-7); no cell has that of another: as many values as a scale of 600 spreads over
SELECT make('cells', 0.5, false, 'cents', 20, (SELECT array_agg('none ' || i) FROM generate_series(1, 1000) AS i));
CALL tick_at('2025-01-21');
SELECT count(*), abs(avg(sum)) < 6 * min(stddev) / sqrt(count(*)) AS mean, abs(var_samp(sum) / min(stddev) ^ 2 - 1) < 0.15 AS variance,
    min(stddev) = max(stddev) AS same, abs(min(stddev) / (sqrt(2) * 600) - 1) < 1e-3 AS scale,
       abs(avg((low > 0)::int) - 0.025) < 0.006 AS above, count(DISTINCT sum) > 3000 AS own FROM cells;
-- a total: release less release, or the release itself where the group had none then
SELECT count(*), bool_and(c.count = n.count - coalesce(b.count, 0)
    AND abs(c.stddev - dp_stddev(n.step, 20, 0.5, mechanism => d.mechanism, k => d.k, sensitivity => 10,
    since_step => coalesce(b.step, 0))) < 1e-9
                          AND int8range(c.low::bigint, c.high::bigint, '[]') = dp_interval(c.count, n.step, 20, 0.5,
                              mechanism => d.mechanism, k => d.k, sensitivity => 10, since_step => coalesce(b.step, 0),
                              within => '[0,)')) AS right,
       count(*) FILTER (WHERE b.step IS NULL AND n.step > lag) AS later_groups
FROM unnest(ARRAY[1, 7, 19]) AS lag, dp_counters AS d, noisy_total AS n LEFT
    JOIN LATERAL (SELECT * FROM noisy_total AS b WHERE b.ward = n.ward AND b.step = n.step - lag) AS b ON true,
     LATERAL (SELECT * FROM dp_counter_changes('noisy_total', lag) AS c WHERE c.step = n.step AND c.group_value = n.ward OFFSET 0) AS c
WHERE d.counter = 'noisy_total'::regclass;
SELECT step, group_value FROM dp_counter_changes('flow', 1) WHERE step BETWEEN 12 AND 13 ORDER BY step, group_value;
-- since and until choose the steps whose period begins there: the same rows as a condition does, whatever the boundaries
SELECT count(*) AS calls, sum(rows) AS rows, bool_and(same) AS same
FROM unnest('{flow,total,noisy_total,noisy}'::regclass[]) AS counter, unnest('{1,2,7,19}'::bigint[]) AS lag,
     (VALUES ('-infinity'::timestamp, 'infinity'::timestamp), ('2025-01-10', '2025-01-11'), ('2025-01-09 00:00:01', '2025-01-14'),
         ('2025-01-13', '2025-01-12 12:00'::timestamp + interval '1 day'), ('2020-01-01', '2025-01-03'), ('2025-01-20', '2030-01-01'),
         ('2030-01-01', 'infinity')) AS r (a, b),
     LATERAL (SELECT count(*) AS rows, (SELECT count(*)
         FROM ((SELECT * FROM dp_counter_changes(counter, lag, a, b) EXCEPT SELECT * FROM dp_counter_changes(counter, lag)
         WHERE period >= a AND period < b)
                 UNION ALL (SELECT * FROM dp_counter_changes(counter, lag) WHERE period >= a AND period < b EXCEPT SELECT *
                     FROM dp_counter_changes(counter, lag, a, b))) AS d) = 0 AS same FROM dp_counter_changes(counter, lag, a, b)) AS c;
-- from step 2 on: of step 1 a window of two would be shorter
SELECT count(*), min(period), max(period) FROM dp_counter_changes('total', 2, until => '2025-01-04');
SELECT count(*) FROM dp_counter_changes('total', 2, since => date '2025-01-20');
-- no releases are read but those that the windows consist of
CREATE TABLE read (step bigint);
CREATE FUNCTION watched(step bigint, count bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN INSERT INTO flows.read VALUES (step);
RETURN count; END $$;
CREATE FUNCTION steps_read(counter regclass, lag bigint, since timestamp, until timestamp) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
    DELETE FROM read;
    PERFORM * FROM dp_counter_changes(counter, lag, since, until);
    RETURN (SELECT string_agg(DISTINCT lpad(step::text, 2), ' ' ORDER BY lpad(step::text, 2)) FROM read);
END $$;
BEGIN;
DO $$ BEGIN
    EXECUTE 'CREATE OR REPLACE VIEW dp_counter_private.published WITH (security_barrier) AS '
        || replace(pg_get_viewdef('dp_counter_private.published'), 'r.count,', 'flows.watched(r.step, r.count) AS count,');
END $$;
SELECT counter, steps_read(counter, 7, '2025-01-15', '2025-01-17') AS of_week,
    steps_read(counter, 1, '2025-01-15', '2025-01-16') AS of_day, steps_read(counter, 20, NULL, NULL) AS of_all,
    steps_read(counter, 21, NULL, NULL) AS of_none
FROM unnest('{flow,total}'::regclass[]) AS counter;
ROLLBACK;
-- what is no range of periods
SELECT * FROM dp_counter_changes('flow', 1, '2025-01-15', '2025-01-15');
\set VERBOSITY terse
SELECT * FROM dp_counter_changes('flow', 1, since => '2025-01-15 UTC'::timestamptz);
SELECT * FROM dp_counter_changes('flow', 1, until => 15);
\set VERBOSITY default
SELECT dp_event_counter_create('recorded', 1);
SELECT * FROM dp_counter_changes('recorded', 1, since => '2025-01-15');
SELECT * FROM dp_counter_changes('recorded', 1, until => '2025-01-15');
SELECT dp_counter_drop('recorded');

-- what cannot be added
CREATE TYPE size AS ENUM ('small', 'large', 'huge');
CREATE TABLE parcels (person uuid, at date, size size, heavy boolean);
CREATE VIEW parcels_dp AS SELECT * FROM parcels;
SELECT dp_source_create('parcels_dp', 'budget', 'person', 'at', 'UTC');
SELECT dp_counter_create('by_size', 'parcels_dp', 1e9, '1 day', '2025-01-01', by => 'size', groups => '{small}', cumulative => false,
    per_person => 1);
SELECT dp_counter_create('all_sizes', 'parcels_dp', 1e9, '1 day', '2025-01-01', cumulative => false, per_person => 1);
SELECT dp_event_counter_create('fed', 1);
\pset tuples_only on
CREATE FUNCTION pg_temp.try(call text, OUT answer text) LANGUAGE plpgsql AS $$
DECLARE state text; message text; hint text;
BEGIN
    EXECUTE call;
    answer := call || ': done';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
    answer := call || E'\n    ' || state || ': ' || message || coalesce(E'\n    HINT: ' || nullif(hint, ''), '');
END $$;
SELECT pg_temp.try('SELECT dp_counter_add_groups(' || arguments || ')')
FROM unnest(ARRAY['NULL, ''{w4}''', '''flow'', NULL', '''flow'', ''{}''', '''flow'', ''{NULL}''', '''flow'', ''{w4,NULL}''',
    '''flow'', ''{w0}''', '''flow'', ''{w4,w4}''', '''flow'', ''{w4,w3}''',
                  '''fed'', ''{w4}''', '''all_sizes'', ''{w4}''', '''visits_dp'', ''{w4}''', '''by_size'', ''{tiny}''',
                      '''by_size'', ''{small}''', '''by_size'', ''{large}''', '''by_size'', ''{large}''',
                  '''flow'', (SELECT array_agg(i::text) FROM generate_series(1, 1000000) AS i)']) AS arguments;
SET ROLE flows_reader;
SELECT pg_temp.try(call) FROM unnest(ARRAY['SELECT dp_counter_add_groups(''flows.total'', ''{w4}'')',
    'SELECT dp_counter_add_groups(''flows.budget'', ''{w4}'')']) AS call;
RESET ROLE;
-- labels of an enum follow ALTER TYPE, also beside new ones; what it rolls back never was
ALTER TYPE size RENAME VALUE 'large' TO 'big';
BEGIN;
SELECT dp_counter_add_groups('by_size', '{huge}');
ROLLBACK;
SELECT groups FROM dp_counters WHERE counter = 'by_size'::regclass;
SELECT dp_counter_add_groups('by_size', '{huge}');
SELECT groups FROM dp_counters WHERE counter = 'by_size'::regclass;
\pset tuples_only off
DROP VIEW flow, by_size;
SELECT dp_counter_drop(counter) FROM unnest(ARRAY['flow_sum', 'total', 'total_20', 'noisy', 'noisy_total', 'vague', 'cells', 'all_sizes',
    'fed']::regclass[]) AS counter;
SELECT dp_source_drop('visits_dp'), dp_source_drop('parcels_dp');
SELECT dp_budget_drop('budget');
DROP SCHEMA flows CASCADE;
DROP ROLE flows_reader;
