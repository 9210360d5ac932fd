-- What a counter does at its limits: nothing that anyone could tell a count from.
\set VERBOSITY terse
\pset format unaligned
\pset tuples_only on
CREATE SCHEMA limits;
SET search_path = limits, public;
CREATE FUNCTION increments(counter regclass) RETURNS TABLE (increment numeric) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT count - lag(count::numeric, 1, 0::numeric) OVER (ORDER BY step) FROM %s ORDER BY step', counter);
END $$;

-- Two neighbors with a long past, so that all their slots are nearly full: `more` has had one event more. (An attacker gets
-- there by recording.) Bisecting how many events still fit must tell no difference; nothing may fail.
SELECT dp_event_counter_create('less', 1e9), dp_event_counter_create('more', 1e9);
UPDATE dp_counter_private.events SET total = 9223372036854775807 - 21
    WHERE number IN (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter IN ('less'::regclass, 'more'::regclass));
UPDATE dp_counter_private.events SET total = total + 1 WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n
    WHERE n.counter = 'more'::regclass);
SELECT format('SELECT dp_counter_record(%L, %s)', counter, 1 << i)
FROM generate_series(5, 0, -1) AS i, unnest(ARRAY['less', 'more']) AS counter \gexec
CALL dp_tick('less');
CALL dp_tick('more');
SELECT * FROM increments('less');
SELECT * FROM increments('more');
-- and goes on
SELECT dp_counter_record('less', 2147483647), dp_counter_record('more', 2147483647);
CALL dp_tick('less');
CALL dp_tick('more');
SELECT * FROM increments('less');
SELECT * FROM increments('more');
-- No total was cut off, neither a slot's nor the counter's.
SELECT name, (SELECT sum(total + carries * 9223372036854775808) FROM dp_counter_private.events
    WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter = name::regclass))
	- 64 * (9223372036854775807::numeric - 21) FROM unnest(ARRAY['less', 'more']) AS name;

-- A transaction has at most 2^31 - 1 events, by whatever calls; what a rolled back subtransaction has recorded does not count.
CREATE FUNCTION total(name regclass) RETURNS numeric LANGUAGE sql AS $$
	SELECT sum(total + carries * 9223372036854775808) FROM dp_counter_private.events
     WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter = name)
$$;
SELECT dp_event_counter_create('c', 1e9);
SELECT count(dp_counter_record('c', 2147483647)) FROM generate_series(1, 5);
SELECT total('c');
BEGIN;
SELECT dp_counter_record('c', 2147483000);
SAVEPOINT s;
SELECT dp_counter_record('c', 2147483647);
ROLLBACK TO s;
SELECT dp_counter_record('c', 600);
SAVEPOINT t;
SELECT dp_counter_record('c', 46);
RELEASE t;
COMMIT;
SELECT total('c') - 2147483647;
BEGIN;
SAVEPOINT s;
SELECT dp_counter_record('c', 2147483647);
SAVEPOINT t;
SELECT dp_counter_record('c', 2147483647);
RELEASE t;
RELEASE s;
SELECT dp_counter_record('c', 1);
COMMIT;
SELECT total('c') - 2147483647 - 2147483646;
CALL dp_tick('c');
SELECT * FROM increments('c');
-- The same by triggers, a row's and a statement's.
CREATE TABLE visits (n integer);
CREATE TRIGGER rows AFTER INSERT ON visits FOR EACH ROW EXECUTE FUNCTION dp_counter_record('c');
BEGIN;
SELECT dp_counter_record('c', 2147483646);
INSERT INTO visits SELECT generate_series(1, 5);
COMMIT;
SELECT total('c') - 3 * 2147483647::numeric + 1;
DROP TRIGGER rows ON visits;
CREATE TRIGGER statements AFTER INSERT ON visits REFERENCING NEW TABLE AS new FOR EACH STATEMENT EXECUTE FUNCTION dp_counter_record('c');
BEGIN;
SELECT dp_counter_record('c', 2147483646);
INSERT INTO visits SELECT generate_series(1, 5);
COMMIT;
SELECT total('c') - 4 * 2147483647::numeric + 1;

-- Counters keep their own totals wherever their rows go. A rewritten table, its rows moved by another counter's 64:
SELECT dp_event_counter_create('gone', 1e9), dp_event_counter_create('here', 1e9), dp_event_counter_create('there', 1e9);
SELECT dp_counter_record('here', 1);
SELECT dp_counter_record('there', 10);
SELECT dp_counter_drop('gone');
SET client_min_messages = error;
VACUUM FULL dp_counter_private.events;
RESET client_min_messages;
SELECT dp_counter_record('here', 2);
SELECT dp_counter_record('there', 20);
SELECT total('here'), total('there');
-- rows that have moved on, whose old places are taken by a new counter's
UPDATE dp_counter_private.events SET slot = slot;
VACUUM dp_counter_private.events;
SELECT dp_event_counter_create('late', 1e9);
SELECT dp_counter_record('here', 4);
SELECT dp_counter_record('there', 40);
SELECT dp_counter_record('late', 400);
SELECT total('here'), total('there'), total('late');
-- a table that has become shorter
SELECT count(dp_event_counter_create('many' || i, 1e9)) FROM generate_series(1, 20) AS i;
SELECT dp_counter_record('many20', 1);
SELECT count(dp_counter_drop(('many' || i)::regclass)) FROM generate_series(1, 19) AS i;
SET client_min_messages = error;
VACUUM FULL dp_counter_private.events;
RESET client_min_messages;
SELECT dp_counter_record('many20', 2);
SELECT total('many20');
-- and more counters than the cache has places
SELECT count(dp_event_counter_create('many' || i, 1e9)) FROM generate_series(1, 19) AS i;
SELECT format('SELECT dp_counter_record(%L, %s)', 'many' || i, i) FROM generate_series(1, 2), generate_series(1, 20) AS i \gexec
SELECT string_agg(total(('many' || i)::regclass)::text, ' ' ORDER BY i) FROM generate_series(1, 20) AS i;
SET client_min_messages = warning;
DROP SCHEMA limits CASCADE;
