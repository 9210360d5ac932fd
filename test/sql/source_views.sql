-- Which views may be a source without their owner's word, which with it, and which not at all.
CREATE SCHEMA source_views;
SET search_path = source_views, public;
SET TIME ZONE 'UTC';
CREATE ROLE source_viewer;
CREATE ROLE source_stranger;
GRANT USAGE, CREATE ON SCHEMA source_views TO source_viewer, source_stranger;
-- what is a stranger's
SET ROLE source_stranger;
CREATE TYPE mood AS ENUM ('sad', 'glad');
CREATE FUNCTION theirs(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION theirs_eq(text, text) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT true';
CREATE OPERATOR ~~~ (LEFTARG = text, RIGHTARG = text, FUNCTION = theirs_eq);
CREATE AGGREGATE their_sum(integer) (SFUNC = int4pl, STYPE = integer);
CREATE FUNCTION their_text(mood) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT 'glad' $$;
CREATE CAST (mood AS text) WITH FUNCTION their_text;
CREATE DOMAIN theirs_below_10 AS integer CHECK (VALUE < 10);
CREATE TABLE their_visits (person integer, at timestamptz);
GRANT SELECT ON their_visits TO source_viewer;
RESET ROLE;
SET ROLE source_viewer;
CREATE TYPE ward AS ENUM ('north', 'south');
CREATE TYPE place AS (a integer, b integer);
CREATE DOMAIN small AS integer CHECK (VALUE < 10);
CREATE TABLE visits (id integer PRIMARY KEY, person integer, at timestamptz, note text, ward ward, place place, small small,
    cents integer, tags text[]);
CREATE TABLE felt (person integer, at timestamptz, mood mood);
CREATE TABLE wards (ward ward PRIMARY KEY);
CREATE TABLE guarded (person integer, at timestamptz);
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE TABLE parts (person integer, at timestamptz) PARTITION BY RANGE (at);
CREATE TABLE part PARTITION OF parts DEFAULT;
CREATE MATERIALIZED VIEW stored AS SELECT person, at FROM visits;
CREATE VIEW filtered AS SELECT person, at, cents FROM visits WHERE cents > 0;
CREATE VIEW limited AS SELECT person, at FROM visits LIMIT 10;
CREATE VIEW aged AS SELECT person, now() AS at, now() AS seen FROM visits;
CREATE FUNCTION mine(integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE FUNCTION reads(integer) RETURNS boolean STABLE
    LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) > $1 FROM source_views.visits); END';
CREATE FUNCTION varies(integer) RETURNS integer VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE TABLE of_reads (person integer, at timestamptz);
ALTER TABLE of_reads ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY reads ON of_reads USING (reads(person));
CREATE TABLE of_random (person integer, at timestamptz);
ALTER TABLE of_random ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY random ON of_random USING (random() < 0.5);
CREATE TYPE feeling AS ENUM ('good', 'bad');
CREATE FUNCTION reads(feeling) RETURNS text STABLE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM source_views.visits); END';
CREATE CAST (feeling AS text) WITH FUNCTION reads(feeling);
ALTER TABLE visits ADD feeling feeling;
SELECT dp_budget_create('budget', 1e7);

-- shows whether a source over this SELECT is taken
CREATE FUNCTION try(query text, person_wise boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE why text;
BEGIN
    EXECUTE 'CREATE VIEW source_views.tried AS ' || query;
    BEGIN
        PERFORM dp_source_create('source_views.tried', budget => 'source_views.budget', person => 'person', at => 'at',
            person_wise => person_wise);
        PERFORM dp_source_drop('source_views.tried');
        why := 'taken';
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS why = PG_EXCEPTION_DETAIL;
        why := SQLSTATE || ' ' || replace(why, ', which is not immutable. The columns of the person and the time must be immutable.', '.');
    END;
    DROP VIEW source_views.tried;
    RETURN why;
END $$;
-- of columns of visits, or of what is said
CREATE PROCEDURE say(person_wise boolean, VARIADIC cases text[]) LANGUAGE plpgsql AS $$
DECLARE c text;
BEGIN
    FOREACH c IN ARRAY cases LOOP
        RAISE INFO '% => %', c, try(CASE WHEN c ~ '^(SELECT|WITH) ' THEN c WHEN c ~ '^(FROM|,) ' THEN 'SELECT person, at '
            || regexp_replace(c, '^, (.*)', ', \1 FROM visits')
            ELSE 'SELECT ' || c || ' FROM visits' END, person_wise);
    END LOOP;
END $$;
\set VERBOSITY terse
SET client_min_messages = warning; -- the time zone is that of the session

-- A simple view: columns of one table, and immutable functions, the owner's as well; of PostgreSQL's also those of dates, times and text.
CALL say(false, 'FROM visits', 'FROM parts', 'FROM filtered WHERE cents < 100',
    ', ward = ''north'' AS x', ', cents / 100 AS x', ', coalesce(cents, 0) AS x',
        ', CASE WHEN ward IS NULL THEN ''none'' ELSE upper(ward::text) END AS x', ', date_trunc(''week'', at) AS x',
    ', extract(hour FROM at) < 12 AS x', ', note::timestamptz AS x', ', note || at AS x', ', (place).a AS x', ', small + 1 AS x',
        ', note || ward || place || tags AS x',
        ', ''a'' = ANY (tags) AS x', ', to_char(at, ''Dy'') AS x',
    ', at + interval ''1 day'' AS x', ', tableoid AS x', ', concat(cents, at, ward, tags) AS x', ', format(''%s'', cents) AS x',
        ', cents::small AS x', ', place = place AS x', ', mine(cents) AS x',
    'mine(person) AS person, at', 'person || ''-'' || cents AS person, at', 'person, at AT TIME ZONE ''Europe/Berlin'' AS at',
        'person, at + interval ''1 day'' AS at', 'FROM visits WHERE at < now()');
-- Its shape.
CALL say(false, 'FROM limited', 'FROM visits LIMIT 10', 'FROM visits OFFSET 1', 'SELECT DISTINCT person, at FROM visits',
    'SELECT person, min(at) AS at FROM visits GROUP BY person', ', row_number() OVER (ORDER BY at) AS x',
    'FROM visits v WHERE EXISTS (SELECT FROM visits o WHERE o.person <> v.person)', ', (SELECT count(*) FROM visits) AS x',
        'FROM visits TABLESAMPLE BERNOULLI (10)', 'FROM visits UNION ALL SELECT person, at FROM visits',
    'WITH v AS (SELECT person, at FROM visits) SELECT * FROM v', 'SELECT v.person, v.at FROM visits v JOIN visits w USING (id)',
        'FROM visits, wards', 'FROM (SELECT * FROM visits) v', ', unnest(tags) AS x', 'FROM stored', 'FROM guarded',
    'SELECT 1 AS person, timestamptz ''2024-01-01'' AS at',
        'SELECT person, timestamptz ''2024-01-01'' AS at FROM generate_series(1, 3) AS person', 'FROM visits FOR UPDATE', ', ctid AS x',
        'SELECT oid::bigint AS person, timestamptz ''2024-01-01'' AS at FROM pg_class',
        'FROM visits WHERE xmin::text <> ''3''');
-- What may read other rows.
CALL say(false, ', reads(cents) AS x', ', pg_stat_get_live_tuples(''visits''::regclass) AS x', ', to_regclass(note) AS x',
    ', has_table_privilege(''visits'', ''SELECT'') AS x', ', current_setting(note) AS x',
    ', table_to_xml(''visits'', true, false, '''') IS NOT NULL AS x', ', ''x'' || feeling AS x', ', feeling || note AS x');

-- With the owner's word: any shape, and functions of the owner's that read.
CALL say(true, 'FROM limited', ', reads(cents) AS x', 'FROM visits WHERE person IN (SELECT mine(person) FROM visits WHERE reads(1))',
    'FROM stored', 'FROM of_reads', 'SELECT v.person, v.at, w.ward FROM visits v JOIN wards w USING (ward)',
    'SELECT person, min(at) AS at, string_agg(note, '','' ORDER BY at) AS x FROM visits GROUP BY person HAVING max(cents) > 0',
        ', sum(cents) OVER (PARTITION BY person ORDER BY at RANGE interval ''1 day'' PRECEDING) AS x',
    'FROM visits UNION SELECT person, at FROM visits UNION ALL SELECT person, at FROM guarded',
        'WITH v AS (SELECT person, at FROM visits) SELECT DISTINCT ON (person) * FROM v ORDER BY person, at',
    'WITH RECURSIVE r AS (SELECT person, at, 1 AS n FROM visits UNION ALL SELECT person, at, n + 1 FROM r WHERE n < 3) SELECT person, at FROM r', 'SELECT person, at, x FROM visits, unnest(tags) AS x',
    'SELECT person, at FROM (VALUES (1, timestamptz ''2024-01-01'')) AS v (person, at)',
        'SELECT person, at, seen < now() AS x FROM (SELECT person, at, now() AS seen FROM visits) v', ', json_agg(cents) OVER () AS x',
        ', session_user AS x',
    'SELECT person, at, x FROM visits, xmltable(''/a'' PASSING xml ''<a/>'' COLUMNS x small PATH ''.'') AS x',
        'SELECT person, l.at FROM visits v, LATERAL (SELECT v.at + interval ''1 day'' AS at) l');
-- A whole row is all of its columns.
CALL say(true, 'SELECT hash_record(v) AS person, v.at FROM visits v', 'SELECT hash_record(f) AS person, at FROM filtered f',
    'WITH v AS (SELECT person, at FROM visits) SELECT hash_record(v) AS person, at FROM v',
    'SELECT CASE WHEN v IS NOT NULL THEN v.person END AS person, w.at FROM visits w LEFT JOIN (SELECT person, id FROM visits) v USING (id)',
    'SELECT CASE WHEN j IS NOT NULL THEN j.person END AS person, j.at FROM (visits JOIN wards USING (ward)) AS j',
    'SELECT CASE WHEN n IS NOT NULL THEN person END AS person, at FROM visits, (VALUES (1, 2)) AS n (a, b)');
-- Refused with it, too: what is volatile, wherever it is,
CALL say(true, 'FROM visits WHERE random() < 0.5', ', varies(cents) AS x', ', dp_laplace(cents, 1.0, 1) AS x',
    'FROM visits ORDER BY varies(id)', 'SELECT person, min(at) AS at FROM visits GROUP BY person, varies(cents)',
    'SELECT person, min(at) AS at FROM visits GROUP BY person HAVING count(*) > varies(1)',
        'WITH v AS (SELECT varies(person) AS person, at FROM visits) SELECT person, at FROM v',
        'FROM visits UNION ALL SELECT varies(person), at FROM visits',
    'SELECT v.person, v.at FROM visits v JOIN visits w ON varies(v.id) = w.id', 'SELECT v.person, v.at FROM visits v, varies(v.id) AS n',
        ', count(*) FILTER (WHERE varies(cents) > 0) OVER () AS x', ', sum(cents) OVER (ORDER BY varies(id)) AS x',
    'FROM visits LIMIT varies(5)', 'SELECT person, at FROM (VALUES (varies(1), timestamptz ''2024-01-01'')) AS v (person, at)',
        'FROM visits TABLESAMPLE BERNOULLI (varies(10))', 'FROM of_random');
-- tables, functions, operators and domains of another role,
CALL say(true, ', theirs(cents) AS x', ', note ~~~ note AS x', 'FROM visits WHERE note ~~~ ANY (tags)',
    'SELECT person, min(at) AS at, their_sum(cents) AS x FROM visits GROUP BY person', 'SELECT person, at, mood = ''glad'' AS x FROM felt', 'SELECT f.person, f.at FROM felt f JOIN felt g USING (person)',
    'SELECT v.person, v.at FROM visits v, theirs(v.id) AS n',
    ', cents::theirs_below_10 AS x', 'FROM their_visits');
SELECT try('SELECT person, at FROM their_visits', false);
-- what writes,
CALL say(true, 'FROM visits FOR UPDATE', 'SELECT * FROM (SELECT person, at FROM visits FOR SHARE) v');
-- set operations that cast, which no call shows,
CALL say(true, 'SELECT person, at, ward FROM visits UNION ALL SELECT person, at, ward FROM visits',
    'SELECT person, at::date AS at FROM visits UNION ALL SELECT person, at FROM visits',
    'SELECT person, at FROM visits UNION ALL (SELECT person, at::date FROM visits EXCEPT SELECT person, at::date FROM visits)');
-- and a person or a time that is not immutable, wherever it comes from.
CALL say(true, 'person || session_user AS person, at', 'reads(person)::text AS person, at', 'concat(person, ward) AS person, at',
    'person || ''-'' || at AS person, at', 'person, note::timestamptz AS at', 'person, current_date AS at',
    'person, clock_timestamp() AS at',
    'SELECT person, at FROM (SELECT person, now() AS at FROM visits) v', 'SELECT * FROM aged',
        'SELECT v.person, a.seen AS at FROM visits v JOIN aged a USING (person)',
        'WITH a AS (SELECT * FROM aged) SELECT person, seen AS at FROM a',
    'SELECT person, at FROM visits UNION ALL SELECT person, seen FROM aged', 'SELECT person, max(seen) AS at FROM aged GROUP BY person',
        'SELECT person, (SELECT max(seen) FROM aged) AS at FROM visits', 'SELECT person, v.at FROM visits, (VALUES (now())) AS v (at)',
    'SELECT person, s AS at FROM visits, generate_series(visits.at, visits.at, interval ''1 day'') AS s',
        'SELECT coalesce(a.person, b.person) AS person, at FROM (SELECT person + date_part(''day'', at)::integer AS person FROM visits) a FULL JOIN visits b USING (person)',
    'SELECT hash_record(a) AS person, at FROM aged a', 'ctid::text AS person, at', 'tableoid::bigint AS person, at',
    'xmlelement(name x, at)::text AS person, at',
        'SELECT person, x.at FROM visits, xmltable(''/a'' PASSING xml ''<a/>'' COLUMNS at timestamptz PATH ''.'') AS x');
-- What later majors have: JSON expressions, from 16 and 17 on, and virtual columns, from 18 on.
DO $$
DECLARE
    major integer := current_setting('server_version_num')::integer / 10000;
BEGIN
    IF major >= 18 THEN
        EXECUTE 'CREATE TABLE virtual (person integer, at timestamptz, day date, local text GENERATED ALWAYS AS (person::text) VIRTUAL, hour integer GENERATED ALWAYS AS (extract(hour FROM at AT TIME ZONE ''UTC'')) VIRTUAL)';
        ASSERT try('SELECT local AS person, at FROM virtual WHERE hour > 1', false) = 'taken';
    END IF;
    IF major >= 16 THEN
        ASSERT try('SELECT person, at, pg_input_is_valid(note, ''integer'') AS x FROM visits', true) = 'taken';
        ASSERT try('SELECT person, at, JSON_ARRAY(ward) AS x FROM visits', true) = 'taken';
        ASSERT try('SELECT JSON_ARRAY(at)::text AS person, at FROM visits', true) ~ '^0A000 Column "person" depends on ';
    END IF;
    IF major >= 17 THEN
        ASSERT try('SELECT person, at, JSON_VALUE(note::jsonb, ''$'' RETURNING integer) AS x FROM visits', false) = 'taken';
        ASSERT try('SELECT person, JSON_VALUE(note::jsonb, ''$.datetime()'' RETURNING timestamptz) AS at FROM visits',
            true) ~ '^0A000 Column "at" depends on ';
        ASSERT try('SELECT person, JSON_VALUE(note::jsonb, ''$'' RETURNING timestamptz ERROR ON EMPTY ERROR ON ERROR) AS at FROM visits',
            true) ~ '^0A000 Column "at" depends on ';
        ASSERT try('SELECT person, j.at FROM visits, JSON_TABLE(note::jsonb, ''$'' COLUMNS (at timestamptz PATH ''$'' ERROR ON EMPTY ERROR ON ERROR)) AS j', true) ~ '^0A000 Column "at" depends on ';
    END IF;
END $$;

-- A function of PostgreSQL that reads a view by its name runs what that view calls, whoever made it.
SELECT try($$SELECT person, at, table_to_xml('visits', true, false, '') IS NOT NULL AS x FROM visits$$, true);

-- The same holds at a tick, for what has become of a view.
\set VERBOSITY default
RESET client_min_messages;
CREATE VIEW moved_dp AS SELECT person, at FROM visits;
SELECT dp_source_create('moved_dp', budget => 'budget', person => 'person', at => 'at');
SELECT dp_counter_create('moved', epsilon => 1, horizon => 1, source => 'moved_dp', every => '1 day', since => '2024-01-01',
    per_person => 1);
CREATE OR REPLACE VIEW moved_dp AS SELECT varies(person) AS person, at FROM visits;
CALL dp_tick('moved');
CREATE OR REPLACE VIEW moved_dp AS SELECT person, date_trunc('day', at) AS at FROM visits;
CALL dp_tick('moved');
CALL dp_source_contributions('moved_dp', 'report', 1);
CREATE OR REPLACE VIEW moved_dp AS SELECT person, at FROM visits WHERE reads(cents);
CALL dp_tick('moved');
CREATE OR REPLACE VIEW moved_dp AS SELECT mine(person) AS person, at FROM visits;
ALTER FUNCTION mine(integer) STABLE;
CALL dp_tick('moved');
ALTER FUNCTION mine(integer) IMMUTABLE;
CALL dp_tick('moved');

-- A column is traced once, however often layers of a view name the one below: 8 ^ 12 times would take years.
DO $$ BEGIN EXECUTE 'CREATE VIEW layered_dp AS WITH c0 AS MATERIALIZED (SELECT note AS p, at FROM source_views.visits)'
    || (SELECT string_agg(format(
    ', c%s AS MATERIALIZED (SELECT CASE p WHEN ''a'' THEN lower(p) WHEN ''b'' THEN upper(p) WHEN ''c'' THEN p || p ELSE trim(p) || p END AS p, at FROM c%s)', d, d - 1), '' ORDER BY d)
    FROM generate_series(1, 12) d) || ' SELECT p AS person, at FROM c12'; END $$;
-- So is what a function in FROM returns.
DO $$ BEGIN EXECUTE 'CREATE VIEW applied_dp AS SELECT f60.x AS person, at FROM visits, int4larger(person, person) AS f1 (x)'
    || (SELECT string_agg(format(', int4larger(f%1$s.x, f%1$s.x) AS f%2$s (x)', d - 1, d), '' ORDER BY d) FROM generate_series(2, 60) AS d); END $$;
SET statement_timeout = '60s';
SELECT dp_source_create(s, budget => 'budget', person => 'person', at => 'at', person_wise => true)
    FROM unnest('{layered_dp,applied_dp}'::regclass[]) AS s;
RESET statement_timeout;

-- With gin_fuzzy_search_limit an index gives so many of the rows, by chance: of the database, as of the session.
CREATE TABLE tagged AS SELECT n AS person, timestamptz '2024-01-01' AS at, '{flu}'::text[] AS tags FROM generate_series(1, 5000) AS n;
CREATE INDEX ON tagged USING gin (tags) WITH (fastupdate = off);
CREATE VIEW tagged_dp AS SELECT person, at FROM tagged WHERE tags @> '{flu}';
SELECT dp_source_create('tagged_dp', budget => 'budget', person => 'person', at => 'at');
SELECT dp_counter_create('tagged_by_day', epsilon => 1e6, horizon => 1, source => 'tagged_dp', every => '1 day', since => '2024-01-01',
    per_person => 1);
RESET ROLE;
DO $$ BEGIN
    EXECUTE format('ALTER DATABASE %I SET gin_fuzzy_search_limit = 1', current_database());
    EXECUTE format('ALTER DATABASE %I SET cpu_tuple_cost = 1000', current_database()); -- so that the index is cheaper than the table
END $$;
\c
SET search_path = source_views, public;
SELECT count(*) < 5000 AS by_chance FROM tagged_dp;
CALL dp_tick('tagged_by_day');
SELECT count FROM tagged_by_day;
DO $$ BEGIN
    EXECUTE format('ALTER DATABASE %I RESET gin_fuzzy_search_limit', current_database());
    EXECUTE format('ALTER DATABASE %I RESET cpu_tuple_cost', current_database());
END $$;

SET client_min_messages = warning;
DO $$ BEGIN PERFORM dp_counter_drop(counter) FROM dp_counters; END $$;
DROP VIEW tagged_dp, moved_dp, layered_dp, applied_dp;
SELECT dp_budget_drop('budget');
DROP SCHEMA source_views CASCADE;
DROP ROLE source_viewer, source_stranger;
