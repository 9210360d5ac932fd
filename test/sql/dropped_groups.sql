-- Groups that are dropped: no further release, and their rows are those of a group that is not declared. Epsilon takes the noise away.
CREATE SCHEMA dropped_groups;
SET search_path = dropped_groups, public;
SET timezone = 'UTC';
CREATE TYPE size AS ENUM ('s', 'm', 'l');
CREATE TABLE visits (patient integer, at timestamp, ward text, size size, cost integer);
-- each day 2 persons in each of a, b and c; a person's first row of the day is in ward a, b or c and the second one in d
INSERT INTO visits
SELECT n, '2025-01-01'::timestamp + make_interval(days => day, hours => hour), CASE hour WHEN 0 THEN chr(97 + n / 2) ELSE 'd' END,
    (enum_range(NULL::size))[1 + n / 2], 2
FROM generate_series(0, 5) AS n, generate_series(0, 5) AS day, generate_series(0, 1) AS hour;
CREATE VIEW visits_dp AS SELECT * FROM visits;
SELECT dp_budget_create('budget', 1e12);
SELECT dp_source_create('visits_dp', 'budget', person => 'patient', at => 'at', time_zone => 'UTC');
CREATE FUNCTION declare(name text, groups text[], "by" text DEFAULT 'ward', others text DEFAULT NULL, avg text DEFAULT NULL,
    cumulative boolean DEFAULT true, per_person integer DEFAULT 100) RETURNS regclass LANGUAGE sql AS $$
    SELECT dp_counter_create(name, 'visits_dp', 1e9, '1 day', '2025-01-01', 6, avg => avg, upper => CASE WHEN avg IS NOT NULL THEN 4 END,
        "by" => declare."by", groups => groups, others => others, per_person => per_person, cumulative => cumulative) $$;
SELECT declare('totals', '{a,b,c}'), declare('days', '{a,b,c}', cumulative => false), declare('means', '{a,b,c}', avg => 'cost'),
    declare('sizes', '{s,m,l}', "by" => 'size'),
       declare('rest', '{a,b}', others => 'other', cumulative => false), declare('few', '{a,d}', cumulative => false, per_person => 8);
-- the first so many days are over
CREATE PROCEDURE close(days integer) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE dp_counter_private.source_counters SET "grace" = now()::timestamp - (since + days * every);
    COMMIT;
    SET client_min_messages = warning;
    CALL dp_tick('visits_dp');
    RESET client_min_messages;
END $$;
CALL close(2);

SELECT dp_counter_drop_groups('totals', '{a,c}'), dp_counter_drop_groups('days', '{b}'), dp_counter_drop_groups('means', '{a}'),
    dp_counter_drop_groups('sizes', '{s}'),
       dp_counter_drop_groups('rest', '{a}'), dp_counter_drop_groups('few', '{a}');
SELECT counter, groups FROM dp_counters WHERE source = 'visits_dp'::regclass ORDER BY counter::text COLLATE "C";
-- of a cumulative counter the states go, and the totals with them
SELECT string_agg(stream::text, ' ' ORDER BY stream) AS streams FROM dp_counter_private.streams
    WHERE number = (SELECT number FROM dp_counter_private.counters WHERE counter = 'means'::regclass);
CALL close(4);
-- the first group was dropped: a further one takes its parameters from another
SELECT dp_counter_add_groups('totals', '{d}');
SELECT dp_counter_add_groups('means', '{d}');
CALL close(6);

SELECT ward, string_agg(step || ':' || count, ' ' ORDER BY step) AS totals FROM totals GROUP BY ward ORDER BY ward;
SELECT ward, string_agg(step || ':' || count, ' ' ORDER BY step) AS days FROM days GROUP BY ward ORDER BY ward;
SELECT ward, string_agg(step || ':' || count || ' of ' || avg, ' ' ORDER BY step) AS means FROM means GROUP BY ward ORDER BY ward;
SELECT size, string_agg(step || ':' || count, ' ' ORDER BY step) AS sizes FROM sizes GROUP BY size ORDER BY size;
-- its rows count among all others
SELECT ward, string_agg(step || ':' || count, ' ' ORDER BY step) AS rest FROM rest GROUP BY ward ORDER BY ward;
-- and use nothing of a bound: of 8 events, the two persons of a had used 4, and have 4 days left
SELECT ward, string_agg(step || ':' || count, ' ' ORDER BY step) AS few FROM few GROUP BY ward ORDER BY ward;
SELECT group_value, string_agg(step || ':' || count, ' ' ORDER BY step) AS last_two_days FROM dp_counter_changes('totals', 2)
    GROUP BY group_value ORDER BY group_value;

-- what is refused
SELECT dp_counter_drop_groups('totals', '{x}');
SELECT dp_counter_drop_groups('totals', '{b,a}');
SELECT dp_counter_drop_groups('totals', '{b,d}');
SELECT dp_counter_drop_groups('rest', '{other}');
SELECT dp_counter_drop_groups('rest', '{b,b}');
SELECT dp_counter_drop_groups('rest', NULL);
SELECT dp_counter_drop_groups('rest', '{}');
SELECT dp_counter_drop_groups('visits_dp', '{a}');
SELECT dp_counter_add_groups('totals', '{a}');
CREATE ROLE dropped_groups_reader;
GRANT USAGE ON SCHEMA dropped_groups TO dropped_groups_reader;
GRANT ALL ON totals TO dropped_groups_reader;
SET ROLE dropped_groups_reader;
SELECT dp_counter_drop_groups('totals', '{b}');
RESET ROLE;
SELECT groups FROM dp_counters WHERE counter = 'totals'::regclass;

-- a session that ignores system indexes reads rows as they are stored
\c -reuse-previous=on "options='-c ignore_system_indexes=on -c client_min_messages=error'"
SET search_path = dropped_groups, public;
SELECT ward, count(*) FROM totals GROUP BY ward ORDER BY ward;

SET client_min_messages = error;
SELECT count(dp_counter_drop(counter)) FROM dp_counters WHERE source = 'visits_dp'::regclass;
DROP VIEW visits_dp;
SELECT dp_budget_drop('budget');
DROP OWNED BY dropped_groups_reader;
DROP ROLE dropped_groups_reader;
DROP SCHEMA dropped_groups CASCADE;
