-- Counters with a source against plain SQL: with an epsilon so large that the noise vanishes, they are the
-- capped counts to the digit.
\set VERBOSITY terse
CREATE SCHEMA sources;
SET search_path = sources, public;
SET TimeZone = 'Europe/Berlin';
SELECT dp_budget_create('patients', 1e11);
CREATE TABLE visits (id bigserial PRIMARY KEY, patient integer, visited_at timestamptz, region text, flu boolean, cents integer);
CREATE VIEW visits_dp AS SELECT patient, visited_at, region, flu, cents FROM visits;
SELECT dp_source_create('visits_dp', budget => 'patients', person => 'patient', at => 'visited_at');
SELECT * FROM dp_sources;

-- 40 days in the past, 400 patients, some regions that are not declared, NULLs of every kind
INSERT INTO visits (patient, visited_at, region, flu, cents)
SELECT CASE WHEN i % 97 = 0 THEN NULL ELSE i / 4 * 7919 % 400 END,
       CASE WHEN i % 89 = 0 THEN NULL WHEN i % 83 = 0 THEN 'infinity'
           ELSE timestamptz '2025-03-01 00:00+01' + i / 4 % 37 * interval '27 hours' + i % 3 / 2 * interval '13 minutes' END,
       (ARRAY['north', 'south', 'east', NULL, 'nowhere'])[1 + i * 31 % 5],
       CASE WHEN i % 7 = 0 THEN NULL ELSE i % 3 <> 0 END,
       CASE WHEN i % 11 = 0 THEN NULL ELSE i * 37 % 2000 - 300 END
FROM generate_series(1, 3000) AS i;

SELECT dp_counter_create('flu', epsilon => 1e9, horizon => 40, source => 'visits_dp', event => 'flu', per_person => 3,
                         by => 'region', groups => '{south,north,east,west}', every => '1 day', since => '2025-03-01');
SELECT dp_counter_create('all_visits', epsilon => 1e9, horizon => 40, source => 'visits_dp', every => '1 day', since => '2025-03-01',
    per_person => 1);
SELECT dp_counter_create('spent', epsilon => 1e9, horizon => 6, source => 'visits_dp', sum => 'cents', upper => 1000, per_person => 4,
    every => '7 days', since => '2025-03-01');
SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'sources' AND table_name = 'flu'
    ORDER BY ordinal_position;
SELECT obj_description('flu'::regclass), obj_description('spent'::regclass);
SELECT counter, source, event, measure, value, lower, upper, per_person, by, groups, every, since, grace, ended FROM dp_counters
    ORDER BY counter::text COLLATE "C";
SELECT purpose, epsilon FROM patients ORDER BY purpose COLLATE "C";

-- the truth: the first events of a person in the order of their times, equal ones by a digest under the counter's key
CREATE FUNCTION truth(name regclass, bound integer, most integer, width interval, declared text[], need_flu boolean, is_sum boolean)
RETURNS TABLE (step bigint, region text, count numeric) LANGUAGE sql AS $$
    WITH named AS (SELECT region, g FROM unnest(coalesce(declared, '{NULL}')) WITH ORDINALITY AS d (region, g)),
    periods AS MATERIALIZED (
        SELECT n, (timestamp '2025-03-01' + (n - 1) * width) AT TIME ZONE 'Europe/Berlin' AS begins,
               (timestamp '2025-03-01' + n * width) AT TIME ZONE 'Europe/Berlin' AS ends
        FROM dp_counters c, generate_series(1, c.horizon) AS n WHERE c.counter = name),
    events AS (
        SELECT patient, visited_at, n, g, CASE WHEN is_sum THEN least(greatest(cents, 0), most) ELSE 1 END AS value
        FROM visits v, named, periods
        WHERE patient IS NOT NULL AND (NOT need_flu OR flu) AND (NOT is_sum OR cents IS NOT NULL)
              AND (declared IS NULL OR v.region = named.region) AND visited_at >= begins AND visited_at < ends),
    numbered AS (SELECT *, row_number() OVER (PARTITION BY patient, visited_at, g, value) - 1 AS copy FROM events),
    ranked AS (
        SELECT *, sha256(key || int8send((extract(epoch FROM visited_at - '2000-01-01 00:00+00') * 1000000)::bigint) || int8send(g)
                         || int8send(value) || int8send(copy) || int8send(patient)) AS rank
        FROM numbered, dp_counter_private.source_counters AS s WHERE s.number = (SELECT n.number FROM dp_counter_private.counters AS n
            WHERE n.counter = name)),
    capped AS (SELECT *, row_number() OVER (PARTITION BY patient ORDER BY visited_at, rank) AS used FROM ranked),
    cells AS (SELECT n, g, sum(value) AS value FROM capped WHERE used <= bound GROUP BY n, g)
    SELECT n, named.region, sum(coalesce(value, 0)) OVER (PARTITION BY g ORDER BY n)
    FROM periods CROSS JOIN named LEFT JOIN cells USING (n, g)
$$;
CREATE FUNCTION differences(counter regclass, bound integer, most integer, width interval, declared text[], need_flu boolean,
    is_sum boolean)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    different bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM truth($1, $2, $3, $4, $5, $6, $7) t FULL JOIN %s c ON t.step = c.step %s WHERE t.count IS DISTINCT FROM c.%s',
                   counter, CASE WHEN declared IS NOT NULL THEN 'AND t.region = c.region' END, CASE WHEN is_sum THEN 'sum' ELSE 'count' END)
    INTO different USING counter, bound, most, width, declared, need_flu, is_sum;
    RETURN different;
END $$;

-- everything at once
CALL dp_tick('visits_dp');
SELECT count(*), max(step), min(period), max(period) FROM flu;
-- at one time, that of the call: later ones would tell how long the rows took
SELECT count(DISTINCT released_at) FROM dp_counters;
SELECT differences('flu', 3, 1, '1 day', '{south,north,east,west}', true, false),
       differences('all_visits', 1, 1, '1 day', NULL, false, false), differences('spent', 4, 1000, '7 days', NULL, false, true);
-- it would see a bound that is another one
SELECT differences('flu', 2, 1, '1 day', '{south,north,east,west}', true, false) > 0 AS bound,
       differences('flu', 3, 1, '1 day', '{north,south,east,west}', true, false) > 0 AS "order",
       differences('spent', 4, 999, '7 days', NULL, false, true) > 0 AS clamp;
SELECT step, period FROM spent ORDER BY step;
SELECT period, region, step FROM flu WHERE step IN (1, 30) ORDER BY step, region COLLATE "C";
-- the noise is that of the whole bound: per_person * upper
SELECT dp_counter_create('noisy', epsilon => 0.5, horizon => 6, source => 'visits_dp', sum => 'cents', upper => 1000, per_person => 4,
    every => '7 days', since => '2025-03-01');
CALL dp_tick('noisy');
SELECT step, abs(stddev / dp_stddev(step, 6, 0.5, sensitivity => 4000) - 1) < 1e-9 AS planned FROM noisy ORDER BY step;
SELECT dp_counter_drop('noisy');
-- the clock is not over: nothing happens
CALL dp_tick('visits_dp');
SELECT counter, steps, ended FROM dp_counters ORDER BY counter::text COLLATE "C";

-- period by period, as a nightly clock would: the grace holds back what is not yet to be closed. Meanwhile rows come late, are
-- changed and deleted: what was counted stays counted, and is never counted twice.
CREATE TABLE copy AS TABLE visits;
SELECT dp_counter_create('nightly', epsilon => 1e9, horizon => 40, source => 'visits_dp', event => 'flu', per_person => 3,
                         by => 'region', groups => '{south,north,east,west}', every => '1 day', since => '2025-03-01');
CREATE PROCEDURE tick_until(name regclass, n integer) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE dp_counter_private.source_counters
    SET grace = (now() AT TIME ZONE 'Europe/Berlin') - (timestamp '2025-03-01' + n * interval '1 day') - interval '1 hour'
        WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter = name);
    COMMIT;
    CALL dp_tick(name);
END $$;
DO $$ BEGIN FOR n IN 1 .. 40 LOOP CALL sources.tick_until('sources.nightly', n); END LOOP; END $$;
SELECT differences('nightly', 3, 1, '1 day', '{south,north,east,west}', true, false),
    (SELECT count(DISTINCT released_at) FROM nightly) AS ticks;
SELECT dp_counter_create('hit', epsilon => 1e9, horizon => 40, source => 'visits_dp', event => 'flu', per_person => 3, every => '1 day',
    since => '2025-03-01');
CALL tick_until('hit', 10);
SELECT step, count FROM hit WHERE step = 10;
DELETE FROM visits WHERE visited_at < '2025-03-11';
CALL tick_until('hit', 20);
-- the deleted rows stand for what the tallies hold
SELECT h.count = t.count AS "deletions change nothing" FROM hit h JOIN (
    SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY patient ORDER BY visited_at) AS used FROM copy
                          WHERE flu AND visited_at >= '2025-03-01' AND visited_at < '2025-03-21' AND patient IS NOT NULL) s
                              WHERE used <= 3) t ON h.step = 20;
-- a backdated row is late, a row moved into an open period is within the bound
INSERT INTO visits (patient, visited_at, flu) SELECT 1000, '2025-03-05', true FROM generate_series(1, 5);
UPDATE visits SET visited_at = '2025-03-25' WHERE visited_at < '2025-03-21' AND visited_at >= '2025-03-11';
INSERT INTO visits (patient, visited_at, flu) SELECT 1001, '2025-03-25', true FROM generate_series(1, 5);
CALL tick_until('hit', 40);
SELECT (SELECT count FROM hit WHERE step = 40) <= 3 * (SELECT count(DISTINCT patient) FROM copy WHERE flu
    AND patient IS NOT NULL) + 3 AS bounded,
       (SELECT max(used) FROM dp_counter_private.tallies t JOIN dp_counter_private.counters c USING (number)
           WHERE counter = 'hit'::regclass);
SELECT count(*) = (SELECT sum(used) FROM dp_counter_private.tallies t JOIN dp_counter_private.counters c USING (number)
    WHERE counter = 'hit'::regclass) AS tallied
FROM generate_series(1, (SELECT count FROM hit WHERE step = 40));
-- a rule about the time zone that is changed between two ticks: the next period begins where the last one ended
SELECT dp_counter_create('moved', epsilon => 1e9, horizon => 40, source => 'visits_dp', every => '1 day', since => '2025-03-01',
    per_person => 1);
CALL tick_until('moved', 10);
UPDATE dp_counter_private.source_counters SET ended = ended + interval '3 hours'
    WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter = 'moved'::regclass);
CALL tick_until('moved', 12);
SELECT step, period FROM moved WHERE step >= 10 ORDER BY step;
TRUNCATE visits;
INSERT INTO visits SELECT * FROM copy;

-- other types: uuids on dates, bytes on timestamps, groups of numbers, booleans and an enum
CREATE TYPE ward AS ENUM ('red', 'green');
CREATE TABLE notes (who uuid, day date, at timestamp, code bytea, n smallint, ok boolean, place ward);
INSERT INTO notes SELECT ('00000000-0000-0000-0000-0000000000' || lpad((i % 7)::text, 2, '0'))::uuid, '2024-12-30'::date + i % 90,
    timestamp '2024-12-30 12:00' + i * interval '7 hours',
    decode(repeat('07', 100) || lpad(to_hex(i % 9), 2, '0'), 'hex'), i % 4, i % 2 = 0, CASE i % 3 WHEN 0 THEN 'red'::ward
        WHEN 1 THEN 'green' END FROM generate_series(0, 299) AS i;
CREATE VIEW notes_by_day AS SELECT who, day, n, ok, place FROM notes;
CREATE VIEW notes_by_time AS SELECT code, at, n, ok, place FROM notes WHERE ok;
SELECT dp_source_create('notes_by_day', 'patients', 'who', 'day', time_zone => 'America/New_York');
SELECT dp_source_create('notes_by_time', 'patients', 'code', 'at', 'UTC');
SELECT dp_counter_create('by_month', epsilon => 1e9, horizon => 3, source => 'notes_by_day', per_person => 20, by => 'n',
    groups => '{2,01,-5}', every => '1 month', since => '2025-01-31');
SELECT dp_counter_create('by_ok', epsilon => 1e9, horizon => 2, source => 'notes_by_day', per_person => 1000, by => 'ok',
    groups => '{t,f}', every => '45 days', since => '2024-12-30');
SELECT dp_counter_create('by_ward', epsilon => 1e9, horizon => 3, source => 'notes_by_time', per_person => 1000000, by => 'place',
    groups => '{green,red}', every => '720 hours', since => '2024-12-30');
-- long keys that differ in the last byte alone
SELECT dp_counter_create('by_code', epsilon => 1e9, horizon => 1, source => 'notes_by_time', every => '90 days', since => '2024-12-30',
    per_person => 1);
CALL dp_tick('notes_by_day');
CALL dp_tick('notes_by_time');
SELECT period, n, step, count FROM by_month ORDER BY step, n;
SELECT n, (SELECT count(*) FROM notes o WHERE o.n = m.n AND day >= '2025-01-31' AND day < '2025-04-30') AS truth
    FROM (VALUES (-5), (1), (2)) AS m (n);
SELECT period, ok, count, count = (SELECT count(*) FROM notes n WHERE n.ok = b.ok
    AND day < date '2024-12-30' + 45 * step::integer) AS exact FROM by_ok b ORDER BY step, ok;
SELECT period, place, count, count = (SELECT count(*) FROM notes n WHERE n.ok AND n.place = b.place
    AND at < timestamp '2024-12-30' + step * interval '720 hours') AS exact FROM by_ward b ORDER BY step, place;
SELECT count, (SELECT count(DISTINCT code) FROM notes WHERE ok) AS truth FROM by_code;

-- hours around the change of the clock: one is left out, one is twice as long; every row is counted once
CREATE TABLE moments (who integer, at timestamptz);
INSERT INTO moments SELECT i, timestamptz '2025-03-29 22:00+00' + i * interval '30 minutes' FROM generate_series(0, 19) AS i;
INSERT INTO moments SELECT i, timestamptz '2025-10-25 22:00+00' + i * interval '30 minutes' FROM generate_series(0, 19) AS i;
CREATE VIEW moments_dp AS SELECT * FROM moments;
SELECT dp_source_create('moments_dp', 'patients', 'who', 'at', 'Europe/Berlin');
SELECT dp_counter_create('spring', epsilon => 1e9, horizon => 6, source => 'moments_dp', every => '1 hour', since => '2025-03-29 23:00',
    per_person => 1);
SELECT dp_counter_create('autumn', epsilon => 1e9, horizon => 6, source => 'moments_dp', per_person => 2, every => '1 hour',
    since => '2025-10-25 23:00');
CALL dp_tick('moments_dp');
SELECT step, period, count FROM spring ORDER BY step;
SELECT step, period, count FROM autumn ORDER BY step;
-- dp_counter_changes tells local times: with the time zone that dp_counters shows they are the periods of the views
SELECT step, c.period, c.count, bool_and(c.period AT TIME ZONE d.time_zone = s.period) AS same
FROM (SELECT 'spring'::regclass AS counter, * FROM dp_counter_changes('spring', 1) UNION ALL SELECT 'autumn', *
    FROM dp_counter_changes('autumn', 1)) AS c
     JOIN (SELECT 'spring'::regclass AS counter, step, period FROM spring UNION ALL SELECT 'autumn', step, period FROM autumn) AS s
         USING (counter, step)
     JOIN dp_counters AS d USING (counter)
GROUP BY step, c.period, c.count ORDER BY c.period;

-- what else is done with them
SELECT dp_counter_record('flu');
CALL dp_tick('flu');
ALTER VIEW visits_dp RENAME COLUMN region TO land;
SELECT by FROM dp_counters WHERE counter = 'flu'::regclass;
SELECT dp_source_drop('visits_dp');
SELECT dp_budget_drop('patients');
DROP VIEW visits_dp;
SELECT dp_counter_create('unused', epsilon => 5, horizon => 10, source => 'moments_dp', every => '1 day', since => '2999-01-01',
    per_person => 1);
CALL dp_tick('unused');
SELECT spent FROM dp_budgets WHERE budget = 'patients'::regclass;
DROP VIEW unused;
SELECT spent FROM dp_budgets WHERE budget = 'patients'::regclass;
DROP VIEW spring, autumn;
SELECT spent FROM dp_budgets WHERE budget = 'patients'::regclass;
SELECT dp_source_drop('moments_dp');
SELECT source, counters FROM dp_sources ORDER BY source::text COLLATE "C";
DROP VIEW notes_by_day CASCADE;
SELECT source, counters FROM dp_sources ORDER BY source::text COLLATE "C";
SET client_min_messages = warning;
DO $$ BEGIN PERFORM dp_counter_drop(counter) FROM dp_counters; END $$;
DROP VIEW visits_dp, notes_by_time;
SELECT dp_budget_drop('patients');
DROP SCHEMA sources CASCADE;
SELECT (SELECT count(*) FROM dp_counter_private.sources) AS sources, (SELECT count(*) FROM dp_counter_private.source_counters) AS counters,
       (SELECT count(*) FROM dp_counter_private.tallies) AS tallies, (SELECT count(*) FROM dp_counter_private.streams) AS streams,
       (SELECT count(*) FROM dp_counter_private.publications) AS publications;
