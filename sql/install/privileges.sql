-- Privileges --------------------------------------------------------------------------------------
--
-- At the end, so that they are these whatever ALTER DEFAULT PRIVILEGES says: each object of the
-- extension gets the privileges of one that is made where nothing was altered, by statements in the
-- order of their place.

DO LANGUAGE plpgsql $$
DECLARE
    path pg_catalog.text := pg_catalog.current_setting('search_path');
    statement pg_catalog.text;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    FOR statement IN
        WITH objects AS (
            SELECT kind || ' ' || (pg_identify_object(classid, objid, 0)).identity AS object, kind,
                   owner, acl
            FROM pg_depend
                 JOIN (SELECT 'pg_class'::regclass, oid, relowner, relacl, relkind = 'S',
                              CASE relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END FROM pg_class
                       UNION ALL
                       SELECT 'pg_proc'::regclass, oid, proowner, proacl, false, 'ROUTINE' FROM pg_proc
                       UNION ALL
                       SELECT 'pg_type'::regclass, oid, typowner, typacl, false, 'TYPE' FROM pg_type
                       WHERE typtype = 'b' AND typcategory <> 'A'
                       UNION ALL
                       SELECT 'pg_namespace'::regclass, oid, nspowner, nspacl, false, 'SCHEMA'
                       FROM pg_namespace)
                 AS o (class, oid, owner, acl, is_sequence, kind) ON class = classid AND oid = objid
            WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
                  AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'dp_counter')
                  AND acl <> acldefault(CASE kind WHEN 'SEQUENCE' THEN 's' WHEN 'TABLE' THEN 'r'
                                                  WHEN 'ROUTINE' THEN 'f' WHEN 'TYPE' THEN 'T'
                                                  ELSE 'n' END::"char", owner)
        )
        SELECT sql
        FROM (SELECT DISTINCT format('REVOKE ALL ON %s FROM %s CASCADE', object,
                                     CASE grantee WHEN 0 THEN 'PUBLIC'
                                                  ELSE grantee::regrole::text END), 1
              FROM objects, aclexplode(acl) WHERE grantee <> owner
              UNION ALL
              SELECT format('GRANT ALL ON %s TO %s', object, owner::regrole), 2 FROM objects
              UNION ALL
              SELECT format('GRANT ALL ON %s TO PUBLIC', object), 3 FROM objects
              WHERE kind IN ('ROUTINE', 'TYPE')) AS statements (sql, place)
        ORDER BY place
    LOOP
        EXECUTE statement;
    END LOOP;
    PERFORM pg_catalog.set_config('search_path', path, true);
END
$$;

REVOKE ALL ON FUNCTION dp_counter_private.kept_in_dumps() FROM PUBLIC;

GRANT SELECT ON dp_counter_private.published, dp_counter_private.spendings,
                dp_counters, dp_sources, dp_source_history, dp_budgets TO PUBLIC;
