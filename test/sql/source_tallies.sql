-- What is kept of persons: a tally for everyone who was there, under a key of the counter's own, however many there are.
\set VERBOSITY terse
CREATE SCHEMA source_tallies;
SET search_path = source_tallies, public;
SELECT dp_budget_create('budget', 1e11);
CREATE TABLE visits (patient integer, at timestamp, flu boolean);
CREATE VIEW visits_dp AS SELECT patient, at, flu FROM visits;
SELECT dp_source_create('visits_dp', budget => 'budget', person => 'patient', at => 'at', time_zone => 'UTC');
CREATE PROCEDURE close(counter regclass, days integer) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE dp_counter_private.source_counters AS s SET "grace" = now()::timestamp - (since + days * every) WHERE s.counter = close.counter;
    COMMIT;
    CALL dp_counter_tick(counter);
END $$;
CREATE VIEW tallies AS SELECT c.counter, t.* FROM dp_counter_private.tallies AS t JOIN dp_counter_private.counters AS c USING (number);

-- two counters of the same persons share no digest; a key is random from end to end
INSERT INTO visits SELECT i, timestamp '2025-01-01' + day * interval '1 day', i <= 50 FROM generate_series(1, 100) AS i, generate_series(0, 1) AS day;
SELECT dp_counter_create('one', 'visits_dp', 1e9, '1 day', '2025-01-01', 2, event => 'flu');
SELECT dp_counter_create('two', 'visits_dp', 1e9, '1 day', '2025-01-01', 2, event => 'flu');
CALL close('one', 1);
CALL close('two', 2);
SELECT counter, count(*), count(DISTINCT digest), (SELECT count(*) FROM tallies AS o WHERE o.counter <> t.counter AND o.digest IN (SELECT digest FROM tallies AS d WHERE d.counter = t.counter)) AS shared
FROM tallies AS t GROUP BY counter ORDER BY counter::text;
SELECT count(DISTINCT part), bool_or(part = '\x0000000000000000') AS empty FROM dp_counter_private.source_counters, generate_series(0, 3) AS i, substring(key FROM 1 + 8 * i FOR 8) AS part;

-- rows and their versions show who was there, not whose event counted: half have none, the others' bound is used up
SELECT used, count(*) FROM tallies WHERE counter = 'one'::regclass GROUP BY used ORDER BY used;
CREATE TEMPORARY TABLE before AS SELECT t.digest, t.xmin AS version FROM dp_counter_private.tallies AS t JOIN dp_counter_private.counters AS c USING (number) WHERE c.counter = 'one'::regclass;
CALL close('one', 2);
SELECT count(*) AS tallies, count(*) FILTER (WHERE t.xmin <> b.version) AS written FROM dp_counter_private.tallies AS t JOIN before AS b USING (digest);
SELECT step, count FROM one ORDER BY step;

-- what released nothing is given back when it is dropped, what released one step is not
SELECT dp_counter_create('none', 'visits_dp', 0.25, '1 day', '2025-01-01', 2);
SELECT dp_counter_create('single', 'visits_dp', 0.5, '1 day', '2025-01-01', 2);
CALL close('single', 1);
SELECT dp_counter_drop('none'), dp_counter_drop('single');
SELECT purpose, epsilon FROM budget ORDER BY purpose;

-- persons without a bound have no tallies; of rows of one time and two groups, one counts
TRUNCATE visits;
INSERT INTO visits SELECT i, timestamp '2025-01-01' + day * interval '1 day', flu FROM generate_series(1, 100) AS i, generate_series(0, 1) AS day, (VALUES (true), (false)) AS f (flu);
SELECT dp_counter_create('persons', 'visits_dp', 1e9, '1 day', '2025-01-01', 2, persons => true, cumulative => false, by => 'flu', groups => '{true,false}');
CALL dp_counter_tick('persons');
SELECT step, sum(count), min(count) > 0 AS both FROM persons GROUP BY step ORDER BY step;
SELECT count(*) FROM tallies WHERE counter = 'persons'::regclass;
SELECT dp_counter_drop('persons');

-- a person with more events than any block of memory begins with
TRUNCATE visits;
INSERT INTO visits SELECT 1 + (i > 1500)::integer, timestamp '2025-01-01' + i % 4 * interval '1 hour', true FROM generate_series(1, 3000) AS i;
SELECT dp_counter_create('thousand', 'visits_dp', 1e9, '1 hour', '2025-01-01', 4, per_person => 1000);
CALL dp_counter_tick('thousand');
SELECT step, count FROM thousand ORDER BY step;

SET client_min_messages = warning; -- not how long a tick takes
-- more persons than are stored at once (2^18), all of them with their bound used up
TRUNCATE visits;
INSERT INTO visits SELECT i, timestamp '2025-01-01' + day * interval '1 day' FROM generate_series(1, 270000) AS i, generate_series(0, 1) AS day;
SELECT dp_counter_create('crowd', 'visits_dp', 1e9, '1 day', '2025-01-01', 2);
CALL close('crowd', 1);
CALL close('crowd', 2);
SELECT step, count FROM crowd ORDER BY step;

SET client_min_messages = error;
DROP VIEW visits_dp CASCADE;
SELECT dp_budget_drop('budget');
DROP SCHEMA source_tallies CASCADE;
