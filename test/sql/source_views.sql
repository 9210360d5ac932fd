-- Which views may be a source without their owner's word, and which may not.
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
SELECT dp_budget_create('budget', 1e6);

-- says whether a source over this SELECT is taken
CREATE FUNCTION try(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE why text;
BEGIN
    EXECUTE 'CREATE VIEW source_views.tried AS ' || query;
    BEGIN
        PERFORM dp_source_create('source_views.tried', budget => 'source_views.budget', person => 'person', at => 'at');
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
    (5, 'SELECT person, text_at::timestamptz AS at, text_at || ''x'' AS t FROM visits'),
    (6, 'SELECT person, at, (place).a AS a FROM visits'),
    (7, 'SELECT person, at, small + 1 AS s, ''a'' = ANY (tags) AS tagged, lower(tags[1]) AS first FROM visits'),
    (8, 'SELECT person, at FROM parts'),
    (9, 'SELECT person, at FROM filtered WHERE cents < 100'),
    (10, 'SELECT person, at, to_char(at, ''Dy'') AS d, at + interval ''1 day'' AS tomorrow, tableoid FROM visits'),
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
    (38, 'SELECT 1 AS person, now() AS at'),
    (39, 'SELECT person, now() AS at FROM generate_series(1, 3) AS person'),
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
    (64, 'SELECT person, at, has_table_privilege(''visits'', ''SELECT'') AS c FROM visits')) AS queries (n, query) ORDER BY n;

-- SQL's JSON expressions, which older servers do not have, call functions that no tree shows: casts to json, checks of domains.
CREATE TYPE ward_row AS (ward ward);
CREATE FUNCTION crowded(integer) RETURNS boolean STABLE LANGUAGE sql AS 'SELECT count(*) > 5 FROM source_views.visits';
CREATE DOMAIN crowd AS integer CHECK (VALUE < 0 OR crowded(VALUE));
CREATE FUNCTION to_json(ward) RETURNS json STABLE LANGUAGE sql AS 'SELECT to_json(count(*)) FROM source_views.visits';
CREATE CAST (ward AS json) WITH FUNCTION to_json(ward);
SELECT query, CASE WHEN current_setting('server_version_num')::integer >= since THEN try(query) ELSE older END AS try
FROM (VALUES
    (1, 170000, 'SELECT person, at, JSON_VALUE(text_at::jsonb, ''$'' RETURNING integer) AS x FROM visits', 'taken'),
    (2, 170000, 'SELECT person, at, JSON_VALUE(text_at::jsonb, ''$'' RETURNING crowd) AS x FROM visits', '0A000 It makes JSON, or takes a type out of it that is not PostgreSQL''s own.'),
    (3, 170000, 'SELECT person, at, JSON_QUERY(text_at::jsonb, ''$'' RETURNING crowd[]) AS x FROM visits', '0A000 It makes JSON, or takes a type out of it that is not PostgreSQL''s own.'),
    (4, 170000, 'SELECT person, at, JSON_QUERY(text_at::jsonb, ''$'' RETURNING ward_row) AS x FROM visits', '0A000 It makes JSON, or takes a type out of it that is not PostgreSQL''s own.'),
    (5, 160000, 'SELECT person, at, JSON_ARRAY(ward) AS x FROM visits', '0A000 It makes JSON, or takes a type out of it that is not PostgreSQL''s own.'),
    (6, 160000, 'SELECT person, at, JSON_OBJECT(''ward'': ward) AS x FROM visits', '0A000 It makes JSON, or takes a type out of it that is not PostgreSQL''s own.')
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
DROP VIEW tagged_dp CASCADE;
SELECT dp_budget_drop('budget');
DROP SCHEMA source_views CASCADE;
