-- Privileges --------------------------------------------------------------------------------------
--
-- At the end, so that they are these whatever ALTER DEFAULT PRIVILEGES says: the function gives each
-- object of the extension the privileges of one that is made where nothing was altered. It is not
-- kept.

CREATE FUNCTION dp_counter_private.reset_privileges()
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'dp_counter_reset_privileges';

SELECT dp_counter_private.reset_privileges();

DROP FUNCTION dp_counter_private.reset_privileges();

REVOKE ALL ON FUNCTION dp_counter_private.kept_in_dumps() FROM PUBLIC;

GRANT SELECT ON dp_counter_private.published, dp_counter_private.spendings,
                dp_counters, dp_sources, dp_source_history, dp_budgets TO PUBLIC;
