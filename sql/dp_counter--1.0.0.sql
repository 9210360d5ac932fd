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

-- Live counters: where they are kept ------------------------------------------------------------
--
-- Readable by nobody but the extension's owner: no privilege is ever granted here, and row security
-- without a policy closes the tables to the members of pg_read_all_data and pg_write_all_data too.
-- The module reads and writes them directly, never by SQL.

CREATE SCHEMA dp_counter_private;
REVOKE ALL ON SCHEMA dp_counter_private FROM PUBLIC;

COMMENT ON SCHEMA dp_counter_private
IS 'dp_counter: secret state of the live counters';

CREATE TABLE dp_counter_private.counters (
    releases    pg_catalog.regclass PRIMARY KEY,
    epsilon     pg_catalog.float8 NOT NULL,
    horizon     pg_catalog.int8,
    mechanism   pg_catalog.text NOT NULL,
    k           pg_catalog.int4,
    steps       pg_catalog.int8 NOT NULL,
    released_at pg_catalog.timestamptz,
    count       pg_catalog.int8,
    stddev      pg_catalog.float8,
    low         pg_catalog.int8,
    high        pg_catalog.int8,
    published   pg_catalog.bool NOT NULL,
    state       pg_catalog.bytea NOT NULL
);

-- Never compressed: the stored length would depend on the noise.
ALTER TABLE dp_counter_private.counters ALTER COLUMN state SET STORAGE EXTERNAL;
ALTER TABLE dp_counter_private.counters ALTER COLUMN state SET STATISTICS 0;
ALTER TABLE dp_counter_private.counters ALTER COLUMN count SET STATISTICS 0;
ALTER TABLE dp_counter_private.counters ALTER COLUMN low SET STATISTICS 0;
ALTER TABLE dp_counter_private.counters ALTER COLUMN high SET STATISTICS 0;
ALTER TABLE dp_counter_private.counters ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.counters FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.counters
IS 'dp_counter: a row per live counter: its parameters, its secret state and its last release';

-- Room on every page for new versions of its rows: they replace one another in place.
CREATE TABLE dp_counter_private.events (
    releases pg_catalog.regclass NOT NULL,
    slot     pg_catalog.int4 NOT NULL,
    total    pg_catalog.int8 NOT NULL
) WITH (fillfactor = 10);

CREATE INDEX events_releases_slot_idx ON dp_counter_private.events (releases, slot);

ALTER TABLE dp_counter_private.events ALTER COLUMN total SET STATISTICS 0;
ALTER TABLE dp_counter_private.events ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.events FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.events
IS 'dp_counter: true numbers of the events recorded in each live counter';

SELECT pg_catalog.pg_extension_config_dump('dp_counter_private.counters', '');
SELECT pg_catalog.pg_extension_config_dump('dp_counter_private.events', '');

-- Live counters: functions ------------------------------------------------------------------------
--
-- None is SECURITY DEFINER: they check the caller's privileges on the releases table and act with
-- the caller's rights, except that a tick writes a release as the owner of the releases table.

CREATE FUNCTION dp_counter_create(
    releases pg_catalog.text,
    epsilon double precision,
    horizon bigint DEFAULT NULL,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL
) RETURNS pg_catalog.regclass
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_create';

COMMENT ON FUNCTION dp_counter_create(
    pg_catalog.text, double precision, bigint, integer, pg_catalog.text)
IS 'makes a live counter and the table of its releases, owned by the caller; epsilon-DP for its whole life, for neighbours that differ by one event more or less in one step';

CREATE FUNCTION dp_counter_record(releases pg_catalog.regclass, events integer DEFAULT 1)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_record';

COMMENT ON FUNCTION dp_counter_record(pg_catalog.regclass, integer)
IS 'records events in the open step of a live counter when the transaction commits; needs the INSERT privilege on the releases table';

CREATE FUNCTION dp_counter_record()
RETURNS pg_catalog.trigger
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_record_trigger';

COMMENT ON FUNCTION dp_counter_record()
IS 'AFTER trigger on INSERT or UPDATE: records each row, or each row of a statement''s NEW TABLE, as an event of the live counter that the trigger''s argument names';

CREATE PROCEDURE dp_counter_tick(
    releases pg_catalog.regclass, INOUT released bigint DEFAULT NULL)
LANGUAGE c
AS 'MODULE_PATHNAME', 'dp_counter_tick';

COMMENT ON PROCEDURE dp_counter_tick(pg_catalog.regclass, bigint)
IS 'closes the open step of a live counter and publishes its release; commits, so it cannot run inside a transaction block; needs the UPDATE privilege on the releases table';

CREATE FUNCTION dp_counter_drop(releases pg_catalog.regclass)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_drop';

COMMENT ON FUNCTION dp_counter_drop(pg_catalog.regclass)
IS 'drops a live counter, its state and its releases table; for the owner of the table, as is DROP TABLE, which does the same';

CREATE FUNCTION dp_counter_guard()
RETURNS pg_catalog.trigger
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_guard';

COMMENT ON FUNCTION dp_counter_guard()
IS 'internal: trigger on every releases table that lets its owner alone write to it';

CREATE FUNCTION dp_counter_dropped()
RETURNS pg_catalog.event_trigger
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_dropped';

COMMENT ON FUNCTION dp_counter_dropped()
IS 'internal: event trigger that ends the counters whose releases tables are dropped';

CREATE EVENT TRIGGER dp_counter_dropped ON sql_drop
EXECUTE FUNCTION dp_counter_dropped();

COMMENT ON EVENT TRIGGER dp_counter_dropped
IS 'dp_counter: ends the live counters whose releases tables are dropped';

-- Live counters: the list -------------------------------------------------------------------------

CREATE VIEW dp_counters WITH (security_barrier) AS
SELECT c.releases,
       c.epsilon,
       c.horizon,
       c.steps,
       c.horizon OPERATOR(pg_catalog.-) c.steps AS steps_left,
       c.mechanism,
       c.k,
       c.stddev,
       c.released_at AS last_tick
FROM dp_counter_private.counters AS c
WHERE pg_catalog.has_table_privilege(c.releases::pg_catalog.oid, 'SELECT');

GRANT SELECT ON dp_counters TO PUBLIC;

COMMENT ON VIEW dp_counters
IS 'the live counters whose releases the reader may read: public values only; stddev and last_tick are those of the last release';
