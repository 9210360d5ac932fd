\echo Use "CREATE EXTENSION dp_counter" to load this file. \quit

-- Window functions ------------------------------------------------------------------------------
--
-- STABLE, not VOLATILE: PostgreSQL evaluates two identical calls over one window once if the
-- function is not volatile, so that writing the same call twice is one release and costs epsilon
-- once. Never LEAKPROOF; PARALLEL RESTRICTED, since a worker sees only part of the stream.

CREATE FUNCTION dp_running_count(
    "bit" boolean,
    epsilon double precision,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL,
    horizon bigint DEFAULT NULL
) RETURNS bigint
LANGUAGE c WINDOW STABLE PARALLEL RESTRICTED COST 10
AS 'MODULE_PATHNAME', 'dp_running_count_boolean';

COMMENT ON FUNCTION dp_running_count(boolean, double precision, integer, pg_catalog.text, bigint)
IS 'window function: differentially private running count of the rows whose bit is true, a release for every row; all releases of a partition together are epsilon-DP for neighbours that differ in one bit';

CREATE FUNCTION dp_running_count(
    "bit" bit,
    epsilon double precision,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL,
    horizon bigint DEFAULT NULL
) RETURNS bigint
LANGUAGE c WINDOW STABLE PARALLEL RESTRICTED COST 10
AS 'MODULE_PATHNAME', 'dp_running_count_bit';

COMMENT ON FUNCTION dp_running_count(bit, double precision, integer, pg_catalog.text, bigint)
IS 'window function: differentially private running count of the rows whose bit(1) is 1, a release for every row; all releases of a partition together are epsilon-DP for neighbours that differ in one bit';

-- Aggregates ------------------------------------------------------------------------------------

CREATE FUNCTION dp_running_count_transition(internal, boolean, double precision, integer, bigint)
RETURNS internal
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_running_count_transition';

COMMENT ON FUNCTION dp_running_count_transition(internal, boolean, double precision, integer, bigint)
IS 'internal: transition function of the aggregate dp_running_count';

CREATE FUNCTION dp_running_count_transition(
    internal, boolean, double precision, integer, bigint, pg_catalog.text)
RETURNS internal
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_running_count_transition';

COMMENT ON FUNCTION dp_running_count_transition(
    internal, boolean, double precision, integer, bigint, pg_catalog.text)
IS 'internal: transition function of the aggregate dp_running_count';

CREATE FUNCTION dp_running_count_final(internal)
RETURNS bigint
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_running_count_final';

COMMENT ON FUNCTION dp_running_count_final(internal)
IS 'internal: final function of the aggregate dp_running_count';

CREATE AGGREGATE dp_running_count(boolean, double precision, integer, bigint)
(
    SFUNC = dp_running_count_transition,
    STYPE = internal,
    SSPACE = 256,
    FINALFUNC = dp_running_count_final,
    PARALLEL = RESTRICTED
);

COMMENT ON AGGREGATE dp_running_count(boolean, double precision, integer, bigint)
IS 'differentially private running count without spooling: under OVER with a growing frame a release for every row, in GROUP BY the release after the last row; epsilon-DP for neighbours that differ in one bit';

CREATE AGGREGATE dp_running_count(
    boolean, double precision, integer, bigint, pg_catalog.text)
(
    SFUNC = dp_running_count_transition,
    STYPE = internal,
    SSPACE = 256,
    FINALFUNC = dp_running_count_final,
    PARALLEL = RESTRICTED
);

COMMENT ON AGGREGATE dp_running_count(
    boolean, double precision, integer, bigint, pg_catalog.text)
IS 'differentially private running count without spooling, with the mechanism named: under OVER with a growing frame a release for every row, in GROUP BY the release after the last row; epsilon-DP for neighbours that differ in one bit';

CREATE FUNCTION dp_count_transition(internal, boolean, double precision)
RETURNS internal
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_count_transition';

COMMENT ON FUNCTION dp_count_transition(internal, boolean, double precision)
IS 'internal: transition function of the aggregate dp_count';

CREATE FUNCTION dp_count_final(internal)
RETURNS bigint
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_count_final';

COMMENT ON FUNCTION dp_count_final(internal)
IS 'internal: final function of the aggregate dp_count';

CREATE AGGREGATE dp_count("bit" boolean, epsilon double precision)
(
    SFUNC = dp_count_transition,
    STYPE = internal,
    SSPACE = 128,
    FINALFUNC = dp_count_final,
    PARALLEL = RESTRICTED
);

COMMENT ON AGGREGATE dp_count(boolean, double precision)
IS 'one differentially private count of the rows whose bit is true, discrete Laplace noise of scale 1/epsilon; epsilon-DP for neighbours that differ in one bit or in one row';
