-- Budgets that renew: per, own windows, charges for ranges of the rows' times, and what counters and contributions charge.
CREATE SCHEMA renewal_budgets;
CREATE ROLE renewal_steward;
CREATE ROLE renewal_stranger;
GRANT USAGE, CREATE ON SCHEMA renewal_budgets TO renewal_steward;
GRANT USAGE ON SCHEMA renewal_budgets TO renewal_stranger;
SET search_path = renewal_budgets, public;
SET TIME ZONE 'UTC';
SET DateStyle = ISO;

-- per: whole days or weeks
DELETE FROM dp_counter_private.window_key; -- that of earlier tests, whose budgets are gone
SELECT dp_budget_create('b', 1.0, per => '1 month');
SELECT dp_budget_create('b', 1.0, per => '1 year 5 days');
SELECT dp_budget_create('b', 1.0, per => '24 hours');
SELECT dp_budget_create('b', 1.0, per => '1 day 1 second');
SELECT dp_budget_create('b', 1.0, per => '0');
SELECT dp_budget_create('b', 1.0, per => '1 week -7 days');
SELECT dp_budget_create('b', 1.0, per => '-365 days');
SELECT dp_budget_create('b', 1.0, per => '36526 days');
SET ROLE renewal_steward;
SELECT dp_budget_create('b', 1.0, per => '7 days');
SELECT dp_budget_create('fortnight', 1.0, per => '2 weeks');
SELECT dp_budget_create('century', 1.0, per => '36525 days');
SELECT dp_budget_create('day', 1.0, '1 day');
SELECT dp_budget_create('life', 1.0, per => NULL);
SELECT budget, epsilon, per, spent_past, spent, remaining FROM dp_budgets ORDER BY budget::text;
SELECT * FROM dp_counter_private.window_key;
RESET ROLE;
SELECT count(*), min(length(key)) FROM dp_counter_private.window_key;
SELECT count(*) FROM dp_counter_private.window_key WHERE key = decode(repeat('00', 32), 'hex');
INSERT INTO dp_counter_private.window_key (key) SELECT key FROM dp_counter_private.window_key;

-- what a charge to it needs
SET ROLE renewal_steward;
CALL dp_budget_spend('b', 0.1, 'a table');
CALL dp_budget_spend('b', 0.1, 'a table', since => '2024-01-01');
CALL dp_budget_spend('b', 0.1, 'a table', until => '2024-01-01');
\set VERBOSITY terse
CALL dp_budget_spend('b', 0.1, 'a table', since => timestamptz '2024-01-01', until => 'infinity');
CALL dp_budget_spend('b', 0.1, 'a table', since => '2024-01-01', until => 5);
\set VERBOSITY default
CALL dp_budget_spend('b', 0.1, 'a table', since => 'some day', until => 'infinity');
CALL dp_budget_spend('b', 0.1, 'a table', since => '2024-01-01', until => '2024-01-01');
CALL dp_budget_spend('b', 0.1, 'a table', since => 'infinity', until => '-infinity');
CALL dp_budget_spend('life', 0.1, 'a table', since => '2024-01-01', until => '2024-02-01');
CALL dp_budget_spend('life', 0.1, 'a table', until => 'infinity');
CALL dp_budget_spend('life', 0.1, 'a table');
SELECT purpose, epsilon, since, until, role, spent_at <= now() AS past FROM life;

-- the sweep: seven days that meet both charges lose both, however short they are
CALL dp_budget_spend('b', 0.6, 'ten days', since => '2024-01-01', until => date '2024-01-11');
CALL dp_budget_spend('b', 0.6, 'a day too early', since => '2024-01-17', until => '2024-01-18');
CALL dp_budget_spend('b', 0.6, 'a microsecond too early', since => '2024-01-17 23:59:59.999999', until => '2024-01-18');
CALL dp_budget_spend('b', 0.6, 'a microsecond too late', since => '2023-12-24', until => '2023-12-25 00:00:00.000001');
CALL dp_budget_spend('b', 0.6, 'a week before', since => '2023-12-24', until => '2023-12-25');
CALL dp_budget_spend('b', 0.6, 'a week after', since => '2024-01-18', until => '2024-01-20');
CALL dp_budget_spend('b', 0.4, 'for ever', since => '-infinity', until => 'infinity');
CALL dp_budget_spend('b', 0.00000000000000000001, 'the least', since => '2024-01-12', until => '2024-01-13');
CALL dp_budget_spend('b', 0.5, 'from the end on', since => '2024-01-20', until => 'infinity');
CALL dp_budget_spend('b', 0.5, 'from the end on', since => '2024-01-27', until => '2024-01-28');
CALL dp_budget_spend('b', 0.6, 'from the end on', since => '2024-01-27', until => '2024-01-28');
CALL dp_budget_spend('b', 1.1, 'more than all', since => '2030-01-27', until => '2030-01-28');
SELECT purpose, epsilon, since, until, role FROM b ORDER BY spent_at;
-- past, and from now on
SELECT dp_budget_create('c', 1.0, per => '365 days');
CALL dp_budget_spend('c', 0.75, 'long ago', since => '-infinity', until => '2010-01-01');
SELECT spent_past, spent, remaining FROM dp_budgets WHERE budget = 'c'::regclass;
CALL dp_budget_spend('c', 0.5, 'in the future', since => '2999-01-01', until => '3001-01-01');
CALL dp_budget_spend('c', 0.125, 'in the future', since => '2999-01-01', until => '2999-01-02');
CALL dp_budget_spend('c', 0.125, 'still there', since => '2012-01-01', until => 'infinity');
CALL dp_budget_spend('c', 0.25, 'later', since => '2012-01-01', until => '2013-01-01');
SELECT spent_past, spent, remaining FROM dp_budgets WHERE budget = 'c'::regclass;
CALL dp_budget_spend('c', 0.251, 'from now on', since => '2998-01-01', until => 'infinity');
CALL dp_budget_spend('c', 0.25, 'from now on', since => now()::timestamp, until => 'infinity');
SELECT spent_past, spent, remaining FROM dp_budgets WHERE budget = 'c'::regclass;
SELECT dp_budget_create('ahead', 1.0, per => '365 days'); -- no window that is over loses it
CALL dp_budget_spend('ahead', 0.5, 'from tomorrow on', since => now()::timestamp + interval '1 day', until => 'infinity');
SELECT spent_past, spent, remaining FROM dp_budgets WHERE budget = 'ahead'::regclass;
SELECT dp_budget_drop('ahead');
-- now is that of the rows: of a timestamptz UTC's, else the session's
CREATE TABLE instants_rows (person integer, at timestamptz, local timestamp);
CREATE VIEW instants_dp AS SELECT * FROM instants_rows;
CREATE VIEW locals_dp AS SELECT * FROM instants_rows;
SELECT dp_budget_create('instants', 1, per => '1 day'), dp_budget_create('locals', 1, per => '1 day');
SELECT dp_source_create('instants_dp', 'instants', 'person', 'at'), dp_source_create('locals_dp', 'locals', 'person', 'local');
DO $$
DECLARE
    utc constant timestamp := now() AT TIME ZONE 'UTC';
BEGIN
    CALL dp_budget_spend('instants', 0.25, 'a day', since => utc - interval '30 hours', until => utc - interval '26 hours');
    CALL dp_budget_spend('locals', 0.25, 'a day', since => utc - interval '30 hours', until => utc - interval '26 hours');
END $$;
SET TimeZone = 'Etc/GMT+12';
SELECT budget, spent_past, spent FROM dp_budgets WHERE budget IN ('instants'::regclass, 'locals'::regclass) ORDER BY budget::text;
SET TimeZone = 'Etc/GMT-14';
SELECT budget, spent_past, spent FROM dp_budgets WHERE budget IN ('instants'::regclass, 'locals'::regclass) ORDER BY budget::text;
SET TimeZone = 'UTC';
SELECT dp_source_drop('instants_dp'), dp_source_drop('locals_dp'), dp_budget_drop('instants'), dp_budget_drop('locals');
-- the ends of time
SELECT dp_budget_create('d', 1.0, per => '36525 days');
CALL dp_budget_spend('d', 0.25, 'the first day', since => '4713-01-01 BC', until => '4713-01-02 BC');
CALL dp_budget_spend('d', 0.25, 'the last day', since => '294276-12-31', until => 'infinity');
CALL dp_budget_spend('d', 1, 'the last day', since => '294276-12-30', until => '294276-12-31 23:59:59.999999');
SELECT purpose, since, until FROM d ORDER BY spent_at;
SELECT spent_past, spent, remaining FROM dp_budgets WHERE budget = 'd'::regclass;
RESET ROLE;

-- the sweep against brute force: 50 random sets of charges for whole days, each with 5 more. Ends are at midnights, so what a
-- window loses changes there: windows that begin at noon see all of it.
CREATE TABLE days (person text, at date);
CREATE VIEW days_dp AS SELECT * FROM days;
SELECT dp_budget_create('swept', 1.0, per => '5 days');
SELECT dp_source_create('days_dp', budget => 'swept', person => 'person', at => 'at');
CREATE TABLE seen (accepted boolean, agrees boolean, spent_agrees boolean, from_agrees boolean, left_agrees boolean);
CREATE TABLE windows_from (s timestamp, meets boolean, lost numeric);
DO $$
DECLARE
    swept bigint := (SELECT number FROM dp_counter_private.budgets WHERE budget = 'swept'::regclass);
    origin date := date '2000-01-01';
    first date; after date; wanted numeric; most numeric; greatest_loss numeric; remains boolean; message text; detail text; enough date;
BEGIN
    FOR i IN 1 .. 50 LOOP
        DELETE FROM dp_counter_private.budget_entries WHERE budget = swept;
        UPDATE dp_counter_private.budgets SET last_entry = NULL WHERE number = swept;
        INSERT INTO dp_counter_private.budget_entries
        SELECT e, swept, NULL, 'random', ceil(random() * 3) / 10, CASE WHEN random() < 0.1 THEN '-infinity' ELSE origin + a END,
               CASE WHEN random() < 0.1 THEN 'infinity' ELSE origin + a + ceil(random() * 6)::int END,
               CASE WHEN random() < 0.3 THEN origin + floor(random() * 40)::int ELSE '-infinity' END,
               CASE WHEN random() < 0.3 THEN origin + floor(random() * 40)::int ELSE 'infinity' END, 'me', 'me', now(), false
        FROM (SELECT -e AS e, floor(random() * 40)::int AS a FROM generate_series(1, 1 + i % 9) AS e) AS r;
        FOR j IN 1 .. 5 LOOP
            first := origin + floor(random() * 40)::int;
            after := first + ceil(random() * 9)::int;
            wanted := ceil(random() * 9) / 10;
            DELETE FROM windows_from;
            INSERT INTO windows_from
            SELECT f.s, f.s + interval '5 days' > first AND f.s < after, coalesce(sum(e.epsilon), 0)
            FROM generate_series(origin - 10.5 * interval '1 day', origin + 70.5 * interval '1 day', interval '12 hours') AS f (s)
                 LEFT JOIN dp_counter_private.budget_entries AS e ON e.budget = swept AND e.refunded_at IS NULL AND e.until > f.s
                     AND e.since < f.s + interval '5 days' AND e.begins_from <= f.s AND e.begins_before > f.s
            GROUP BY f.s;
            SELECT max(lost) FILTER (WHERE meets), max(lost) INTO most, greatest_loss FROM windows_from;
            enough := (SELECT s + interval '5.5 days' FROM windows_from WHERE meets AND lost + wanted > 1 ORDER BY s DESC LIMIT 1);
            message := NULL;
            remains := dp_budget_left('swept', first, after) = 1 - most;
            BEGIN
                PERFORM dp_counter_create('one_more', source => 'days_dp', epsilon => wanted, horizon => after - first, every => '1 day',
                    since => first, cumulative => true, per_person => 1);
                INSERT INTO seen VALUES (true, most + wanted <= 1,
                    (SELECT greatest(spent_past, spent) = greatest(most + wanted, greatest_loss)
                                                                    FROM dp_budgets WHERE budget = 'swept'::regclass), true, remains);
                PERFORM dp_counter_drop('one_more');
            EXCEPTION WHEN configuration_limit_exceeded THEN
                GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
            END;
            IF message IS NOT NULL THEN
                INSERT INTO seen VALUES (false, most + wanted > 1, message ~ format('epsilon of %s left', 1 - most),
                                         substring(detail FROM 'from (\S+) \S+ on')::date IS NOT DISTINCT FROM CASE WHEN enough < after
                                             THEN enough END, remains);
            END IF;
        END LOOP;
    END LOOP;
    DELETE FROM dp_counter_private.budget_entries WHERE budget = swept;
    UPDATE dp_counter_private.budgets SET last_entry = NULL WHERE number = swept;
END $$;
SELECT bool_and(agrees) AS agrees, bool_and(spent_agrees) AS spent_agrees, bool_and(from_agrees) AS from_agrees,
    bool_and(left_agrees) AS left_agrees,
       count(*) FILTER (WHERE accepted) > 20 AS some_accepted, count(*) FILTER (WHERE NOT accepted) > 20 AS some_refused FROM seen;

-- what is left for times of which some are over: what dp_budgets says of times from now on is no answer
SELECT dp_budget_create('history', 3.0, per => '365 days');
CALL dp_budget_spend('history', 2.82, 'a book', since => '2009-01-01', until => '2013-01-01');
SELECT remaining FROM dp_budgets WHERE budget = 'history'::regclass;
SELECT dp_budget_left('history', '2010-01-01', '2011-01-01') AS in_2010, dp_budget_left('history', '2014-01-01') AS later,
    dp_budget_left('history', until => '2008-01-01') AS earlier,
       dp_budget_left('history', '2013-12-31') AS reaches_in, dp_budget_left('history') AS "all";
-- the plan of a counter says it for its own times
CALL dp_budget_spend('swept', 0.75, 'a book', since => '2009-01-01', until => '2013-01-01');
SELECT dp_counter_create('of_2010', 'days_dp', 0.125, '1 day', '2010-01-01', horizon => 30, per_person => 1, cumulative => false),
    dp_counter_create('of_2020', 'days_dp', 0.125, '1 day', '2020-01-01', horizon => 30, per_person => 1, cumulative => false);
SELECT counter, remaining FROM unnest('{of_2010,of_2020}'::regclass[]) AS counter, dp_counter_plan(counter) WHERE periods = 1;
SELECT dp_counter_drop('of_2010'), dp_counter_drop('of_2020');
SELECT dp_budget_create('decade', 1.0, within => 'history', since => '2020-01-01', until => '2030-01-01'),
    dp_budget_create('whole_life', 2.5);
CALL dp_budget_spend('decade', 0.25, 'a table', since => '2022-01-01', until => '2023-01-01');
CALL dp_budget_spend('whole_life', 1, 'a table');
SELECT dp_budget_left('decade') AS "all", dp_budget_left('decade', '2025-01-01') AS later, dp_budget_left('whole_life') AS life;
SELECT dp_budget_left('decade', '2010-01-01');
SELECT dp_budget_left('whole_life', '2010-01-01');
SELECT dp_budget_left('history', '2010-01-01', '2010-01-01');
SELECT dp_budget_left('days_dp');
SELECT dp_budget_left(NULL);
CREATE ROLE left_stranger; GRANT USAGE ON SCHEMA renewal_budgets TO left_stranger;
SET ROLE left_stranger; SELECT dp_budget_left('renewal_budgets.history'); RESET ROLE;
GRANT INSERT ON history TO left_stranger;
SET ROLE left_stranger; SELECT dp_budget_left('renewal_budgets.history'); RESET ROLE;
GRANT SELECT ON history TO left_stranger;
SET ROLE left_stranger; SELECT dp_budget_left('renewal_budgets.history', '2010-01-01'); RESET ROLE;
REVOKE ALL ON history FROM left_stranger; REVOKE ALL ON SCHEMA renewal_budgets FROM left_stranger; DROP ROLE left_stranger;
SELECT dp_budget_drop('decade'), dp_budget_drop('whole_life'); SELECT dp_budget_drop('history');

-- own windows, against plain SQL: floor((day - phase) / per), the phase from the first 8 bytes of a SHA-256 of key and person
CREATE FUNCTION phase(person bytea, per int) RETURNS numeric LANGUAGE sql STABLE AS $$
    SELECT (('x' || substr(h, 1, 8))::bit(32)::bigint * 4294967296.0 + ('x' || substr(h, 9, 8))::bit(32)::bigint) % per
    FROM (SELECT encode(sha256(key || person), 'hex') AS h FROM dp_counter_private.window_key) AS k $$;
CREATE TABLE times (at timestamptz);
INSERT INTO times SELECT timestamptz '1999-12-20' + i * interval '7 hours' FROM generate_series(1, 60) AS i;
INSERT INTO times VALUES ('4713-01-01 BC'), ('294276-12-31 23:59:59'), ('2000-01-01'), ('1999-12-31 23:59:59.999999'), ('2024-02-29 12:00');
-- a budget for each type
DO $$
DECLARE person text; at text; name text;
BEGIN
    FOR person, at IN VALUES ('int8', 'date'), ('text', 'timestamp'), ('uuid', 'timestamptz'), ('bytea', 'timestamptz') LOOP
        name := 'of_' || person;
        PERFORM dp_budget_create(name, 1, per => '7 days');
        EXECUTE format('CREATE TABLE %I (person %s, at %s); CREATE VIEW %I AS SELECT * FROM %1$I', 'rows_' || person, person, at,
            name || '_dp');
        PERFORM dp_source_create((name || '_dp')::regclass, budget => name::regclass, person => 'person', at => 'at');
    END LOOP;
END $$;
SELECT p % 13 AS phase_mod_13, count(*) > 0 AS some FROM (SELECT phase(int8send(i), 13) AS p FROM generate_series(1, 1000) AS i) AS r
    GROUP BY 1 ORDER BY 1;
SELECT bool_and(dp_own_window('of_int8', p, at::date) = floor((at::date - date '2000-01-01' - phase(int8send(p), 7)) / 7)) AS int8,
       bool_and(dp_own_window('of_int8', p::int, at::date) = dp_own_window('of_int8', p, at::date)) AS int4,
       bool_and(dp_own_window('of_int8', p::smallint, at::date) = dp_own_window('of_int8', p, at::date)) AS int2,
       bool_and(dp_own_window('of_text', 'p' || p,
           at::timestamp) = floor((at::date - date '2000-01-01' - phase(convert_to('p' || p, 'UTF8'), 7)) / 7)) AS text,
       bool_and(dp_own_window('of_text', ('p' || p)::varchar(5), at::timestamp) = dp_own_window('of_text', 'p' || p,
           at::timestamp)) AS varchar,
       bool_and(dp_own_window('of_uuid', md5(p::text)::uuid,
           at) = floor((at::date - date '2000-01-01' - phase(decode(md5(p::text), 'hex'), 7)) / 7)) AS uuid,
       bool_and(dp_own_window('of_bytea', int8send(p), at) = dp_own_window('of_int8', p, at::date)) AS bytea
FROM times, generate_series(-20::bigint, 20) AS p;
-- of a timestamptz, days are those of UTC
SET TIME ZONE 'Pacific/Auckland';
SELECT count(DISTINCT dp_own_window('of_bytea', int8send(1), at)) AS windows
    FROM (VALUES (timestamptz '2024-01-01 00:00Z'), ('2024-01-01 23:59Z'), ('2024-01-08 00:00Z')) AS t (at);
SET TIME ZONE 'UTC';
-- windows of budgets of equal length are equal: a new budget has them too
SELECT bool_and(dp_own_window('of_int8', p, date '2024-01-01') = dp_own_window('of_bytea', int8send(p), timestamptz '2024-01-01'))
    FROM generate_series(1::bigint, 100) AS p;
-- literals, NULL, infinity
SELECT dp_own_window('of_text', 'p1', '2024-01-01') = dp_own_window('of_text', text 'p1', timestamp '2024-01-01') AS same,
       dp_own_window('of_int8', '-5', '2024-01-01') = dp_own_window('of_int8', -5, date '2024-01-01') AS same;
SELECT dp_own_window('of_text', NULL, '2024-01-01'), dp_own_window('of_text', NULL::text, '2024-01-01'),
    dp_own_window('of_text', 'p', NULL),
       dp_own_window('of_text', 'p', 'infinity'), dp_own_window('of_int8', 1, '-infinity'), dp_own_window('of_int8', 1, date 'infinity'),
           dp_own_window('of_uuid', NULL, 'infinity');
-- what is not a window
SELECT dp_own_window('of_text', 42, timestamp '2024-01-01');
SELECT dp_own_window('of_int8', text '42', date '2024-01-01');
SELECT dp_own_window('of_int8', 42, timestamp '2024-01-01');
SELECT dp_own_window('of_text', 'p', date '2024-01-01');
SELECT dp_own_window('of_text', 'p', timestamptz '2024-01-01');
SELECT dp_own_window('of_int8', 'p', '2024-01-01');
SELECT dp_own_window('c', 'p', date '2024-01-01');
SELECT dp_own_window('life', 'p', date '2024-01-01');
SELECT dp_own_window('days', 'p', date '2024-01-01');
SELECT dp_own_window(NULL, 'p', date '2024-01-01');
GRANT SELECT ON of_int8 TO renewal_stranger;
SET ROLE renewal_stranger;
SELECT dp_own_window('of_int8', 1, date '2024-01-01');
SELECT dp_own_window('c', 1, date '2024-01-01');
RESET ROLE;

-- one type of person and one of time for all sources of a budget
CREATE VIEW other_person AS SELECT person::text AS person, at FROM rows_int8;
CREATE VIEW other_time AS SELECT person, at::timestamp AS at FROM rows_int8;
CREATE VIEW narrow AS SELECT person::smallint AS person, at FROM rows_int8;
SELECT dp_source_create('other_person', budget => 'of_int8', person => 'person', at => 'at');
SELECT dp_source_create('other_time', budget => 'of_int8', person => 'person', at => 'at');
SELECT dp_source_create('narrow', budget => 'of_int8', person => 'person', at => 'at');
SELECT dp_source_drop('narrow');
SELECT dp_source_drop('of_int8_dp');
SELECT dp_source_create('other_person', budget => 'of_int8', person => 'person', at => 'at');
SELECT dp_source_create('other_person', budget => 'life', person => 'person', at => 'at');
SELECT dp_source_create('other_time', budget => 'life', person => 'person', at => 'at');
SELECT dp_source_create('of_int8_dp', budget => 'of_int8', person => 'person', at => 'at');

-- person-wise is less than window-wise
CREATE VIEW joined_dp AS SELECT r.person, r.at FROM rows_int8 AS r JOIN rows_int8 AS s USING (person, at);
SELECT dp_source_create('joined_dp', budget => 'of_int8', person => 'person', at => 'at');
SELECT dp_source_create('joined_dp', budget => 'of_int8', person => 'person', at => 'at', person_wise => true);
SELECT dp_source_create('joined_dp', budget => 'of_int8', person => 'person', at => 'at', person_wise => true, window_wise => true);
SELECT dp_source_drop('joined_dp');
SELECT dp_source_create('joined_dp', budget => 'of_int8', person => 'person', at => 'at', window_wise => true);
SELECT dp_source_create('narrow', budget => 'of_int8', person => 'person', at => 'at', person_wise => true);
-- words are changed of a source that has counters, too
SELECT dp_source_create('narrow', budget => 'of_int8', person => 'person', at => 'at', time_zone => 'Asia/Tokyo');
SELECT dp_counter_create('narrow_counter', source => 'narrow', epsilon => 0.1, horizon => 3, every => '1 day', since => '2024-01-01',
    per_person => 1);
SELECT source, person_wise, window_wise, time_zone FROM dp_sources WHERE budget = 'of_int8'::regclass ORDER BY source::text;
SELECT dp_source_create('narrow', budget => 'of_int8', person => 'person', at => 'at');
SELECT dp_source_create('narrow', budget => 'of_text', person => 'person', at => 'at', window_wise => true);
SELECT dp_source_create('narrow', budget => 'of_int8', person => 'person', at => 'at', time_zone => 'UTC', window_wise => true);
SELECT dp_source_create('narrow', budget => 'of_int8', person => 'person', at => 'at', window_wise => true);
SELECT dp_source_create('narrow', budget => 'of_int8', person => 'person', at => 'at', time_zone => 'Asia/Tokyo', window_wise => true);
SELECT source, person_wise, window_wise, time_zone FROM dp_sources WHERE budget = 'of_int8'::regclass ORDER BY source::text;
-- once it is no longer simple, only such a source goes on
CREATE VIEW simple_dp AS SELECT person, at FROM rows_int8;
SELECT dp_source_create('simple_dp', budget => 'of_int8', person => 'person', at => 'at');
CREATE OR REPLACE VIEW simple_dp AS SELECT r.person, r.at FROM rows_int8 AS r JOIN rows_int8 AS s USING (person, at);
CALL dp_source_contributions('simple_dp', 'out', 0.001, since => '2024-01-01', until => '2024-02-01');
SELECT dp_source_create('simple_dp', budget => 'of_int8', person => 'person', at => 'at', window_wise => true);
CALL dp_source_contributions('simple_dp', 'out', 0.001, since => '2024-01-01', until => '2024-02-01');
DROP TABLE out;
-- window_wise covers later queries of the view, too, until a declaration omits it
SELECT dp_source_create('simple_dp', budget => 'of_int8', person => 'person', at => 'at');
CREATE OR REPLACE VIEW simple_dp AS SELECT person, at FROM rows_int8;
SELECT dp_source_create('simple_dp', budget => 'of_int8', person => 'person', at => 'at');
SELECT window_wise FROM dp_sources WHERE source = 'simple_dp'::regclass;
-- a life takes both
SELECT dp_source_create('other_person', budget => 'life', person => 'person', at => 'at', window_wise => true);
SELECT dp_source_create('other_time', budget => 'life', person => 'person', at => 'at', person_wise => true);
SELECT source, person_wise, window_wise FROM dp_sources WHERE budget = 'life'::regclass ORDER BY source::text;

-- what counters are charged, and for which times
SELECT dp_budget_create('charged', 100, per => '365 days');
CREATE TABLE visits (person text, d date, t timestamp, z timestamptz);
INSERT INTO visits VALUES ('p', '2024-01-01', '2024-01-01', '2024-01-01');
CREATE FUNCTION declare(type text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM dp_budget_create('charged_' || type, 1, per => '365 days');
    EXECUTE format('CREATE VIEW visits_%s AS SELECT * FROM visits', type);
    PERFORM dp_source_create(('visits_' || type)::regclass, budget => ('charged_' || type)::regclass, person => 'person', at => type,
        time_zone => 'Asia/Tokyo');
    PERFORM dp_counter_create('months_' || type, source => ('visits_' || type)::regclass, epsilon => 0.5, horizon => 3,
        every => '1 month', since => '2024-01-31', cumulative => true, per_person => 1);
    PERFORM dp_counter_create('endless_' || type, source => ('visits_' || type)::regclass, epsilon => 0.25, every => '1 month',
        since => '2024-01-31', cumulative => false, per_person => 1);
END $$;
SELECT declare('d'), declare('t'), declare('z');
CREATE VIEW ledger AS SELECT * FROM charged_d UNION ALL SELECT * FROM charged_t UNION ALL SELECT * FROM charged_z;
SELECT purpose, since, until FROM ledger ORDER BY purpose;
-- an endless one beyond the rest, with the time from which on it fits
SELECT dp_counter_create('too_much', source => 'visits_z', epsilon => 0.5, every => '1 day', since => '2024-03-01', cumulative => false,
    per_person => 1);
SELECT dp_counter_create('too_much', source => 'visits_z', epsilon => 0.8, every => '1 day', since => '2024-03-01', cumulative => false,
    per_person => 1);
-- dropped before a step was closed: refunded
BEGIN;
SELECT dp_counter_drop('endless_z');
SELECT dp_counter_create('instead', source => 'visits_z', epsilon => 0.5, every => '1 day', since => '2024-03-01', cumulative => false,
    per_person => 1);
ROLLBACK;
-- after two steps: charged to the end of the second, also if the source goes with it
UPDATE dp_counter_private.source_counters SET "grace" = now() AT TIME ZONE 'Asia/Tokyo' - (since + 2 * every)
    WHERE number IN (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter::text ~ '_[dtz]$');
CALL dp_tick('visits_d');
CALL dp_tick('visits_t');
CALL dp_tick('visits_z');
SELECT counter, steps FROM dp_counters WHERE counter::text ~ '_[dtz]$' ORDER BY counter::text;
BEGIN;
SELECT dp_counter_drop('endless_d');
PREPARE TRANSACTION 'cut';
SELECT dp_counter_drop('endless_d'), dp_counter_drop('endless_t'), dp_counter_drop('endless_z');
SET client_min_messages = warning;
DROP VIEW months_t, months_d;
DROP VIEW months_z, visits_z;
RESET client_min_messages;
SELECT purpose, since, until, cut_from, cut_by = current_user AND cut_at BETWEEN spent_at AND now() AS cut FROM ledger ORDER BY purpose;
-- both count until the windows that they have in common are over
SELECT dp_counter_create('next', source => 'visits_t', epsilon => 0.5, every => '1 day', since => '2025-03-30', cumulative => false,
    per_person => 1);
SELECT dp_counter_create('next', source => 'visits_t', epsilon => 0.5, every => '1 day', since => '2025-03-31', cumulative => false,
    per_person => 1);
SELECT dp_counter_create('after', source => 'visits_d', epsilon => 1, every => '1 day', since => '2025-03-30', cumulative => false,
    per_person => 1);
SELECT dp_counter_create('after', source => 'visits_d', epsilon => 1, every => '1 day', since => '2025-03-31', cumulative => false,
    per_person => 1);
-- under a budget for life nothing ends
SELECT dp_counter_create('for_life', source => 'other_time', epsilon => 0.25, horizon => 2, every => '1 day', since => '2024-01-01',
    per_person => 1);
CALL dp_tick('for_life');
SELECT dp_counter_drop('for_life');
SELECT purpose, epsilon, since, until FROM life ORDER BY spent_at;

-- contributions: own windows that are wholly in the range
CREATE TABLE stays (person bigint, at date);
INSERT INTO stays SELECT p, date '2024-01-01' + d FROM generate_series(1, 60) AS p, generate_series(-40, 100) AS d
    WHERE (d + p) % (1 + p % 4) = 0;
INSERT INTO stays VALUES (NULL, '2024-01-10'), (1, NULL), (1, 'infinity'), (1, '-infinity'), (2, '2999-01-01');
CREATE VIEW stays_dp AS SELECT person, at, at::timestamp AS t, (at + interval '23 hours') AT TIME ZONE 'Pacific/Honolulu' AS z,
    person % 2 = 1 AS odd FROM stays;
DO $$ BEGIN FOR i IN 1 .. 3 LOOP EXECUTE format('CREATE VIEW %I AS SELECT * FROM stays_dp', 'stays_' || substr('dtz', i, 1)); END LOOP;
END $$;
SELECT dp_budget_create('of_d', 1e12, per => '10 days'), dp_budget_create('of_t', 1e12, per => '10 days'),
    dp_budget_create('of_z', 1e12, per => '10 days');
SELECT dp_source_create('stays_d', budget => 'of_d', person => 'person', at => 'at', time_zone => 'Pacific/Honolulu'),
       dp_source_create('stays_t', budget => 'of_t', person => 'person', at => 't', time_zone => 'Pacific/Honolulu'),
       dp_source_create('stays_z', budget => 'of_z', person => 'person', at => 'z', time_zone => 'Pacific/Honolulu', window_wise => true);
-- one call for several budgets: each has its own windows
SELECT count(DISTINCT dp_own_window(b, p, date '2024-01-01')) > 1 AS several, bool_and(dp_own_window(b, p, date '2024-01-01') = CASE b
    WHEN 'of_d'::regclass THEN dp_own_window('of_d', p, date '2024-01-01') ELSE dp_own_window('of_int8', p, date '2024-01-01') END) AS own
FROM unnest('{of_d,of_int8,of_d}'::regclass[]) AS b, generate_series(1::bigint, 20) AS p;
CREATE FUNCTION windows(first date, after date, odd_only boolean) RETURNS TABLE (events bigint, persons bigint) LANGUAGE sql AS $$
    SELECT events, count(*) FROM (
        SELECT count(*) AS events, phase(int8send(person), 10) + 10 * w AS begins
        FROM (SELECT person, dp_own_window('of_d', person, at) AS w FROM stays_d
              WHERE isfinite(at) AND person IS NOT NULL AND at >= first AND at < after AND (odd OR NOT odd_only)) AS r
        GROUP BY person, w) AS u
    WHERE date '2000-01-01' + begins::int >= first AND date '2000-01-01' + begins::int + 10 <= after
    GROUP BY events $$;
CALL dp_source_contributions('stays_d', 'd1', 1e9, most => 10, since => '2024-01-01', until => '2024-03-01');
CALL dp_source_contributions('stays_t', 't1', 1e9, most => 10, since => date '2024-01-01', until => date '2024-03-01');
CALL dp_source_contributions('stays_d', 'd2', 1e9, 'odd', most => 10, since => timestamp '2023-12-31 00:00:01',
    until => '2024-02-29 23:00');
SELECT (SELECT bool_and(coalesce(w.persons, 0) = d1.persons) FROM d1 LEFT JOIN windows('2024-01-01', '2024-03-01', false) AS w
    USING (events)) AS dates,
       (SELECT bool_and(coalesce(w.persons, 0) = t1.persons) FROM t1 LEFT JOIN windows('2024-01-01', '2024-03-01', false) AS w
           USING (events)) AS timestamps,
       (SELECT bool_and(coalesce(w.persons, 0) = d2.persons) FROM d2 LEFT JOIN windows('2024-01-01', '2024-02-29', true) AS w
           USING (events)) AS odd_only;
SELECT sum(persons) > 100 AS many FROM d1;
-- of a timestamptz at 23:00 in Honolulu, 9:00 of the next day in UTC: the range begins and ends at 10:00 in UTC
CALL dp_source_contributions('stays_z', 'z1', 1e9, most => 10, since => '2024-01-01', until => '2024-03-01');
SELECT bool_and(coalesce(w.persons, 0) = z1.persons) AS instants FROM z1 LEFT JOIN (
    SELECT events, count(*) AS persons FROM (
        SELECT count(*) AS events, phase(int8send(person), 10) + 10 * dp_own_window('of_z', person, z) AS begins FROM stays_z
        WHERE z >= '2024-01-01 10:00Z' AND z < '2024-03-01 10:00Z' AND person IS NOT NULL AND isfinite(at) GROUP BY person,
            dp_own_window('of_z', person, z)) AS u
    WHERE timestamp '2000-01-01' + begins * interval '1 day' >= '2024-01-01 10:00'
        AND timestamp '2000-01-11' + begins * interval '1 day' <= '2024-03-01 10:00'
    GROUP BY events) AS w USING (events);
-- until is now by default, since the beginning of time
CALL dp_source_contributions('stays_d', 'd3', 1e9, most => 10);
SELECT since, until <= now() AT TIME ZONE 'Pacific/Honolulu'
    AND until > now() AT TIME ZONE 'Pacific/Honolulu' - interval '1 hour' AS until_now FROM of_d WHERE purpose ~ 'd3';
CALL dp_source_contributions('stays_z', 'z3', 1e9, most => 10);
SELECT since, until <= now() AT TIME ZONE 'UTC' AND until > now() AT TIME ZONE 'UTC' - interval '1 hour' AS until_now FROM of_z
    WHERE purpose ~ 'z3';
SELECT bool_and(coalesce(w.persons, 0) = d3.persons) AS up_to_now FROM d3 LEFT JOIN windows('2023-01-01', '2024-12-31', false) AS w
    USING (events);
CALL dp_source_contributions('stays_d', 'd4', 1e9, since => '-infinity', until => 'infinity', most => 10);
SELECT (SELECT sum(persons) FROM d4) - (SELECT sum(persons) FROM d3) AS in_2999;
SELECT purpose, since, until FROM of_d WHERE purpose !~ 'd3' UNION ALL SELECT purpose, since, until FROM of_z WHERE purpose ~ 'z1'
    ORDER BY purpose;
CALL dp_source_contributions('stays_d', 'd5', 1e9, since => '2024-01-01', until => '2024-01-01');
\set VERBOSITY terse
CALL dp_source_contributions('stays_d', 'd5', 1e9, since => timestamptz '2024-01-01');
CALL dp_source_contributions('stays_d', 'd5', 1e9, until => true);
\set VERBOSITY default
CALL dp_source_contributions('narrow', 'd5', 2, until => '1999-01-01');
-- under a budget for life: persons, of the rows in the range
SELECT dp_budget_create('stays_life', 1e12);
CREATE VIEW stays_l AS SELECT person, at FROM stays;
CREATE VIEW stays_lt AS SELECT person, at::timestamp AS at FROM stays;
SELECT dp_source_create('stays_l', budget => 'stays_life', person => 'person', at => 'at'),
    dp_source_create('stays_lt', budget => 'stays_life', person => 'person', at => 'at');
CALL dp_source_contributions('stays_l', 'l1', 1e9, most => 20, since => '2024-01-01', until => '2024-01-16');
SELECT bool_and(coalesce(w.persons, 0) = l1.persons) AS persons, sum(l1.persons) FROM l1 LEFT JOIN
    (SELECT events, count(*) AS persons FROM (SELECT count(*) AS events FROM stays WHERE at >= '2024-01-01' AND at < '2024-01-16'
        AND person IS NOT NULL GROUP BY person) AS r GROUP BY events) AS w USING (events);
CALL dp_source_contributions('stays_lt', 'l3', 1e9, most => 20, since => '2023-12-31 00:00:01', until => '2024-01-16');
SELECT bool_and(l1.persons = l3.persons) AS same FROM l1 JOIN l3 USING (events);
-- of a life also less than a day
CALL dp_source_contributions('stays_l', 'hours', 1e9, most => 2, since => '2024-01-01 01:00', until => '2024-01-01 02:00');
CALL dp_source_contributions('stays_l', 'l2', 1e9, most => 200);
SELECT sum(persons) AS persons, sum(persons * events) = (SELECT count(*) FROM stays WHERE at < now() AND isfinite(at)
    AND person IS NOT NULL) AS all_events FROM l2;
SELECT purpose, since, until FROM stays_life ORDER BY purpose;

-- the role is that of the time of the charge
SET ROLE renewal_steward;
CALL dp_budget_spend('day', 0.1, 'by the steward', since => '2024-01-01', until => '2024-01-02');
RESET ROLE;
ALTER ROLE renewal_steward RENAME TO renewal_heir;
SELECT purpose, role, session_role = session_user AS of_session FROM day;
ALTER ROLE renewal_heir RENAME TO renewal_steward;

-- two in one window, one in another
SELECT dp_budget_create('apart', 1, per => '100 days');
CALL dp_budget_spend('apart', 0.25, 'January', since => '2024-01-01', until => '2024-01-02');
CALL dp_budget_spend('apart', 0.25, 'March', since => '2024-03-01', until => '2024-03-02');
CALL dp_budget_spend('apart', 0.375, 'later', since => '2025-03-01', until => '2025-03-02');

SET client_min_messages = warning;
DO $$
DECLARE doomed regclass;
BEGIN
    FOR doomed IN SELECT counter FROM dp_counters LOOP PERFORM dp_counter_drop(doomed); END LOOP;
    FOR doomed IN SELECT source FROM dp_sources LOOP PERFORM dp_source_drop(doomed); END LOOP;
    DROP VIEW ledger;
    CREATE TABLE spent_most AS SELECT 'renewal_budgets.' || budget::text AS name, epsilon, per, greatest(spent_past, spent) AS spent
        FROM dp_budgets WHERE budget IS NOT NULL;
    FOR doomed IN SELECT budget FROM dp_budgets WHERE budget IS NOT NULL LOOP PERFORM dp_budget_drop(doomed); END LOOP;
END $$;
SELECT count(*) FROM dp_counter_private.budget_entries WHERE NOT closed AND refunded_at IS NULL;
-- what was spent of each stays, with the window that has spent most
SELECT count(*) > 10 AS dropped, bool_and((d.epsilon, d.per, d.spent) IS NOT DISTINCT FROM (m.epsilon, m.per, m.spent)
    AND remaining IS NULL AND dropped_by = current_user) AS agree, count(DISTINCT m.spent) > 5 AS differ
FROM spent_most AS m LEFT JOIN dp_budgets AS d ON dropped_name = m.name;
SELECT spent FROM dp_budgets WHERE dropped_name = 'renewal_budgets.apart';
DROP SCHEMA renewal_budgets CASCADE;
DROP OWNED BY renewal_steward, renewal_stranger;
DROP ROLE renewal_steward, renewal_stranger;
