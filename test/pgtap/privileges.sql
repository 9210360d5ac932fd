-- Who may count: a role without any privilege but on the data. What it cannot do: reach what is
-- behind, as a caller or as the writer of the query.
BEGIN;
SET LOCAL client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS dp_counter;
RESET client_min_messages;
SELECT plan(28);

CREATE ROLE dp_analyst;
CREATE ROLE dp_curator;
CREATE SCHEMA dp_hospital;
CREATE TABLE dp_hospital.visits AS SELECT t, t % 2 AS ward, t % 3 = 0 AS flu FROM generate_series(1, 12) t;
-- the curator publishes, the analyst sees no row
ALTER SCHEMA dp_hospital OWNER TO dp_curator;
ALTER TABLE dp_hospital.visits OWNER TO dp_curator;
GRANT USAGE ON SCHEMA dp_hospital TO dp_analyst;
SET LOCAL ROLE dp_curator;
CREATE VIEW dp_hospital.running AS SELECT t, dp_running_count(flu, 1e9) OVER (ORDER BY t) AS n FROM dp_hospital.visits;
CREATE VIEW dp_hospital.streaming AS SELECT t, dp_running_count(flu, 1e9, 3, 12) OVER (ORDER BY t) AS n FROM dp_hospital.visits;
CREATE VIEW dp_hospital.wards AS SELECT ward, dp_count(flu, 1e9) AS n FROM dp_hospital.visits GROUP BY ward;
CREATE MATERIALIZED VIEW dp_hospital.published AS SELECT t, dp_running_count(flu, 1e-9) OVER (ORDER BY t) AS n FROM dp_hospital.visits;
GRANT SELECT ON dp_hospital.running, dp_hospital.streaming, dp_hospital.wards, dp_hospital.published TO dp_analyst;
RESET ROLE;

SET LOCAL ROLE dp_analyst;
SELECT is((SELECT max(n) FROM dp_hospital.running), 4::bigint, 'the analyst reads the running count');
SELECT is((SELECT max(n) FROM dp_hospital.streaming), 4::bigint, 'the analyst reads the streaming count');
SELECT is((SELECT sum(n) FROM dp_hospital.wards), 4::numeric, 'the analyst reads the counts of the wards');
SELECT throws_ok('SELECT flu FROM dp_hospital.visits', '42501', NULL, 'but no row');
SELECT throws_ok('SELECT dp_count(flu, 1) FROM dp_hospital.visits', '42501', NULL, 'nor a count with an epsilon of its own');
SELECT is((SELECT array_agg(n ORDER BY t) FROM dp_hospital.published), (SELECT array_agg(n ORDER BY t) FROM dp_hospital.published),
          'a published count may be read again and again: it is one release');
SELECT throws_ok('REFRESH MATERIALIZED VIEW dp_hospital.published', '42501', NULL, 'and only its owner makes another');

-- a condition of the analyst's is applied to releases, after the count: it can neither see nor remove rows
SELECT is((SELECT array_agg(n ORDER BY t) FROM dp_hospital.running WHERE t > 6), '{2,2,3,3,3,4}'::bigint[],
    'a condition on t does not move the start of the count');
SELECT is((SELECT count(*) FROM dp_hospital.running WHERE n < 0), 0::bigint, 'a condition on n sees the release');
SELECT is((SELECT max(n) FROM dp_hospital.wards WHERE ward = 0), 2::bigint, 'a condition on the group picks groups');
RESET ROLE;

-- Every function, called by a role without privileges, on values of its own
CREATE ROLE dp_nobody;
SET LOCAL ROLE dp_nobody;
SELECT lives_ok($$ SELECT dp_count(b, 1) FROM (VALUES (true)) v (b) $$, 'anyone may use dp_count');
SELECT lives_ok($$ SELECT dp_running_count(b, 1) OVER () FROM (VALUES (true)) v (b) $$, 'anyone may use the window function');
SELECT lives_ok($$ SELECT dp_running_count(b, 1) OVER () FROM (VALUES (B'1')) v (b) $$, 'anyone may use the window function over bit');
SELECT lives_ok($$ SELECT dp_running_count(b, 1, 3, 10) FROM (VALUES (true)) v (b) $$, 'anyone may use the aggregate');
SELECT lives_ok($$ SELECT dp_running_count(b, 1, 3, 10) OVER () FROM (VALUES (true)) v (b) $$,
    'anyone may use the aggregate over a window');

-- The inner functions take a state that only PostgreSQL makes. (Some versions do not find the function, others find it
-- and refuse the argument.)
\set refused '''does not exist|cannot accept a value of type internal|cannot cast type'''
SELECT throws_ok('SELECT dp_counter_private.dp_count_final(NULL)', '42501', NULL, 'the inner functions cannot be named');
RESET ROLE;
GRANT USAGE ON SCHEMA dp_counter_private TO dp_nobody;
SET LOCAL ROLE dp_nobody;
SELECT throws_matching('SELECT dp_counter_private.dp_count_final(NULL)', :refused,
    'where they could: no state from NULL for dp_count_final');
SELECT throws_matching('SELECT dp_counter_private.dp_running_count_final(NULL)', :refused, 'no state from NULL for dp_running_count_final');
SELECT throws_matching('SELECT dp_counter_private.dp_count_transition(NULL, true, 1::float8)', :refused,
    'no state from NULL for dp_count_transition');
SELECT throws_matching('SELECT dp_counter_private.dp_running_count_transition(NULL, true, 1::float8, 3, 10::bigint)', :refused,
    'no state from NULL for dp_running_count_transition');
SELECT throws_matching('SELECT dp_counter_private.dp_count_final(NULL::internal)', :refused, 'nor from a cast');
SELECT throws_ok($$ CREATE AGGREGATE pg_temp.leak(boolean, float8) (SFUNC = dp_counter_private.dp_count_transition, STYPE = internal) $$,
    '42P13', NULL,
                 'no aggregate of one''s own shows the state');

-- Nobody but its owner drops it, and nobody moves or replaces what is in it.
SELECT throws_ok('DROP EXTENSION dp_counter', '42501', NULL, 'it is not dropped');
SELECT throws_ok('ALTER EXTENSION dp_counter SET SCHEMA dp_hospital', '42501', NULL, 'it is not moved');
SELECT throws_ok('DROP AGGREGATE dp_count(boolean, float8)', '42501', NULL, 'its functions are not dropped');
SELECT throws_ok('ALTER FUNCTION dp_counter_private.dp_count_final(internal) LEAKPROOF', '42501', NULL, 'nor changed');
SELECT throws_ok($$ CREATE FUNCTION pg_temp.f(internal) RETURNS bigint LANGUAGE c AS '$libdir/dp_counter', 'dp_count_final' $$, '42501',
    NULL,
                 'nor is the library called under another name');
RESET ROLE;

-- It is a trusted extension (test/t/trusted.pl).
SELECT is((SELECT superuser AND trusted FROM pg_available_extension_versions WHERE name = 'dp_counter' AND installed), true,
    'whoever may create in the database installs it');

SELECT * FROM finish();
ROLLBACK;
