-- Counters: everything that is refused, with its message.
CREATE SCHEMA counter_errors;
SET search_path = counter_errors, public;

-- parameters
SELECT dp_event_counter_create(NULL, 1.0);
SELECT dp_event_counter_create('c', NULL);
SELECT dp_event_counter_create('c', 0);
SELECT dp_event_counter_create('c', 'NaN');
SELECT dp_event_counter_create('c', 1.0, 0);
SELECT dp_event_counter_create('c', 1.0, -5);
SELECT dp_event_counter_create('c', 1.0, k => 1);
SELECT dp_event_counter_create('c', 1.0, k => 65536);
-- without a horizon: what only a later epoch cannot do
SELECT dp_event_counter_create('c', 1.0, k => 3001, mechanism => 'subtraction');
SELECT dp_event_counter_create('c', 1.0, 1000, k => 999, mechanism => 'plain'); SELECT dp_counter_drop('c');
SELECT dp_event_counter_create('c', 1.0, k => 99, mechanism => 'hat');
SELECT dp_event_counter_create('c', 1e-9); SELECT dp_counter_drop('c');
SELECT dp_event_counter_create('c', 1.0, mechanism => 'magic');
SELECT dp_event_counter_create('', 1.0);
SELECT dp_event_counter_create('a.b.c.d', 1.0);
SELECT dp_event_counter_create('no_schema.c', 1.0);
SELECT dp_event_counter_create('pg_temp.c', 1.0);
SELECT dp_event_counter_create('c', 1.0);
SELECT dp_event_counter_create('c', 1.0);
SELECT count(*) FROM dp_counters;

-- recording
SELECT dp_counter_record('nowhere');
SELECT dp_counter_record(0);
SELECT dp_counter_record(NULL);
SELECT dp_counter_record('c', NULL);
SELECT dp_counter_record('c', -1);
CREATE TABLE plain (id integer);
SELECT dp_counter_record('plain');
SELECT dp_counter_record();
BEGIN READ ONLY;
SELECT dp_counter_record('c');
ROLLBACK;

-- ticking
CALL dp_tick('plain');
CALL dp_tick(NULL);
CALL dp_tick(0);
SELECT dp_tick('c');
BEGIN;
CALL dp_tick('c');
ROLLBACK;
SET default_transaction_read_only = on;
CALL dp_tick('c');
RESET default_transaction_read_only;

-- at the horizon
SELECT dp_event_counter_create('short', 1e9, 1);
SELECT dp_counter_record('short', 2);
CALL dp_tick('short');
SELECT dp_counter_record('short', 3);
CALL dp_tick('short');
SELECT steps_left FROM dp_counters WHERE counter = 'short'::regclass;

-- triggers
CREATE TABLE t (id integer);
CREATE TRIGGER r BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION dp_counter_record('c');
INSERT INTO t VALUES (1);
DROP TRIGGER r ON t;
CREATE TRIGGER r AFTER DELETE ON t FOR EACH ROW EXECUTE FUNCTION dp_counter_record('c');
INSERT INTO t VALUES (1);
DELETE FROM t;
DROP TRIGGER r ON t;
CREATE TRIGGER r AFTER INSERT ON t FOR EACH STATEMENT EXECUTE FUNCTION dp_counter_record('c');
INSERT INTO t VALUES (1);
DROP TRIGGER r ON t;
CREATE TRIGGER r AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION dp_counter_record();
INSERT INTO t VALUES (1);
DROP TRIGGER r ON t;
CREATE TRIGGER r AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION dp_counter_record('c', 'd');
INSERT INTO t VALUES (1);
DROP TRIGGER r ON t;
CREATE TRIGGER r AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION dp_counter_record('gone');
INSERT INTO t VALUES (1);
DROP TRIGGER r ON t;
CREATE TRIGGER r AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION dp_counter_record('plain');
INSERT INTO t VALUES (1);
DROP TRIGGER r ON t;
SELECT dp_counter_private.dp_counter_dropped();
SELECT dp_counter_private.dp_counter_replaced();
SELECT dp_counter_private.dp_counter_drop_owned();

-- privileges: INSERT records, UPDATE ticks, SELECT reads
CREATE ROLE live_recorder;
CREATE ROLE live_reader;
GRANT USAGE ON SCHEMA counter_errors TO live_recorder, live_reader;
GRANT INSERT ON c TO live_recorder;
GRANT SELECT ON c TO live_reader;
GRANT INSERT ON t TO live_recorder, live_reader;
CREATE TRIGGER r AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION dp_counter_record('c');
SET ROLE live_recorder;
SELECT dp_counter_record('c');
INSERT INTO t VALUES (1);
CALL dp_tick('c');
SELECT * FROM c;
SELECT * FROM dp_counters;
SELECT dp_counter_drop('c');
INSERT INTO c VALUES (1, now(), 1, 1, 1, 1);
UPDATE c SET count = 0;
SET ROLE live_reader;
-- Without the privilege nobody learns which relations are counters: the errors are those for `c`.
SELECT dp_counter_record('plain');
CALL dp_tick('plain');
SELECT * FROM dp_counter_changes('plain', 1);
SELECT dp_counter_drop('plain');
SELECT dp_counter_record('c');
INSERT INTO t VALUES (1);
SELECT count(*) FROM c;
SELECT counter, steps FROM dp_counters;
SELECT * FROM dp_counter_private.counters;
SELECT * FROM dp_counter_private.events;
SELECT * FROM dp_counter_private.streams;
SELECT * FROM dp_counter_private.publications;
SELECT * FROM dp_counter_private.releases;
SELECT * FROM dp_counter_private.published;
RESET ROLE;

-- a state that is not one
UPDATE dp_counter_private.streams SET state = '' WHERE number = (SELECT number FROM dp_counter_private.counters
    WHERE counter = 'c'::regclass);
CALL dp_tick('c');
UPDATE dp_counter_private.streams SET state = '\x4450435301000000' WHERE number = (SELECT number FROM dp_counter_private.counters
    WHERE counter = 'c'::regclass);
CALL dp_tick('c');
-- another counter's state is not this one's
SELECT dp_event_counter_create('d', 1e9);
CALL dp_tick('d');
UPDATE dp_counter_private.streams SET state = (SELECT state FROM dp_counter_private.streams
    WHERE number = (SELECT number FROM dp_counter_private.counters WHERE counter = 'd'::regclass))
    WHERE number = (SELECT number FROM dp_counter_private.counters WHERE counter = 'c'::regclass);
CALL dp_tick('c');
-- events that are gone
SELECT dp_counter_record('d', 5);
CALL dp_tick('d');
DELETE FROM dp_counter_private.events WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n
    WHERE n.counter = 'd'::regclass);
CALL dp_tick('d');
-- a state that is gone
DELETE FROM dp_counter_private.streams WHERE number = (SELECT number FROM dp_counter_private.counters WHERE counter = 'd'::regclass);
CALL dp_tick('d');

SET client_min_messages = warning;
DROP SCHEMA counter_errors CASCADE;
DROP ROLE live_recorder, live_reader;
