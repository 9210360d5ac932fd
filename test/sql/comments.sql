-- What \dv+ and \d+ say of sources and budgets, and what stays of an owner's own comments. (Of counters: plan_counter.)
\pset format unaligned
SET client_min_messages = warning;
CREATE SCHEMA comments;
SET search_path = comments, public;
CREATE TABLE visits (patient integer, "at Time" timestamp);
CREATE VIEW visits_dp AS SELECT * FROM visits;
CREATE VIEW own_dp AS SELECT * FROM visits;
COMMENT ON VIEW own_dp IS 'the visits';
SELECT dp_budget_create('life', 10), dp_budget_create('"a Year"', 0.50, per => '365 days'), dp_budget_create('day', 1, per => '1 day');
SELECT dp_budget_create('share', 0.2, within => '"a Year"');
SELECT relname, obj_description(oid) FROM pg_class WHERE relnamespace = 'comments'::regnamespace AND relkind = 'v' ORDER BY relname;
SELECT attname, col_description(attrelid, attnum) FROM pg_attribute WHERE attrelid = 'life'::regclass ORDER BY attnum;
SELECT dp_source_create('visits_dp', '"a Year"', 'patient', 'at Time', 'Europe/Berlin'), dp_source_create('own_dp', 'life', 'patient',
    'at Time', 'UTC');
SELECT relname, obj_description(oid) FROM pg_class WHERE relname IN ('visits_dp', 'own_dp') ORDER BY relname;
-- a source no more: its own comment goes, another's stays
SELECT dp_source_drop('visits_dp'), dp_source_drop('own_dp');
SELECT relname, obj_description(oid) FROM pg_class WHERE relname IN ('visits_dp', 'own_dp') ORDER BY relname;
SELECT dp_source_create('visits_dp', 'day', 'patient', 'at Time', 'UTC');
COMMENT ON VIEW visits_dp IS 'Source of visits';
SELECT dp_source_create('visits_dp', 'day', 'patient', 'at Time', never_fails => '{patient}'), dp_source_drop('visits_dp');
SELECT obj_description('visits_dp'::regclass);
SELECT dp_budget_drop('share'), dp_budget_drop('life'), dp_budget_drop('"a Year"'), dp_budget_drop('day');
DROP SCHEMA comments CASCADE;
