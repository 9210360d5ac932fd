-- Which function a call reaches, by the number and types of its arguments and by named notation.

CREATE TEMP TABLE visits (t integer, flu boolean);
INSERT INTO visits SELECT t, t % 2 = 0 FROM generate_series(1, 6) t;

-- the kind and signature of the function that this expression calls
CREATE FUNCTION pg_temp.reaches(call text, OUT reached text) LANGUAGE plpgsql AS $$
DECLARE
    state text;
BEGIN
    EXECUTE 'CREATE TEMP VIEW probe AS SELECT ' || call || ' AS n FROM visits';
    SELECT CASE prokind WHEN 'w' THEN 'window function ' WHEN 'a' THEN 'aggregate ' END || proname || '('
           || (SELECT string_agg(format_type(a, NULL), ', ' ORDER BY i) FROM unnest(proargtypes::oid[]) WITH ORDINALITY u (a, i)) || ')'
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
