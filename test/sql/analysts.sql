-- Counters of roles that do not own the source: who may declare them, what they are, and who may take them back.
SET client_min_messages = warning;
SET timezone = 'UTC';
SET datestyle = 'ISO';
CREATE ROLE analysts_steward;
CREATE ROLE analysts_ana;
CREATE ROLE analysts_eve;
CREATE ROLE analysts_clock;
CREATE SCHEMA analysts AUTHORIZATION analysts_steward;
CREATE SCHEMA counted;
GRANT USAGE ON SCHEMA analysts, counted TO PUBLIC;
SET search_path = counted, analysts, public;
CREATE TABLE analysts.visits (patient integer, at timestamp, flu boolean, region text, cents integer);
INSERT INTO visits SELECT n, timestamp '2024-01-01 12:00' + n % 2 * interval '1 day', n % 3 = 0, CASE WHEN n <= 4 THEN 'north'
    ELSE 'south' END, n FROM generate_series(1, 12) AS n;
GRANT SELECT ON visits TO analysts_steward;
SET ROLE analysts_steward;
CREATE VIEW analysts.visits_dp AS SELECT * FROM visits;
CREATE VIEW analysts.plain AS SELECT * FROM visits;
SELECT dp_budget_create('analysts.patients', 1e10), dp_budget_create('analysts.others', 1e10);
SELECT dp_budget_create('analysts.research', 5e9, within => 'patients');
SELECT dp_budget_create('analysts.flu_team', 1e9, within => 'research', least_epsilon => 1e8, most_cells => 1000);
SELECT dp_source_create('visits_dp', 'patients', 'patient', 'at', 'UTC');
RESET ROLE;

-- A declaration with the arguments that matter here; the error in one line.
CREATE FUNCTION counted.declare(name text, event text DEFAULT 'flu', by text DEFAULT NULL, sum text DEFAULT NULL,
    budget regclass DEFAULT 'analysts.research', epsilon numeric DEFAULT 1e8, source regclass DEFAULT 'analysts.visits_dp')
    RETURNS regclass LANGUAGE sql AS
    $$ SELECT dp_counter_create(name, source => source, epsilon => epsilon, horizon => 2, every => '1 day', since => '2024-01-01',
        event => event, by => by, groups => CASE WHEN by IS NOT NULL THEN '{north,south}'::text[] END, sum => sum, upper => CASE
        WHEN sum IS NOT NULL THEN 100 END, per_person => 3, budget => budget) $$;
CREATE FUNCTION counted.attempt(call text, role text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    message text; detail text; hint text;
BEGIN
    PERFORM set_config('role', role, true);
    EXECUTE 'SELECT ' || call;
    RAISE EXCEPTION USING ERRCODE = 'DP000';
EXCEPTION
    WHEN SQLSTATE 'DP000' THEN RETURN 'declared';
    WHEN OTHERS THEN GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
        RETURN concat_ws(E'\n    ', SQLSTATE || ' ' || message, 'DETAIL ' || nullif(detail, ''), 'HINT ' || nullif(hint, ''));
END $$;
-- What all counters, budgets and views are.
CREATE FUNCTION counted.state() RETURNS text LANGUAGE sql AS $$
    SELECT concat((SELECT count(*) FROM dp_counter_private.counters), ' ', (SELECT count(*) FROM dp_counter_private.source_counters), ' ',
        (SELECT count(*) FROM dp_counter_private.streams), ' ', (SELECT count(*) FROM dp_counter_private.publications), ' ',
                  (SELECT count(*) FROM dp_counter_private.budget_entries), ' ', (SELECT count(*) FROM pg_class WHERE relkind = 'v')) $$;
-- What others than the owner may do with a view.
CREATE FUNCTION counted.acl(view regclass) RETURNS TABLE (owner text, granted text) LANGUAGE sql AS
    $$ SELECT relowner::regrole, string_agg(format('%s %s by %s', grantee::regrole, privilege_type, grantor::regrole), ', '
        ORDER BY grantee::regrole::text COLLATE "C") FROM pg_class LEFT JOIN aclexplode(relacl) ON grantee <> relowner WHERE oid = view
        GROUP BY relowner $$;
CREATE TABLE counted.before AS SELECT state();

-- every combination of privileges: on columns, on the schema (of the analyst and of the steward), on the budget
CREATE TABLE counted.calls (number integer, call text);
INSERT INTO calls VALUES (1, 'declare(''c'')'), (2, 'declare(''c'', budget => NULL)'), (3, 'declare(''c'', by => ''region'')'),
    (4, 'declare(''c'', event => NULL)');
CREATE TABLE counted.outcomes AS
SELECT 0 AS number, ''::text AS columns, ''::text AS budget, ''::text AS creates, ''::text AS outcome LIMIT 0;
DO $$
DECLARE
    c record; columns text; budget text; creates text;
BEGIN
    FOREACH columns IN ARRAY ARRAY['', '(flu)', '(region)', '(flu, region)', 'all'] LOOP
        IF columns <> '' THEN
            EXECUTE format('GRANT REFERENCES %s ON visits_dp TO analysts_ana', nullif(columns, 'all'));
        END IF;
        FOREACH budget IN ARRAY ARRAY['', 'patients', 'research', 'flu_team'] LOOP
            IF budget <> '' THEN
                EXECUTE format('GRANT INSERT ON %I TO analysts_ana', budget);
            END IF;
            FOREACH creates IN ARRAY ARRAY['', 'analysts_ana', 'analysts_steward', 'analysts_ana, analysts_steward'] LOOP
                IF creates <> '' THEN
                    EXECUTE format('GRANT CREATE ON SCHEMA counted TO %s', creates);
                END IF;
                FOR c IN SELECT * FROM calls LOOP
                    INSERT INTO outcomes VALUES (c.number, columns, budget, creates, attempt(c.call, 'analysts_ana'));
                END LOOP;
                REVOKE CREATE ON SCHEMA counted FROM analysts_ana, analysts_steward;
            END LOOP;
            REVOKE INSERT ON patients, research, flu_team FROM analysts_ana;
        END LOOP;
        REVOKE REFERENCES ON visits_dp FROM analysts_ana;
        REVOKE REFERENCES (flu, region) ON visits_dp FROM analysts_ana;
    END LOOP;
END $$;
SELECT state = state() AS nothing_left FROM before;
\pset format unaligned
SELECT number, call, columns, budget, creates FROM outcomes JOIN calls USING (number) WHERE outcome = 'declared'
    ORDER BY number, columns COLLATE "C", budget COLLATE "C";
SELECT number, replace(outcome, E'\n    ', '; ') AS outcome, count(*), string_agg(DISTINCT columns COLLATE "C", ' ') AS columns,
    string_agg(DISTINCT budget COLLATE "C", ' ') AS budgets,
    string_agg(DISTINCT '<' || creates || '>' COLLATE "C", ' ') AS creates FROM outcomes WHERE outcome <> 'declared' GROUP BY 1, 2
    ORDER BY number, replace(outcome, E'\n    ', '; ') COLLATE "C";

-- a column that does not exist is as one that is not granted; so is a relation that is no source, or not even a view
GRANT REFERENCES (flu, region) ON visits_dp, plain TO analysts_ana;
GRANT INSERT ON research TO analysts_ana;
GRANT CREATE ON SCHEMA counted TO analysts_ana, analysts_steward;
SELECT concat_ws(E'\n    ', c, attempt(c, 'analysts_ana')) AS outcome FROM unnest(ARRAY[
    'declare(''c'', ''cents'')', 'declare(''c'', ''nothing'')', 'declare(''c'', ''ctid'')', 'declare(''c'', sum => ''cents'')',
        'declare(''c'', sum => ''nothing'')', 'declare(''c'', by => ''cents'')', 'declare(''c'', by => ''nothing'')',
    'dp_counter_create(''c'', ''visits_dp'', 1, avg => ''cents'', per_person => 1)',
        'dp_counter_create(''c'', ''visits_dp'', 1, share => ''nothing'', per_person => 1)',
        'dp_counter_create(''c'', ''visits'', 1, per_person => 1)', 'dp_counter_create(''c'', ''research'', 1, per_person => 1)',
        'dp_counter_create(''c'', ''pg_class'', 1, per_person => 1)',
    'dp_counter_create(''c'', 0, 1, per_person => 1)', 'dp_counter_create(''c'', NULL, 1, per_person => 1)',
        'declare(''c'', source => ''plain'', budget => ''others'')', 'declare(''c'', source => ''plain'', event => ''nothing'')',
    'declare(''c'', budget => ''others'')', 'declare(''c'', budget => ''visits_dp'')', 'declare(''c'', budget => 0)',
        'declare(''c'', ''region'')', 'declare(''c'', by => ''flu'')']) AS c;
GRANT INSERT ON others, visits_dp TO analysts_ana;
GRANT REFERENCES ON visits_dp TO analysts_eve;
GRANT INSERT ON research TO analysts_eve;
GRANT CREATE ON SCHEMA counted TO analysts_eve;
SELECT concat_ws(E'\n    ', r || ': ' || c, attempt(c, r)) AS outcome
    FROM (VALUES ('analysts_ana', 'declare(''c'', budget => ''others'')'), ('analysts_ana', 'declare(''c'', budget => ''visits_dp'')'),
    ('analysts_eve', 'declare(''c'', ''nothing'')'), ('analysts_eve', 'declare(''c'', ''ctid'')'),
        ('analysts_eve', 'declare(''c'', sum => ''region'')'), ('analysts_eve', 'declare(''c'', sum => ''cents'')'),
    ('analysts_steward', 'declare(''c'', ''nothing'')'), ('analysts_steward', 'declare(''c'', budget => ''others'')'),
        ('analysts_steward', 'declare(''c'', budget => ''flu_team'')'), ('analysts_steward', 'declare(''c'', budget => NULL)'),
        ('analysts_clock', 'declare(''c'')')) AS t (r, c);
REVOKE INSERT ON others, visits_dp FROM analysts_ana;
REVOKE ALL ON visits_dp, research FROM analysts_eve;
-- the steward who lost INSERT owns the budget still; one who does not own it needs INSERT
ALTER VIEW research OWNER TO analysts_clock;
SELECT attempt('declare(''c'')', 'analysts_steward');
GRANT INSERT ON research TO analysts_steward;
SELECT attempt('declare(''c'')', 'analysts_steward');
ALTER VIEW research OWNER TO analysts_steward;

-- the name: by the search path, with a schema, of something that exists, temporary, in a schema that only one may create in
CREATE SCHEMA analysts_own AUTHORIZATION analysts_ana;
CREATE TABLE counted."Taken" ();
SELECT concat_ws(E'\n    ', c, attempt(c, 'analysts_ana')) AS outcome
    FROM unnest(ARRAY['declare(''"Taken"'')', 'declare(''counted."Taken"'')', 'declare(''pg_temp.c'')', 'declare(''analysts_own.c'')',
    'declare(''analysts.c'')', 'declare(''nowhere.c'')', 'declare(''a.b.c.d'')', 'declare('''')', 'declare(NULL)']) AS c;

-- what it is: the steward's, with the privileges that the steward grants by default, for the analyst to read; what the analyst's default
-- privileges are does not matter
ALTER DEFAULT PRIVILEGES FOR ROLE analysts_steward IN SCHEMA counted GRANT UPDATE ON TABLES TO analysts_clock;
ALTER DEFAULT PRIVILEGES FOR ROLE analysts_ana IN SCHEMA counted GRANT ALL ON TABLES TO analysts_eve;
SET ROLE analysts_ana;
SELECT declare('flu', by => 'region');
SELECT owner, granted, relkind, reloptions FROM acl('flu'), pg_class WHERE oid = 'flu'::regclass;
SELECT obj_description('flu'::regclass) <> '' AS has_comment;
SELECT counter, epsilon, source, event, "by", groups, steps FROM dp_counters;
SELECT number, epsilon, remaining FROM dp_counter_plan('flu') LIMIT 1; -- may not read the budget
RESET ROLE;
GRANT SELECT ON research TO analysts_ana;
SET ROLE analysts_ana;
SELECT number, epsilon, remaining FROM dp_counter_plan('flu') LIMIT 1;
SELECT purpose, epsilon, role FROM research WHERE refunded_at IS NULL ORDER BY spent_at, purpose;
SELECT * FROM visits_dp;
SELECT * FROM flu;
SELECT * FROM dp_counter_changes('flu', 1);
CALL dp_tick('flu');
CALL dp_tick('visits_dp');
SELECT dp_counter_add_groups('flu', '{west}');
GRANT SELECT ON flu TO analysts_eve;
CALL dp_budget_spend('research', 1, 'a query');
CALL dp_source_contributions('visits_dp', 'counted.c', 1e8, 'flu');
CALL dp_source_suggest('visits_dp', 'counted.c', 1e8, 1, '1 day', 'flu', since => '2024-01-01');
-- a second one, in the same session, of another budget
RESET ROLE;
GRANT INSERT ON flu_team TO analysts_ana;
SET ROLE analysts_ana;
SELECT declare('counted.team', event => NULL, budget => 'flu_team');
SET ROLE analysts_eve;
SELECT dp_counter_drop('flu');
SELECT * FROM dp_counter_plan('flu');
SELECT * FROM flu;
RESET ROLE;
-- the clock ticks by its default privilege; the analyst reads
SET ROLE analysts_clock;
CALL dp_tick('flu');
SET ROLE analysts_ana;
SELECT region, step, count FROM flu ORDER BY step, region;
SELECT step, group_value, count FROM dp_counter_changes('flu', 1) ORDER BY 1, 2;
SELECT dp_counter_drop('flu'); -- too late
RESET ROLE;
SELECT purpose, epsilon, role FROM flu_team WHERE refunded_at IS NULL ORDER BY spent_at;

-- what is taken back is refunded, by any role that may charge the budget, and leaves what says so
SET ROLE analysts_steward;
SELECT purpose, epsilon FROM research WHERE refunded_at IS NULL ORDER BY spent_at, purpose;
RESET ROLE;
GRANT INSERT ON flu_team TO analysts_eve;
SELECT analyst, begun FROM dp_counter_private.source_counters WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n
    WHERE n.counter = 'team'::regclass);
SET ROLE analysts_eve;
SELECT dp_counter_drop('team');
SELECT to_regclass('team');
RESET ROLE;
SELECT purpose, epsilon, role, refunded_by, refunded_at <= now() AS past FROM flu_team;
-- not one that others use, nor without INSERT, nor one of the owner's
SET ROLE analysts_ana;
SELECT declare('team', budget => 'flu_team');
RESET ROLE;
GRANT SELECT ON team TO PUBLIC;
CREATE VIEW counted.on_team AS SELECT * FROM team;
REVOKE INSERT ON flu_team FROM analysts_eve;
SELECT r, attempt('dp_counter_drop(''team'')', r) FROM unnest(ARRAY['analysts_ana', 'analysts_eve', 'analysts_steward']) AS r;
DROP VIEW on_team;
SET ROLE analysts_steward;
SELECT declare('owners', budget => 'flu_team');
SELECT * FROM acl('owners');
RESET ROLE;
SELECT attempt('dp_counter_drop(''owners'')', 'analysts_ana');
SELECT dp_counter_drop('owners');
-- after a tick that failed too: it may have read rows
REVOKE SELECT ON visits FROM analysts_steward;
SET ROLE analysts_clock;
CALL dp_tick('team');
RESET ROLE;
SELECT analyst, begun, steps FROM dp_counter_private.source_counters JOIN dp_counter_private.counters USING (number)
    WHERE counter = 'team'::regclass;
SELECT attempt('dp_counter_drop(''team'')', 'analysts_ana');
SET ROLE analysts_steward;
SELECT dp_counter_drop('team');
SELECT purpose, epsilon, role FROM flu_team WHERE refunded_at IS NULL;
RESET ROLE;
GRANT SELECT ON visits TO analysts_steward;
-- one that found nothing due has not begun; what the owner declares is never marked, and refunded after a failure
SET ROLE analysts_ana;
SELECT dp_counter_create('later', 'visits_dp', 1e8, horizon => 1, every => '1 day', since => '2300-01-01', budget => 'research',
    per_person => 1);
RESET ROLE;
SET ROLE analysts_clock;
CALL dp_tick('later');
SET ROLE analysts_ana;
SELECT dp_counter_drop('later');
SET ROLE analysts_steward;
SELECT declare('owners');
RESET ROLE;
REVOKE SELECT ON visits FROM analysts_steward;
CALL dp_tick('owners');
GRANT SELECT ON visits TO analysts_steward;
SELECT analyst, begun FROM dp_counter_private.source_counters WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n
    WHERE n.counter = 'owners'::regclass);
DROP VIEW owners;
SELECT purpose FROM research WHERE refunded_at IS NULL ORDER BY 1;
-- by DROP VIEW of one who may, that is the owner of the schema
GRANT CREATE, USAGE ON SCHEMA analysts_own TO analysts_steward;
SET ROLE analysts_ana;
SELECT declare('analysts_own.mine', budget => 'research');
DROP VIEW analysts_own.mine;
RESET ROLE;
SELECT purpose FROM research WHERE refunded_at IS NULL ORDER BY 1;

-- an error that some rows raise would tell of them: an analyst's counter evaluates what never fails, or what the steward vouches for
SET ROLE analysts_steward;
CREATE VIEW analysts.ratios_dp AS SELECT patient, at, flu, region, cents, 100 / cents > 10 AS cheap FROM visits;
SELECT dp_source_create('ratios_dp', 'patients', 'patient', 'at', 'UTC');
GRANT REFERENCES ON ratios_dp TO analysts_ana;
SELECT attempt('declare(''c'', ''cheap'', source => ''ratios_dp'')', 'analysts_steward');
RESET ROLE;
SELECT concat_ws(E'\n    ', c, attempt(c, 'analysts_ana')) AS outcome
    FROM unnest(ARRAY['declare(''c'', ''cheap'', source => ''ratios_dp'')', 'declare(''c'', NULL, source => ''ratios_dp'')',
    'declare(''c'', ''flu'', sum => ''cents'', by => ''region'', source => ''ratios_dp'')',
    'dp_counter_create(''c'', ''ratios_dp'', 1e8, ''1 day'', ''2024-01-01'', share => ''cheap'', budget => ''research'', per_person => 1)',
    'dp_counter_create(''c'', ''ratios_dp'', 1e8, ''1 day'', ''2024-01-01'', by => ''cheap'', groups => ''{t}'', budget => ''research'', per_person => 1)']) AS c;
SET ROLE analysts_ana;
SELECT declare('steady', source => 'ratios_dp');
SET ROLE analysts_steward;
SELECT dp_source_create('ratios_dp', 'patients', 'patient', 'at', never_fails => '{cheap}');
SET ROLE analysts_ana;
SELECT declare('cheap', 'cheap', source => 'ratios_dp');
-- the view is looked at again by each tick, before the counter is marked; one for which the steward vouches wrongly is, and fails
RESET ROLE;
CREATE OR REPLACE VIEW analysts.ratios_dp AS SELECT patient, at, 1 / cents = 1 AS flu, region, cents, 100 / cents > 10 AS cheap FROM visits;
INSERT INTO visits VALUES (1, '2024-01-02', true, 'north', 0);
SET ROLE analysts_clock;
CALL dp_tick('steady');
CALL dp_tick('cheap');
RESET ROLE;
SELECT counter::oid::regclass, analyst, begun FROM dp_counter_private.source_counters JOIN dp_counter_private.counters USING (number)
    WHERE counter IN ('steady'::regclass, 'cheap'::regclass) ORDER BY counter::text;
SET ROLE analysts_ana;
SELECT dp_counter_drop('steady');
SELECT dp_counter_drop('cheap');
RESET ROLE;
SELECT dp_counter_drop('cheap');
SELECT purpose FROM research WHERE refunded_at IS NULL ORDER BY 1;
DELETE FROM visits WHERE cents = 0;

-- limits: of the budget that is charged, and of the past
SELECT concat_ws(E'\n    ', c, attempt(c, 'analysts_ana')) AS outcome
    FROM unnest(ARRAY['declare(''c'', budget => ''flu_team'', epsilon => 99999999.999)', 'declare(''c'', epsilon => 49999999)',
    'declare(''c'', epsilon => 5e7)', 'declare(''c'', epsilon => 1e-10)', 'declare(''c'', epsilon => 9e9)',
    'declare(''c'', epsilon => 1e8 + 1e-100)', 'declare(''c'', epsilon => 1e8 + 1e-101)', 'declare(''c'', epsilon => 1e8 + 1e-16000)']
    || (SELECT array_agg(format('dp_counter_create(''c'', ''visits_dp'', 1e8, %L, ''2026-01-01'', cumulative => false, by => %s, groups => %s, budget => ''flu_team'', per_person => 1)', every, by, groups))
        FROM (VALUES ('1 day', 'NULL', 'NULL'), ('1 day', '''region''', '''{a,b}'''), ('1 day', '''region''', '''{a,b,c}'''),
            ('1 month', '''region''', '(SELECT array_agg(n::text) FROM generate_series(1, 83) n)'),
            ('1 month', '''region''', '(SELECT array_agg(n::text) FROM generate_series(1, 84) n)'),
                     ('8 hours', 'NULL', 'NULL'), ('1 second', 'NULL', 'NULL'),
                         ('100 years', '''region''', '(SELECT array_agg(n::text) FROM generate_series(1, 1001) n)')) v (every, by,
                         groups))
    || (SELECT array_agg(format('dp_counter_create(''c'', ''visits_dp'', 1e8, ''1 second'', ''2026-01-01'', horizon => %s, budget => ''flu_team'', per_person => 1)', horizon))
    FROM (VALUES (1000), (1001)) v (horizon))
    || (SELECT array_agg(format('dp_counter_create(''c'', ''visits_dp'', 1e8, ''1 day'', %s, horizon => 1, budget => ''flu_team'', per_person => 1)', since))
    FROM (VALUES ('localtimestamp - interval ''100 years''')) v (since))
    || (SELECT array_agg(format('dp_counter_create(''c'', ''visits_dp'', 1e8, ''1 day'', localtimestamp - interval ''%s years'', horizon => %s, budget => ''flu_team'', per_person => 1)', years, horizon))
    FROM (VALUES (27, 'NULL'), (28, 'NULL'), (28, '10000'), (28, '10001')) v (years, horizon))
    || ARRAY['dp_counter_create(''c'', ''visits_dp'', 1e8, ''1 day'', ''1900-01-01'', horizon => 1, budget => ''flu_team'', per_person => 1)',
    'dp_counter_create(''c'', ''visits_dp'', 1e8, ''1 day'', ''-infinity'', horizon => 1, budget => ''flu_team'', per_person => 1)']) AS c;
-- none of them are the owner's
SELECT concat_ws(E'\n    ', c, attempt(c, 'analysts_steward')) AS outcome
    FROM unnest(ARRAY['declare(''c'', budget => ''flu_team'', epsilon => 1)',
    'dp_counter_create(''c'', ''visits_dp'', 1e8, ''1 second'', ''1900-01-01'', cumulative => false, budget => ''flu_team'', per_person => 1)']) AS c;

-- roles: by membership, without INHERIT, with names that need quotes, a member of the owner, the superuser's source
CREATE ROLE analysts_team;
CREATE ROLE analysts_bob IN ROLE analysts_team;
CREATE ROLE analysts_cyd NOINHERIT IN ROLE analysts_team;
CREATE ROLE "analysts ""public"", PUBLIC" IN ROLE analysts_team;
CREATE ROLE "PUBLIC" IN ROLE analysts_team;
CREATE ROLE "current_user" IN ROLE analysts_team;
CREATE ROLE analysts_deputy IN ROLE analysts_steward;
CREATE ROLE analysts_writer;
GRANT CREATE, USAGE ON SCHEMA counted TO analysts_team, analysts_deputy, analysts_writer;
GRANT REFERENCES (flu) ON visits_dp TO analysts_team;
GRANT INSERT ON research TO analysts_team;
SELECT r, attempt('declare(''c'')', r) FROM unnest(ARRAY['analysts_bob', 'analysts_cyd', 'analysts_team', 'analysts "public", PUBLIC',
    'analysts_deputy', 'analysts_writer']) AS r;
SET ROLE "analysts ""public"", PUBLIC";
SELECT declare('quoted');
SET ROLE "PUBLIC";
SELECT declare('of_public');
SET ROLE "current_user";
SELECT declare('of_current_user');
SET ROLE analysts_bob;
SELECT declare('bobs');
SET ROLE analysts_deputy;
SELECT declare('deputys');
RESET ROLE;
SELECT name, owner, granted FROM unnest(ARRAY['quoted', 'of_public', 'of_current_user', 'bobs', 'deputys']) AS name, acl(name::regclass);
SELECT purpose, role FROM research WHERE purpose IN ('quoted', 'of_public', 'of_current_user', 'bobs', 'deputys') ORDER BY purpose;
-- those that declare INHERIT only by SET ROLE, and for what it was set
SET ROLE analysts_cyd;
SELECT dp_counter_drop('bobs');
SET ROLE analysts_team;
SELECT dp_counter_drop('bobs');
RESET ROLE;
SELECT dp_counter_drop('quoted'), dp_counter_drop('of_public'), dp_counter_drop('of_current_user'), dp_counter_drop('deputys');
CREATE VIEW analysts.superusers_dp AS SELECT patient, at, flu FROM visits;
SELECT dp_source_create('superusers_dp', 'patients', 'patient', 'at', 'UTC');
GRANT REFERENCES (flu) ON superusers_dp TO analysts_bob;
SET ROLE analysts_bob;
SELECT declare('of_superuser', source => 'superusers_dp');
RESET ROLE;
SELECT relowner::regrole = current_user::regrole AS is_superusers, pg_has_role('analysts_bob', relowner, 'MEMBER') AS is_bobs
    FROM pg_class WHERE oid = 'of_superuser'::regclass;
SET ROLE analysts_bob;
SELECT count(*) FROM of_superuser;
SELECT dp_counter_drop('of_superuser');
RESET ROLE;
-- where the default privileges are such that the analyst may read it anyway
ALTER DEFAULT PRIVILEGES FOR ROLE analysts_steward IN SCHEMA counted GRANT SELECT ON TABLES TO PUBLIC;
SET ROLE analysts_bob;
SELECT declare('public_to_all');
SELECT count(*) FROM public_to_all;
SELECT dp_counter_drop('public_to_all');
RESET ROLE;
ALTER DEFAULT PRIVILEGES FOR ROLE analysts_steward IN SCHEMA counted REVOKE SELECT ON TABLES FROM PUBLIC;

-- a superuser's event trigger that calls and writes what its search path says runs as the analyst, not as the steward
CREATE TABLE counted.seen (who name, path text, tag text);
GRANT INSERT ON seen TO PUBLIC;
SET ROLE analysts_ana;
CREATE FUNCTION analysts_own.lower(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN INSERT INTO counted.seen
    VALUES (current_user, 'of the analyst', ''); RETURN pg_catalog.lower($1); END $$;
GRANT USAGE ON SCHEMA analysts_own TO PUBLIC;
RESET ROLE;
CREATE FUNCTION counted.watch() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO counted.seen VALUES (current_user, current_setting('search_path'), concat_ws(' ', tg_event, lower(tg_tag::text)));
END $$;
CREATE EVENT TRIGGER analysts_watch_start ON ddl_command_start EXECUTE FUNCTION counted.watch();
CREATE EVENT TRIGGER analysts_watch_drop ON sql_drop EXECUTE FUNCTION counted.watch();
CREATE EVENT TRIGGER analysts_watch_end ON ddl_command_end EXECUTE FUNCTION counted.watch();
SET search_path = analysts_own, counted, pg_catalog, analysts, public;
SET ROLE analysts_ana;
SELECT declare('counted.watched');
SELECT dp_counter_drop('watched');
SELECT current_setting('search_path'), current_user;
RESET ROLE;
DROP EVENT TRIGGER analysts_watch_start;
DROP EVENT TRIGGER analysts_watch_drop;
DROP EVENT TRIGGER analysts_watch_end;
SET search_path = counted, analysts, public;
SELECT DISTINCT who, path, tag FROM seen ORDER BY 3, 2, 1;
-- one that puts another schema in the place of the first
CREATE SCHEMA analysts_decoy;
CREATE VIEW analysts_decoy.moved AS SELECT NULL::date AS period, NULL::bigint AS step, NULL::timestamptz AS released_at,
    NULL::bigint AS count, NULL::float8 AS stddev, NULL::bigint AS low, NULL::bigint AS high;
ALTER VIEW analysts_decoy.moved OWNER TO analysts_steward;
GRANT CREATE, USAGE ON SCHEMA analysts_decoy TO analysts_steward, analysts_ana;
CREATE FUNCTION counted.swap() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    ALTER EVENT TRIGGER analysts_swap DISABLE;
    ALTER SCHEMA analysts_own RENAME TO analysts_gone;
    ALTER SCHEMA analysts_decoy RENAME TO analysts_own;
END $$;
CREATE EVENT TRIGGER analysts_swap ON ddl_command_end WHEN TAG IN ('CREATE VIEW') EXECUTE FUNCTION counted.swap();
SELECT attempt('declare(''analysts_own.moved'')', 'analysts_ana');
DROP EVENT TRIGGER analysts_swap;
CREATE EVENT TRIGGER analysts_swap ON ddl_command_start WHEN TAG IN ('CREATE VIEW') EXECUTE FUNCTION counted.swap();
SELECT attempt('declare(''analysts_own.placed'')', 'analysts_ana');
DROP EVENT TRIGGER analysts_swap;
CREATE EVENT TRIGGER analysts_swap ON ddl_command_start WHEN TAG IN ('GRANT') EXECUTE FUNCTION counted.swap();
SELECT attempt('declare(''analysts_own.moved'')', 'analysts_ana');
DROP EVENT TRIGGER analysts_swap;
SET ROLE analysts_ana;
SELECT declare('analysts_own.moved');
RESET ROLE;
CREATE EVENT TRIGGER analysts_swap ON ddl_command_start WHEN TAG IN ('DROP VIEW') EXECUTE FUNCTION counted.swap();
SELECT attempt('dp_counter_drop(''analysts_own.moved'')', 'analysts_ana');
DROP EVENT TRIGGER analysts_swap;
SELECT dp_counter_drop('analysts_own.moved');
-- it can forbid what it sees
CREATE FUNCTION counted.forbid() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '% is forbidden to %', tg_tag,
    current_user; END $$;
CREATE EVENT TRIGGER analysts_forbid ON ddl_command_start WHEN TAG IN ('CREATE VIEW') EXECUTE FUNCTION counted.forbid();
SELECT attempt('declare(''c'')', 'analysts_ana');
DROP EVENT TRIGGER analysts_forbid;
-- temporary objects of the session change nothing
\c -
SET client_min_messages = warning;
SET search_path = counted, analysts, public;
SET ROLE analysts_ana;
CREATE TEMP TABLE c (who name);
SELECT declare('c');
SELECT declare('counted.c');
SELECT dp_counter_drop('counted.c');
RESET ROLE;

-- the analyst's role cannot be dropped while it may read; when it is gone, the counter stays
SET ROLE analysts_steward;
SELECT purpose, epsilon FROM research WHERE refunded_at IS NULL ORDER BY spent_at, purpose;
RESET ROLE;
\set VERBOSITY terse
DROP ROLE analysts_ana;
\set VERBOSITY default
DROP OWNED BY analysts_ana CASCADE;
DROP ROLE analysts_ana;
SELECT purpose, role FROM research WHERE refunded_at IS NULL ORDER BY 1;
SELECT * FROM acl('flu');
DROP SCHEMA analysts_decoy CASCADE;
DROP OWNED BY analysts_eve, analysts_clock, analysts_team, analysts_deputy, analysts_writer, analysts_bob CASCADE;
DROP SCHEMA counted CASCADE;
SELECT dp_source_drop('visits_dp'), dp_source_drop('superusers_dp'), dp_source_drop('ratios_dp'), dp_budget_drop('flu_team'),
    dp_budget_drop('research'), dp_budget_drop('others'), dp_budget_drop('patients');
DROP SCHEMA analysts CASCADE;
DROP OWNED BY analysts_steward;
DROP ROLE analysts_steward, analysts_eve, analysts_clock, analysts_team, analysts_bob, analysts_cyd, analysts_deputy, analysts_writer,
    "analysts ""public"", PUBLIC", "PUBLIC", "current_user";
