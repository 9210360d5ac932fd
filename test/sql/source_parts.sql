-- A tick that has much to catch up with closes and publishes it in parts, each in a transaction: as if in one.
\set VERBOSITY terse
CREATE SCHEMA source_parts;
SET search_path = source_parts, public;
SELECT dp_budget_create('budget', 1e11);
CREATE TABLE visits (patient integer, at timestamp, place integer, divisor integer);
CREATE VIEW visits_dp AS SELECT patient, at, place, 1 / divisor = 1 AS counts FROM visits;
SELECT dp_source_create('visits_dp', budget => 'budget', person => 'patient', at => 'at', time_zone => 'UTC');
-- 50,001 groups: a step at a time
SELECT dp_counter_create('places', epsilon => 1e9, horizon => 3, source => 'visits_dp', event => 'counts', every => '1 day',
    since => '2025-01-01', per_person => 2,
                         by => 'place', groups => (SELECT array_agg(i::text) FROM generate_series(1, 50001) AS i));
-- patient p comes on each day from the p-th on; two events of each count, and a row of the last day cannot be read
INSERT INTO visits SELECT p, timestamp '2025-01-01' + (day - 1) * interval '1 day', p, 1 FROM generate_series(1, 3) AS p,
    generate_series(1, 3) AS day WHERE day >= p;
UPDATE visits SET divisor = 0 WHERE at = '2025-01-03' AND patient = 1;
SET client_min_messages = error;
CALL dp_tick('places');
SELECT steps FROM dp_counters;
SELECT step, place, count FROM places WHERE place <= 5 AND count <> 0 ORDER BY step, place;
UPDATE visits SET divisor = 1;
CALL dp_tick('places');
SELECT step, place, count FROM places WHERE place <= 5 AND count <> 0 AND step > 2 ORDER BY step, place;
SELECT count(*), count(*) FILTER (WHERE count <> 0) FROM places;
-- which steps one transaction closed, at one time for all of a tick
SELECT min(step), max(step), dense_rank() OVER (ORDER BY released_at) AS tick FROM dp_counter_private.releases
WHERE number = (SELECT number FROM dp_counter_private.counters) GROUP BY xmin, released_at ORDER BY 1;
SELECT used, count(*) FROM dp_counter_private.tallies WHERE own_window < 2147483647 GROUP BY used ORDER BY used;
-- nothing is left
CALL dp_tick('places');
SELECT dp_counter_drop('places');
-- A call for many counters closes two parts of each, says so, and goes on with the next counter; the next call goes on with this one.
SELECT dp_counter_create('places', epsilon => 1e9, horizon => 3, source => 'visits_dp', event => 'counts', every => '1 day',
    since => '2025-01-01', per_person => 2,
                         by => 'place', groups => (SELECT array_agg(i::text) FROM generate_series(1, 50001) AS i));
SELECT dp_counter_create('short', epsilon => 1e9, horizon => 3, source => 'visits_dp', every => '1 day', since => '2025-01-01',
    per_person => 1);
SET client_min_messages = notice;
CALL dp_tick();
SELECT counter, steps, next_due IS NOT NULL AND periods_behind > 0 AS is_behind, last_failed FROM dp_counters ORDER BY counter::text;
CALL dp_tick();
SELECT step, place, count FROM places WHERE place <= 5 AND count <> 0 ORDER BY step, place;
SET client_min_messages = error;
SELECT dp_counter_drop('places'), dp_counter_drop('short');
SELECT dp_counter_create('more', epsilon => 1, horizon => 1, source => 'visits_dp', every => '1 day', since => '2025-01-01',
                         by => 'place', groups => (SELECT array_agg(i::text) FROM generate_series(1, 1000001) AS i), per_person => 1);
DROP VIEW visits_dp;
SELECT dp_budget_drop('budget');
DROP SCHEMA source_parts CASCADE;
