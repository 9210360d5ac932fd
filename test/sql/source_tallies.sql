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
    UPDATE dp_counter_private.source_counters AS s SET "grace" = now()::timestamp - (since + days * every)
        WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter = close.counter);
    COMMIT;
    CALL dp_tick(counter);
END $$;
-- without the mark that each counter with a bound has
CREATE VIEW tallies AS SELECT c.counter::oid::regclass AS counter, t.* FROM dp_counter_private.tallies AS t
    JOIN dp_counter_private.counters AS c USING (number) WHERE own_window < 2147483647;

-- two counters of the same persons share no digest; a key is random from end to end
INSERT INTO visits SELECT i, timestamp '2025-01-01' + day * interval '1 day', i <= 50 FROM generate_series(1, 100) AS i,
    generate_series(0, 1) AS day;
SELECT dp_counter_create('one', 'visits_dp', 1e9, '1 day', '2025-01-01', 2, event => 'flu', per_person => 1);
SELECT dp_counter_create('two', 'visits_dp', 1e9, '1 day', '2025-01-01', 2, event => 'flu', per_person => 1);
CALL close('one', 1);
CALL close('two', 2);
SELECT counter, count(*), count(DISTINCT digest), (SELECT count(*) FROM tallies AS o WHERE o.counter <> t.counter
    AND o.digest IN (SELECT digest FROM tallies AS d WHERE d.counter = t.counter)) AS shared
FROM tallies AS t GROUP BY counter ORDER BY counter::text;
SELECT count(DISTINCT part), bool_or(part = '\x0000000000000000') AS empty FROM dp_counter_private.source_counters,
    generate_series(0, 3) AS i, substring(key FROM 1 + 8 * i FOR 8) AS part;

-- rows and their versions show who was there, not whose event counted: half have none, the others' bound is used up
SELECT used, count(*) FROM tallies WHERE counter = 'one'::regclass GROUP BY used ORDER BY used;
CREATE TEMPORARY TABLE before AS SELECT t.digest, t.xmin AS version FROM dp_counter_private.tallies AS t
    JOIN dp_counter_private.counters AS c USING (number) WHERE c.counter = 'one'::regclass AND own_window < 2147483647;
CALL close('one', 2);
SELECT count(*) AS tallies, count(*) FILTER (WHERE t.xmin <> b.version) AS written FROM dp_counter_private.tallies AS t
    JOIN before AS b USING (digest);
SELECT step, count FROM one ORDER BY step;

-- what released nothing is given back when it is dropped, what released one step is not
SELECT dp_counter_create('none', 'visits_dp', 0.25, '1 day', '2025-01-01', 2, per_person => 1);
SELECT dp_counter_create('single', 'visits_dp', 0.5, '1 day', '2025-01-01', 2, per_person => 1);
CALL close('single', 1);
SELECT dp_counter_drop('none'), dp_counter_drop('single');
SELECT purpose, epsilon FROM budget WHERE refunded_at IS NULL ORDER BY purpose;

-- persons without a bound have no tallies; of rows of one time and two groups, one counts
TRUNCATE visits;
INSERT INTO visits SELECT i, timestamp '2025-01-01' + day * interval '1 day', flu FROM generate_series(1, 100) AS i,
    generate_series(0, 1) AS day, (VALUES (true), (false)) AS f (flu);
SELECT dp_counter_create('persons', 'visits_dp', 1e9, '1 day', '2025-01-01', 2, persons => true, cumulative => false, by => 'flu',
    groups => '{true,false}');
CALL dp_tick('persons');
SELECT step, sum(count), min(count) > 0 AS both FROM persons GROUP BY step ORDER BY step;
SELECT count(*) FROM tallies WHERE counter = 'persons'::regclass;
SELECT dp_counter_drop('persons');

-- Own windows, against plain SQL, of many persons in each period, in several ticks: an event uses the bound of its own window, before
-- the first period too; of a counter of persons, one for each period of the calendar. Tallies stay until no window of that number is open.
CREATE TABLE stays AS SELECT p AS person, timestamp '2023-01-01' + (i * 20 + abs(hashint4(p * 64 + i)) % 20) * interval '12 hours' AS at
    FROM generate_series(1, 40) AS p, generate_series(0, 51) AS i;
-- of January one alone, less than 30 days before March
DELETE FROM stays WHERE at >= '2024-01-01' AND at < '2024-02-01';
INSERT INTO stays SELECT p, '2024-01-31 12:00' FROM generate_series(1, 40) AS p;
CREATE VIEW months_dp AS SELECT * FROM stays;
CREATE VIEW years_dp AS SELECT * FROM stays;
SELECT dp_budget_create('of_months', 1e11, per => '30 days'), dp_budget_create('of_years', 1e11, per => '365 days');
SELECT dp_source_create('months_dp', 'of_months', 'person', 'at', 'UTC'), dp_source_create('years_dp', 'of_years', 'person', 'at', 'UTC');
SELECT dp_counter_create(name, source, 1e9, every, '2024-03-01', horizon => horizon, persons => persons, per_person => per_person)
FROM (VALUES ('weekly', 'months_dp'::regclass, interval '1 week', 12, NULL::boolean, 2), ('weekly_persons', 'months_dp', '1 week', 12,
    true, 2), ('daily_persons', 'months_dp', '1 day', 20, true, NULL),
             ('monthly', 'years_dp', '1 month', 3, NULL, 30), ('monthly_persons', 'years_dp', '1 month', 3, true, 9),
                 ('quarter_persons', 'years_dp', '3 months', 1, true, 4)) AS c (name, source, every, horizon, persons, per_person);
CREATE FUNCTION truth(c dp_counters) RETURNS TABLE (step bigint, count bigint) LANGUAGE sql AS $$
    WITH events AS MATERIALIZED (
        SELECT person, at, dp_own_window(CASE c.source WHEN 'months_dp'::regclass THEN 'of_months'::regclass ELSE 'of_years' END, person,
            at) AS own_window, width_bucket(at, starts) - 400 AS step
        FROM stays, (SELECT array_agg(c.since + n * c.every ORDER BY n) AS starts FROM generate_series(-400, 100) AS n) AS s
        WHERE at >= c.since - c.per AND at < c.since + c.horizon * c.every
    ), used AS MATERIALIZED (
        SELECT *, CASE WHEN c.measure = 'persons' THEN dense_rank() OVER (PARTITION BY person, own_window ORDER BY step)
            ELSE row_number() OVER (PARTITION BY person, own_window ORDER BY at) END AS n FROM events
    )
    SELECT s, (SELECT CASE WHEN c.measure <> 'persons' THEN count(*) WHEN c.per_person IS NULL THEN count(DISTINCT person)
        ELSE count(DISTINCT (person, own_window)) END FROM used WHERE step = s AND (n <= c.per_person OR c.per_person IS NULL))
    FROM generate_series(1, c.horizon) AS s $$;
CREATE FUNCTION released(c dp_counters) RETURNS TABLE (step bigint, count bigint) LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY
    EXECUTE format('SELECT step, count FROM %s', c.counter); END $$;
SET client_min_messages = warning;
CALL close('weekly', 1); CALL close('weekly', 2); CALL close('weekly', 3); CALL close('weekly', 5); CALL close('weekly', 7);
CALL close('weekly', 12);
CALL close('weekly_persons', 1); CALL close('weekly_persons', 4); CALL close('weekly_persons', 7); CALL close('weekly_persons', 12);
CALL close('daily_persons', 20);
CALL close('monthly', 1); CALL close('monthly', 3);
CALL close('monthly_persons', 1); CALL close('monthly_persons', 3);
CALL close('quarter_persons', 1);
RESET client_min_messages;
SELECT c.counter, count(*) AS steps, count(*) FILTER (WHERE r.count <> t.count) AS wrong, sum(t.count) > 9 AS many,
       (SELECT count(*) FROM tallies AS u WHERE u.counter = c.counter) > 0 AS has_tallies,
       (SELECT count(*) FROM tallies AS u WHERE u.counter = c.counter
           AND own_window < floor(((since + horizon * every)::date - date '2000-01-01' + 1) / extract(day
           FROM per)) - 1) AS tallies_of_the_past
FROM dp_counters AS c, truth(c) AS t, released(c) AS r WHERE c.source IN ('months_dp'::regclass, 'years_dp'::regclass) AND t.step = r.step
    GROUP BY c.counter, since, horizon, every, per ORDER BY c.counter::text;

-- a person with more events than any block of memory begins with
TRUNCATE visits;
INSERT INTO visits SELECT 1 + (i > 1500)::integer, timestamp '2025-01-01' + i % 4 * interval '1 hour', true
    FROM generate_series(1, 3000) AS i;
SELECT dp_counter_create('thousand', 'visits_dp', 1e9, '1 hour', '2025-01-01', 4, per_person => 1000);
CALL dp_tick('thousand');
SELECT step, count FROM thousand ORDER BY step;

SET client_min_messages = warning; -- not how long a tick takes
-- more persons than are stored at once (2^18), all of them with their bound used up
TRUNCATE visits;
INSERT INTO visits SELECT i, timestamp '2025-01-01' + day * interval '1 day' FROM generate_series(1, 270000) AS i,
    generate_series(0, 1) AS day;
SELECT dp_counter_create('crowd', 'visits_dp', 1e9, '1 day', '2025-01-01', 2, per_person => 1);
CALL close('crowd', 1);
CALL close('crowd', 2);
SELECT step, count FROM crowd ORDER BY step;

SET client_min_messages = error;
DO $$ BEGIN PERFORM dp_counter_drop(counter) FROM dp_counters; END $$;
DROP VIEW visits_dp, months_dp, years_dp;
SELECT dp_budget_drop('budget'), dp_budget_drop('of_months'), dp_budget_drop('of_years');
DROP SCHEMA source_tallies CASCADE;
