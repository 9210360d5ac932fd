-- Indexes that a DBA adds to the extension's tables: of columns they are kept up, others are refused where a row is stored.
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE SCHEMA added_indexes;
SET search_path = added_indexes, public;
CREATE TABLE visits AS SELECT n AS person, date '2024-01-01' + n % 3 AS day FROM generate_series(1, 30) AS n;
CREATE VIEW visits_dp AS SELECT * FROM visits;
SELECT dp_budget_create('budget', 1e12);
SELECT dp_source_create('visits_dp', 'budget', 'person', 'day', 'UTC');
SELECT dp_counter_create('by_day', 'visits_dp', 1e9, '1 day', '2024-01-01', horizon => 3, per_person => 1);
SELECT dp_counter_create('by_days', 'visits_dp', 1e9, '3 days', '2024-01-01', horizon => 1, per_person => 1);
SELECT dp_event_counter_create('events', 1e9);

CREATE INDEX added ON dp_counter_private.releases (date_trunc('day', period AT TIME ZONE 'UTC'));
CALL dp_tick('by_day');
DROP INDEX dp_counter_private.added;
CREATE INDEX added ON dp_counter_private.releases (step) WHERE step > 2;
CALL dp_tick('by_day');
DROP INDEX dp_counter_private.added;
CREATE INDEX added ON dp_counter_private.tallies ((digest::text));
CALL dp_tick('by_day');
DROP INDEX dp_counter_private.added;
ALTER TABLE dp_counter_private.releases ADD CONSTRAINT added EXCLUDE USING btree (number WITH =, step WITH =, stream WITH =);
CALL dp_tick('by_day');
ALTER TABLE dp_counter_private.releases DROP CONSTRAINT added;
SELECT count(*) FROM by_day;
CREATE INDEX added ON dp_counter_private.events (total) WHERE total > 0;
SELECT dp_counter_record('events');
DROP INDEX dp_counter_private.added;

-- of columns
CREATE INDEX added_step ON dp_counter_private.releases (step DESC) INCLUDE (count);
CREATE INDEX added_used ON dp_counter_private.tallies (used);
CREATE INDEX added_total ON dp_counter_private.events (total, number);
CALL dp_tick('by_day');
CALL dp_tick('by_days');
SELECT count(dp_counter_record('events')) FROM generate_series(1, 2000);
SELECT period, count FROM by_day ORDER BY period;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FROM dp_counter_private.releases WHERE step >= 1;
SELECT count(*) FROM dp_counter_private.tallies WHERE used >= 0;
SELECT count(*) FROM dp_counter_private.events WHERE total = 2000;
RESET enable_seqscan;
RESET enable_bitmapscan;

DROP INDEX dp_counter_private.added_step, dp_counter_private.added_used, dp_counter_private.added_total;
SELECT dp_counter_drop('by_day'), dp_counter_drop('by_days'), dp_counter_drop('events');
SELECT dp_source_drop('visits_dp');
SELECT dp_budget_drop('budget');
DROP SCHEMA added_indexes CASCADE;
