-- A snapshot of the objects of counters: what there is, who owns it and who may use it.
BEGIN;
SET LOCAL client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS dp_counter;
RESET client_min_messages;
SELECT plan(25);

CREATE TEMP VIEW members AS
    SELECT classid, objid FROM pg_depend
    WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
          AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'dp_counter');
CREATE TEMP VIEW functions AS
    SELECT p.* FROM pg_proc p JOIN members ON classid = 'pg_proc'::regclass AND objid = p.oid
        WHERE (proname LIKE 'dp\_counter%' OR proname LIKE 'dp\_event%' OR proname LIKE 'dp\_budget%' OR proname LIKE 'dp\_source%'
        OR proname LIKE 'dp\_tick') AND proname NOT IN ('dp_counter_changes', 'dp_counter_quantiles', 'dp_counter_plan');
CREATE TEMP VIEW relations AS
    SELECT c.* FROM pg_class c JOIN members ON classid = 'pg_class'::regclass AND objid = c.oid;

SELECT set_eq(
    $$ SELECT oid::regprocedure::text, prokind::text, prorettype::regtype::text,
              regexp_replace(pg_get_function_arguments(oid), '(^|, )IN ', '\1', 'g') FROM functions $$, -- 13 leaves IN out
    $$ VALUES
        ('dp_budget_create(text,numeric,interval,regclass,timestamp without time zone,timestamp without time zone,numeric,bigint)', 'f',
            'regclass', 'name text, epsilon numeric, per interval DEFAULT NULL::interval, within regclass DEFAULT NULL::regclass, since timestamp without time zone DEFAULT NULL::timestamp without time zone, until timestamp without time zone DEFAULT NULL::timestamp without time zone, least_epsilon numeric DEFAULT NULL::numeric, most_cells bigint DEFAULT NULL::bigint'),
        ('dp_budget_spend(regclass,numeric,text,timestamp without time zone,timestamp without time zone)', 'p', 'void',
         'budget regclass, epsilon numeric, purpose text, since timestamp without time zone DEFAULT NULL::timestamp without time zone, until timestamp without time zone DEFAULT NULL::timestamp without time zone'),
        ('dp_budget_drop(regclass)', 'f', 'void', 'budget regclass'),
        ('dp_budget_left(regclass,timestamp without time zone,timestamp without time zone)', 'f', 'numeric',
            'budget regclass, since timestamp without time zone DEFAULT NULL::timestamp without time zone, until timestamp without time zone DEFAULT NULL::timestamp without time zone'),
        ('dp_counter_create(text,regclass,numeric,interval,timestamp without time zone,bigint,text,integer,boolean,interval,text,text,text,bigint,bigint,text,bigint[],text,text[],regclass,text,text,interval,boolean,integer,text,regclass,regclass,boolean)', 'f', 'regclass',
         'name text DEFAULT NULL::text, source regclass DEFAULT NULL::regclass, epsilon numeric DEFAULT NULL::numeric, every interval DEFAULT NULL::interval, '
         || 'since timestamp without time zone DEFAULT NULL::timestamp without time zone, horizon bigint DEFAULT NULL::bigint, event text DEFAULT NULL::text, per_person integer DEFAULT NULL::integer, '
         || 'persons boolean DEFAULT false, active interval DEFAULT NULL::interval, sum text DEFAULT NULL::text, avg text DEFAULT NULL::text, share text DEFAULT NULL::text, '
         || 'lower bigint DEFAULT NULL::bigint, upper bigint DEFAULT NULL::bigint, histogram text DEFAULT NULL::text, bins bigint[] DEFAULT NULL::bigint[], by text DEFAULT NULL::text, groups text[] DEFAULT NULL::text[], '
         || 'groups_from regclass DEFAULT NULL::regclass, groups_column text DEFAULT NULL::text, others text DEFAULT NULL::text, grace interval DEFAULT NULL::interval, cumulative boolean DEFAULT NULL::boolean, k integer DEFAULT NULL::integer, mechanism text DEFAULT NULL::text, budget regclass DEFAULT NULL::regclass, continues regclass DEFAULT NULL::regclass, same_persons boolean DEFAULT false'),
        ('dp_event_counter_create(text,numeric,bigint,interval,integer,text)', 'f', 'regclass',
         'name text, epsilon numeric, horizon bigint DEFAULT NULL::bigint, every interval DEFAULT NULL::interval, k integer DEFAULT NULL::integer, mechanism text DEFAULT NULL::text'),
        ('dp_source_create(regclass,regclass,text,text,text,boolean,boolean,text[],boolean)', 'f', 'void',
         'source regclass, budget regclass, person text, at text, time_zone text DEFAULT NULL::text, person_wise boolean DEFAULT false, window_wise boolean DEFAULT false, '
         || 'never_fails text[] DEFAULT NULL::text[], same_persons boolean DEFAULT false'),
        ('dp_source_drop(regclass)', 'f', 'void', 'source regclass'),
        ('dp_tick(regclass)', 'p', 'void', 'what regclass DEFAULT NULL::regclass'),
        ('dp_source_contributions(regclass,text,numeric,text,integer,timestamp without time zone,timestamp without time zone)', 'p', 'void',
         'source regclass, name text, epsilon numeric, event text DEFAULT NULL::text, most integer DEFAULT 20, '
         || 'since timestamp without time zone DEFAULT NULL::timestamp without time zone, until timestamp without time zone DEFAULT NULL::timestamp without time zone'),
        ('dp_source_suggest(regclass,text,numeric,double precision,interval,text,text,text,integer,integer,timestamp without time zone,timestamp without time zone)', 'p', 'void',
         'source regclass, name text, epsilon numeric, plan_epsilon double precision, every interval, event text DEFAULT NULL::text, sum text DEFAULT NULL::text, avg text DEFAULT NULL::text, per_person integer DEFAULT NULL::integer, groups integer DEFAULT 1, '
         || 'since timestamp without time zone DEFAULT NULL::timestamp without time zone, until timestamp without time zone DEFAULT NULL::timestamp without time zone'),
        ('dp_source_groups(regclass,text,numeric,text,integer,text,timestamp without time zone,timestamp without time zone,regclass,text)', 'p', 'void',
         'source regclass, name text, epsilon numeric, by text, most integer DEFAULT 4, event text DEFAULT NULL::text, '
         || 'since timestamp without time zone DEFAULT NULL::timestamp without time zone, until timestamp without time zone DEFAULT NULL::timestamp without time zone, '
         || 'groups_from regclass DEFAULT NULL::regclass, groups_column text DEFAULT NULL::text'),
        ('dp_counter_record(regclass,integer)', 'f', 'void', 'counter regclass, events integer DEFAULT 1'),
        ('dp_counter_record()', 'f', 'trigger', ''),
        ('dp_counter_add_groups(regclass,text[],regclass,text)', 'f', 'void',
            'counter regclass, groups text[] DEFAULT NULL::text[], groups_from regclass DEFAULT NULL::regclass, groups_column text DEFAULT NULL::text'),
        ('dp_counter_drop_groups(regclass,text[])', 'f', 'void', 'counter regclass, groups text[]'),
        ('dp_counter_drop(regclass)', 'f', 'void', 'counter regclass'),
        ('dp_counter_end(regclass)', 'f', 'void', 'counter regclass'),
        ('dp_counter_resume(regclass)', 'f', 'void', 'counter regclass'),
        ('dp_counter_private.dp_counter_dropped()', 'f', 'event_trigger', ''),
        ('dp_counter_private.dp_counter_drop_owned()', 'f', 'event_trigger', ''),
        ('dp_counter_private.dp_counter_replaced()', 'f', 'event_trigger', '') $$,
    'the functions and the procedures');
SELECT is_empty('SELECT oid::regprocedure FROM functions WHERE prosecdef', 'none is SECURITY DEFINER');
SELECT is_empty('SELECT oid::regprocedure FROM functions WHERE proconfig IS NOT NULL',
    'none changes a setting: the procedure could not commit');
SELECT is_empty('SELECT oid::regprocedure FROM functions WHERE proacl IS NOT NULL', 'PUBLIC may call them: privileges on the views decide');
SELECT is_empty('SELECT oid::regprocedure FROM functions WHERE proname <> ''dp_budget_left'' AND (provolatile <> ''v'' OR proparallel <> ''u'') OR proleakproof OR proisstrict',
                'all but one, which reads, are VOLATILE and PARALLEL UNSAFE, none LEAKPROOF or STRICT');
SELECT is_empty('SELECT oid::regprocedure FROM functions WHERE length(obj_description(oid, ''pg_proc'')) >= 40 IS NOT TRUE',
    'every one has a comment');
SELECT is_empty('SELECT oid::regprocedure FROM functions WHERE probin <> ''$libdir/dp_counter'' OR prolang <> (SELECT oid FROM pg_language WHERE lanname = ''c'')',
                'all of it is in $libdir/dp_counter');

SELECT set_eq('SELECT oid::regclass::text, relkind::text FROM relations',
              $$ VALUES ('dp_counter_private.budgets', 'r'), ('dp_counter_private.dropped_budgets', 'r'),
                  ('dp_counter_private.budget_entries', 'r'), ('dp_counter_private.window_key', 'r'),
                  ('dp_counter_private.spendings', 'v'),
                        ('dp_budgets', 'v'), ('dp_counter_private.counters', 'r'), ('dp_counter_private.events', 'r'),
                            ('dp_counter_private.streams', 'r'), ('dp_counter_private.groups', 'r'), ('dp_counter_private.sources', 'r'),
                            ('dp_counter_private.contributions', 'r'), ('dp_counter_private.source_counters', 'r'),
                        ('dp_counter_private.tallies', 'r'), ('dp_sources', 'v'), ('dp_source_history', 'v'),
                            ('dp_counter_private.source_history', 'r'), ('dp_counter_private.publications', 'r'),
                            ('dp_counter_private.releases', 'r'),
                        ('dp_counter_private.counters_number_seq', 'S'), ('dp_counter_private.published', 'v'), ('dp_counters', 'v') $$,
              'tables, a sequence and views');
SELECT is_empty('SELECT relname FROM relations WHERE relowner <> (SELECT extowner FROM pg_extension WHERE extname = ''dp_counter'')',
                'the owner of the extension owns them');
SELECT is_empty('SELECT relname FROM relations WHERE relkind IN (''r'', ''S'') AND EXISTS (SELECT FROM aclexplode(relacl) WHERE grantee <> relowner)',
                'nobody else has a privilege on the tables');
SELECT is_empty('SELECT attname FROM pg_attribute WHERE attrelid IN (SELECT oid FROM relations) AND attacl IS NOT NULL', 'nor on a column');
SELECT is_empty('SELECT relname FROM relations WHERE relkind = ''r'' AND NOT relrowsecurity', 'row security is on');
SELECT is_empty('SELECT polname FROM pg_policy WHERE polrelid IN (SELECT oid FROM relations)', 'and there is no policy');
SELECT is_empty($$ SELECT nspname FROM pg_namespace WHERE nspname = 'dp_counter_private'
                   AND EXISTS (SELECT FROM aclexplode(nspacl) WHERE grantee <> nspowner) $$, 'nobody else may use the schema');
SELECT bag_eq($$ SELECT relname, grantee, privilege_type FROM relations, aclexplode(relacl) WHERE relkind = 'v' AND grantee <> relowner $$,
              $$ VALUES ('dp_counters'::name, 0::oid, 'SELECT'), ('dp_budgets', 0, 'SELECT'), ('dp_sources', 0, 'SELECT'),
                  ('dp_source_history', 0, 'SELECT'), ('published', 0, 'SELECT'), ('spendings', 0, 'SELECT') $$,
                  'PUBLIC may read the views, and no more');
SELECT is_empty($$ SELECT relname FROM relations WHERE relkind = 'v' AND reloptions::text IS DISTINCT FROM '{security_barrier=true}' $$,
    'which are security barriers');
SELECT is_empty($$ SELECT relname FROM relations WHERE relkind = 'v' AND pg_relation_is_updatable(oid, true) <> 0 $$, 'and not updatable');
SELECT set_eq($$ SELECT c.relname FROM pg_depend d JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
    JOIN pg_class c ON c.oid = r.ev_class
                 WHERE d.refobjid = 'dp_counter_private.releases'::regclass AND d.deptype = 'n' $$, ARRAY['published'::name],
                     'the table of releases is behind one of them');
SELECT is_empty('SELECT tgname FROM pg_trigger WHERE tgrelid IN (SELECT oid FROM relations)', 'no trigger is on any of them');
SELECT FROM dp_budget_create('a_budget', 1);
SELECT set_eq('SELECT unnest(extconfig)::regclass::text FROM pg_extension WHERE extname = ''dp_counter''',
              $$ SELECT oid::regclass::text FROM relations WHERE relkind IN ('r', 'S') $$,
                  'pg_dump keeps the rows of the tables once there are any');
SELECT is((SELECT attstorage::text FROM pg_attribute WHERE attrelid = 'dp_counter_private.streams'::regclass AND attname = 'state'), 'p',
          'the state is never compressed, as its length would depend on it, nor in a TOAST table, which pg_read_all_data may read');
SELECT set_eq($$ SELECT relname || '.' || attname FROM pg_attribute JOIN relations r ON r.oid = attrelid WHERE attnum > 0
    AND attstattarget = 0 $$,
              ARRAY['source_counters.key', 'window_key.key', 'tallies.used', 'tallies.number', 'tallies.own_window', 'tallies.digest',
                  'tallies.stream', 'streams.head', 'streams.state', 'streams.total', 'streams.carries', 'streams.tail',
                  'events.head', 'events.total', 'events.carries', 'events.tail',
                    'releases.number', 'releases.step', 'releases.stream', 'releases.bin', 'releases.period', 'releases.released_at',
                        'releases.count', 'releases.stddev', 'releases.low', 'releases.high',
                    'releases.below', 'releases.share_low', 'releases.share_high'],
              'ANALYZE leaves the secret columns alone');
SELECT is_empty($$ SELECT relname FROM relations WHERE obj_description(oid, 'pg_class') IS NULL $$, 'every relation has a comment');
SELECT set_eq($$ SELECT evtname::text, evtevent::text, evtenabled::text, evtfoid::regproc::text FROM pg_event_trigger
    JOIN members ON objid = oid AND classid = 'pg_event_trigger'::regclass $$,
              $$ VALUES ('dp_counter_dropped', 'sql_drop', 'A', 'dp_counter_private.dp_counter_dropped'),
                  ('dp_counter_drop_owned', 'ddl_command_start', 'A', 'dp_counter_private.dp_counter_drop_owned'),
                  ('dp_counter_replaced', 'ddl_command_end', 'A', 'dp_counter_private.dp_counter_replaced') $$,
              'the event triggers, which fire in a replica''s session too');
SELECT is(evttags, '{ALTER EXTENSION,ALTER TABLE,ALTER VIEW,CREATE RULE,CREATE VIEW}', 'one of them for the commands that change a view, or add members to an extension')
    FROM pg_event_trigger WHERE evtname = 'dp_counter_replaced';

SELECT * FROM finish();
ROLLBACK;
