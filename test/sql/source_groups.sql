-- Groups of an enum: a label that is renamed stays the group that it was, and a label that changed places goes along.
\set VERBOSITY terse
CREATE SCHEMA source_groups;
SET search_path = source_groups, public;
SELECT dp_budget_create('budget', 1e11);
CREATE TYPE ward AS ENUM ('a', 'b', 'c');
CREATE TABLE visits (patient integer, at timestamp, ward ward);
CREATE VIEW visits_dp AS SELECT patient, at, ward FROM visits;
SELECT dp_source_create('visits_dp', budget => 'budget', person => 'patient', at => 'at', time_zone => 'UTC');
SELECT dp_counter_create('by_ward', epsilon => 1e9, horizon => 4, source => 'visits_dp', every => '1 day', since => '2025-01-01',
    by => 'ward', groups => '{c,a}', per_person => 1);
-- n-th day: 100 n persons in a, 10 n in b, n in c
INSERT INTO visits
SELECT day * 1000 + n, timestamp '2025-01-01' + (day - 1) * interval '1 day',
    (CASE WHEN n <= 100 * day THEN 'a' WHEN n <= 110 * day THEN 'b' ELSE 'c' END)::ward
FROM generate_series(1, 4) AS day, generate_series(1, 111 * day) AS n;
CREATE PROCEDURE close(days integer) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE dp_counter_private.source_counters SET "grace" = now()::timestamp - (since + days * every);
    COMMIT;
    CALL dp_tick('by_ward');
END $$;
CREATE VIEW shown AS SELECT step, ward, count - coalesce(lag(count) OVER (PARTITION BY ward ORDER BY step), 0) AS persons FROM by_ward;
CALL close(1);
SELECT * FROM shown ORDER BY step, ward;

-- renamed
ALTER TYPE ward RENAME VALUE 'a' TO 'x';
CALL close(2);
SELECT * FROM shown ORDER BY step, ward;
SELECT groups FROM dp_counters;

-- x and c change places
ALTER TYPE ward RENAME VALUE 'x' TO 'y';
ALTER TYPE ward RENAME VALUE 'c' TO 'x';
ALTER TYPE ward RENAME VALUE 'y' TO 'c';
ALTER TYPE ward ADD VALUE 'new' BEFORE 'x';
CALL close(3);
SELECT * FROM shown ORDER BY step, ward;
SELECT groups FROM dp_counters;

-- another column's name changes nothing
ALTER VIEW by_ward RENAME COLUMN ward TO place;
CALL close(4);
SELECT * FROM shown WHERE step > 2 ORDER BY step, ward;
-- others: an undeclared label counts there, a label that is added no longer; NULL does not count
SELECT dp_counter_create('with_others', epsilon => 1e8, horizon => 4, source => 'visits_dp', every => '1 day', since => '2025-01-01',
    by => 'ward', groups => '{c}', others => 'new', per_person => 1);
INSERT INTO visits VALUES (0, '2025-01-01', NULL);
UPDATE dp_counter_private.source_counters SET "grace" = now()::timestamp - (since + 2 * every) WHERE others = 2;
CALL dp_tick('with_others');
SELECT dp_counter_add_groups('with_others', '{b}');
SELECT dp_counter_add_groups('with_others', '{new}');
UPDATE dp_counter_private.source_counters SET "grace" = now()::timestamp - (since + 4 * every) WHERE others = 2;
CALL dp_tick('with_others');
SELECT step, ward, count - coalesce(lag(count) OVER (PARTITION BY ward ORDER BY step), 0) AS persons FROM with_others ORDER BY step, ward;
SELECT groups, others FROM dp_counters WHERE counter = 'with_others'::regclass;
SELECT DISTINCT groups FROM dp_counter_plan('with_others');
SELECT col_description('with_others'::regclass, 2);
ALTER TYPE ward RENAME VALUE 'new' TO 'rest';
SELECT DISTINCT ward, groups, others FROM with_others, dp_counters WHERE counter = 'with_others'::regclass AND step = 4 ORDER BY ward;
SELECT dp_counter_drop('with_others');

-- rows of other groups use up the bound, and no group comes first: of a, x and y at one time each does in a third of
-- the persons, give or take 6 standard deviations
CREATE TABLE moments AS
SELECT n AS patient, '2025-01-01'::timestamp AS at, place, place = 'a' AS is_a, (ascii(place) - 96)::smallint AS number
    FROM generate_series(1, 3000) AS n, unnest('{a,x,y}'::text[]) AS place;
CREATE VIEW moments_dp AS SELECT * FROM moments;
SELECT dp_source_create('moments_dp', budget => 'budget', person => 'patient', at => 'at', time_zone => 'UTC');
CREATE FUNCTION declare(name text, place text, groups text[], others text, per_person integer, persons boolean DEFAULT false)
    RETURNS regclass LANGUAGE sql AS $$
    SELECT dp_counter_create(name, 'moments_dp', 1e8, '1 day', '2025-01-01', 1, "by" => place, groups => groups, others => others,
        per_person => per_person, persons => persons) $$;
SELECT declare('one_each', 'place', '{x}', 'other', 1), declare('two_each', 'place', '{x}', 'other', 2),
    declare('all_each', 'place', '{a,z}', 'x', 3), declare('persons_each', 'place', '{x}', 'other', NULL, true);
SELECT declare('flags', 'is_a', '{true}', 'no', 3), declare('numbers', 'number', '{1}', '-7', 3);
CALL dp_tick('moments_dp');
SELECT 'one_each' AS counter, sum(count), max(count) FILTER (WHERE place = 'x') BETWEEN 845 AND 1155 AS is_third FROM one_each
UNION ALL SELECT 'persons_each', sum(count), max(count) FILTER (WHERE place = 'x') BETWEEN 845 AND 1155 FROM persons_each
UNION ALL SELECT 'two_each', sum(count), max(count) FILTER (WHERE place = 'x') BETWEEN 1845 AND 2155 FROM two_each ORDER BY counter;
SELECT place, count FROM all_each ORDER BY place;
SELECT is_a, count FROM flags ORDER BY is_a;
SELECT number, count FROM numbers ORDER BY number;
-- what others may be
SELECT declare('bad', 'place', '{a,b}', 'b', 1);
SELECT declare('bad', 'number', '{1}', '01', 1);
SELECT declare('bad', 'number', '{1}', 'other', 1);
SELECT declare('bad', 'number', '{1}', '99999', 1);
SELECT declare('bad', 'is_a', '{true,false}', 'no', 1);
SELECT declare('bad', NULL, NULL, 'other', 1);
SELECT declare('bad', 'place', NULL, 'other', 1);
CREATE TABLE places AS SELECT unnest('{x,other,b}'::text[]) AS name;
SELECT dp_counter_add_groups('one_each', groups_from => 'places', groups_column => 'name');
SELECT groups FROM dp_counters WHERE counter = 'one_each'::regclass;

SELECT count(dp_counter_drop(counter)) FROM dp_counters WHERE source = 'moments_dp'::regclass;

-- a group is stored once
INSERT INTO dp_counter_private.groups SELECT * FROM dp_counter_private.groups WHERE name = 'a' OR stream = 1 LIMIT 1;
DROP VIEW shown;
SELECT dp_counter_drop('by_ward');
SET client_min_messages = error;
DROP VIEW moments_dp, visits_dp;
SELECT dp_budget_drop('budget');
DROP SCHEMA source_groups CASCADE;
