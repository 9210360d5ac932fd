-- Whatever ALTER DEFAULT PRIVILEGES says, the extension's objects have the privileges that the install script means:
-- managed servers grant tables to roles of an API, hardened ones take EXECUTE from PUBLIC.
BEGIN;
SET LOCAL client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
DROP EXTENSION IF EXISTS dp_counter CASCADE;
CREATE EXTENSION dp_counter;
SELECT plan(17);

CREATE ROLE dp_default_reader;
CREATE ROLE "dp default ""odd""";
CREATE VIEW pg_temp.objects AS
    SELECT classid, objid, acl, owner, coalesce(acl, acldefault(kind, owner)) AS effective
    FROM pg_depend JOIN (SELECT 'pg_class'::regclass AS class, oid, relowner AS owner, relacl AS acl, CASE relkind WHEN 'S' THEN 's'
        ELSE 'r' END::"char" AS kind FROM pg_class
                         UNION ALL SELECT 'pg_proc'::regclass, oid, proowner, proacl, 'f' FROM pg_proc
                         UNION ALL SELECT 'pg_namespace'::regclass, oid, nspowner, nspacl, 'n' FROM pg_namespace
                         UNION ALL SELECT 'pg_type'::regclass, oid, typowner, typacl, 'T' FROM pg_type) AS o ON class = classid
                             AND oid = objid
    WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'dp_counter')
        AND deptype = 'e';
CREATE VIEW pg_temp.privileges AS
    SELECT identity, CASE WHEN grantee = owner THEN 'owner' WHEN grantee = 0 THEN 'public' ELSE grantee::regrole::text END AS grantee,
        privilege_type, is_grantable
    FROM pg_temp.objects, pg_identify_object(classid, objid, 0), aclexplode(effective);
-- the privileges of an extension that was made again
CREATE FUNCTION pg_temp.made_again(hostile text, meant text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    DROP EXTENSION dp_counter;
    EXECUTE hostile;
    CREATE EXTENSION dp_counter;
    RETURN NEXT bag_eq('TABLE pg_temp.privileges', 'TABLE pg_temp.meant', 'the privileges are those meant, with ' || meant);
    RETURN NEXT is_empty($q$ SELECT objid FROM pg_temp.objects AS o LEFT
        JOIN pg_init_privs AS i ON (i.classoid, i.objoid, i.objsubid) = (classid, o.objid, 0)
                             WHERE acl IS DISTINCT FROM initprivs $q$, 'and a dump has none of them');
    DROP OWNED BY dp_default_reader, "dp default ""odd""";
END
$$;

CREATE TABLE pg_temp.meant AS TABLE pg_temp.privileges;
SELECT cmp_ok((SELECT count(*)::integer FROM pg_temp.meant WHERE grantee = 'public'), '>', 40, 'PUBLIC may call and read something');
SELECT is_empty($$ SELECT * FROM pg_temp.meant WHERE grantee = 'public' AND privilege_type NOT IN ('EXECUTE', 'SELECT', 'USAGE')
    OR is_grantable AND grantee <> 'owner' $$,
                'and change nothing');

SELECT pg_temp.made_again($$
    ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO dp_default_reader, "dp default ""odd""" WITH GRANT OPTION;
    ALTER DEFAULT PRIVILEGES GRANT ALL ON SEQUENCES TO dp_default_reader;
    ALTER DEFAULT PRIVILEGES GRANT ALL ON FUNCTIONS TO dp_default_reader WITH GRANT OPTION;
    ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO dp_default_reader WITH GRANT OPTION;
    ALTER DEFAULT PRIVILEGES GRANT ALL ON TYPES TO dp_default_reader $$, 'everything for a role');
SELECT pg_temp.made_again($$
    ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC;
    ALTER DEFAULT PRIVILEGES GRANT ALL ON SEQUENCES TO PUBLIC;
    ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO PUBLIC $$, 'everything for PUBLIC');
SELECT pg_temp.made_again($$
    ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM PUBLIC;
    ALTER DEFAULT PRIVILEGES REVOKE ALL ON SEQUENCES FROM PUBLIC;
    ALTER DEFAULT PRIVILEGES REVOKE ALL ON SCHEMAS FROM PUBLIC;
    ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
    ALTER DEFAULT PRIVILEGES REVOKE USAGE ON TYPES FROM PUBLIC $$, 'nothing for PUBLIC');
SELECT pg_temp.made_again($$
    ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON TABLES TO dp_default_reader;
    ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON FUNCTIONS TO dp_default_reader $$, 'everything for a role in a schema');
-- (where nobody else has any, PostgreSQL takes no entry for the default one)
SELECT pg_temp.made_again(format($$
    ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC;
    ALTER DEFAULT PRIVILEGES GRANT SELECT ON SEQUENCES TO PUBLIC;
    ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO PUBLIC;
    ALTER DEFAULT PRIVILEGES GRANT USAGE ON SCHEMAS TO PUBLIC;
    ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM %1$I;
    ALTER DEFAULT PRIVILEGES REVOKE ALL ON SEQUENCES FROM %1$I;
    ALTER DEFAULT PRIVILEGES REVOKE ALL ON FUNCTIONS FROM %1$I;
    ALTER DEFAULT PRIVILEGES REVOKE ALL ON SCHEMAS FROM %1$I $$, current_user), 'nothing for the owner');

-- what only the install script calls is gone, and leaves nothing
SELECT hasnt_function('dp_counter_private', 'reset_privileges', 'the function that does it is not kept');

-- Views that are made later: a counter's has the default privileges of its owner, as any view; a budget's has none, since
-- INSERT on it is the right to spend it.
CREATE ROLE dp_default_owner;
CREATE SCHEMA dp_default AUTHORIZATION dp_default_owner;
SET LOCAL ROLE dp_default_owner;
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO dp_default_reader WITH GRANT OPTION;
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC;
SELECT FROM dp_budget_create('dp_default.budget', 1);
SELECT FROM dp_budget_create('dp_default.share', 0.5, within => 'dp_default.budget');
SELECT FROM dp_event_counter_create('dp_default.counter', 1);
SELECT is_empty($$ SELECT relname, grantee::regrole FROM pg_class, aclexplode(relacl) WHERE relname IN ('budget', 'share')
    AND relnamespace = 'dp_default'::regnamespace AND grantee <> relowner $$,
                'nobody may spend a budget but its owner');
SELECT set_eq($$ SELECT grantee::regrole::text FROM pg_class, aclexplode(relacl) WHERE oid = 'dp_default.counter'::regclass
    AND privilege_type = 'UPDATE' $$,
              ARRAY['-', 'dp_default_owner', 'dp_default_reader'], 'a counter is ticked by those whom its owner has named');
SELECT lives_ok($$ GRANT SELECT, INSERT ON dp_default.share TO dp_default_reader $$, 'a budget can be granted');
SELECT is((SELECT count(*)::integer FROM pg_shdepend WHERE objid = 'dp_default.budget'::regclass AND deptype = 'a'), 0,
    'no role depends on what it was not given');
RESET ROLE;
SELECT finish();
ROLLBACK;
