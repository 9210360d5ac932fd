-- Drivers that send no types (node-postgres, pgx, JDBC's setTimestamp, psycopg 3 with a str or None) leave a parameter's
-- type to the function: each argument that is not a value of any type has one.

SET client_min_messages = warning;
CREATE TABLE visits AS SELECT p AS person, timestamp '2025-01-01' + p * interval '1 day' AS at FROM generate_series(1, 9) AS p;
CREATE VIEW visits_dp AS SELECT * FROM visits;
SELECT dp_budget_create('budget', 1e10, per => '28 days');
SELECT dp_source_create('visits_dp', 'budget', 'person', 'at', 'UTC');

PREPARE declare AS SELECT dp_counter_create($1, source => $2, epsilon => $3, every => $4, since => $5, per_person => 1);
PREPARE changes AS SELECT period, step FROM dp_counter_changes($1, $2, since => $3, until => $4) ORDER BY step;
PREPARE share AS SELECT dp_budget_create($1, $2, within => $3, since => $4, until => $5);
SELECT name, parameter_types FROM pg_prepared_statements ORDER BY name;
EXECUTE declare('by_day', 'visits_dp', '1e9', '1 day', '2025-01-02');
CALL dp_tick('by_day');
EXECUTE changes('by_day', '2', '2025-01-04', '2025-01-06');
EXECUTE changes('by_day', '2', NULL, '2025-01-04');
EXECUTE share('share', '1', 'budget', '2025-01-01', 'infinity');

-- A date is its midnight.
PREPARE by_date(date) AS SELECT step FROM dp_counter_changes('by_day', 1, since => $1, until => $1 + 1);
EXECUTE by_date('2025-01-05');

-- CALL cannot be prepared by SQL: what takes a value of any type.
SELECT oid::regprocedure AS takes_any FROM pg_proc
WHERE '"any"'::regtype = ANY (proargtypes) AND oid IN (SELECT objid FROM pg_depend WHERE refclassid = 'pg_extension'::regclass
    AND deptype = 'e'
      AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'dp_counter')) ORDER BY oid::regprocedure::text COLLATE "C";

DO $$ BEGIN PERFORM dp_counter_drop(counter) FROM dp_counters; END $$;
DROP TABLE visits CASCADE;
SELECT dp_budget_drop('share');
SELECT dp_budget_drop('budget');
