-- What a bound keeps at most, as reports released it: dp_counter_plan and the COMMENT say the same. At epsilon 1e9 it is exact.
\set VERBOSITY terse
CREATE SCHEMA kept_events;
SET search_path = kept_events, public;
SET client_min_messages = warning;
CREATE ROLE kept_reader;
GRANT USAGE ON SCHEMA kept_events TO kept_reader;
SELECT dp_budget_create('people', 1e12);
-- 40 persons with 1 event, 30 with 2, 20 with 3, 10 with 10: 260 events; the first of each is flu
CREATE TABLE events AS
SELECT person, date '2024-01-01' + n AS at, n = 1 AS flu, 5 AS cents FROM generate_series(1, 100) AS person,
    generate_series(1, CASE WHEN person <= 40 THEN 1 WHEN person <= 70 THEN 2 WHEN person <= 90 THEN 3 ELSE 10 END) AS n;
CREATE VIEW events_dp AS SELECT * FROM events;
SELECT dp_source_create('events_dp', 'people', 'person', 'at');
CREATE FUNCTION declare(name text, per_person integer, event text DEFAULT NULL, persons boolean DEFAULT false) RETURNS regclass
    LANGUAGE sql AS $$
    SELECT dp_counter_create(name, 'events_dp', 0.5, '1 day', '2024-01-01', 100, event => event, per_person => per_person,
        persons => persons, cumulative => false) $$;
-- what the plan says, without the day; and whether the COMMENT ends with that, and is the guarantee besides
CREATE FUNCTION said() RETURNS TABLE (counter regclass, kept text, comment_agrees boolean) LANGUAGE sql AS $$
    SELECT c.counter, regexp_replace(p.kept, '\d{4}-\d\d-\d\d', 'a day'), obj_description(c.counter, 'pg_class') = concat_ws(' ',
        p.guarantee, p.kept)
    FROM dp_counters AS c, LATERAL (SELECT DISTINCT kept, guarantee FROM dp_counter_plan(c.counter)) AS p
        WHERE c.counter::text ~ '^(two|three|twelve|flu|persons|commented)' ORDER BY c.counter::text COLLATE "C" $$;
SELECT declare('two', 2), declare('three', 3), declare('twelve', 12), declare('flu', 1, 'flu'), declare('persons', NULL, persons => true),
    declare('persons_3', 3, persons => true), declare('commented', 3),
    dp_counter_create('cents', 'events_dp', 0.5, '1 day', '2024-01-01', 100, sum => 'cents', upper => 9, per_person => 3,
        cumulative => false),
    dp_counter_create('grouped', 'events_dp', 0.5, '1 day', '2024-01-01', 100, by => 'flu', groups => '{true}', per_person => 3,
        cumulative => false),
    dp_counter_create('of_others', 'events_dp', 0.5, '1 day', '2024-01-01', 100, by => 'cents', groups => '{5}', others => '6',
        sum => 'cents', upper => 9, per_person => 3, cumulative => false);
COMMENT ON VIEW commented IS 'my own words';
SELECT * FROM said();
-- a suggestion, of one bound: 3 keeps 190 of 260; a smaller one keeps no more, a larger one no less
CALL dp_source_suggest('events_dp', 'suggested', 1e9, 0.1, '100 days', since => '2024-01-01', until => '2024-04-10');
SELECT per_person, round(kept_at_most::numeric, 4) AS kept, most FROM suggested;
SELECT * FROM said();
SELECT obj_description('commented'::regclass, 'pg_class');
-- one of an amount says nothing about events; contributions say it for all bounds up to `most`, also of an event
CALL dp_source_suggest('events_dp', 'suggested_upper', 1e9, 0.5, '1 day', sum => 'cents', per_person => 3, since => '2024-01-01',
    until => '2024-04-10');
SELECT upper, round(kept_at_most::numeric, 4) AS kept FROM suggested_upper;
SELECT count(*) FROM said() WHERE kept ~ 'about 7' AND comment_agrees;
CALL dp_source_contributions('events_dp', 'of_all', 1e9);
CALL dp_source_contributions('events_dp', 'of_flu', 1e9, event => 'flu', most => 1);
SELECT events, persons, round(kept_at_most::numeric, 4) AS kept, abs(kept_low - kept_at_most) < 1e-6
    AND abs(kept_high - kept_at_most) < 1e-6 AS is_exact FROM of_all WHERE events IN (1, 2, 3, 4, 9, 10, 20, 21) ORDER BY events;
SELECT * FROM said();
-- of persons with more events than a report looks at it says the least: 9 of each, not 10, so that 3 keep no more than 76 %
CALL dp_source_contributions('events_dp', 'of_few_events', 1e9, most => 8);
SELECT kept FROM said() WHERE counter = 'three'::regclass;
CALL dp_source_contributions('events_dp', 'of_all_events', 1e9);
-- a later suggestion, of another bound, leaves the others
CALL dp_source_suggest('events_dp', 'suggested_again', 1e9, 0.001, '1 day', since => '2024-01-01', until => '2024-04-10');
SELECT per_person, round(kept_at_most::numeric, 4) AS kept, most FROM suggested_again;
SELECT count(*) FROM said() WHERE kept ~ 'about (62|73)' AND comment_agrees;
-- where too many have more than `most` events, the shares are NULL, and what was known stays
CALL dp_source_contributions('events_dp', 'of_few', 1e9, most => 1);
TABLE of_few ORDER BY events;
SELECT count(*) FROM said() WHERE kept ~ 'about' AND comment_agrees;
-- a new counter, one of another role's to read, and another release: with noise there is an interval
SELECT declare('three_more', 3);
GRANT SELECT ON three_more TO kept_reader;
SET ROLE kept_reader;
SELECT DISTINCT kept ~ '^The bound keeps at most about 73 % of the events that a report has read \(with 95 % confidence at most 74 %, released on 20' AS reads
    FROM dp_counter_plan('three_more');
SELECT count(*) FROM dp_counter_private.contributions;
RESET ROLE;
CALL dp_source_contributions('events_dp', 'of_all_again', 1, most => 10);
SELECT count(*) AS of_two_releases FROM dp_counter_private.contributions;
-- noise does not take the place of what is known
SELECT * FROM said();
SELECT DISTINCT counter, regexp_replace(kept, '^.*\d{4}-\d\d-\d\d\)', '...') AS kept FROM unnest('{cents,grouped,of_others}'::text[]) AS counter,
    dp_counter_plan(counter::regclass) ORDER BY counter;
DELETE FROM dp_counter_private.contributions WHERE event = 0;
-- (at epsilon 2 nothing is said of the bound of 12 with a probability of 0.3 %, that of a number of events near 0)
CALL dp_source_contributions('events_dp', 'of_all_at_last', 20);
SELECT bool_and(kept ~ '^The bound keeps at most about \d+ % of the events that a report has read \(with 95 % confidence at most \d+ %, released on a day\)\.$'
    OR kept IS NULL), bool_and(comment_agrees) FROM said() WHERE counter <> 'commented'::regclass;
-- vouching writes the COMMENTs anew, as they were
SELECT dp_source_create('events_dp', 'people', 'person', 'at', person_wise => true);
SELECT bool_and(comment_agrees) FROM said() WHERE counter <> 'commented'::regclass;
-- it goes with the source
CREATE TABLE loaded AS TABLE events;
DROP TABLE events CASCADE;
SELECT count(*) FROM dp_counter_private.contributions;
SELECT DISTINCT kept, guarantee FROM dp_counter_plan('two');
CREATE VIEW events_dp AS SELECT * FROM loaded;
SELECT dp_source_create('events_dp', 'people', 'person', 'at');
SELECT * FROM said() WHERE counter = 'two'::regclass;
SELECT count(dp_counter_drop(counter)) FROM dp_counters WHERE source = 'events_dp'::regclass;
CALL dp_source_contributions('events_dp', 'of_all_once_more', 1e9);
SELECT count(*) FROM dp_counter_private.contributions;
SELECT dp_source_drop('events_dp');
SELECT count(*) FROM dp_counter_private.contributions;
DROP VIEW events_dp;
SELECT dp_budget_drop('people');
DROP SCHEMA kept_events CASCADE;
DROP ROLE kept_reader;
