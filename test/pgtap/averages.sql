-- Through SQL: the interval of an average holds the true one as often as it says, and is narrower than two intervals of its numbers.
--
-- 1,000 groups for each of nine averages: N events of which a share p. An event has the weight 1,000 and stands for 50:
-- upper is 1,000, the value 1,000 p and epsilon 50 times that of a share. All events are in the second of four periods,
-- so that the last total, a difference of totals and a sum of single periods have the same truth. With psql -v
-- replays=3000: the figures of docs/evidence.md.
--
-- False alarms: a frequency fails where its Kullback-Leibler distance from 95 % exceeds 20 / replays and it is lower,
-- or from 97.5 % and it is higher, with a probability below exp(-20) = 2e-9 by Chernoff's bound. There are 4 * 10 of
-- each. A mean width fails at 0.85 of that of the boxes: the widest are 0.83 with a standard deviation below 0.001.
-- Together below 1e-6. It sees a coverage below 90 % in one of the nine, below 93.4 % in all together.
\if :{?replays}
\else
\set replays 1000
\endif
BEGIN;
SET LOCAL client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS dp_counter;
RESET client_min_messages;
COMMIT;
SELECT plan(4 * 10);
CREATE SCHEMA averages;
SET search_path = averages, public;
CREATE TABLE cells AS
SELECT row_number() OVER (ORDER BY n, p, r)::integer AS place, n, p
FROM unnest('{50,500,5000}'::integer[]) AS n, unnest('{0.05,0.2,0.5}'::numeric[]) AS p, generate_series(1, :replays) AS r;
CREATE TABLE events AS
SELECT row_number() OVER () AS person, date '2024-01-02' AS at, place, (1000 * p)::integer AS value FROM cells, generate_series(1, n / 50);
CREATE VIEW events_dp AS SELECT * FROM events;
SELECT dp_budget_create('averages', 100) \g /dev/null
SELECT dp_source_create('events_dp', 'averages', 'person', 'at', 'UTC') \g /dev/null
SELECT dp_counter_create(name, 'events_dp', epsilon, '1 day', '2024-01-01', horizon => horizon, avg => 'value', upper => 1000,
    cumulative => cumulative,
                         "by" => 'place', groups => (SELECT array_agg(place::text) FROM cells), per_person => 1)
FROM (VALUES ('totals', 50.0, 365, true), ('periods', 14.4, 4, false)) AS v (name, epsilon, horizon, cumulative) \g /dev/null
-- four periods
UPDATE dp_counter_private.source_counters SET "grace" = now() AT TIME ZONE 'UTC' - '2024-01-05';
CALL dp_tick('events_dp');

-- the two numbers and the interval
CREATE TABLE steps AS SELECT 'totals' AS counter, place, step, low, high, above, below FROM totals UNION ALL SELECT 'periods', place,
    step, low, high, above, below FROM periods;
CREATE TABLE changes AS SELECT counter, group_value::integer AS place, low, high FROM unnest('{totals,periods}'::text[]) AS counter,
    dp_counter_changes(counter::regclass, 3) WHERE step = 4;
CREATE TABLE released AS
SELECT 'total' AS what, place, low, high, above, below FROM steps WHERE counter = 'totals' AND step = 4
UNION ALL SELECT 'period', place, low, high, above, below FROM steps WHERE counter = 'periods' AND step = 2
UNION ALL SELECT 'change of ' || counter, place, c.low, c.high, above, below
          FROM changes AS c JOIN (SELECT counter, place, sum(above * sign) AS above, sum(below * sign) AS below
                                  FROM steps, LATERAL (SELECT CASE WHEN counter = 'periods' THEN (step > 1)::integer
                                      ELSE (step = 4)::integer - (step = 1)::integer END) AS s (sign)
                                  GROUP BY counter, place) AS s USING (counter, place);
-- half of the intervals of 97.5 % that hold both numbers in 95 % of cases
CREATE TABLE widths AS
SELECT what, upper(dp_interval(0, step, 365, epsilon, 0.975, mechanism => mechanism, sensitivity => 1000, since_step => since)) - 1 AS width
FROM (VALUES ('total', 4, 50.0, NULL, 0), ('period', 1, 14.4, 'laplace', 0), ('change of totals', 4, 50, NULL, 1),
    ('change of periods', 3, 14.4, 'laplace', 0)) AS v (what, step, epsilon, mechanism, since);
CREATE FUNCTION pg_temp.distance(f float8, p float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    $$ SELECT (CASE WHEN f > 0 THEN f * ln(f / p) ELSE 0 END) + (CASE WHEN f < 1 THEN (1 - f) * ln((1 - f) / (1 - p)) ELSE 0 END) $$;
CREATE TABLE coverage AS
SELECT what, n, p, count(*) AS runs, avg((low <= 1000 * p AND high >= 1000 * p)::integer)::float8 AS frequency,
    avg(high - low) / avg(1000 * (box_high - box_low)) AS width
FROM released JOIN widths USING (what) JOIN cells USING (place),
     LATERAL (SELECT greatest(above - width, 0)::float8, (above + width)::float8, greatest(below - width, 0)::float8,
         (below + width)::float8) AS b (a0, a1, b0, b1),
     LATERAL (SELECT CASE WHEN a0 + b1 > 0 THEN a0 / (a0 + greatest(b1, 0)) ELSE 0 END, CASE WHEN greatest(a1, 0) + b0 > 0
         THEN greatest(a1, 0) / (greatest(a1, 0) + b0) ELSE 1 END) AS x (box_low, box_high)
GROUP BY GROUPING SETS ((what, n, p), (what));

SELECT ok((frequency >= 0.95 OR runs * pg_temp.distance(frequency, 0.95) < 20)
    AND (frequency <= 0.975 OR runs * pg_temp.distance(frequency, 0.975) < 20)
          AND (n IS NULL OR width < 0.85),
          format('%s, %s: %s %% are covered, width %s of that of boxes', what, coalesce('N ' || n || ', p ' || p, 'all'),
              round(100 * frequency::numeric, 1), round(width::numeric, 3)))
FROM coverage ORDER BY what, n, p;
SELECT * FROM finish();
SET client_min_messages = warning;
DO $$ BEGIN PERFORM dp_counter_drop(counter) FROM dp_counters WHERE source = 'events_dp'::regclass; END $$;
DROP VIEW events_dp;
SELECT dp_budget_drop('averages') \g /dev/null
DROP SCHEMA averages CASCADE;
