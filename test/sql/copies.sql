-- A counter lives in one database. In a copy ticks are refused until dp_counter_resume. Here the columns that say which one are changed;
-- test/t/dumps.pl, marks.pl and standbys.pl make real copies, also for the system identifier.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dp_counter;
CREATE SCHEMA copies;
SET search_path = copies, public;
CREATE ROLE copies_steward;
CREATE ROLE copies_clock;
GRANT CREATE, USAGE ON SCHEMA copies TO copies_steward;
GRANT USAGE ON SCHEMA copies TO copies_clock;
CREATE TABLE visits AS SELECT n AS patient, date '2024-01-01' + n AS at FROM generate_series(0, 4) AS n;
GRANT SELECT ON visits TO copies_steward;
SET ROLE copies_steward;
SELECT dp_event_counter_create('events', 1e9);
CREATE VIEW visits_dp AS SELECT patient, at FROM visits;
SELECT dp_budget_create('budget', 1e10, per => '365 days');
SELECT dp_source_create('visits_dp', 'budget', 'patient', 'at');
SELECT dp_counter_create('days', source => 'visits_dp', epsilon => 1e9, every => '1 day', since => '2024-01-01', horizon => 3,
    per_person => 1);
GRANT UPDATE ON events, days TO copies_clock;
CALL dp_tick('events');
RESET ROLE;
CREATE FUNCTION move(part text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN EXECUTE format('UPDATE dp_counter_private.counters SET %1$I = %1$I::bigint - 1 WHERE counter::text ~ ''^copies[.](events|days|lives|unticked|weeks)$''', part); END $$;

-- The counter of single periods is refused too, and what is recorded stays.
\set VERBOSITY default
SELECT move('database');
SELECT dp_counter_record('events', 3);
SET ROLE copies_clock;
CALL dp_tick('events');
CALL dp_tick('days');
CALL dp_tick();
\set VERBOSITY terse
SELECT counter, steps, last_sqlstate FROM dp_counters WHERE counter IN ('events'::regclass, 'days'::regclass) ORDER BY 1;

-- Its owner lets it go on, nobody else.
SELECT dp_counter_resume('events');
SET ROLE copies_steward;
SELECT dp_counter_resume('events'), dp_counter_resume('days');
CALL dp_tick('events');
CALL dp_tick('days');
SELECT step, count FROM events ORDER BY 1;
SELECT step, count FROM days ORDER BY 1;
-- The budget says so, of what may be spent twice, and no epsilon.
SELECT purpose, epsilon, since, until, role FROM budget ORDER BY spent_at;
SELECT regexp_replace(line, '\d{4}-\d\d-\d\d by', 'TODAY by') FROM regexp_split_to_table(dp_promise('budget'), E'\n') AS line
    WHERE line ~ '^(copies.)?d(ays|p_counter_resume)';
SELECT dp_counter_resume('days'); -- is here already
SELECT count(*) FROM budget;
RESET ROLE;
UPDATE dp_counter_private.counters SET system_identifier = 1 WHERE counter = 'events'::regclass; -- dumps leave it out
SELECT bool_and(system_identifier = (SELECT system_identifier FROM pg_control_system())) AS is_here FROM dp_counter_private.counters;
SELECT move('timeline');
CALL dp_tick('events');

-- A step that was closed before is published: it is the one that the original has published, or would. Then the tick fails.
UPDATE dp_counter_private.publications SET steps = 1 WHERE number = (SELECT number FROM dp_counter_private.counters
    WHERE counter = 'events'::regclass);
SELECT max(step) FROM events;
UPDATE dp_counter_private.counters SET released_at = '2024-01-01' WHERE counter = 'events'::regclass; -- what alerts ask for
SELECT steps, next_due FROM dp_counters WHERE counter = 'events'::regclass;
CALL dp_tick('events');
SELECT max(step) FROM events;

-- What ends in a copy gives nothing back that the original may have spent: of a budget that renews, what is over. A day is for the zones.
SELECT dp_budget_create('life', 10);
CREATE VIEW lives_dp AS SELECT patient, at FROM visits;
SELECT dp_source_create('lives_dp', 'life', 'patient', 'at');
SELECT dp_counter_create('lives', source => 'lives_dp', epsilon => 1, every => '1 day', since => '2024-01-01', horizon => 3,
    per_person => 1);
SELECT dp_counter_create('unticked', source => 'visits_dp', epsilon => 1e9, every => '1 day', since => current_date, per_person => 1);
SELECT dp_counter_create('weeks', source => 'visits_dp', epsilon => 1e9, every => '7 days', since => current_date - 15, grace => '8 days',
    per_person => 1);
CALL dp_tick('weeks');
SELECT move('timeline');
SELECT dp_counter_drop('lives'), dp_counter_drop('unticked'), dp_counter_end('weeks');
SELECT spent FROM dp_budgets WHERE budget = 'life'::regclass;
SELECT purpose, epsilon, round(date_part('epoch', until - now() AT TIME ZONE 'UTC') / 3600) AS hours, until = 'infinity' AS for_ever
    FROM budget WHERE purpose ~ 'unticked|weeks' ORDER BY 1;

-- In a copy it can end, and new counters go on.
SELECT dp_counter_end('events');
SELECT dp_counter_resume('events');
SELECT dp_event_counter_create('next', 1e9);
CALL dp_tick('next');
SELECT dp_counter_resume('next'); -- is here already
SELECT dp_counter_resume('visits_dp');
SELECT dp_counter_resume(NULL);
BEGIN READ ONLY;
SELECT dp_counter_resume('next');
ROLLBACK;

-- One that ended to be continued goes on in a successor, where the first one that was to continue it was a mistake.
SELECT dp_counter_create(name, source => 'visits_dp', epsilon => 1e9, every => '1 day', since => '2024-01-01', per_person => 1)
    FROM unnest('{first,second}'::text[]) AS name;
CALL dp_tick('first'); CALL dp_tick('second');
SELECT dp_counter_create('not_' || name, source => 'visits_dp', epsilon => 1e9, every => '1 day', per_person => 7, continues => name::regclass)
    FROM unnest('{first,second}'::text[]) AS name;
RESET ROLE;
UPDATE dp_counter_private.counters SET database = database::bigint - 1 WHERE counter::text ~ '(first|second)$';
SET ROLE copies_steward;
SELECT dp_counter_resume('not_first');
SELECT dp_counter_drop('not_first');
SELECT dp_counter_create('right', source => 'visits_dp', epsilon => 1e9, every => '1 day', per_person => 2, continues => 'first');
SELECT dp_counter_resume('first');
SELECT dp_counter_create('right', source => 'visits_dp', epsilon => 1e9, every => '1 day', per_person => 2, continues => 'first');
CALL dp_tick('right');
SELECT dp_counter_drop('right'), dp_counter_drop('first');
-- Dropped before it is resumed it gives nothing back: the original may have used that up.
SELECT dp_counter_drop('not_second');
SELECT dp_counter_resume('second');
SELECT dp_counter_create('right', source => 'visits_dp', epsilon => 1e9, every => '1 day', per_person => 2, continues => 'second');
SELECT dp_counter_drop('second');
RESET ROLE;
SELECT count(*) AS tallies FROM dp_counter_private.tallies WHERE number NOT IN (SELECT number FROM dp_counter_private.counters);

SELECT dp_counter_drop('days'), dp_counter_drop('weeks'), dp_source_drop('visits_dp'), dp_source_drop('lives_dp'),
    dp_budget_drop('budget'), dp_budget_drop('life');
DROP SCHEMA copies CASCADE;
DROP ROLE copies_steward, copies_clock;
