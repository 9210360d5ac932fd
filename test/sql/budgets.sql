-- Budgets: decimal sums, what spends them, who may, and what does not make them forget.
CREATE SCHEMA budgets;
CREATE ROLE budget_steward;
CREATE ROLE budget_deputy IN ROLE budget_steward;
CREATE ROLE budget_stranger;
GRANT USAGE, CREATE ON SCHEMA budgets TO budget_steward;
GRANT USAGE ON SCHEMA budgets TO budget_stranger;
SET search_path = budgets, public;

-- parameters
SELECT dp_budget_create(NULL, 1.0);
SELECT dp_budget_create('b', NULL);
SELECT dp_budget_create('b', 0);
SELECT dp_budget_create('b', -0.1);
SELECT dp_budget_create('b', 'NaN');
SELECT dp_budget_create('b', 1.1e100);
SELECT dp_budget_create('pg_temp.b', 1.0);
CALL dp_budget_spend('nothing', 0.1, 'a table');
CALL dp_budget_spend('pg_class', 0.1, 'a table');
SELECT dp_budget_drop('pg_class');
SELECT dp_budget_drop(NULL);
SELECT dp_budget_drop(0);

SET ROLE budget_steward;
SELECT dp_budget_create('b', 1.0);
SELECT dp_budget_create('b', 1.0);
CALL dp_budget_spend(NULL, 0.1, 'a table');
CALL dp_budget_spend('b', NULL, 'a table');
CALL dp_budget_spend('b', 0, 'a table');
CALL dp_budget_spend('b', -1, 'a table');
CALL dp_budget_spend('b', 'NaN', 'a table');
CALL dp_budget_spend('b', 0.1, NULL);
SELECT * FROM dp_budgets;

-- ten times 0.1 fit into 1.0, and nothing more
CALL dp_budget_spend('b', 0.1, 'a table of cases');
CALL dp_budget_spend('b', 1, 'too much');
CALL dp_budget_spend('b', 0.90000000000000000001, 'a little too much');
DO $$ BEGIN FOR i IN 2 .. 10 LOOP CALL dp_budget_spend('b', 0.1, 'table ' || i); END LOOP; END $$;
SELECT * FROM dp_budgets;
CALL dp_budget_spend('b', 0.00000000000000000001, 'the least');
SELECT purpose, epsilon, spent_at <= now() AS past FROM b ORDER BY spent_at;

-- not where it could be rolled back
SELECT dp_budget_create('c', 1.0);
BEGIN;
CALL dp_budget_spend('c', 0.1, 'a table');
ROLLBACK;
DO $$ BEGIN CALL dp_budget_spend('c', 0.1, 'a table'); EXCEPTION WHEN division_by_zero THEN NULL; END $$;
SET default_transaction_read_only = on;
SELECT dp_budget_create('read_only', 1);
CALL dp_budget_spend('c', 0.1, 'a table');
RESET default_transaction_read_only;
SET default_transaction_isolation = 'serializable';
CALL dp_budget_spend('c', 0.1, 'a table');
RESET default_transaction_isolation;
DO $$ BEGIN CALL dp_budget_spend('c', 0.2, 'a table'); RAISE 'this comes after'; END $$;
SELECT * FROM dp_budgets;

-- seen and used by members of the owner
SET ROLE budget_deputy;
SELECT * FROM dp_budgets;
CALL dp_budget_spend('c', 0.05, 'by a deputy');
SET ROLE budget_stranger;
SELECT * FROM dp_budgets;
SELECT * FROM c;
CALL dp_budget_spend('c', 0.1, 'a table');
SELECT dp_budget_drop('c');
SELECT * FROM dp_counter_private.budgets;
SELECT * FROM dp_counter_private.budget_entries;
SELECT * FROM dp_counter_private.spendings;
-- and by whom they let
SET ROLE budget_steward;
GRANT SELECT ON c TO budget_stranger;
SET ROLE budget_stranger;
SELECT * FROM dp_budgets;
CALL dp_budget_spend('c', 0.1, 'a table');
SET ROLE budget_steward;
INSERT INTO c VALUES ('nothing', -0.3, now());
DELETE FROM c;
SELECT * FROM dp_budgets;

-- what was spent is forgotten by dp_budget_drop alone
DROP VIEW c;
DROP SCHEMA budgets CASCADE;
RESET ROLE;
DROP SCHEMA budgets CASCADE;
DROP OWNED BY budget_steward;
DROP ROLE budget_steward;
SET session_replication_role = replica;
DROP VIEW c;
RESET session_replication_role;
ALTER VIEW c RENAME TO "D d";
REASSIGN OWNED BY budget_steward TO budget_stranger;
SET ROLE budget_steward;
CALL dp_budget_spend('"D d"', 0.1, 'a table');
SET ROLE budget_stranger;
CALL dp_budget_spend('"D d"', 10, 'a table');
CALL dp_budget_spend('"D d"', 0.1, 'by the heir');
SELECT purpose, epsilon FROM "D d" ORDER BY spent_at;
SELECT dp_budget_drop('"D d"');
-- its row stays, for the last owner and members of pg_monitor, whoever has had the name
SELECT dropped_name, epsilon, spent, remaining, budget IS NULL AS gone, dropped_at <= now() AS past, dropped_by FROM dp_budgets
    WHERE budget IS NULL;
SET ROLE budget_steward;
SELECT dropped_name FROM dp_budgets WHERE dropped_at IS NOT NULL;
SELECT dp_budget_create('"D d"', 2);
DROP VIEW "D d";
RESET ROLE;
ALTER ROLE budget_stranger RENAME TO budget_renamed;
SET ROLE budget_renamed;
SELECT count(*) FROM dp_budgets WHERE dropped_at IS NOT NULL;
RESET ROLE;
ALTER ROLE budget_renamed RENAME TO budget_stranger;
BEGIN;
UPDATE dp_counter_private.dropped_budgets SET owner = 'budget_steward'::regrole; -- as in another cluster
SET LOCAL ROLE budget_steward;
SELECT count(*) FROM dp_budgets WHERE dropped_at IS NOT NULL;
ROLLBACK;
SELECT dropped_name, spent, dropped_by FROM dp_budgets WHERE dropped_name ~ '^budgets' ORDER BY dropped_at;
GRANT pg_monitor TO budget_deputy;
SET ROLE budget_deputy;
SELECT count(*) FROM dp_budgets WHERE dropped_name ~ '^budgets';
RESET ROLE;
REVOKE pg_monitor FROM budget_deputy;

-- one from which nothing was spent is a view as any other
SELECT dp_budget_create('e', 1e-9);
DROP VIEW e;
BEGIN;
SELECT dp_budget_create('e', 1000000000000.5);
SELECT * FROM dp_budgets WHERE budget = 'e'::regclass;
ROLLBACK;
SELECT dp_budget_create('e', 5);
CALL dp_tick('e');
SELECT dp_counter_drop('e');

-- the rows that a restore inserts are in later dumps
CREATE FUNCTION kept_after_restoring(restored regclass) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    columns constant text := (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = restored
        AND attnum > 0 AND NOT attisdropped AND attgenerated = '');
    kept boolean;
BEGIN
    EXECUTE format('CREATE TEMPORARY TABLE dumped ON COMMIT DROP AS SELECT %s FROM %s', columns, restored);
    EXECUTE format('DELETE FROM %s', restored);
    UPDATE pg_extension SET extconfig = NULL, extcondition = NULL WHERE extname = 'dp_counter';
    EXECUTE format('INSERT INTO %s (%s) SELECT * FROM dumped', restored, columns);
    SELECT restored = ANY (extconfig) INTO kept FROM pg_extension WHERE extname = 'dp_counter';
    RETURN kept;
END $$;
BEGIN;
SELECT kept_after_restoring('dp_counter_private.budgets');
ROLLBACK;
BEGIN;
SELECT kept_after_restoring('dp_counter_private.dropped_budgets');
ROLLBACK;
SELECT dp_event_counter_create('f', 1);
BEGIN;
SELECT kept_after_restoring('dp_counter_private.counters');
ROLLBACK;
DROP VIEW f;
DROP FUNCTION kept_after_restoring;
SELECT dp_budget_drop('e'), dp_budget_drop('b');
SELECT count(*) FROM dp_counter_private.budgets;
-- what has spent them is kept
SELECT count(*), bool_and(closed) AS closed FROM dp_counter_private.budget_entries JOIN dp_counter_private.dropped_budgets AS d
    ON d.number = budget WHERE name ~ '^budgets';
DROP SCHEMA budgets CASCADE;
DROP OWNED BY budget_steward, budget_stranger;
DROP ROLE budget_deputy, budget_steward, budget_stranger;
