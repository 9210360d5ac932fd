-- dp_source_groups: at an enormous epsilon the weights are what plain SQL computes, and no group without data is shown.
\pset null '(null)'
CREATE SCHEMA found_groups;
SET search_path = found_groups, public;
SET client_min_messages = warning;
CREATE ROLE found_groups_stranger;
GRANT USAGE ON SCHEMA found_groups TO found_groups_stranger;

CREATE TYPE mood AS ENUM ('bad', 'fair', 'good');
CREATE TABLE visits (person integer, at timestamp, code text, odd boolean, small smallint, number integer, big bigint, id uuid,
    name varchar(9), bytes bytea, mood mood);
INSERT INTO visits SELECT *, code, convert_to(code, 'UTF8'), (enum_range(NULL::mood))[1 + person % 3] FROM (
    SELECT person, timestamp '2024-01-01' + n * interval '40 days', repeat('x', (person * n) % 4) || (person * n) % 12 AS code, n % 2 = 1,
        (person % 9 - 4)::smallint, (person % 7 - 3) * 500000000,
           (person % 5 - 2) * 4000000000000000000, ('00000000-0000-0000-0000-' || lpad(((person * n) % 6)::text, 12, '0'))::uuid
    FROM generate_series(1, 60) AS person, generate_series(1, 18) AS n WHERE n <= person % 19) AS v;
INSERT INTO visits (person, at, code) VALUES (NULL, '2024-06-01', 'xx6'), (1, NULL, 'xx6'), (1, 'infinity', 'xx6'),
    (1, '2024-06-01', NULL), (1, '2024-06-01', 'unlisted'), (1, '2024-06-01', 'another'),
    (1001, '2024-06-01', 'unlisted');
CREATE TABLE list AS SELECT repeat('x', n % 4) || n AS code FROM generate_series(0, 40) AS n;
CREATE VIEW visits_dp AS SELECT * FROM visits;
CREATE VIEW windows_dp AS SELECT * FROM visits;
SELECT dp_budget_create('life', 1e12), dp_budget_create('year', 1e12, per => '100 days');
SELECT dp_source_create('visits_dp', 'life', 'person', 'at'), dp_source_create('windows_dp', 'year', 'person', 'at');

-- of each unit the different listed groups of the rows in the range, each with its share of 1
CREATE FUNCTION weights(query text) RETURNS TABLE (value text, weight numeric) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT value::text, round(sum(1.0 / n), 9)
        FROM (SELECT DISTINCT unit, value, n FROM (%s) AS q (unit, value),
        LATERAL (SELECT count(DISTINCT value) FROM (%1$s) AS u (unit, value) WHERE u.unit = q.unit) AS s (n)) AS d GROUP BY value', query);
END $$;
CREATE FUNCTION differs(report regclass, query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT f::text FROM (SELECT value::text, round(weight::numeric, 9) AS weight FROM %s) AS f FULL JOIN weights(%L) AS w USING (value, weight) WHERE f.value IS NULL OR w.value IS NULL', report, query);
END $$;
CALL dp_source_groups('visits_dp', 'of_codes', 1e9, 'code', 16, groups_from => 'list', groups_column => 'code');
SELECT differs('of_codes', $$SELECT person, code FROM visits WHERE code IN (SELECT code FROM list) AND at < 'infinity' AND person > 0$$);
SELECT count(*), round(sum(weight)::numeric, 3) AS persons FROM of_codes;
CALL dp_source_groups('visits_dp', 'of_odd', 1e9, 'code', 16, 'odd', '2024-05-01', date '2025-01-01', 'list', 'code');
SELECT differs('of_odd', $$SELECT person, code FROM visits WHERE odd AND at >= '2024-05-01' AND at < '2025-01-01'
    AND code IN (SELECT code FROM list)$$);
-- own windows that are wholly in the range: each weighs 1
CALL dp_source_groups('windows_dp', 'of_windows', 1e9, 'code', 16, since => '2024-01-01', until => '2026-01-01', groups_from => 'list',
    groups_column => 'code');
SELECT differs('of_windows', $$SELECT (person, w), code FROM visits, LATERAL dp_own_window('year', person, at) AS w WHERE person > 0
    AND at < 'infinity' AND code IN (SELECT code FROM list)
    AND (SELECT min(d) >= date '2024-01-01' AND max(d) < date '2026-01-01' FROM generate_series(date '2023-06-01', date '2026-07-01',
        interval '1 day') AS d WHERE dp_own_window('year', person, d::timestamp) = w)$$);
SELECT count(*) > 10 AS several, sum(weight) > 100 AS more_than_persons FROM of_windows;
-- fewer groups of each person: they share its weight; which ones they are is random, and each person's own
CALL dp_source_groups('visits_dp', 'of_three', 1e9, 'code', 3, groups_from => 'list', groups_column => 'code');
CALL dp_source_groups('visits_dp', 'of_three_again', 1e9, 'code', 3, groups_from => 'list', groups_column => 'code');
SELECT round(sum(weight)::numeric, 3) AS of_three, (SELECT round(sum(weight)::numeric, 3) FROM of_codes) AS of_all FROM of_three;
SELECT count(*) = 0 AS is_same_draw FROM of_three FULL JOIN of_three_again AS a USING (value, weight) WHERE of_three.value IS NULL
    OR a.value IS NULL;
-- of the 12 codes of 57 persons; 7 or fewer with a probability of 1.8e-7 (summed over all sets of codes)
CALL dp_source_groups('visits_dp', 'of_one', 1e9, 'code', 1, groups_from => 'list', groups_column => 'code');
SELECT count(*) > 7 AS of_many_persons, bool_and(weight = round(weight)) AS whole FROM of_one;

-- every type, from a list and, of integers, without one. The rows lie in the order of plain bytes, whatever has data.
CREATE TABLE types AS SELECT c AS name, c AS type, false AS listed FROM unnest('{small,number,big}'::text[]) AS c UNION ALL
    SELECT c || '_list', c, true FROM unnest('{odd,small,number,big,id,code,name,bytes,mood}'::text[]) AS c;
CREATE FUNCTION place(value anyelement) RETURNS bytea LANGUAGE sql AS $$
    SELECT CASE WHEN pg_typeof(value) IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype) THEN int8send(value::text::bigint)
                WHEN pg_typeof(value) = 'boolean'::regtype THEN int4send(value::text::boolean::integer)
                WHEN pg_typeof(value) = 'mood'::regtype THEN int4send(array_position(enum_range(NULL::mood)::text[], value::text))
                ELSE int4send(length(value::text)) || convert_to(value::text, 'UTF8') END $$;
DO $$
DECLARE
    t record;
    differing bigint;
    is_sorted boolean;
    type_of text;
BEGIN
    FOR t IN SELECT * FROM types LOOP
        IF t.listed THEN
            EXECUTE format('CREATE TABLE %I AS SELECT DISTINCT %I AS v FROM visits WHERE %2$I IS NOT NULL', 'list_' || t.type, t.type);
            CALL dp_source_groups('visits_dp', t.name, 1e9, t.type, 16, groups_from => ('list_' || t.type)::regclass, groups_column => 'v');
        ELSE
            CALL dp_source_groups('visits_dp', t.name, 1e9, t.type, 16);
        END IF;
        SELECT count(*) INTO differing FROM differs(t.name::regclass,
            format('SELECT person, %I FROM visits WHERE %1$I IS NOT NULL AND person > 0 AND at < ''infinity''', t.type));
        EXECUTE format('SELECT array_agg(value ORDER BY ctid) = array_agg(value ORDER BY place(value)), min(pg_typeof(value)::text) FROM %I', t.name) INTO is_sorted, type_of;
        IF differing <> 0 OR NOT is_sorted OR type_of <> (SELECT format_type(atttypid, NULL) FROM pg_attribute
            WHERE attrelid = 'visits'::regclass AND attname = t.type) THEN
            RAISE '%: % differ, sorted %, type %', t.name, differing, is_sorted, type_of;
        END IF;
    END LOOP;
END $$;
SELECT number.ctid, number.value FROM number;
SELECT code_list.ctid, code_list.value FROM code_list LIMIT 5;
SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute WHERE attrelid = 'name_list'::regclass AND attnum > 0;

-- a group of one person is not shown where epsilon is 1, one of all is; a series of those that were found
CREATE TABLE popular AS SELECT person, date '2024-01-01' AS at, g FROM generate_series(1, 500) AS person, unnest('{7,-7}'::integer[]) AS g
    UNION ALL SELECT 501, '2024-01-01', 8;
CREATE VIEW popular_dp AS SELECT * FROM popular;
SELECT dp_source_create('popular_dp', 'life', 'person', 'at');
CALL dp_source_groups('popular_dp', 'found', 1, 'g', since => '2024-01-01', until => '2024-02-01');
SELECT value, abs(weight - 250) < 40 AS near FROM found WHERE value IN (7, -7) ORDER BY value;
SELECT dp_counter_create('series', 'popular_dp', 1, '1 month', '2024-01-01', 1, per_person => 2, by => 'g',
    groups => '{1}') IS NOT NULL AS created;
SELECT dp_counter_add_groups('series', groups_from => 'found', groups_column => 'value');
SELECT cardinality(groups) >= 3 AS added FROM dp_counters WHERE counter = 'series'::regclass;
SELECT purpose, epsilon, since, until FROM life WHERE purpose ~ 'found_groups.found$';

-- The threshold is that of the whole list, 9.2, whatever has data: of 990 groups of 7 persons some 55 reach it, and with a probability
-- below 1e-50 more than 200. That of the 10 other groups would be 4.6, and 945 would.
CREATE TABLE thousand AS SELECT g FROM generate_series(1, 1000) AS g;
CREATE TABLE thin AS SELECT 10 * g + n AS person, date '2024-01-01' AS at, g FROM generate_series(1, 990) AS g, generate_series(1, 7) AS n;
CREATE VIEW thin_dp AS SELECT * FROM thin;
SELECT dp_source_create('thin_dp', 'life', 'person', 'at');
CALL dp_source_groups('thin_dp', 'reaching', 1, 'g', 1, since => '2024-01-01', until => '2024-02-01', groups_from => 'thousand',
    groups_column => 'g');
SELECT count(*) BETWEEN 10 AND 200 AS few FROM reaching;

-- bad input
CREATE TABLE charged AS SELECT budget, spent FROM dp_budgets;
CREATE TABLE twice AS SELECT unnest('{a,a}'::text[]) AS code;
CREATE TABLE nulls AS SELECT unnest('{a,NULL}'::text[]) AS code;
CREATE TABLE nothing AS SELECT 'a'::text AS code LIMIT 0;
CREATE VIEW times_dp AS SELECT *, at::date AS day FROM visits;
SELECT dp_source_create('times_dp', 'life', 'person', 'at');
CALL dp_source_groups(NULL, 'bad', 1, 'number');
CALL dp_source_groups('visits', 'bad', 1, 'number');
CALL dp_source_groups('visits_dp', NULL, 1, 'number');
CALL dp_source_groups('visits_dp', 'found', 1, 'number');
CALL dp_source_groups('visits_dp', 'bad', NULL, 'number');
CALL dp_source_groups('visits_dp', 'bad', 0, 'number');
CALL dp_source_groups('visits_dp', 'bad', 1, NULL);
CALL dp_source_groups('visits_dp', 'bad', 1, 'missing');
CALL dp_source_groups('times_dp', 'bad', 1, 'day');
CALL dp_source_groups('visits_dp', 'bad', 1, 'number', NULL);
CALL dp_source_groups('visits_dp', 'bad', 1, 'number', 0);
CALL dp_source_groups('visits_dp', 'bad', 1, 'number', 17);
CALL dp_source_groups('visits_dp', 'bad', 1, 'number', event => 'code');
CALL dp_source_groups('visits_dp', 'bad', 1, 'number', since => '2025-01-01', until => '2025-01-01');
CALL dp_source_groups('visits_dp', 'bad', 1, 'code');
CALL dp_source_groups('visits_dp', 'bad', 1, 'code', groups_from => 'list');
CALL dp_source_groups('visits_dp', 'bad', 1, 'code', groups_column => 'code');
CALL dp_source_groups('visits_dp', 'bad', 1, 'code', groups_from => 'list', groups_column => 'missing');
CALL dp_source_groups('visits_dp', 'bad', 1, 'code', groups_from => 'visits_dp', groups_column => 'code');
CALL dp_source_groups('visits_dp', 'bad', 1, 'code', groups_from => 'visits', groups_column => 'code');
CALL dp_source_groups('visits_dp', 'bad', 1, 'code', groups_from => 'twice', groups_column => 'code');
CALL dp_source_groups('visits_dp', 'bad', 1, 'code', groups_from => 'nulls', groups_column => 'code');
CALL dp_source_groups('visits_dp', 'bad', 1, 'code', groups_from => 'nothing', groups_column => 'code');
CALL dp_source_groups('visits_dp', 'bad', 1, 'number', groups_from => 'list', groups_column => 'code');
CALL dp_source_groups('windows_dp', 'bad', 1, 'number', since => '2024-01-01', until => '2024-02-01');
SET ROLE found_groups_stranger;
CALL dp_source_groups('visits_dp', 'bad', 1, 'number');
RESET ROLE;
BEGIN;
CALL dp_source_groups('visits_dp', 'bad', 1, 'number');
ROLLBACK;
SELECT b.budget FROM dp_budgets AS b JOIN charged AS c USING (budget) WHERE b.spent <> c.spent;
SELECT to_regclass('bad');
-- what was released and may have been seen stays, with its charge
DO $$ BEGIN CALL dp_source_groups('visits_dp', 'stays', 0.25, 'number'); RAISE 'this comes after'; END $$;
SELECT purpose, epsilon, to_regclass('stays') FROM life WHERE purpose ~ 'stays';

DO $$
BEGIN
    PERFORM dp_counter_drop('series');
    PERFORM dp_source_drop(source) FROM dp_sources WHERE source::text ~ '^(visits|windows|popular|thin|times)';
    PERFORM dp_budget_drop(b) FROM unnest('{life,year}'::regclass[]) AS b;
END $$;
DROP SCHEMA found_groups CASCADE;
DROP ROLE found_groups_stranger;
