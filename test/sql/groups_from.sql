-- Groups from a table: read once, as the caller, and never one that the source reads. Groups by the thousand have the right names.
SET client_min_messages = warning;
SET timezone = 'UTC';
SET datestyle = 'ISO';
CREATE ROLE groups_from_steward;
CREATE ROLE groups_from_ana;
CREATE SCHEMA groups_from;
GRANT USAGE, CREATE ON SCHEMA groups_from TO PUBLIC;
SET search_path = groups_from, public;
CREATE FUNCTION state() RETURNS text LANGUAGE sql AS
    $$ SELECT format('%s groups of %s counters', (SELECT count(*) FROM dp_counter_private.groups),
        (SELECT count(*) FROM dp_counter_private.counters)) $$;
CREATE TABLE first AS SELECT state();
SET ROLE groups_from_steward;
CREATE TYPE ward AS ENUM ('a', 'b', 'c');
-- Place i has 1 + i % 3 persons on the first day, and 1 + i % 5 on the second.
CREATE TABLE visits (patient integer, at timestamp, place integer, name text, id uuid, is_odd boolean, bytes bytea, ward ward);
INSERT INTO visits
SELECT row_number() OVER (), timestamp '2024-01-01 12:00' + day * interval '1 day', i, 'place ' || i, md5(i::text)::uuid, i % 2 = 1,
    convert_to('place ' || i, 'UTF8'), (ARRAY['a', 'b', 'c'])[1 + i % 3]::ward
FROM generate_series(1, 10000) AS i, generate_series(0, 1) AS day, generate_series(0, i % (3 + 2 * day));
CREATE VIEW visits_dp AS SELECT * FROM visits;
SELECT dp_budget_create('patients', 1e11);
SELECT dp_budget_create('research', 1e10, within => 'patients');
SELECT dp_source_create('visits_dp', 'patients', 'patient', 'at', 'UTC');
CREATE FUNCTION declare(name text, by text, groups text[] DEFAULT NULL, groups_from regclass DEFAULT NULL,
    groups_column text DEFAULT NULL, cumulative boolean DEFAULT false, horizon bigint DEFAULT 1, source regclass DEFAULT 'visits_dp',
    budget regclass DEFAULT NULL) RETURNS regclass LANGUAGE sql AS
    $$ SELECT dp_counter_create(name, source, 1e9, '1 day', since => '2024-01-01', horizon => horizon, by => by, groups => groups,
        groups_from => groups_from, groups_column => groups_column, cumulative => cumulative, budget => budget, per_person => 1) $$;
CREATE FUNCTION attempt(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    message text; detail text; hint text;
BEGIN
    EXECUTE 'SELECT ' || call;
    RETURN 'done';
EXCEPTION
    WHEN OTHERS THEN GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
        RETURN concat_ws('; ', SQLSTATE || ' ' || message, 'DETAIL ' || nullif(detail, ''), 'HINT ' || nullif(hint, ''));
END $$;

-- in the order of the column's type, whatever the order of the rows; by any type of group
CREATE TABLE places (number integer, name text, id uuid, is_odd boolean, bytes bytea, label ward);
INSERT INTO places SELECT i, 'place ' || i, md5(i::text)::uuid, i = 9, convert_to('place ' || i, 'UTF8'),
    (ARRAY['a', 'b', 'c'])[1 + i % 3]::ward FROM unnest('{10,9}'::integer[]) AS i;
SELECT declare('by_' || by, by, NULL, 'places', by) FROM unnest('{name,id,is_odd,bytes}'::text[]) AS by;
SELECT declare('by_place', 'place', NULL, 'places', 'number'), declare('by_ward', 'ward', NULL, 'places', 'label');
SELECT counter, groups FROM dp_counters WHERE source = 'visits_dp'::regclass ORDER BY counter::text;
INSERT INTO places VALUES (11, 'place 11', md5('11')::uuid, NULL, NULL, 'c');
CALL dp_tick('visits_dp');
SELECT name, count FROM by_name ORDER BY name;
SELECT place, pg_typeof(place), count FROM by_place ORDER BY place;
SELECT id = md5('9')::uuid AS is_9, count FROM by_id ORDER BY 1;
SELECT is_odd, count FROM by_is_odd ORDER BY 1;
SELECT convert_from(bytes, 'UTF8'), count FROM by_bytes ORDER BY 1;
SELECT ward, count FROM by_ward ORDER BY 1;

-- integers as groups of another type
CREATE TABLE large AS SELECT * FROM unnest('{3,5000000000}'::bigint[]) AS number;
SELECT declare('by_text_of_number', 'name', NULL, 'large', 'number');
SELECT counter, groups FROM dp_counters WHERE counter = 'by_text_of_number'::regclass;
SELECT attempt($$declare('by_place_of_large', 'place', NULL, 'large', 'number')$$);
SELECT dp_counter_drop('by_text_of_number');

-- groups are added from a table: the new ones alone; another call adds none. Written out, one that is there is an error
ALTER VIEW by_ward RENAME COLUMN count TO visits;
SELECT dp_counter_add_groups('by_place', groups_from => 'places', groups_column => 'number'),
    dp_counter_add_groups('by_ward', groups_from => 'places', groups_column => 'label');
ALTER VIEW by_ward RENAME COLUMN visits TO count;
SELECT dp_counter_add_groups('by_place', groups_from => 'places', groups_column => 'number');
SELECT counter, groups FROM dp_counters WHERE counter IN ('by_place'::regclass, 'by_ward'::regclass) ORDER BY counter::text;
SELECT attempt(c) FROM unnest(ARRAY[
    $$dp_counter_add_groups('by_place', '{11}')$$,
    $$dp_counter_add_groups('by_place', '{12}', 'places', 'number')$$,
    $$dp_counter_add_groups('by_place', groups_from => 'places')$$,
    $$dp_counter_add_groups('by_place', groups_from => 'visits', groups_column => 'place')$$,
    $$dp_counter_add_groups('by_place')$$]) AS c;

-- what is no table, or no column; NULL and duplicates; too many
CREATE TABLE twice AS SELECT 'place 1' AS name FROM generate_series(1, 2);
CREATE TABLE nothing (name text);
CREATE TABLE too_many AS SELECT generate_series(1, 1000001) AS number;
CREATE VIEW places_view AS SELECT * FROM places;
CREATE MATERIALIZED VIEW places_stored AS SELECT * FROM places;
CREATE SEQUENCE numbers;
SELECT attempt(format('declare(%L, %s)', 'c', c)) FROM unnest(ARRAY[
    $$'name', groups_from => 'places'$$,
    $$'name', groups_column => 'name'$$,
    $$'name', '{a}', 'places', 'name'$$,
    $$NULL, NULL, 'places', 'name'$$,
    $$'name', NULL, 'places_view', 'name'$$,
    $$'name', NULL, 'places_stored', 'name'$$,
    $$'name', NULL, 'numbers', 'last_value'$$,
    $$'name', NULL, 'places', 'nobody'$$,
    $$'name', NULL, 'places', 'ctid'$$,
    $$'name', NULL, 'places', 'bytes'$$,
    $$'place', NULL, 'places', 'name'$$,
    $$'name', NULL, 'twice', 'name'$$,
    $$'name', NULL, 'nothing', 'name'$$,
    $$'place', NULL, 'too_many', 'number'$$]) AS c;
DROP TABLE too_many;

-- a table that the source reads: itself, through views of any kind, a policy, a part of it, what it is a part of. One
-- that only another source reads is none
CREATE TABLE allowed AS SELECT 'place 1' AS name;
CREATE TABLE parts (patient integer, at timestamp, place integer, name text) PARTITION BY LIST (place);
CREATE TABLE part PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE other_part PARTITION OF parts FOR VALUES IN (2);
INSERT INTO other_part VALUES (1, '2024-01-01', 2, 'place 2');
ALTER TABLE visits ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_allowed ON visits USING (name IN (SELECT name FROM allowed));
CREATE MATERIALIZED VIEW stored AS SELECT * FROM visits_dp;
CREATE VIEW nested AS SELECT patient, at, place, name FROM stored;
CREATE VIEW nested_dp AS SELECT * FROM nested;
CREATE VIEW parts_dp AS SELECT * FROM parts;
CREATE VIEW part_dp AS SELECT * FROM part;
SELECT dp_source_create(s, 'patients', 'patient', 'at', 'UTC', person_wise => true)
    FROM unnest('{visits_dp,nested_dp,parts_dp,part_dp}'::regclass[]) AS s;
SELECT source, relation, attempt(format('declare(%L, %L, NULL, %L, %L, source => %L)', 'c', 'name', relation, 'name', source))
FROM unnest('{visits_dp,nested_dp,parts_dp,part_dp}'::text[]) AS source,
    unnest('{visits,allowed,parts,part,other_part}'::text[]) AS relation
WHERE (source, relation) NOT IN (('visits_dp', 'parts'), ('visits_dp', 'part'), ('visits_dp', 'other_part'), ('nested_dp', 'parts'),
    ('nested_dp', 'part'), ('nested_dp', 'other_part'), ('parts_dp', 'visits'), ('part_dp', 'visits'), ('parts_dp', 'allowed'),
    ('part_dp', 'allowed'));
ALTER TABLE visits DISABLE ROW LEVEL SECURITY;
SELECT dp_source_create('visits_dp', 'patients', 'patient', 'at', 'UTC');

-- an analyst's table is read as the analyst: not what the steward may read, and by the analyst's policies
GRANT REFERENCES ON visits_dp TO groups_from_ana;
GRANT INSERT ON research TO groups_from_ana;
SET ROLE groups_from_ana;
SELECT attempt($$declare('c', 'name', NULL, 'places', 'name', budget => 'research')$$);
RESET ROLE;
GRANT SELECT (number) ON places TO groups_from_ana;
SET ROLE groups_from_ana;
SELECT attempt($$declare('c', 'name', NULL, 'places', 'name', budget => 'research')$$);
RESET ROLE;
GRANT SELECT ON places TO groups_from_ana;
ALTER TABLE places ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON places TO groups_from_ana USING (number > 9);
SET ROLE groups_from_ana;
SELECT declare('for_ana', 'place', NULL, 'places', 'number', budget => 'research');
RESET ROLE;
SELECT groups FROM dp_counters WHERE counter = 'for_ana'::regclass;
SET ROLE groups_from_steward;

-- by the thousand: each name is that of its own numbers, also of groups that come later; with any number of periods
CREATE TABLE numbers_of_places AS SELECT i AS number, 'place ' || i AS name FROM generate_series(1, 5000) AS i;
SELECT declare('thousands', 'place', NULL, 'numbers_of_places', 'number', horizon => 10000000),
    declare('totals', 'name', NULL, 'numbers_of_places', 'name', true, 2);
CREATE PROCEDURE close(days integer) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE dp_counter_private.source_counters SET "grace" = now()::timestamp - (since + days * every)
        WHERE number IN (SELECT n.number FROM dp_counter_private.counters AS n
        WHERE n.counter IN ('thousands'::regclass, 'totals'::regclass));
    COMMIT;
    CALL dp_tick('thousands');
    CALL dp_tick('totals');
END $$;
RESET ROLE;
CALL close(1);
SET ROLE groups_from_steward;
INSERT INTO numbers_of_places SELECT i, 'place ' || i FROM generate_series(5001, 10000) AS i;
SELECT dp_counter_add_groups('thousands', groups_from => 'numbers_of_places', groups_column => 'number'),
    dp_counter_add_groups('totals', groups_from => 'numbers_of_places', groups_column => 'name');
RESET ROLE;
CALL close(2);
SELECT step, count(*), count(*) FILTER (WHERE count <> 1 + place % (1 + 2 * step)) AS wrong FROM thousands GROUP BY step ORDER BY step;
SELECT step, count(*), count(*) FILTER (WHERE count <> 1 + place % 3 * (place <= 5000 OR step < 2)::integer + CASE WHEN step = 2
    THEN place % 5 + (place <= 5000)::integer ELSE 0 END) AS wrong
FROM (SELECT *, substr(name, 7)::integer AS place FROM totals) AS t GROUP BY step ORDER BY step;

-- a cancel in the middle of a big declaration leaves nothing
CREATE TABLE many AS SELECT array_agg('place ' || i) AS names FROM generate_series(1, 400000) AS i;
CREATE TABLE before AS SELECT state();
BEGIN; -- the rollback takes the timeout away: no other statement can meet it, however slow the machine
SET LOCAL statement_timeout = '100ms';
SELECT declare('canceled', 'name', names) FROM many;
ROLLBACK;
SELECT state() = state AS same, to_regclass('canceled') FROM before;

-- a drop deletes the names
SELECT count(dp_counter_drop(counter)) FROM dp_counters WHERE source::text LIKE '%\_dp';
SELECT state() = state AS same FROM first;
DO $$ BEGIN PERFORM dp_counter_drop(counter) FROM dp_counters; END $$;
DROP VIEW visits_dp, nested_dp, parts_dp, part_dp CASCADE;
SELECT dp_budget_drop('research'), dp_budget_drop('patients');
DROP SCHEMA groups_from CASCADE;
DROP ROLE groups_from_steward, groups_from_ana;
