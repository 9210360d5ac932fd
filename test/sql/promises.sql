-- dp_promise: a budget's promise in words, with its factor rounded up, what more than a unit costs, and each charge.
\pset format unaligned
\pset tuples_only
SET client_min_messages = warning;
SET datestyle = 'German, DMY';
CREATE SCHEMA promises;
SET search_path = promises, public;
CREATE TABLE visits (patient integer, at timestamp);
CREATE VIEW visits_dp AS SELECT * FROM visits;
CREATE VIEW weekly_dp AS SELECT * FROM visits;
SELECT dp_budget_create('yearly', 3.0, per => '365 days'), dp_budget_create('weekly', 1, per => '7 days'), dp_budget_create('study', 0.5),
    dp_budget_create('"a ""b"" %s"', 0.1);
SELECT dp_source_create('visits_dp', 'yearly', 'patient', 'at', 'UTC'), dp_source_create('weekly_dp', 'weekly', 'patient', 'at', 'UTC');
SELECT dp_counter_create('"by %s week"', 'visits_dp', 0.5, '1 week', '2300-01-01', per_person => 12, horizon => 3),
    dp_counter_create('taken_back', 'visits_dp', 0.25, '1 week', '2300-01-01', per_person => 1);
SELECT dp_counter_drop('taken_back');
SELECT dp_counter_create('by_hour', 'weekly_dp', 0.1, '1 hour', '2300-01-01 12:30', per_person => 2);
SELECT dp_budget_create('research', 0.4, within => 'yearly', since => '2024-01-01');
CALL dp_budget_spend('yearly', 0.1, E'ages,\n\rby %s', since => '2025-01-01', until => '2026-01-01');
CALL dp_budget_spend('study', 0.1, 'all of it');
SELECT dp_promise(budget) FROM unnest('{yearly,weekly,study,research,"\"a \"\"b\"\" %s\""}'::regclass[]) AS budget;
-- its COMMENT is the same sentence; other names of the columns change nothing
ALTER VIEW study RENAME COLUMN purpose TO refunded;
ALTER VIEW study RENAME COLUMN refunded_at TO purpose;
SELECT replace(dp_promise(budget), E'\n', ' ') LIKE '%' || replace(obj_description(budget), 'Budget. ', '') || '%',
    dp_promise(budget) ~ 'all of it: 0.1'
    FROM unnest('{yearly,study,research}'::regclass[]) AS budget;
-- times are exact, and of their era
CALL dp_budget_spend('weekly', 0.1, 'seconds', since => '2024-01-01 00:00:30', until => '2024-01-02 00:00:45.5');
CALL dp_budget_spend('weekly', 0.1, 'era', since => '0044-03-15 BC', until => '0043-01-01 00:00:01 BC');
SELECT regexp_replace(dp_promise('weekly'), '^.*Charged[^\n]*\n', '');
-- with the zone, where they have one
CREATE TABLE instants (patient integer, at timestamptz);
CREATE VIEW instants_dp AS SELECT * FROM instants;
SELECT dp_budget_create('instants_budget', 1, per => '365 days');
SELECT dp_source_create('instants_dp', 'instants_budget', 'patient', 'at', 'Asia/Tokyo');
SELECT dp_counter_create('of_instants', 'instants_dp', 0.5, '1 day', '2300-01-01', 1, per_person => 1);
SELECT regexp_replace(dp_promise('instants_budget'), '^.*Charged[^\n]*\n', '');
-- what was spent by budgets that were dropped: of the same name, or of a source with the same name; a share left it in its budget
SELECT dp_budget_create('gone', 1), dp_budget_create('untouched', 1);
CALL dp_budget_spend('gone', 0.3, 'a table');
SELECT dp_budget_drop('gone'), dp_budget_drop('untouched');
SELECT dp_budget_create('gone', 2), dp_budget_create('untouched', 2);
SELECT regexp_replace(replace(line, current_user, 'ME'), '\d{4}-\d\d-\d\d', 'TODAY') FROM unnest('{gone,untouched}'::regclass[]) AS budget,
    regexp_split_to_table(dp_promise(budget), '\n') AS line WHERE line ~ 'dropped';
CREATE VIEW moved_dp AS SELECT * FROM visits;
SELECT dp_source_create('moved_dp', 'gone', 'patient', 'at', 'UTC');
CALL dp_source_contributions('moved_dp', 'of_moved', 0.7);
SELECT dp_source_drop('moved_dp'), dp_budget_drop('gone');
SELECT dp_budget_create('other', 1);
SELECT dp_promise('other') ~ 'dropped';
SELECT dp_source_create('moved_dp', 'other', 'patient', 'at', 'UTC');
SELECT regexp_replace(replace(line, current_user, 'ME'), '\d{4}-\d\d-\d\d', 'TODAY') FROM
    regexp_split_to_table(dp_promise('other'), '\n') AS line WHERE line ~ 'dropped';
SELECT dp_source_drop('moved_dp'), dp_budget_drop('other'), dp_budget_drop('untouched');
SELECT dp_budget_create('share_of', 0.5, within => 'yearly', since => '2024-01-01');
CALL dp_budget_spend('share_of', 0.1, 'of a share', since => '2024-01-01', until => '2025-01-01');
SELECT dp_budget_drop('share_of');
SELECT dp_budget_create('share_of', 0.5, within => 'yearly', since => '2024-01-01');
SELECT dp_promise('share_of') ~ 'dropped';
SELECT dp_budget_drop('share_of');
-- nor can a name write a line that looks like a charge
SELECT dp_budget_create(E'"short\r\nvisits: 0"', 1, per => '7 days');
SELECT dp_budget_create('part', 0.5, within => E'"short\r\nvisits: 0"', since => '2024-01-01');
SELECT dp_promise(budget) FROM unnest(ARRAY[E'"short\r\nvisits: 0"', 'part']::regclass[]) AS budget;
-- the factor is rounded up, to three digits or to whole numbers
DO $$
DECLARE
    epsilon numeric; factor numeric;
BEGIN
    FOR epsilon IN VALUES (1e-9), (0.001), (0.1), (0.5), (0.693147), (0.6932), (1), (2), (2.302585), (2.3026), (3), (4.6051), (4.6052),
        (8), (13.8) LOOP
        PERFORM dp_budget_create('tried', epsilon);
        factor := substring(dp_promise('tried') FROM 'at most a factor of ([0-9.]+)\.\n');
        IF NOT factor BETWEEN exp(epsilon) AND exp(epsilon) * 1.01 OR dp_promise('tried') NOT LIKE '%bet ' || factor || ' to 1 %' THEN
            RAISE 'epsilon %: % is not %', epsilon, factor, exp(epsilon);
        END IF;
        DROP VIEW tried;
    END LOOP;
END $$;
SELECT dp_budget_create('large', 14);
SELECT dp_promise('large') ~ 'by at most a factor of e\^14\.\n.* e\^14 to 1 .* at most 28 \(a factor of e\^28\)\.';
-- for who may read the budget
CREATE ROLE promises_reader;
GRANT USAGE ON SCHEMA promises TO promises_reader;
SET ROLE promises_reader;
SELECT dp_promise('yearly');
RESET ROLE;
GRANT SELECT ON yearly TO promises_reader;
SET ROLE promises_reader;
SELECT dp_promise('yearly') ~ 'research: 0.4', dp_promise('yearly') ~ 'of a share: 0.1';
RESET ROLE;
SELECT dp_promise('visits_dp');
SELECT dp_promise(NULL);
SELECT dp_counter_drop(counter) FROM dp_counters WHERE source IN ('visits_dp'::regclass, 'weekly_dp'::regclass, 'instants_dp'::regclass);
SELECT dp_source_drop(source) FROM unnest('{visits_dp,weekly_dp,instants_dp}'::regclass[]) AS source;
SELECT dp_budget_drop(budget) FROM unnest('{research,study,yearly,part,weekly,instants_budget}'::regclass[]) AS budget;
DROP SCHEMA promises CASCADE;
DROP OWNED BY promises_reader;
DROP ROLE promises_reader;
