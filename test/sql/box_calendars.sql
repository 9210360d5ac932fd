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
DROP SCHEMA box_calendars CASCADE;
