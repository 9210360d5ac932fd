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
SELECT dp_counter_create('spring', 'visits_dp', 1e9, '30 minutes', '2025-03-30', 12);
SELECT dp_counter_create('autumn', 'visits_dp', 1e9, '30 minutes', '2025-10-26', 12);
CALL dp_source_tick('visits_dp');
SELECT step, period, period >= lag(period) OVER (ORDER BY step) AS in_order, count - lag(count, 1, 0::bigint) OVER (ORDER BY step) AS rows FROM spring ORDER BY step;
SELECT step, period, period >= lag(period) OVER (ORDER BY step) AS in_order, count - lag(count, 1, 0::bigint) OVER (ORDER BY step) AS rows FROM autumn ORDER BY step;
SET client_min_messages = error;
DROP VIEW visits_dp CASCADE;
SELECT dp_budget_drop('budget');
DROP SCHEMA source_periods CASCADE;
