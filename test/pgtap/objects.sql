-- A snapshot of every object of the extension: what there is, and what each may do.
BEGIN;
SET LOCAL client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS dp_counter;
RESET client_min_messages;
SELECT plan(26);

CREATE TEMP VIEW members AS
    SELECT classid, objid, objsubid FROM pg_depend
    WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
          AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'dp_counter');
CREATE TEMP VIEW functions AS
    SELECT p.*, proname || '(' || coalesce((SELECT string_agg(format_type(a, NULL), ', ' ORDER BY i)
                                             FROM unnest(proargtypes::oid[]) WITH ORDINALITY u (a, i)), '') || ')' AS signature
    FROM pg_proc p JOIN members ON classid = 'pg_proc'::regclass AND objid = p.oid;

SELECT has_extension('dp_counter');
SELECT is((SELECT extversion FROM pg_extension WHERE extname = 'dp_counter'),
          (SELECT default_version FROM pg_available_extensions WHERE name = 'dp_counter'), 'the default version is installed');

SELECT set_eq(
    'SELECT signature, prokind::text, prorettype::regtype::text FROM functions',
    $$ VALUES
        ('dp_running_count(boolean, double precision, integer, text, bigint)', 'w', 'bigint'),
        ('dp_running_count(bit, double precision, integer, text, bigint)', 'w', 'bigint'),
        ('dp_running_count(double precision, double precision, integer, text, bigint)', 'w', 'bigint'),
        ('dp_running_count("any")', 'w', 'bigint'),
        ('dp_running_sum("any", "any")', 'w', 'bigint'),
        ('dp_laplace("any", "any")', 'f', 'bigint'),
        ('dp_count()', 'a', 'bigint'),
        ('dp_count("any")', 'a', 'bigint'),
        ('dp_sum("any")', 'a', 'bigint'), ('dp_median("any")', 'a', 'bigint'), ('dp_quantile("any")', 'a', 'bigint'),
            ('dp_percentile("any")', 'a', 'bigint'),
        ('dp_count_mistake(bigint)', 'f', 'bigint'),
        ('dp_count_mistake(bigint, "any")', 'f', 'bigint'),
        ('dp_running_count(text, double precision, integer, text, bigint)', 'w', 'bigint'),
        ('dp_running_count(boolean, double precision, integer, bigint)', 'a', 'bigint'),
        ('dp_running_sum(bigint, double precision, bigint, bigint, integer, text)', 'w', 'bigint'),
        ('dp_laplace(bigint, double precision, bigint)', 'f', 'bigint'),
        ('dp_laplace_support(internal)', 'f', 'internal'),
        ('dp_monotone(bigint)', 'w', 'double precision'),
        ('dp_running_count_transition(internal, boolean, double precision, integer, bigint)', 'f', 'internal'),
        ('dp_running_count_final(internal)', 'f', 'bigint'),
        ('dp_running_count_support(internal)', 'f', 'internal'),
        ('dp_count(boolean, double precision)', 'a', 'bigint'),
        ('dp_count_transition(internal, boolean, double precision)', 'f', 'internal'),
        ('dp_count_final(internal)', 'f', 'bigint'),
        ('dp_repair()', 'f', 'bigint'),
        ('kept_in_dumps()', 'f', 'boolean'),
        ('group_name(bigint, integer)', 'f', 'text'),
        ('face(dp_counter_private.view_name, bigint)', 'f', 'regclass'),
        ('view_name_in(cstring)', 'f', 'dp_counter_private.view_name'),
        ('view_name_out(dp_counter_private.view_name)', 'f', 'cstring'),
        ('dp_plan(bigint, double precision, integer, text, bigint)', 'f', 'record'),
        ('dp_compare(bigint, double precision, double precision, bigint, bigint)', 'f', 'record'),
        ('dp_stddev(bigint, bigint, double precision, integer, text, bigint, bigint)', 'f', 'double precision'),
        ('dp_interval(bigint, bigint, bigint, double precision, double precision, integer, text, bigint, bigint, int8range)', 'f',
            'int8range'),
        ('dp_avg(bigint, bigint, bigint, bigint)', 'f', 'double precision'),
        ('dp_avg_interval(bigint, bigint, bigint, bigint, double precision, bigint, bigint, double precision, integer, text, bigint, bigint)', 'f', 'numrange'),
        ('dp_budget_create(text, numeric, interval, regclass, timestamp without time zone, timestamp without time zone, numeric, bigint)',
            'f', 'regclass'),
        ('dp_budget_spend(regclass, numeric, text, timestamp without time zone, timestamp without time zone)', 'p', 'void'),
        ('dp_own_window(regclass, "any", "any")', 'f', 'bigint'),
        ('dp_budget_drop(regclass)', 'f', 'void'),
        ('dp_budget_left(regclass, timestamp without time zone, timestamp without time zone)', 'f', 'numeric'),
        ('dp_promise(regclass)', 'f', 'text'),
        ('dp_counter_create(text, regclass, numeric, interval, timestamp without time zone, bigint, text, integer, boolean, interval, text, text, text, bigint, bigint, text, bigint[], text, text[], regclass, text, text, interval, boolean, integer, text, regclass, regclass, boolean)', 'f', 'regclass'),
        ('dp_event_counter_create(text, numeric, bigint, interval, integer, text)', 'f', 'regclass'),
        ('dp_source_create(regclass, regclass, text, text, text, boolean, boolean, text[], boolean)', 'f', 'void'),
        ('dp_source_drop(regclass)', 'f', 'void'),
        ('dp_tick(regclass)', 'p', 'void'),
        ('most_spent(timestamp without time zone[], timestamp without time zone[], timestamp without time zone[], timestamp without time zone[], numeric[], interval, timestamp without time zone, timestamp without time zone)', 'f', 'numeric'),
        ('next_step(bigint, bigint, interval, timestamp with time zone, oid, text, timestamp without time zone, interval, timestamp with time zone)', 'f', 'record'),
        ('dp_source_contributions(regclass, text, numeric, text, integer, timestamp without time zone, timestamp without time zone)', 'p',
            'void'),
        ('dp_source_suggest(regclass, text, numeric, double precision, interval, text, text, text, integer, integer, timestamp without time zone, timestamp without time zone)', 'p', 'void'),
        ('dp_source_groups(regclass, text, numeric, text, integer, text, timestamp without time zone, timestamp without time zone, regclass, text)', 'p', 'void'),
        ('dp_counter_changes(regclass, bigint, timestamp without time zone, timestamp without time zone)', 'f', 'record'),
        ('dp_counter_quantiles(regclass, numeric[], bigint, timestamp without time zone, timestamp without time zone)', 'f', 'record'),
        ('dp_counter_record(regclass, integer)', 'f', 'void'),
        ('dp_counter_record()', 'f', 'trigger'),
        ('dp_counter_add_groups(regclass, text[], regclass, text)', 'f', 'void'),
        ('dp_counter_drop_groups(regclass, text[])', 'f', 'void'),
        ('dp_counter_plan(regclass)', 'f', 'record'),
        ('dp_counter_plan(text, regclass, numeric, interval, timestamp without time zone, bigint, text, integer, boolean, interval, text, text, text, bigint, bigint, text, bigint[], text, text[], regclass, text, text, interval, boolean, integer, text, regclass, regclass, boolean)', 'f', 'record'),
        ('dp_counter_drop(regclass)', 'f', 'void'),
        ('dp_counter_end(regclass)', 'f', 'void'),
        ('dp_counter_resume(regclass)', 'f', 'void'),
        ('dp_counter_dropped()', 'f', 'event_trigger'),
        ('dp_counter_drop_owned()', 'f', 'event_trigger'), ('dp_counter_replaced()', 'f', 'event_trigger') $$,
    'the functions, their kinds and results');
SELECT set_eq(
    $$ SELECT (pg_identify_object(classid, objid, objsubid)).type, (pg_identify_object(classid, objid, objsubid)).identity
       FROM members WHERE classid NOT IN ('pg_proc'::regclass, 'pg_type'::regclass) $$, -- from 17 on tables bring their types
    $$ VALUES ('schema', 'dp_counter_private'), ('table', 'dp_counter_private.counters'), ('table', 'dp_counter_private.events'),
        ('table', 'dp_counter_private.streams'), ('table', 'dp_counter_private.groups'), ('table', 'dp_counter_private.sources'),
        ('table', 'dp_counter_private.source_history'), ('table', 'dp_counter_private.contributions'),
        ('table', 'dp_counter_private.source_counters'), ('table', 'dp_counter_private.tallies'),
              ('view', (SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'dp_counter')
                  || '.dp_sources'), ('view', (SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace
                  WHERE extname = 'dp_counter') || '.dp_source_history'), ('table', 'dp_counter_private.publications'),
              ('table', 'dp_counter_private.releases'), ('view', 'dp_counter_private.published'),
              ('table', 'dp_counter_private.budgets'), ('table', 'dp_counter_private.dropped_budgets'),
                  ('table', 'dp_counter_private.budget_entries'), ('table', 'dp_counter_private.window_key'),
                  ('view', 'dp_counter_private.spendings'),
              ('view', (SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'dp_counter')
                  || '.dp_budgets'), ('sequence', 'dp_counter_private.counters_number_seq'),
              ('view', (SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'dp_counter')
                  || '.dp_counters'),
              ('event trigger', 'dp_counter_dropped'), ('event trigger', 'dp_counter_drop_owned'),
              ('event trigger', 'dp_counter_replaced'),
              ('cast', '(dp_counter_private.view_name AS pg_catalog.oid)') $$,
    'the other objects');
CREATE TEMP VIEW counting AS SELECT * FROM functions WHERE proname ~ '^dp_(running_)?(count|sum|laplace)(_transition|_final)?$';

-- documentation
SELECT is_empty('SELECT signature FROM functions WHERE length(obj_description(oid, ''pg_proc'')) >= 40 IS NOT TRUE',
    'every function has a comment');
SELECT is_empty('SELECT signature FROM functions WHERE (prokind IN (''a'', ''w'') OR proname = ''dp_laplace'') AND obj_description(oid, ''pg_proc'') NOT LIKE ''%-DP%''',
                'every counting function says what it guarantees');
SELECT isnt((SELECT comment FROM pg_available_extensions WHERE name = 'dp_counter'), NULL, 'the extension has a comment');

-- names and defaults: the window functions take named notation
SELECT set_eq(
    $$ SELECT signature, proargnames::text, pronargdefaults::integer,
        pg_get_function_arguments(oid) ~ 'DEFAULT NULL::integer.*DEFAULT NULL::text.*DEFAULT NULL::bigint|DEFAULT NULL::bigint.*DEFAULT NULL::integer.*DEFAULT NULL::text'
       FROM functions WHERE prokind = 'w' AND proname <> 'dp_monotone' AND signature !~ '"any"' $$,
    $$ VALUES
        ('dp_running_count(boolean, double precision, integer, text, bigint)', '{bit,epsilon,k,mechanism,horizon}', 3, true),
        ('dp_running_count(double precision, double precision, integer, text, bigint)', '{bit,epsilon,k,mechanism,horizon}', 3, true),
        ('dp_running_count(text, double precision, integer, text, bigint)', '{bit,epsilon,k,mechanism,horizon}', 3, true),
        ('dp_running_count(bit, double precision, integer, text, bigint)', '{bit,epsilon,k,mechanism,horizon}', 3, true),
        ('dp_running_sum(bigint, double precision, bigint, bigint, integer, text)', '{addend,epsilon,sensitivity,horizon,k,mechanism}', 3,
            true) $$,
    'named arguments and defaults of the window functions');
SELECT is_empty('SELECT signature FROM functions WHERE proname = ''dp_running_count'' AND prokind = ''a'' AND ''horizon'' = ANY (proargnames)',
                'the aggregates'' arguments have no such names: a call with named arguments reaches the window function');

-- ownership and privileges: whoever installs owns; no grant is needed or made
SELECT is_empty(
    'SELECT signature FROM functions WHERE proowner <> (SELECT extowner FROM pg_extension WHERE extname = ''dp_counter'')',
    'the owner of the extension owns its functions');
SELECT set_eq('SELECT signature FROM functions WHERE proacl IS NOT NULL', ARRAY['kept_in_dumps()'], 'PUBLIC may use them, by default');
SELECT is_empty('SELECT signature FROM functions WHERE (pronamespace = ''dp_counter_private''::regnamespace) <> (signature ~ ''internal|mistake|kept_in_dumps|most_spent|next_step|group_name|view_name|face'' OR prorettype = ''event_trigger''::regtype)',
                'what PostgreSQL and our views alone call is in the private schema, and nothing else is');
SELECT is_empty($$ SELECT proname FROM functions JOIN pg_aggregate ON aggfnoid = oid WHERE aggtransfn::text !~ 'mistake' GROUP BY proname
    HAVING count(*) > 1 $$,
                'one aggregate of a name that counts: two with different numbers of arguments invite mistakes (opr_sanity); all others are errors');
SELECT is_empty('SELECT signature FROM functions WHERE prosecdef', 'none is SECURITY DEFINER');
SELECT set_eq('SELECT signature FROM functions WHERE proconfig IS NOT NULL', $$
    VALUES ('dp_counter_changes(regclass, bigint, timestamp without time zone, timestamp without time zone)'),
           ('dp_counter_quantiles(regclass, numeric[], bigint, timestamp without time zone, timestamp without time zone)'),
               ('dp_counter_plan(regclass)'),
           ('dp_counter_plan(text, regclass, numeric, interval, timestamp without time zone, bigint, text, integer, boolean, interval, text, text, text, bigint, bigint, text, bigint[], text, text[], regclass, text, text, interval, boolean, integer, text, regclass, regclass, boolean)'), ('dp_promise(regclass)') $$, 'none changes a setting, but for those that run SQL');

-- what the planner may do
SELECT is_empty('SELECT signature FROM functions WHERE proleakproof', 'none is LEAKPROOF');
SELECT is_empty('SELECT signature FROM counting WHERE proisstrict', 'none is STRICT: a NULL bit is a step');
SELECT is_empty('SELECT signature FROM counting WHERE proparallel <> ''r''',
                'counts are PARALLEL RESTRICTED: a worker would see a part of the stream');
SELECT is_empty('SELECT signature FROM counting WHERE provolatile <> ''v''',
                'counts are VOLATILE, the aggregates too: the planner copies no call, and none is computed before the query');
SELECT is_empty($$ SELECT signature FROM functions
                   WHERE prosupport <> CASE WHEN prokind = 'w' AND signature !~ 'count.(double|text)|"any"'
                       THEN (SELECT oid FROM functions WHERE proname = 'dp_running_count_support')
                                              WHEN signature = 'dp_laplace(bigint, double precision, bigint)'
                                                  THEN (SELECT oid FROM functions WHERE proname = 'dp_laplace_support') ELSE 0 END $$,
                'the window functions have a support function, but for those that only refuse, and dp_laplace has one');
CREATE FUNCTION pg_temp.plan_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    plan text := '';
BEGIN
    FOR line IN EXECUTE 'EXPLAIN ' || query
    LOOP
        plan := plan || line || E'\n';
    END LOOP;
    RETURN plan;
END $$;
CREATE FUNCTION pg_temp.plan_up_to(call text) RETURNS text LANGUAGE sql AS $$
    SELECT pg_temp.plan_of(format('SELECT * FROM (SELECT %s OVER (ORDER BY t) AS n FROM generate_series(1, 9) t) s WHERE n <= 3', call))
$$;
SELECT unalike(pg_temp.plan_up_to('dp_running_count(true, 1.0)'), '%Run Condition%',
    'a window never ends at a count: noisy counts are not monotone');
SELECT alike(pg_temp.plan_up_to('row_number()'), '%Run Condition%', 'as it does at row_number()');
SELECT is((SELECT count(*)
    FROM regexp_matches(pg_temp.plan_of('SELECT dp_running_count(true, 1.0) OVER (ORDER BY t),
                                             dp_running_count(false, 1.0) OVER (ORDER BY t ROWS UNBOUNDED PRECEDING)
                                      FROM generate_series(1, 9) t'), 'WindowAgg', 'g'))::integer,
          CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 1 ELSE 2 END,
              'the default frame is made ROWS, from 16 on: the windows are one');
SELECT is_empty('SELECT signature FROM counting WHERE proretset', 'no count returns a set');

-- the aggregates: no way to combine, to move, to serialize or to change the state behind their back
SELECT is_empty(
    $$ SELECT aggfnoid FROM pg_aggregate JOIN functions f ON f.oid = aggfnoid
       WHERE aggtransfn::text !~ 'mistake' AND (aggcombinefn <> 0 OR aggserialfn <> 0 OR aggdeserialfn <> 0 OR aggmtransfn <> 0
           OR aggminvtransfn <> 0 OR aggmfinalfn <> 0
             OR aggsortop <> 0 OR aggtranstype <> 'internal'::regtype OR agginitval IS NOT NULL OR aggkind <> 'n'
                 OR aggfinalmodify <> 'r') $$,
    'the aggregates that count have a transition and a final function that only reads, and nothing else');

-- the C functions stand in the extension's library
SELECT is_empty('SELECT signature FROM functions WHERE prokind <> ''a'' AND (probin <> ''$libdir/dp_counter'' OR prolang <> (SELECT oid FROM pg_language WHERE lanname = ''c''))',
                'all of it is in $libdir/dp_counter');

SELECT * FROM finish();
ROLLBACK;
