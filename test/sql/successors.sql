-- continues: a counter goes on where another one has come to, with another bound, period, measure or epsilon. Persons have used up as
-- much of the new bound as of the old one, and the budget is charged for what the new one costs more.
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE SCHEMA successors;
SET search_path = successors, public;
CREATE ROLE successors_ana;
GRANT USAGE, CREATE ON SCHEMA successors TO successors_ana;
-- a visit each p-th day, of 60 persons
CREATE TABLE visits AS SELECT p AS patient, timestamp '2024-01-01' + day * interval '1 day' + p * interval '1 minute' AS at,
    p % 2 = 0 AS flu, p AS cents, (ARRAY['a', 'b'])[1 + p % 2] AS ward
FROM generate_series(1, 60) AS p, generate_series(0, 199) AS day WHERE day % (1 + p % 5) = 0;
CREATE VIEW visits_dp AS SELECT patient, at, flu, cents, ward FROM visits;
CREATE VIEW lives_dp AS TABLE visits_dp;
SELECT dp_budget_create('windows', 10e6, per => '30 days'), dp_budget_create('lives', 10e6);
SELECT dp_source_create('visits_dp', 'windows', 'patient', 'at', 'UTC'), dp_source_create('lives_dp', 'lives', 'patient', 'at', 'UTC');
-- closes the periods that end until then
CREATE PROCEDURE until(day date) LANGUAGE plpgsql AS $$ BEGIN UPDATE dp_counter_private.source_counters
    SET "grace" = LOCALTIMESTAMP - day; COMMIT; CALL dp_tick(); END $$;
CREATE VIEW tallies AS SELECT (SELECT counter::oid::regclass FROM dp_counter_private.counters AS c WHERE c.number = t.number) AS counter,
    count(*) > 0 AS has_persons, count(*) FILTER (WHERE own_window = 2147483647) AS marks
FROM dp_counter_private.tallies AS t GROUP BY number;
CREATE VIEW charges AS SELECT purpose, round(epsilon / 1e6, 1) AS epsilon, since::date, until::date, begins_from::date,
    begins_before::date FROM windows UNION ALL SELECT purpose, round(epsilon / 1e6, 1), since::date, until::date, begins_from::date,
    begins_before::date FROM lives;
-- What a counter over patients from `since` on counts, by plain SQL, if it continues one of bound a, of events from
-- `began` on, at `s`; `life`: the window is all time.
CREATE FUNCTION truth(began date, s date, a integer, b integer, since date, until date, life boolean DEFAULT false,
    old_flu boolean DEFAULT false) RETURNS TABLE (day date, count bigint, cents bigint) LANGUAGE sql AS $$
    WITH events AS MATERIALIZED (SELECT *, CASE WHEN life THEN 0 ELSE dp_own_window('windows', patient, at) END AS own_window FROM visits),
         used AS (SELECT patient, own_window, least(b, ceil(least(a, count(*)) * b / a::numeric)) AS used FROM events
                  WHERE at < s AND (flu OR NOT old_flu) AND (life AND at >= began OR NOT life AND at >= began - 30) GROUP BY patient,
                      own_window),
         counted AS (SELECT e.*, row_number() OVER (PARTITION BY patient, own_window ORDER BY at) + coalesce(used, 0) AS n
             FROM events AS e LEFT JOIN used USING (patient, own_window) WHERE at >= s)
    SELECT day::date, count(patient), coalesce(sum(cents), 0) FROM generate_series(since, until - 1, '1 day') AS day LEFT
        JOIN counted ON at::date = day AND n <= b GROUP BY day $$;

-- a greater bound and a greater epsilon; the old one's releases stay
SELECT dp_counter_create('old', 'visits_dp', 2e6, '1 day', '2024-02-01', per_person => 4);
CALL until('2024-03-01');
SELECT dp_counter_create('new', 'visits_dp', 3e6, '1 day', per_person => 7, continues => 'old');
SELECT counter, continues, steps, since::date, ended_at IS NOT NULL AS has_ended, next_due IS NULL AS not_due FROM dp_counters
    ORDER BY counter::text;
SELECT * FROM charges ORDER BY begins_from NULLS FIRST, begins_before;
SELECT budget, spent FROM dp_budgets WHERE budget = 'windows'::regclass;
SELECT counter, has_persons, marks FROM tallies; -- as before: nobody was written
SELECT obj_description('new'::regclass);
CALL until('2024-03-02');
SELECT counter, has_persons, marks FROM tallies;
CALL until('2024-04-15');
SELECT count(*), sum(abs(n.count - t.count)) AS differences, sum(t.count) < (SELECT count(*) FROM visits WHERE at >= '2024-03-01'
    AND at < '2024-04-15') AS has_bound FROM new AS n JOIN truth('2024-02-01', '2024-03-01', 4, 7, '2024-03-01', '2024-04-15') AS t
    ON t.day = n.period::date;
SELECT count(*), max(period)::date AS last FROM old;
-- the third: a sum in groups of weeks, with a smaller bound, two weeks later
SELECT dp_counter_create('sums', 'visits_dp', 1e6, '1 week', '2024-04-29', per_person => 3, sum => 'cents', upper => 100, "by" => 'ward',
    groups => '{a,b}', continues => 'new');
SELECT * FROM charges ORDER BY since, begins_from NULLS FIRST;
CALL until('2024-06-24');
SELECT count(*), sum(s.sum) = sum(t.cents) AS is_sum FROM (SELECT period::date AS period, sum(sum) FROM sums GROUP BY period) AS s,
       LATERAL (SELECT sum(cents) AS cents FROM truth('2024-03-01', '2024-04-15', 7, 3, '2024-04-29', '2024-06-24') WHERE day >= s.period
           AND day < s.period + 7) AS t;
-- windows that began before the second: what it had counted itself was handed over as well
SELECT count(*) FROM tallies;

-- of a life, what is more; and running totals
SELECT dp_counter_create('life', 'lives_dp', 2e6, '1 day', '2024-01-01', per_person => 5, event => 'flu');
CALL until('2024-01-06');
SELECT dp_counter_create('longer', 'lives_dp', 3e6, '1 day', per_person => 8, continues => 'life');
CALL until('2024-01-09');
SELECT dp_counter_create('cheaper', 'lives_dp', 1e6, '1 day', per_person => 10, cumulative => false, continues => 'longer');
SELECT purpose, epsilon FROM lives ORDER BY spent_at;
CALL until('2024-02-01');
SELECT count(*), sum(abs(l.count - t.total)) AS differences FROM longer AS l JOIN (SELECT day, sum(count) OVER (ORDER BY day) AS total
    FROM truth('2024-01-01', '2024-01-06', 5, 8, '2024-01-06', '2024-01-09', true, true)) AS t ON t.day = l.period::date;
SELECT obj_description('cheaper'::regclass);

-- a budget that is used up lets a bound be changed, and nothing else
SELECT dp_budget_create('full', 1.0, within => 'windows', since => '2024-01-01');
SELECT dp_counter_create('small', 'visits_dp', 1.0, '1 day', '2024-06-01', per_person => 1, budget => 'full');
CALL until('2024-07-01');
\set VERBOSITY default
SELECT dp_counter_create('large', 'visits_dp', 1.0, '1 day', '2024-07-01', per_person => 6, budget => 'full');
SELECT dp_counter_create('large', 'visits_dp', 1.1, '1 day', per_person => 6, budget => 'full', continues => 'small');
SELECT dp_counter_create('large', 'visits_dp', 1.0, '1 day', per_person => 6, budget => 'full', continues => 'small');
\set VERBOSITY terse
SELECT spent, remaining FROM dp_budgets WHERE budget = 'full'::regclass;

-- dropped before its first tick, it gives all back, and another one continues
SELECT dp_counter_drop('large');
SELECT purpose, epsilon, since::date, until::date FROM "full" WHERE refunded_at IS NULL;
SELECT counter, ended_at IS NOT NULL AS has_ended FROM dp_counters WHERE counter = 'small'::regclass;
SELECT dp_counter_create('medium', 'visits_dp', 1.0, '1 day', per_person => 3, budget => 'full', continues => 'small');
SELECT dp_counter_create('other', 'visits_dp', 1.0, '1 day', per_person => 3, budget => 'full', continues => 'small');
SELECT dp_counter_create('other', 'visits_dp', 1.0, '1 day', per_person => 3, budget => 'full', continues => 'medium');
-- what it takes over survives the old one, and is gone with it
CREATE VIEW kept AS SELECT count(*) - 1 AS persons FROM dp_counter_private.tallies
    WHERE number = (SELECT continues FROM dp_counter_private.source_counters ORDER BY number DESC LIMIT 1);
CREATE TABLE before AS SELECT persons FROM kept;
SELECT counter, continues FROM dp_counters WHERE counter::text IN ('medium', 'small') ORDER BY counter::text;
SELECT dp_counter_drop('small');
SELECT counter, continues FROM dp_counters WHERE counter::text IN ('medium', 'small');
SELECT persons > 0 AS has_persons, persons = (SELECT persons FROM before) AS all FROM kept;
CALL until('2024-07-02');
SELECT count(*), sum(count) < 60 AS has_bound FROM medium;
SELECT counter, has_persons, marks FROM tallies WHERE counter = 'medium'::regclass;
SELECT dp_counter_create('never', 'visits_dp', 1.0, '1 day', per_person => 3, budget => 'full', continues => 'medium');
SELECT dp_counter_drop('medium');
SELECT dp_counter_drop('never');
SELECT purpose, epsilon, since::date, until::date, begins_from::date, begins_before::date FROM "full" WHERE refunded_at IS NULL
    ORDER BY since;
SELECT count(*) AS left_over FROM tallies WHERE counter IS NULL;

-- one that has read nothing is replaced, with its name
SELECT dp_counter_create('unread', 'visits_dp', 1.0, '1 day', '2024-09-01', per_person => 3, budget => 'full');
SET client_min_messages = notice;
SELECT dp_counter_create('unread', 'visits_dp', 0.5, '1 day', persons => true, budget => 'full', continues => 'unread');
SET client_min_messages = warning;
SELECT since FROM dp_counters WHERE counter = 'unread'::regclass;
SELECT purpose, epsilon FROM "full" WHERE purpose ~ 'unread' AND refunded_at IS NULL;
SELECT obj_description('unread'::regclass) ~ 'continues' AS continues;
SELECT dp_counter_drop('unread');

-- another source, of the same persons; one that was dropped
CREATE VIEW billed_dp AS SELECT patient::bigint, at, flu, cents, ward FROM visits;
CREATE VIEW texts_dp AS SELECT patient::text, at, flu, cents, ward FROM visits;
CREATE VIEW days_dp AS SELECT patient, at::date, flu, cents, ward FROM visits;
SELECT dp_source_create('billed_dp', 'windows', 'patient', 'at', 'Asia/Tokyo'), dp_source_create('texts_dp', 'lives', 'patient', 'at',
    'UTC'), dp_source_create('days_dp', 'lives', 'patient', 'at', 'UTC');
\set VERBOSITY default
SELECT dp_counter_create('billed', 'billed_dp', 1e6, '1 day', per_person => 3, continues => 'sums');
SELECT dp_counter_create('billed', 'billed_dp', 1e6, '1 day', per_person => 3, continues => 'sums', same_persons => true);
SELECT dp_counter_create('texts', 'texts_dp', 1e6, '1 day', continues => 'cheaper', per_person => 1, same_persons => true);
SELECT dp_counter_create('days', 'days_dp', 1e6, '1 day', continues => 'cheaper', per_person => 1, same_persons => true);
\set VERBOSITY terse
CALL until('2024-07-05');
SELECT count(*), sum(abs(b.count - t.count)) AS differences FROM billed AS b JOIN truth('2024-04-29', '2024-07-01', 3, 3, '2024-07-01',
    '2024-07-05') AS t ON t.day = b.period::date;
DROP VIEW billed_dp CASCADE;
SELECT dp_counter_create('again', 'visits_dp', 1e6, '1 day', per_person => 3, continues => 'billed', same_persons => true);
CALL until('2024-07-08');
SELECT count(*), sum(abs(a.count - t.count)) AS differences FROM again AS a JOIN truth('2024-04-29', '2024-07-05', 3, 3, '2024-07-05',
    '2024-07-08') AS t ON t.day = a.period::date;

-- a first tick that fails hands nothing over
SELECT dp_counter_create('failing', 'visits_dp', 1e6, '1 day', per_person => 4, continues => 'again');
CREATE OR REPLACE VIEW visits_dp AS SELECT patient, CASE WHEN cents / (patient - 1) >= 0 THEN at END AS at, flu, cents, ward FROM visits;
\set VERBOSITY sqlstate
CALL until('2024-07-12');
\set VERBOSITY terse
SELECT counter, has_persons, marks FROM tallies WHERE counter::text IN ('again', 'failing');
CREATE OR REPLACE VIEW visits_dp AS SELECT patient, at, flu, cents, ward FROM visits;
CALL until('2024-07-12');
SELECT counter, has_persons, marks FROM tallies WHERE counter::text IN ('again', 'failing');
SELECT count(*), sum(abs(f.count - t.count)) AS differences FROM failing AS f JOIN truth('2024-04-29', '2024-07-08', 3, 4, '2024-07-08',
    '2024-07-12') AS t ON t.day = f.period::date;
-- tallies that a dump has left out
SELECT dp_counter_create('lost', 'visits_dp', 1e6, '1 day', per_person => 4, continues => 'failing');
CREATE TABLE tallies_of_all AS TABLE dp_counter_private.tallies;
DELETE FROM dp_counter_private.tallies;
\set VERBOSITY default
SELECT dp_counter_resume('lost');
\set VERBOSITY sqlstate
CALL until('2024-07-13');
\set VERBOSITY default
INSERT INTO dp_counter_private.tallies TABLE tallies_of_all;
SELECT dp_counter_drop('lost');

-- what is refused
SELECT dp_counter_create('x', 'visits_dp', 1e6, '1 day', '2024-01-01', per_person => 1, same_persons => true);
SELECT dp_counter_create('x', 'visits_dp', 1e6, '1 day', per_person => 1, continues => 'x');
SELECT dp_counter_create('cheaper', 'lives_dp', 1e6, '1 day', per_person => 1, continues => 'cheaper');
SELECT dp_counter_create('x', 'visits_dp', 1e6, '1 day', per_person => 1, continues => 'visits');
SELECT dp_counter_create('x', 'visits_dp', 1e6, '1 day', per_person => 1, continues => 'cheaper');
SELECT dp_counter_create('x', 'visits_dp', 1e6, '1 day', per_person => 1, budget => 'full', continues => 'failing');
SELECT dp_counter_create('x', 'visits_dp', 1e6, '1 day', '2024-07-11', per_person => 1, continues => 'failing');
SELECT dp_counter_create('x', 'lives_dp', 1e6, '1 day', continues => 'cheaper', persons => true, horizon => 9);
SELECT dp_counter_create('x', 'lives_dp', 1e6, '1 day', per_person => 1, continues => 'life');
SELECT dp_event_counter_create('events', 1);
SELECT dp_counter_create('x', 'visits_dp', 1e6, '1 day', per_person => 1, continues => 'events');
SELECT dp_counter_create('persons', 'visits_dp', 1, '1 day', '2024-07-10', persons => true),
    dp_counter_create('whole', 'visits_dp', 1, '1 day', '2024-07-10', per_person => 1);
SET client_min_messages = error; CALL until('2024-07-12'); SET client_min_messages = warning;
SELECT dp_counter_create('x', 'visits_dp', 1, '1 day', per_person => 1, continues => 'persons');
SELECT dp_counter_end('whole');
SELECT dp_counter_create('x', 'visits_dp', 1, '1 day', per_person => 1, continues => 'whole');
BEGIN;
UPDATE dp_counter_private.publications SET steps = steps - 1 WHERE number = (SELECT number FROM dp_counter_private.counters
    WHERE counter = 'failing'::regclass);
SELECT dp_counter_create('x', 'visits_dp', 1e6, '1 day', per_person => 1, continues => 'failing');
ROLLBACK;
BEGIN;
UPDATE dp_counter_private.counters SET timeline = 0 WHERE counter = 'failing'::regclass;
SELECT dp_counter_create('x', 'visits_dp', 1e6, '1 day', per_person => 1, continues => 'failing');
ROLLBACK;
-- by an analyst, and by who does not own the old one
GRANT REFERENCES ON visits_dp TO successors_ana; GRANT SELECT, INSERT ON windows TO successors_ana;
SET ROLE successors_ana;
SELECT dp_counter_create('x', 'visits_dp', 1e6, '1 day', per_person => 1, continues => 'failing');
CREATE TABLE anas (patient integer, at timestamp);
CREATE VIEW anas_dp AS SELECT patient, at FROM anas;
SELECT dp_budget_create('anas_budget', 1);
SELECT dp_source_create('anas_dp', 'anas_budget', 'patient', 'at', 'UTC');
SELECT dp_counter_create('x', 'anas_dp', 1, '1 day', continues => 'failing', per_person => 1, same_persons => true);
RESET ROLE;
SELECT count(*) FROM dp_counters WHERE counter = to_regclass('x');
SELECT count(*) FROM windows WHERE purpose ~ 'x$';

-- one whose successor was dropped can be continued, or forgets its persons
SELECT dp_counter_create('last', 'visits_dp', 1e6, '1 day', per_person => 3, continues => 'failing');
SELECT dp_counter_end('failing');
SELECT dp_counter_drop('last');
CREATE TABLE ended AS SELECT ended_at FROM dp_counters WHERE counter = 'failing'::regclass;
SELECT counter, has_persons, marks FROM tallies WHERE counter = 'failing'::regclass;
BEGIN;
SELECT dp_counter_end('failing');
SELECT count(*) FROM tallies WHERE counter = 'failing'::regclass;
SELECT ended_at = (SELECT ended_at FROM ended) AS is_unchanged FROM dp_counters WHERE counter = 'failing'::regclass;
SAVEPOINT s;
SELECT dp_counter_create('x', 'visits_dp', 1e6, '1 day', per_person => 1, continues => 'failing');
ROLLBACK TO s;
SELECT dp_counter_end('failing');
ROLLBACK;
-- all at once
\set VERBOSITY terse
SELECT dp_counter_create('last', 'visits_dp', 1e6, '1 day', per_person => 3, continues => 'failing');
SELECT dp_source_drop('anas_dp'), dp_budget_drop('anas_budget');
SELECT count(dp_counter_drop(counter)::text) > 9 AS many FROM dp_counters;
SELECT count(*) FROM dp_counter_private.tallies;
SELECT count(dp_source_drop(source)::text) FROM dp_sources;
SELECT dp_budget_drop('full');
DROP VIEW charges;
SELECT dp_budget_drop('windows'), dp_budget_drop('lives');
DROP SCHEMA successors CASCADE;
DROP ROLE successors_ana;
