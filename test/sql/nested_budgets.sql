-- Budgets within budgets: shares, their ranges, what is left above when they go, and who may do what.
CREATE SCHEMA nested;
CREATE ROLE nested_steward;
CREATE ROLE nested_lead;
GRANT USAGE, CREATE ON SCHEMA nested TO nested_steward, nested_lead;
SET search_path = nested, public;
SET TIME ZONE 'UTC';
SET DateStyle = ISO;
CREATE TABLE visits (person int, at timestamptz, day date);
INSERT INTO visits SELECT i, timestamptz '2024-01-05 12:00Z' + i % 20 * interval '1 day', date '2024-01-05' + i % 20
    FROM generate_series(1, 100) AS i;
ALTER TABLE visits OWNER TO nested_steward;
-- what each budget has, without what depends on today
CREATE VIEW state AS SELECT budget::text, per, spent, remaining, within, since, until FROM dp_budgets WHERE budget::text !~ '\.'
    ORDER BY budget::text;
GRANT SELECT ON state TO PUBLIC;

SET ROLE nested_steward;
SELECT dp_budget_create('life', 1.0);
SELECT dp_budget_create('patients', 3.0, per => '7 days');

-- parameters
SELECT dp_budget_create('share', 0.5, per => '7 days', within => 'patients');
SELECT dp_budget_create('share', 0.5, per => '7 days', within => 'life');
SELECT dp_budget_create('share', 0.5, within => 'nothing');
SELECT dp_budget_create('share', 0.5, within => 'visits');
SELECT dp_budget_create('share', 0.5, within => 'pg_class');
SELECT dp_budget_create('share', 0.5, within => 0);
SELECT dp_budget_create('share', 0.5, since => '2024-01-01');
SELECT dp_budget_create('share', 0.5, per => '7 days', until => '2024-01-01');
SELECT dp_budget_create('share', 0.5, within => 'life', since => '2024-01-01');
SELECT dp_budget_create('share', 0.5, within => 'life', until => 'infinity');
SELECT dp_budget_create('share', 0.5, within => 'patients', since => '2024-01-01', until => '2024-01-01');
\set VERBOSITY terse
SELECT dp_budget_create('share', 0.5, within => 'patients', since => timestamptz '2024-01-01');
\set VERBOSITY default
SELECT dp_budget_create('share', 0.5, within => 'patients', since => 'some day');
SELECT dp_budget_create('share', 3.1, within => 'patients', since => '2024-01-01', until => '2025-01-01');
SELECT dp_budget_create('share', 1.00000001, within => 'life');
SELECT dp_budget_create('life', 0.1, within => 'life');
SELECT dp_budget_create('share', 0.5, least_epsilon => 0);
SELECT dp_budget_create('share', 0.5, least_epsilon => -0.1);
SELECT dp_budget_create('share', 0.5, least_epsilon => 'NaN');
SELECT dp_budget_create('share', 0.5, least_epsilon => 0.51);
SELECT dp_budget_create('share', 0.5, most_cells => 0);
SELECT dp_budget_create('share', 0.5, most_cells => 1099511627777);
BEGIN;
SELECT dp_budget_create('share', 0.5, within => 'life', least_epsilon => 0.5, most_cells => 1099511627776);
SELECT dp_budget_create('other', 0.25, least_epsilon => 1e-20, most_cells => 1);
SELECT budget, least_epsilon, most_cells FROM dp_budgets ORDER BY budget::text;
ROLLBACK;
SELECT * FROM state;

-- a share is one entry, and a charge to it is checked against it alone
SELECT dp_budget_create('share', 0.75, within => 'life');
SELECT dp_budget_create('half', 0.5, within => 'share');
SELECT dp_budget_create('tenth', 0.1, within => 'half');
SELECT * FROM state;
CALL dp_budget_spend('tenth', 0.1, 'a table');
CALL dp_budget_spend('tenth', 0.1, 'another table');
CALL dp_budget_spend('half', 0.4, 'a map');
CALL dp_budget_spend('half', 0.01, 'another map');
CALL dp_budget_spend('share', 0.25, 'an atlas');
CALL dp_budget_spend('life', 0.25, 'a book');
SELECT * FROM state;
SELECT purpose, epsilon, since, until, role, refunded_by = current_user AS refunded FROM life ORDER BY spent_at;
SELECT purpose, epsilon, refunded_by = current_user AS refunded FROM share ORDER BY spent_at;
SELECT dp_budget_create('more', 0.01, within => 'tenth');
-- under its new name
ALTER VIEW half RENAME TO "a Half";
SELECT purpose, epsilon, refunded_by = current_user AS refunded FROM share ORDER BY spent_at;

-- it goes as itself alone, and leaves its entries where it was
SELECT dp_budget_drop('life');
SELECT dp_budget_drop('share');
DROP VIEW share;
DROP VIEW tenth;
DROP VIEW tenth, "a Half", share, life;
BEGIN;
SELECT dp_budget_drop('tenth');
PREPARE TRANSACTION 'share';
SELECT dp_budget_drop('tenth');
SELECT purpose, epsilon, refunded_by = current_user AS refunded FROM "a Half" ORDER BY spent_at;
SELECT dp_budget_drop('"a Half"');
SELECT purpose, epsilon, refunded_by = current_user AS refunded FROM share ORDER BY spent_at;
SELECT dp_budget_drop('share');
SELECT dropped_name, epsilon, spent, within FROM dp_budgets WHERE dropped_name ~ '^nested.(share|"a Half"|tenth)$' ORDER BY dropped_at;
SELECT purpose, epsilon, refunded_by = current_user AS refunded FROM life ORDER BY spent_at;
SELECT * FROM state;
CALL dp_budget_spend('life', 0.01, 'too much');
SELECT dp_budget_drop('life');

-- what was not spent comes back, of a window too
SELECT dp_budget_create('year', 2.0, within => 'patients', since => '2024-01-01', until => '2025-01-01');
SELECT dp_budget_create('june', 1.5, within => 'year', since => '2024-06-01', until => '2024-07-01');
CALL dp_budget_spend('june', 0.5, 'the first day', since => '2024-06-01', until => '2024-06-02');
CALL dp_budget_spend('june', 1, 'the last day', since => '2024-06-30', until => '2024-07-01');
CALL dp_budget_spend('june', 0.5, 'again', since => '2024-06-29', until => '2024-06-30');
CALL dp_budget_spend('june', 0.6, 'too much', since => '2024-06-29', until => '2024-06-30');
CALL dp_budget_spend('year', 1, 'too much', since => '2024-07-07', until => '2024-07-08');
CALL dp_budget_spend('year', 1, 'a week later', since => '2024-07-08', until => '2024-07-09');
SELECT dp_budget_drop('june');
SELECT purpose, epsilon, since, until, refunded_by = current_user AS refunded FROM year ORDER BY since, until;
CALL dp_budget_spend('year', 0.5, 'less than june had left in the middle', since => '2024-06-15', until => '2024-06-16');
CALL dp_budget_spend('year', 2, 'more', since => '2024-06-15', until => '2024-06-16');
SELECT purpose, epsilon, since, until FROM patients ORDER BY since;
CALL dp_budget_spend('patients', 1, 'what is left of the year', since => '2024-01-01', until => '2024-01-02');
CALL dp_budget_spend('patients', 0.1, 'and no more', since => '2024-01-01', until => '2024-01-02');
CALL dp_budget_spend('patients', 3, 'long before', since => '2023-01-01', until => '2023-12-25');

-- ranges at their edges
CALL dp_budget_spend('year', 0.125, 'all of it', since => '2024-01-01', until => '2025-01-01');
CALL dp_budget_spend('year', 0.125, 'before', since => '2023-12-31 23:59:59.999999', until => '2024-01-02');
CALL dp_budget_spend('year', 0.125, 'after', since => '2024-01-01', until => '2025-01-01 00:00:00.000001');
CALL dp_budget_spend('year', 0.125, 'for ever', since => '-infinity', until => 'infinity');
SELECT dp_budget_create('early', 0.125, within => 'year', since => '2023-12-31', until => '2024-02-01');
SELECT dp_budget_create('late', 0.125, within => 'year', since => '2024-12-31', until => 'infinity');
SELECT dp_budget_create('same', 0.125, within => 'year', since => '2024-01-01');
SELECT dp_budget_create('last', 0.125, within => 'same', since => '2024-12-31');
SELECT * FROM state WHERE budget IN ('same', 'last');
CALL dp_budget_spend('last', 0.125, 'a day too early', since => '2024-12-30', until => '2024-12-31');
DROP VIEW same, last;
-- the beginning of time, where dp_budgets could not subtract per
SELECT dp_budget_create('ages', 1.0, per => '36525 days');
SELECT dp_budget_create('age', 0.5, within => 'ages', since => '4713-01-01 BC', until => 'infinity');
CALL dp_budget_spend('age', 0.25, 'the first day', since => '4713-01-01 BC', until => '4713-01-02 BC');
CALL dp_budget_spend('age', 0.25, 'all days', since => '-infinity', until => 'infinity');
SELECT * FROM state WHERE budget IN ('ages', 'age');
SELECT dp_budget_drop('age'), dp_budget_drop('ages');

-- by default from today on, on the face of the root's times: UTC where they are timestamptz. One of these zones has another day.
CREATE VIEW instants_dp AS SELECT person, at FROM visits;
CREATE VIEW days_dp AS SELECT person, day FROM visits;
SELECT dp_budget_create('instants', 1.0, per => '7 days'), dp_budget_create('dates', 1.0, per => '7 days'),
    dp_budget_create('unknown', 1.0, per => '7 days');
SELECT dp_budget_create('of_instants', 0.5, within => 'instants', since => '2024-01-01');
SELECT dp_budget_create('far_within', 0.25, within => 'of_instants', since => '2024-01-01', until => '2999-01-01');
CREATE VIEW others_dp AS SELECT person, at FROM visits;
SELECT dp_source_create('others_dp', budget => 'far_within', person => 'person', at => 'at');
SELECT dp_source_create('instants_dp', budget => 'instants', person => 'person', at => 'at');
SELECT dp_source_create('days_dp', budget => 'dates', person => 'person', at => 'day');
BEGIN;
SET LOCAL TIME ZONE 'Etc/GMT+12';
SELECT dp_budget_create('west_instants', 0.1, within => 'of_instants'), dp_budget_create('west_dates', 0.1, within => 'dates'),
    dp_budget_create('west_unknown', 0.1, within => 'unknown');
SET LOCAL TIME ZONE 'Etc/GMT-14';
SELECT dp_budget_create('east_instants', 0.1, within => 'of_instants'), dp_budget_create('east_dates', 0.1, within => 'dates'),
    dp_budget_create('east_unknown', 0.1, within => 'unknown');
SELECT budget, since = CASE WHEN budget::text ~ 'instants' THEN date_trunc('day', now() AT TIME ZONE 'UTC')
                            ELSE date_trunc('day', now() AT TIME ZONE CASE WHEN budget::text ~ 'west' THEN 'Etc/GMT+12' ELSE 'Etc/GMT-14'
                                END) END AS today, until
FROM dp_budgets WHERE budget::text ~ '^(west|east)_' ORDER BY budget::text;
-- to where the budget above ends, and not before it begins
SELECT dp_budget_create('late_within', 0.1, within => 'far_within');
SELECT dp_budget_create('future', 0.05, within => 'of_instants', since => '2990-01-01');
SELECT dp_budget_create('in_future', 0.05, within => 'future');
SELECT budget, since, until FROM dp_budgets WHERE budget::text ~ 'future' ORDER BY budget::text;
SELECT budget, until FROM dp_budgets WHERE budget = 'late_within'::regclass;
ROLLBACK;
-- one that is over has no default
SELECT dp_budget_create('over', 0.1, within => 'year', since => '2024-01-01', until => '2024-01-02');
DO $$ BEGIN PERFORM dp_budget_create('too_late', 0.1, within => 'over'); RAISE 'there is one'; EXCEPTION WHEN invalid_parameter_value
    THEN RAISE NOTICE '%', regexp_replace(SQLERRM, 'since, [^,]*,', 'since, today,'); END $$;
DROP VIEW over;

-- the unit is the root's: types, windows, bounds, guarantees
CREATE VIEW texts_dp AS SELECT person::text AS person, at FROM visits;
SELECT dp_source_create('texts_dp', budget => 'of_instants', person => 'person', at => 'at');
SELECT dp_counter_create('by_day', source => 'instants_dp', budget => 'far_within', epsilon => 0.25, every => '1 day',
    since => '2023-12-31', horizon => 100, per_person => 1);
SELECT dp_counter_create('by_day', source => 'instants_dp', budget => 'far_within', epsilon => 0.25, every => '1 day',
    since => '2024-01-01', per_person => 1);
SELECT dp_counter_create('by_day', source => 'instants_dp', budget => 'far_within', epsilon => 0.25, every => '1 day',
    since => '2024-01-01', horizon => 40000, per_person => 1);
SELECT counter, per, cumulative FROM dp_counters;
SELECT number, periods, remaining, per FROM dp_counter_plan('by_day') LIMIT 1;
SELECT dp_own_window('far_within', 5, timestamptz '2024-01-05') = dp_own_window('instants', 5, timestamptz '2024-01-05') AS same_windows;
SELECT * FROM state WHERE budget ~ 'instants$|far';

-- a share given to another role: that role spends, divides and drops it, and learns no window
RESET ROLE;
ALTER VIEW of_instants OWNER TO nested_lead;
SET ROLE nested_lead;
CALL dp_budget_spend('of_instants', 0.125, 'by the lead', since => '2024-01-01', until => '2024-01-02');
CALL dp_budget_spend('instants', 0.125, 'by the lead', since => '2024-01-01', until => '2024-01-02');
SELECT dp_own_window('of_instants', 5, timestamptz '2024-01-05');
SELECT dp_own_window('instants', 5, timestamptz '2024-01-05');
SELECT dp_budget_create('for_me', 0.125, within => 'instants');
SELECT dp_budget_create('of_mine', 0.125, within => 'of_instants', since => '2024-01-01');
SELECT budget, within FROM dp_budgets ORDER BY budget::text;
SELECT dp_budget_drop('instants');
SELECT dp_budget_drop('far_within');
SELECT dp_budget_drop('of_mine');
SELECT dp_budget_create('of_mine', 0.125, within => 'of_instants', since => '2024-01-01');
SELECT dp_budget_drop('of_instants');
SET ROLE nested_steward;
SELECT dp_own_window('of_instants', 5, timestamptz '2024-01-05') IS NOT NULL AS steward_of_all;
SELECT dp_budget_create('by_the_steward', 0.1, within => 'of_instants');

-- refused while sources or counters need it
SELECT dp_budget_drop('far_within');
SELECT dp_source_drop('others_dp');
SELECT dp_budget_drop('far_within');
SET client_min_messages = warning; -- the number of periods depends on today
CALL dp_tick('by_day');
RESET client_min_messages;
SELECT dp_counter_drop('by_day');
-- (it was charged up to 2133, and has ended where its last step did)
SELECT purpose, epsilon, since, until > since AND until <= now()::timestamp AS ended FROM far_within;
SELECT dp_budget_drop('far_within');
SET ROLE nested_lead;
SELECT purpose, epsilon, refunded_by = current_user AS refunded FROM of_instants ORDER BY spent_at;
DROP VIEW of_mine;
SELECT dp_budget_drop('of_instants');
SET ROLE nested_steward;
SELECT purpose, epsilon, role, refunded_by = current_user AS refunded FROM instants ORDER BY spent_at;

-- DROP by other ways: unspent ones go, in any order, and give back what they had
SET client_min_messages = warning;
SELECT dp_budget_create('root', 1.0);
SELECT dp_budget_create('a', 0.5, within => 'root');
SELECT dp_budget_create('b', 0.25, within => 'a');
SELECT dp_budget_create('c', 0.125, within => 'b');
DROP VIEW a;
DROP VIEW b, a;
BEGIN; DROP VIEW c; SELECT budget, spent FROM dp_budgets WHERE budget IN ('b'::regclass, 'a'::regclass) ORDER BY budget::text; ROLLBACK;
BEGIN; DROP VIEW c, b, a; SELECT spent FROM dp_budgets WHERE budget = 'root'::regclass; ROLLBACK;
BEGIN; DROP VIEW a, b, c; SELECT spent FROM dp_budgets WHERE budget = 'root'::regclass; ROLLBACK;
BEGIN; DROP VIEW b, c, a; SELECT spent FROM dp_budgets WHERE budget = 'root'::regclass; ROLLBACK;
BEGIN; DROP VIEW root, b, a, c; SELECT count(*) FROM dp_budgets WHERE budget::text IN ('root', 'a', 'b', 'c'); ROLLBACK;
BEGIN; DROP VIEW c, a, root, b; SELECT count(*) FROM dp_budgets WHERE budget::text IN ('root', 'a', 'b', 'c'); ROLLBACK;
SELECT budget, spent FROM dp_budgets WHERE budget IN ('root'::regclass, 'a'::regclass, 'b'::regclass, 'c'::regclass) ORDER BY budget::text;
-- one entry, anywhere, keeps all that is above
CALL dp_budget_spend('b', 0.125, 'a table');
DROP VIEW c;
DROP VIEW root, a, b;
DROP VIEW a, b;
SELECT dp_budget_drop('b');
SELECT purpose, epsilon, refunded_by = current_user AS refunded FROM a ORDER BY spent_at, purpose;
SELECT dp_budget_drop('a');
SELECT purpose, epsilon, refunded_by = current_user AS refunded FROM root ORDER BY spent_at, purpose;
SELECT dp_budget_drop('root');
-- with their source and a counter that released nothing; and with one that did
RESET ROLE;
CREATE SCHEMA gone AUTHORIZATION nested_steward;
SET ROLE nested_steward;
CREATE VIEW gone.visits_dp AS SELECT person, at FROM visits;
SELECT dp_budget_create('around', 1.0);
SELECT dp_budget_create('gone.inner', 0.5, within => 'around');
SELECT dp_budget_create('gone.inmost', 0.25, within => 'gone.inner');
SELECT dp_source_create('gone.visits_dp', budget => 'gone.inmost', person => 'person', at => 'at');
SELECT dp_counter_create('gone.nothing', source => 'gone.visits_dp', epsilon => 0.125, every => '1 day', since => '2999-01-01',
    horizon => 2, per_person => 1);
BEGIN; DROP SCHEMA gone CASCADE; SELECT spent FROM dp_budgets WHERE budget = 'around'::regclass; ROLLBACK;
SELECT dp_counter_create('gone.something', source => 'gone.visits_dp', epsilon => 0.125, every => '1 day', since => '2024-01-05',
    horizon => 2, per_person => 1);
CALL dp_tick('gone.visits_dp');
DROP SCHEMA gone CASCADE;
SET client_min_messages = error; -- not of privileges that it did not grant
DROP OWNED BY nested_steward;
SET client_min_messages = warning;
SELECT spent FROM dp_budgets WHERE budget = 'around'::regclass;
SELECT dp_counter_drop('gone.something'), dp_counter_drop('gone.nothing'), dp_source_drop('gone.visits_dp');
SELECT dp_budget_drop('gone.inmost'), dp_budget_drop('gone.inner');
SELECT purpose, epsilon, refunded_by = current_user AS refunded FROM around ORDER BY spent_at, purpose;
SELECT dp_budget_drop('around');
RESET ROLE;

-- a rollback undoes all of it
BEGIN;
SELECT dp_budget_create('top', 1.0);
SAVEPOINT made;
SELECT dp_budget_create('sub', 0.5, within => 'top');
ROLLBACK TO made;
SELECT spent FROM dp_budgets WHERE budget = 'top'::regclass;
SELECT dp_budget_create('sub', 0.5, within => 'top');
SAVEPOINT dropped;
SELECT dp_budget_drop('sub');
ROLLBACK TO dropped;
SELECT spent FROM dp_budgets WHERE budget = 'top'::regclass;
ROLLBACK;

-- a role with pg_write_all_data can set the sequence of numbers, back and to its end: nobody gets a number that is used
BEGIN;
SELECT dp_budget_create('top', 1.0);
SELECT dp_budget_create('sub', 0.5, within => 'top');
SELECT setval('dp_counter_private.counters_number_seq', number - 1) < number AS is_back FROM dp_counter_private.budgets
    WHERE budget = 'sub'::regclass;
SELECT dp_budget_create('again', 0.25, within => 'top');
DROP VIEW again;
SELECT spent FROM dp_budgets WHERE budget = 'top'::regclass;
SELECT setval('dp_counter_private.counters_number_seq', 281474976710655);
SELECT dp_budget_create('first', 1.0);
ROLLBACK;

-- sums: each budget within another one has its entry there, and no entry is without a budget
SELECT count(*) FROM dp_counter_private.budgets AS b LEFT JOIN dp_counter_private.budget_entries AS e USING (number)
WHERE b.within IS DISTINCT FROM e.budget OR b.within IS NOT NULL AND (b.epsilon, b.since, b.until) IS DISTINCT
    FROM (e.epsilon, e.since, e.until);
SELECT dp_source_drop('instants_dp'), dp_source_drop('days_dp');
SELECT dp_budget_drop(b) FROM unnest('{year,patients,instants,dates,unknown}'::regclass[]) AS b;
SELECT count(*) FROM dp_counter_private.budgets;
SELECT count(*) FROM dp_counter_private.budget_entries WHERE NOT closed AND refunded_at IS NULL;
SELECT count(*) FROM dp_counter_private.budget_entries AS e WHERE NOT EXISTS (SELECT FROM dp_counter_private.dropped_budgets AS d
    WHERE d.number = e.budget);
DROP OWNED BY nested_steward, nested_lead CASCADE;
DROP SCHEMA nested CASCADE;
DROP ROLE nested_steward, nested_lead;
