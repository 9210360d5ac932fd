-- dp_tick: all counters of the database that the caller may tick, past those that fail; who sees a failure; when the next step is due.
\set VERBOSITY terse
CREATE SCHEMA ticks;
SET search_path = ticks, public;
CREATE ROLE ticks_steward;
CREATE ROLE ticks_other;
CREATE ROLE ticks_clock;
CREATE ROLE ticks_reader;
CREATE ROLE ticks_monitor;
GRANT pg_monitor TO ticks_monitor;
CREATE ROLE ticks_idle_monitor NOINHERIT IN ROLE pg_monitor;
GRANT USAGE, CREATE ON SCHEMA ticks TO ticks_steward, ticks_other, ticks_clock, ticks_reader, ticks_monitor, ticks_idle_monitor;

-- who may tick nothing is told so
SET ROLE ticks_clock;
\set VERBOSITY default
CALL dp_tick();
\set VERBOSITY terse
BEGIN;
CALL dp_tick();
ROLLBACK;
RESET ROLE;

-- a steward's source, in which one row makes an expression fail, and another owner's
SET ROLE ticks_steward;
SELECT dp_budget_create('people', 1e12);
CREATE TABLE facts AS SELECT n AS person, timestamp '2025-01-01 12:00' + n % 10 * interval '1 day' AS at, 1 AS x
    FROM generate_series(0, 99) AS n;
CREATE VIEW facts_dp AS SELECT person, at, 1 / x > 0 AS risky, true AS safe FROM facts;
SELECT dp_source_create('facts_dp', 'people', 'person', 'at', 'UTC');
SELECT dp_counter_create(name, 'facts_dp', 1e9, '1 day', '2025-01-01', horizon => 10, event => event, per_person => 1)
FROM (VALUES ('first', 'risky'), ('second', 'safe'), ('third', 'risky'), ('unticked', 'safe')) AS t (name, event);
SELECT dp_event_counter_create('hourly', 1e9, 2, every => '1 hour');
SELECT dp_event_counter_create('by_hand', 1e9);
GRANT UPDATE ON first, second, third, hourly, by_hand TO ticks_clock;
GRANT SELECT ON first, unticked, facts_dp TO ticks_reader;
REVOKE UPDATE ON unticked FROM ticks_steward;
RESET ROLE;
SET ROLE ticks_other;
SELECT dp_budget_create('others', 1e12);
CREATE TABLE events AS SELECT n AS person, timestamp '2025-01-01 12:00' AS at FROM generate_series(1, 7) AS n;
CREATE VIEW events_dp AS SELECT person, at FROM events;
SELECT dp_source_create('events_dp', 'others', 'person', 'at', 'Europe/Berlin');
SELECT dp_counter_create('other', 'events_dp', 1e9, '1 month', '2025-01-01', horizon => 1, per_person => 1);
GRANT UPDATE ON other TO ticks_clock;
RESET ROLE;
CREATE FUNCTION status() RETURNS TABLE (counter name, steps bigint, due timestamp, behind bigint, failed boolean, sqlstate text)
    LANGUAGE plpgsql AS $$ BEGIN
	RETURN QUERY SELECT relname, d.steps, CASE WHEN next_due < '2026-01-01' THEN next_due AT TIME ZONE 'UTC' END, periods_behind,
     last_failed > now() - interval '1 hour', last_sqlstate
	FROM dp_counters AS d JOIN pg_class AS c ON c.oid = d.counter WHERE relnamespace = 'ticks'::regnamespace ORDER BY relname COLLATE "C";
 END $$;
CREATE FUNCTION sources() RETURNS TABLE (source name, counters bigint) LANGUAGE plpgsql AS $$ BEGIN
	RETURN QUERY SELECT relname, d.counters FROM dp_sources AS d JOIN pg_class AS c ON c.oid = d.source
     WHERE relnamespace = 'ticks'::regnamespace ORDER BY relname COLLATE "C"; END $$;

-- whoever may tick sees the counters and their sources, and so do the members of pg_monitor
SET ROLE ticks_clock;
SELECT * FROM status();
SELECT * FROM sources();
SET ROLE ticks_monitor;
SELECT * FROM status();
SELECT * FROM sources();
SET ROLE ticks_reader;
SELECT * FROM status();
SELECT * FROM sources();

-- who is a member without inheriting sees none, as with all that pg_monitor may
SET ROLE ticks_idle_monitor;
SELECT * FROM status();
SELECT * FROM sources();

-- all of them are released but `unticked`, which the clock may not tick, and `by_hand`, which has no every
SET ROLE ticks_steward;
SELECT dp_counter_record('hourly', 5);
UPDATE facts SET x = 0 WHERE person = 42;
SET ROLE ticks_clock;
SET search_path = ticks, public;
SET work_mem = '70MB';
SET TimeZone = 'Asia/Tokyo';
CALL dp_tick();
SELECT current_user, current_setting('work_mem') AS work_mem, current_setting('TimeZone') AS zone, current_setting('search_path') AS path,
    current_setting('client_min_messages') AS messages;
RESET TimeZone;
RESET work_mem;
SELECT * FROM status();
-- a second time: the releases are the same, event counters come too early
CALL dp_tick();
RESET ROLE;
SELECT step, count FROM hourly;
SELECT step, count FROM other;
SELECT count(*), sum(count) FROM second;

-- the owner is told why, and so is a superuser; the stored SQLSTATE is that of the others' error, since it is shown to the clock
SET ROLE ticks_steward;
CALL dp_tick('first');
CALL dp_tick('facts_dp');
SELECT * FROM status();
RESET ROLE;
CALL dp_tick('third');
SET ROLE ticks_clock;
SELECT * FROM status() WHERE failed;
-- owners see it without the right to tick
SET ROLE ticks_steward;
REVOKE UPDATE ON first FROM ticks_steward;
CALL dp_tick('first');
SELECT * FROM status() WHERE failed;
GRANT UPDATE ON first TO ticks_steward;

-- to others, a counter that fails every night is one that nobody ticks: in every column, and in comments
RESET ROLE;
CREATE FUNCTION seen(counter regclass) RETURNS jsonb LANGUAGE plpgsql AS $$ BEGIN
	RETURN (SELECT to_jsonb(c) - '{counter,event}'::text[] || jsonb_build_object('comment', replace(obj_description(c.counter, 'pg_class'),
     'risky', 'safe'),
		'comments', (SELECT count(*) FROM pg_description WHERE objoid = c.counter), 'options',
      (SELECT reloptions FROM pg_class WHERE oid = c.counter))
	FROM dp_counters AS c WHERE c.counter = $1); END $$;
SET ROLE ticks_reader;
SELECT seen('first') = seen('unticked') AS same, seen('first') ->> 'last_failed' AS last_failed,
    seen('first') ->> 'periods_behind' AS behind;
SET ROLE ticks_monitor;
SELECT seen('third') = seen('unticked') AS same, seen('third') ->> 'last_sqlstate' AS last_sqlstate, seen('third') ->> 'steps' AS steps;
RESET ROLE;
SELECT last_failed IS NOT NULL AS failed FROM dp_counter_private.counters WHERE counter IN ('first'::regclass, 'third'::regclass);
-- whoever may not tick a counter cannot make it fail
SET ROLE ticks_reader;
CALL dp_tick('unticked');
RESET ROLE;
SELECT last_failed FROM dp_counter_private.counters WHERE counter = 'unticked'::regclass;

-- a counter that fails on its own: its source is gone
SET ROLE ticks_steward;
CREATE VIEW gone AS SELECT person, at FROM facts;
SELECT dp_source_create('gone', 'people', 'person', 'at', 'UTC');
SELECT dp_counter_create('orphan', 'gone', 1, '1 day', '2025-01-01', per_person => 1);
DROP VIEW gone CASCADE;
GRANT UPDATE ON orphan TO ticks_clock;
SET ROLE ticks_clock;
CALL dp_tick();
SELECT * FROM status() WHERE failed;
-- it is repaired
SET ROLE ticks_steward;
DROP VIEW orphan;
UPDATE facts SET x = 1;
SET ROLE ticks_clock;
CALL dp_tick();
SELECT * FROM status();
CALL dp_tick();
RESET ROLE;
SELECT count(*), sum(count) FROM first;
SELECT (seen('first') -> 'steps') = '10', seen('unticked') -> 'periods_behind' AS behind;

-- event counters: a horizon that is reached, a step that a crash has left unpublished, a table that is damaged
UPDATE dp_counter_private.counters SET released_at = now() - interval '1 hour' WHERE counter = 'hourly'::regclass;
SELECT next_due = released_at + interval '1 hour' AS due FROM dp_counters WHERE counter = 'hourly'::regclass;
SET ROLE ticks_clock;
CALL dp_tick();
CALL dp_tick();
CALL dp_tick('hourly');
SELECT * FROM status() WHERE counter = 'hourly';
RESET ROLE;
UPDATE dp_counter_private.publications SET steps = 1 WHERE number = (SELECT number FROM dp_counter_private.counters
    WHERE counter = 'hourly'::regclass);
SET ROLE ticks_clock;
CALL dp_tick();
SELECT * FROM status() WHERE counter = 'hourly';
RESET ROLE;
DELETE FROM dp_counter_private.publications WHERE number IN (SELECT number FROM dp_counter_private.counters
    WHERE counter IN ('hourly'::regclass, 'second'::regclass));
SET ROLE ticks_clock;
CALL dp_tick();
SELECT * FROM status() WHERE failed;
RESET ROLE;

-- inside PL/pgSQL, where a cursor is open
CREATE PROCEDURE quietly() LANGUAGE plpgsql AS $$ BEGIN CALL public.dp_tick(); END $$;
SET ROLE ticks_other;
DO $$ DECLARE n integer; BEGIN
	FOR n IN SELECT * FROM generate_series(1, 2) LOOP
		CALL ticks.quietly();
		RAISE NOTICE 'ticked';
	END LOOP;
END $$;
SELECT dp_counter_create('another', 'events_dp', 1e9, '1 month', '2025-01-01', horizon => 1, per_person => 1);
CREATE OR REPLACE VIEW events_dp AS SELECT person, at FROM events LIMIT 1;
DO $$ DECLARE n integer; BEGIN
	FOR n IN SELECT * FROM generate_series(1, 2) LOOP
		CALL ticks.quietly();
		RAISE NOTICE 'ticked';
	END LOOP;
END $$;
RESET ROLE;

-- the caller's own transaction fails: that is no counter's failure
CREATE TABLE parents (id integer PRIMARY KEY);
CREATE TABLE children (id integer REFERENCES parents DEFERRABLE INITIALLY DEFERRED);
GRANT INSERT ON children TO ticks_other;
SET ROLE ticks_other;
DO $$ BEGIN INSERT INTO ticks.children VALUES (1); CALL public.dp_tick(); END $$;
RESET ROLE;

-- when the next step is due, and how many are: compared with one period after the other
CREATE FUNCTION by_brute_force(zone text, since timestamp, every interval, late interval, steps integer, OUT due timestamptz,
    OUT behind bigint)
LANGUAGE plpgsql AS $$ DECLARE at timestamptz; n integer := steps; BEGIN
	LOOP
		n := n + 1;
		at := greatest((since + n * every) AT TIME ZONE zone, (since + n * every + late) AT TIME ZONE zone);
		due := coalesce(due, at);
		EXIT WHEN at > now();
	END LOOP;
	behind := n - 1 - steps;
END $$;
SELECT count(*), count(*) FILTER (WHERE (n.next_due, n.periods_behind) IS DISTINCT FROM (b.due, b.behind)) AS wrong
FROM (VALUES ('timestamptz'::regtype), ('timestamp'), ('date')) AS t (type), (VALUES ('UTC'), ('Europe/Berlin'), ('America/New_York'),
    ('Asia/Kathmandu'), ('Pacific/Apia')) AS z (zone),
	(VALUES (interval '1 day'), ('7 days'), ('1 month'), ('3 months'), ('12 months'), ('100 years')) AS e (every),
     (VALUES (interval '0'), ('3 days'), ('1 month'), ('36 hours')) AS g (late),
	(VALUES (timestamp '2024-01-31'), ('2019-12-30'), (now()::date - interval '1 day'), (now()::date + interval '2 days')) AS s (since),
     (VALUES (0), (1), (5)) AS p (steps),
	LATERAL dp_counter_private.next_step(steps, NULL, every, NULL, type, zone, since, late, CASE WHEN steps > 0
     THEN (since + steps * every) AT TIME ZONE zone END) AS n,
	LATERAL by_brute_force(zone, since, every, late, steps) AS b;
-- months of different lengths add up
SELECT every, (n.next_due, n.periods_behind) IS NOT DISTINCT FROM (b.due, b.behind) AS right
FROM (VALUES (interval '1 month'), ('5 months')) AS e (every), LATERAL (SELECT timestamp '1700-01-31' AS since) AS s,
	LATERAL dp_counter_private.next_step(7, NULL, every, NULL, 'timestamp'::regtype, 'Europe/Berlin', since, '0', NULL) AS n,
     LATERAL by_brute_force('Europe/Berlin', since, every, '0', 7) AS b;
-- short periods, up to a horizon too
SELECT every, n.next_due = now() - interval '1 hour' + every AS due, n.periods_behind, h.periods_behind AS with_horizon
FROM (VALUES (interval '1 microsecond'), ('1 second'), ('15 minutes'), ('1 hour'), ('2 hours')) AS e (every),
    LATERAL (SELECT timezone('UTC', now()) - interval '1 hour' AS since) AS s,
	LATERAL dp_counter_private.next_step(0, NULL, every, NULL, 'timestamp'::regtype, 'UTC', since, '0', NULL) AS n,
	LATERAL dp_counter_private.next_step(0, 3, every, NULL, 'timestamp'::regtype, 'UTC', since, '0', NULL) AS h;
-- a period begins where the one before has ended, also by other rules of the zone than today's
SELECT next_due AT TIME ZONE 'UTC' AS due FROM dp_counter_private.next_step(1, NULL, '1 day', NULL, 'timestamptz'::regtype, 'UTC',
    '2025-01-01', '0', '2025-01-03 05:00+00');
-- no error, whatever the limits
SELECT what, next_due AT TIME ZONE 'UTC' AS due, periods_behind > 0 AS behind FROM (VALUES
	('horizon', 5, 5, interval '1 day', NULL::timestamptz, 'timestamp'::regtype, 'UTC', timestamp '2025-01-01', interval '0',
     NULL::timestamptz),
	('no source', 5, NULL, '1 day', NULL, NULL, NULL, '2025-01-01', '0', now()),
	('no zone', 5, NULL, '1 day', NULL, 'date', 'Nowhere/Here', '2025-01-01', '0', now()),
	('no every', 5, NULL, '0', NULL, 'date', 'UTC', '2025-01-01', '0', now()),
	('far', 0, NULL, '1 month', NULL, 'date', 'UTC', '294276-12-15', '0', NULL),
	('long', 1, NULL, '200000 years', NULL, 'timestamptz', 'UTC', '2025-01-01', '0', now()),
	('longest', 2147483647, NULL, '178956970 years', NULL, 'timestamptz', 'UTC', '2025-01-01', '0', now()),
	('late', 0, NULL, '1 day', NULL, 'timestamptz', 'UTC', '2025-01-01', '178956970 years', NULL),
	('infinite', 0, NULL, '1 day', NULL, 'timestamptz', 'UTC', 'infinity', '0', NULL),
	('infinite, below', 0, NULL, '1 day', NULL, 'timestamptz', 'UTC', '-infinity', '0', NULL),
	('early', 0, NULL, '1 microsecond', NULL, 'timestamptz', 'UTC', '4713-01-01 BC', '0', NULL),
	('event, unticked', 0, NULL, '1 day', NULL, NULL, NULL, NULL, NULL, NULL),
	('event, long', 1, NULL, '290000 years', now(), NULL, NULL, NULL, NULL, NULL),
	('event, longest', 1, NULL, '178956970 years', now(), NULL, NULL, NULL, NULL, NULL),
	('event, horizon', 1, 1, '1 day', now(), NULL, NULL, NULL, NULL, NULL),
	('event, no every', 1, NULL, NULL, now(), NULL, NULL, NULL, NULL, NULL)) AS c (what, steps, horizon, every, released_at, time_type, zone,
     since, late, ended),
	LATERAL dp_counter_private.next_step(steps, horizon, every, released_at, time_type, zone, since, late, ended);
-- a role cannot call it, as it may not use the schema
SET ROLE ticks_reader;
SELECT * FROM dp_counter_private.next_step(1, 1, '1 day', now(), NULL, NULL, NULL, NULL, NULL);
RESET ROLE;

SET client_min_messages = error;
DO $$ BEGIN PERFORM dp_counter_drop(counter) FROM dp_counters WHERE source IS NOT NULL; END $$;
DROP VIEW facts_dp, events_dp;
DROP VIEW hourly, by_hand;
SELECT dp_budget_drop('people'), dp_budget_drop('others');
-- whoever calls and ticks nothing keeps no lock that VACUUM of the tallies would wait for
ANALYZE dp_counter_private.tallies;
DO $$ BEGIN
    CALL dp_tick();
    CREATE TEMP TABLE held AS SELECT relation::regclass, mode FROM pg_locks WHERE pid = pg_backend_pid()
        AND relation::regclass::text LIKE 'dp_counter_private.tallies%';
END $$;
TABLE held;
DROP SCHEMA ticks CASCADE;
DROP OWNED BY ticks_steward, ticks_other, ticks_clock, ticks_reader, ticks_monitor, ticks_idle_monitor;
DROP ROLE ticks_steward, ticks_other, ticks_clock, ticks_reader, ticks_monitor, ticks_idle_monitor;
