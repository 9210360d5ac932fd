-- What counters with a source, and contributions, charge and give back; and what dp_counter_changes tells.
CREATE SCHEMA source_budgets;
SET search_path = source_budgets, public;
SET TIME ZONE 'UTC';
CREATE TABLE visits (person text, at date, flu boolean, ward text);
-- person p has p visits, from the first of January on, every second one for flu
INSERT INTO visits SELECT 'p' || p, date '2024-01-01' + n, n % 2 = 1, CASE WHEN n % 3 = 0 THEN 'a' ELSE 'b' END
    FROM generate_series(1, 6) p, generate_series(0, p - 1) n;
INSERT INTO visits VALUES (NULL, '2024-01-01', true, 'a'), ('p1', NULL, true, 'a'), ('p2', 'infinity', true, 'a');
CREATE VIEW visits_dp AS SELECT *, 1 AS doses FROM visits;
SELECT dp_budget_create('budget', 1e10 + 1);
SELECT dp_source_create('visits_dp', budget => 'budget', person => 'person', at => 'at');
CREATE FUNCTION make(name text, epsilon numeric, upper bigint DEFAULT NULL) RETURNS regclass LANGUAGE sql AS
    $$ SELECT dp_counter_create(name, epsilon => epsilon, horizon => 6, source => 'visits_dp', sum => CASE WHEN upper > 0 THEN 'doses'
        END, upper => upper, per_person => 4, every => '1 day', since => '2024-01-01', "by" => 'ward', groups => '{a,b}') $$;

-- what is rolled back was not charged, and nothing else is forgotten
SELECT make('kept', 0.5);
BEGIN;
SELECT make('undone', 0.25);
SELECT spent FROM dp_budgets WHERE budget = 'budget'::regclass;
ROLLBACK;
SELECT spent FROM dp_budgets WHERE budget = 'budget'::regclass;
BEGIN;
SAVEPOINT s;
SELECT make('undone', 0.25);
ROLLBACK TO s;
SELECT make('second', 0.125);
COMMIT;
SELECT make('', 0.25);
SELECT make('kept', 0.25);
SELECT purpose, epsilon, refunded_by = current_user AS refunded FROM budget ORDER BY spent_at;
-- one that never closed a step gives back what it was charged, unless its end is rolled back
BEGIN;
SELECT dp_counter_drop('second');
SELECT spent FROM dp_budgets WHERE budget = 'budget'::regclass;
ROLLBACK;
SELECT spent FROM dp_budgets WHERE budget = 'budget'::regclass;
-- it is not prepared: a copy could commit what the original rolls back
BEGIN;
SELECT dp_counter_drop('second');
PREPARE TRANSACTION 'refund';
SELECT spent FROM dp_budgets WHERE budget = 'budget'::regclass;
BEGIN;
SAVEPOINT s;
DROP VIEW second;
RELEASE s;
PREPARE TRANSACTION 'refund';
DROP VIEW second;
SELECT spent FROM dp_budgets WHERE budget = 'budget'::regclass;
-- one that has closed a step does not
CALL dp_tick('kept');
ALTER VIEW kept RENAME TO "the Last";
SELECT purpose, epsilon, refunded_by = current_user AS refunded FROM budget ORDER BY spent_at;
SELECT dp_counter_drop('"the Last"');
SELECT purpose, epsilon, refunded_by = current_user AS refunded FROM budget ORDER BY spent_at;
-- the ledger has its last name, whatever way it is dropped
SELECT make('renamed', 0.25);
CALL dp_tick('renamed');
CREATE SCHEMA source_moved;
ALTER VIEW renamed RENAME TO moved;
ALTER VIEW moved SET SCHEMA source_moved;
DROP SCHEMA source_moved CASCADE;
SELECT purpose, epsilon, refunded_by = current_user AS refunded FROM budget ORDER BY spent_at;
SELECT dp_budget_drop('budget');

-- all of a budget, after it was all charged and rolled back, and after it was all charged and given back
CREATE VIEW few_dp AS SELECT person, at FROM visits;
SELECT dp_budget_create('small', 0.3);
SELECT dp_source_create('few_dp', budget => 'small', person => 'person', at => 'at');
CREATE FUNCTION make_small(name text, epsilon numeric) RETURNS regclass LANGUAGE sql AS
    $$ SELECT dp_counter_create(name, epsilon => epsilon, horizon => 6, source => 'few_dp', every => '1 day', since => '2024-01-01',
        per_person => 1) $$;
-- as long as a source charges it, however little is spent
DROP VIEW small;
SELECT dp_budget_drop('small');
BEGIN;
SELECT make_small('one', 0.3);
ROLLBACK;
SELECT make_small('one', 0.3);
SELECT make_small('two', 0.1);
SELECT dp_counter_drop('one');
SELECT make_small('one', 0.1);
SELECT make_small('two', 0.1);
SELECT make_small('three', 0.1);
SELECT make_small('four', 0.0000000001);
SELECT make_small('four', 0.000000001);
SELECT * FROM dp_budgets WHERE budget = 'small'::regclass;

-- contributions
CALL dp_source_contributions('visits_dp', 'contributions', 1e9, most => 8);
SELECT events, persons, low, high, round(kept_at_most::numeric, 3) AS kept_at_most FROM contributions ORDER BY events;
-- of events: who has none is not counted
CALL dp_source_contributions('visits_dp', 'with_flu', 1e9, 'flu', 2);
SELECT events, persons, round(kept_at_most::numeric, 3) AS kept_at_most FROM with_flu ORDER BY events;
CALL dp_source_contributions('visits_dp', 'with_flu', 1e9, 'flu', 2);
CALL dp_source_contributions('visits_dp', 'more', 1e11);
CALL dp_source_contributions('visits_dp', 'more', 0.001, 'ward');
CALL dp_source_contributions('visits_dp', 'more', 0.001, 'nothing');
CALL dp_source_contributions('visits_dp', 'more', 0.001, most => 0);
CALL dp_source_contributions('visits_dp', 'more', 0.001, most => NULL);
CALL dp_source_contributions('visits_dp', NULL, 0.001);
CALL dp_source_contributions('visits_dp', 'more', NULL);
CALL dp_source_contributions('visits_dp', 'more', 0);
CALL dp_source_contributions('visits', 'more', 0.001);
CALL dp_source_contributions(NULL, 'more', 0.001);
CALL dp_source_contributions('visits_dp', 'pg_temp.more', 0.001);
BEGIN;
CALL dp_source_contributions('visits_dp', 'more', 0.001);
ROLLBACK;
SELECT purpose, epsilon, refunded_by = current_user AS refunded FROM budget ORDER BY spent_at;
-- what was released and may have been seen stays, with its charge
DO $$ BEGIN CALL dp_source_contributions('visits_dp', 'noisy_cells', 1e-9, most => 4); RAISE 'this comes after'; END $$;
-- its noise is that of the epsilon that was charged
SELECT bool_and(abs(stddev / dp_stddev(1, NULL, 1e-9, mechanism => 'laplace') - 1) < 1e-9) AS charged FROM noisy_cells;
SELECT purpose, epsilon FROM budget WHERE purpose ~ 'noisy';
-- a draw for each cell: with one for two of them, these would differ by their true counts, at most 1. Right noise does so
-- with a probability below 10 pairs * 3 differences * 1e-9 / 4, 1e-8
SELECT count(*), min(abs(a.persons - b.persons)) > 1 AS differ FROM noisy_cells a JOIN noisy_cells b ON a.events < b.events;
-- changes: the events of the last periods
SELECT make('exact', 1e9);
CALL dp_tick('exact');
SELECT period, ward, step, count FROM exact ORDER BY step, ward;
SELECT * FROM dp_counter_changes('exact', 1) WHERE group_value = 'a' ORDER BY step;
SELECT bool_and(c.count = e.count AND c.low = e.low AND c.high = e.high AND abs(c.stddev - e.stddev) < 1e-9)
    FROM dp_counter_changes('exact', 6) c JOIN exact e ON e.step = c.step AND e.ward = c.group_value;
-- the error of a sum is that of upper * per_person
SELECT make('noisy', 0.001, 1000);
CALL dp_tick('noisy');
SELECT bool_and(c.sum = n.sum - coalesce((SELECT sum FROM noisy b WHERE b.ward = n.ward AND b.step = n.step - 2), 0)
                AND abs(c.stddev / dp_stddev(n.step, 6, 0.001, sensitivity => 4000, since_step => greatest(n.step - 2, 0)) - 1) < 1e-12
                AND int8range(c.low::bigint, c.high::bigint, '[]') = dp_interval(c.sum, n.step, 6, 0.001, sensitivity => 4000,
                    since_step => greatest(n.step - 2, 0), within => '[0,)'))
FROM dp_counter_changes('noisy', 2) c JOIN noisy n ON n.step = c.step AND n.ward = c.group_value;
-- of a counter that is fed by a trigger
SELECT dp_event_counter_create('fed', 1e9);
SELECT dp_counter_record('fed', 5);
CALL dp_tick('fed');
SELECT dp_counter_record('fed', 2);
CALL dp_tick('fed');
SELECT * FROM dp_counter_changes('fed', 1);
SELECT count(*) FROM dp_counter_changes('fed', 2147483647);
SELECT * FROM dp_counter_changes('fed', 0);
SELECT * FROM dp_counter_changes('fed', NULL);
SELECT * FROM dp_counter_changes(NULL, 1);
SELECT * FROM dp_counter_changes('visits', 1);
CREATE ROLE source_reader;
GRANT USAGE ON SCHEMA source_budgets TO source_reader;
SET ROLE source_reader;
SELECT * FROM dp_counter_changes('fed', 1);
RESET ROLE;
GRANT SELECT ON fed TO source_reader;
SET ROLE source_reader;
SELECT step, count FROM dp_counter_changes('fed', 1);
RESET ROLE;

-- beside a source whose budget went without the event trigger
BEGIN;
CREATE TABLE rows_of_lost AS SELECT person, at FROM visits;
CREATE VIEW lost_dp AS TABLE rows_of_lost;
CREATE VIEW beside_dp AS TABLE rows_of_lost;
SELECT dp_budget_create('lost', 1), dp_budget_create('beside', 1);
SELECT dp_source_create('lost_dp', 'lost', 'person', 'at');
ALTER EVENT TRIGGER dp_counter_dropped DISABLE;
DROP VIEW lost;
SELECT dp_source_create('beside_dp', 'beside', 'person', 'at');
SELECT dp_source_create('lost_dp', 'beside', 'person', 'at');
ROLLBACK;

SET client_min_messages = warning;
SELECT dp_counter_drop('one'), dp_counter_drop('two'), dp_counter_drop('three'), dp_source_drop('few_dp'), dp_budget_drop('small');
SELECT dp_counter_drop('exact'), dp_counter_drop('noisy'), dp_counter_drop('fed'), dp_source_drop('visits_dp'), dp_budget_drop('budget');
DROP SCHEMA source_budgets CASCADE;
DROP OWNED BY source_reader;
DROP ROLE source_reader;
