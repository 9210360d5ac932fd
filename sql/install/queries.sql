\echo Use "CREATE EXTENSION dp_counter" to load this file. \quit

-- The secret tables, and functions that only PostgreSQL calls. It finds these by their OIDs, so no
-- role needs USAGE.

CREATE SCHEMA dp_counter_private;
REVOKE ALL ON SCHEMA dp_counter_private FROM PUBLIC;

COMMENT ON SCHEMA dp_counter_private
IS 'dp_counter: secret state of counters and budgets, and internal functions';

-- Window functions ------------------------------------------------------------------------------
--
-- Every function that draws noise is VOLATILE, so that PostgreSQL neither copies a call nor
-- evaluates it while planning (the aggregates get the mark from dp_repair below). Each evaluation
-- of a call is a release, as with random(), and two equal calls are at most two. None is LEAKPROOF.
-- They are PARALLEL RESTRICTED: a worker would see only a part of the stream, or repeat it.

CREATE FUNCTION dp_counter_private.dp_running_count_support(internal)
RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_running_count_support';

COMMENT ON FUNCTION dp_counter_private.dp_running_count_support(internal)
IS 'Internal planner support function of the window functions. It refuses moving frames, and '
   'calls that the query would draw more than once.';

CREATE FUNCTION dp_running_count(
    "bit" boolean,
    epsilon double precision,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL,
    horizon bigint DEFAULT NULL
) RETURNS bigint
LANGUAGE c WINDOW VOLATILE PARALLEL RESTRICTED COST 10
SUPPORT dp_counter_private.dp_running_count_support
AS 'MODULE_PATHNAME', 'dp_running_count_boolean';

COMMENT ON FUNCTION dp_running_count(boolean, double precision, integer, pg_catalog.text, bigint)
IS 'Window function: returns for every row a differentially private count of the rows so far '
   'whose bit is true. All releases of a partition together are epsilon-DP for neighbors that '
   'differ in one bit. The window''s ORDER BY must not leave ties.';

CREATE FUNCTION dp_running_count(
    "bit" bit,
    epsilon double precision,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL,
    horizon bigint DEFAULT NULL
) RETURNS bigint
LANGUAGE c WINDOW VOLATILE PARALLEL RESTRICTED COST 10
SUPPORT dp_counter_private.dp_running_count_support
AS 'MODULE_PATHNAME', 'dp_running_count_bit';

COMMENT ON FUNCTION dp_running_count(bit, double precision, integer, pg_catalog.text, bigint)
IS 'Window function: returns for every row a differentially private count of the rows so far '
   'whose bit(1) is 1. All releases of a partition together are epsilon-DP for neighbors that '
   'differ in one bit. The window''s ORDER BY must not leave ties.';

-- Typical mistakes (mistakes.cpp), declared so that their errors have a helpful hint. PostgreSQL
-- resolves a bare NULL or '1' to text where an overload takes text.
CREATE FUNCTION dp_running_count(
    "bit" pg_catalog.text,
    epsilon double precision,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL,
    horizon bigint DEFAULT NULL
) RETURNS bigint
LANGUAGE c WINDOW VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_running_count_text';

COMMENT ON FUNCTION dp_running_count(
    pg_catalog.text, double precision, integer, pg_catalog.text, bigint)
IS 'Always raises an error. Its hint shows how to write a condition or a cast: the guarantee, '
   'epsilon-DP, is for bits.';

CREATE FUNCTION dp_running_count(
    "bit" double precision,
    epsilon double precision,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL,
    horizon bigint DEFAULT NULL
) RETURNS bigint
LANGUAGE c WINDOW VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_running_count_number';

COMMENT ON FUNCTION dp_running_count(
    double precision, double precision, integer, pg_catalog.text, bigint)
IS 'Always raises an error. Its hint shows dp_running_sum: numbers need a sensitivity to be '
   'epsilon-DP.';

-- For calls without the required arguments. "any" takes no literal away from the other overloads,
-- which have more arguments.
CREATE FUNCTION dp_running_count("bit" "any" DEFAULT NULL)
RETURNS bigint
LANGUAGE c WINDOW VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_running_count_missing';

COMMENT ON FUNCTION dp_running_count("any")
IS 'Always raises an error. Its hint shows the missing arguments: nothing is epsilon-DP without '
   'an epsilon.';

CREATE FUNCTION dp_running_sum(
    addend bigint,
    epsilon double precision,
    sensitivity bigint,
    horizon bigint DEFAULT NULL,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL
) RETURNS bigint
LANGUAGE c WINDOW VOLATILE PARALLEL RESTRICTED COST 10
SUPPORT dp_counter_private.dp_running_count_support
AS 'MODULE_PATHNAME', 'dp_running_sum';

COMMENT ON FUNCTION dp_running_sum(
    bigint, double precision, bigint, bigint, integer, pg_catalog.text)
IS 'Window function: returns for every row a differentially private sum of the addends so far. '
   'All releases of the query together are epsilon-DP for neighbors whose addends differ by at '
   'most sensitivity in l1, over all rows of all partitions. To count by period, call it over a '
   'calendar that is joined with the rows: dp_running_sum(count(id) FILTER (WHERE late), 1.0, 1) '
   'OVER (ORDER BY day).';

CREATE FUNCTION dp_running_sum(addend "any" DEFAULT NULL, epsilon "any" DEFAULT NULL)
RETURNS bigint
LANGUAGE c WINDOW VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_running_sum_missing';

COMMENT ON FUNCTION dp_running_sum("any", "any")
IS 'Always raises an error. Its hint shows the missing arguments: nothing is epsilon-DP without '
   'a sensitivity.';

-- Aggregates ------------------------------------------------------------------------------------

CREATE FUNCTION dp_counter_private.dp_running_count_transition(
    internal, boolean, double precision, integer, bigint)
RETURNS internal
LANGUAGE c VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_running_count_transition';

COMMENT ON FUNCTION dp_counter_private.dp_running_count_transition(
    internal, boolean, double precision, integer, bigint)
IS 'Internal transition function of the aggregate dp_running_count.';

CREATE FUNCTION dp_counter_private.dp_running_count_final(internal)
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_running_count_final';

COMMENT ON FUNCTION dp_counter_private.dp_running_count_final(internal)
IS 'Internal final function of the aggregate dp_running_count.';

-- The arguments have no names: a call with named arguments is the window function.
CREATE AGGREGATE dp_running_count(boolean, double precision, integer, bigint)
(
    SFUNC = dp_counter_private.dp_running_count_transition,
    STYPE = internal,
    SSPACE = 256,
    FINALFUNC = dp_counter_private.dp_running_count_final,
    PARALLEL = RESTRICTED
);

COMMENT ON AGGREGATE dp_running_count(boolean, double precision, integer, bigint)
IS 'Computes a differentially private running count without spooling rows to disk: under OVER, '
   'with a growing RANGE or GROUPS frame, a release for every row; in GROUP BY, the release '
   'after the last row. The releases are epsilon-DP for neighbors that differ in one bit.';

CREATE FUNCTION dp_counter_private.dp_count_transition(internal, boolean, double precision)
RETURNS internal
LANGUAGE c VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_count_transition';

COMMENT ON FUNCTION dp_counter_private.dp_count_transition(internal, boolean, double precision)
IS 'Internal transition function of the aggregate dp_count.';

CREATE FUNCTION dp_counter_private.dp_count_final(internal)
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_count_final';

COMMENT ON FUNCTION dp_counter_private.dp_count_final(internal)
IS 'Internal final function of the aggregate dp_count.';

CREATE AGGREGATE dp_count("bit" boolean, epsilon double precision)
(
    SFUNC = dp_counter_private.dp_count_transition,
    STYPE = internal,
    SSPACE = 128,
    FINALFUNC = dp_counter_private.dp_count_final,
    PARALLEL = RESTRICTED
);

COMMENT ON AGGREGATE dp_count(boolean, double precision)
IS 'Computes one differentially private count of the rows whose bit is true, with discrete '
   'Laplace noise of scale 1/epsilon. It is epsilon-DP for neighbors that differ in one bit, or '
   'in one row of a group that both have. GROUP BY shows which groups exist: that is not '
   'protected.';

-- Typical mistakes again. A boolean, or a literal before a number, never resolves to "any".
-- PostgreSQL's opr_sanity test disallows aggregates of one name with different numbers of
-- arguments, since a call with ORDER BY may reach the wrong one: here that raises an error.

CREATE FUNCTION dp_counter_private.dp_count_mistake(state bigint)
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_count_mistake';

COMMENT ON FUNCTION dp_counter_private.dp_count_mistake(bigint)
IS 'Internal: always raises an error, for dp_count(*).';

CREATE FUNCTION dp_counter_private.dp_count_mistake(state bigint, VARIADIC arguments "any")
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_count_mistake';

COMMENT ON FUNCTION dp_counter_private.dp_count_mistake(bigint, "any")
IS 'Internal: always raises an error, for dp_count with wrong arguments and what is not there.';

CREATE AGGREGATE dp_count(*)
(
    SFUNC = dp_counter_private.dp_count_mistake,
    STYPE = bigint,
    FINALFUNC = dp_counter_private.dp_count_mistake,
    PARALLEL = RESTRICTED
);

COMMENT ON AGGREGATE dp_count(*)
IS 'Always raises an error. Its hint shows the missing arguments: nothing is epsilon-DP without '
   'an epsilon.';

CREATE AGGREGATE dp_count(VARIADIC arguments "any")
(
    SFUNC = dp_counter_private.dp_count_mistake,
    STYPE = bigint,
    FINALFUNC = dp_counter_private.dp_count_mistake,
    FINALFUNC_EXTRA,
    PARALLEL = RESTRICTED
);

COMMENT ON AGGREGATE dp_count(VARIADIC "any")
IS 'Always raises an error. Its hint shows a call with a condition and epsilon: the guarantee, '
   'epsilon-DP, is for bits.';

-- What everybody tries first and is not there. The initial state is the number of the lesson.

CREATE AGGREGATE dp_sum(VARIADIC arguments "any")
(
    SFUNC = dp_counter_private.dp_count_mistake,
    STYPE = bigint,
    INITCOND = 0,
    FINALFUNC = dp_counter_private.dp_count_mistake,
    FINALFUNC_EXTRA,
    PARALLEL = RESTRICTED
);

COMMENT ON AGGREGATE dp_sum(VARIADIC "any")
IS 'Always raises an error. Its hint shows how a sum of values within bounds is epsilon-DP.';

CREATE AGGREGATE dp_median(VARIADIC arguments "any")
(
    SFUNC = dp_counter_private.dp_count_mistake,
    STYPE = bigint,
    INITCOND = 1,
    FINALFUNC = dp_counter_private.dp_count_mistake,
    FINALFUNC_EXTRA,
    PARALLEL = RESTRICTED
);

COMMENT ON AGGREGATE dp_median(VARIADIC "any")
IS 'Always raises an error. Its hint shows how counts by bins, which are epsilon-DP, have '
   'quantiles.';

CREATE AGGREGATE dp_quantile(VARIADIC arguments "any")
(
    SFUNC = dp_counter_private.dp_count_mistake,
    STYPE = bigint,
    INITCOND = 1,
    FINALFUNC = dp_counter_private.dp_count_mistake,
    FINALFUNC_EXTRA,
    PARALLEL = RESTRICTED
);

COMMENT ON AGGREGATE dp_quantile(VARIADIC "any")
IS 'Always raises an error. Its hint shows how counts by bins, which are epsilon-DP, have '
   'quantiles.';

CREATE AGGREGATE dp_percentile(VARIADIC arguments "any")
(
    SFUNC = dp_counter_private.dp_count_mistake,
    STYPE = bigint,
    INITCOND = 1,
    FINALFUNC = dp_counter_private.dp_count_mistake,
    FINALFUNC_EXTRA,
    PARALLEL = RESTRICTED
);

COMMENT ON AGGREGATE dp_percentile(VARIADIC "any")
IS 'Always raises an error. Its hint shows how counts by bins, which are epsilon-DP, have '
   'quantiles.';

-- CREATE AGGREGATE marks every aggregate IMMUTABLE and has no clause for another volatility.

CREATE FUNCTION dp_repair()
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_repair';

COMMENT ON FUNCTION dp_repair()
IS 'Marks the aggregates, and all other functions that draw noise, VOLATILE again, and returns '
   'how many had lost the mark. The owner of the extension calls it in every database after '
   'pg_upgrade: without the mark these functions refuse to run.';

-- Qualified: a trusted extension is installed with superuser rights, and any role may own the
-- schema.
SELECT @extschema@.dp_repair();

-- One exact number -------------------------------------------------------------------------------

CREATE FUNCTION dp_counter_private.dp_laplace_support(internal)
RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_laplace_support';

COMMENT ON FUNCTION dp_counter_private.dp_laplace_support(internal)
IS 'Internal planner support function of dp_laplace. It refuses calls that the query would draw '
   'more than once.';

CREATE FUNCTION dp_laplace(value bigint, epsilon double precision, sensitivity bigint)
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL RESTRICTED COST 10
SUPPORT dp_counter_private.dp_laplace_support
AS 'MODULE_PATHNAME', 'dp_laplace';

COMMENT ON FUNCTION dp_laplace(bigint, double precision, bigint)
IS 'Returns value plus discrete Laplace noise of scale sensitivity/epsilon. The query is '
   'epsilon-DP for neighbors whose values differ by at most sensitivity in l1, over all rows. A '
   'NULL value counts as 0. Call it above a subquery with the GROUP BY, so that the subquery can '
   'run in parallel.';

CREATE FUNCTION dp_laplace(value "any", epsilon "any" DEFAULT NULL)
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_laplace_missing';

COMMENT ON FUNCTION dp_laplace("any", "any")
IS 'Always raises an error. Its hint shows the missing arguments: nothing is epsilon-DP without '
   'a sensitivity.';

-- Post-processing --------------------------------------------------------------------------------

CREATE FUNCTION dp_monotone(released bigint)
RETURNS double precision
LANGUAGE c WINDOW IMMUTABLE PARALLEL SAFE COST 10
SUPPORT dp_counter_private.dp_running_count_support
AS 'MODULE_PATHNAME', 'dp_monotone';

COMMENT ON FUNCTION dp_monotone(bigint)
IS 'Window function: returns the non-decreasing path nearest to the releases of a partition, in '
   'the window''s order. It reads only releases, so it costs no privacy: the path is as '
   'epsilon-DP as they are. Use it for counts, which never fall: the total squared error never '
   'grows.';

