\echo Use "CREATE EXTENSION dp_counter" to load this file. \quit

-- What is nobody's business: the live counters' tables and the functions that PostgreSQL alone calls.
-- It finds those by their OIDs, so nobody needs USAGE.

CREATE SCHEMA dp_counter_private;
REVOKE ALL ON SCHEMA dp_counter_private FROM PUBLIC;

COMMENT ON SCHEMA dp_counter_private
IS 'dp_counter: secret state of the live counters, and internal functions';

-- Window functions ------------------------------------------------------------------------------
--
-- What draws noise is VOLATILE, the aggregates too (below): PostgreSQL then neither copies a call nor
-- evaluates it while planning. A call written once is a release at every evaluation, as with random(),
-- and two equal calls are at most two. Never LEAKPROOF; PARALLEL RESTRICTED, since a worker sees only part of
-- the stream, or repeats it.

CREATE FUNCTION dp_counter_private.dp_running_count_support(internal)
RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_running_count_support';

COMMENT ON FUNCTION dp_counter_private.dp_running_count_support(internal)
IS 'internal: has the planner refuse frames that move and calls of window functions that would be drawn more than once';

CREATE FUNCTION dp_running_count(
    "bit" boolean,
    epsilon double precision,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL,
    horizon bigint DEFAULT NULL
) RETURNS bigint
LANGUAGE c WINDOW VOLATILE PARALLEL RESTRICTED COST 10 SUPPORT dp_counter_private.dp_running_count_support
AS 'MODULE_PATHNAME', 'dp_running_count_boolean';

COMMENT ON FUNCTION dp_running_count(boolean, double precision, integer, pg_catalog.text, bigint)
IS 'window function: differentially private running count of the rows whose bit is true, a release for every row, in an order without ties; all releases of a partition together are epsilon-DP for neighbours that differ in one bit';

CREATE FUNCTION dp_running_count(
    "bit" bit,
    epsilon double precision,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL,
    horizon bigint DEFAULT NULL
) RETURNS bigint
LANGUAGE c WINDOW VOLATILE PARALLEL RESTRICTED COST 10 SUPPORT dp_counter_private.dp_running_count_support
AS 'MODULE_PATHNAME', 'dp_running_count_bit';

COMMENT ON FUNCTION dp_running_count(bit, double precision, integer, pg_catalog.text, bigint)
IS 'window function: differentially private running count of the rows whose bit(1) is 1, a release for every row, in an order without ties; all releases of a partition together are epsilon-DP for neighbours that differ in one bit';

-- Everybody's first tries (mistakes.cpp), for an error that shows the way out. PostgreSQL takes a bare NULL or '1' for text, where text is offered.
CREATE FUNCTION dp_running_count(
    "bit" pg_catalog.text,
    epsilon double precision,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL,
    horizon bigint DEFAULT NULL
) RETURNS bigint
LANGUAGE c WINDOW VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_running_count_text';

COMMENT ON FUNCTION dp_running_count(pg_catalog.text, double precision, integer, pg_catalog.text, bigint)
IS 'always an error, whose hint leads to a condition or a cast: a running count has bits, each of which is epsilon-DP';

CREATE FUNCTION dp_running_count(
    "bit" double precision,
    epsilon double precision,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL,
    horizon bigint DEFAULT NULL
) RETURNS bigint
LANGUAGE c WINDOW VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_running_count_number';

COMMENT ON FUNCTION dp_running_count(double precision, double precision, integer, pg_catalog.text, bigint)
IS 'always an error, whose hint leads to dp_running_sum: a running count of numbers would not be epsilon-DP without their sensitivity';

-- Without the arguments that have no default. "any" takes no literal away from the others, which have more arguments.
CREATE FUNCTION dp_running_count("bit" "any" DEFAULT NULL)
RETURNS bigint
LANGUAGE c WINDOW VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_running_count_missing';

COMMENT ON FUNCTION dp_running_count("any")
IS 'always an error, whose hint has the arguments that are missing: nothing is epsilon-DP without an epsilon';

CREATE FUNCTION dp_running_sum(
    addend bigint,
    epsilon double precision,
    sensitivity bigint,
    horizon bigint DEFAULT NULL,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL
) RETURNS bigint
LANGUAGE c WINDOW VOLATILE PARALLEL RESTRICTED COST 10 SUPPORT dp_counter_private.dp_running_count_support
AS 'MODULE_PATHNAME', 'dp_running_sum';

COMMENT ON FUNCTION dp_running_sum(bigint, double precision, bigint, bigint, integer, pg_catalog.text)
IS 'window function: differentially private running sum, a release for every row, in an order without ties; the query as a whole is epsilon-DP for neighbours whose addends differ by at most sensitivity in l1, over all rows of all partitions together. Over GROUP BY a row is a period: dp_running_sum(count(*) FILTER (WHERE late), 1.0, 1) OVER (ORDER BY day)';

CREATE FUNCTION dp_running_sum(addend "any" DEFAULT NULL, epsilon "any" DEFAULT NULL)
RETURNS bigint
LANGUAGE c WINDOW VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_running_sum_missing';

COMMENT ON FUNCTION dp_running_sum("any", "any")
IS 'always an error, whose hint has the arguments that are missing: nothing is epsilon-DP without a sensitivity';

-- Aggregates ------------------------------------------------------------------------------------

CREATE FUNCTION dp_counter_private.dp_running_count_transition(internal, boolean, double precision, integer, bigint)
RETURNS internal
LANGUAGE c VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_running_count_transition';

COMMENT ON FUNCTION dp_counter_private.dp_running_count_transition(internal, boolean, double precision, integer, bigint)
IS 'internal: transition function of the aggregate dp_running_count';

CREATE FUNCTION dp_counter_private.dp_running_count_final(internal)
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_running_count_final';

COMMENT ON FUNCTION dp_counter_private.dp_running_count_final(internal)
IS 'internal: final function of the aggregate dp_running_count';

-- Without names: a call with named arguments is the window function.
CREATE AGGREGATE dp_running_count(boolean, double precision, integer, bigint)
(
    SFUNC = dp_counter_private.dp_running_count_transition,
    STYPE = internal,
    SSPACE = 256,
    FINALFUNC = dp_counter_private.dp_running_count_final,
    PARALLEL = RESTRICTED
);

COMMENT ON AGGREGATE dp_running_count(boolean, double precision, integer, bigint)
IS 'differentially private running count without spooling: under OVER with a frame of RANGE or GROUPS that grows a release for every row, in GROUP BY the release after the last row; epsilon-DP for neighbours that differ in one bit';

CREATE FUNCTION dp_counter_private.dp_count_transition(internal, boolean, double precision)
RETURNS internal
LANGUAGE c VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_count_transition';

COMMENT ON FUNCTION dp_counter_private.dp_count_transition(internal, boolean, double precision)
IS 'internal: transition function of the aggregate dp_count';

CREATE FUNCTION dp_counter_private.dp_count_final(internal)
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_count_final';

COMMENT ON FUNCTION dp_counter_private.dp_count_final(internal)
IS 'internal: final function of the aggregate dp_count';

CREATE AGGREGATE dp_count("bit" boolean, epsilon double precision)
(
    SFUNC = dp_counter_private.dp_count_transition,
    STYPE = internal,
    SSPACE = 128,
    FINALFUNC = dp_counter_private.dp_count_final,
    PARALLEL = RESTRICTED
);

COMMENT ON AGGREGATE dp_count(boolean, double precision)
IS 'one differentially private count of the rows whose bit is true, discrete Laplace noise of scale 1/epsilon; epsilon-DP for neighbours that differ in one bit, or in one row of a group that exists anyway. With GROUP BY the existence of a group is not protected: it shows';

-- Everybody's first tries again. A boolean, or a literal before a number, is never taken for "any". opr_sanity dislikes
-- aggregates of one name with different numbers of arguments, since a call with ORDER BY may reach the wrong one:
-- here that is an error.

CREATE FUNCTION dp_counter_private.dp_count_mistake(state bigint)
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_count_mistake';

COMMENT ON FUNCTION dp_counter_private.dp_count_mistake(bigint)
IS 'internal: always an error, for dp_count(*)';

CREATE FUNCTION dp_counter_private.dp_count_mistake(state bigint, VARIADIC arguments "any")
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_count_mistake';

COMMENT ON FUNCTION dp_counter_private.dp_count_mistake(bigint, "any")
IS 'internal: always an error, for dp_count with other arguments than it has';

CREATE AGGREGATE dp_count(*)
(
    SFUNC = dp_counter_private.dp_count_mistake,
    STYPE = bigint,
    FINALFUNC = dp_counter_private.dp_count_mistake,
    PARALLEL = RESTRICTED
);

COMMENT ON AGGREGATE dp_count(*)
IS 'always an error, whose hint has the arguments that are missing: nothing is epsilon-DP without an epsilon';

CREATE AGGREGATE dp_count(VARIADIC arguments "any")
(
    SFUNC = dp_counter_private.dp_count_mistake,
    STYPE = bigint,
    FINALFUNC = dp_counter_private.dp_count_mistake,
    FINALFUNC_EXTRA,
    PARALLEL = RESTRICTED
);

COMMENT ON AGGREGATE dp_count(VARIADIC "any")
IS 'always an error, whose hint leads to a condition and epsilon: a count of anything but bits would not be epsilon-DP';

-- CREATE AGGREGATE marks every aggregate IMMUTABLE and has no clause for another mark.

CREATE FUNCTION dp_repair()
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_repair';

COMMENT ON FUNCTION dp_repair()
IS 'for the extension''s owner, in every database after pg_upgrade: marks the aggregates, and whatever else draws noise, VOLATILE again, without which they refuse to run; the number of those that were not';

-- By its full name: a trusted extension is installed with a superuser's rights into a schema that may be anybody's.
SELECT @extschema@.dp_repair();

-- One exact number -------------------------------------------------------------------------------

CREATE FUNCTION dp_counter_private.dp_laplace_support(internal)
RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_laplace_support';

COMMENT ON FUNCTION dp_counter_private.dp_laplace_support(internal)
IS 'internal: has the planner refuse a call of dp_laplace that the query would draw more than once';

CREATE FUNCTION dp_laplace(value bigint, epsilon double precision, sensitivity bigint)
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL RESTRICTED COST 10 SUPPORT dp_counter_private.dp_laplace_support
AS 'MODULE_PATHNAME', 'dp_laplace';

COMMENT ON FUNCTION dp_laplace(bigint, double precision, bigint)
IS 'the Laplace mechanism: value plus discrete Laplace noise of scale sensitivity/epsilon; epsilon-DP for neighbours whose values differ by at most sensitivity in l1, over all rows together. A NULL value is 0. Call it above a subquery with the GROUP BY, which then stays parallel';

CREATE FUNCTION dp_laplace(value "any", epsilon "any" DEFAULT NULL)
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_laplace_missing';

COMMENT ON FUNCTION dp_laplace("any", "any")
IS 'always an error, whose hint has the arguments that are missing: nothing is epsilon-DP without a sensitivity';

-- Post-processing --------------------------------------------------------------------------------

CREATE FUNCTION dp_monotone(released bigint)
RETURNS double precision
LANGUAGE c WINDOW IMMUTABLE PARALLEL SAFE COST 10 SUPPORT dp_counter_private.dp_running_count_support
AS 'MODULE_PATHNAME', 'dp_monotone';

COMMENT ON FUNCTION dp_monotone(bigint)
IS 'window function: the non-decreasing path nearest to the releases of a partition in the window''s order, at no privacy cost: nothing but releases is read, so it is as epsilon-DP as they are. For counts, which never fall; the total squared error never grows';

-- Live counters: where they are kept ------------------------------------------------------------
--
-- Nobody but the extension's owner may use the schema, and no privilege is granted on its tables; row
-- security without a policy closes them to the members of pg_read_all_data and pg_write_all_data
-- too. The module reads and writes them directly, never by SQL: as heaps, whatever tables are by default.

CREATE SEQUENCE dp_counter_private.counters_number_seq AS pg_catalog.int4;

COMMENT ON SEQUENCE dp_counter_private.counters_number_seq
IS 'dp_counter: numbers for live counters and budgets, none of them used twice';

-- From anywhere: a dump that leaves the tables' rows out (pg_dump -s, -N dp_counter_private) has the views of counters
-- and budgets, which name their numbers. Restored, they must not show what others get here.
SELECT pg_catalog.setval(
    'dp_counter_private.counters_number_seq',
    (pg_catalog.random() OPERATOR(pg_catalog.*) 1000000000)::pg_catalog.int4 OPERATOR(pg_catalog.+) 1
);

CREATE TABLE dp_counter_private.counters (
    counter     pg_catalog.regclass PRIMARY KEY,
    number      pg_catalog.int4 NOT NULL UNIQUE,
    epsilon     pg_catalog.numeric NOT NULL,
    sensitivity pg_catalog.int8 NOT NULL,
    horizon     pg_catalog.int8,
    mechanism   pg_catalog.text NOT NULL,
    k           pg_catalog.int4,
    steps       pg_catalog.int8 NOT NULL,
    released_at pg_catalog.timestamptz,
    stddev      pg_catalog.float8,
    every       pg_catalog.interval
) USING heap;

ALTER TABLE dp_counter_private.counters ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.counters FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.counters
IS 'dp_counter: a row per live counter: its parameters, and how many steps it has closed';

-- A group of a counter has a stream; a counter without groups has one. What was counted up to the last
-- closed step is total + carries * 2^63, as in the table of events.
CREATE TABLE dp_counter_private.streams (
    number  pg_catalog.int4 NOT NULL,
    stream  pg_catalog.int4 NOT NULL,
    total   pg_catalog.int8 NOT NULL,
    carries pg_catalog.int8 NOT NULL,
    state   pg_catalog.bytea NOT NULL,
    PRIMARY KEY (number, stream)
) USING heap;

-- Never compressed: the stored length would depend on the noise.
ALTER TABLE dp_counter_private.streams
    ALTER COLUMN state SET STORAGE EXTERNAL,
    ALTER COLUMN state SET STATISTICS 0,
    ALTER COLUMN total SET STATISTICS 0,
    ALTER COLUMN carries SET STATISTICS 0,
    ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.streams FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.streams
IS 'dp_counter: true totals and secret noise of the live counters, a row per stream';

-- A slot has had total + carries * 2^63 events; head and tail are marks (events_table.cpp). Room on
-- every page for new versions of its rows: they replace one another in place.
CREATE TABLE dp_counter_private.events (
    counter  pg_catalog.regclass NOT NULL,
    slot     pg_catalog.int4 NOT NULL,
    head     pg_catalog.bool NOT NULL,
    total    pg_catalog.int8 NOT NULL,
    carries  pg_catalog.int8 NOT NULL,
    tail     pg_catalog.bool NOT NULL
) USING heap WITH (fillfactor = 10);

CREATE INDEX events_counter_slot_idx ON dp_counter_private.events (counter, slot);

ALTER TABLE dp_counter_private.events
    ALTER COLUMN head SET STATISTICS 0,
    ALTER COLUMN total SET STATISTICS 0,
    ALTER COLUMN carries SET STATISTICS 0,
    ALTER COLUMN tail SET STATISTICS 0,
    ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.events FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.events
IS 'dp_counter: true numbers of the events recorded in each live counter';

-- Releases are public as soon as their step is published, which is one row's change. But xmin would tell the
-- number of transactions between two of them, and so of recordings: nobody reads the table itself, but a view
-- of it without system columns. The empty row beside the tables makes the view one that cannot be updated.
CREATE TABLE dp_counter_private.releases (
    number      pg_catalog.int4 NOT NULL,
    step        pg_catalog.int8 NOT NULL,
    stream      pg_catalog.int4 NOT NULL,
    period      pg_catalog.timestamptz,
    released_at pg_catalog.timestamptz NOT NULL,
    count       pg_catalog.int8 NOT NULL,
    stddev      pg_catalog.float8 NOT NULL,
    low         pg_catalog.int8 NOT NULL,
    high        pg_catalog.int8 NOT NULL,
    PRIMARY KEY (number, step, stream)
) USING heap;

ALTER TABLE dp_counter_private.releases
    ALTER COLUMN number SET STATISTICS 0,
    ALTER COLUMN step SET STATISTICS 0,
    ALTER COLUMN stream SET STATISTICS 0,
    ALTER COLUMN period SET STATISTICS 0,
    ALTER COLUMN released_at SET STATISTICS 0,
    ALTER COLUMN count SET STATISTICS 0,
    ALTER COLUMN stddev SET STATISTICS 0,
    ALTER COLUMN low SET STATISTICS 0,
    ALTER COLUMN high SET STATISTICS 0,
    ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.releases FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.releases
IS 'dp_counter: the releases of all live counters, published or about to be';

CREATE TABLE dp_counter_private.publications (
    number  pg_catalog.int4 PRIMARY KEY,
    steps   pg_catalog.int8 NOT NULL
) USING heap;

ALTER TABLE dp_counter_private.publications ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.publications FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.publications
IS 'dp_counter: how many steps of each live counter everybody may see';

CREATE VIEW dp_counter_private.published WITH (security_barrier) AS
SELECT r.number, r.stream, r.period, r.step, r.released_at, r.count, r.stddev, r.low, r.high
FROM dp_counter_private.releases AS r, dp_counter_private.publications AS p, (SELECT) AS one
WHERE r.number OPERATOR(pg_catalog.=) p.number AND r.step OPERATOR(pg_catalog.<=) p.steps;

GRANT SELECT ON dp_counter_private.published TO PUBLIC;

COMMENT ON VIEW dp_counter_private.published
IS 'dp_counter: what the view of each live counter takes its releases from';

CREATE TABLE dp_counter_private.budgets (
    budget  pg_catalog.regclass PRIMARY KEY,
    number  pg_catalog.int4 NOT NULL UNIQUE,
    epsilon pg_catalog.numeric NOT NULL
) USING heap;

ALTER TABLE dp_counter_private.budgets ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.budgets FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.budgets
IS 'dp_counter: how much epsilon each budget has';

-- Entries name budget and counter by their numbers; purpose is the counter's name where it is gone.
CREATE TABLE dp_counter_private.budget_entries (
    budget   pg_catalog.int4 NOT NULL,
    number   pg_catalog.int4 UNIQUE,
    purpose  pg_catalog.text NOT NULL,
    epsilon  pg_catalog.numeric NOT NULL,
    spent_at pg_catalog.timestamptz NOT NULL
) USING heap;

CREATE INDEX budget_entries_budget_idx ON dp_counter_private.budget_entries (budget);

ALTER TABLE dp_counter_private.budget_entries ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.budget_entries FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.budget_entries
IS 'dp_counter: what has spent each budget';

CREATE VIEW dp_counter_private.spendings WITH (security_barrier) AS
SELECT e.budget,
       COALESCE(c.counter::pg_catalog.text, e.purpose) AS purpose,
       e.epsilon,
       e.spent_at
FROM dp_counter_private.budget_entries AS e
     LEFT JOIN dp_counter_private.counters AS c ON c.number OPERATOR(pg_catalog.=) e.number;

GRANT SELECT ON dp_counter_private.spendings TO PUBLIC;

COMMENT ON VIEW dp_counter_private.spendings
IS 'dp_counter: what the view of each budget takes its entries from';

-- Sources: views of people's, and what counters count in them. Columns are numbers, so that they may be
-- renamed.
CREATE TABLE dp_counter_private.sources (
    source      pg_catalog.regclass PRIMARY KEY,
    budget      pg_catalog.regclass NOT NULL,
    person      pg_catalog.int2 NOT NULL,
    at          pg_catalog.int2 NOT NULL,
    time_zone   pg_catalog.text NOT NULL,
    person_wise pg_catalog.bool NOT NULL
) USING heap;

ALTER TABLE dp_counter_private.sources ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.sources FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.sources
IS 'dp_counter: a row per source: whose events its rows are, and when they happened';

CREATE TABLE dp_counter_private.source_counters (
    counter    pg_catalog.regclass PRIMARY KEY,
    source     pg_catalog.regclass NOT NULL,
    event      pg_catalog.int2,
    sum        pg_catalog.int2,
    upper      pg_catalog.int8 NOT NULL,
    per_person pg_catalog.int8 NOT NULL,
    by         pg_catalog.int2,
    groups     pg_catalog.text[],
    every      pg_catalog.interval NOT NULL,
    since      pg_catalog.timestamp NOT NULL,
    grace      pg_catalog.interval NOT NULL,
    ended      pg_catalog.timestamptz,
    key        pg_catalog.bytea NOT NULL
) USING heap;

ALTER TABLE dp_counter_private.source_counters
    ALTER COLUMN key SET STATISTICS 0,
    ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.source_counters FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.source_counters
IS 'dp_counter: what each counter with a source counts, and the secret key of its tallies';

-- Persons are digests under the counter's key. Room on every page, so that new versions stay there.
CREATE TABLE dp_counter_private.tallies (
    used    pg_catalog.int8 NOT NULL,
    number  pg_catalog.int4 NOT NULL,
    digest  pg_catalog.uuid NOT NULL
) USING heap WITH (fillfactor = 90);

-- Unique: were the rows of a person ever to come apart, that is an error, not a second bound.
CREATE UNIQUE INDEX tallies_number_digest_idx ON dp_counter_private.tallies (number, digest);

ALTER TABLE dp_counter_private.tallies
    ALTER COLUMN used SET STATISTICS 0,
    ALTER COLUMN number SET STATISTICS 0,
    ALTER COLUMN digest SET STATISTICS 0,
    ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.tallies FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.tallies
IS 'dp_counter: how many events of each person each counter with a source has counted';

-- pg_dump takes the rows of all these from the first counter or budget on: before, whoever owns the
-- database dumps it without a right to read them. A restored dump brings rows by COPY.
CREATE FUNCTION dp_counter_private.kept_in_dumps() RETURNS boolean
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_kept_in_dumps';

REVOKE ALL ON FUNCTION dp_counter_private.kept_in_dumps() FROM PUBLIC;

COMMENT ON FUNCTION dp_counter_private.kept_in_dumps()
IS 'dp_counter: true; and from now on dumps have the rows of counters and budgets';

ALTER TABLE dp_counter_private.counters
    ADD CONSTRAINT kept_in_dumps CHECK (dp_counter_private.kept_in_dumps());
ALTER TABLE dp_counter_private.budgets
    ADD CONSTRAINT kept_in_dumps CHECK (dp_counter_private.kept_in_dumps());

-- Live counters: functions ------------------------------------------------------------------------
--
-- None is SECURITY DEFINER: they check the caller's privileges on the view of the counter's releases
-- and act with the caller's rights.

CREATE FUNCTION dp_counter_create(
    name pg_catalog.text DEFAULT NULL,
    source pg_catalog.regclass DEFAULT NULL,
    epsilon numeric DEFAULT NULL,
    every interval DEFAULT NULL,
    since "any" DEFAULT NULL,
    horizon bigint DEFAULT NULL,
    event pg_catalog.text DEFAULT NULL,
    per_person integer DEFAULT NULL,
    sum pg_catalog.text DEFAULT NULL,
    upper bigint DEFAULT NULL,
    by pg_catalog.text DEFAULT NULL,
    groups pg_catalog.text[] DEFAULT NULL,
    grace interval DEFAULT NULL,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL
) RETURNS pg_catalog.regclass
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_create';

COMMENT ON FUNCTION dp_counter_create(
    pg_catalog.text, pg_catalog.regclass, numeric, interval, "any", bigint, pg_catalog.text, integer,
    pg_catalog.text, bigint, pg_catalog.text, pg_catalog.text[], interval, integer, pg_catalog.text)
IS 'makes a counter over a source and the view of its releases, owned by the caller, and charges the budget of the source; epsilon-DP for its whole life, for neighbors that differ in all rows of one person, of whom at most per_person events (1 where NULL) count, each as 1 or, with sum, as at most upper';

CREATE FUNCTION dp_event_counter_create(
    name pg_catalog.text,
    epsilon numeric,
    horizon bigint DEFAULT NULL,
    every interval DEFAULT NULL,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL
) RETURNS pg_catalog.regclass
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_event_counter_create';

COMMENT ON FUNCTION dp_event_counter_create(pg_catalog.text, numeric, bigint, interval, integer, pg_catalog.text)
IS 'makes a counter that calls and triggers feed, and the view of its releases, owned by the caller; epsilon-DP for its whole life, for neighbors that differ by one event more or less in one step. Every is the least time between two steps';

CREATE FUNCTION dp_counter_record(counter pg_catalog.regclass, events integer DEFAULT 1)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_record';

COMMENT ON FUNCTION dp_counter_record(pg_catalog.regclass, integer)
IS 'records events in the open step of a live counter when the transaction commits; needs the INSERT privilege on the view of its releases';

CREATE FUNCTION dp_counter_record()
RETURNS pg_catalog.trigger
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_record_trigger';

COMMENT ON FUNCTION dp_counter_record()
IS 'AFTER trigger on INSERT or UPDATE: records each row, or each row of a statement''s NEW TABLE, as an event of the live counter that the trigger''s argument names';

CREATE PROCEDURE dp_counter_tick(counter pg_catalog.regclass)
LANGUAGE c
AS 'MODULE_PATHNAME', 'dp_counter_tick';

COMMENT ON PROCEDURE dp_counter_tick(pg_catalog.regclass)
IS 'closes the open step of a live counter, unless it comes before its time, and publishes its release; commits, so it cannot run inside a transaction block; needs the UPDATE privilege on the view of its releases';

CREATE FUNCTION dp_source_create(
    source pg_catalog.regclass,
    budget pg_catalog.regclass,
    person pg_catalog.text,
    at pg_catalog.text,
    time_zone pg_catalog.text DEFAULT NULL,
    person_wise boolean DEFAULT false
) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_source_create';

COMMENT ON FUNCTION dp_source_create(
    pg_catalog.regclass, pg_catalog.regclass, pg_catalog.text, pg_catalog.text, pg_catalog.text, boolean)
IS 'declares a view of the caller''s a source: its columns say whose event a row is and when it happened; the time zone, by default the current one, rules the periods of its counters';

CREATE FUNCTION dp_source_drop(source pg_catalog.regclass)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_source_drop';

COMMENT ON FUNCTION dp_source_drop(pg_catalog.regclass)
IS 'makes a source an ordinary view again; refused while counters count in it';

CREATE PROCEDURE dp_source_contributions(
    source pg_catalog.regclass,
    name pg_catalog.text,
    epsilon numeric,
    event pg_catalog.text DEFAULT NULL,
    most integer DEFAULT 20
)
LANGUAGE c
AS 'MODULE_PATHNAME', 'dp_source_contributions';

COMMENT ON PROCEDURE dp_source_contributions(
    pg_catalog.regclass, pg_catalog.text, numeric, pg_catalog.text, integer)
IS 'releases how many persons of a source have 1, 2, ... most events, or more, and the most that each bound would keep of all events (NULL where too many have more), into a table that it makes; charged to the budget, epsilon-DP for one person more or less; commits, so it cannot run inside a transaction block';

CREATE PROCEDURE dp_source_tick(source pg_catalog.regclass)
LANGUAGE c
AS 'MODULE_PATHNAME', 'dp_source_tick';

COMMENT ON PROCEDURE dp_source_tick(pg_catalog.regclass)
IS 'closes the periods that are over of each counter of the source on which the caller has the UPDATE privilege, and publishes their releases; commits, so it cannot run inside a transaction block';

CREATE FUNCTION dp_counter_drop(counter pg_catalog.regclass)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_drop';

COMMENT ON FUNCTION dp_counter_drop(pg_catalog.regclass)
IS 'drops a live counter, its state and its releases; for the owner of the view of its releases, as is DROP VIEW, which does the same';

CREATE FUNCTION dp_counter_private.dp_counter_dropped()
RETURNS pg_catalog.event_trigger
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_dropped';

COMMENT ON FUNCTION dp_counter_private.dp_counter_dropped()
IS 'internal: event trigger that ends the counters whose views are dropped';

CREATE EVENT TRIGGER dp_counter_dropped ON sql_drop
EXECUTE FUNCTION dp_counter_private.dp_counter_dropped();

-- With session_replication_role = replica too.
ALTER EVENT TRIGGER dp_counter_dropped ENABLE ALWAYS;

COMMENT ON EVENT TRIGGER dp_counter_dropped
IS 'dp_counter: ends the live counters whose views are dropped';

-- Live counters: the list -------------------------------------------------------------------------

CREATE VIEW dp_counters WITH (security_barrier) AS
SELECT c.counter,
       c.epsilon,
       c.sensitivity,
       c.horizon,
       c.steps,
       c.horizon OPERATOR(pg_catalog.-) c.steps AS steps_left,
       c.mechanism,
       c.k,
       c.stddev,
       c.released_at AS last_tick,
       s.source,
       (SELECT a.attname FROM pg_catalog.pg_attribute AS a
        WHERE a.attrelid OPERATOR(pg_catalog.=) s.source::pg_catalog.oid
              AND a.attnum OPERATOR(pg_catalog.=) s.event) AS event,
       (SELECT a.attname FROM pg_catalog.pg_attribute AS a
        WHERE a.attrelid OPERATOR(pg_catalog.=) s.source::pg_catalog.oid
              AND a.attnum OPERATOR(pg_catalog.=) s.sum) AS sum,
       s.upper,
       s.per_person,
       (SELECT a.attname FROM pg_catalog.pg_attribute AS a
        WHERE a.attrelid OPERATOR(pg_catalog.=) s.source::pg_catalog.oid
              AND a.attnum OPERATOR(pg_catalog.=) s.by) AS by,
       s.groups,
       COALESCE(s.every, c.every) AS every,
       s.since,
       (SELECT o.time_zone FROM dp_counter_private.sources AS o
        WHERE o.source OPERATOR(pg_catalog.=) s.source) AS time_zone,
       s.grace,
       s.ended
FROM dp_counter_private.counters AS c
     LEFT JOIN dp_counter_private.source_counters AS s ON s.counter OPERATOR(pg_catalog.=) c.counter,
     (SELECT) AS one -- not updatable: not for pg_write_all_data either
WHERE pg_catalog.has_table_privilege(c.counter::pg_catalog.oid, 'SELECT');

GRANT SELECT ON dp_counters TO PUBLIC;

COMMENT ON VIEW dp_counters
IS 'the live counters whose releases the reader may read: public values only; stddev and last_tick are those of the last release, every is the length of a period, or without a source the least time between two steps, since is local to time_zone, ended is when the last released period of a counter with a source was over';

CREATE VIEW dp_sources WITH (security_barrier) AS
SELECT s.source,
       s.budget,
       p.attname AS person,
       a.attname AS at,
       s.time_zone,
       s.person_wise,
       (SELECT pg_catalog.count(*) FROM dp_counter_private.source_counters AS c
        WHERE c.source OPERATOR(pg_catalog.=) s.source) AS counters
FROM dp_counter_private.sources AS s, pg_catalog.pg_class AS v, pg_catalog.pg_attribute AS p, pg_catalog.pg_attribute AS a
WHERE v.oid OPERATOR(pg_catalog.=) s.source::pg_catalog.oid
      AND p.attrelid OPERATOR(pg_catalog.=) v.oid AND p.attnum OPERATOR(pg_catalog.=) s.person
      AND a.attrelid OPERATOR(pg_catalog.=) v.oid AND a.attnum OPERATOR(pg_catalog.=) s.at
      AND pg_catalog.pg_has_role(v.relowner, 'USAGE');

GRANT SELECT ON dp_sources TO PUBLIC;

COMMENT ON VIEW dp_sources
IS 'the sources that the reader, or a role that he is a member of, owns, and how many counters count in each';

CREATE FUNCTION dp_counter_changes(
    counter pg_catalog.regclass,
    lag bigint,
    OUT period timestamp,
    OUT group_value pg_catalog.text,
    OUT step bigint,
    OUT count bigint,
    OUT sum bigint,
    OUT avg double precision,
    OUT stddev double precision,
    OUT low double precision,
    OUT high double precision
)
RETURNS SETOF record
LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'dp_counter_changes';

COMMENT ON FUNCTION dp_counter_changes(pg_catalog.regclass, bigint)
IS 'for every step and group of a live counter the events of the last lag periods, with the standard deviation and the 95 % interval of that difference; period is local to the source''s time zone; told from the releases, at no privacy cost';

-- Budgets -------------------------------------------------------------------------------------------
--
-- A budget is kept as a counter is: anchored by a view of its owner's, which is the list of what has spent it.

CREATE FUNCTION dp_budget_create(name pg_catalog.text, epsilon numeric)
RETURNS pg_catalog.regclass
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_budget_create';

COMMENT ON FUNCTION dp_budget_create(pg_catalog.text, numeric)
IS 'makes a budget, so much epsilon for all that is released about a population, and a view, owned by the caller, of what has spent it';

CREATE PROCEDURE dp_budget_spend(budget pg_catalog.regclass, epsilon numeric, purpose pg_catalog.text)
LANGUAGE c
AS 'MODULE_PATHNAME', 'dp_budget_spend';

COMMENT ON PROCEDURE dp_budget_spend(pg_catalog.regclass, numeric, pg_catalog.text)
IS 'books an epsilon that the caller, who owns the budget, is about to spend by a query; commits it at once, so it cannot run inside a transaction block; an error if less is left';

CREATE FUNCTION dp_budget_drop(budget pg_catalog.regclass)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_budget_drop';

COMMENT ON FUNCTION dp_budget_drop(pg_catalog.regclass)
IS 'drops a budget of the caller''s and forgets what has been spent from it, which DROP VIEW refuses to do';

CREATE VIEW dp_budgets WITH (security_barrier) AS
SELECT b.budget,
       b.epsilon,
       s.spent,
       b.epsilon OPERATOR(pg_catalog.-) s.spent AS remaining
FROM dp_counter_private.budgets AS b,
     LATERAL (SELECT COALESCE(pg_catalog.sum(e.epsilon), 0) AS spent
              FROM dp_counter_private.budget_entries AS e
              WHERE e.budget OPERATOR(pg_catalog.=) b.number) AS s
WHERE pg_catalog.has_table_privilege(b.budget::pg_catalog.oid, 'SELECT');

GRANT SELECT ON dp_budgets TO PUBLIC;

COMMENT ON VIEW dp_budgets
IS 'the budgets whose lists the reader may read: their epsilon, how much of it is spent and how much remains';

-- Planner ---------------------------------------------------------------------------------------
--
-- IMMUTABLE: functions of their arguments alone, which are public; the choice of a plan is
-- deterministic. (A later version may choose better: indexes and generated columns over them are
-- rebuilt after an upgrade, as for any extension.) PARALLEL SAFE: a worker computes the same. Not
-- STRICT where NULL means "choose".

CREATE FUNCTION dp_plan(
    horizon bigint,
    epsilon double precision,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL,
    sensitivity bigint DEFAULT 1,
    OUT mechanism pg_catalog.text,
    OUT height integer,
    OUT radices integer[],
    OUT scale double precision,
    OUT mse double precision,
    OUT rmse double precision,
    OUT max_stddev double precision,
    OUT state_bytes bigint,
    OUT first_step bigint,
    OUT last_step bigint
)
RETURNS SETOF record
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 ROWS 1
AS 'MODULE_PATHNAME', 'dp_plan';

COMMENT ON FUNCTION dp_plan(bigint, double precision, integer, pg_catalog.text, bigint)
IS 'the mechanism, parameters and exact errors that dp_running_count has for this horizon and epsilon: known beforehand, at no privacy cost; NULL k and mechanism are chosen for the least mean squared error. A NULL horizon means a count that goes on, in epochs: a row for each, every step lies in one, which has all of epsilon, and its errors hold the noise that is carried over from the epochs before';

CREATE FUNCTION dp_compare(
    horizon bigint,
    epsilon double precision,
    delta double precision DEFAULT NULL,
    sensitivity bigint DEFAULT 1,
    contributions bigint DEFAULT 1,
    OUT mechanism pg_catalog.text,
    OUT k integer,
    OUT guarantee pg_catalog.text,
    OUT mse double precision,
    OUT rmse double precision,
    OUT max_stddev double precision,
    OUT ratio double precision
)
RETURNS SETOF record
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10000 ROWS 12
AS 'MODULE_PATHNAME', 'dp_compare';

COMMENT ON FUNCTION dp_compare(bigint, double precision, double precision, bigint, bigint)
IS 'the errors of this extension''s mechanisms and of those in the literature, least mean squared error first, known beforehand and at no privacy cost; ratio is that to the best. With a delta the Gaussian mechanisms are added, whose guarantee (approximate) is weaker, so equal errors are no draw; contributions is the number of steps that the change of a unit (sensitivity) is spread over, by which they alone gain';

CREATE FUNCTION dp_stddev(
    step bigint,
    horizon bigint,
    epsilon double precision,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL,
    sensitivity bigint DEFAULT 1,
    since_step bigint DEFAULT 0
) RETURNS double precision
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'dp_stddev';

COMMENT ON FUNCTION dp_stddev(bigint, bigint, double precision, integer, pg_catalog.text, bigint, bigint)
IS 'the standard deviation of the release of dp_running_count or dp_running_sum after step rows, or of its difference to that after since_step rows, at no privacy cost: exact, the rounding of bridge and hat counted as a variance of 1/12 each. One number (dp_count, dp_laplace) is step = horizon = 1';

CREATE FUNCTION dp_interval(
    released bigint,
    step bigint,
    horizon bigint,
    epsilon double precision,
    confidence double precision DEFAULT 0.95,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL,
    sensitivity bigint DEFAULT 1,
    since_step bigint DEFAULT 0,
    within pg_catalog.int8range DEFAULT NULL
) RETURNS pg_catalog.int8range
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'dp_interval';

COMMENT ON FUNCTION dp_interval(
    bigint, bigint, bigint, double precision, double precision, integer, pg_catalog.text, bigint, bigint,
    pg_catalog.int8range)
IS 'the shortest interval, or one wider by 1 at each end, around a release of dp_running_count or dp_running_sum after step rows, or around its difference to that after since_step rows, that holds the truth with this probability, from the exact distribution of the noise, at no privacy cost. Where the truth lies in within for certain, its ends are moved into that. One number (dp_count, dp_laplace) is step = horizon = 1';

CREATE FUNCTION dp_laplace_scale(
    epsilon double precision,
    delta double precision,
    l1_sensitivity double precision,
    l2_sensitivity double precision
) RETURNS double precision
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_laplace_scale';

COMMENT ON FUNCTION dp_laplace_scale(
    double precision, double precision, double precision, double precision)
IS 'the least scale of Laplace noise that is (epsilon, delta)-private for values of these sensitivities (the paper''s theorem on approximate differential privacy)';

CREATE FUNCTION dp_laplace_epsilon(
    scale double precision,
    delta double precision,
    l1_sensitivity double precision,
    l2_sensitivity double precision
) RETURNS double precision
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_laplace_epsilon';

COMMENT ON FUNCTION dp_laplace_epsilon(
    double precision, double precision, double precision, double precision)
IS 'the epsilon for which Laplace noise of this scale is (epsilon, delta)-private for values of these sensitivities (the paper''s theorem on approximate differential privacy)';

CREATE FUNCTION dp_gaussian_stddev(
    epsilon double precision,
    delta double precision,
    l2_sensitivity double precision,
    analytic boolean DEFAULT true
) RETURNS double precision
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_gaussian_stddev';

COMMENT ON FUNCTION dp_gaussian_stddev(
    double precision, double precision, double precision, boolean)
IS 'the standard deviation of Gaussian noise that is (epsilon, delta)-private for values of this l2 sensitivity: the least there is (analytic: Balle and Wang 2018), or sqrt(2 ln(1.25/delta))/epsilon where that holds (classic)';
