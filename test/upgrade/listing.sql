-- Everything that the installed extension consists of, a row an object, for comparison: of an update with a fresh
-- install, of a release with its checked-in listing, and (column security) for the snapshot in test/pgtap.
-- Makes the temporary view dp_listing. The text of a view is listed without blanks and names of columns, which PostgreSQL formats
-- otherwise from one major version to the next; the columns have rows of their own.

CREATE FUNCTION pg_temp.privileges(acl aclitem[], owner oid) RETURNS text LANGUAGE sql AS $$
    SELECT coalesce(string_agg(entry, ' ' ORDER BY entry COLLATE "C"), 'default')
    FROM (SELECT CASE WHEN grantee = 0 THEN 'public' WHEN grantee = owner THEN 'owner' ELSE grantee::regrole::text END
                 || '=' || string_agg(lower(privilege_type) || CASE WHEN is_grantable THEN '*' ELSE '' END, ','
                     ORDER BY privilege_type) AS entry
          FROM aclexplode(acl) WHERE privilege_type <> 'MAINTAIN' GROUP BY grantee) AS entries
$$;

CREATE TEMP VIEW dp_listing AS
WITH extension AS (
    SELECT oid, extowner FROM pg_extension WHERE extname = 'dp_counter'
), members AS (
    SELECT classid, objid FROM pg_depend, extension
    WHERE refclassid = 'pg_extension'::regclass AND refobjid = extension.oid AND deptype = 'e'
), relations AS (
    SELECT c.* FROM pg_class c JOIN members ON classid = 'pg_class'::regclass AND objid = c.oid
), described AS (
    SELECT classid, objid, 0 AS part, p.proowner AS owner,
           concat_ws(' ', CASE p.provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END,
                     'parallel ' || CASE p.proparallel WHEN 's' THEN 'safe' WHEN 'r' THEN 'restricted' ELSE 'unsafe' END,
                     CASE WHEN p.prosecdef THEN 'security definer' END, CASE WHEN p.proleakproof THEN 'leakproof' END,
                     CASE WHEN p.proisstrict THEN 'strict' END, 'set ' || nullif(array_to_string(p.proconfig, ', '), ''),
                     'acl ' || pg_temp.privileges(p.proacl, p.proowner)) AS security,
           concat_ws(' | ', p.prokind, regexp_replace(pg_get_function_arguments(p.oid), '\mIN ', '', 'g'), pg_get_function_result(p.oid),
               l.lanname, p.prosrc, p.probin,
                     p.procost, p.prorows, p.prosupport::regproc,
                     (SELECT concat_ws(', ', a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn, a.aggmtransfn,
                                       a.aggfinalextra, a.aggfinalmodify, a.aggtranstype::regtype, a.aggtransspace, a.agginitval)
                      FROM pg_aggregate a WHERE a.aggfnoid = p.oid)) AS detail
    FROM members JOIN pg_proc p ON classid = 'pg_proc'::regclass AND objid = p.oid JOIN pg_language l ON l.oid = p.prolang
  UNION ALL
    SELECT 'pg_class'::regclass, c.oid, 0, c.relowner,
           concat_ws(' ', CASE WHEN c.relrowsecurity THEN 'row security' END, CASE WHEN c.relforcerowsecurity THEN 'forced' END,
                     nullif(array_to_string(c.reloptions, ', '), ''), 'acl ' || pg_temp.privileges(c.relacl, c.relowner)),
           concat_ws(' | ', c.relkind, c.relpersistence, c.relreplident,
                     CASE WHEN c.relkind = 'v' THEN trim(regexp_replace(regexp_replace(pg_get_viewdef(c.oid), ' AS "?\w+"?', '', 'g'),
                         '\s+', ' ', 'g')) END)
    FROM relations c
  UNION ALL
    SELECT 'pg_class'::regclass, i.indexrelid, 0, c.relowner, '', pg_get_indexdef(i.indexrelid)
    FROM relations c JOIN pg_index i ON i.indrelid = c.oid
  UNION ALL
    SELECT 'pg_class'::regclass, c.oid, a.attnum, c.relowner,
           'acl ' || pg_temp.privileges(a.attacl, c.relowner),
           concat_ws(' | ', format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnotnull THEN 'not null' END, a.attstorage,
               nullif(to_jsonb(a) ->> 'attcompression', ''),
                     nullif(a.attstattarget, -1), nullif(a.attidentity, ''), nullif(a.attgenerated, ''), pg_get_expr(d.adbin, d.adrelid))
    FROM relations c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
         LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relkind IN ('r', 'v', 'm', 'p', 'c')
  UNION ALL
    SELECT 'pg_constraint'::regclass, k.oid, 0, c.relowner, '', pg_get_constraintdef(k.oid)
    FROM relations c JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype <> 'n'
  UNION ALL
    SELECT 'pg_trigger'::regclass, t.oid, 0, c.relowner, '', pg_get_triggerdef(t.oid)
    FROM relations c JOIN pg_trigger t ON t.tgrelid = c.oid AND NOT t.tgisinternal
  UNION ALL
    SELECT 'pg_policy'::regclass, y.oid, 0, c.relowner, '', ''
    FROM relations c JOIN pg_policy y ON y.polrelid = c.oid
  UNION ALL
    SELECT classid, n.oid, 0, n.nspowner, 'acl ' || pg_temp.privileges(n.nspacl, n.nspowner), ''
    FROM members JOIN pg_namespace n ON classid = 'pg_namespace'::regclass AND objid = n.oid
  UNION ALL
    SELECT classid, v.oid, 0, v.evtowner, 'enabled ' || v.evtenabled::text, concat_ws(' | ', v.evtevent, v.evtfoid::regproc, v.evttags)
    FROM members JOIN pg_event_trigger v ON classid = 'pg_event_trigger'::regclass AND objid = v.oid
  UNION ALL
    SELECT classid, t.oid, 0, t.typowner, 'acl ' || pg_temp.privileges(t.typacl, t.typowner),
        concat_ws(' | ', t.typlen, t.typbyval, t.typinput, t.typoutput)
    -- rows and arrays come with others
    FROM members JOIN pg_type t ON classid = 'pg_type'::regclass AND objid = t.oid AND t.typrelid = 0 AND t.typcategory <> 'A'
  UNION ALL
    SELECT classid, c.oid, 0, (SELECT extowner FROM pg_extension WHERE extname = 'dp_counter'), CASE c.castcontext
        WHEN 'i' THEN 'implicit' WHEN 'a' THEN 'in assignments' ELSE 'explicit' END, c.castmethod::text
    FROM members JOIN pg_cast c ON classid = 'pg_cast'::regclass AND objid = c.oid
  UNION ALL -- anything else the extension might come to hold
    SELECT classid, objid, 0, NULL, 'not described', ''
    FROM members WHERE classid NOT IN ('pg_proc'::regclass, 'pg_class'::regclass, 'pg_namespace'::regclass, 'pg_event_trigger'::regclass,
        'pg_type'::regclass, 'pg_cast'::regclass)
), named AS (
    SELECT o.type AS kind, o.identity COLLATE "C" AS identity,
           CASE WHEN owner = extension.extowner THEN '' WHEN owner IS NULL THEN '' ELSE 'OWNED BY ' || owner::regrole::text || ' ' END
               || security AS security,
           concat_ws(' | ', nullif(detail, ''), '"' || CASE part WHEN 0 THEN obj_description(objid, classid::regclass::name)
               ELSE col_description(objid, part) END || '"') AS detail
    FROM described, extension, LATERAL pg_identify_object(classid, objid, part) o
)
SELECT * FROM named;
