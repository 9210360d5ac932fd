-- Create and drop the extension. In a transaction that is rolled back: the other tests use it.

SELECT extname, extversion = default_version AS current, extrelocatable
FROM pg_extension JOIN pg_available_extensions ON name = extname WHERE extname = 'dp_counter';

-- what it holds: functions, and the tables, the schema and the event trigger of live counters (and, from 17 on, the tables' types)
SELECT DISTINCT classid::regclass::text COLLATE "C" AS holds
FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e' AND classid <> 'pg_type'::regclass
     AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'dp_counter') ORDER BY 1;

BEGIN;
DROP EXTENSION dp_counter;
SELECT count(*) FROM pg_proc WHERE proname LIKE 'dp\_%';
SAVEPOINT dropped;
\set VERBOSITY sqlstate
SELECT dp_count(true, 1e9);
ROLLBACK TO dropped;
\set VERBOSITY default

-- into a schema of choice, whatever the search path
CREATE SCHEMA dp_private;
CREATE EXTENSION dp_counter SCHEMA dp_private;
SELECT DISTINCT nspname FROM pg_proc p JOIN pg_namespace n ON pronamespace = n.oid WHERE proname LIKE 'dp\_%';
SELECT dp_private.dp_count(b, 1e9), dp_private.dp_running_count(b, 1e9, 3, 10) FROM (VALUES (true), (true)) v (b);
SELECT dp_private.dp_running_count(b, 1e9, horizon => 10) OVER (ORDER BY b) FROM (VALUES (false), (true)) v (b);
SELECT dp_private.dp_running_count(b, 1e9) OVER (ORDER BY t) FROM (VALUES (1, B'1'), (2, B'1')) v (t, b);
SET LOCAL search_path = pg_catalog;
SELECT dp_private.dp_count(b, 1e9), dp_private.dp_running_count(b, 1e9, 3, 10) FROM (VALUES (true), (true)) v (b);
SELECT dp_private.dp_running_count(b, 1e9, 3, 'plain', 10) OVER (ORDER BY b) FROM (VALUES (false), (true)) v (b);
RESET search_path;

-- it stays where it is: its tables have a schema of their own
CREATE SCHEMA dp_public;
SAVEPOINT stays;
\set VERBOSITY sqlstate
ALTER EXTENSION dp_counter SET SCHEMA dp_public;
ROLLBACK TO stays;
\set VERBOSITY default

-- what uses it keeps it
CREATE VIEW dp_public.total AS SELECT dp_private.dp_count(b, 1e9) FROM (VALUES (true), (true)) v (b);
SAVEPOINT in_use;
\set VERBOSITY sqlstate
DROP EXTENSION dp_counter;
ROLLBACK TO in_use;
-- and its parts are not dropped one by one
DROP AGGREGATE dp_private.dp_count(boolean, float8);
ROLLBACK TO in_use;
\set VERBOSITY default
SELECT * FROM dp_public.total;
SET LOCAL client_min_messages = warning;
DROP EXTENSION dp_counter CASCADE;
SELECT count(*) FROM pg_class WHERE relname = 'total' AND relnamespace = 'dp_public'::regnamespace;
RESET client_min_messages;

-- again and again in one session
CREATE EXTENSION dp_counter;
DROP EXTENSION dp_counter;
CREATE EXTENSION dp_counter;
SELECT dp_count(b, 1e9) FROM (VALUES (true), (true)) v (b);

-- a table of it that has got too many columns, as by an event trigger
SAVEPOINT narrow;
SELECT string_agg('ADD COLUMN dp_' || n || ' text DEFAULT ''''', ', ') AS added FROM generate_series(1, 20) AS n \gset
ALTER EVENT TRIGGER dp_counter_replaced DISABLE;
ALTER TABLE dp_counter_private.counters :added;
SELECT dp_event_counter_create('dp_seen', 1e9);
ROLLBACK TO narrow;

-- Into a schema where somebody has put what would be taken for ours, or for PostgreSQL's own, if a name in the script, a
-- view or a function body were not qualified: it would end in the trap, or could not be dropped again.
DROP EXTENSION dp_counter;
CREATE SCHEMA dp_hostile;
CREATE FUNCTION dp_hostile.dp_repair(a integer DEFAULT 0) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE ''trapped''; END';
CREATE FUNCTION dp_hostile.trap(a anyelement, b anyelement) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE ''trapped''; END';
CREATE FUNCTION dp_hostile.trap(a oid, b regclass) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE ''trapped''; END';
CREATE FUNCTION dp_hostile.trap(a name, b text) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE ''trapped''; END';
CREATE FUNCTION dp_hostile.trap(a "char", b text) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE ''trapped''; END';
CREATE FUNCTION dp_hostile.has_table_privilege(a regclass, b text) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE ''trapped''; END';
CREATE FUNCTION dp_hostile.count() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE ''trapped''; END';
CREATE OPERATOR dp_hostile.= (LEFTARG = oid, RIGHTARG = regclass, FUNCTION = dp_hostile.trap);
CREATE OPERATOR dp_hostile.= (LEFTARG = name, RIGHTARG = text, FUNCTION = dp_hostile.trap);
CREATE OPERATOR dp_hostile.= (LEFTARG = "char", RIGHTARG = text, FUNCTION = dp_hostile.trap);
CREATE OPERATOR dp_hostile.<> (LEFTARG = "char", RIGHTARG = text, FUNCTION = dp_hostile.trap);
CREATE DOMAIN dp_hostile.internal AS integer;
CREATE DOMAIN dp_hostile.void AS integer;
CREATE DOMAIN dp_hostile.float8 AS text;
CREATE TABLE dp_hostile.pg_proc (oid oid, prokind "char", provolatile "char");
CREATE TABLE dp_hostile.pg_depend ();
CREATE TABLE dp_hostile.pg_extension ();
SET LOCAL search_path = dp_hostile, pg_catalog, public;
SAVEPOINT ambiguous;
\set VERBOSITY sqlstate
CREATE EXTENSION dp_counter SCHEMA dp_hostile; -- rather than to choose
\set VERBOSITY default
ROLLBACK TO ambiguous;
DROP FUNCTION dp_hostile.dp_repair(integer);
CREATE EXTENSION dp_counter SCHEMA dp_hostile;
SELECT dp_repair();
SELECT dp_event_counter_create('dp_seen', 1e9);
SELECT counter, steps FROM dp_counters;
RESET search_path;
SET LOCAL client_min_messages = warning;
DROP TABLE dp_hostile.pg_proc, dp_hostile.pg_depend, dp_hostile.pg_extension;
DROP DOMAIN dp_hostile.internal, dp_hostile.void, dp_hostile.float8;
DROP OPERATOR dp_hostile.= (oid, regclass), dp_hostile.= (name, text), dp_hostile.= ("char", text), dp_hostile.<> ("char", text);
DROP FUNCTION dp_hostile.trap(anyelement, anyelement), dp_hostile.trap(oid, regclass), dp_hostile.trap(name, text),
    dp_hostile.trap("char", text),
    dp_hostile.has_table_privilege(regclass, text), dp_hostile.count();
SELECT dp_hostile.dp_count(b, 1e9) FROM (VALUES (true), (true)) v (b);
SELECT dp_hostile.dp_counter_drop('dp_hostile.dp_seen');
RESET client_min_messages;

-- Where tables are something else by default, the module's own are heaps.
DROP EXTENSION dp_counter;
CREATE ACCESS METHOD dp_columns TYPE TABLE HANDLER heap_tableam_handler;
SET LOCAL default_table_access_method = dp_columns;
CREATE EXTENSION dp_counter;
SELECT amname, count(*) > 0 AS some FROM pg_class c JOIN pg_am a ON a.oid = c.relam
    WHERE relnamespace = 'dp_counter_private'::regnamespace AND relkind = 'r' GROUP BY 1;
RESET default_table_access_method;

-- A table with a column of somebody else's is not written.
SAVEPOINT added;
ALTER TABLE dp_counter_private.events ADD COLUMN x text;
SELECT dp_event_counter_create('added', 1.0);
ROLLBACK TO added;

-- A function that stands in the way is not taken over.
DROP EXTENSION dp_counter;
CREATE FUNCTION dp_running_count(bit, float8, integer, text, bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint';
\set VERBOSITY sqlstate
CREATE EXTENSION dp_counter;
\set VERBOSITY default
ROLLBACK;

SELECT dp_count(b, 1e9) FROM (VALUES (true), (true)) v (b);
