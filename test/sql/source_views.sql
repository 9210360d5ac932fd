-- Which views may be a source without their owner's word, which with it, and what none may call.
CREATE SCHEMA source_views;
SET search_path = source_views, public;
SET TIME ZONE 'UTC';
CREATE TYPE ward AS ENUM ('north', 'south');
CREATE TYPE pair AS (a integer, b integer);
CREATE DOMAIN small AS integer CHECK (VALUE < 10);
CREATE TABLE visits (id integer PRIMARY KEY, person integer, at timestamptz, text_at text, ward ward, place pair, small small, cents integer, tags text[]);
CREATE TABLE wards (ward ward PRIMARY KEY);
CREATE TABLE guarded (person integer, at timestamptz);
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE TABLE parts (person integer, at timestamptz) PARTITION BY RANGE (at);
CREATE TABLE part PARTITION OF parts DEFAULT;
CREATE FUNCTION mine(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION mine_eq(pair, pair) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT true';
CREATE OPERATOR ~~~ (LEFTARG = pair, RIGHTARG = pair, FUNCTION = mine_eq);
CREATE MATERIALIZED VIEW stored AS SELECT person, at FROM visits;
SELECT dp_budget_create('budget', 1e7);

-- says whether a source over this SELECT is taken
CREATE FUNCTION try(query text, person_wise boolean DEFAULT false) RETURNS text LANGUAGE plpgsql AS $$
DECLARE why text;
BEGIN
    EXECUTE 'CREATE VIEW source_views.tried AS ' || query;
    BEGIN
        PERFORM dp_source_create('source_views.tried', budget => 'source_views.budget', person => 'person', at => 'at', person_wise => person_wise);
        PERFORM dp_source_drop('source_views.tried');
        why := 'taken';
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS why = PG_EXCEPTION_DETAIL;
        why := SQLSTATE || ' ' || why;
    END;
    DROP VIEW source_views.tried;
    RETURN why;
END $$;
CREATE VIEW filtered AS SELECT person, at, cents FROM visits WHERE cents > 0;
CREATE VIEW limited AS SELECT person, at FROM visits LIMIT 10;

SELECT query, try(query) FROM (VALUES
    (1, 'SELECT * FROM visits'),
    (2, 'SELECT person, at, ward = ''north'' AS north, cents / 100 AS euros FROM visits WHERE cents BETWEEN 1 AND 100000'),
    (3, 'SELECT person, at, coalesce(cents, 0) AS cents, CASE WHEN ward IS NULL THEN ''none'' ELSE upper(ward::text) END AS ward FROM visits ORDER BY at'),
    (4, 'SELECT person, at, date_trunc(''week'', at) AS week, extract(hour FROM at) < 12 AS morning FROM visits WHERE at < now()'),
    (5, 'SELECT person, at, text_at::timestamptz AS t, text_at || ''x'' AS u FROM visits'),
    (6, 'SELECT person, at, (place).a AS a FROM visits'),
    (7, 'SELECT person, at, small + 1 AS s, ''a'' = ANY (tags) AS tagged, lower(tags[1]) AS first FROM visits'),
    (8, 'SELECT person, at FROM parts'),
    (9, 'SELECT person, at FROM filtered WHERE cents < 100'),
    (10, 'SELECT person, at, to_char(at, ''Dy'') AS d, at + interval ''1 day'' AS tomorrow, tableoid FROM visits'),
    (11, 'SELECT person || ''-'' || cents AS person, at AT TIME ZONE ''Europe/Berlin'' AS at, current_date - at::date AS age FROM visits'),
    (20, 'SELECT person, at FROM limited'),
    (21, 'SELECT person, at FROM visits LIMIT 10'),
    (22, 'SELECT person, at FROM visits OFFSET 1'),
    (23, 'SELECT DISTINCT person, at FROM visits'),
    (24, 'SELECT DISTINCT ON (person) person, at FROM visits ORDER BY person, at'),
    (25, 'SELECT person, min(at) AS at FROM visits GROUP BY person'),
    (26, 'SELECT person, at, row_number() OVER (ORDER BY at) AS n FROM visits'),
    (27, 'SELECT person, at FROM visits v WHERE EXISTS (SELECT FROM visits o WHERE o.person <> v.person)'),
    (28, 'SELECT person, at, (SELECT count(*) FROM visits) AS n FROM visits'),
    (29, 'SELECT person, at FROM visits TABLESAMPLE BERNOULLI (10)'),
    (30, 'SELECT person, at FROM visits UNION ALL SELECT person, at FROM visits'),
    (31, 'WITH v AS (SELECT person, at FROM visits) SELECT * FROM v'),
    (32, 'SELECT v.person, v.at FROM visits v JOIN visits w USING (id)'),
    (33, 'SELECT person, at FROM visits, wards'),
    (34, 'SELECT person, at FROM (SELECT * FROM visits) v'),
    (35, 'SELECT person, at, unnest(tags) AS tag FROM visits'),
    (36, 'SELECT person, at FROM stored'),
    (37, 'SELECT person, at FROM guarded'),
    (38, 'SELECT 1 AS person, timestamptz ''2024-01-01'' AS at'),
    (39, 'SELECT person, timestamptz ''2024-01-01'' AS at FROM generate_series(1, 3) AS person'),
    (40, 'SELECT person, at FROM visits FOR UPDATE'),
    (50, 'SELECT person, at FROM visits WHERE random() < 0.5'),
    (51, 'SELECT mine(person) AS person, at FROM visits'),
    (52, 'SELECT person, at, place ~~~ place AS p FROM visits'),
    (53, 'SELECT person, at, place = place AS p FROM visits'),
    (54, 'SELECT person, at, cents::small AS s FROM visits'),
    (55, 'SELECT person, at FROM visits WHERE xmin::text <> ''3'''),
    (56, 'SELECT person, at, ctid FROM visits'),
    (57, 'SELECT person, at, visits AS row FROM visits'),
    (58, 'SELECT person, at, table_to_xml(''visits'', true, false, '''') IS NOT NULL AS x FROM visits'),
    (59, 'SELECT person, at, pg_stat_get_live_tuples(''visits''::regclass) AS n FROM visits'),
    (60, 'SELECT person, at, txid_current() AS n FROM visits'),
    (61, 'SELECT person, clock_timestamp() AS at FROM visits'),
    (62, 'SELECT person, at, pg_relation_size(''visits''::regclass) AS n FROM visits'),
    (63, 'SELECT person, at, to_regclass(''visits'') AS c FROM visits'),
    (64, 'SELECT person, at, has_table_privilege(''visits'', ''SELECT'') AS c FROM visits'),
    (65, 'SELECT person, at, session_user AS who FROM visits'),
    (66, 'SELECT person, at FROM visits WHERE current_schema <> ''x'''),
    (67, 'SELECT person, at FROM visits WHERE text_at = current_setting(''TimeZone'')'),
    (68, 'SELECT person, at, xmlelement(name x, at) AS x FROM visits'),
    (70, 'SELECT person || session_user AS person, at FROM visits'),
    (71, 'SELECT person, text_at::timestamptz AS at FROM visits'),
    (72, 'SELECT person || ''-'' || at AS person, at FROM visits'),
    (73, 'SELECT person, at + interval ''1 day'' AS at FROM visits'),
    (74, 'SELECT person, current_date AS at FROM visits'),
    (12, 'SELECT person, at, concat(cents, at, ward, tags) AS c, format(''%s'', cents) AS f, to_tsvector(''simple'', text_at) @@ ''flu'' AS flu FROM visits'),
    (69, 'SELECT person, at, concat(cents::money) AS m FROM visits'),
    (76, 'SELECT concat(person, ward) AS person, at FROM visits'),
    (77, 'SELECT (ts_lexize(''simple'', text_at))[1] AS person, at FROM visits'),
    (75, 'SELECT person, at FROM (SELECT person, now() AS at FROM visits) v')) AS queries (n, query) ORDER BY n;

-- With the owner's word a view may have any shape, and calls what a simple one may, in every corner.
CREATE VIEW mined AS SELECT mine(person) AS person, at FROM visits;
CREATE VIEW aged AS SELECT person, now() AS at, now() AS seen FROM visits;
CREATE TABLE guarded_by_mine (person integer, at timestamptz);
ALTER TABLE guarded_by_mine ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY mine ON guarded_by_mine USING (mine(person) > 0);
-- between set operations the planner casts: here it runs the owner's function
CREATE TYPE bed AS ENUM ('north', 'south');
CREATE FUNCTION bed_of(ward) RETURNS bed IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1::text; END';
CREATE CAST (ward AS bed) WITH FUNCTION bed_of AS IMPLICIT;
CREATE TABLE beds (person integer, at timestamptz, day date, bed bed);
CREATE AGGREGATE my_sum(integer) (SFUNC = int4pl, STYPE = integer);
CREATE TYPE pair_range AS RANGE (SUBTYPE = pair);
CREATE TABLE pairs (person integer, at timestamptz, place pair, ward ward);
CREATE TABLE indexed (person integer, at timestamptz);
CREATE INDEX constant ON indexed (person) WHERE person > mine(1);
CREATE TABLE indexed_by_sql (person integer, at timestamptz);
CREATE INDEX inlined ON indexed_by_sql (mine(person));
CREATE TABLE indexed_fine (person integer, at timestamptz);
CREATE FUNCTION norm(integer) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE INDEX varying ON indexed_fine (norm(person)) WHERE person > 0;
-- an order by a class that is not the type's own
CREATE FUNCTION odd_lt(integer, integer) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT $1 < $2';
CREATE FUNCTION odd_cmp(integer, integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT btint4cmp($1, $2)';
CREATE FUNCTION odd_range(integer, integer, integer, boolean, boolean) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT in_range($1, $2, $3, $4, $5)';
CREATE OPERATOR <<< (LEFTARG = integer, RIGHTARG = integer, FUNCTION = odd_lt);
CREATE OPERATOR === (LEFTARG = integer, RIGHTARG = integer, FUNCTION = int4eq, MERGES, HASHES);
CREATE OPERATOR CLASS odd FOR TYPE integer USING btree AS OPERATOR 1 <<<, OPERATOR 3 ===, FUNCTION 1 odd_cmp(integer, integer), FUNCTION 3 (integer, integer) odd_range(integer, integer, integer, boolean, boolean);
CREATE TABLE ordered (person integer, at timestamptz);
CREATE INDEX oddly ON ordered (person odd);
CREATE TABLE divided (person integer, at timestamptz) PARTITION BY RANGE (person odd);
-- a column that a join makes of two, by a cast that the comparison does without
CREATE TABLE vectors (x tsvector); CREATE TABLE queries (x tsquery, person integer, at timestamptz);
CREATE OPERATOR = (LEFTARG = tsvector, RIGHTARG = tsquery, FUNCTION = ts_match_vq);
CREATE FUNCTION vector_of(tsquery) RETURNS tsvector IMMUTABLE LANGUAGE sql AS 'SELECT NULL::tsvector';
CREATE CAST (tsquery AS tsvector) WITH FUNCTION vector_of(tsquery) AS IMPLICIT;
-- the planner puts an operator's negator or commutator in its place, and what that calls
CREATE FUNCTION differs(text, text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 <> $2; END';
CREATE OPERATOR ==== (LEFTARG = text, RIGHTARG = text, FUNCTION = texteq, NEGATOR = OPERATOR(source_views.!===));
CREATE OPERATOR !=== (LEFTARG = text, RIGHTARG = text, FUNCTION = differs, NEGATOR = OPERATOR(source_views.====));
CREATE TABLE indexed_by_negator (person integer, at timestamptz);
CREATE INDEX negated ON indexed_by_negator (person) WHERE NOT ('a'::text OPERATOR(source_views.====) 'b');
-- a superuser's function in pg_catalog is not PostgreSQL's own
SET allow_system_table_mods = on;
CREATE FUNCTION pg_catalog.dp_test_mine(integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT $1';
RESET allow_system_table_mods;
SET row_security = on;
CREATE ROLE source_viewer;
GRANT USAGE, CREATE ON SCHEMA source_views TO source_viewer;
GRANT ALL ON ALL TABLES IN SCHEMA source_views TO source_viewer;
ALTER TABLE guarded_by_mine OWNER TO source_viewer;
ALTER VIEW budget OWNER TO source_viewer;
SET ROLE source_viewer;
SELECT query, try(query, true) FROM (VALUES
    (1, 'SELECT person, at FROM filtered'),
    (2, 'SELECT person, min(at) AS at, count(*) > 1 AS often, string_agg(text_at, '','' ORDER BY at) AS all, bool_or(cents > 0) AS paid FROM visits GROUP BY person HAVING max(cents) > 0'),
    (3, 'SELECT v.person, v.at, w.ward FROM visits v JOIN wards w USING (ward)'),
    (4, 'SELECT person, at, row_number() OVER (PARTITION BY person ORDER BY at) AS n, sum(cents) OVER (PARTITION BY person ORDER BY at RANGE interval ''1 day'' PRECEDING) AS s FROM visits'),
    (5, 'SELECT person, at FROM visits WHERE EXISTS (SELECT FROM wards WHERE wards.ward = visits.ward)'),
    (6, 'SELECT person, at FROM visits UNION SELECT person, at FROM visits UNION ALL SELECT person, at FROM guarded'),
    (7, 'WITH v AS (SELECT person, at FROM visits) SELECT DISTINCT ON (person) * FROM v ORDER BY person, at'),
    (8, 'SELECT person, at, tag FROM visits, unnest(tags) AS tag'),
    (9, 'SELECT person, at, place FROM pairs'),
    (10, 'SELECT person, at, place FROM pairs UNION ALL SELECT person, at, place FROM pairs'),
    (11, 'SELECT a.person, a.at, a.place FROM pairs a LEFT JOIN pairs b USING (person)'),
    (12, 'SELECT person, at FROM stored'),
    (13, 'SELECT person, at, seen < now() AS seen FROM (SELECT person, at, now() AS seen FROM visits) v'),
    (14, 'SELECT person, at FROM indexed_fine'),
    (15, 'WITH RECURSIVE r AS (SELECT person, at, 1 AS n FROM visits UNION ALL SELECT person, at, n + 1 FROM r WHERE n < 3) SELECT person, at FROM r'),
    (16, 'SELECT DISTINCT person, at, ward FROM visits'),
    (17, 'SELECT person, at FROM (VALUES (1, timestamptz ''2024-01-01'')) AS v (person, at)'),
    (20, 'SELECT * FROM mined'),
    (21, 'SELECT person, at FROM visits WHERE person IN (SELECT mine(person) FROM visits)'),
    (22, 'SELECT person, at FROM visits ORDER BY mine(person)'),
    (23, 'SELECT person, min(at) AS at FROM visits GROUP BY person, mine(cents)'),
    (24, 'SELECT person, min(at) AS at FROM visits GROUP BY person HAVING count(*) > mine(1)'),
    (25, 'WITH v AS (SELECT mine(person) AS person, at FROM visits) SELECT person, at FROM v'),
    (26, 'SELECT person, at FROM visits UNION ALL SELECT mine(person), at FROM visits'),
    (27, 'SELECT v.person, v.at FROM visits v JOIN visits w ON mine(v.id) = w.id'),
    (28, 'SELECT v.person, v.at FROM visits v, mine(v.id) AS n'),
    (29, 'SELECT person, at, count(*) FILTER (WHERE mine(cents) > 0) OVER () AS n FROM visits'),
    (30, 'SELECT person, at, sum(cents) OVER (ORDER BY mine(id)) AS n FROM visits'),
    (31, 'SELECT person, at FROM visits LIMIT mine(5)'),
    (32, 'SELECT person, at FROM (VALUES (mine(1), timestamptz ''2024-01-01'')) AS v (person, at)'),
    (33, 'SELECT person, at FROM guarded_by_mine'),
    (34, 'SELECT person, min(at) AS at, my_sum(cents) AS cents FROM visits GROUP BY person'),
    (35, 'SELECT person, at, place FROM pairs UNION SELECT person, at, place FROM pairs'),
    (36, 'SELECT DISTINCT person, at, place FROM pairs'),
    (37, 'SELECT person, min(at) AS at FROM pairs GROUP BY person, place'),
    (38, 'SELECT person, at, pair_range(place, place) AS r FROM pairs'),
    (39, 'SELECT person, min(at) AS at, array_agg(place) AS places FROM pairs GROUP BY person'),
    (40, 'SELECT a.person, a.at FROM pairs a JOIN pairs b USING (place)'),
    (41, 'SELECT person, at FROM pairs ORDER BY place'),
    (42, 'SELECT person, at FROM (SELECT place, person, at FROM pairs) AS v WHERE v = v'),
    (43, 'SELECT person, at, json_agg(cents) OVER () AS j FROM visits'),
    (44, 'SELECT person, at, x FROM visits, xmltable(''/a'' PASSING xml ''<a/>'' COLUMNS x small PATH ''.'') AS x'),
    (45, 'SELECT person, at FROM visits, jsonb_to_record(''{}'') AS r(x small)'),
    (46, 'SELECT person, at FROM indexed'),
    (47, 'SELECT dp_test_mine(person) AS person, at FROM visits'),
    (48, 'SELECT person, at, (SELECT small FROM (SELECT cents::small AS small) s) AS s FROM visits'),
    (49, 'SELECT person, at, dp_laplace(cents, 1.0, 1) AS noisy FROM visits'),
    (61, 'SELECT person, at FROM visits ORDER BY person USING <<<'),
    (78, 'SELECT person, at FROM visits WHERE NOT (text_at OPERATOR(source_views.====) ''x''::text)'),
    (79, 'SELECT person, at, text_at OPERATOR(source_views.====) ANY (ARRAY[''x''::text]) AS x FROM visits'),
    (80, 'SELECT person, at FROM indexed_by_negator'),
    (62, 'SELECT person, at, sum(cents) OVER (ORDER BY id USING <<< RANGE 1 PRECEDING) AS n FROM visits'),
    (63, 'SELECT person, min(at) AS at, string_agg(text_at, '','' ORDER BY cents USING <<<) AS t FROM visits GROUP BY person'),
    (64, 'SELECT v.person, v.at FROM visits v JOIN visits w ON v.id === w.id'),
    (65, 'SELECT person, at FROM visits WHERE NOT (id = ANY (ARRAY[1, 2])) AND id === ANY (ARRAY[1, 2])'),
    (66, 'SELECT person, at FROM ordered'),
    (67, 'SELECT person, at FROM divided'),
    (68, 'SELECT person, at FROM indexed_by_sql'),
    (69, 'SELECT r.person, r.at, x FROM vectors l RIGHT JOIN queries r USING (x)'),
    (50, 'SELECT * FROM aged'),
    (51, 'SELECT v.person, a.seen AS at FROM visits v JOIN aged a USING (person)'),
    (52, 'WITH a AS (SELECT * FROM aged) SELECT person, seen AS at FROM a'),
    (53, 'SELECT person, at FROM visits UNION ALL SELECT person, seen FROM aged'),
    (70, 'SELECT person, at, ward FROM visits UNION ALL SELECT person, at, ward FROM visits UNION ALL SELECT person, at, bed FROM beds'),
    (71, 'SELECT person, at, ward FROM visits UNION ALL (SELECT person, at, bed FROM beds UNION ALL SELECT person, at, ward FROM visits)'),
    (72, 'SELECT person, day AS at FROM beds UNION ALL SELECT person, day FROM beds UNION ALL SELECT person, at FROM beds'),
    (54, 'SELECT person, max(seen) AS at FROM aged GROUP BY person'),
    (55, 'SELECT person, (SELECT max(seen) FROM aged) AS at FROM visits'),
    (56, 'SELECT person, l.at FROM visits v, LATERAL (SELECT v.at + interval ''1 day'' AS at) l'),
    (57, 'SELECT person, v.at FROM visits, (VALUES (now())) AS v (at)'),
    (58, 'SELECT person, s AS at FROM visits, generate_series(visits.at, visits.at, interval ''1 day'') AS s'),
    (59, 'SELECT coalesce(a.person, b.person) AS person, at FROM (SELECT person + date_part(''day'', at)::integer AS person FROM visits) a FULL JOIN visits b USING (person)'),
    (60, 'SELECT person, at FROM (SELECT person + date_part(''day'', at)::integer AS person FROM visits) a FULL JOIN visits b USING (person)')) AS queries (n, query) ORDER BY n;
RESET ROLE;
-- the same after it was declared: at a tick
CREATE VIEW moved_dp AS SELECT person, at FROM visits;
SELECT dp_source_create('moved_dp', budget => 'budget', person => 'person', at => 'at');
SELECT dp_counter_create('moved', epsilon => 1, horizon => 1, source => 'moved_dp', every => '1 day', since => '2024-01-01');
CREATE OR REPLACE VIEW moved_dp AS SELECT mine(person) AS person, at FROM visits;
CALL dp_counter_tick('moved');
CREATE OR REPLACE VIEW moved_dp AS SELECT person, date_trunc('day', at) AS at FROM visits;
CALL dp_counter_tick('moved');
CALL dp_source_contributions('moved_dp', 'report', 1);
CREATE OR REPLACE VIEW moved_dp AS SELECT person, at FROM visits LIMIT 1;
CALL dp_counter_tick('moved');
CREATE OR REPLACE VIEW moved_dp AS SELECT person, at FROM visits;
CALL dp_counter_tick('moved');

-- A column is traced once, however often layers of a view name the one below: 8 ^ 12 times would take years.
DO $$ BEGIN EXECUTE 'CREATE VIEW layered_dp AS WITH c0 AS MATERIALIZED (SELECT text_at AS p, at FROM source_views.visits)' || (SELECT string_agg(format(
    ', c%s AS MATERIALIZED (SELECT CASE p WHEN ''a'' THEN lower(p) WHEN ''b'' THEN upper(p) WHEN ''c'' THEN p || p ELSE trim(p) || p END AS p, at FROM c%s)', d, d - 1), '' ORDER BY d)
    FROM generate_series(1, 12) d) || ' SELECT p AS person, at FROM c12'; END $$;
SET statement_timeout = '60s';
SELECT dp_source_create('layered_dp', budget => 'budget', person => 'person', at => 'at', person_wise => true);
RESET statement_timeout;

-- SQL's JSON expressions, which older servers do not have, call functions that no tree shows: casts to json, checks of domains.
CREATE TYPE ward_row AS (ward ward);
CREATE FUNCTION crowded(integer) RETURNS boolean STABLE LANGUAGE sql AS 'SELECT count(*) > 5 FROM source_views.visits';
CREATE DOMAIN crowd AS integer CHECK (VALUE < 0 OR crowded(VALUE));
CREATE FUNCTION to_json(ward) RETURNS json STABLE LANGUAGE sql AS 'SELECT to_json(count(*)) FROM source_views.visits';
CREATE CAST (ward AS json) WITH FUNCTION to_json(ward);
SELECT query, CASE WHEN current_setting('server_version_num')::integer >= since THEN try(query) ELSE older END AS try
FROM (VALUES
    (1, 170000, 'SELECT person, at, JSON_VALUE(text_at::jsonb, ''$'' RETURNING integer) AS x FROM visits', 'taken'),
    (2, 170000, 'SELECT person, at, JSON_VALUE(text_at::jsonb, ''$'' RETURNING crowd) AS x FROM visits', '0A000 It constructs JSON or XML, or extracts a type from it that is not built in.'),
    (3, 170000, 'SELECT person, at, JSON_QUERY(text_at::jsonb, ''$'' RETURNING crowd[]) AS x FROM visits', '0A000 It constructs JSON or XML, or extracts a type from it that is not built in.'),
    (4, 170000, 'SELECT person, at, JSON_QUERY(text_at::jsonb, ''$'' RETURNING ward_row) AS x FROM visits', '0A000 It constructs JSON or XML, or extracts a type from it that is not built in.'),
    (5, 160000, 'SELECT person, at, JSON_ARRAY(ward) AS x FROM visits', '0A000 It constructs JSON or XML, or extracts a type from it that is not built in.'),
    (6, 160000, 'SELECT person, at, JSON_OBJECT(''ward'': ward) AS x FROM visits', '0A000 It constructs JSON or XML, or extracts a type from it that is not built in.')
    ) AS queries (n, since, query, older) ORDER BY n;

-- Nor may the clock's session make it otherwise: with gin_fuzzy_search_limit an index gives so many of the rows, by chance.
CREATE TABLE tagged AS SELECT n AS person, timestamptz '2024-01-01' AS at, '{flu}'::text[] AS tags FROM generate_series(1, 5000) AS n;
CREATE INDEX ON tagged USING gin (tags) WITH (fastupdate = off);
CREATE VIEW tagged_dp AS SELECT person, at FROM tagged WHERE tags @> '{flu}';
SELECT dp_source_create('tagged_dp', budget => 'budget', person => 'person', at => 'at');
SELECT dp_counter_create('tagged_by_day', epsilon => 1e6, horizon => 1, source => 'tagged_dp', every => '1 day', since => '2024-01-01');
SET gin_fuzzy_search_limit = 1;
SET cpu_tuple_cost = 1000; -- so that the index is cheaper than the table
SELECT count(*) < 5000 AS by_chance FROM tagged_dp;
CALL dp_counter_tick('tagged_by_day');
SELECT count FROM tagged_by_day;
RESET gin_fuzzy_search_limit;
RESET cpu_tuple_cost;

SET client_min_messages = warning;
DROP VIEW tagged_dp, moved_dp, layered_dp CASCADE;
SELECT dp_budget_drop('budget');
SET allow_system_table_mods = on;
DROP FUNCTION pg_catalog.dp_test_mine(integer);
DROP SCHEMA source_views CASCADE;
DROP ROLE source_viewer;
