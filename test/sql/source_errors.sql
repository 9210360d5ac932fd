-- Sources, and counters with a source: every parameter wrong in every way is refused, with nothing half made.
CREATE SCHEMA source_errors;
SET search_path = source_errors, public;
SET TimeZone = 'UTC';
CREATE ROLE source_steward;
CREATE ROLE source_clock;
GRANT USAGE, CREATE ON SCHEMA source_errors TO source_steward;
GRANT USAGE ON SCHEMA source_errors TO source_clock;
SET ROLE source_steward;
SELECT dp_budget_create('people', 1.5);
CREATE TABLE facts (person integer, at timestamptz, day date, name text, amount integer, money numeric, yes boolean,
    words text COLLATE "C", doc json, xs integer[]);
CREATE VIEW facts_dp AS SELECT person, at, day, name, amount, money, yes, doc, xs FROM facts;
-- a collation that takes for one what others tell apart
CREATE COLLATION same (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
CREATE VIEW ci_dp AS SELECT name COLLATE same AS person, at FROM facts;
CREATE VIEW joined AS SELECT f.person, f.at FROM facts f JOIN facts g USING (person);
CREATE VIEW random_dp AS SELECT person, at FROM facts WHERE random() < 2;
CREATE VIEW nested_dp AS SELECT * FROM random_dp;
CREATE TEMP VIEW temporary_dp AS SELECT person, at FROM facts;

-- the source
SELECT dp_source_create(NULL, 'people', 'person', 'at');
SELECT dp_source_create('facts_dp', NULL, 'person', 'at');
SELECT dp_source_create('nothing', 'people', 'person', 'at');
SELECT dp_source_create(0, 'people', 'person', 'at');
SELECT dp_source_create('facts', 'people', 'person', 'at');
SELECT dp_source_create('pg_user', 'people', 'usename', 'valuntil');
SELECT dp_source_create('temporary_dp', 'people', 'person', 'at');
SELECT dp_source_create('facts_dp', 'facts_dp', 'person', 'at');
SELECT dp_source_create('facts_dp', 'people', NULL, 'at');
SELECT dp_source_create('facts_dp', 'people', 'person', NULL);
SELECT dp_source_create('facts_dp', 'people', 'Person', 'at');
SELECT dp_source_create('facts_dp', 'people', 'person', 'ctid');
SELECT dp_source_create('facts_dp', 'people', 'money', 'at');
SELECT dp_source_create('facts_dp', 'people', 'doc', 'at');
SELECT dp_source_create('ci_dp', 'people', 'person', 'at');
SELECT dp_source_create('facts_dp', 'people', 'person', 'name');
SELECT dp_source_create('facts_dp', 'people', 'person', 'at', 'Europe/Nowhere');
SELECT dp_source_create('facts_dp', 'people', 'person', 'at', '');
SELECT dp_source_create('facts_dp', 'people', 'person', 'at', 'ABC5:00:01'); -- no tick could set it
SELECT dp_source_create('joined', 'people', 'person', 'at');
SELECT dp_source_create('random_dp', 'people', 'person', 'at');
SELECT dp_source_create('random_dp', 'people', 'person', 'at', person_wise => true);
SELECT dp_source_create('nested_dp', 'people', 'person', 'at', person_wise => true);
SELECT * FROM dp_sources;
SELECT dp_source_create('facts_dp', 'people', 'person', 'at');
SELECT dp_source_create('facts_dp', 'people', 'person', 'at');
SELECT dp_source_create('joined', 'people', 'name', 'at', person_wise => true);
SELECT dp_source_create('joined', 'people', 'person', 'at', person_wise => true);
SELECT dp_source_drop(NULL);
SELECT dp_source_drop('facts');
CALL dp_tick('facts_dp');
CALL dp_tick('facts');

-- the counter; every call lacks one thing
PREPARE create_counter(numeric, bigint, regclass, text, text, bigint, integer, text, text[], interval, timestamp, interval) AS
    SELECT dp_counter_create('c', epsilon => $1, horizon => $2, source => $3, event => $4, sum => $5, upper => $6, per_person => $7,
        by => $8, groups => $9,
                             every => $10, since => $11, grace => $12);
EXECUTE create_counter(1, 10, NULL, 'yes', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL);
EXECUTE create_counter(1, 10, NULL, NULL, NULL, NULL, 1, NULL, NULL, NULL, NULL, '1 day');
EXECUTE create_counter(1, 10, 'facts', NULL, NULL, NULL, 1, NULL, NULL, '1 day', '2025-01-01', NULL);
EXECUTE create_counter(NULL, 10, 'facts_dp', NULL, NULL, NULL, 1, NULL, NULL, '1 day', '2025-01-01', NULL);
EXECUTE create_counter(0, 10, 'facts_dp', NULL, NULL, NULL, 1, NULL, NULL, '1 day', '2025-01-01', NULL);
EXECUTE create_counter('NaN', 10, 'facts_dp', NULL, NULL, NULL, 1, NULL, NULL, '1 day', '2025-01-01', NULL);
EXECUTE create_counter(1e-10, 10, 'facts_dp', NULL, NULL, NULL, 1, NULL, NULL, '1 day', '2025-01-01', NULL);
EXECUTE create_counter(2, 10, 'facts_dp', NULL, NULL, NULL, 1, NULL, NULL, '1 day', '2025-01-01', NULL);
EXECUTE create_counter(1, 0, 'facts_dp', NULL, NULL, NULL, 1, NULL, NULL, '1 day', '2025-01-01', NULL);
EXECUTE create_counter(1, 10000001, 'facts_dp', NULL, NULL, NULL, 1, NULL, NULL, '1 microsecond', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', 'no', NULL, NULL, 1, NULL, NULL, '1 day', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', 'amount', NULL, NULL, 1, NULL, NULL, '1 day', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, 'money', 5, 1, NULL, NULL, '1 day', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, 'amount', NULL, 1, NULL, NULL, '1 day', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, 'amount', 0, 1, NULL, NULL, '1 day', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, NULL, 5, 1, NULL, NULL, '1 day', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, NULL, NULL, NULL, NULL, NULL, '1 day', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, 'amount', 5, NULL, NULL, NULL, '1 day', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, NULL, NULL, 0, NULL, NULL, '1 day', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, NULL, NULL, 1000001, NULL, NULL, '1 day', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, 'amount', 2147483648, 2, NULL, NULL, '1 day', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, NULL, NULL, 1, NULL, '{a}', '1 day', '2025-01-01', NULL);
BEGIN;
CREATE VIEW steps_dp AS SELECT person, at, name AS step FROM facts;
SELECT dp_source_create('steps_dp', 'people', 'person', 'at');
SELECT dp_counter_create('c', 'steps_dp', 1, '1 day', '2025-01-01', by => 'step', groups => '{a}', per_person => 1);
ROLLBACK;
EXECUTE create_counter(1, 10, 'facts_dp', NULL, NULL, NULL, 1, 'name', NULL, '1 day', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, NULL, NULL, 1, 'name', '{}', '1 day', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, NULL, NULL, 1, 'name', '{a,NULL}', '1 day', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, NULL, NULL, 1, 'name', '{a,b,a}', '1 day', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, NULL, NULL, 1, 'amount', '{1,2,01}', '1 day', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, NULL, NULL, 1, 'amount', '{one}', '1 day', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, NULL, NULL, 1, 'xs', '{1}', '1 day', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, NULL, NULL, 1, NULL, NULL, NULL, '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, NULL, NULL, 1, NULL, NULL, '1 day', NULL, NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, NULL, NULL, 1, NULL, NULL, '0', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, NULL, NULL, 1, NULL, NULL, '-1 day', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, NULL, NULL, 1, NULL, NULL, '1 month 1 day', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, NULL, NULL, 1, NULL, NULL, '1 day', 'infinity', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, NULL, NULL, 1, NULL, NULL, '1 day', '2025-01-01', '-1 hour');
EXECUTE create_counter(1, 10, 'facts_dp', NULL, NULL, NULL, 1, NULL, NULL, '178000000 years', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, NULL, NULL, 1, NULL, NULL, '1 day', '294276-12-31', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', NULL, NULL, NULL, 1, NULL, NULL, '1 day', '2025-01-01', '178000000 years');
EXECUTE create_counter(1, 1000000, 'facts_dp', NULL, NULL, NULL, 1, NULL, NULL, '1 year', '2025-01-01', NULL);
CREATE VIEW far AS SELECT person, at FROM facts;
SELECT dp_source_create('far', 'people', 'person', 'at', 'Asia/Tokyo');
EXECUTE create_counter(1, 10, 'far', NULL, NULL, NULL, 1, NULL, NULL, '1 day', '4714-11-24 BC', NULL); -- before time begins in Greenwich
DROP VIEW far;
CREATE VIEW dated AS SELECT person, day FROM facts;
SELECT dp_source_create('dated', 'people', 'person', 'day');
EXECUTE create_counter(1, 10, 'dated', NULL, NULL, NULL, 1, NULL, NULL, '1 hour', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'dated', NULL, NULL, NULL, 1, NULL, NULL, '1 day', '2025-01-01 12:00', NULL);
-- nothing is left of all that
SELECT count(*) FROM dp_counters WHERE source IS NOT NULL;
SELECT spent, remaining FROM dp_budgets WHERE budget = 'people'::regclass;
-- a creation that is rolled back has cost nothing; one that is not has
BEGIN;
EXECUTE create_counter(1, 10, 'facts_dp', 'yes', NULL, NULL, 1, NULL, NULL, '1 day', '2025-01-01', NULL);
ROLLBACK;
SELECT spent FROM dp_budgets WHERE budget = 'people'::regclass;
-- a week and a day of grace without their units
BEGIN;
EXECUTE create_counter(1, 10, 'facts_dp', 'yes', NULL, NULL, 1, NULL, NULL, '7', '2025-01-01', '1');
ROLLBACK;
EXECUTE create_counter(1, 10, 'facts_dp', 'yes', NULL, NULL, 1, NULL, NULL, '1 day', '2025-01-01', NULL);
EXECUTE create_counter(1, 10, 'facts_dp', 'yes', NULL, NULL, 1, NULL, NULL, '1 day', '2025-01-01', NULL);
-- a first try without the names, a time with a zone, and one that is no time
SELECT dp_counter_create();
SELECT dp_counter_create('c');
\set VERBOSITY terse
SELECT dp_counter_create('c', 'facts_dp', 0.1, every => '1 day', since => now(), horizon => 10, per_person => 1);
SELECT dp_counter_create('c', 'facts_dp', 0.1, every => '1 day', since => 20250101, horizon => 10, per_person => 1);
\set VERBOSITY default
SELECT dp_counter_create('c', 'facts_dp', 0.1, every => '1 day', since => 'no day', horizon => 10, per_person => 1);
SELECT dp_counter_create('more', epsilon => 0.6, horizon => 10, source => 'facts_dp', every => '1 day', since => '2025-01-01',
    per_person => 1);
SELECT spent, remaining FROM dp_budgets WHERE budget = 'people'::regclass;

-- who may do what
RESET ROLE;
SET ROLE source_clock;
SELECT dp_source_create('facts_dp', 'people', 'person', 'at');
SELECT dp_source_drop('facts_dp');
EXECUTE create_counter(0.1, 10, 'facts_dp', 'yes', NULL, NULL, 1, NULL, NULL, '1 day', '2025-01-01', NULL);
CALL dp_tick('facts_dp');
CALL dp_tick('facts');
CALL dp_tick('c');
SELECT count(*) FROM dp_sources;
RESET ROLE;
-- without a temporary schema
DROP VIEW temporary_dp;
\c -
SET search_path = source_errors, public;
SET ROLE source_steward;
INSERT INTO facts (person, at, amount) VALUES (1, '2025-01-02', 0);
SELECT dp_counter_create('fine', epsilon => 0.1, horizon => 10, source => 'facts_dp', every => '1 day', since => '2025-01-01',
    per_person => 1);
GRANT UPDATE ON c, fine TO source_clock;
RESET ROLE;
-- a clock needs no right on the source
SET ROLE source_clock;
SELECT count(*) FROM facts_dp;
CALL dp_tick('fine');
RESET ROLE;
SELECT count(*) FROM fine;
BEGIN;
CALL dp_tick('facts_dp');
ROLLBACK;

-- the owner's view fails for some row: the clock learns that, the owner why
SET ROLE source_steward;
CREATE OR REPLACE VIEW facts_dp AS SELECT person, at, day, name, amount, money, 1 / amount > 0 AS yes, doc, xs FROM facts;
RESET ROLE;
SET ROLE source_clock;
CALL dp_tick('c');
SELECT 'a temporary table' INTO TEMP peek;
CALL dp_tick('c');
CALL dp_tick('facts_dp');
RESET ROLE;
SET ROLE source_steward;
CALL dp_tick('c');
-- of several counters, it says which one it was
CALL dp_tick('facts_dp');
-- what has become no simple view is refused at the tick
CREATE OR REPLACE VIEW facts_dp AS SELECT person, at, day, name, amount, money, (SELECT count(*) FROM facts) > 0 AS yes, doc, xs FROM facts;
CALL dp_tick('c');
-- and at a declaration, which ends no other counter for it, nor charges it
SELECT dp_counter_create('c2', 'facts_dp', 0.01, '1 day', '2025-01-01', horizon => 1, per_person => 1, continues => 'c');
CREATE OR REPLACE VIEW facts_dp AS SELECT person, at, day, name, amount, money, random() < 2 AS yes, doc, xs FROM facts;
CALL dp_tick('c');
-- nothing was closed by all that
SELECT steps FROM dp_counters WHERE counter = 'c'::regclass;
RESET ROLE;
SELECT count(*) FROM dp_counter_private.tallies JOIN dp_counter_private.counters USING (number) WHERE counter = 'c'::regclass
    AND own_window < 2147483647;
-- a source goes and its counter stays: without a restriction, and where no event trigger runs, with a temporary type
SET ROLE source_steward;
CREATE VIEW gone AS SELECT person, at FROM facts;
SELECT dp_source_create('gone', 'people', 'person', 'at', 'UTC');
SELECT dp_counter_create('orphan', epsilon => 0.01, horizon => 1, source => 'gone', every => '1 day', since => '2025-01-01',
    per_person => 1);
\set VERBOSITY default
DROP VIEW gone;
\set VERBOSITY terse
DROP VIEW gone CASCADE;
CALL dp_tick('orphan');
SELECT source FROM dp_counters WHERE counter = 'orphan'::regclass;
SELECT dp_counter_drop('orphan');
CREATE VIEW gone AS SELECT person, at FROM facts;
SELECT dp_source_create('gone', 'people', 'person', 'at', 'UTC');
SELECT dp_counter_create('orphan', epsilon => 0.01, horizon => 1, source => 'gone', every => '1 day', since => '2025-01-01',
    by => 'person', groups => '{1}', per_person => 1);
BEGIN;
CREATE TEMP TABLE short () ON COMMIT DROP;
SET LOCAL client_min_messages = warning;
-- from 19 on such a view is a temporary one, and the other way is left
DO $$ BEGIN
    IF current_setting('server_version_num')::integer < 190000 THEN
        CREATE OR REPLACE VIEW gone AS SELECT person, at, NULL::pg_temp.short AS temporary FROM facts;
    ELSE
        DROP VIEW gone CASCADE;
    END IF;
END $$;
COMMIT;
CALL dp_tick('orphan');
SELECT dp_counter_add_groups('orphan', '{2}');
SELECT source, steps FROM dp_counters WHERE counter = 'orphan'::regclass;
SELECT epsilon, guarantee FROM dp_counter_plan('orphan') LIMIT 1;
SELECT count(*) FROM dp_sources WHERE source::text LIKE '%gone%';
SELECT epsilon, purpose FROM people WHERE purpose LIKE '%orphan' AND refunded_at IS NULL;
DROP VIEW orphan;
RESET ROLE;
SET client_min_messages = warning;
DO $$ BEGIN PERFORM dp_counter_drop(counter) FROM dp_counters; END $$;
DROP VIEW facts_dp, joined, dated;
SELECT dp_budget_drop('people');
DROP SCHEMA source_errors CASCADE;
DROP TABLE peek;
DROP OWNED BY source_steward, source_clock;
DROP ROLE source_steward, source_clock;
