-- The view of a counter or budget is its face: the query by which it reads its rows stays. Otherwise the view could depend on a temporary
-- object, and would go with it at the end of a transaction, when no event trigger runs.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dp_counter;
CREATE ROLE faces_owner;
CREATE SCHEMA faces AUTHORIZATION faces_owner;
SET search_path = faces, public;
SET ROLE faces_owner;
CREATE TABLE visits AS SELECT n AS person, timestamp '2024-01-01' + n * interval '1 day' AS at, true AS flu
    FROM generate_series(1, 50) AS n;
CREATE VIEW visits_dp AS SELECT person, at, flu FROM visits;
SELECT dp_budget_create('budget', 1e9, per => '365 days');
SELECT dp_source_create('visits_dp', 'budget', 'person', 'at', 'UTC');
SELECT dp_counter_create('flow', 'visits_dp', 1e9, '1 month', '2024-01-01', 1, event => 'flu', per_person => 1);
SELECT dp_event_counter_create('recorded', 1e9);
CREATE FUNCTION attempt(call text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
    EXECUTE call;
    RETURN 'done';
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ': ' || SQLERRM; END $$;

-- what changes the query or makes it no security barrier is refused, whoever it is; the rest of a view is its owner's
\set VERBOSITY default
CREATE OR REPLACE VIEW recorded WITH (security_barrier) AS SELECT 1::bigint AS step, now() AS released_at, 0::bigint AS count,
    0::float8 AS stddev, 0::bigint AS low, 0::bigint AS high;
\set VERBOSITY terse
CREATE VIEW columns AS SELECT c.relname AS view, string_agg(format('NULL::%s AS %I', format_type(a.atttypid, a.atttypmod), a.attname),
    ', ' ORDER BY a.attnum) AS list
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid WHERE c.relname IN ('budget', 'flow', 'recorded')
    AND c.relnamespace = 'faces'::regnamespace GROUP BY 1;
CREATE TEMP TABLE gone (x integer);
CREATE TYPE pg_temp.kind AS ENUM ('a');
CREATE TABLE twin (LIKE recorded);
SELECT change, attempt, string_agg(view, ' ' ORDER BY view) AS views
    FROM (SELECT view, change, replace(attempt(format(change, view, list)), view, '%1$s') AS attempt FROM columns, unnest(ARRAY[
    'CREATE OR REPLACE VIEW faces.%1$s WITH (security_barrier) AS SELECT %2$s',
    'CREATE OR REPLACE VIEW faces.%1$s WITH (security_barrier) AS SELECT %2$s, NULL::pg_temp.gone AS gone',
    'CREATE OR REPLACE VIEW faces.%1$s WITH (security_barrier) AS SELECT %2$s, NULL::pg_temp.kind AS gone',
    'CREATE OR REPLACE VIEW faces.%1$s WITH (security_barrier) AS SELECT %2$s WHERE EXISTS (SELECT FROM pg_temp.gone)',
    'CREATE OR REPLACE RULE "_RETURN" AS ON SELECT TO faces.%1$s DO INSTEAD SELECT %2$s',
    'CREATE OR REPLACE RULE "_RETURN" AS ON SELECT TO faces.%1$s DO INSTEAD SELECT %2$s FROM (SELECT NULL::pg_temp.gone) AS one WHERE 1 = 1',
    'ALTER VIEW faces.%1$s RESET (security_barrier)',
    'ALTER TABLE faces.%1$s SET (security_barrier = off)',
    'DROP RULE "_RETURN" ON faces.%1$s',
    'ALTER TABLE faces.%1$s SET SCHEMA pg_temp',
    'ALTER TABLE faces.%1$s RENAME TO other; ALTER VIEW faces.other RENAME TO %1$s']) AS change) AS a GROUP BY 1, 2 ORDER BY 1;
SELECT attempt('CREATE OR REPLACE VIEW recorded WITH (security_barrier) AS SELECT * FROM twin');
-- the query of one under the name of another, which its owner cannot write; a superuser can replace a query by itself
SELECT attempt(format('CREATE OR REPLACE VIEW recorded WITH (security_barrier) AS %s', pg_get_viewdef('recorded'::regclass)));
RESET ROLE;
CREATE FUNCTION numbered(text) RETURNS text LANGUAGE sql AS $$ SELECT number::text FROM dp_counter_private.counters
    WHERE counter = $1::regclass $$;
SELECT change, replace(attempt(format('CREATE OR REPLACE VIEW recorded WITH (security_barrier) AS %s',
    regexp_replace(pg_get_viewdef('recorded'::regclass), old, new))), numbered('recorded'), 'N')
FROM (VALUES (1, 'x', 'x'), (2, 'WHERE', 'WHERE NOT'), (3, '=', '<='), (4, ';', ' OR true'), (5, '[.]number = ', '.number = 1 + '),
    (6, '[.]number', '.step'), (7, numbered('recorded'), numbered('flow'))) AS c (change, old, new) ORDER BY 1;
-- nor can one who may use the schema of the secret tables, and so write such a query, by itself or with more
GRANT pg_read_all_data TO faces_owner;
SET ROLE faces_owner;
SELECT more, attempt(format('CREATE OR REPLACE VIEW faces.recorded WITH (security_barrier) AS %s',
    regexp_replace(pg_get_viewdef('recorded'::regclass), '(\n +FROM)', more || '\1'))) FROM unnest('{"",", NULL::pg_temp.gone AS gone"}'::text[]) AS more;
RESET ROLE;
REVOKE pg_read_all_data FROM faces_owner;
-- pg_dump would leave out a member of an extension
SELECT view, attempt(format('ALTER EXTENSION plpgsql ADD VIEW faces.%I', view)) FROM unnest('{recorded,budget}'::text[]) AS view;
SET ROLE faces_owner;

-- the whole attack: nothing goes
CALL dp_tick('flow');
BEGIN;
CREATE TEMP TABLE tt (x integer) ON COMMIT DROP;
CREATE OR REPLACE VIEW budget AS SELECT NULL::text AS purpose, NULL::numeric AS epsilon, NULL::timestamp AS since,
    NULL::timestamp AS until, NULL::timestamp AS begins_from, NULL::timestamp AS begins_before, NULL::text AS role,
    NULL::text AS session_role, NULL::timestamptz AS spent_at, NULL::timestamptz AS cut_at, NULL::text AS cut_by,
    NULL::timestamp AS cut_from, NULL::timestamptz AS refunded_at, NULL::text AS refunded_by, NULL::pg_temp.tt AS t;
COMMIT;
SELECT epsilon, spent FROM dp_budgets WHERE budget = 'budget'::regclass;

-- nor by the type of its groups, which a permanent table may have
CREATE TYPE pg_temp.ward AS ENUM ('a', 'b');
CREATE TABLE stays AS SELECT 1 AS person, timestamp '2024-01-01' AS at, 'a'::pg_temp.ward AS ward;
CREATE VIEW stays_dp AS SELECT * FROM stays;
SELECT dp_source_create('stays_dp', 'budget', 'person', 'at', 'UTC');
\set VERBOSITY default
SELECT dp_counter_create('by_ward', 'stays_dp', 1, '1 month', '2024-01-01', "by" => 'ward', groups => '{a,b}', per_person => 1);
\set VERBOSITY terse
SELECT dp_source_drop('stays_dp');
DROP TABLE stays CASCADE;
DROP TYPE pg_temp.ward;

-- where event triggers do not fire for a replica's session, these do
RESET ROLE;
SET session_replication_role = replica;
SELECT attempt('CREATE OR REPLACE VIEW recorded AS SELECT step, released_at, count, stddev, low, high FROM flow');
RESET session_replication_role;

SELECT dp_counter_drop('flow'), dp_counter_drop('recorded'), dp_source_drop('visits_dp'), dp_budget_drop('budget');
DROP TABLE gone;
DROP TYPE pg_temp.kind;
DROP SCHEMA faces CASCADE;
DROP ROLE faces_owner;
