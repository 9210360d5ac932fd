-- The key of persons outgrows its type: types with one plain form are one type, and the source is declared again.

SET client_min_messages = warning;
SET DateStyle = 'ISO';
CREATE SCHEMA keys;
SET search_path = keys, public;
CREATE TABLE visits (small smallint, whole integer, short varchar(20), id uuid, at timestamp);
INSERT INTO visits SELECT p, p, 'person ' || p, md5(p::text)::uuid, timestamp '2024-01-01' + d * interval '1 day' + p * interval '1 minute'
FROM generate_series(1, 30) AS p, generate_series(0, 59) AS d WHERE (p + d) % 3 = 0;
-- One counter for each type, and one that is never declared again; each bound is used up within the 60 days.
CREATE FUNCTION make(name text, key text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE VIEW %I AS SELECT %I AS person, at FROM visits', name || '_dp', key);
    PERFORM dp_budget_create(name || '_budget', 1e10);
    PERFORM dp_source_create((name || '_dp')::regclass, (name || '_budget')::regclass, 'person', 'at', time_zone => 'UTC');
    PERFORM dp_counter_create(name, (name || '_dp')::regclass, 1e9, '1 day', timestamp '2024-01-01', per_person => 12, horizon => 60,
        cumulative => false);
    UPDATE dp_counter_private.source_counters SET "grace" = LOCALTIMESTAMP - timestamp '2024-01-21 12:00'
        WHERE number IN (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter = name::regclass);
END $$;
SELECT make(name, key) FROM (VALUES ('smalls', 'small'), ('wholes', 'whole'), ('shorts', 'short'), ('uuids', 'id'),
    ('kept', 'whole')) AS v (name, key);
CALL dp_tick();
SELECT counter, steps FROM dp_counters ORDER BY counter::text;
UPDATE dp_counter_private.source_counters SET "grace" = '0';

-- The usual migration: a new column, and the view made anew with it.
ALTER TABLE visits ADD COLUMN big bigint, ADD COLUMN long text, ADD COLUMN other uuid;
UPDATE visits SET big = whole, long = short, other = id;
ALTER VIEW smalls_dp RENAME COLUMN person TO person_old;
CREATE OR REPLACE VIEW smalls_dp AS SELECT small AS person_old, at, whole AS person FROM visits;
ALTER VIEW wholes_dp RENAME COLUMN person TO person_old;
CREATE OR REPLACE VIEW wholes_dp AS SELECT whole AS person_old, at, big AS person, id, long FROM visits;
ALTER VIEW shorts_dp RENAME COLUMN person TO person_old;
CREATE OR REPLACE VIEW shorts_dp AS SELECT short AS person_old, at, long AS person FROM visits;
-- first what is not the same
SELECT dp_source_create('wholes_dp', 'wholes_budget', 'id', 'at');
SELECT dp_source_create('wholes_dp', 'wholes_budget', 'long', 'at');
SELECT dp_source_create('wholes_dp', 'kept_budget', 'person', 'at');
SELECT dp_source_create('wholes_dp', 'wholes_budget', 'person_old', 'at');
SELECT dp_source_create('smalls_dp', 'smalls_budget', 'person', 'at');
SET client_min_messages = notice;
SELECT dp_source_create('smalls_dp', 'smalls_budget', 'person', 'at', same_persons => true);
SELECT dp_source_create('wholes_dp', 'wholes_budget', 'person', 'at', same_persons => true);
SELECT dp_source_create('shorts_dp', 'shorts_budget', 'person', 'at', same_persons => true);
-- once, and with what the owner vouches for
SELECT dp_source_create('shorts_dp', 'shorts_budget', 'person', 'at');
SELECT dp_source_create('shorts_dp', 'shorts_budget', 'person', 'at', never_fails => '{person}');
SET client_min_messages = warning;
SELECT source, person, never_fails, obj_description(source) FROM dp_sources WHERE source::text ~ 's_dp$' AND source::text !~ 'uuid'
    ORDER BY source::text;
SELECT obj_description('wholes'::regclass) ~ '\(person of keys.wholes_dp\)' AS promised;

-- They go on, and keep what each person has used up; new keys are new persons.
CALL dp_tick();
SELECT other, count(*), count(*) FILTER (WHERE o.count <> k.count) AS differ, sum(k.count) FILTER (WHERE step > 20) AS counted
FROM (SELECT 'smalls' AS other, * FROM smalls UNION ALL SELECT 'wholes', * FROM wholes UNION ALL SELECT 'shorts', * FROM shorts UNION ALL
    SELECT 'uuids', * FROM uuids) AS o JOIN kept AS k USING (period, step)
GROUP BY other ORDER BY other;

SELECT dp_source_drop('wholes_dp');
SET client_min_messages = error;
DO $$ BEGIN PERFORM dp_counter_drop(counter) FROM dp_counters; END $$;
DROP TABLE visits CASCADE;
SELECT dp_budget_drop((name || '_budget')::regclass) FROM unnest('{smalls,wholes,shorts,uuids,kept}'::text[]) AS name;
DROP SCHEMA keys CASCADE;
