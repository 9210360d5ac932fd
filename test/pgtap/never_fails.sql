-- Brute force behind the functions that never fail: each on the list in
-- src/pg/vetting/never_failing.cpp, which is read here, and each built-in function that this major
-- marks LEAKPROOF is called with extreme values of its arguments' types, all with all, in several
-- collations and time zones. A function with an argument of a type without values here is red.
CREATE TYPE pg_temp.mood AS ENUM ('sad', 'ok', 'happy');
ALTER TYPE pg_temp.mood ADD VALUE 'fine' BEFORE 'ok'; -- its OID is out of order
BEGIN;
SET LOCAL client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
RESET client_min_messages;
SELECT no_plan();

-- The list ------------------------------------------------------------------------------------------

\set source `cat src/pg/vetting/never_failing.cpp`

CREATE TEMP TABLE lists AS
SELECT found[1] AS rule, regexp_replace(found[2], '//[^\n]*', '', 'g') AS content
FROM regexp_matches(:'source', 'constexpr (?:Oid|const char\*) (k\w+)\[\] = \{([^}]*)\}', 'g') AS found;

CREATE TEMP TABLE listed AS
SELECT rule, found[1]::oid AS function FROM lists, regexp_matches(content, '\m\d+\M', 'g') AS found;

CREATE TEMP TABLE fields AS
SELECT rule, found[1] AS field FROM lists, regexp_matches(content, '"(\w+)"', 'g') AS found;

SELECT set_eq('SELECT rule FROM lists',
    ARRAY['kNever', 'kPattern', 'kFoldedPattern', 'kShort', 'kExplicit', 'kEqualElements', 'kOrderedElements',
          'kTimeField', 'kTimeFields', 'kDateField', 'kDateFields', 'kLeakproofButFail'], 'the rules, each tried below');
SELECT is_empty('SELECT function FROM listed GROUP BY function HAVING count(*) > 1', 'a function has one rule');
-- Not all are in every major: an OID is never used again.
SELECT cmp_ok((SELECT count(*) FROM listed JOIN pg_proc p ON p.oid = function AND pronamespace = 'pg_catalog'::regnamespace
    AND proretset = false
               AND provolatile <> 'v' AND prokind = 'f'), '>', 100::bigint, 'the list was read');

SELECT is_empty($$SELECT function FROM listed JOIN pg_proc p ON p.oid = function WHERE rule = 'kLeakproofButFail' AND NOT proleakproof$$,
    'only LEAKPROOF ones are excepted');

CREATE TEMP TABLE accepted AS
SELECT p.oid AS function, coalesce(rule, 'LEAKPROOF') AS rule
FROM pg_proc p LEFT JOIN listed ON function = p.oid
WHERE p.oid < 16384 AND coalesce(rule <> 'kLeakproofButFail', proleakproof);

-- The values ----------------------------------------------------------------------------------------

-- Values of a type as SQL expressions, without the cast.
CREATE TEMP TABLE pools (type regtype, expression text);
INSERT INTO pools
SELECT type::regtype, format('%L', value)
FROM (VALUES
    ('boolean', ARRAY['f', 't']),
    ('"char"', ARRAY['', 'a', '\377']),
    ('smallint', ARRAY['-32768', '-1', '0', '1', '32767']),
    ('integer', ARRAY['-2147483648', '-1', '0', '1', '2147483647']),
    ('bigint', ARRAY['-9223372036854775808', '-1', '0', '1', '9223372036854775807']),
    ('oid', ARRAY['0', '1', '4294967295']),
    ('xid', ARRAY['0', '3', '4294967295']),
    ('xid8', ARRAY['0', '18446744073709551615']),
    ('cid', ARRAY['0', '4294967295']),
    ('tid', ARRAY['(0,0)', '(4294967295,65535)']),
    ('pg_lsn', ARRAY['0/0', 'FFFFFFFF/FFFFFFFF']),
    ('oidvector', ARRAY['', '0', '1 4294967295']),
    ('real', ARRAY['0', '-0', '1e-45', '-1e-45', '3.4e38', '-3.4e38', 'NaN', 'Infinity', '-Infinity']),
    ('double precision', ARRAY['0', '-0', '5e-324', '-5e-324', '1.7976931348623157e308', '-1.7976931348623157e308', 'NaN', 'Infinity',
        '-Infinity']),
    ('numeric', ARRAY['0', '0.00', '1', '-1', '1e131071', '-1e131071', '1e-16383', '-1e-16383', repeat('9', 131072),
        repeat('9', 400) || '.' || repeat('9', 16383), 'NaN', 'Infinity', '-Infinity']),
    ('money', ARRAY['-92233720368547758.08', '0', '92233720368547758.07']),
    ('date', ARRAY['-infinity', '4714-11-24 BC', '4713-01-01 BC', '0001-12-31 BC', '1970-01-01', '2024-02-29', '294276-12-31',
        '294277-01-01', '5874897-12-31', 'infinity']),
    ('timestamp', ARRAY['-infinity', '4714-11-24 00:00:00 BC', '0001-12-31 23:59:59.999999 BC', '2000-01-01', '2024-03-31 02:30',
        '294276-12-31 23:59:59.999999', 'infinity']),
    ('timestamptz', ARRAY['-infinity', '4714-11-24 00:00:00+00 BC', '0001-12-31 23:59:59.999999+00 BC', '2000-01-01', '2024-03-31 02:30',
        '294276-12-31 23:59:59.999999+00', 'infinity']),
    ('time', ARRAY['00:00', '23:59:59.999999', '24:00']),
    ('timetz', ARRAY['00:00+15:59:59', '24:00-15:59:59', '12:00+00']),
    ('interval', ARRAY['0', '178000000 years', '-178000000 years', '178956970 years 6 mons 2147483647 days 2147483647:59:59.999999',
        '-178956970 years -7 mons -2147483648 days -2147483647:59:59.999999', '2147483647 days', '1 mon -30 days']),
    ('uuid', ARRAY['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff']),
    ('macaddr', ARRAY['00:00:00:00:00:00', 'ff:ff:ff:ff:ff:ff']),
    ('macaddr8', ARRAY['00:00:00:00:00:00:00:00', 'ff:ff:ff:ff:ff:ff:ff:ff']),
    ('inet', ARRAY['0.0.0.0/0', '255.255.255.255', '::/0', '::1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/127']),
    ('bit varying', ARRAY['', '0', '1', repeat('10', 10000)]),
    ('bit', ARRAY['', '0', '1', repeat('10', 10000)]),
    ('bytea', ARRAY['', '\x00', '\x5c', '\xff', '\x255c5c5f', '\xc328']),
    ('text', ARRAY['', ' ', 'a', 'A', 'ab ', '%', '_', E'\\', E'x\\', E'\\\\%', 'é', U&'e\0301', U&'\0301', 'ß', 'İ', 'ı', 'Σς', 'ŉ', 'ﬃ',
        U&'\FFFF', U&'\+10FFFF', U&'\0001', U&'\+01D518', U&'\200D\FE0F', 'ไทย', '日本', 'עברית']),
    ('name', ARRAY['', ' ', 'a', 'A', '%', E'\\', 'é', 'İ', repeat('x', 63), repeat('é', 31)]),
    ('pg_temp.mood', ARRAY['sad', 'fine', 'ok', 'happy']),
    ('boolean[]', ARRAY['{}', '{t,f}', '{NULL}']),
    ('integer[]', ARRAY['{}', '{NULL}', '{1}', '{1,2,NULL}', '{{1,2},{3,4}}', '[-2147483648:-2147483647]={1,2}']),
    ('numeric[]', ARRAY['{}', '{NULL,NaN}', '{1e131071,1e-16383}']),
    ('text[]', ARRAY['{}', '{NULL}', '{"",é,İ}', '{{a,b},{c,d}}', '[2:3]={a,b}']),
    ('timestamptz[]', ARRAY['{}', '{-infinity,infinity}', '{"4714-11-24 00:00:00+00 BC"}']),
    ('interval[]', ARRAY['{}', '{"178956970 years 6 mons 2147483647 days 2147483647:59:59.999999",0}']),
    ('uuid[]', ARRAY['{}', '{NULL,ffffffff-ffff-ffff-ffff-ffffffffffff}']),
    ('pg_temp.mood[]', ARRAY['{}', '{NULL}', '{ok,fine}', '{{ok},{sad}}'])
) AS v (type, literals), unnest(literals) AS value;
INSERT INTO pools SELECT 'bpchar', expression FROM pools WHERE type = 'text'::regtype;
INSERT INTO pools SELECT 'varchar', expression FROM pools WHERE type = 'text'::regtype;
INSERT INTO pools
SELECT 'interval', format('%L', value) FROM unnest(ARRAY['infinity', '-infinity']) AS value
WHERE current_setting('server_version_num')::integer >= 170000;
INSERT INTO pools
SELECT to_regtype('oid8'), format('%L', value) FROM unnest(ARRAY['0', '1', '18446744073709551615']) AS value
WHERE to_regtype('oid8') IS NOT NULL; -- from 19 on

-- Every character.
CREATE TEMP TABLE long_texts AS
SELECT (SELECT string_agg(chr(i), '') FROM generate_series(1, 1114111) AS i WHERE i NOT BETWEEN 55296 AND 57343) AS every;

-- The name that has no length: character is character(1).
CREATE FUNCTION pg_temp.named(type regtype) RETURNS text LANGUAGE sql AS
    $$ SELECT format('%s.%I', typnamespace::regnamespace, typname) FROM pg_type WHERE oid = type $$;
CREATE FUNCTION pg_temp.values_of(wanted regtype) RETURNS text LANGUAGE sql AS
    $$ SELECT string_agg(format('SELECT (%s)::%s AS v', expression, pg_temp.named(wanted)), ' UNION ALL ') FROM pools
        WHERE type = wanted $$;

CREATE FUNCTION pg_temp.patterns() RETURNS text LANGUAGE sql AS $$
    WITH RECURSIVE strings (s) AS (
        SELECT '' UNION ALL SELECT s || c FROM strings, unnest(ARRAY['%', '_', E'\\', 'a', 'é']) AS c WHERE length(s) < 4)
    SELECT 'SELECT unnest(' || quote_literal(array_agg(s)) || '::text[]) AS v' FROM strings WHERE length(substring(s FROM '\\*$')) % 2 = 0
$$;

-- The call of a function with values from queries; the message of its error, or nothing. Collation: that of the arguments.
CREATE FUNCTION pg_temp.trouble(f oid, queries text[], types regtype[], "collation" text DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    called constant text := (SELECT quote_ident(proname) FROM pg_proc WHERE oid = f);
    arguments text;
    tables text;
BEGIN
    SELECT string_agg(format('a%s.v%s', i, CASE WHEN "collation" IS NOT NULL AND t.typcollation <> 0 THEN ' COLLATE ' || "collation" END),
        ', ' ORDER BY i),
           string_agg(format('(%s) AS a%s', queries[i], i), ', ' ORDER BY i)
    INTO arguments, tables
    FROM generate_subscripts(queries, 1) AS i LEFT JOIN pg_type t ON t.oid = types[i];
    EXECUTE format('SELECT count(x) FROM (SELECT pg_catalog.%s(%s) AS x %s) AS called', called, arguments, 'FROM ' || tables);
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    IF SQLSTATE LIKE '42%' AND SQLSTATE <> '42P22' THEN
        RAISE; -- no call
    END IF;
    RETURN format('%s: %s', f::regprocedure, SQLERRM);
END
$$;

CREATE TEMP TABLE collations AS
SELECT quote_ident(collname) AS name FROM pg_collation
WHERE collname IN ('default', 'C', 'POSIX', 'ucs_basic', 'C.utf8', 'en_US.utf8', 'en-x-icu', 'tr-x-icu', 'lt-x-icu', 'und-x-icu',
    'zh-x-icu', 'pg_c_utf8', 'pg_unicode_fast')
      AND collisdeterministic AND collnamespace = 'pg_catalog'::regnamespace AND collencoding IN (-1, pg_char_to_encoding('UTF8'));

-- Types in the place of a polymorphic one.
CREATE FUNCTION pg_temp.concrete(type regtype) RETURNS SETOF regtype LANGUAGE sql AS $$
    SELECT DISTINCT p.type FROM pools p JOIN pg_type t ON t.oid = p.type WHERE $1 = 'anyarray'::regtype AND t.typcategory = 'A'
        AND t.typelem <> 0 AND t.typlen = -1
    UNION ALL SELECT 'pg_temp.mood' WHERE $1 = 'anyenum'::regtype
    UNION ALL SELECT $1 WHERE $1 NOT IN ('anyarray'::regtype, 'anyenum'::regtype)
$$;

-- All that can be tried of a function: under every concrete type, the rule's arguments, every collation.
CREATE FUNCTION pg_temp.troubles(f oid, rule text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    declared constant regtype[] := (SELECT ARRAY(SELECT unnest(proargtypes::oid[]::regtype[])) FROM pg_proc WHERE oid = f);
    polymorphic constant regtype := coalesce((SELECT t FROM unnest(declared) AS t WHERE t IN ('anyarray'::regtype, 'anyenum'::regtype)
        LIMIT 1), 'unknown');
    concrete regtype;
    types regtype[];
    queries text[];
    found text;
BEGIN
    FOR concrete IN SELECT pg_temp.concrete(polymorphic) LOOP
        types := array_replace(declared, polymorphic, concrete);
        queries := (SELECT array_agg(pg_temp.values_of(t) ORDER BY i) FROM unnest(types) WITH ORDINALITY AS u (t, i));
        IF rule IN ('kPattern', 'kFoldedPattern') THEN
            queries[2] := pg_temp.patterns();
            IF types[2] = 'bytea'::regtype THEN
                queries[2] := format('SELECT convert_to(v, ''UTF8'') AS v FROM (%s) AS p', queries[2]);
            END IF;
        ELSIF rule = 'kExplicit' THEN
            queries[2] := 'SELECT unnest(ARRAY[-2147483648, -1, 0, 4, 5, 100, 10485764]) AS v';
            queries[3] := 'SELECT true AS v';
        ELSIF rule IN ('kTimeField', 'kDateField') THEN
            queries[1] := format('SELECT unnest(%L::text[]) AS v', (SELECT array_agg(field) FROM fields WHERE fields.rule = 'kDateFields'
                OR (fields.rule = 'kTimeFields' AND $2 = 'kTimeField')));
        END IF;
        IF EXISTS (SELECT FROM unnest(types) AS t WHERE NOT EXISTS (SELECT FROM pools WHERE type = t)) THEN
            RETURN NEXT format('%s: no values of one of its types', f::regprocedure);
            CONTINUE;
        END IF;
        IF queries IS NULL THEN
            queries := '{}';
        END IF;
        found := (SELECT string_agg(pg_temp.trouble(f, queries, types, name), ', ') FROM collations
                  WHERE name = '"default"' OR EXISTS (SELECT FROM pg_type WHERE oid = ANY (types) AND typcollation <> 0));
        IF found IS NOT NULL THEN
            RETURN NEXT found;
        END IF;
    END LOOP;
END
$$;

-- With long values in place of the first argument that is text, as long as the rule allows: every character; the longest varchar(n), of
-- 40 MB; 280 MB, which need more than 1 GB with 4 bytes of memory for each of its own. Each is made once, and no call copies it.
CREATE FUNCTION pg_temp.troubles_of_length(functions oid[], rules text[]) RETURNS TABLE (function oid, trouble text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE (
        SELECT format('CREATE OR REPLACE FUNCTION pg_temp.long_calls() RETURNS TABLE (f oid, said text) LANGUAGE plpgsql AS $body$
            DECLARE
                every constant text := (SELECT l.every FROM long_texts AS l);
                every_bytea constant bytea := convert_to(every, ''UTF8'');
                longest constant text := repeat(repeat(U&''\+01D518'', 1024), 10240);
                huge constant text := repeat(repeat(''é'', 1000), 140000);
                huge_bytea constant bytea := convert_to(huge, ''UTF8'');
                is_null boolean;
            BEGIN
                %s
            END $body$', string_agg(format('
                BEGIN
                    is_null := pg_catalog.%I(%s) IS NULL;
                EXCEPTION WHEN OTHERS THEN
                    IF SQLSTATE LIKE ''42%%'' THEN
                        RAISE; -- no call
                    END IF;
                    f := %s; said := SQLERRM; RETURN NEXT;
                END;', proname, arguments, tried.f), ''))
        FROM unnest(functions, rules) AS tried (f, rule) JOIN pg_proc p ON p.oid = tried.f,
             unnest(ARRAY['every', CASE WHEN rule IN ('kShort', 'kFoldedPattern') THEN 'longest' WHEN rule <> 'LEAKPROOF' THEN 'huge' END])
                 AS long,
             LATERAL (SELECT string_agg(CASE WHEN i = 1 THEN long || CASE WHEN t = 'bytea'::regtype THEN '_bytea' ELSE '' END
                                             WHEN t = 'integer'::regtype THEN '10485764'
                                             WHEN t = 'boolean'::regtype THEN 'true'
                                             ELSE '''a%''' END || '::' || pg_temp.named(t), ', ' ORDER BY i) AS arguments
                      FROM unnest(proargtypes::oid[]::regtype[]) WITH ORDINALITY AS u (t, i)) AS a
        WHERE long IS NOT NULL);
    RETURN QUERY SELECT tried.f, string_agg(said, ', ') FROM unnest(functions) AS tried (f) LEFT JOIN pg_temp.long_calls() USING (f)
        GROUP BY tried.f;
END
$$;

-- The trial sees what fails ---------------------------------------------------------------------------

CREATE FUNCTION pg_temp.is_red(f regprocedure, rule text) RETURNS text LANGUAGE sql AS
    $$ SELECT ok(EXISTS (SELECT FROM pg_temp.troubles(f, rule) AS t WHERE t IS NOT NULL), format('%s as %s is found out', f, rule)) $$;
SET LOCAL TimeZone = 'America/New_York';
SELECT pg_temp.is_red(f, 'kNever') FROM unnest('{
    "int4div(integer,integer)", "int4pl(integer,integer)", "int4(bigint)", "numeric_add(numeric,numeric)", "numeric(numeric,integer)",
    "float4(double precision)", "timestamp(date)", "timestamptz(timestamp)", "timestamp(timestamptz)", "substr(text,integer,integer)",
    "date_part(text,timestamp)", "date_trunc(text,timestamp)", "textlike(text,text)", "texticlike(text,text)", "bytealike(bytea,bytea)",
    "timestamptz_mi(timestamptz,timestamptz)"}'::regprocedure[]) AS f;
SELECT isnt(trouble, NULL, function::regprocedure || ' of a huge text is found out')
FROM pg_temp.troubles_of_length('{lower(text),btrim(text),"text(character)","texticlike(text,text)"}'::regprocedure[]::oid[],
    '{kNever,kNever,kNever,kNever}');
SELECT isnt(pg_temp.trouble('texteq(text,text)'::regprocedure,
    ARRAY['SELECT ''a'' COLLATE "C" AS v', 'SELECT ''a'' COLLATE "POSIX" AS v'], NULL), NULL,
            'LEAKPROOF is not enough: collations that conflict');
SELECT isnt(pg_temp.trouble(f, ARRAY[q, q], NULL), NULL, f || ' is LEAKPROOF and fails')
FROM (VALUES ('circle_eq'::regproc, $$SELECT circle '<(0,0),1e200>' AS v$$),
    ('lseg_lt', $$SELECT lseg '[(-1e308,0),(1e308,0)]' AS v$$)) AS c (f, q);

-- No function on the list fails ----------------------------------------------------------------------

SELECT is((SELECT string_agg(t, E'\n') FROM pg_temp.troubles(function, rule) AS t), NULL, format('%s as %s', function::regprocedure, rule))
FROM accepted ORDER BY function;
SELECT is(trouble, NULL, found.function::regprocedure || ' of long texts')
FROM (SELECT array_agg(function) AS functions, array_agg(rule) AS rules FROM accepted JOIN pg_proc p ON p.oid = function
      WHERE proargtypes[0] IN ('text'::regtype, 'varchar'::regtype, 'bpchar'::regtype, 'bytea'::regtype) AND rule NOT LIKE '%Field') AS tried,
     pg_temp.troubles_of_length(functions, rules) AS found ORDER BY function;
SELECT is(pg_temp.trouble(function, ARRAY['SELECT every AS v FROM long_texts'], ARRAY['text'::regtype], name), NULL,
    format('%s of every character under %s', function::regprocedure, name))
FROM accepted, collations WHERE function IN ('lower(text)'::regprocedure, 'upper(text)'::regprocedure) ORDER BY function, name;

-- Where the server's time is far from UTC.
CREATE FUNCTION pg_temp.in_zone(zone text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('TimeZone', zone, true);
    RETURN QUERY SELECT t FROM accepted JOIN pg_proc p ON p.oid = function, pg_temp.troubles(function, rule) AS t
    WHERE proargtypes::oid[]::regtype[] && '{date,timestamp,timestamptz}'::regtype[];
END
$$;
SELECT is_empty(format('SELECT * FROM pg_temp.in_zone(%L)', zone), 'times, in ' || zone)
FROM unnest(ARRAY['UTC', 'America/New_York', 'Pacific/Kiritimati', 'Asia/Kathmandu', 'Africa/Monrovia', '<+24>-24', '<-24>+24',
    '<+99>-99', '<-99>+99']) AS zone;

-- What the planner puts in their place, sorts, hashes and casts by -------------------------------------

SELECT is_empty($$
    SELECT o.oid::regoperator, x.oid::regoperator FROM accepted JOIN pg_operator o ON o.oprcode = function JOIN pg_operator x ON x.oid
        IN (o.oprnegate, o.oprcom)
    WHERE x.oprcode NOT IN (SELECT function FROM accepted)
$$, 'negators and commutators of accepted operators are accepted');
CREATE TEMP TABLE families AS
SELECT DISTINCT amopfamily, amopmethod FROM pg_amop JOIN pg_operator o ON o.oid = amopopr JOIN accepted ON function = oprcode
WHERE amopmethod IN (SELECT oid FROM pg_am WHERE amname IN ('btree', 'hash')) AND amopfamily < 16384;
SELECT is_empty($$
    SELECT amopopr::regoperator FROM families JOIN pg_amop USING (amopfamily) JOIN pg_operator o ON o.oid = amopopr
    WHERE oprcode NOT IN (SELECT function FROM accepted)
$$, 'so are all operators of their families, which the planner derives');
-- (But for hashvarlena, which SQL cannot call: it hashes bytes.)
SELECT is((SELECT string_agg(t, E'\n') FROM pg_temp.troubles(amproc::oid, 'kNever') AS t), NULL,
    format('%s compares or hashes', amproc::regprocedure))
FROM (SELECT DISTINCT amproc FROM families JOIN pg_amproc ON amprocfamily = amopfamily
      WHERE (amprocnum = 1 OR (amprocnum = 2 AND amopmethod = (SELECT oid FROM pg_am WHERE amname = 'hash')))
            AND amproc::oid NOT IN (456, 772)) AS supports ORDER BY 1;
SELECT lives_ok(format('SELECT v FROM (%s) AS p ORDER BY v', pg_temp.values_of(type)), 'values can be sorted: ' || type)
FROM (SELECT DISTINCT type FROM pools WHERE type NOT IN ('xid'::regtype, 'cid'::regtype)) AS types ORDER BY type;
SELECT lives_ok(format('SELECT v::text, v::varchar FROM (%s) AS p', pg_temp.values_of(type)), 'values can be cast to text: ' || type)
FROM unnest('{smallint,integer,bigint,uuid,pg_temp.mood}'::regtype[]) AS type;

SELECT * FROM finish();
ROLLBACK;
