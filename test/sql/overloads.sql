-- Which function a call reaches, by the number and types of its arguments and by named notation.

CREATE TEMP TABLE visits (t integer, flu boolean);
INSERT INTO visits SELECT t, t % 2 = 0 FROM generate_series(1, 6) t;

-- the kind and signature of the function that this expression calls
CREATE FUNCTION pg_temp.reaches(call text, OUT reached text) LANGUAGE plpgsql AS $$
DECLARE
    state text;
BEGIN
    EXECUTE 'CREATE TEMP VIEW probe AS SELECT ' || call || ' AS n FROM visits';
    SELECT CASE prokind WHEN 'w' THEN 'window function ' WHEN 'a' THEN 'aggregate ' ELSE '' END || proname || '('
           || coalesce((SELECT string_agg(format_type(a, NULL), ', ' ORDER BY i) FROM unnest(proargtypes::oid[])
               WITH ORDINALITY u (a, i)), '') || ')'
        INTO STRICT reached
        FROM pg_depend d JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
             JOIN pg_proc p ON d.refclassid = 'pg_proc'::regclass AND d.refobjid = p.oid
        WHERE r.ev_class = 'probe'::regclass AND proname LIKE 'dp\_%';
    DROP VIEW probe;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE;
    reached := 'error ' || state;
END $$;
SET client_min_messages = warning;

SELECT call, pg_temp.reaches(call)
FROM (VALUES
    -- two and three arguments: the window function
    (1, 'dp_running_count(flu, 1) OVER ()'),
    (2, 'dp_running_count(flu, 1.0, 3) OVER ()'),
    (3, 'dp_running_count(flu, 1.0, NULL) OVER ()'),
    -- four: text means mechanism, a number means horizon
    (4, 'dp_running_count(flu, 1.0, 3, ''plain'') OVER ()'),
    (5, 'dp_running_count(flu, 1.0, 3, NULL) OVER ()'),
    (6, 'dp_running_count(flu, 1.0, 3, 100) OVER ()'),
    (7, 'dp_running_count(flu, 1.0, 3, 100)'),
    (8, 'dp_running_count(flu, 1.0, NULL, 100)'),
    (9, 'dp_running_count(flu, 1.0, 3, 100::smallint)'),
    (10, 'dp_running_count(flu, 1.0, 3, 4000000000)'),
    (11, 'dp_running_count(NULL, 1.0, 3, 100)'),
    (12, 'dp_running_count(flu, 1.0, 3, NULL::bigint)'),
    -- five
    (13, 'dp_running_count(flu, 1.0, 3, ''plain'', 100) OVER ()'),
    (14, 'dp_running_count(flu, 1.0, NULL, NULL, 100) OVER ()'),
    -- bit(1): the window function alone
    (18, 'dp_running_count(B''1'', 1.0) OVER ()'),
    (19, 'dp_running_count(B''1'', 1.0, 3, ''plain'', 100) OVER ()'),
    (20, 'dp_running_count(B''1'', 1.0, 3, 100) OVER ()'),
    -- named notation: the window function
    (21, 'dp_running_count(flu, 1.0, horizon => 100) OVER ()'),
    (22, 'dp_running_count(flu, 1.0, k => 3) OVER ()'),
    (23, 'dp_running_count(flu, 1.0, mechanism => ''plain'') OVER ()'),
    (24, 'dp_running_count(flu, 1.0, k => 3, horizon => 100) OVER ()'),
    (25, 'dp_running_count(flu, 1.0, 3, horizon => 100) OVER ()'),
    (26, 'dp_running_count(flu, 1.0, k => 3, mechanism => ''plain'') OVER ()'),
    (27, 'dp_running_count(flu, 1.0, mechanism => ''plain'', horizon => 100) OVER ()'),
    (28, 'dp_running_count(flu, 1.0, horizon => 100, mechanism => ''plain'', k => 3) OVER ()'),
    (29, 'dp_running_count(epsilon => 1.0, "bit" => flu) OVER ()'),
    (30, 'dp_running_count(epsilon => 1.0, "bit" => B''1'', horizon => 100, k => 3) OVER ()'),
    -- dp_count
    (31, 'dp_count(flu, 1)'),
    (32, 'dp_count(flu, 1) OVER ()'),
    (33, 'dp_count(NULL, 1)'),
    -- what is not there, or could be either of two
    (34, 'dp_running_count(flu) OVER ()'),
    (35, 'dp_running_count(flu, 1.0)'),
    (36, 'dp_running_count(flu, 1.0, 3, ''plain'')'),
    (37, 'dp_running_count(flu, 1.0, k => 3, horizon => 100)'),
    (38, 'dp_running_count(NULL, 1.0) OVER ()'),
    (39, 'dp_running_count(flu, 1.0, 3, NULL, NULL) OVER ()'),
    (40, 'dp_running_count(flu, 1.0, 3.5) OVER ()'),
    (41, 'dp_running_count(flu, 1.0, 3, 100.0)'),
    (42, 'dp_running_count(flu, 1.0, 3, 100, ''plain'') OVER ()'),
    (43, 'dp_running_count(flu, 1.0, 3, 100, ''plain'')'),
    (44, 'dp_running_count(flu, 1.0, steps => 100) OVER ()'),
    (45, 'dp_running_count(*) OVER ()'),
    (46, 'dp_count(flu)'),
    (47, 'dp_count(*)'),
    (48, 'dp_count(B''1'', 1.0)')
) v (i, call) ORDER BY i;

-- Each first argument and epsilon, of every type and untyped, in each call: the calls that count reach what counts, the others an
-- error that teaches, and PostgreSQL's own where a fraction is no whole number.
SELECT format(form, first, '...') AS call, reached, count(*) AS epsilons
FROM unnest(ARRAY['dp_running_count(%s, %s) OVER ()', 'dp_running_count(%s, %s, 3) OVER ()', 'dp_running_count(%s, %s, 3, 100)',
    'dp_running_sum(%s, %s, 1) OVER ()',
                  'dp_laplace(%s, %s, 1)', 'dp_count(%s, %s)']) WITH ORDINALITY f (form, i),
     unnest(ARRAY['flu', 'NULL', '''1''', 'NULL::boolean', 'B''1''', 'B''1''::varbit', '1::smallint', '1', '1::bigint', '1.5', '1::real',
         '1::float8', '''a''::text',
                  'DATE ''2026-01-01''']) WITH ORDINALITY b (first, j),
     unnest(ARRAY['1', '1.0', '1::smallint', '1::bigint', '1::real', '1::float8', '''1''', 'NULL']) epsilon,
     pg_temp.reaches(format(form, first, epsilon)) reached
GROUP BY i, j, form, first, reached ORDER BY i, j, reached COLLATE "C";

-- Mistakes that the way out is told for, over rows and over none.
CREATE FUNCTION pg_temp.answer(call text, source text, OUT answer text) LANGUAGE plpgsql AS $$
DECLARE
    hint text;
BEGIN
    EXECUTE format('SELECT %s FROM %s', call, source) INTO answer;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS answer = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
    answer := concat(SQLSTATE, ': ', answer, E'\n  HINT: ', hint);
END $$;
\pset format unaligned
\pset tuples_only on
SELECT concat(E'\n', call, E'\n  ', pg_temp.answer(call, 'visits'))
FROM unnest(ARRAY['dp_count(*)', 'dp_count(flu)', 'dp_count(5, 1.0)', 'dp_count(t::smallint, ''1.0'')', 'dp_count(t * 0.5, 1)',
    'dp_count(t::text, 1)',
                  'dp_count(NULL::bit, 1)', 'dp_count(now(), NULL)', 'dp_count(flu, ''1.0''::text)',
                  'dp_count(flu, 1.0, 3)', 'dp_count(*) OVER (ORDER BY t)',
                      'dp_count(DISTINCT t, 1.0)',
                  'dp_running_count(*) OVER ()', 'dp_running_count(flu) OVER (ORDER BY t)', 'dp_running_count(NULL) OVER ()',
                  'dp_running_count(''a'', 1.0) OVER (ORDER BY t)', 'dp_running_count(NULL, 1.0) OVER ()',
                      'dp_running_count(t, 1.0) OVER (ORDER BY t)',
                  'dp_running_count(t * 0.5, 1.0, 3) OVER ()',
                      'dp_running_count("bit" => t::smallint, epsilon => 1, horizon => 10) OVER ()',
                  'dp_running_sum(t) OVER (ORDER BY t)', 'dp_running_sum(t, 1.0) OVER (ORDER BY t)',
                      'dp_running_sum(addend => NULL, epsilon => 1) OVER ()',
                  'dp_running_sum(flu, ''1'') OVER ()', 'dp_laplace(t)', 'dp_laplace(t, 1.0)', 'dp_laplace(NULL, ''1'')',
                      'dp_laplace(epsilon => 1.0, value => t * 0.5)',
                  'dp_sum(t, 1.0)', 'dp_sum(flu) OVER (ORDER BY t)', 'dp_median(t * 0.5)', 'dp_quantile(0.5, t, ''1'')',
                      'dp_percentile(t, 1.0, 95)']) call;
SELECT concat(E'\n', call, E'\n  ', pg_temp.answer(call, '(SELECT * FROM visits WHERE false) none'))
FROM unnest(ARRAY['dp_count(*)', 'dp_count(flu)', 'dp_count(t, 1.0)', 'dp_median(t, 1.0)']) call;
\pset tuples_only off
\pset format aligned

-- all of them count right
SELECT t,
       dp_running_count(flu, 1e9, horizon => 100) OVER w AS a,
       dp_running_count(flu, 1e9, k => 3, horizon => 100) OVER w AS b,
       dp_running_count(flu, 1e9, 3, horizon => 6) OVER w AS c,
       dp_running_count(flu, 1e9, horizon => 100, mechanism => 'plain', k => 3) OVER w AS d,
       dp_running_count(mechanism => 'plain', k => 3, epsilon => 1e9, "bit" => flu) OVER w AS e,
       dp_running_count(epsilon := 1e9, "bit" := flu::integer::bit, horizon := 6) OVER w AS f,
       dp_running_count(flu, 1e9, 3, 100) OVER w AS g,
       dp_running_count(flu, 1e9, 3, 'plain', 100) OVER w AS h
FROM visits WINDOW w AS (ORDER BY t) ORDER BY t;

-- numbers of other types for epsilon
SELECT dp_count(flu, 1000), dp_count(flu, 1e9::real), dp_count(flu, 1e9::numeric), dp_count(flu, '1e9') FROM visits;

-- A view keeps the call as it was written.
CREATE TEMP VIEW named AS
    SELECT t, dp_running_count(flu, 1e9, horizon => 100) OVER (ORDER BY t) AS n FROM visits;
SELECT pg_get_viewdef('named'::regclass) ~ 'dp_running_count\(.*horizon => ' AS named;
SELECT array_agg(n ORDER BY t) FROM named;
