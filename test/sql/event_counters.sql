-- Counters: the whole surface, with an epsilon so large that the noise vanishes.
\set VERBOSITY terse
CREATE SCHEMA live;
SET search_path = live, public;
\set last 'ORDER BY step DESC LIMIT 1'

-- a counter is a view of its releases
SELECT dp_event_counter_create('flu', 1e9, 100);
SELECT column_name, data_type, is_nullable FROM information_schema.columns WHERE table_schema = 'live' AND table_name = 'flu'
    ORDER BY ordinal_position;
SELECT dp_event_counter_create('unbounded', epsilon => 1e9);
SELECT dp_event_counter_create('live."With ""quotes"" and spaces"', 1e9, k => 3);
SELECT dp_event_counter_create('hats', 1e9, 1000, mechanism => 'hat');
SELECT counter, epsilon, horizon, steps, steps_left, mechanism, k, stddev, released_at FROM dp_counters WHERE k = 3 OR mechanism = 'hat'
    AND horizon = 1000 ORDER BY counter::text COLLATE "C";

-- recording by a call
SELECT dp_counter_record('flu');
SELECT dp_counter_record('flu', 41);
SELECT dp_counter_record('flu', events => 0);
CALL dp_tick('flu');
SELECT step, count FROM flu :last;
CALL dp_tick('flu');
SELECT step, count FROM flu :last;
SELECT step, count, stddev, low, high FROM flu ORDER BY step;
SELECT bool_and(abs(extract(epoch FROM now() - released_at)) < 3600) FROM flu;
CALL dp_tick('"With ""quotes"" and spaces"');
SELECT step, count FROM "With ""quotes"" and spaces" :last;
TABLE flu LIMIT 0;

-- error bars are a counter's own, whichever has ticked before it in the session
SELECT dp_event_counter_create('wide', 1e-3), dp_event_counter_create('wider', 1e-4), dp_event_counter_create('planned', 1e-3, 10),
    dp_event_counter_create('plain', 1e-3, 10, k => 3, mechanism => 'plain');
DO $$ BEGIN FOR tick IN 0 .. 11 LOOP CALL dp_tick((ARRAY['wide', 'wider', 'planned', 'plain'])[tick % 4 + 1]); END LOOP; END $$;
SELECT counter, count(*), bool_and(abs(stddev / dp_stddev(step, horizon, epsilon, k, mechanism) - 1) < 1e-9) AS stddev,
    bool_and(abs(low - lower(i)) <= 1 AND abs(high + 1 - upper(i)) <= 1) AS "interval"
FROM (VALUES ('wide', NULL::bigint, 1e-3::float8, NULL::int, NULL::text), ('wider', NULL, 1e-4, NULL, NULL),
    ('planned', 10, 1e-3, NULL, NULL), ('plain', 10, 1e-3, 3, 'plain')) AS c (counter, horizon, epsilon, k, mechanism)
     JOIN (SELECT 'wide' AS counter, * FROM wide UNION ALL SELECT 'wider', * FROM wider UNION ALL SELECT 'planned', * FROM planned
         UNION ALL SELECT 'plain', * FROM plain) AS r USING (counter),
     dp_interval(count, step, horizon, epsilon, 0.95, k, mechanism, within => '[0,)') AS i
GROUP BY counter ORDER BY counter COLLATE "C";
DROP VIEW wide, wider, planned, plain;

-- recording by triggers
CREATE TABLE visits (id integer, diagnosis text);
CREATE TRIGGER each_row AFTER INSERT ON visits FOR EACH ROW WHEN (NEW.diagnosis = 'flu') EXECUTE FUNCTION dp_counter_record('flu');
CREATE TRIGGER each_statement AFTER INSERT ON visits REFERENCING NEW TABLE AS new FOR EACH STATEMENT
    EXECUTE FUNCTION dp_counter_record('live.unbounded');
INSERT INTO visits SELECT i, CASE WHEN i % 3 = 0 THEN 'flu' ELSE 'cold' END FROM generate_series(1, 300) AS i;
INSERT INTO visits SELECT 1, 'flu' WHERE false;
CALL dp_tick('flu');
SELECT step, count FROM flu :last;
CALL dp_tick('unbounded');
SELECT step, count FROM unbounded :last;
-- the argument is the schema's own table, whatever the session's path
CREATE SCHEMA other;
SELECT dp_event_counter_create('other.flu', 1e9);
SET search_path = other, public;
INSERT INTO live.visits VALUES (301, 'flu');
CALL dp_tick('live.flu');
SELECT step, count FROM live.flu :last;
CALL dp_tick('flu');
SELECT step, count FROM flu :last;
SET search_path = live, public;
-- updates are events too, one per firing
CREATE TRIGGER corrected AFTER UPDATE OF diagnosis ON visits FOR EACH ROW WHEN (NEW.diagnosis = 'flu' AND OLD.diagnosis <> 'flu')
    EXECUTE FUNCTION dp_counter_record('flu');
UPDATE visits SET diagnosis = 'flu' WHERE id <= 5;
CALL dp_tick('flu');
SELECT step, count FROM flu :last;
-- COPY, deferred triggers, partitions
COPY visits FROM STDIN;
1000	flu
1001	cold
\.
CALL dp_tick('flu');
SELECT step, count FROM flu :last;
CREATE TABLE parted (id integer) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (10) TO (20);
CREATE TRIGGER r AFTER INSERT ON parted FOR EACH ROW EXECUTE FUNCTION dp_counter_record('flu');
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON visits DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.id = 7)
    EXECUTE FUNCTION dp_counter_record('flu');
INSERT INTO parted VALUES (1), (11), (12);
INSERT INTO visits VALUES (7, 'cold');
CALL dp_tick('flu');
SELECT step, count FROM flu :last;

-- transactions
BEGIN;
SELECT dp_counter_record('flu', 1000);
ROLLBACK;
BEGIN;
SELECT dp_counter_record('flu', 1);
SAVEPOINT a;
SELECT dp_counter_record('flu', 10);
SAVEPOINT b;
SELECT dp_counter_record('flu', 100), dp_counter_record('unbounded', 5);
ROLLBACK TO b;
SELECT dp_counter_record('flu', 1000);
RELEASE a;
COMMIT;
CALL dp_tick('flu');
SELECT step, count FROM flu :last;
DO $$
BEGIN
    PERFORM dp_counter_record('live.flu', 10000);
    BEGIN
        PERFORM dp_counter_record('live.flu', 100000);
        RAISE division_by_zero;
    EXCEPTION WHEN division_by_zero THEN
        PERFORM dp_counter_record('live.flu', 20000);
    END;
    COMMIT;
    PERFORM dp_counter_record('live.flu', 500000);
    ROLLBACK;
END $$;
CALL dp_tick('flu');
SELECT step, count FROM flu :last;
CALL dp_tick('unbounded');
SELECT step, count FROM unbounded :last;
-- in the transaction that makes the counter
BEGIN;
SELECT dp_event_counter_create('fresh', 1e9);
SELECT dp_counter_record('fresh', 3);
COMMIT;
CALL dp_tick('fresh');
SELECT step, count FROM fresh :last;
BEGIN;
SELECT dp_event_counter_create('undone', 1e9);
SELECT dp_counter_record('undone', 3);
ROLLBACK;
SELECT dp_counter_record('undone');
-- and in the one that drops it
BEGIN;
SELECT dp_counter_record('fresh', 3);
DROP VIEW fresh;
COMMIT;

-- in PL/pgSQL
DO $$ BEGIN CALL dp_tick('live.flu'); CALL dp_tick('live.flu'); END $$;
SELECT step, count FROM flu :last;

-- many events
SELECT count(dp_counter_record('unbounded', 2147483647)) FROM generate_series(1, 1000);
CALL dp_tick('unbounded');
SELECT step, count FROM unbounded :last;

-- the releases of all counters are in one table, found by counter and step
CREATE FUNCTION index_condition(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line ~ 'Index Cond.*step' THEN RETURN replace(regexp_replace(ltrim(line), 'number = ''?\d+(''::bigint)?', 'number = N'),
            ' AND (step <= p.steps)', ''); END IF;
    END LOOP;
END $$;
SET enable_seqscan = off;
SELECT index_condition('SELECT count FROM flu WHERE step > 5');
SELECT index_condition('SELECT count FROM flu WHERE step BETWEEN 2 AND 5 ORDER BY step DESC LIMIT 1');
RESET enable_seqscan;

-- rename and move
ALTER VIEW flu RENAME TO influenza;
CREATE SCHEMA elsewhere;
ALTER VIEW influenza SET SCHEMA elsewhere;
SELECT dp_counter_record('elsewhere.influenza', 1);
CALL dp_tick('elsewhere.influenza');
SELECT step, count FROM elsewhere.influenza :last;
INSERT INTO visits VALUES (9, 'flu');

-- drop, by every way
SELECT dp_counter_drop('elsewhere.influenza');
SELECT count(*) FROM pg_class WHERE relname = 'influenza';
DROP VIEW unbounded;
DROP SCHEMA elsewhere;
DROP SCHEMA other CASCADE;
CREATE ROLE live_owner;
GRANT CREATE, USAGE ON SCHEMA live TO live_owner;
SET ROLE live_owner;
SELECT dp_event_counter_create('live.owned', 1e9);
RESET ROLE;
DROP OWNED BY live_owner;
DROP ROLE live_owner;
SELECT counter::text COLLATE "C" AS counter FROM dp_counters ORDER BY 1;
SELECT DISTINCT counter::oid::regclass::text COLLATE "C" AS counter FROM dp_counter_private.events LEFT JOIN dp_counter_private.counters
    USING (number) ORDER BY 1;
SELECT DISTINCT counter::oid::regclass::text COLLATE "C" AS counter FROM dp_counter_private.releases LEFT JOIN dp_counter_private.counters
    USING (number) ORDER BY 1;
DROP TABLE visits, parted;
-- a row of noise that would need a TOAST table
SELECT dp_event_counter_create('wide', 1, horizon => 1000000, k => 1001, mechanism => 'subtraction');
BEGIN;
DROP VIEW hats;
ROLLBACK;
CALL dp_tick('hats');
SELECT step, count FROM hats :last;
\set VERBOSITY sqlstate
DROP EXTENSION dp_counter;
\set VERBOSITY terse
SET client_min_messages = warning;
DROP SCHEMA live CASCADE;
SELECT count(*) FROM dp_counter_private.counters;
SELECT count(*) FROM dp_counter_private.events;
SELECT count(*) FROM dp_counter_private.releases;
