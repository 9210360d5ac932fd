-- dp_counter_end: a counter that counts nothing else, and keeps its releases, charge and comments, whatever becomes of its source.
\pset format unaligned
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE SCHEMA ended;
SET search_path = ended, public;
CREATE TYPE ward AS ENUM ('a', 'b');
CREATE TABLE visits (patient integer, at timestamptz, ward ward, days integer);
CREATE VIEW visits_dp AS SELECT * FROM visits;
-- 10 days
INSERT INTO visits SELECT i, '2025-01-01'::timestamptz + i * interval '1 hour', (ARRAY['a', 'b']::ward[])[1 + i % 2], i % 9
    FROM generate_series(0, 239) AS i;
SELECT dp_budget_create('years', 1e12, per => '365 days'), dp_budget_create('lives', 1e12);
SELECT dp_source_create('visits_dp', 'years', 'patient', 'at', 'Europe/Berlin');
CREATE VIEW stays_dp AS SELECT * FROM visits;
SELECT dp_source_create('stays_dp', 'lives', 'patient', 'at', 'UTC');
SELECT dp_counter_create('flow', 'visits_dp', 1e9, '1 day', '2025-01-01', 20, per_person => 2, by => 'ward', groups => '{a,b}');
SELECT dp_counter_create('mean', 'stays_dp', 1e9, '1 day', '2025-01-01', 20, per_person => 2, avg => 'days', upper => 9);
SELECT dp_counter_create('other', 'visits_dp', 1e9, '1 day', '2025-01-01', 20, per_person => 1),
    dp_counter_create('unticked', 'visits_dp', 1e9, '1 day', '2100-01-01', 20, per_person => 1);
CREATE ROLE ended_reader;
CREATE ROLE ended_clock;
GRANT USAGE ON SCHEMA ended TO ended_reader, ended_clock;
GRANT SELECT ON flow, mean TO ended_reader WITH GRANT OPTION;
GRANT UPDATE ON flow TO ended_clock;
COMMENT ON COLUMN flow.ward IS 'the ward';
-- A tick on the 8th of January at noon: 7 periods are over.
CREATE PROCEDURE tick_at(counter regclass, day timestamp) LANGUAGE plpgsql AS $$ BEGIN
    UPDATE dp_counter_private.source_counters AS s SET grace = now() AT TIME ZONE 'UTC' - day
        WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter = tick_at.counter);
    COMMIT;
    CALL dp_tick(counter);
END $$;

-- nothing was released
SELECT dp_counter_end('flow');
CALL tick_at('flow', '2025-01-08 12:00');
CALL tick_at('mean', '2025-01-08 12:00');
CALL tick_at('other', '2025-01-08 12:00');
CREATE TABLE before AS
SELECT c.oid, relname, relowner, relacl, reloptions, relkind, obj_description(c.oid) AS comment,
    ARRAY(SELECT (attname, atttypid, attacl, col_description(c.oid, attnum))::text FROM pg_attribute WHERE attrelid = c.oid
    ORDER BY attnum) AS columns
FROM pg_class c WHERE c.oid IN ('flow'::regclass, 'mean'::regclass);
CREATE TABLE released AS SELECT 'flow' AS counter, to_jsonb(f) AS release FROM flow AS f UNION ALL SELECT 'mean', to_jsonb(m)
    FROM mean AS m;
CREATE TABLE changes AS SELECT c.* FROM dp_counter_changes('flow', 3) AS c UNION ALL SELECT c.* FROM dp_counter_changes('mean', 3) AS c;
CREATE TABLE known AS SELECT * FROM dp_counters WHERE counter IN ('flow'::regclass, 'mean'::regclass);
CREATE FUNCTION secrets() RETURNS TABLE (counter regclass, tallies bigint, streams bigint, key integer) LANGUAGE sql AS $$
    SELECT c.counter::oid::regclass, (SELECT count(*) FROM dp_counter_private.tallies AS t WHERE t.number = c.number),
        (SELECT count(*) FROM dp_counter_private.streams AS t WHERE t.number = c.number), length(s.key)
    FROM dp_counter_private.counters AS c JOIN dp_counter_private.source_counters AS s USING (number) WHERE c.counter::oid::regclass::text
        IN ('flow', 'mean', 'other') ORDER BY c.counter::oid::regclass::text $$;
SELECT * FROM secrets() WHERE tallies > 0 AND key = 32 ORDER BY counter::text;

-- a column has another name by then
BEGIN;
ALTER VIEW flow RENAME COLUMN count TO visits;
SELECT dp_counter_end('flow');
SELECT count(*), count(visits) AS kept FROM flow;
ROLLBACK;

-- a charge that ends earlier than the counter, in tables that were damaged: no tick releases what is not charged
SELECT dp_counter_create('endless', 'visits_dp', 1e9, '1 day', '2025-01-01', per_person => 2);
CALL tick_at('endless', '2025-01-05 12:00');
CREATE TABLE charges AS SELECT number, until FROM dp_counter_private.budget_entries;
UPDATE dp_counter_private.budget_entries SET until = '2025-01-05' WHERE purpose IN ('ended.endless', 'ended.other', 'ended.flow');
CALL tick_at('endless', '2025-01-06 12:00');
CALL tick_at('other', '2025-01-09 12:00');
CALL tick_at('flow', '2025-01-09 12:00');
UPDATE dp_counter_private.budget_entries AS e SET until = c.until FROM charges AS c WHERE e.number = c.number;
CALL tick_at('endless', '2025-01-06 12:00');
SELECT step, count FROM endless WHERE step > 3 ORDER BY step;
SELECT dp_counter_drop('endless');

-- who may not, and what is none
SET ROLE ended_reader;
SELECT dp_counter_end('flow');
SET ROLE ended_clock;
SELECT dp_counter_end('flow');
RESET ROLE;
SELECT dp_counter_end('visits');
SELECT dp_counter_end(NULL);
SELECT dp_counter_end('unticked');
BEGIN READ ONLY;
SELECT dp_counter_end('flow');
ROLLBACK;
-- a step that was closed and not published: the next tick publishes it
BEGIN;
UPDATE dp_counter_private.publications SET steps = steps - 1 WHERE number = (SELECT number FROM dp_counter_private.counters
    WHERE counter = 'flow'::regclass);
SELECT dp_counter_end('flow');
ROLLBACK;
-- what is rolled back goes on, and is still known to have failed
BEGIN;
SELECT dp_counter_end('flow');
SELECT ended_at IS NOT NULL AS ended, last_failed IS NOT NULL AS failed FROM dp_counters WHERE counter = 'flow'::regclass;
ROLLBACK;
SELECT ended_at IS NOT NULL AS ended, last_failed IS NOT NULL AS failed FROM dp_counters WHERE counter = 'flow'::regclass;
SELECT tallies > 0 AND key = 32 AS has_tallies FROM secrets() WHERE counter = 'flow'::regclass;

-- the end
SELECT purpose, epsilon, since, until FROM years WHERE purpose = 'flow' UNION ALL SELECT *
    FROM (SELECT purpose, epsilon, since, until FROM lives) AS l;
SELECT dp_counter_end('flow'), dp_counter_end('mean');
SELECT * FROM secrets() WHERE counter::text <> 'other' ORDER BY counter::text;
SELECT tallies > 0 AND key = 32 AS other_has_tallies FROM secrets() WHERE counter::text = 'other';
-- the charge stays, of a budget that renews to the end of the last closed step
SELECT purpose, epsilon, since, until FROM years WHERE purpose = 'flow' UNION ALL SELECT *
    FROM (SELECT purpose, epsilon, since, until FROM lives) AS l;
SELECT budget, spent, remaining FROM dp_budgets WHERE budget = 'lives'::regclass;
-- so do the view, its owner, privileges and comments, and what it shows
CREATE FUNCTION same() RETURNS TABLE (views bigint, releases bigint, changes bigint) LANGUAGE sql AS $$ SELECT
    (SELECT count(*) FROM (TABLE before EXCEPT
        SELECT c.oid, relname, relowner, relacl, reloptions, relkind, obj_description(c.oid),
            ARRAY(SELECT (attname, atttypid, attacl, col_description(c.oid, attnum))::text FROM pg_attribute WHERE attrelid = c.oid
            ORDER BY attnum)
        FROM pg_class c WHERE c.oid IN ('flow'::regclass, 'mean'::regclass)) AS d),
    (SELECT count(*) FROM ((TABLE released EXCEPT ALL (SELECT 'flow', to_jsonb(f) FROM flow AS f UNION ALL SELECT 'mean', to_jsonb(m)
        FROM mean AS m))
        UNION ALL ((SELECT 'flow', to_jsonb(f) FROM flow AS f UNION ALL SELECT 'mean', to_jsonb(m)
            FROM mean AS m) EXCEPT ALL TABLE released)) AS d),
    (SELECT count(*) FROM (TABLE changes EXCEPT ALL (SELECT c.* FROM dp_counter_changes('flow', 3) AS c UNION ALL SELECT c.*
        FROM dp_counter_changes('mean', 3) AS c)) AS d) $$;
SELECT * FROM same();
SELECT count(*) FROM released;
SELECT counter, source, event, value, per, "by", time_zone, steps, horizon, ended, ended_at BETWEEN now() - interval '1 hour'
    AND clock_timestamp() AS ended_now FROM dp_counters WHERE counter::text IN ('flow', 'mean', 'other') ORDER BY counter::text;
SELECT source, counters FROM dp_sources ORDER BY source::text;
SET ROLE ended_reader;
SELECT count(*) AS read FROM flow;
SELECT count(*) AS read FROM dp_counter_changes('flow', 3);
RESET ROLE;
-- it counts nothing else
SELECT dp_counter_end('flow');
CALL dp_tick('flow');
SELECT dp_counter_add_groups('flow', '{c}');
INSERT INTO visits VALUES (1000, '2025-01-08 20:00', 'a', 1);
UPDATE dp_counter_private.source_counters SET grace = '0' WHERE source = 'visits_dp'::regclass;
CALL dp_tick('visits_dp');
CALL dp_tick();
SELECT counter, steps FROM dp_counters WHERE counter::text IN ('flow', 'other') ORDER BY counter::text;
SELECT counter, next_due, periods_behind, last_failed, last_sqlstate FROM dp_counters WHERE ended_at IS NOT NULL ORDER BY counter::text;
SELECT * FROM same();
-- another role's source is not told apart: there is no counter of it to tick
SET ROLE ended_clock;
CALL dp_tick('visits_dp');
CALL dp_tick('flow');
RESET ROLE;

-- the source goes, and the releases stay
SELECT dp_source_drop('stays_dp');
DROP VIEW stays_dp;
SELECT dp_source_drop('visits_dp');
DROP VIEW visits_dp CASCADE;
-- those of a counter that goes on too: it closes no further step
SELECT counter, source, steps, next_due, ended_at FROM dp_counters WHERE counter::text IN ('other', 'flow') AND ended_at IS NULL;
SELECT count(*) = 20 AS released FROM other;
CALL dp_tick('other');
SELECT dp_counter_drop('other'), dp_counter_drop('unticked');
DROP TABLE visits;
SELECT * FROM same();
SELECT count(*) FROM known AS k JOIN dp_counters AS c USING (counter, epsilon, sensitivity, horizon, steps, mechanism, cumulative, stddev,
    released_at, measure, per_person, every, since, ended)
WHERE (c.per, c.k, c.lower, c.upper, c.groups, c.by) IS NOT DISTINCT FROM (k.per, k.k, k.lower, k.upper, k.groups, k.by);
SELECT counter, source, event, value, per, "by", groups, time_zone FROM dp_counters WHERE counter::text IN ('flow', 'mean')
    ORDER BY counter::text;
SELECT number, epsilon, remaining, per, guarantee FROM dp_counter_plan('flow') LIMIT 1;
SELECT dp_budget_drop('lives');
-- dropped afterwards, it still does not refund anything
SELECT dp_counter_drop('mean');
SELECT cut_at FROM years WHERE purpose = 'flow' \gset
DROP VIEW flow;
SELECT cut_from, cut_at = :'cut_at' AS once FROM years WHERE purpose LIKE '%flow';
SELECT epsilon, since, until FROM lives UNION ALL SELECT * FROM (SELECT epsilon, since, until FROM years WHERE purpose LIKE '%flow') AS l;
SELECT count(*) FROM dp_counter_private.releases AS r WHERE NOT EXISTS (SELECT FROM dp_counter_private.counters AS c
    WHERE c.number = r.number);

CREATE TABLE visits (patient integer, at timestamp);

-- a counter of recorded events
SELECT dp_event_counter_create('recorded', 1e9);
CREATE TRIGGER record AFTER INSERT ON visits FOR EACH ROW EXECUTE FUNCTION dp_counter_record('recorded');
SELECT dp_counter_end('recorded');
SELECT dp_counter_record('recorded', 5);
CALL dp_tick('recorded');
SELECT dp_counter_record('recorded', 7); -- is not released any more
SELECT dp_counter_end('recorded');
SELECT dp_counter_record('recorded');
INSERT INTO visits VALUES (2, '2025-01-02');
CALL dp_tick('recorded');
SELECT step, count FROM recorded;
SELECT step, count FROM dp_counter_changes('recorded', 1);
SELECT count(*) AS slots FROM dp_counter_private.events WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n
    WHERE n.counter = 'recorded'::regclass);
SELECT ended_at IS NOT NULL AS ended FROM dp_counters WHERE counter = 'recorded'::regclass;
SELECT guarantee FROM dp_counter_plan('recorded') LIMIT 1;
DROP TRIGGER record ON visits;
INSERT INTO visits VALUES (2, '2025-01-02');
-- one that recorded before the end in the same transaction
SELECT dp_event_counter_create('late', 1e9);
CALL dp_tick('late');
BEGIN;
SELECT dp_counter_record('late', 3);
SELECT dp_counter_end('late');
COMMIT;
SELECT count(*) AS slots FROM dp_counter_private.events WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n
    WHERE n.counter = 'late'::regclass);
DROP VIEW late, recorded;

-- A counter that has come to its horizon forgets its persons by itself, once all their windows are over; nothing
-- continues it from then on. That of a life does not forget them, nor does one that has not begun.
-- From January 4 on, so that no window of a person, whatever its phase, is over at the first tick.
CREATE TABLE stays AS SELECT i AS patient, timestamp '2020-01-01' + i * interval '1 day' AS at FROM generate_series(3, 12) AS i;
CREATE VIEW long_ago_dp AS SELECT * FROM stays;
CREATE VIEW for_life_dp AS SELECT * FROM stays;
SELECT dp_budget_create('month', 1e12, per => '28 days'), dp_budget_create('life', 1e12);
SELECT dp_source_create('long_ago_dp', 'month', 'patient', 'at', 'UTC'), dp_source_create('for_life_dp', 'life', 'patient', 'at', 'UTC');
SELECT dp_counter_create('counted', 'long_ago_dp', 1e9, '1 day', '2020-01-01', 20, per_person => 2),
    dp_counter_create('lifelong', 'for_life_dp', 1e9, '1 day', '2020-01-01', 20, per_person => 2),
    dp_counter_create('later', 'long_ago_dp', 1e9, '1 day', '2999-01-01', per_person => 2);
CREATE VIEW persons AS SELECT counter::text, count(digest) AS tallies FROM dp_counter_private.counters
    LEFT JOIN dp_counter_private.tallies USING (number) WHERE counter::text ~ '(counted|lifelong|later)$' GROUP BY 1 ORDER BY 1;
CALL dp_tick('counted'); CALL dp_tick('lifelong'); CALL dp_tick('later');
CALL dp_tick('counted');
SELECT * FROM persons;
UPDATE dp_counter_private.counters SET released_at = released_at - interval '56 days' WHERE counter::text ~ '(counted|lifelong)$';
CALL dp_tick('counted'); CALL dp_tick('lifelong');
SELECT * FROM persons;
CALL dp_tick('counted');
SELECT dp_counter_create('again', 'long_ago_dp', 1e9, '1 day', '2020-01-21', 20, per_person => 2, continues => 'counted');
SELECT dp_counter_resume('counted'), dp_counter_end('counted');
SELECT sum(count) FROM counted;
BEGIN;
SELECT dp_counter_create('again', 'for_life_dp', 1e9, '1 day', '2020-01-21', 20, per_person => 2, continues => 'lifelong');
ROLLBACK;
SELECT dp_counter_drop('counted'), dp_counter_drop('lifelong'), dp_counter_drop('later');
SELECT dp_source_drop('long_ago_dp'), dp_source_drop('for_life_dp'), dp_budget_drop('month'), dp_budget_drop('life');

SELECT dp_budget_drop('lives'), dp_budget_drop('years');
DROP SCHEMA ended CASCADE;
DROP ROLE ended_reader, ended_clock;
