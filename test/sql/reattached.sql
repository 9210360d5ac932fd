-- A source that is dropped, by a load that makes its tables again, leaves its counters; a view of its name, declared again,
-- lets them go on. Nothing is counted twice.
\set VERBOSITY default
SET client_min_messages = notice;
CREATE SCHEMA reattached;
SET search_path = reattached, public;
CREATE ROLE reattached_ana;
GRANT USAGE, CREATE ON SCHEMA reattached TO reattached_ana;
CREATE TABLE visits AS SELECT p AS patient, timestamp '2024-01-01' + day * interval '1 day' AS at, p % 2 = 0 AS flu, p AS cents,
    (ARRAY['a', 'b'])[1 + p % 2] AS ward
FROM generate_series(1, 40) AS p, generate_series(0, 29) AS day;
CREATE VIEW visits_dp AS SELECT patient, at, flu, cents, ward FROM visits;
SELECT dp_budget_create('budget', 1e12, per => '365 days', least_epsilon => 1);
SELECT dp_source_create('visits_dp', 'budget', 'patient', 'at', 'UTC');
SELECT dp_counter_create(name, 'visits_dp', 1e9, '1 day', '2024-01-01', per_person => 5, event => event, sum => sum, upper => CASE
    WHEN sum IS NOT NULL THEN 100 END, "by" => "by", groups => groups, cumulative => cumulative)
FROM (VALUES ('events', NULL, NULL, NULL, NULL::text[], NULL::boolean), ('flu', 'flu', NULL, NULL, NULL, true),
    ('cents', NULL, 'cents', NULL, NULL, NULL), ('wards', 'flu', NULL, 'ward', '{a,b}', NULL)) AS c (name, event, sum, "by", groups,
    cumulative);
SELECT dp_counter_create('persons', 'visits_dp', 1e9, '1 day', '2024-01-01', persons => true);
GRANT REFERENCES ON visits_dp TO reattached_ana; GRANT INSERT, SELECT ON budget TO reattached_ana;
SET ROLE reattached_ana; SELECT dp_counter_create('anas', 'visits_dp', 1e9, '1 day', '2024-01-01', persons => true, per_person => 5);
RESET ROLE;
SELECT dp_counter_create('over', 'visits_dp', 1e9, '1 day', '2024-01-01', horizon => 3, per_person => 1);
CREATE PROCEDURE until(days integer) LANGUAGE plpgsql AS $$ BEGIN UPDATE dp_counter_private.source_counters
    SET "grace" = LOCALTIMESTAMP - since - days * every; END $$;
SET client_min_messages = warning;
CALL until(3);
CALL dp_tick();
SELECT dp_counter_end('over');
CREATE TABLE kept AS SELECT * FROM visits;
-- declared again as it is, it stays so
SELECT count(*) AS before FROM dp_counter_private.source_history \gset
SELECT dp_source_create('visits_dp', 'budget', 'patient', 'at');
SELECT count(*) = :before AS nothing_is_booked FROM dp_counter_private.source_history;

-- two views change places, as after a blue-green load: the counters go on when the new one is declared once more
CREATE TABLE blue AS TABLE kept; CREATE VIEW blue_dp AS SELECT patient, at, flu, cents, ward FROM blue;
SELECT dp_source_create('blue_dp', 'budget', 'patient', 'at', 'UTC');
SELECT dp_counter_create('of_blue', 'blue_dp', 1e9, '1 day', '2024-01-01', per_person => 5);
ALTER VIEW visits_dp RENAME TO green_dp; ALTER VIEW blue_dp RENAME TO visits_dp; DROP TABLE visits CASCADE;
SET client_min_messages = notice;
SELECT dp_source_create('visits_dp', 'budget', 'patient', 'at');
SET client_min_messages = warning;
SELECT counter, source FROM dp_counters WHERE source IS NOT NULL ORDER BY counter::text;
SELECT dp_counter_drop('of_blue');
ALTER TABLE blue RENAME TO visits;

-- what a load does: everything is dropped, and made again with other columns in another order; with a change that is refused
CREATE FUNCTION load(columns text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    DROP TABLE visits CASCADE;
    CREATE TABLE visits AS TABLE kept;
    EXECUTE format('CREATE VIEW visits_dp AS SELECT %s FROM visits', columns);
END $$;
SELECT load('0 AS load, ward, cents, flu, at, patient');
SELECT counter, source, steps, next_due IS NULL AS is_not_due FROM dp_counters ORDER BY counter::text;
CALL dp_tick('-');
CALL until(4);
CALL dp_tick('events');
SELECT dp_source_drop('visits_dp');
SET client_min_messages = notice;
SELECT dp_source_create('visits_dp', 'budget', 'patient', 'at', 'UTC');
SET client_min_messages = warning;
SELECT counter, source, event, value, "by" FROM dp_counters ORDER BY counter::text;
CALL dp_tick();
SELECT (SELECT array_agg(count ORDER BY step) FROM events) AS events, (SELECT array_agg(count ORDER BY step) FROM flu) AS flu,
    (SELECT array_agg(sum ORDER BY step) FROM cents) AS cents,
       (SELECT array_agg(count ORDER BY step, ward) FROM wards) AS wards, (SELECT array_agg(count ORDER BY step) FROM persons) AS persons,
           (SELECT count(*) FROM anas) AS anas, (SELECT count(*) FROM over) AS over;

-- each night of a month, as dbt does it: a new view takes the name, the old one is dropped. No bound begins anew.
DO $$ BEGIN
    FOR night IN 5 .. 30 LOOP
        CREATE VIEW visits_dp__tmp AS SELECT patient, at, flu, cents, ward FROM visits;
        ALTER VIEW visits_dp RENAME TO visits_dp__backup;
        ALTER VIEW visits_dp__tmp RENAME TO visits_dp;
        DROP VIEW visits_dp__backup CASCADE;
        PERFORM dp_source_create('visits_dp', 'budget', 'patient', 'at', 'UTC');
        CALL until(night);
        COMMIT;
        CALL dp_tick('visits_dp');
    END LOOP;
END $$;
SELECT counter, source, steps FROM dp_counters ORDER BY counter::text;
-- five events of a patient count in a window, and some windows begin anew within these 30 days
CREATE FUNCTION truth() RETURNS TABLE (events bigint, cents bigint) LANGUAGE sql AS $$
    SELECT count(*), sum(cents) FROM (SELECT cents, row_number() OVER (PARTITION BY patient, dp_own_window('budget', patient::integer, at)
        ORDER BY at) AS n FROM kept) AS v WHERE n <= 5 $$;
SELECT (SELECT sum(count) FROM events) = t.events AS events, (SELECT sum(sum) FROM cents) = t.cents AS cents,
    (SELECT sum(count) FROM persons) = 40 * 30 AS persons FROM truth() AS t;
SELECT obj_description('events'::regclass) ~ 'patient of reattached.visits_dp' AS promised;

-- what does not go on: each is refused and changes nothing, or leaves the counter alone
\set VERBOSITY default
SELECT dp_counter_drop('anas');
SELECT load('patient, at, flu, cents'); SELECT dp_source_create('visits_dp', 'budget', 'patient', 'at', 'UTC');
SELECT load('patient, at, 1 AS flu, cents, ward'); SELECT dp_source_create('visits_dp', 'budget', 'patient', 'at', 'UTC');
SELECT load('patient, at, flu, cents::bigint, ward'); SELECT dp_source_create('visits_dp', 'budget', 'patient', 'at', 'UTC');
SELECT load('patient, at, flu, cents, ward'); SELECT dp_source_create('visits_dp', 'budget', 'patient', 'at', 'Asia/Tokyo');
SELECT load('patient::text, at, flu, cents, ward'); SELECT dp_source_create('visits_dp', 'budget', 'patient', 'at', 'UTC');
SELECT load('patient, at, flu, cents, ward, cents AS other, at + interval ''1 day'' AS later');
SELECT dp_source_create('visits_dp', 'budget', 'other', 'at', 'UTC');
SELECT dp_source_create('visits_dp', 'budget', 'patient', 'later', 'UTC', same_persons => true);
SELECT load('patient, at, flu, cents, ward'); SELECT dp_budget_create('other', 1e12, per => '365 days');
SELECT dp_source_create('visits_dp', 'other', 'patient', 'at', 'UTC');
SELECT counter, source FROM dp_counters WHERE ended_at IS NULL ORDER BY counter::text;
ALTER VIEW visits_dp OWNER TO reattached_ana; ALTER VIEW budget OWNER TO reattached_ana; GRANT SELECT ON visits TO reattached_ana;
SET ROLE reattached_ana; SELECT dp_source_create('visits_dp', 'budget', 'patient', 'at', 'UTC'); RESET ROLE;
SELECT count(source) AS taken FROM dp_counters;
SELECT dp_source_drop('visits_dp');
ALTER VIEW visits_dp OWNER TO CURRENT_USER; ALTER VIEW budget OWNER TO CURRENT_USER;
-- a new name and schema change nothing. A counter knows the name of its last tick: one that was renamed since goes on under that
CREATE SCHEMA elsewhere;
SELECT load('patient, at, flu, cents, ward'); SELECT dp_source_create('visits_dp', 'budget', 'patient', 'at', 'UTC');
ALTER VIEW visits_dp RENAME COLUMN flu TO fever; ALTER VIEW visits_dp RENAME TO moved_dp; ALTER VIEW moved_dp SET SCHEMA elsewhere;
SELECT counter, source, event FROM dp_counters WHERE counter = 'flu'::regclass;
DROP VIEW elsewhere.moved_dp CASCADE;
CREATE VIEW elsewhere.moved_dp AS SELECT patient, at, flu AS fever, cents, ward FROM visits;
SELECT dp_source_create('elsewhere.moved_dp', 'budget', 'patient', 'at', 'UTC');
SELECT count(source) AS gone_on FROM dp_counters; SELECT dp_source_drop('elsewhere.moved_dp'); DROP VIEW elsewhere.moved_dp;
CREATE VIEW visits_dp AS SELECT patient, at, flu, cents, ward FROM visits; SELECT dp_source_create('visits_dp', 'budget', 'patient', 'at',
    'UTC');
SELECT counter, source, event FROM dp_counters WHERE counter = 'flu'::regclass;
ALTER VIEW visits_dp RENAME COLUMN flu TO fever; ALTER VIEW visits_dp SET SCHEMA elsewhere;
CALL until(31); CALL dp_tick();
SET quote_all_identifiers = on; -- names are the same
DROP VIEW elsewhere.visits_dp CASCADE;
CREATE VIEW elsewhere.visits_dp AS SELECT patient, at, flu AS fever, cents, ward FROM visits;
SELECT dp_source_create('elsewhere.visits_dp', 'budget', 'patient', 'at', 'UTC');
RESET quote_all_identifiers;
SELECT counter, source, event, steps FROM dp_counters WHERE counter = 'flu'::regclass;
ALTER VIEW elsewhere.visits_dp RENAME COLUMN fever TO flu; ALTER VIEW elsewhere.visits_dp SET SCHEMA reattached;
CALL until(32); CALL dp_tick();
DROP SCHEMA elsewhere;
-- integer may become bigint; the zone may have another name, and the person, if the owner vouches for it
SELECT load('patient::bigint AS person, at, flu, cents, ward');
SELECT dp_source_create('visits_dp', 'budget', 'person', 'at', 'Etc/UTC', same_persons => true);
SELECT count(source) AS back FROM dp_counters;
CALL until(33);
CALL dp_tick();
SELECT (SELECT sum(count) FROM events) = t.events AS events, (SELECT sum(sum) FROM cents) = t.cents AS cents FROM truth() AS t;
SELECT dp_counter_drop(counter) FROM dp_counters;
SELECT dp_source_drop('visits_dp');
SELECT dp_budget_drop('budget'), dp_budget_drop('other');
DROP SCHEMA reattached CASCADE;
DROP ROLE reattached_ana;
