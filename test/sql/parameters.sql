-- Every parameter error, in every form of the call: the SQLSTATE, the message, the way out.
\pset format unaligned
\pset tuples_only on

-- Runs the form of the call with these arguments and tells what it answered.
CREATE FUNCTION pg_temp.answer(form text, epsilon text, k text, mechanism text, horizon text, OUT answer text)
LANGUAGE plpgsql AS $$
DECLARE
    state text;
    message text;
    hint text;
    result text;
BEGIN
    EXECUTE format('SELECT DISTINCT ' || form || ' FROM (VALUES (1, true), (2, false)) v (t, b)', epsilon, k, mechanism, horizon)
        INTO result;
    answer := 'accepted';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
    answer := state || ': ' || message || E'\n    HINT: ' || regexp_replace(hint, 'are ("[a-z]+",? ?)+', 'are ...');
END $$;

CREATE TEMP TABLE forms (name text, call text);
INSERT INTO forms VALUES
    ('window',          'dp_running_count(b, %1$s, %2$s, %3$s, %4$s) OVER (ORDER BY t)'),
    ('window over bit', 'dp_running_count(CASE WHEN b THEN B''1'' ELSE B''0'' END, %1$s, %2$s, %3$s, %4$s) OVER (ORDER BY t)'),
    ('aggregate',       'dp_running_count(b, %1$s, %2$s, %4$s)'),
    ('aggregate OVER',  'dp_running_count(b, %1$s, %2$s, %4$s) OVER (ORDER BY t)');

-- each case, and which forms gave which answer; the aggregate takes no mechanism
CREATE FUNCTION pg_temp.answers(epsilon text, k text, mechanism text, horizon text) RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT answer || E'\n    (' || string_agg(name, ', ' ORDER BY name COLLATE "C") || ')'
    FROM forms, pg_temp.answer(call, epsilon, k, mechanism, horizon)
    WHERE call ~ '%3' OR mechanism IN ('NULL::text', '''plain''::text')
    GROUP BY answer
    ORDER BY answer COLLATE "C"
$$;

-- epsilon: finite, from 1e-9 to 1e9
SELECT epsilon || E'\n  ' || pg_temp.answers(epsilon, '3', 'NULL::text', '10::bigint')
FROM unnest(ARRAY['1e-9', '0.1', '1e9', '0', '''-0''', '-1', '0.99e-9', '1.01e9', '''NaN''', '''Infinity''', '''-Infinity''',
                  '1e-300::float8', '1e300::float8', 'NULL']) epsilon;
SELECT 'dp_count: ' || epsilon || E'\n  ' || pg_temp.answer('dp_count(b, %s)', epsilon, NULL, NULL, NULL)
FROM unnest(ARRAY['1e-9', '1e9', '0', '-1', '0.99e-9', '1.01e9', '''NaN''', '''Infinity''', '''-Infinity''', 'NULL']) epsilon;
SELECT 'dp_count OVER: ' || epsilon || E'\n  ' || pg_temp.answer('dp_count(b, %s) OVER ()', epsilon, NULL, NULL, NULL)
FROM unnest(ARRAY['1e9', '0', 'NULL']) epsilon;

-- k: from 2 to 65535, or NULL
SELECT k || E'\n  ' || pg_temp.answers('1e9', k, 'NULL::text', '10::bigint')
FROM unnest(ARRAY['2', '3', '65535', 'NULL', '1', '0', '-1', '65536', '2147483647', '-2147483648']) k;
SELECT 'plain: ' || k || E'\n  ' || pg_temp.answers('1e9', k, '''plain''::text', '10::bigint')
FROM unnest(ARRAY['2', '65535', '1', '65536']) k;

-- mechanism: a known name, spelled as documented, or NULL
SELECT mechanism || E'\n  ' || pg_temp.answers('1e9', '3', mechanism || '::text', '10::bigint')
FROM unnest(ARRAY['''subtraction''', '''plain''', 'NULL', '''''', '''Plain''', '''plain ''', '''laplace''',
                  '''binary tree''', '''a name of more than thirty letters''', 'repeat(''plain'', 100000)']) mechanism;

-- horizon: from 1 to 2^62; NULL in the window function alone
SELECT horizon || E'\n  ' || pg_temp.answers('1e9', '3', 'NULL::text', horizon || '::bigint')
FROM unnest(ARRAY['2', '4611686018427387904', '0', '(-1)', '4611686018427387905', '9223372036854775807', '(-9223372036854775808)',
                  'NULL']) horizon;
-- the greatest of all
SELECT k || ' ' || mechanism || E'\n  ' || pg_temp.answers('1e9', k, mechanism, '4611686018427387904')
FROM unnest(ARRAY['2', '3', '4', '65535', 'NULL']) k, unnest(ARRAY['''plain''::text', '''subtraction''::text', 'NULL::text']) mechanism;
-- more rows than the horizon
SELECT pg_temp.answers('1e9', '3', 'NULL::text', '1::bigint');

-- Epsilon, k, mechanism and horizon are constant in a partition: a row that changes one is an error, at whichever row.
CREATE TEMP TABLE varying (t integer, b boolean, epsilon float8, k integer, mechanism text, horizon bigint);
INSERT INTO varying
    SELECT t, true, CASE WHEN t < 5 THEN 1e9 ELSE 1e8 END, CASE WHEN t < 5 THEN 3 ELSE 4 END,
           CASE WHEN t < 5 THEN 'plain' ELSE 'subtraction' END, CASE WHEN t < 5 THEN 10 ELSE 11 END
    FROM generate_series(1, 6) t;
INSERT INTO forms VALUES
    ('window partitioned by what varies',
        'dp_running_count(b, %1$s, %2$s, %3$s, %4$s) OVER (PARTITION BY epsilon, k, mechanism, horizon ORDER BY t)');
CREATE OR REPLACE FUNCTION pg_temp.answer(form text, epsilon text, k text, mechanism text, horizon text, OUT answer text)
LANGUAGE plpgsql AS $$
DECLARE
    state text;
    message text;
    hint text;
BEGIN
    EXECUTE format('SELECT array_agg(n)::text FROM (SELECT ' || form || ' AS n FROM varying) s', epsilon, k, mechanism, horizon)
        INTO answer;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
    answer := state || ': ' || message || E'\n    HINT: ' || regexp_replace(hint, 'are ("[a-z]+",? ?)+', 'are ...');
END $$;
SELECT E'nothing varies\n  ' || pg_temp.answers('1e9', '3', '''plain''::text', '10');
SELECT E'epsilon\n  ' || pg_temp.answers('epsilon', '3', '''plain''::text', '10');
SELECT E'k\n  ' || pg_temp.answers('1e9', 'k', '''plain''::text', '10');
SELECT E'mechanism\n  ' || pg_temp.answers('1e9', '3', 'mechanism', '10');
SELECT E'horizon\n  ' || pg_temp.answers('1e9', '3', '''plain''::text', 'horizon');
SELECT E'epsilon becomes NULL\n  ' || pg_temp.answers('nullif(epsilon, 1e8)', '3', '''plain''::text', '10');
SELECT E'k becomes NULL\n  ' || pg_temp.answers('1e9', 'nullif(k, 4)', '''plain''::text', '10');
SELECT E'mechanism becomes NULL\n  ' || pg_temp.answers('1e9', '3', 'nullif(mechanism, ''subtraction'')', '10');
SELECT E'mechanism becomes unknown\n  ' || pg_temp.answers('1e9', '3', 'replace(mechanism, ''subtraction'', ''none'')', '10');
SELECT E'mechanism of the same length\n  ' || pg_temp.answers('1e9', '3', 'CASE WHEN t < 5 THEN ''plain'' ELSE ''plaid'' END', '10');
SELECT E'horizon becomes NULL\n  ' || pg_temp.answers('1e9', '3', '''plain''::text', 'nullif(horizon, 11)');
SELECT E'volatile, yet constant\n  ' || pg_temp.answers('1e9 + 0 * random()', '3', '''plain''::text', '10');
SELECT E'volatile\n  ' || pg_temp.answers('1e8 * (1 + random())', '3', '''plain''::text', '10');
SELECT E'the same text from two expressions\n  ' || pg_temp.answers('1e9', '3',
    'CASE WHEN t < 3 THEN ''plain'' ELSE left(''plainer'', 5) END', '10');
