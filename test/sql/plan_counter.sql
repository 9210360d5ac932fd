-- dp_counter_plan, and what a counter says of itself: the COMMENTs on its view and columns, and dp_counters.
\pset format unaligned
SET client_min_messages = warning;
SET timezone = 'UTC';
SET datestyle = 'ISO';
CREATE SCHEMA plan_counter;
SET search_path = plan_counter, public;
CREATE TABLE visits (patient integer, at timestamp, ward text, cents integer);
CREATE VIEW visits_dp AS SELECT * FROM visits;
CREATE VIEW joined_dp AS SELECT * FROM visits;
CREATE VIEW life_dp AS SELECT * FROM visits;
CREATE VIEW vouched_dp AS SELECT * FROM visits;
SELECT dp_budget_create('yearly', 10000, per => '365 days'), dp_budget_create('daily', 10, per => '1 day'), dp_budget_create('life', 10);
SELECT dp_source_create('visits_dp', 'yearly', 'patient', 'at', 'UTC'), dp_source_create('joined_dp', 'daily', 'patient', 'at', 'UTC',
    window_wise => true),
       dp_source_create('life_dp', 'life', 'patient', 'at', 'UTC'), dp_source_create('vouched_dp', 'life', 'patient', 'at', 'UTC',
           person_wise => true);

-- before anything is spent
BEGIN;
SELECT dp_counter_create('visits_by_week', 'visits_dp', 0.5, '1 week', '2300-01-01', per_person => 12, by => 'ward', groups => '{a,b,c}');
\x
SELECT number, periods, round(stddev::numeric, 3) AS stddev, half_width, groups, sensitivity, epsilon, remaining, per, guarantee
    FROM dp_counter_plan('visits_by_week') LIMIT 1;
\x
SELECT number, periods, round(stddev::numeric, 3) AS stddev, half_width FROM dp_counter_plan('visits_by_week');
ROLLBACK;
SELECT budget, remaining FROM dp_budgets WHERE budget = 'yearly'::regclass;
SELECT dp_counter_plan('visits_by_week');

-- cumulative follows the budget; k and mechanism are for totals alone
SELECT dp_counter_create(name, 'visits_dp', 0.5, '7 days', '2300-01-01', per_person => per_person, cumulative => cumulative,
    horizon => horizon, sum => sum, upper => upper, persons => persons, by => by, groups => CASE WHEN by IS NOT NULL THEN '{a,b}'::text[]
    END)
FROM (VALUES ('flow', 12, NULL::boolean, NULL::bigint, NULL, NULL::bigint, false, NULL),
    ('sums', 12, NULL, 20, 'cents', 5, false, 'ward'), ('total', 12, true, NULL, NULL, NULL, false, NULL),
    ('total_730', 3, true, 730, NULL, NULL, false, NULL), ('total_1', 1, true, 1, NULL, NULL, false, NULL),
      ('persons', NULL, NULL, NULL, NULL, NULL, true, NULL), ('persons_by_ward', NULL, NULL, NULL, NULL, NULL, true, 'ward'),
          ('persons_12', 12, NULL, NULL, NULL, NULL, true, NULL), ('persons_total', NULL, true, NULL, NULL, NULL, true, NULL)) AS c (name,
          per_person, cumulative, horizon, sum, upper, persons, by);
SELECT dp_counter_create('joined', 'joined_dp', 0.1, '1 day', '2300-01-01', per_person => 3),
    dp_counter_create('alive', 'life_dp', 0.5, '1 day', '2300-01-01', per_person => 2),
       dp_counter_create('alive_flow', 'life_dp', 0.3, '1 day', '2300-01-01', cumulative => false, sum => 'cents', upper => 7,
           per_person => 1), dp_counter_create('vouched', 'vouched_dp', 0.5, '1 day', '2300-01-01', horizon => 30, persons => true,
           by => 'ward', groups => '{a}'),
       dp_event_counter_create('fed', 1.5);
CREATE TABLE own AS SELECT unnest(ARRAY['flow', 'sums', 'total', 'total_730', 'total_1', 'persons', 'persons_by_ward', 'persons_12',
    'persons_total', 'joined', 'alive', 'alive_flow', 'vouched', 'fed']::regclass[]) AS counter;
SELECT counter, cumulative, measure, sensitivity, per_person, per, horizon, mechanism IS NOT NULL AS has_mechanism, k IS NULL AS no_k
    FROM dp_counters NATURAL JOIN own ORDER BY counter::text COLLATE "C";
SELECT DISTINCT obj_description(counter) = concat_ws(' ', guarantee, kept) AS same FROM own, dp_counter_plan(counter);
-- each sentence once, with those that say it
SELECT sentence, string_agg(counter::text, ' ' ORDER BY counter::text COLLATE "C") AS counters
FROM own, regexp_split_to_table(obj_description(counter), '(?<=\.) (?=[A-Z])') WITH ORDINALITY AS s (sentence, place)
GROUP BY sentence ORDER BY min(place), sentence COLLATE "C";
SELECT attname, col_description(counter, attnum) AS says, string_agg(counter::text, ' ' ORDER BY counter::text COLLATE "C") AS counters
FROM own, pg_attribute WHERE attrelid = counter AND attnum > 0
GROUP BY attname, says ORDER BY min(attnum), attname, min(counter::text COLLATE "C");
-- the owner of a source vouches for more while it has counters: they say so, except where the owner has written another COMMENT
COMMENT ON VIEW total IS 'mine';
SELECT dp_source_create('visits_dp', 'yearly', 'patient', 'at', window_wise => true);
SELECT counter, obj_description(counter) = 'mine' AS own,
    obj_description(counter) LIKE '%vouches that it is window-wise. A row without a time%at 0.5 times%' AS vouched FROM own
    JOIN dp_counters USING (counter) WHERE source = 'visits_dp'::regclass ORDER BY counter::text COLLATE "C";
-- all lines are what dp_stddev and dp_interval say
SELECT counter, p.number, p.periods, p.epsilon, p.remaining,
       abs(p.stddev - dp_stddev(step, c.horizon, c.epsilon::float8, c.k, c.mechanism, c.sensitivity, t.since)) < 1e-9
           AND 2 * p.half_width + 1 = upper(i) - lower(i) AS right
FROM own JOIN dp_counters AS c USING (counter), dp_counter_plan(counter) WITH ORDINALITY AS p,
    LATERAL (SELECT CASE WHEN NOT c.cumulative THEN p.periods WHEN p.number ~ 'total' THEN p.periods ELSE coalesce(c.horizon, 1000)
    END AS step) AS s,
     LATERAL (SELECT CASE WHEN p.number ~ '^last .*of' THEN step - p.periods ELSE 0 END AS since) AS t,
         dp_interval(0, step, c.horizon, c.epsilon::float8, 0.95, c.k, c.mechanism, c.sensitivity, t.since) AS i
WHERE counter IN ('flow'::regclass, 'sums'::regclass, 'total'::regclass, 'total_730'::regclass, 'total_1'::regclass, 'joined'::regclass,
    'fed'::regclass)
ORDER BY counter::text COLLATE "C", p.ordinality;
-- costs are rounded up, to two digits where they are fractions
DO $$
DECLARE
    epsilon numeric; per_person integer; cost numeric; truth numeric;
BEGIN
    FOR epsilon, per_person IN VALUES (0.5, 1), (0.3, 7), (0.01, 1000000), (3, 2), (1000, 3), (999, 7), (0.123456789, 3), (1e-9, 6) LOOP
        BEGIN
            PERFORM dp_counter_create('tried', 'visits_dp', epsilon, '7 days', '2300-01-01', per_person => per_person);
            cost := substring(obj_description('tried'::regclass) FROM 'costs at most ([0-9.]+),');
            RAISE EXCEPTION USING ERRCODE = 'DP000';
        EXCEPTION WHEN SQLSTATE 'DP000' OR configuration_limit_exceeded THEN NULL;
        END;
        truth := 2 * epsilon / per_person;
        IF cost IS NULL OR cost < truth OR cost > greatest(truth * 1.1, ceil(truth))
            OR (truth < 1 AND length(rtrim(ltrim(cost::text, '0.'), '0')) > 2 AND per_person > 1) THEN
            RAISE 'epsilon %, per_person %: %', epsilon, per_person, cost;
        END IF;
    END LOOP;
END $$;

-- who may read the counter; what remains only for who may read the budget
CREATE ROLE plan_reader;
GRANT USAGE ON SCHEMA plan_counter TO plan_reader;
SET ROLE plan_reader;
SELECT * FROM dp_counter_plan('flow');
RESET ROLE;
GRANT SELECT ON flow TO plan_reader;
SET ROLE plan_reader;
SELECT number, epsilon, remaining, per FROM dp_counter_plan('flow') LIMIT 1;
RESET ROLE;
GRANT SELECT ON yearly TO plan_reader;
SET ROLE plan_reader;
SELECT number, epsilon, remaining, per FROM dp_counter_plan('flow') LIMIT 1;
SELECT dp_counter_plan('visits_dp');
SELECT dp_counter_plan(NULL);
RESET ROLE;
-- who may create functions in the extension's schema makes some that differ in one type, or have fewer arguments: they are not called
BEGIN;
DO $$
DECLARE
    f record; i integer; other text;
BEGIN
    FOR f IN SELECT oid, proname, pronamespace::regnamespace AS schema, prorettype::regtype AS result,
        ARRAY(SELECT a::regtype::text FROM unnest(proargtypes) WITH ORDINALITY AS t (a, n) ORDER BY n) AS types FROM pg_proc
             WHERE oid IN (SELECT objid FROM pg_depend WHERE classid = 'pg_proc'::regclass AND deptype = 'e')
                 AND proname IN ('dp_stddev', 'dp_interval', 'dp_avg', 'dp_avg_interval') LOOP
        FOR i IN SELECT generate_subscripts(f.types, 1) LOOP
            FOREACH other IN ARRAY ARRAY['smallint', 'integer', 'bigint', 'real', 'double precision', 'numeric', 'text', ''] LOOP
                CONTINUE WHEN other = f.types[i];
                EXECUTE format('CREATE FUNCTION %s.%I(%s) RETURNS %s LANGUAGE plpgsql AS $f$ BEGIN RAISE EXCEPTION ''hijacked''; END $f$',
                    f.schema, f.proname,
                               array_to_string(CASE WHEN other = '' THEN f.types[:i - 1] ELSE f.types[:i - 1] || other || f.types[i + 1:]
                                   END, ', '), f.result);
            END LOOP;
        END LOOP;
    END LOOP;
END $$;
SAVEPOINT s;
SELECT dp_stddev(1::bigint, 1::bigint, 1.0::float8, 2, NULL::text, 1::bigint, 0); -- as one is here, for its last argument
ROLLBACK TO s;
SELECT dp_counter_create('late', 'visits_dp', 0.5, '1 week', '2300-01-01', avg => 'cents', upper => 5, per_person => 1);
SELECT counter, count(*) FROM own, dp_counter_plan(counter) GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM own, dp_counter_changes(counter, 1);
SELECT count(*) FROM late, dp_counter_plan('late'), dp_counter_changes('late', 1);
ROLLBACK;
SELECT dp_counter_create('wrong', 'visits_dp', 0.5, '7 days', '2300-01-01', k => 2, per_person => 1);
SELECT dp_counter_create('wrong', 'visits_dp', 0.5, '7 days', '2300-01-01', mechanism => 'hat', per_person => 1);
SELECT dp_counter_create('wrong', 'life_dp', 0.5, '7 days', '2300-01-01', cumulative => false, mechanism => 'laplace', per_person => 1);
SELECT dp_counter_create('wrong', 'life_dp', 0.5, '7 days', '2300-01-01', mechanism => 'laplace', per_person => 1);
SELECT dp_counter_create('wrong', 'visits_dp', 0.5, '7 days', '2300-01-01', horizon => 10000001, per_person => 1);
SELECT dp_counter_create('wrong', 'life_dp', 0.5, '7 days', '2300-01-01', persons => true);
SELECT dp_counter_create('wrong', 'life_dp', 0.5, '7 days', '2300-01-01', persons => true, sum => 'cents', upper => 5);
SELECT dp_counter_drop(counter) FROM own;
SELECT dp_source_drop(source) FROM unnest(ARRAY['visits_dp', 'joined_dp', 'life_dp', 'vouched_dp']::regclass[]) AS source;
SELECT dp_budget_drop(budget) FROM unnest(ARRAY['yearly', 'daily', 'life']::regclass[]) AS budget;
DROP OWNED BY plan_reader;
DROP ROLE plan_reader;
DROP SCHEMA plan_counter CASCADE;
