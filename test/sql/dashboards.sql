-- SQL as Metabase, Superset and dbt send it, for a role that may read counters and nothing else: how they find tables
-- and columns, browse, draw charts, filter, page through cursors, and build models. The shapes are those of Metabase's
-- PostgreSQL driver and of JDBC, of SQLAlchemy, and of dbt-postgres.
SET client_min_messages = warning;
SET datestyle = ISO;
CREATE SCHEMA dashboards;
SET search_path = dashboards, public;
CREATE TABLE visits (person integer, at timestamp, region text, cents integer);
INSERT INTO visits SELECT i, timestamp '2025-01-06' + i % 28 * interval '1 day', (ARRAY['north', 'south'])[1 + i % 2], i % 100
FROM generate_series(0, 2799) AS i;
CREATE VIEW visits_dp AS SELECT * FROM visits;
SELECT dp_budget_create('visitors', 1e10) IS NOT NULL AS made;
SELECT dp_source_create('visits_dp', budget => 'visitors', person => 'person', at => 'at');
SELECT dp_counter_create('visits_by_week', source => 'visits_dp', epsilon => 1e9, every => '1 week', since => '2025-01-06',
    horizon => 4, per_person => 1, by => 'region', groups => '{north,south}', cumulative => false);
SELECT dp_counter_create('cents_by_day', source => 'visits_dp', epsilon => 1e9, every => '1 day', since => '2025-01-06',
    horizon => 28, per_person => 1, avg => 'cents', lower => 0, upper => 99, cumulative => false);
CALL dp_tick('visits_dp');
CREATE TABLE at_first AS SELECT spent FROM dp_budgets WHERE budget = 'visitors'::regclass;
CREATE ROLE dashboards_reader;
CREATE ROLE dashboards_dbt;
GRANT USAGE ON SCHEMA dashboards TO dashboards_reader, dashboards_dbt;
GRANT SELECT ON visits_by_week, cents_by_day TO dashboards_reader, dashboards_dbt;
-- periods that are instants: months in Berlin
CREATE TABLE calls AS SELECT i AS person, timestamptz '2024-12-31 23:00+00' + i % 59 * interval '1 day' AS at
FROM generate_series(0, 5899) AS i;
CREATE VIEW calls_dp AS SELECT * FROM calls;
SELECT dp_budget_create('callers', 1e10) IS NOT NULL AS made;
SELECT dp_source_create('calls_dp', budget => 'callers', person => 'person', at => 'at', time_zone => 'Europe/Berlin');
SELECT dp_counter_create('calls_by_month', source => 'calls_dp', epsilon => 1e9, every => '1 month', since => '2025-01-01',
    horizon => 2, per_person => 1, cumulative => false);
CALL dp_tick('calls_dp');
CREATE VIEW local_calls AS SELECT period AT TIME ZONE 'Europe/Berlin' AS period, count, low, high FROM calls_by_month;
GRANT SELECT ON calls_by_month, local_calls TO dashboards_reader;
COMMENT ON COLUMN visits_by_week.count IS 'with noise';

SET ROLE dashboards_reader;
\pset format unaligned

-- --- Metabase: privileges, tables, columns, keys, indexes -------------------------------------------------
BEGIN READ ONLY;
WITH privileges AS (
    SELECT s.schema, s.name, has_any_column_privilege(current_user, format('%I.%I', s.schema, s.name), 'select') AS "select",
           has_any_column_privilege(current_user, format('%I.%I', s.schema, s.name), 'insert') AS "insert",
           has_any_column_privilege(current_user, format('%I.%I', s.schema, s.name), 'update') AS "update",
           has_table_privilege(current_user, format('%I.%I', s.schema, s.name), 'delete') AS "delete"
    FROM (SELECT schemaname, tablename FROM pg_catalog.pg_tables UNION SELECT schemaname, viewname FROM pg_catalog.pg_views
          UNION SELECT schemaname, matviewname FROM pg_catalog.pg_matviews) AS s (schema, name)
    WHERE s.schema !~ '^pg_' AND s.schema <> 'information_schema' AND has_schema_privilege(current_user, s.schema, 'usage'))
SELECT name, "select", "insert", "update", "delete" FROM privileges
WHERE schema = 'dashboards' AND ("select" OR "insert" OR "update" OR "delete") ORDER BY name;
SELECT n.nspname AS schema, c.relname AS name, CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'v' THEN 'VIEW' END AS type,
       d.description LIKE '%differentially private%' AS described, stat.n_live_tup AS estimated_row_count
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON c.relnamespace = n.oid
     LEFT JOIN pg_catalog.pg_description AS d ON c.oid = d.objoid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass
     LEFT JOIN pg_stat_user_tables AS stat ON n.nspname = stat.schemaname AND c.relname = stat.relname
WHERE c.relkind IN ('r', 'p', 'v', 'f', 'm') AND n.nspname IN ('dashboards') AND c.relname IN ('cents_by_day', 'visits_by_week')
ORDER BY type, schema, name;
SELECT c.column_name AS name, CASE WHEN c.udt_schema IN ('public', 'pg_catalog') THEN format('%s', c.udt_name)
           ELSE format('"%s"."%s"', c.udt_schema, c.udt_name) END AS "database-type", c.ordinal_position - 1 AS "database-position",
       pk.column_name IS NOT NULL AS "pk?",
       col_description(CAST(CAST(format('%I.%I', CAST(c.table_schema AS text), CAST(c.table_name AS text)) AS regclass) AS oid),
           c.ordinal_position) AS "field-comment",
       column_default IS NULL AND is_nullable = 'NO' AND is_identity = 'NO' AS "database-required"
FROM information_schema.columns AS c LEFT JOIN (
    SELECT tc.table_schema, tc.table_name, kc.column_name
    FROM information_schema.table_constraints AS tc JOIN information_schema.key_column_usage AS kc
         ON tc.constraint_name = kc.constraint_name AND tc.table_schema = kc.table_schema AND tc.table_name = kc.table_name
    WHERE tc.constraint_type = 'PRIMARY KEY') AS pk
    ON c.table_schema = pk.table_schema AND c.table_name = pk.table_name AND c.column_name = pk.column_name
WHERE c.table_schema !~ '^information_schema|catalog_history|pg_' AND c.table_schema = ANY ('{dashboards}')
ORDER BY c.table_name, c.ordinal_position;
SELECT count(*) AS foreign_keys FROM pg_constraint AS c JOIN pg_class AS t ON c.conrelid = t.oid JOIN pg_namespace AS n
    ON c.connamespace = n.oid WHERE c.contype = 'f'::"char" AND n.nspname = 'dashboards';
SELECT count(*) AS indexes FROM (
    SELECT n.nspname, ci.oid, (information_schema._pg_expandarray(i.indkey)).n AS pos FROM pg_class AS ct
    JOIN pg_namespace AS n ON ct.relnamespace = n.oid JOIN pg_index AS i ON ct.oid = i.indrelid JOIN pg_class AS ci
         ON ci.oid = i.indexrelid
    WHERE pg_get_expr(i.indpred, i.indrelid) IS NULL AND n.nspname = 'dashboards') AS tmp WHERE pos = 1;
SELECT count(DISTINCT n.nspname || t.typname) AS enums FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = t.typnamespace
WHERE t.oid IN (SELECT DISTINCT enumtypid FROM pg_enum) AND n.nspname = 'dashboards';
-- fingerprints and values for filters
SELECT count(*) FROM (SELECT "dashboards"."visits_by_week"."period" AS "period",
    substring("dashboards"."visits_by_week"."region" FROM 1 FOR 1234) AS "substring1",
    "dashboards"."visits_by_week"."count" AS "count" FROM "dashboards"."visits_by_week" LIMIT 10000) AS fingerprint;
SELECT "dashboards"."visits_by_week"."region" AS "region" FROM "dashboards"."visits_by_week"
GROUP BY "dashboards"."visits_by_week"."region" ORDER BY "dashboards"."visits_by_week"."region" ASC LIMIT 1000;
-- questions: by month, by weeks that begin on Sundays, binned, filtered by a relative date, and over another question
SELECT CAST(DATE_TRUNC('month', "dashboards"."visits_by_week"."period") AS date) AS "period",
       SUM("dashboards"."visits_by_week"."count") AS "sum", AVG("dashboards"."visits_by_week"."count") AS "avg"
FROM "dashboards"."visits_by_week" WHERE "dashboards"."visits_by_week"."region" = 'north'
GROUP BY CAST(DATE_TRUNC('month', "dashboards"."visits_by_week"."period") AS date)
ORDER BY CAST(DATE_TRUNC('month', "dashboards"."visits_by_week"."period") AS date) ASC;
-- months of instants are those of the session, of a view with local times the source's
SET timezone = 'UTC';
SELECT CAST(DATE_TRUNC('month', "dashboards"."calls_by_month"."period") AS date) AS "period",
       SUM("dashboards"."calls_by_month"."count") AS "sum" FROM "dashboards"."calls_by_month"
GROUP BY CAST(DATE_TRUNC('month', "dashboards"."calls_by_month"."period") AS date) ORDER BY 1;
SELECT CAST(DATE_TRUNC('month', "dashboards"."local_calls"."period") AS date) AS "period",
       SUM("dashboards"."local_calls"."count") AS "sum" FROM "dashboards"."local_calls"
GROUP BY CAST(DATE_TRUNC('month', "dashboards"."local_calls"."period") AS date) ORDER BY 1;
RESET timezone;
SELECT CAST((CAST(DATE_TRUNC('week', ("period" + INTERVAL '1 day')) AS timestamp) + INTERVAL '-1 day') AS date) AS "period",
       AVG("avg") AS "avg" FROM "dashboards"."cents_by_day"
WHERE "period" >= DATE_TRUNC('day', timestamp with time zone '2025-01-08 00:00:00.000Z' AT TIME ZONE 'UTC')
      AND "period" < DATE_TRUNC('month', (NOW() + INTERVAL '1 month'))
GROUP BY 1 ORDER BY 1 LIMIT 2;
SELECT FLOOR(("source"."sum" / 100.0)) * 100.0 AS "sum", COUNT(*) AS "count" FROM (
    SELECT DATE_TRUNC('week', "dashboards"."visits_by_week"."period") AS "period", SUM("dashboards"."visits_by_week"."count") AS "sum"
    FROM "dashboards"."visits_by_week" GROUP BY DATE_TRUNC('week', "dashboards"."visits_by_week"."period")) AS "source"
WHERE "source"."sum" > 0 GROUP BY FLOOR(("source"."sum" / 100.0)) * 100.0 ORDER BY 1 LIMIT 2000;
-- JDBC: a statement with parameters, prepared; and its portal, in portions
PREPARE question (timestamp, timestamp, text, bigint) AS
SELECT COUNT(*) AS "count", SUM("count") AS "sum" FROM "dashboards"."visits_by_week"
WHERE "period" BETWEEN $1 AND $2 AND LOWER("region") LIKE $3 LIMIT $4;
EXECUTE question ('2025-01-06', '2025-01-13', '%orth%', 1048575);
DECLARE "C_1" NO SCROLL CURSOR FOR SELECT "region", "step", "count" FROM "dashboards"."visits_by_week" ORDER BY 1, 2;
FETCH FORWARD 2 FROM "C_1";
FETCH FORWARD 3 FROM "C_1";
CLOSE "C_1";
COMMIT;

-- --- Superset, by SQLAlchemy and psycopg2 -------------------------------------------------------------------
BEGIN;
SELECT pg_catalog.version() LIKE 'PostgreSQL%' AS is_version, current_schema() AS schema;
SHOW standard_conforming_strings;
SELECT pg_catalog.pg_class.relname FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace
    ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace
WHERE pg_catalog.pg_class.relkind = ANY (ARRAY['v']) AND pg_catalog.pg_class.relpersistence != 't'
      AND pg_catalog.pg_namespace.nspname = 'dashboards' AND has_table_privilege(pg_catalog.pg_class.oid, 'SELECT') ORDER BY 1;
SELECT pg_get_viewdef(c.oid) IS NOT NULL AS has_definition FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'dashboards' AND c.relname = 'visits_by_week' AND c.relkind IN ('v', 'm');
SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS format_type,
       (SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef AS d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef)
           AS "default", a.attnotnull AS not_null, pg_catalog.col_description(a.attrelid, a.attnum) AS comment, a.attgenerated = '' AS plain
FROM pg_class AS c LEFT OUTER JOIN pg_attribute AS a ON c.oid = a.attrelid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.oid = 'dashboards.visits_by_week'::regclass ORDER BY c.relname, a.attnum;
SELECT count(*) AS constraints FROM pg_constraint WHERE conrelid = 'visits_by_week'::regclass AND contype IN ('p', 'u', 'c', 'f');
-- a table's first rows, a virtual dataset's, and how many it has
SELECT count(*) FROM (SELECT * FROM dashboards.visits_by_week LIMIT 100) AS preview;
SELECT * FROM (SELECT period, region, count, low, high FROM visits_by_week ORDER BY period, region) AS virtual_table LIMIT 2 OFFSET 1;
SELECT COUNT(*) AS rowcount FROM (SELECT period AS period, region AS region FROM dashboards.visits_by_week LIMIT 1000) AS rowcount_qry;
SELECT DISTINCT region AS region FROM dashboards.visits_by_week ORDER BY region ASC LIMIT 1000;
-- a line for each of the largest groups, within a range of time
SELECT DATE_TRUNC('week', period) AS __timestamp, region AS region, sum(count) AS "SUM(count)"
FROM dashboards.visits_by_week JOIN (
    SELECT region AS region__, sum(count) AS mme_inner__ FROM dashboards.visits_by_week
    WHERE period >= TO_TIMESTAMP('2025-01-06 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
          AND period < TO_TIMESTAMP('2025-02-03 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
    GROUP BY region ORDER BY mme_inner__ DESC LIMIT 1) AS anon_1 ON region = region__
WHERE period >= '2025-01-06 00:00:00.000000' AND period < '2025-01-20 00:00:00.000000' AND region IN ('north', 'south')
GROUP BY DATE_TRUNC('week', period), region ORDER BY "SUM(count)" DESC, 1 LIMIT 10000;
SELECT count(*) AS numbers FROM (SELECT sum(count) AS "SUM(count)", sqrt(sum(power(stddev, 2))) AS error
    FROM (SELECT * FROM visits_by_week) AS virtual_table WHERE ((region = 'north')) HAVING ((sum(count) > 0)) LIMIT 50000) AS s;
-- a cursor of the server's
DECLARE "superset" CURSOR WITHOUT HOLD FOR SELECT step, count FROM visits_by_week WHERE region = 'south' ORDER BY step;
FETCH FORWARD 3 FROM "superset";
FETCH FORWARD ALL FROM "superset";
CLOSE "superset";
EXPLAIN (COSTS OFF, FORMAT JSON) SELECT 1 FROM visits_by_week \g /dev/null
ROLLBACK;
-- SQL Lab: what else is typed there
SELECT count(*) FROM visits;
SELECT count(*) FROM visits_dp;
SELECT count(*) FROM visitors;
RESET ROLE;

-- --- dbt: the catalog, a table, a view and an incremental model, tests, a snapshot, freshness ------------------
CREATE SCHEMA dashboards_marts AUTHORIZATION dashboards_dbt;
SET ROLE dashboards_dbt;
SELECT DISTINCT nspname FROM pg_namespace WHERE nspname ILIKE 'dashboards\_m%';
SELECT 'regression' AS database, name, schema, type FROM (
    SELECT tablename AS name, schemaname AS schema, 'table' AS type FROM pg_tables WHERE schemaname ILIKE 'dashboards'
    UNION ALL SELECT viewname, schemaname, 'view' FROM pg_views WHERE schemaname ILIKE 'dashboards'
    UNION ALL SELECT matviewname, schemaname, 'materialized_view' FROM pg_matviews WHERE schemaname ILIKE 'dashboards') AS relations
WHERE has_table_privilege(format('%I.%I', schema, name), 'SELECT') ORDER BY name;
SELECT column_name, data_type, character_maximum_length, numeric_precision, numeric_scale FROM :"DBNAME".information_schema.columns
WHERE table_name = 'cents_by_day' AND table_schema = 'dashboards' ORDER BY ordinal_position;
SELECT count(*) AS described FROM pg_catalog.pg_namespace AS sch JOIN pg_catalog.pg_class AS tbl ON tbl.relnamespace = sch.oid
    JOIN pg_catalog.pg_attribute AS col ON col.attrelid = tbl.oid
    LEFT JOIN pg_catalog.pg_description AS tbl_desc ON tbl_desc.objoid = tbl.oid AND tbl_desc.objsubid = 0
    LEFT JOIN pg_catalog.pg_description AS col_desc ON col_desc.objoid = tbl.oid AND col_desc.objsubid = col.attnum
WHERE upper(sch.nspname) = upper('dashboards') AND tbl.relname = 'visits_by_week' AND NOT pg_is_other_temp_schema(sch.oid)
      AND tbl.relpersistence IN ('p', 'u') AND tbl.relkind IN ('r', 'v', 'f', 'p', 'm') AND col.attnum > 0 AND NOT col.attisdropped
      AND pg_get_userbyid(tbl.relowner) IS NOT NULL;
\set model 'SELECT region, sum(count) AS visits, sqrt(sum(stddev ^ 2)) AS stddev FROM dashboards.visits_by_week GROUP BY region'
-- a table, made and made again
BEGIN;
CREATE TABLE :"DBNAME"."dashboards_marts"."by_region__dbt_tmp" AS (:model);
ALTER TABLE :"DBNAME"."dashboards_marts"."by_region__dbt_tmp" RENAME TO "by_region";
COMMIT;
BEGIN;
DROP TABLE IF EXISTS :"DBNAME"."dashboards_marts"."by_region__dbt_tmp" CASCADE;
CREATE TABLE :"DBNAME"."dashboards_marts"."by_region__dbt_tmp" AS (:model);
ALTER TABLE :"DBNAME"."dashboards_marts"."by_region" RENAME TO "by_region__dbt_backup";
ALTER TABLE :"DBNAME"."dashboards_marts"."by_region__dbt_tmp" RENAME TO "by_region";
COMMENT ON TABLE :"DBNAME"."dashboards_marts"."by_region" IS $dbt_comment$released counts$dbt_comment$;
GRANT SELECT ON :"DBNAME"."dashboards_marts"."by_region" TO "dashboards_reader";
COMMIT;
DROP TABLE IF EXISTS :"DBNAME"."dashboards_marts"."by_region__dbt_backup" CASCADE;
SELECT region, visits FROM dashboards_marts.by_region ORDER BY region;
SELECT grantee, privilege_type FROM information_schema.role_table_grants
WHERE grantor = current_role AND grantee != current_role AND table_schema = 'dashboards_marts' AND table_name = 'by_region';
-- a view, made again; which relations depend on which
BEGIN;
CREATE VIEW :"DBNAME"."dashboards_marts"."weeks__dbt_tmp" AS (
    SELECT period, sum(count) AS visits FROM dashboards.visits_by_week GROUP BY 1);
ALTER VIEW :"DBNAME"."dashboards_marts"."weeks__dbt_tmp" RENAME TO "weeks";
COMMIT;
SELECT DISTINCT referenced.relname AS referenced, dependent.relname AS dependent FROM pg_depend AS d
    JOIN pg_rewrite AS r ON r.oid = d.objid AND d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass
    JOIN pg_class AS referenced ON referenced.oid = d.refobjid JOIN pg_class AS dependent ON dependent.oid = r.ev_class
WHERE dependent.relname = 'weeks' AND referenced.relname <> 'weeks';
-- an incremental model: its last period again, and the later ones
CREATE TABLE dashboards_marts.so_far AS (SELECT period, region, count FROM dashboards.visits_by_week WHERE step < 3);
BEGIN;
CREATE TEMPORARY TABLE "so_far__dbt_tmp" AS (SELECT period, region, count FROM dashboards.visits_by_week
    WHERE period >= (SELECT max(period) FROM dashboards_marts.so_far));
DELETE FROM dashboards_marts.so_far AS DBT_INTERNAL_DEST USING "so_far__dbt_tmp"
WHERE "so_far__dbt_tmp".period = DBT_INTERNAL_DEST.period AND "so_far__dbt_tmp".region = DBT_INTERNAL_DEST.region;
INSERT INTO dashboards_marts.so_far ("period", "region", "count") (SELECT "period", "region", "count" FROM "so_far__dbt_tmp");
COMMIT;
SELECT count(*), sum(count) FROM dashboards_marts.so_far;
DROP TABLE "so_far__dbt_tmp";
-- tests of the source, its freshness, and a snapshot
SELECT count(*) AS failures, count(*) != 0 AS should_warn FROM (SELECT count FROM dashboards.visits_by_week WHERE count IS NULL)
    AS dbt_internal_test;
SELECT count(*) AS failures FROM (SELECT period AS unique_field, region, count(*) AS n_records FROM dashboards.visits_by_week
    WHERE period IS NOT NULL GROUP BY period, region HAVING count(*) > 1) AS dbt_internal_test;
SELECT count(*) AS failures FROM (WITH all_values AS (SELECT region AS value_field, count(*) AS n_records
    FROM dashboards.visits_by_week GROUP BY region)
    SELECT * FROM all_values WHERE value_field NOT IN ('north', 'south')) AS dbt_internal_test;
SELECT max(period) AS max_loaded_at, now() > max(period) AS is_later FROM dashboards.visits_by_week;
CREATE TABLE dashboards_marts.snapshot AS SELECT *, md5(coalesce(CAST(step AS varchar), '') || '|' || coalesce(CAST(count AS varchar), ''))
    AS dbt_scd_id, now()::timestamp AS dbt_valid_from, nullif(now()::timestamp, now()::timestamp) AS dbt_valid_to
FROM (SELECT * FROM dashboards.visits_by_week) AS sbq;
SELECT count(*) FROM dashboards_marts.snapshot WHERE dbt_valid_to IS NULL;
RESET ROLE;
SET ROLE dashboards_reader;
SELECT sum(visits) FROM dashboards_marts.weeks; -- dbt grants no USAGE on its schema
RESET ROLE;

-- nothing was drawn or charged
SELECT spent = (SELECT spent FROM at_first) AS nothing_charged FROM dp_budgets WHERE budget = 'visitors'::regclass;
-- what dbt does when its project goes
SET ROLE dashboards_dbt;
SET client_min_messages = error;
DROP SCHEMA IF EXISTS "dashboards_marts" CASCADE;
DROP VIEW IF EXISTS dashboards.visits_by_week CASCADE;
RESET ROLE;
SELECT count(*) FROM visits_by_week;
SET client_min_messages = error;
DROP VIEW local_calls;
SELECT dp_counter_drop('visits_by_week'), dp_counter_drop('cents_by_day'), dp_counter_drop('calls_by_month');
SELECT dp_source_drop('visits_dp'), dp_budget_drop('visitors'), dp_source_drop('calls_dp'), dp_budget_drop('callers');
DROP SCHEMA dashboards CASCADE;
DROP ROLE dashboards_reader, dashboards_dbt;
