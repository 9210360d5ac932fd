-- What an analyst's counter may evaluate: only what cannot raise an error for any row, or what the source's owner vouches for.
\pset format unaligned
SET client_min_messages = warning;
CREATE ROLE never_fails_steward;
CREATE ROLE never_fails_ana;
CREATE SCHEMA never_fails AUTHORIZATION never_fails_steward;
GRANT USAGE, CREATE ON SCHEMA never_fails TO never_fails_ana;
CREATE FOREIGN DATA WRAPPER never_fails_wrapper;
CREATE SERVER never_fails_server FOREIGN DATA WRAPPER never_fails_wrapper;
GRANT USAGE ON FOREIGN SERVER never_fails_server TO never_fails_steward;
SET search_path = never_fails, public;
SET timezone = 'UTC';
SET ROLE never_fails_steward;
CREATE TYPE ward AS ENUM ('north', 'south');
CREATE COLLATION loose (provider = icu, locale = 'und', deterministic = false);
CREATE TABLE visits (
    id integer PRIMARY KEY, person integer, at timestamptz, local timestamp, day date, flu boolean, ward ward, region text,
        code varchar(20), kind char(3),
    cents integer, units integer, amount numeric, ratio double precision, tags text[], wards ward[], token bytea, stay interval, key uuid,
        doc jsonb,
    c text COLLATE "C", posix text COLLATE "POSIX", loose text COLLATE loose, words varchar);
CREATE TABLE homes (person integer PRIMARY KEY, home text, rooms integer);
CREATE TABLE guarded (person integer, at timestamptz, cents integer, units integer);
INSERT INTO guarded SELECT n, '2024-01-01 12:00', n, n % 3 FROM generate_series(0, 9) AS n;
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE TABLE parts (person integer, at timestamptz, flu boolean) PARTITION BY LIST (flu);
CREATE TABLE part PARTITION OF parts DEFAULT;
CREATE TABLE far_parts (person integer, at timestamptz) PARTITION BY LIST (person);
CREATE FOREIGN TABLE far_part PARTITION OF far_parts DEFAULT SERVER never_fails_server;
CREATE VIEW ratios AS SELECT *, cents / units AS price, region = 'north' AS north FROM visits;
CREATE VIEW cheap AS SELECT * FROM visits WHERE cents / units < 100;
CREATE VIEW barrier WITH (security_barrier) AS SELECT *, cents / units AS price FROM visits;
SELECT dp_budget_create('budget', 1e7);
GRANT INSERT ON budget TO never_fails_ana;

-- Rows for which what fails does: every value of a column with some of the others.
INSERT INTO homes SELECT n, (ARRAY['', 'n'])[n % 2 + 1], n % 3 FROM generate_series(0, 9) AS n;
INSERT INTO parts SELECT n, '2024-01-01 12:00', n % 2 = 0 FROM generate_series(0, 9) AS n;
INSERT INTO visits
SELECT n, n % 10, '2024-01-01 12:00',
       (ARRAY['-infinity', 'infinity', '4714-11-24 00:00:00 BC', '294276-12-31 23:59:59.999999', NULL]::timestamp[])[n % 5 + 1],
           (ARRAY['-infinity', 'infinity', '4714-11-24 BC', '5874897-12-31', NULL]::date[])[n % 5 + 1],
       (ARRAY[true, false, NULL])[n % 3 + 1], (ARRAY['north', 'south', NULL]::ward[])[n % 3 + 1], t, left(t, 20), left(t, 3),
       (ARRAY[-2147483648, 2147483647, 0, 1, NULL])[n % 5 + 1], (ARRAY[0, -1, 1, NULL])[n % 4 + 1],
           (ARRAY['NaN', 1e131071, -1e131071, 1e-16383, NULL]::numeric[])[n % 5 + 1],
       (ARRAY['NaN', 'Infinity', '-Infinity', 1.7e308, 5e-324, NULL]::float8[])[n % 6 + 1],
           (ARRAY['{}', '{NULL}', '{a,NULL}', '{{a,b},{c,d}}', '[2:3]={a,b}', NULL]::text[][])[1:0] || (ARRAY[t, NULL])[n % 3 : n % 5],
       (ARRAY['north', 'south', NULL]::ward[])[n % 4 : n % 6], decode((ARRAY['', '00', '5c', 'ff', NULL])[n % 5 + 1], 'hex'),
           (ARRAY['178000000 years', '-178000000 years', NULL]::interval[])[n % 3 + 1],
       '00000000-0000-0000-0000-000000000000', (ARRAY['1', '"a"', '{}', '[]', 'null', NULL]::jsonb[])[n % 6 + 1], t, t, t, t
FROM generate_series(1, 240) AS n, LATERAL (SELECT (ARRAY['', ' ', 'n', 'north', 'x\', '%', 'é', 'İ', NULL])[n % 9 + 1] AS t) AS texts;

-- Whether the analyst may declare a counter with these events, of persons and times as they are. Where that may be, its columns are read.
CREATE FUNCTION try(query text, never_fails text[] DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    columns constant text := array_to_string(ARRAY(SELECT name FROM unnest(ARRAY['event', 'value', 'by']) AS name
        WHERE query ~ (' AS ' || name || '\M')), ', ');
    why text;
BEGIN
    EXECUTE 'CREATE VIEW never_fails.tried AS ' || query;
    PERFORM dp_source_create('tried', 'budget', 'person', 'at', person_wise => true, never_fails => never_fails);
    GRANT REFERENCES ON tried TO never_fails_ana;
    PERFORM set_config('role', 'never_fails_ana', true);
    BEGIN
        PERFORM dp_counter_create('tried_counter', source => 'tried', budget => 'budget', epsilon => 1e6, horizon => 10, every => '1 day',
            since => '2024-01-01', per_person => 1,
                                  event => CASE WHEN columns ~ 'event' THEN 'event' END, sum => CASE WHEN columns ~ 'value' THEN 'value'
                                      END, upper => CASE WHEN columns ~ 'value' THEN 10 END,
                                  by => CASE WHEN columns ~ 'by' THEN 'by' END, groups => CASE WHEN columns ~ 'by' THEN '{1,2}'::text[]
                                      END);
        why := 'never fails';
    EXCEPTION WHEN feature_not_supported THEN
        GET STACKED DIAGNOSTICS why = PG_EXCEPTION_DETAIL;
    END;
    PERFORM set_config('role', 'never_fails_steward', true);
    IF why = 'never fails' THEN
        BEGIN
            EXECUTE format('SELECT count(r) FROM (SELECT %s FROM tried WHERE person IS NOT NULL AND at >= ''2024-01-01'' AND at < ''2024-01-02'' ORDER BY %1$s) AS r', concat_ws(', ', 'person', 'at', nullif(columns, '')));
        EXCEPTION WHEN OTHERS THEN
            why := 'FAILS: ' || SQLERRM;
        END;
    END IF;
    RAISE SQLSTATE 'DP000';
EXCEPTION WHEN SQLSTATE 'DP000' THEN
    RETURN why;
END $$;

-- why not, in short: the column, or which rows there are, and what may fail
CREATE FUNCTION why(query text) RETURNS text LANGUAGE sql AS $$
    SELECT regexp_replace(try(query),
        '^(?:Column "(\w+)"|Which (rows) the view has) depends on (.*), which may fail for some rows\.(?: Its owner vouches for that with column "person"\.)?$', '\1\2: \3') $$;

-- events that never fail
SELECT event, why FROM (SELECT event, why(format('SELECT person, at, %s AS event FROM visits', event)) FROM unnest(ARRAY[
    'flu', 'NOT flu OR flu IS NULL', 'region = ''north''', 'region IN (''north'', ''south'')', 'code IN (''a'', ''b'')', 'kind = ''a''',
        'kind IN (''a'', ''b'')',
    'ward = ''north''', 'ward IN (''north'', ''south'')', 'ward > ''north''', 'cents > 100', 'cents BETWEEN 1 AND 5', 'cents::bigint = 5',
        'cents::numeric < amount', 'amount > 1.5',
    'ratio > 1.5', 'token = ''\x00''', 'stay > interval ''1 day''', 'key = ''00000000-0000-0000-0000-000000000000''',
        'day > ''2024-01-01''', 'day < local', 'local < at', 'at < now()', 'day = current_date',
    'region LIKE ''n%''', 'region NOT LIKE ''n\\%''', 'code LIKE ''n%''', 'kind LIKE ''n%''', 'code ILIKE ''n%''', 'token LIKE ''a%''',
        'lower(code) = ''n''', 'trim(code) = ''n''',
    'upper(kind) = ''N''', 'lower(code::varchar(3)) = ''n''', 'lower(region::varchar(3)) = ''n''', 'length(region) > 3',
        'coalesce(region, code) = ''n''', 'nullif(cents, 0) > 1', 'greatest(cents, units) > 1',
    'least(ward, ''south'') = ''north''', 'CASE WHEN units <> 0 THEN cents > units END', 'cents IS DISTINCT FROM units', 'cents & 4 <> 0',
        'extract(hour FROM at) < 12', 'extract(dow FROM local) = 0',
    'date_part(''week'', at) = 1', 'at::date = ''2024-01-01''', 'tags = ''{a}''', 'tags && ''{a,b}''', '''a'' = ANY (tags)',
        '''north'' = ANY (wards)', 'wards @> ''{north}''', 'cents::text = ''1''', 'ward::text = ''a''',
    'key::text = ''a''', 'flu::text = ''true''', 'c < region', 'c = posix COLLATE "C"', '(cents, units) = (1, 2)',
        'EXISTS (SELECT FROM homes h WHERE h.person = visits.person AND rooms > 2)',
    'person IN (SELECT person FROM homes)', 'cents = ANY (ARRAY[1, units])', 'tableoid = 1', 'flu::integer = 1',
        'day > date ''2024-01-01'' + 1 / 1', 'tags::varchar[] = ''{a}''', 'loose COLLATE "C" = ''a''']) AS event) AS tried
        WHERE why <> 'never fails';
-- and events that may
SELECT event, why(format('SELECT person, at, %s AS event FROM visits', event)) FROM unnest(ARRAY[
    'cents / units > 3', 'units <> 0 AND cents / units > 3', 'CASE WHEN units = 0 THEN false ELSE cents % units > 3 END', 'cents + 1 > 0',
        '-cents > 0', 'abs(cents) > 0', 'amount / 2 > 1', 'amount + 1 > 0', 'ratio * 2 > 1',
    'region::integer > 3', 'region::numeric > 3', 'region::ward = ''north''', 'amount::integer = 3', 'ratio::real = 3',
        'cents::smallint = 3', 'region::date = ''2024-01-01''', 'doc::text = ''1''', 'amount::text = ''1''', 'flu::text::boolean',
    'region LIKE ''n%\''', 'region LIKE ''n\\\''', 'region ILIKE ''n\''', 'code NOT LIKE ''\''', 'token LIKE ''n\\''', 'region LIKE code',
        'region LIKE code || ''%''', 'region LIKE ANY (tags)', 'region LIKE ''n%'' ESCAPE ''!''',
    'region ILIKE ''n%''', 'lower(region) = ''n''', 'lower(words) = ''n''', 'trim(words) = ''n''', 'words ILIKE ''n%''',
        'lower(region || code) = ''n''', 'trim(region) = ''n''', 'region ~ ''n''', 'region SIMILAR TO ''n''', 'left(region, 1) = ''n''',
        'substr(region, 1, cents) = ''n''', 'region || ''x'' = ''nx''', 'repeat(code, cents) = ''n''',
    'date_part(''epoch'', at) < 12', 'extract(hour FROM day::timestamp) = 1', 'date_part(code, at) = 1', 'date_part(''nothing'', at) = 1',
        'date_part(''year'', day) = 1', 'date_part(''year'', stay) = 1', 'date_trunc(''day'', at) = ''2024-01-01''',
    'at AT TIME ZONE ''UTC'' > ''2024-01-01''', 'at + interval ''1 day'' > now()', 'at - at > interval ''1 day''', 'day + 1 > day',
        'day::timestamp > ''2024-01-01''', 'local::timestamptz > at',
    'tags[1] = ''a''', 'array_length(tags, 1) = 1', 'tags::integer[] = ''{1}''', 'ARRAY[region, code] = tags', 'array_dims(tags) = ''b''',
        '(doc ->> ''a'') = ''b''', '(doc -> ''a'')::boolean',
    'c = posix', 'c < posix', 'greatest(c, posix) > ''a''', 'ARRAY[c] = ARRAY[posix]', 'c LIKE posix', 'loose = ''a''',
        'loose LIKE ''a%''', '(cents, units) < (1, 2)', '(SELECT true FROM homes)', '(cents, units) = (SELECT rooms, rooms FROM homes)',
    'EXISTS (SELECT FROM homes h WHERE cents / rooms > 2)', 'cents / units IN (SELECT rooms FROM homes)',
        'cents IN (SELECT 1 / rooms FROM homes)', 'circle(point(ratio, ratio), ratio) = circle ''<(0,0),1>''', 'md5(region) = ''a''',
        'sha256(token) = ''a''',
    'GREATEST(doc, doc) = doc', 'ROW(cents) = ROW(units / cents)', 'point(ratio, 0) <@ box ''(0,0),(1,1)''',
        'code::char(2) = kind::integer::text', 'amount::numeric(3) = 1', 'ratio > lower(''1.5'')::numeric']) AS event;
SELECT try('SELECT person, at, true AS event, cents AS value, ward::text AS by FROM visits'),
    try('SELECT person, at, true AS event, cents / units AS value FROM visits'),
    try('SELECT person, at, (cents / units)::text AS by FROM visits');

-- the person, the time, conditions, joins, subqueries, policies; what is not read does not count
SELECT query, why('SELECT ' || query) FROM unnest(ARRAY[
    'person, at, cents / units AS price FROM visits', 'cents / units AS person, at FROM visits',
        'person, local + interval ''1 day'' AS at FROM visits', 'person, at FROM visits WHERE flu',
        'person, at FROM visits WHERE cents / units > 3',
    'person, at, north AS event FROM ratios', 'person, at, price > 3 AS event FROM ratios', 'person, at FROM ratios WHERE price > 3',
        'person, at FROM cheap', 'person, at, north AS event FROM (SELECT * FROM ratios OFFSET 0) r',
    'person, at, flu AS event FROM barrier', 'person, at, price > 1 AS event FROM barrier', 'person, at, flu AS event FROM parts',
    'person, at, home = ''n'' AS event FROM visits JOIN homes USING (person)',
        'v.person, at FROM visits v JOIN homes h ON v.cents / h.rooms > 2',
        'v.person, at, o.c > 2 AS event FROM visits v LEFT JOIN LATERAL (SELECT v.cents / rooms AS c FROM homes) o ON true',
    'v.person, at FROM visits v LEFT JOIN LATERAL (SELECT v.cents / rooms AS c FROM homes) o ON true',
        'v.person, at FROM visits v LEFT JOIN LATERAL (SELECT DISTINCT v.cents / rooms AS c FROM homes) o ON true',
    'person, at, flu AS event FROM visits UNION ALL SELECT person, ''2024-01-01'', true FROM homes',
        'person, at, flu AS event FROM visits UNION ALL SELECT rooms / person, ''2024-01-01'', true FROM homes',
        'person, at, 1 AS a FROM visits UNION ALL SELECT rooms, ''2024-01-01'', 1 / rooms FROM homes',
    'person, at FROM visits UNION SELECT person, ''2024-01-01'' FROM homes',
        'person, at FROM visits EXCEPT ALL SELECT person, ''2024-01-01'' FROM homes',
    'DISTINCT person, at FROM visits', 'DISTINCT person, at, cents / units AS price FROM visits',
        'person, at, cents / units AS price FROM visits ORDER BY price', 'person, at FROM visits ORDER BY cents / units',
        'person, at FROM visits LIMIT 5',
    'person, at FROM visits GROUP BY person, at', 'person, at, max(cents) AS value FROM visits GROUP BY person, at',
        'person, at, max(cents) AS m FROM visits GROUP BY person, at', 'person, at FROM visits GROUP BY person, at, cents / units',
        'person, at FROM visits GROUP BY person, at HAVING count(*) > 1',
    'person, at, row_number() OVER () > 1 AS event FROM visits', 'person, at FROM visits TABLESAMPLE BERNOULLI (50)',
        'person, at FROM visits, generate_series(1, cents)', 'person, at FROM visits, unnest(tags)',
        'person, timestamptz ''2024-01-01'' AS at FROM (VALUES (1)) v (person)',
        '1 / x AS person, timestamptz ''2024-01-01'' AS at FROM (VALUES (1)) v (x)',
    'person, timestamptz ''2024-01-01'' AS at FROM (VALUES (1), (1 / 1)) v (person)',
        'person, at, flu AS event FROM visits, (VALUES (1 / 1)) v (x)']) AS query;
SELECT try('WITH w AS (SELECT *, cents / units AS price FROM visits) SELECT person, at FROM w'),
    try('WITH w AS (SELECT * FROM visits WHERE flu) SELECT person, at FROM w'),
    try('WITH RECURSIVE w AS (SELECT person, at FROM visits UNION ALL SELECT person, at FROM w WHERE false) SELECT person, at FROM w');
SELECT try('SELECT person, at FROM far_parts'), try('SELECT person, at FROM far_part', '{person}') ~ '^FAILS: ' AS read;
CREATE POLICY few ON guarded USING (person > 0);
SELECT try('SELECT person, at FROM guarded');
ALTER POLICY few ON guarded USING (cents / units > 0);
SELECT try('SELECT person, at FROM guarded');

DO $$ -- a virtual column is computed where it is read
BEGIN
    IF current_setting('server_version_num')::integer >= 180000 THEN
        EXECUTE 'CREATE TABLE computed (person integer, at timestamptz, cents integer, units integer, price integer GENERATED ALWAYS AS (cents / units), dear boolean GENERATED ALWAYS AS (cents > units))';
        INSERT INTO computed VALUES (1, '2024-01-01 12:00', 1, 0);
        ASSERT try('SELECT person, at, dear AS event, price FROM computed') = 'never fails', 'dear';
        ASSERT try('SELECT person, at, price > 3 AS event FROM computed') = 'Column "event" depends on int4div(integer,integer), which may fail for some rows.', 'price';
        ASSERT try('SELECT person, at FROM (SELECT * FROM computed) AS c WHERE price > 3') ~ '^Which rows the view has depends on int4div', 'which rows';
    END IF;
END $$;

-- What the owner vouches for is not looked at. The person stands for which rows there are.
SELECT never_fails, try('SELECT person, at, price > 3 AS event FROM cheap JOIN LATERAL (SELECT cents / units AS price) p ON true',
    never_fails)
FROM (VALUES (NULL), ('{event}'::text[]), ('{person}'), ('{event,at}')) AS v (never_fails);
SELECT try('SELECT cents / units AS person, local + (local - local) AS at, cents % units > 3 AS event FROM cheap',
    '{person,at,event}') ~ '^FAILS: ' AS read;
SELECT try('SELECT DISTINCT person, at, cents / units AS price, cents % units AS rest FROM visits', '{price}'),
    try('SELECT DISTINCT person, at, cents / units AS price FROM visits', '{price}') ~ '^FAILS: ' AS read;

-- Only columns can be named; they keep their meaning when they are renamed.
CREATE VIEW visits_dp AS SELECT person, at, cents, cents / units AS price, cents % units AS rest FROM visits;
SELECT dp_source_create('visits_dp', 'budget', 'person', 'at', never_fails => '{price,nothing}');
SELECT dp_source_create('visits_dp', 'budget', 'person', 'at', never_fails => '{price,NULL}');
SELECT dp_source_create('visits_dp', 'budget', 'person', 'at', never_fails => '{ctid}');
SELECT dp_source_create('visits_dp', 'budget', 'person', 'at', never_fails => '{price,price}');
SELECT dp_source_create('visits_dp', 'budget', 'person', 'at', never_fails => '{price}');
ALTER VIEW visits_dp RENAME price TO cost;
ALTER VIEW visits_dp RENAME rest TO price;
SELECT person, never_fails, counters FROM dp_sources;
SELECT dp_source_create('visits_dp', 'budget', 'person', 'at', never_fails => '{person,cost}');
SELECT dp_source_create('visits_dp', 'budget', 'person', 'at', never_fails => '{person,cost}');
SELECT person, never_fails, counters FROM dp_sources;
SET ROLE never_fails_ana;
SELECT source FROM dp_sources;
SET ROLE never_fails_steward;
GRANT REFERENCES (cost) ON visits_dp TO never_fails_ana;
SET ROLE never_fails_ana;
SELECT source, never_fails FROM dp_sources;
SELECT dp_counter_create('costs', 'visits_dp', 1e6, '1 day', '2024-01-01', horizon => 2, sum => 'cost', upper => 10, per_person => 1,
    budget => 'budget') IS NOT NULL AS declared;
SET ROLE never_fails_steward;
GRANT REFERENCES ON visits_dp TO never_fails_ana;
SET ROLE never_fails_ana;
SELECT dp_counter_create('rests', 'visits_dp', 1e6, '1 day', '2024-01-01', horizon => 2, sum => 'price', upper => 10, per_person => 1,
    budget => 'budget');

-- What a tick adds to the view does not fail either: times, persons, groups and values at the ends of their types.
SET ROLE never_fails_steward;
CREATE TABLE ends (id integer, at timestamptz, local timestamp, day date, big bigint, small smallint, words text COLLATE "C", bytes bytea,
    key uuid, ward ward, flu boolean);
INSERT INTO ends
SELECT n, (ARRAY['-infinity', 'infinity', '4714-11-24 00:00:00+00 BC', '294276-12-31 23:59:59.999999+00', '2024-01-01 12:00+00',
    NULL]::timestamptz[])[n % 6 + 1], (ARRAY['-infinity', 'infinity', '4714-11-24 00:00:00 BC', '294276-12-31 23:59:59.999999',
    '2024-01-01 12:00', NULL]::timestamp[])[n % 6 + 1],
       (ARRAY['-infinity', 'infinity', '4714-11-24 BC', '5874897-12-31', '2024-01-01', NULL]::date[])[n % 6 + 1],
           (ARRAY[-9223372036854775808, 9223372036854775807, 0, NULL]::bigint[])[n % 4 + 1],
           (ARRAY[-32768, 32767, 0, NULL]::smallint[])[n % 4 + 1],
       (ARRAY['', ' ', E'\001', 'é', repeat('é', 1000000), NULL])[n % 6 + 1], (ARRAY['', '\x00', '\xff', NULL]::bytea[])[n % 4 + 1],
           (ARRAY['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', NULL]::uuid[])[n % 3 + 1],
       (ARRAY['north', 'south', NULL]::ward[])[n % 3 + 1], (ARRAY[true, false, NULL])[n % 3 + 1]
FROM (SELECT DISTINCT i % 6 + 6 * (i % 7) AS n FROM generate_series(1, 400) AS i) AS numbers;
CREATE PROCEDURE tick_all() LANGUAGE plpgsql AS $$
DECLARE
    kind record;
BEGIN
    FOR kind IN SELECT * FROM unnest(ARRAY['at', 'local', 'day']) AS at, unnest(ARRAY[NULL, '400 days']::interval[]) AS per,
        unnest(ARRAY['big', 'small', 'words', 'bytes', 'key']) AS person LOOP
        EXECUTE format('CREATE VIEW ends_dp AS SELECT %I AS who, %I AS time, * FROM ends', kind.person, kind.at);
        PERFORM dp_budget_create('ends_budget', 1e12, per => kind.per);
        PERFORM dp_source_create('ends_dp', 'ends_budget', 'who', 'time', 'Pacific/Kiritimati');
        PERFORM dp_counter_create(name, 'ends_dp', 1e9, '1 month', '2020-01-01', horizon => 60, persons => persons, sum => sum,
            lower => CASE WHEN sum IS NOT NULL THEN -5 END, upper => CASE WHEN sum IS NOT NULL THEN 5 END, share => share, by => by,
            groups => groups, per_person => CASE WHEN persons THEN NULL ELSE 3 END)
        FROM (VALUES ('of_big', NULL::boolean, 'big', NULL, 'words', ARRAY['', 'é']),
            ('of_small', NULL, 'small', NULL, 'bytes', ARRAY['\x00']), ('of_flu', NULL, NULL, 'flu', 'ward', ARRAY['north']),
            ('of_keys', NULL, NULL, NULL, 'key', ARRAY['ffffffff-ffff-ffff-ffff-ffffffffffff']),
            ('of_bigs', true, NULL, NULL, 'big', ARRAY['0', '-9223372036854775808']))
             AS c (name, persons, sum, share, by, groups);
        COMMIT;
        CALL dp_tick('ends_dp');
        PERFORM dp_counter_drop(counter) FROM dp_counters WHERE source = 'ends_dp'::regclass AND steps > 40;
        PERFORM dp_source_drop('ends_dp'), dp_budget_drop('ends_budget');
        DROP VIEW ends_dp;
        COMMIT;
    END LOOP;
END $$;
CALL tick_all();

-- The C library cannot convert every text of an encoding other than UTF-8.
RESET ROLE;
\set database :DBNAME
CREATE DATABASE never_fails_euc_jp TEMPLATE template0 ENCODING 'EUC_JP' LOCALE 'C';
\c never_fails_euc_jp
SET client_min_messages = warning;
CREATE EXTENSION dp_counter;
CREATE SCHEMA never_fails AUTHORIZATION never_fails_steward;
GRANT USAGE, CREATE ON SCHEMA never_fails TO never_fails_ana;
SET search_path = never_fails, public;
SET ROLE never_fails_steward;
CREATE TABLE visits (person integer, at timestamp, code varchar(20));
CREATE VIEW visits_dp AS SELECT person, at, code = 'n' AS equal, lower(code) = 'n' AS folded, code ILIKE 'n%' AS alike,
    trim(code) = 'n' AS trimmed FROM visits;
SELECT dp_budget_create('budget', 1);
GRANT INSERT ON budget TO never_fails_ana;
SELECT dp_source_create('visits_dp', 'budget', 'person', 'at', 'UTC');
GRANT REFERENCES ON visits_dp TO never_fails_ana;
SET ROLE never_fails_ana;
SELECT dp_counter_create('equal', 'visits_dp', 0.1, '1 day', '2024-01-01', event => 'equal', per_person => 1);
SELECT dp_counter_create('folded', 'visits_dp', 0.1, '1 day', '2024-01-01', event => 'folded', per_person => 1);
SELECT dp_counter_create('alike', 'visits_dp', 0.1, '1 day', '2024-01-01', event => 'alike', per_person => 1);
SELECT dp_counter_create('trimmed', 'visits_dp', 0.1, '1 day', '2024-01-01', event => 'trimmed', per_person => 1);
\c :database
DROP DATABASE never_fails_euc_jp;
SET client_min_messages = warning;
SET search_path = never_fails, public;

SET ROLE never_fails_steward;
SELECT dp_counter_drop('costs');
SELECT dp_source_drop('visits_dp');
SELECT dp_budget_drop('budget');
RESET ROLE;
DROP SCHEMA never_fails CASCADE;
DROP FOREIGN DATA WRAPPER never_fails_wrapper CASCADE;
DROP ROLE never_fails_steward, never_fails_ana;
