-- Box noise: the most blocks that an own window touches, against brute force over calendars of 100 years: every window that begins
-- at a midnight of the face, from the one before the first period on, in zones whose clocks change, by odd hours, or skip a day.
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE SCHEMA box_calendars;
SET search_path = box_calendars, public;
CREATE TABLE visits (patient integer, at timestamptz);
CREATE TABLE calendars (per integer, zone text, every interval, since timestamp, counter text);
INSERT INTO calendars
SELECT per, zone, every, since, format('c%s', row_number() OVER (ORDER BY per, zone, every, since))
FROM unnest('{28,365}'::integer[]) AS per,
     unnest('{UTC,Europe/Berlin,Pacific/Apia,Australia/Lord_Howe,America/St_Johns}'::text[]) AS zone,
     unnest('{1 month,3 months,7 days,10 days}'::interval[]) AS every,
     unnest('{1950-01-01,1972-02-29 05:30}'::timestamp[]) AS since;
DO $$
DECLARE c record;
BEGIN
    FOR c IN SELECT DISTINCT per, zone, format('%s_%s', per, zone) AS name FROM calendars LOOP
        PERFORM dp_budget_create(format('%I', 'budget_' || c.name), 1000, per => make_interval(days => c.per));
        EXECUTE format('CREATE VIEW %I AS SELECT * FROM visits', c.name);
        PERFORM dp_source_create(format('%I', c.name)::regclass, format('%I', 'budget_' || c.name)::regclass, 'patient', 'at', c.zone);
    END LOOP;
    FOR c IN SELECT * FROM calendars LOOP
        PERFORM dp_counter_create(c.counter, format('%I', format('%s_%s', c.per, c.zone))::regclass, 0.5, c.every, c.since,
            persons => true);
    END LOOP;
END $$;
CREATE FUNCTION most_blocks(c calendars, block integer) RETURNS bigint LANGUAGE sql AS $$
    WITH bounds AS MATERIALIZED (
        SELECT array_agg((c.since + n * c.every) AT TIME ZONE c.zone AT TIME ZONE 'UTC' ORDER BY n) AS b,
               date_trunc('day', c.since) - make_interval(days => c.per + 2) AS first
        FROM generate_series(0, (36525 / (extract(epoch FROM c.every) / 86400))::integer) AS n)
    SELECT max((touched.last - 1) / block - (touched.first - 1) / block + 1)
    FROM bounds, generate_series(bounds.first, bounds.first + interval '99 years', '1 day') AS s,
         LATERAL (SELECT greatest(width_bucket(s, b), 1) AS first,
                         width_bucket(s + make_interval(days => c.per) - interval '1 microsecond', b) AS last) AS touched
    WHERE touched.last >= 1 $$;
SELECT mechanism, count(*), count(*) FILTER (WHERE mechanism = 'box' AND sensitivity = most_blocks(c, d.k)) AS as_brute_force,
       bool_and(sensitivity >= most_blocks(c, coalesce(d.k, 1))) AS enough
FROM calendars AS c JOIN dp_counters AS d ON d.counter::text = c.counter GROUP BY mechanism ORDER BY mechanism;
-- an offset that the zone had for less than a week, from 2000-10-08 to 10-15
SELECT dp_budget_create('week', 1e9, per => '7 days');
CREATE VIEW boa_vista AS SELECT * FROM visits;
SELECT dp_source_create('boa_vista', 'week', 'patient', 'at', 'America/Boa_Vista');
SELECT dp_counter_create('short', 'boa_vista', 1e6, '12:01:12', '2000-03-04 23:30', horizon => 600, persons => true);
SELECT k, sensitivity FROM dp_counters WHERE counter = 'short'::regclass;
-- more periods in an own window than there is noise for
SELECT dp_counter_create('many', '"365_UTC"', 1, '1 second', '2000-01-01', persons => true);
SELECT dp_counter_create('many', '"365_UTC"', 1, '1 second', '2000-01-01', horizon => 10000000, persons => true);

-- The zone's data change after the declaration: other offsets, which the digest shows, and noise for one period less than they take.
SET timezone = 'UTC';
CREATE TABLE visits_since AS SELECT 1 AS patient, timestamptz '2024-01-01 12:00' AS at, 'north' AS ward;
CREATE VIEW since AS SELECT * FROM visits_since;
SELECT dp_source_create('since', 'week', 'patient', 'at', 'Europe/Berlin');
CREATE FUNCTION declare(source regclass, per_person integer) RETURNS void LANGUAGE sql AS $$
    SELECT dp_counter_create('boxes', source, 1, '1 day', '2024-01-01', persons => true, horizon => 600),
        dp_counter_create('wards', source, 1, '1 day', '2024-01-01', persons => true, by => 'ward', groups => '{north}', horizon => 600),
        dp_counter_create('anchored', source, 1, '1 day', '2024-01-01', active => '28 days'),
        dp_counter_create('ends', source, 1, '3 days', '2024-01-01', active => '7 days'),
        dp_counter_create('bounded', source, 1, '1 day', '2024-01-01', per_person => per_person, horizon => 600) $$;
SELECT declare('since', 1);
SELECT counter, sensitivity, k, mechanism FROM dp_counters WHERE source = 'since'::regclass ORDER BY counter::text;
UPDATE dp_counter_private.source_counters SET offsets = offsets + 1;
CALL dp_tick('boxes'); CALL dp_tick('wards'); CALL dp_tick('anchored'); CALL dp_tick('ends'); CALL dp_tick('bounded');
SELECT counter, steps > 0 AS released FROM dp_counters WHERE source = 'since'::regclass ORDER BY counter::text;
SELECT dp_counter_drop('boxes'), dp_counter_drop('wards'), dp_counter_drop('anchored'), dp_counter_drop('ends'), dp_counter_drop('bounded');
SELECT dp_budget_create('another_week', 1000, per => '7 days');
CREATE VIEW again AS SELECT * FROM visits_since;
SELECT dp_source_create('again', 'another_week', 'patient', 'at', 'Europe/Berlin');
SELECT declare('again', 2);
UPDATE dp_counter_private.counters SET sensitivity = sensitivity - 1, k = CASE WHEN mechanism = 'anchored' THEN k - 1 ELSE k END
    WHERE number IN (SELECT s.number FROM dp_counter_private.source_counters AS s WHERE s.source::oid = 'again'::regclass);
UPDATE dp_counter_private.source_counters SET offsets = offsets + 1;
CALL dp_tick('boxes'); CALL dp_tick('wards'); CALL dp_tick('anchored'); CALL dp_tick('ends'); CALL dp_tick('bounded');
SELECT counter, steps > 0 AS released FROM dp_counters WHERE source = 'again'::regclass ORDER BY counter::text;
-- The new offset alone needs no more noise, but periods that were closed by the old one have ended two hours later.
UPDATE dp_counter_private.counters SET sensitivity = sensitivity + 1, k = CASE WHEN mechanism = 'anchored' THEN k + 1 ELSE k END
    WHERE number IN (SELECT s.number FROM dp_counter_private.source_counters AS s WHERE s.source::oid = 'again'::regclass);
SELECT dp_counter_create('flat', 'again', 1, '1 day', '2024-01-01', persons => true, cumulative => true);
UPDATE dp_counter_private.source_counters SET "grace" = now()::timestamp - '2024-03-01' WHERE source::oid = 'again'::regclass;
CALL dp_tick('flat'); CALL dp_tick('anchored');
UPDATE dp_counter_private.source_counters SET "grace" = '0', ended = ended + interval '2 hours', offsets = offsets + 1
    WHERE source::oid = 'again'::regclass;
CALL dp_tick('flat'); CALL dp_tick('anchored');
SELECT counter, steps FROM dp_counters WHERE counter IN ('flat'::regclass, 'anchored'::regclass) ORDER BY counter::text;
UPDATE dp_counter_private.source_counters SET ended = ended - interval '2 hours' WHERE source::oid = 'again'::regclass;
CALL dp_tick('flat'); CALL dp_tick('anchored');
SELECT counter, steps > 900 AS released FROM dp_counters WHERE counter IN ('flat'::regclass, 'anchored'::regclass) ORDER BY counter::text;
SELECT dp_counter_drop(counter::regclass) FROM unnest('{boxes,wards,anchored,ends,bounded,short,flat}'::text[]) AS counter;
SELECT dp_source_drop(source::regclass) FROM unnest('{since,again,boa_vista}'::text[]) AS source;
SELECT dp_budget_drop('week'), dp_budget_drop('another_week');
DROP SCHEMA box_calendars CASCADE;
