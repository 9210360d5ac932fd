-- dp_counter_plan of a declaration: what dp_counter_create and the plan of its counter say, with nothing made, charged or numbered.
\pset format unaligned
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE ROLE plan_declaration_ana;
CREATE SCHEMA plan_declaration;
SET search_path = plan_declaration, public;
CREATE TABLE visits (patient integer, at timestamp, ward text, flu boolean, cents integer);
CREATE VIEW visits_dp AS SELECT * FROM visits;
CREATE VIEW life_dp AS SELECT * FROM visits;
CREATE TABLE wards AS SELECT unnest('{a,b}'::text[]) AS ward;
SELECT dp_budget_create('yearly', 2, per => '365 days'), dp_budget_create('life', 2);
SELECT dp_budget_create('share', 0.5, within => 'yearly', since => '2300-01-01', until => '2400-01-01');
SELECT dp_source_create('visits_dp', 'yearly', 'patient', 'at', 'UTC'), dp_source_create('life_dp', 'life', 'patient', 'at', 'UTC');

-- the same arguments give the same rows: those before the counter is made, and those of the counter that is made and rolled back
CREATE FUNCTION same(arguments text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    planned text; made text; numbered bigint; message text;
BEGIN
    SELECT last_value INTO numbered FROM dp_counter_private.counters_number_seq;
    BEGIN
        EXECUTE format('SELECT string_agg(p::text, E''\n'') FROM dp_counter_plan(''c'', %s) AS p', arguments) INTO planned;
    EXCEPTION WHEN OTHERS THEN planned := SQLSTATE || ': ' || SQLERRM;
    END;
    IF numbered <> (SELECT last_value FROM dp_counter_private.counters_number_seq) OR to_regclass('c') IS NOT NULL
       OR EXISTS (SELECT FROM yearly WHERE purpose !~ 'share') OR EXISTS (SELECT FROM life) THEN
        RETURN 'something was made';
    END IF;
    BEGIN
        EXECUTE format('SELECT dp_counter_create(''c'', %s)', arguments);
        SELECT string_agg(p::text, E'\n') INTO made FROM dp_counter_plan('c') AS p;
        RAISE 'done' USING ERRCODE = 'DP001';
    EXCEPTION WHEN SQLSTATE 'DP001' THEN NULL; WHEN OTHERS THEN made := SQLSTATE || ': ' || SQLERRM;
    END;
    IF planned IS DISTINCT FROM made THEN RETURN E'planned\n' || planned || E'\nand made\n' || made; END IF;
    RETURN CASE WHEN planned ~ '^[0-9A-Z]{5}: ' THEN planned
        ELSE 'the same, ' || (length(planned) - length(replace(planned, E'\n', '')) + 1) || ' rows' END;
END $$;
SELECT arguments, same(arguments) FROM unnest(ARRAY[
    $$'visits_dp', 0.5, '1 week', '2300-01-01', per_person => 12$$,
    $$'visits_dp', 0.5, '1 week', '2300-01-01', per_person => 12, by => 'ward', groups => '{a,b,c}', others => 'rest', event => 'flu'$$,
    $$'visits_dp', 0.5, '1 week', '2300-01-01', per_person => 3, by => 'ward', groups_from => 'wards', groups_column => 'ward', horizon => 3$$,
    $$'visits_dp', 0.5, '1 month', '2300-01-01', persons => true$$,
    $$'visits_dp', 0.5, '1 week', '2300-01-01', persons => true, horizon => 40$$,
    $$'visits_dp', 0.5, '1 week', '2300-01-01', persons => true, by => 'ward', groups => '{a}'$$,
    $$'visits_dp', 0.5, '1 week', '2300-01-01', per_person => 2, sum => 'cents', lower => -7, upper => 5$$,
    $$'visits_dp', 0.5, '1 week', '2300-01-01', per_person => 2, avg => 'cents', lower => 2, upper => 50$$,
    $$'visits_dp', 0.5, '1 week', '2300-01-01', per_person => 2, share => 'flu'$$,
    $$'visits_dp', 0.5, '1 week', '2300-01-01', per_person => 2, histogram => 'cents', bins => '{0,10,20}', by => 'ward', groups => '{a}'$$,
    $$'visits_dp', 0.5, '1 week', '2300-01-01', active => '365 days'$$,
    $$'visits_dp', 0.5, '1 week', '2300-01-01', active => '365 days', by => 'ward', groups => '{a,b}'$$,
    $$'visits_dp', 0.5, '1 year', '2300-01-01', active => '365 days'$$,
    $$'visits_dp', 0.5, '1 week', '2300-01-01', active => '364 days'$$,
    $$'visits_dp', 0.5, '1 week', '2300-01-01', per_person => 2, cumulative => true$$,
    $$'visits_dp', 0.5, '1 week', '2300-01-01', 100, per_person => 2, cumulative => true$$,
    $$'visits_dp', 0.5, '1 week', '2300-01-01', 100, per_person => 2, cumulative => true, k => 5, mechanism => 'subtraction'$$,
    $$'visits_dp', 0.5, '1 week', '2300-01-01', 1, per_person => 2, cumulative => true$$,
    $$'life_dp', 1, '1 day', '2300-01-01', 365, per_person => 1$$,
    $$'life_dp', 1, '1 day', '2300-01-01', 365, persons => true, by => 'ward', groups => '{a}'$$,
    $$'visits_dp', 0.5, '1 week', '2300-01-01', per_person => 2, budget => 'share', horizon => 52$$,
    -- what is wrong is wrong in both
    $$'visits_dp'$$, $$'visits_dp', 0$$, $$'wards', 1$$, $$'visits_dp', 1, '1 week', '2300-01-01'$$,
    $$'visits_dp', 0.5, '1 week', '2300-01-01', per_person => 2, k => 5$$,
    $$'visits_dp', 0.5, '1 week', '2300-01-01', per_person => 2, cumulative => true, mechanism => '''; x'$$,
    $$'visits_dp', 0.5, '1 week', '2300-01-01', per_person => 2, cumulative => true, k => 1, mechanism => 'plain'$$,
    $$'visits_dp', 0.5, '1 week', '2300-01-01', per_person => 2, event => 'cents'$$,
    $$'visits_dp', 0.5, '1 week', '2200-01-01', per_person => 2, budget => 'share'$$,
    $$'visits_dp', 0.5, '1 week', '2300-01-01', per_person => 2, groups => '{a}'$$]) AS arguments;
-- the rank of a median: half of what all bins together have, each of which has noise of its own
SELECT number, p.periods, abs(stddev - dp_stddev(3 * p.periods, NULL, 0.5, NULL, 'laplace', 2) / 2) < 1e-9 AS stddev,
    half_width, half_width = upper(dp_interval(0, 3 * p.periods, NULL, 0.5, 0.95, NULL, 'laplace', 2)) / 2 AS width
FROM dp_counter_plan('asked', 'visits_dp', 0.5, '1 week', '2300-01-01', 12, per_person => 2, histogram => 'cents', bins => '{0,10,20}') AS p
WHERE number ~ 'median';
-- but for what the budget does not have: the plan says how much is missing
SELECT remaining FROM dp_counter_plan(NULL, 'visits_dp', 7.5, '1 week', '2300-01-01', per_person => 1) LIMIT 1;
-- and with continues, where the counter is made in place of another one
SELECT dp_counter_create('old', 'visits_dp', 1, '1 week', '2300-01-01', per_person => 1);
SELECT remaining IS NULL
    FROM dp_counter_plan('c', 'visits_dp', 1.5, '1 week', '2300-01-01', per_person => 1, continues => 'old') LIMIT 1;
SELECT dp_counter_drop('old');
-- what dp_counter_create would refuse is refused before anything is computed: no error shows the statement
DO $$
DECLARE
    context text;
BEGIN
    PERFORM dp_counter_plan('c', 'visits_dp', 0.5, '1 week', '2300-01-01', per_person => 2, cumulative => true, k => 1,
        mechanism => 'plain');
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
    RAISE WARNING '%: %', SQLERRM, context ~ 'dp_stddev';
END $$;
-- the arguments are those of dp_counter_create
SELECT count(*) AS functions, count(DISTINCT proargtypes) AS types,
    count(DISTINCT (regexp_replace(pg_get_function_arguments(oid), ' DEFAULT NULL::(text|regclass)|, OUT .*', '', 'g'))) AS arguments
FROM pg_proc WHERE proname IN ('dp_counter_create', 'dp_counter_plan') AND pronargs > 1;
-- an analyst, who sees what remains only of a budget that may be read
GRANT USAGE ON SCHEMA plan_declaration TO plan_declaration_ana;
GRANT REFERENCES (flu) ON visits_dp TO plan_declaration_ana;
GRANT INSERT ON share TO plan_declaration_ana;
SET ROLE plan_declaration_ana;
SELECT number, half_width, remaining FROM dp_counter_plan('c', 'visits_dp', 0.1, '1 week', '2300-01-01', 52, event => 'flu',
    per_person => 1, budget => 'share') LIMIT 1;
\set VERBOSITY terse
SELECT * FROM dp_counter_plan('c', 'visits_dp', 0.1, '1 week', '2300-01-01', 52, event => 'flu', by => 'ward', groups => '{a}',
    per_person => 1, budget => 'share');
SELECT * FROM dp_counter_plan('c', 'visits_dp', 0.1, '1 week', '2300-01-01', 52, event => 'flu', per_person => 1);
SELECT * FROM dp_counter_plan('c', 'visits_dp', 0.001, '1 week', '2300-01-01', 52, event => 'flu', per_person => 1, budget => 'share');
SELECT * FROM dp_counter_plan('c', 'visits_dp', 0.1, '1 week', '2300-01-01', event => 'flu', per_person => 1, budget => 'share');
RESET ROLE;
GRANT SELECT ON share TO plan_declaration_ana;
SET ROLE plan_declaration_ana;
SELECT remaining FROM dp_counter_plan('c', 'visits_dp', 0.1, '1 week', '2300-01-01', 52, event => 'flu', per_person => 1,
    budget => 'share') LIMIT 1;
RESET ROLE;
SELECT dp_source_drop('visits_dp'), dp_source_drop('life_dp');
DROP SCHEMA plan_declaration CASCADE;
DROP ROLE plan_declaration_ana;
