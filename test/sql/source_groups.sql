-- Groups of an enum: a label that is renamed stays the group that it was, and a label that changed places goes along.
\set VERBOSITY terse
CREATE SCHEMA source_groups;
SET search_path = source_groups, public;
SELECT dp_budget_create('budget', 1e11);
CREATE TYPE ward AS ENUM ('a', 'b', 'c');
CREATE TABLE visits (patient integer, at timestamp, ward ward);
CREATE VIEW visits_dp AS SELECT patient, at, ward FROM visits;
SELECT dp_source_create('visits_dp', budget => 'budget', person => 'patient', at => 'at', time_zone => 'UTC');
SELECT dp_counter_create('by_ward', epsilon => 1e9, horizon => 4, source => 'visits_dp', every => '1 day', since => '2025-01-01', by => 'ward', groups => '{c,a}', per_person => 1);
-- n-th day: 100 n persons in a, 10 n in b, n in c
INSERT INTO visits
SELECT day * 1000 + n, timestamp '2025-01-01' + (day - 1) * interval '1 day', (CASE WHEN n <= 100 * day THEN 'a' WHEN n <= 110 * day THEN 'b' ELSE 'c' END)::ward
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
-- a group is stored once
INSERT INTO dp_counter_private.groups SELECT * FROM dp_counter_private.groups WHERE name = 'a' OR stream = 1 LIMIT 1;
DROP VIEW shown;
SELECT dp_counter_drop('by_ward');
SET client_min_messages = error;
DROP VIEW visits_dp;
SELECT dp_budget_drop('budget');
DROP SCHEMA source_groups CASCADE;
