-- Counters: what a role with every privilege on a counter tries, and what a session's settings must not change.
\set VERBOSITY sqlstate
SET client_min_messages = warning;
CREATE ROLE live_clinic;
CREATE ROLE live_all;
CREATE ROLE live_none;
CREATE ROLE live_evil;
CREATE SCHEMA counter_attacks AUTHORIZATION live_clinic;
GRANT USAGE ON SCHEMA counter_attacks TO live_all, live_none;
SET search_path = counter_attacks, public;
SET ROLE live_clinic;
SELECT dp_event_counter_create('flu', 1e9);
GRANT ALL ON flu TO live_all;
SELECT dp_counter_record('flu', 3);
CALL dp_tick('flu');

-- system columns: xmin is the number of transactions, and so of recordings, between two ticks
SELECT xmin FROM flu;
SELECT flu.xmin FROM flu;
SELECT cmin, xmax, cmax FROM flu;
SELECT ctid FROM flu;
SELECT tableoid FROM flu;
SET ROLE live_all;
SELECT xmin FROM flu;
SELECT ctid FROM flu;
SELECT tableoid FROM flu;
SELECT to_jsonb(flu) ? 'xmin' FROM flu;
SELECT step, count FROM flu;

-- locks on what all counters share
SELECT * FROM flu FOR UPDATE;
SELECT * FROM flu FOR KEY SHARE;
BEGIN;
LOCK TABLE flu IN ACCESS EXCLUSIVE MODE;
ROLLBACK;
BEGIN;
LOCK TABLE flu IN ROW EXCLUSIVE MODE;
ROLLBACK;

-- a reader's own function, however cheap it says that it is, is called for no row that the view does not show
SELECT reloptions FROM pg_class WHERE oid = 'flu'::regclass;

-- false releases
INSERT INTO flu VALUES (2, now(), 1, 1, 1, 1);
UPDATE flu SET count = 0;
DELETE FROM flu;
TRUNCATE flu;
SET ROLE live_clinic;
INSERT INTO flu VALUES (2, now(), 1, 1, 1, 1);
UPDATE flu SET count = 0;
DELETE FROM flu;
CREATE TABLE parent (step bigint NOT NULL, released_at timestamptz NOT NULL, count bigint NOT NULL, stddev float8 NOT NULL,
    low bigint NOT NULL, high bigint NOT NULL);
GRANT UPDATE, SELECT ON parent TO live_all;
ALTER TABLE flu INHERIT parent;
SET ROLE live_all;
UPDATE parent SET count = 12345;
SELECT step, count FROM flu;

-- No code of a user's runs in a tick: the owner's trigger would find the clock's table.
SET ROLE live_clinic;
CREATE TABLE secret AS SELECT 'HIV'::text AS diagnosis;
CREATE FUNCTION heard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log SELECT diagnosis FROM counter_attacks.secret;
RETURN NULL; END $$;
CREATE TRIGGER heard AFTER INSERT ON flu FOR EACH STATEMENT EXECUTE FUNCTION heard();
CREATE TRIGGER heard_of_update AFTER UPDATE ON flu FOR EACH STATEMENT EXECUTE FUNCTION heard();
CREATE TRIGGER heard_instead INSTEAD OF INSERT ON flu FOR EACH ROW EXECUTE FUNCTION heard();
SET ROLE live_all;
CREATE TEMP TABLE log (diagnosis text);
GRANT ALL ON log TO PUBLIC;
CALL dp_tick('flu');
SELECT * FROM log;
DROP TABLE log;
SET ROLE live_clinic;
DROP TRIGGER heard ON flu;
DROP TRIGGER heard_of_update ON flu;
DROP TRIGGER heard_instead ON flu;

-- privileges are those of the moment
RESET ROLE;
BEGIN;
SET ROLE live_all;
SELECT dp_counter_record('flu');
SET ROLE live_none;
SELECT dp_counter_record('flu');
ROLLBACK;
CREATE TABLE visits (id integer);
GRANT ALL ON visits TO live_all, live_none;
CREATE TRIGGER r AFTER INSERT ON visits FOR EACH ROW EXECUTE FUNCTION dp_counter_record('flu');
CREATE FUNCTION become() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.id = 2 OR TG_WHEN = 'AFTER' THEN PERFORM set_config('role', 'live_none', true); END IF;
    RETURN NEW;
END $$;
-- in the midst of a statement: up to 17 triggers run as who is there when they run, then as who was when they were queued
DO $$
BEGIN
    IF current_setting('server_version_num')::int < 180000 THEN
        CREATE TRIGGER s AFTER INSERT ON counter_attacks.visits FOR EACH ROW EXECUTE FUNCTION counter_attacks.become();
    ELSE
        CREATE TRIGGER s BEFORE INSERT ON counter_attacks.visits FOR EACH ROW EXECUTE FUNCTION counter_attacks.become();
    END IF;
END $$;
BEGIN;
SET LOCAL ROLE live_all;
INSERT INTO visits VALUES (1), (2);
ROLLBACK;
DROP TRIGGER s ON visits;
BEGIN;
SET LOCAL ROLE live_all;
INSERT INTO visits VALUES (1), (2);
COMMIT;
CALL dp_tick('flu');
SELECT step, count FROM flu ORDER BY step DESC LIMIT 1;

-- A hostile search path: operators and functions that would fit better than PostgreSQL's own.
CREATE SCHEMA live_hostile AUTHORIZATION live_evil;
SET ROLE live_evil;
CREATE FUNCTION live_hostile.eq(oid, regclass) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'evil runs as %', current_user;
RETURN true; END $$;
CREATE FUNCTION live_hostile.eq(oid, oid) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'evil runs as %', current_user;
RETURN true; END $$;
CREATE FUNCTION live_hostile.eq(integer, integer) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'evil runs as %',
    current_user; RETURN true; END $$;
CREATE FUNCTION live_hostile.pg_event_trigger_dropped_objects(OUT classid oid, OUT objid oid, OUT objsubid integer) RETURNS SETOF record
    LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'evil runs as %', current_user; END $$;
CREATE OPERATOR live_hostile.= (LEFTARG = oid, RIGHTARG = regclass, FUNCTION = live_hostile.eq);
CREATE OPERATOR live_hostile.= (LEFTARG = oid, RIGHTARG = oid, FUNCTION = live_hostile.eq);
CREATE OPERATOR live_hostile.= (LEFTARG = integer, RIGHTARG = integer, FUNCTION = live_hostile.eq);
CREATE DOMAIN live_hostile.int8 AS text;
RESET ROLE;
SET search_path = live_hostile, pg_catalog, counter_attacks, public;
CREATE TABLE counter_attacks.doomed ();
DROP TABLE counter_attacks.doomed;
SELECT dp_event_counter_create('counter_attacks.hostile', 1e9);
SELECT dp_counter_record('counter_attacks.hostile', 2);
CALL dp_tick('counter_attacks.hostile');
SELECT step, count FROM counter_attacks.hostile;
SELECT counter FROM dp_counters WHERE counter OPERATOR(pg_catalog.=) 'counter_attacks.hostile'::pg_catalog.regclass;
DROP VIEW counter_attacks.hostile;
SELECT dp_event_counter_create('counter_attacks.hostile', 1e9);
SELECT dp_counter_drop('counter_attacks.hostile');
SET search_path = counter_attacks, public;

-- A counter ends, also where triggers do not fire.
CREATE VIEW leftovers AS SELECT (SELECT count(*) FROM dp_counter_private.counters) AS counters,
    (SELECT count(*) FROM dp_counter_private.events) AS slots, (SELECT count(*) FROM dp_counter_private.releases) AS releases;
SELECT counters, slots, releases FROM leftovers;
SELECT dp_event_counter_create('one', 1e9), dp_event_counter_create('two', 1e9);
CALL dp_tick('one');
CALL dp_tick('two');
SELECT counters, slots, releases FROM leftovers;
SET session_replication_role = replica;
SELECT dp_counter_drop('one');
DROP VIEW two;
RESET session_replication_role;
SELECT counters, slots, releases FROM leftovers;

-- A row that an update moves to another partition is an inserted row of that partition: a row trigger fires again, a
-- statement trigger does not.
CREATE TABLE wards (id integer, ward integer) PARTITION BY LIST (ward);
CREATE TABLE ward_1 PARTITION OF wards FOR VALUES IN (1);
CREATE TABLE ward_2 PARTITION OF wards FOR VALUES IN (2);
SELECT dp_event_counter_create('by_row', 1e9), dp_event_counter_create('by_statement', 1e9);
CREATE TRIGGER by_row AFTER INSERT ON wards FOR EACH ROW EXECUTE FUNCTION dp_counter_record('by_row');
CREATE TRIGGER by_statement AFTER INSERT ON wards REFERENCING NEW TABLE AS new FOR EACH STATEMENT
    EXECUTE FUNCTION dp_counter_record('by_statement');
INSERT INTO wards VALUES (1, 1);
UPDATE wards SET ward = 2;
CALL dp_tick('by_row');
CALL dp_tick('by_statement');
SELECT (SELECT count FROM by_row) AS by_row, (SELECT count FROM by_statement) AS by_statement;
-- A row that an INSERT meets is no event, nor is what the INSERT returns of it from 19 on.
CREATE TABLE beds (id integer PRIMARY KEY);
CREATE TRIGGER by_row AFTER INSERT OR UPDATE ON beds FOR EACH ROW EXECUTE FUNCTION dp_counter_record('by_row');
CREATE TRIGGER by_statement AFTER INSERT ON beds REFERENCING NEW TABLE AS new FOR EACH STATEMENT
    EXECUTE FUNCTION dp_counter_record('by_statement');
INSERT INTO beds VALUES (1);
DO $$ BEGIN EXECUTE 'INSERT INTO counter_attacks.beds VALUES (1), (2) ON CONFLICT (id) DO '
    || CASE WHEN current_setting('server_version_num')::integer < 190000 THEN 'NOTHING' ELSE 'SELECT FOR UPDATE RETURNING id' END; END $$;
CALL dp_tick('by_row');
CALL dp_tick('by_statement');
SELECT (SELECT max(count) FROM by_row) AS by_row, (SELECT max(count) FROM by_statement) AS by_statement;

RESET ROLE;
SET client_min_messages = warning;
DROP SCHEMA counter_attacks CASCADE;
DROP SCHEMA live_hostile CASCADE;
DROP ROLE live_clinic, live_all, live_none, live_evil;
