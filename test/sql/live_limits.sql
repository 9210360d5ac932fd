-- What a counter does at its limits: nothing that anyone could tell a count from.
\set VERBOSITY terse
\pset format unaligned
\pset tuples_only on
CREATE SCHEMA live_limits;
SET search_path = live_limits, public;
CREATE FUNCTION increments(counter regclass) RETURNS TABLE (increment numeric) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT count - lag(count::numeric, 1, 0) OVER (ORDER BY step) FROM %s ORDER BY step', counter);
END $$;

-- Two neighbours with a long past, so that all their slots are nearly full: `more` has had one event more. (An attacker gets
-- there by recording.) Bisecting how many events still fit must tell no difference; nothing may fail.
SELECT dp_counter_create('less', 1e9), dp_counter_create('more', 1e9);
UPDATE dp_counter_private.events SET total = 9223372036854775807 - 21 WHERE releases IN ('less'::regclass, 'more'::regclass);
UPDATE dp_counter_private.events SET total = total + 1 WHERE releases = 'more'::regclass;
SELECT format('SELECT dp_counter_record(%L, %s)', counter, 1 << i)
FROM generate_series(5, 0, -1) AS i, unnest(ARRAY['less', 'more']) AS counter \gexec
CALL dp_counter_tick('less');
CALL dp_counter_tick('more');
SELECT * FROM increments('less');
SELECT * FROM increments('more');
-- and goes on
SELECT dp_counter_record('less', 2147483647), dp_counter_record('more', 2147483647);
CALL dp_counter_tick('less');
CALL dp_counter_tick('more');
SELECT * FROM increments('less');
SELECT * FROM increments('more');
-- No total was cut off, neither a slot's nor the counter's.
SELECT counter, (SELECT sum(total + carries * 9223372036854775808) FROM dp_counter_private.events WHERE releases = counter::regclass)
	- 64 * (9223372036854775807::numeric - 21) FROM unnest(ARRAY['less', 'more']) AS counter;

-- A transaction has at most 2^31 - 1 events, by whatever calls; what a rolled back subtransaction has recorded does not count.
CREATE FUNCTION total(counter regclass) RETURNS numeric LANGUAGE sql AS $$
	SELECT sum(total + carries * 9223372036854775808) FROM dp_counter_private.events WHERE releases = counter
$$;
SELECT dp_counter_create('c', 1e9);
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
CALL dp_counter_tick('c');
SELECT * FROM increments('c');
