-- The time zone of a source is a name of pg_timezone_names, and may get another name for the same offsets.

SET client_min_messages = warning;
SET DateStyle = 'ISO';
SET TimeZone = 'UTC';
CREATE SCHEMA zones;
SET search_path = zones, public;
CREATE TABLE visits AS SELECT p % 40 AS person, timestamptz '2024-01-01 00:30+01' + p * interval '1 hour' AS at
    FROM generate_series(0, 24 * 500) AS p;
CREATE VIEW visits_dp AS SELECT * FROM visits;
SELECT FROM dp_budget_create('budget', 1e11, per => '28 days');

-- What SET TimeZone takes, and is no name: a number of hours (to the west), a rule, a week.
CREATE FUNCTION declare(zone text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM dp_source_create('visits_dp', 'budget', 'person', 'at', time_zone => zone);
    RETURN 'declared';
EXCEPTION WHEN OTHERS THEN
    RETURN format('%s %s', SQLSTATE, SQLERRM);
END $$;
SELECT zone, declare(zone)
    FROM unnest('{+02:00,-5,2,AAA-167,UTC+2,<+02>-02,"CET-1CEST,M3.5.0,M10.5.0/3",Berlin,Europe,Europe/Berlin/,../zoneinfo/UTC,PST,Europe/Nowhere," UTC",""}'::text[]) AS zone;
SELECT declare(repeat('x', 300)) ~ '^22023 "x+" is not' AS long;
-- by default that of the session, if it is a name
SET TIME ZONE -5;
SELECT dp_source_create('visits_dp', 'budget', 'person', 'at');
SET TimeZone = 'AAA-167';
SELECT dp_source_create('visits_dp', 'budget', 'person', 'at');
SET TimeZone = 'europe/BERLIN';
SELECT dp_source_create('visits_dp', 'budget', 'person', 'at');
RESET TimeZone;
SET TimeZone = 'UTC';
SELECT time_zone FROM dp_sources WHERE source = 'visits_dp'::regclass;
-- without counters, any name
SELECT declare('America/New_York'), declare('europe/berlin'), declare('+02:00');
SELECT time_zone, obj_description('visits_dp'::regclass) FROM dp_sources WHERE source = 'visits_dp'::regclass;

-- Counters: with steps and without, of instants; and one of local times.
CREATE VIEW local_dp AS SELECT person, at AT TIME ZONE 'Europe/Berlin' AS at FROM visits;
SELECT FROM dp_budget_create('local_budget', 1e11, per => '28 days');
SELECT FROM dp_source_create('local_dp', 'local_budget', 'person', 'at', time_zone => 'Europe/Berlin');
SELECT dp_counter_create('ticked', 'visits_dp', 1e9, '1 day', timestamp '2024-03-01', per_person => 1000, horizon => 200,
    cumulative => false),
       dp_counter_create('unticked', 'visits_dp', 1e9, '1 day', timestamp '2024-03-01', per_person => 1000, horizon => 200,
           cumulative => false),
       dp_counter_create('local', 'local_dp', 1e9, '1 day', timestamp '2024-03-01', per_person => 1000, horizon => 200,
           cumulative => false);
-- as if the first 20 days were over
UPDATE dp_counter_private.source_counters SET "grace" = now() - timestamptz '2024-03-21 00:00+01' - interval '30 minutes'
    WHERE number IN (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter IN ('ticked'::regclass, 'local'::regclass));
CALL dp_tick('ticked');
CALL dp_tick('local');
SELECT counter, steps, next_due IS NOT NULL AS due, periods_behind FROM dp_counters
    WHERE source IN ('visits_dp'::regclass, 'local_dp'::regclass) ORDER BY counter::text;
UPDATE dp_counter_private.source_counters SET "grace" = '0' WHERE number IN (SELECT n.number FROM dp_counter_private.counters AS n
    WHERE n.counter IN ('ticked'::regclass, 'local'::regclass));

-- The name leaves the server's data: behind, for those who monitor; and failing, for those who tick.
UPDATE dp_counter_private.sources SET time_zone = 'Hx/Old' WHERE source IN ('visits_dp'::regclass, 'local_dp'::regclass);
CREATE ROLE zones_monitor IN ROLE pg_monitor;
GRANT USAGE ON SCHEMA zones TO zones_monitor;
SET ROLE zones_monitor;
SELECT counter, steps, periods_behind FROM dp_counters WHERE next_due < now() - least(every, '25 hours') ORDER BY counter::text;
RESET ROLE;
-- at once, also where no further period is over
UPDATE dp_counter_private.source_counters SET "grace" = '1000 years'
    WHERE number IN (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter = 'ticked'::regclass);
SELECT next_due < now() - least(every, '25 hours') AS overdue, periods_behind FROM dp_counters WHERE counter = 'ticked'::regclass;
UPDATE dp_counter_private.source_counters SET "grace" = '0' WHERE number IN (SELECT n.number FROM dp_counter_private.counters AS n
    WHERE n.counter = 'ticked'::regclass);
CALL dp_tick('ticked');
\set VERBOSITY terse
CALL dp_tick('visits_dp');
CALL dp_tick('local');
\set VERBOSITY default
SELECT counter, last_failed IS NOT NULL AS failed, last_sqlstate, next_due < now() - every AS behind, periods_behind FROM dp_counters
    WHERE last_failed IS NOT NULL ORDER BY counter::text;
SELECT dp_counter_create('another', 'visits_dp', 1, '1 day', timestamp '2024-03-01', per_person => 1);
SELECT count(*) FROM dp_counter_changes('ticked', 7, since => '2024-03-10');

-- Declared again: by a name of the same offsets in the counters' times, and by no other.
SELECT zone, declare(zone) FROM unnest('{Europe/London,Africa/Lagos,UTC,Hx/Old,+01:00}'::text[]) AS zone;
SELECT dp_source_create('visits_dp', 'budget', 'person', 'at', time_zone => 'America/Los_Angeles');
SELECT declare(NULL);
SELECT time_zone FROM dp_sources WHERE source = 'visits_dp'::regclass;
SELECT declare('europe/paris'), declare('Europe/Paris');
SELECT dp_source_create('local_dp', 'local_budget', 'person', 'at', time_zone => 'Africa/Algiers');
SELECT dp_source_create('local_dp', 'local_budget', 'person', 'at', time_zone => 'Europe/Paris');
SELECT source, time_zone, obj_description(source) ~ 'Europe/Paris' AS described,
    (SELECT bool_and(obj_description(counter) ~ 'Europe/Paris') FROM dp_counters AS c WHERE c.source = s.source) AS promised
FROM dp_sources AS s ORDER BY source::text;
CALL dp_tick('visits_dp');
CALL dp_tick('local_dp');
SELECT counter, steps, last_failed, periods_behind FROM dp_counters ORDER BY counter::text;
SELECT count(*), count(*) FILTER (WHERE t.count <> u.count) AS other FROM ticked AS t JOIN unticked AS u USING (period, step);
SELECT count(*), count(*) FILTER (WHERE t.count <> u.count) AS other FROM ticked AS t JOIN local AS u USING (step);
SELECT count(*) FROM ticked WHERE period AT TIME ZONE 'Europe/Paris' = timestamp '2024-03-01' + (step - 1) * interval '1 day';

-- Of a name that is still there the data decide; the times are those from one per before the first period on.
SELECT declare('Europe/Madrid'), declare('Europe/London');
CREATE VIEW early_dp AS SELECT * FROM visits;
SELECT FROM dp_source_create('early_dp', 'budget', 'person', 'at', time_zone => 'Europe/Berlin');
SELECT FROM dp_counter_create('early', 'early_dp', 1, '1 day', timestamp '1979-10-15', horizon => 1, per_person => 1);
\set VERBOSITY terse
SELECT dp_source_create('early_dp', 'budget', 'person', 'at', time_zone => 'Europe/Paris'); -- where it was summer until September 30
SELECT dp_counter_drop('early');
SELECT FROM dp_counter_create('later', 'early_dp', 1, '1 day', timestamp '1979-11-15', horizon => 1, per_person => 1);
SELECT dp_source_create('early_dp', 'budget', 'person', 'at', time_zone => 'Europe/Paris');
-- what has ended has no say
SELECT dp_source_create('early_dp', 'budget', 'person', 'at', time_zone => 'UTC');
CALL dp_tick('later');
SELECT dp_counter_end('later');
SELECT dp_source_create('early_dp', 'budget', 'person', 'at', time_zone => 'UTC');
-- a name that gets new rules, and goes then: those of the last tick count
SELECT dp_counter_end('local');
SELECT dp_counter_create('newer', 'local_dp', 1e9, '1 day', timestamp '2024-03-01', per_person => 1000, horizon => 2000,
    cumulative => false);
UPDATE dp_counter_private.sources SET time_zone = 'Asia/Tokyo' WHERE source = 'local_dp'::regclass;
CALL dp_tick('local_dp');
UPDATE dp_counter_private.sources SET time_zone = 'Hx/Old' WHERE source = 'local_dp'::regclass;
SELECT dp_source_create('local_dp', 'local_budget', 'person', 'at', time_zone => 'Europe/Paris');
SELECT dp_source_create('local_dp', 'local_budget', 'person', 'at', time_zone => 'Asia/Tokyo');
SELECT dp_source_create('local_dp', 'local_budget', 'person', 'at', never_fails => '{person}');

SET client_min_messages = error;
SELECT count(dp_counter_drop(counter)) AS counters FROM dp_counters
    WHERE counter IN (SELECT oid FROM pg_class WHERE relnamespace = 'zones'::regnamespace);
DO $$ BEGIN PERFORM dp_counter_drop(counter) FROM dp_counters; END $$;
DROP TABLE visits CASCADE;
SELECT dp_budget_drop('budget'), dp_budget_drop('local_budget');
DROP SCHEMA zones CASCADE;
DROP ROLE zones_monitor;
