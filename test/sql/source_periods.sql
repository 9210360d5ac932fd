-- Periods where clocks change: none overlaps another one, none is missed.
\set VERBOSITY terse
CREATE SCHEMA source_periods;
SET search_path = source_periods, public;
SET TimeZone = 'Europe/Berlin';
SELECT dp_budget_create('budget', 1e11);
-- a row in each quarter of an hour of two nights: in the one, 02:00 to 03:00 is left out, in the other it comes twice
CREATE TABLE visits AS SELECT row_number() OVER () AS patient, at FROM (
    SELECT generate_series(timestamptz '2025-03-30 00:00+01', '2025-03-30 05:59+02', '15 minutes') AS at
    UNION ALL SELECT generate_series(timestamptz '2025-10-26 00:00+02', '2025-10-26 05:59+01', '15 minutes')) AS nights;
CREATE VIEW visits_dp AS SELECT patient, at FROM visits;
SELECT dp_source_create('visits_dp', budget => 'budget', person => 'patient', at => 'at');
SELECT dp_counter_create('spring', 'visits_dp', 1e9, '30 minutes', '2025-03-30', 12, per_person => 1);
SELECT dp_counter_create('autumn', 'visits_dp', 1e9, '30 minutes', '2025-10-26', 12, per_person => 1);
CALL dp_tick('visits_dp');
SELECT step, period, period >= lag(period) OVER (ORDER BY step) AS in_order, count - lag(count, 1, 0::bigint) OVER (ORDER BY step) AS rows
    FROM spring ORDER BY step;
SELECT step, period, period >= lag(period) OVER (ORDER BY step) AS in_order, count - lag(count, 1, 0::bigint) OVER (ORDER BY step) AS rows
    FROM autumn ORDER BY step;

-- A count of persons without a bound: its noise is for the most periods that an own window can touch, and one more with groups,
-- or, without groups, for the most blocks of k periods. By all of them. The calendar
-- repeats itself after 400 years, but seven-year periods do not. Before 2018 clocks in Sao Tome were on UTC for a century.
CREATE TABLE moments (person integer, d date, t timestamp, z timestamptz);
CREATE FUNCTION most_touched(since timestamp, every interval, per interval, zone text, periods integer) RETURNS integer
    LANGUAGE plpgsql AS $$
DECLARE
    ends timestamp[] := (SELECT array_agg((since + n * every) AT TIME ZONE zone AT TIME ZONE 'UTC' ORDER BY n)
        FROM generate_series(0, periods) AS n);
    inside integer := 0;
BEGIN
    FOR n IN 1 .. periods LOOP
        WHILE ends[n + inside] < date_trunc('day', ends[n] - interval '1 microsecond') + per LOOP
            inside := inside + 1;
        END LOOP;
    END LOOP;
    RETURN inside + 1;
END $$;
CREATE FUNCTION noise_is_for(at text, since timestamp, every interval, per interval, zone text, horizon bigint DEFAULT NULL,
    grouped boolean DEFAULT false, OUT blocks bigint, OUT size integer) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM dp_budget_create('renewing', 1, per);
    CREATE VIEW moments_dp AS SELECT *, 'a' AS ward FROM moments;
    PERFORM dp_source_create('moments_dp', 'renewing', 'person', at, zone);
    PERFORM dp_counter_create('persons', 'moments_dp', 1, every, since, horizon, persons => true, "by" => CASE WHEN grouped THEN 'ward'
        END, groups => CASE WHEN grouped THEN '{a}'::text[] END);
    SELECT c.sensitivity, c.k INTO blocks, size FROM dp_counters AS c WHERE counter = 'persons'::regclass;
    RAISE EXCEPTION USING ERRCODE = 'DP000';
EXCEPTION WHEN SQLSTATE 'DP000' THEN NULL;
END $$;
SELECT since, every, per, at, zone, g.blocks - 1 AS noise_is_for, most_touched(since, every, per, zone, periods),
       n.blocks, n.size, most_touched(since, n.size * every, per, zone, periods) AS most_blocks
FROM (VALUES (timestamp '2025-01-01', interval '1 day', interval '1 day', 'd', 'UTC', 1000),
             ('2025-01-01', '1 day', '1 day', 't', 'UTC', 1000), ('2025-01-01 10:00', '1 day', '1 day', 't', 'UTC', 1000),
             ('2025-01-01', '3 days', '1 day', 'd', 'UTC', 1000), ('2025-01-01', '7 days', '7 days', 'd', 'UTC', 1000),
             ('2025-01-01', '7 days', '365 days', 'd', 'UTC', 1000), ('2025-01-01 10:00', '7 days', '365 days', 't', 'UTC', 1000),
             ('2025-01-01', '6 hours', '1 day', 't', 'UTC', 1000), ('2025-01-31', '1 month', '28 days', 'd', 'UTC', 4800),
             ('2025-01-31', '1 month', '365 days', 't', 'UTC', 4800), ('2025-02-01', '2 months', '61 days', 'd', 'UTC', 2400),
             ('2025-01-01', '7 years', '2557 days', 'd', 'UTC', 400), ('2024-01-01', '11 years', '4018 days', 't', 'UTC', 400),
             ('2025-01-01', '1 day', '365 days', 'z', 'Europe/Berlin', 5000), ('2025-01-01', '1 month', '365 days', 'z', 'Europe/Berlin',
                 480),
             ('1950-01-01', '1 day', '365 days', 'z', 'Africa/Sao_Tome', 28000)) AS v (since, every, per, at, zone, periods),
     noise_is_for(at, since, every, per, zone, NULL, true) AS g, noise_is_for(at, since, every, per, zone) AS n;
-- a horizon limits it only where it is shorter; with groups it is one more
SELECT horizon, noise_is_for('d', '2025-01-01', '7 days', '365 days', 'UTC', horizon) AS blocks,
    (noise_is_for('d', '2025-01-01', '7 days', '365 days', 'UTC', horizon, true)).blocks AS of_groups
FROM unnest(ARRAY[1, 52, 53, 54, 1000, NULL]) AS horizon;

-- A zone whose rules have changed since the declaration moves periods, but nothing is read that was not charged: of a counter
-- that was charged for one day, half a day is left.
CREATE TABLE ruled_rows AS SELECT p AS patient, timestamptz '2024-01-01 00:00Z' + p * interval '10 minutes' AS at
    FROM generate_series(-400, 400) AS p;
CREATE VIEW ruled_dp AS SELECT * FROM ruled_rows;
SELECT dp_budget_create('ruled', 1e10, per => '365 days');
SELECT dp_source_create('ruled_dp', 'ruled', 'patient', 'at', 'UTC');
SELECT dp_counter_create('west', 'ruled_dp', 1e9, '1 day', '2024-01-01', horizon => 1, per_person => 1),
    dp_counter_create('east', 'ruled_dp', 1e9, '1 day', '2024-01-01', horizon => 1, per_person => 1);
UPDATE dp_counter_private.sources SET time_zone = 'Etc/GMT+12' WHERE source = 'ruled_dp'::regclass;
CALL dp_tick('west');
UPDATE dp_counter_private.sources SET time_zone = 'Etc/GMT-12' WHERE source = 'ruled_dp'::regclass;
CALL dp_tick('east');
SELECT west.count AS west, east.count AS east FROM west, east;
SET client_min_messages = error;
DO $$ BEGIN PERFORM dp_counter_drop(counter) FROM dp_counters; END $$;
DROP VIEW visits_dp, ruled_dp;
SELECT dp_budget_drop('ruled');
SELECT dp_budget_drop('budget');
DROP SCHEMA source_periods CASCADE;
