-- `every` of a counter without a source: the least time between two of its steps, so that who may tick cannot use up the horizon.
\set VERBOSITY terse
SET timezone = 'UTC'; -- as dp_tick adds `every`: elsewhere a century ago is an hour off where it had no summer time
CREATE SCHEMA every;
SET search_path = every, public;
SELECT dp_event_counter_create('century', 1e9, 3, every => '100 years');
SELECT dp_event_counter_create('instant', 1e9, 3, every => '1 microsecond');
SELECT dp_event_counter_create('monthly', 1e9, every => '1 month');
SELECT dp_event_counter_create('whenever', 1e9, 3);
SELECT counter, every FROM dp_counters ORDER BY counter::text COLLATE "C";

-- a tick that comes too early closes no step, and raises no error
SELECT dp_counter_record('century', 5), dp_counter_record('instant', 5), dp_counter_record('whenever', 5);
CALL dp_tick('century');
SELECT dp_counter_record('century', 3);
CREATE ROLE regress_every_application;
GRANT USAGE ON SCHEMA every TO regress_every_application;
GRANT UPDATE ON ALL TABLES IN SCHEMA every TO regress_every_application;
SET ROLE regress_every_application;
CALL dp_tick('century');
CALL dp_tick('century');
CALL dp_tick('century');
CALL dp_tick('instant');
CALL dp_tick('instant');
CALL dp_tick('whenever');
CALL dp_tick('whenever');
RESET ROLE;
SELECT step, count FROM century ORDER BY step;
SELECT counter, steps, steps_left FROM dp_counters ORDER BY counter::text COLLATE "C";

-- its time comes; the events of the open step are all there
UPDATE dp_counter_private.counters SET released_at = now() - interval '100 years' + interval '1 hour' WHERE counter = 'century'::regclass;
CALL dp_tick('century');
UPDATE dp_counter_private.counters SET released_at = now() - interval '100 years' WHERE counter = 'century'::regclass;
CALL dp_tick('century');
SELECT step, count FROM century ORDER BY step;
-- a clock that has gone back: not before the time that the last step shows is that much ago
UPDATE dp_counter_private.counters SET released_at = now() + interval '1 hour' WHERE counter = 'instant'::regclass;
CALL dp_tick('instant');
SELECT steps FROM dp_counters WHERE counter = 'instant'::regclass;
UPDATE dp_counter_private.counters SET released_at = now() + interval '1 hour' WHERE counter = 'whenever'::regclass;
CALL dp_tick('whenever');
SELECT step, released_at > now() AS later FROM whenever ORDER BY step;
-- by so much more that the clock must have been ahead: an error, which dp_counters shows, and not silence
UPDATE dp_counter_private.counters SET released_at = now() + interval '2 hours' WHERE counter = 'instant'::regclass;
CALL dp_tick('instant');
SELECT steps, last_failed IS NOT NULL AS failed, last_sqlstate FROM dp_counters WHERE counter = 'instant'::regclass;
-- a day has 24 hours
SELECT dp_event_counter_create('daily', 1e9, every => '1 day');
CALL dp_tick('daily');
UPDATE dp_counter_private.counters SET released_at = now() - interval '23 hours 50 minutes' WHERE counter = 'daily'::regclass;
CALL dp_tick('daily');
UPDATE dp_counter_private.counters SET released_at = now() - interval '24 hours' WHERE counter = 'daily'::regclass;
CALL dp_tick('daily');
SELECT steps FROM dp_counters WHERE counter = 'daily'::regclass;
-- a step that was closed and not published comes out by an early tick
UPDATE dp_counter_private.publications SET steps = 1 WHERE number = (SELECT number FROM dp_counter_private.counters
    WHERE counter = 'century'::regclass);
SELECT count(*) FROM century;
CALL dp_tick('century');
SELECT step, count FROM century ORDER BY step;

SELECT dp_event_counter_create('bad', 1, every => '0');
SELECT dp_event_counter_create('bad', 1, every => '-1 day');
SELECT dp_event_counter_create('bad', 1, every => '1 month 1 day');
SELECT dp_event_counter_create('bad', 1, every => '178000000 years');
SELECT dp_event_counter_create('bad', 1, every => '300000 years');
DROP OWNED BY regress_every_application;
DROP ROLE regress_every_application;
SET client_min_messages = error;
DROP SCHEMA every CASCADE;
