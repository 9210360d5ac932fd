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
   'most sensitivity in l1, over all rows of all partitions. To count by period, call it over '
   'GROUP BY: dp_running_sum(count(*) FILTER (WHERE late), 1.0, 1) OVER (ORDER BY day).';

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

-- Tables of counters and budgets -----------------------------------------------------------------
--
-- The schema belongs to a superuser, and no privilege on it or its tables is granted. Row
-- security without a policy excludes members of pg_read_all_data and pg_write_all_data too. The
-- module reads and writes the tables directly, not by SQL, so they are heaps, whatever the default
-- access method is.

-- Rows name a view by its OID, which a dump shows as the view's name. A regclass would make the COPY
-- of all rows fail where a dump leaves the schema of one view out.
CREATE TYPE dp_counter_private.view_name;

CREATE FUNCTION dp_counter_private.view_name_in(pg_catalog.cstring)
RETURNS dp_counter_private.view_name
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_counter_view_name_in';

COMMENT ON FUNCTION dp_counter_private.view_name_in(pg_catalog.cstring)
IS 'Internal: input of a view''s name; no view where there is none of this name.';

CREATE FUNCTION dp_counter_private.view_name_out(dp_counter_private.view_name)
RETURNS pg_catalog.cstring
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_counter_view_name_out';

COMMENT ON FUNCTION dp_counter_private.view_name_out(dp_counter_private.view_name)
IS 'Internal: output of a view''s name, qualified; a minus where the view is gone.';

CREATE TYPE dp_counter_private.view_name (
    INPUT = dp_counter_private.view_name_in,
    OUTPUT = dp_counter_private.view_name_out,
    LIKE = pg_catalog.oid
);

COMMENT ON TYPE dp_counter_private.view_name
IS 'dp_counter: the OID of a view, in dumps the name; nothing where there is no such view';

CREATE CAST (dp_counter_private.view_name AS pg_catalog.oid) WITHOUT FUNCTION AS IMPLICIT;

COMMENT ON CAST (dp_counter_private.view_name AS pg_catalog.oid)
IS 'dp_counter: the OID of the view';

CREATE FUNCTION dp_counter_private.face(view dp_counter_private.view_name, number bigint)
RETURNS pg_catalog.regclass
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_counter_face';

COMMENT ON FUNCTION dp_counter_private.face(dp_counter_private.view_name, bigint)
IS 'Internal: the view of the counter or budget with this number, whose query reads its rows; NULL '
   'where that view is lost.';

CREATE SEQUENCE dp_counter_private.counters_number_seq MAXVALUE 281474976710655; -- 2^48 - 1

COMMENT ON SEQUENCE dp_counter_private.counters_number_seq
IS 'dp_counter: numbers of counters and budgets, none of them used twice';

-- Start at a random number. A dump without the rows of these tables (pg_dump -s, or
-- -N dp_counter_private) contains the views of counters and budgets, which refer to their numbers;
-- restored, such a view must not show another counter that got the same number.
SELECT pg_catalog.setval(
    'dp_counter_private.counters_number_seq',
    (pg_catalog.random() OPERATOR(pg_catalog.*) 1e14)::pg_catalog.int8 OPERATOR(pg_catalog.+) 1
);

-- The last three columns are the database in which the counter lives: in another one, a copy, its
-- ticks are refused until dp_counter_resume. The module writes them. system_identifier is generated
-- so that no dump has it: a restored row has 0, and is a copy wherever it is.
CREATE TABLE dp_counter_private.counters (
    number      pg_catalog.int8 PRIMARY KEY,
    counter     dp_counter_private.view_name NOT NULL,
    epsilon     pg_catalog.numeric NOT NULL,
    sensitivity pg_catalog.int8 NOT NULL,
    horizon     pg_catalog.int8,
    mechanism   pg_catalog.text NOT NULL,
    k           pg_catalog.int4,
    steps       pg_catalog.int8 NOT NULL,
    released_at pg_catalog.timestamptz,
    stddev      pg_catalog.float8,
    every       pg_catalog.interval,
    cumulative  pg_catalog.bool NOT NULL,
    last_failed pg_catalog.timestamptz,
    last_sqlstate pg_catalog.text,
    ended_at    pg_catalog.timestamptz,
    system_identifier pg_catalog.int8 NOT NULL GENERATED ALWAYS AS (0) STORED,
    database    pg_catalog.oid NOT NULL,
    timeline    pg_catalog.int4 NOT NULL
) USING heap;

CREATE INDEX counters_counter_idx ON dp_counter_private.counters (counter);

ALTER TABLE dp_counter_private.counters ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.counters FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.counters
IS 'dp_counter: the counters, their parameters and the number of steps that each has closed';

-- Each group of a counter has a stream; a counter without groups has one stream. The count up to
-- the last closed step is total + carries * 2^63, as in the table of events. A tick replaces all
-- rows of a counter: the fillfactor leaves room on each page for HOT updates of all of its rows.
CREATE TABLE dp_counter_private.streams (
    number  pg_catalog.int8 NOT NULL,
    stream  pg_catalog.int4 NOT NULL,
    total   pg_catalog.int8 NOT NULL,
    carries pg_catalog.int8 NOT NULL,
    state   pg_catalog.bytea NOT NULL,
    PRIMARY KEY (number, stream)
) USING heap WITH (fillfactor = 45);

-- EXTERNAL: the length of a compressed state would depend on the noise.
ALTER TABLE dp_counter_private.streams
    ALTER COLUMN state SET STORAGE EXTERNAL,
    ALTER COLUMN state SET STATISTICS 0,
    ALTER COLUMN total SET STATISTICS 0,
    ALTER COLUMN carries SET STATISTICS 0,
    ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.streams FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.streams
IS 'dp_counter: true totals and secret noise of counters, one row for each stream';

-- The events of a slot are total + carries * 2^63; head and tail are marks (events_table.cpp). The
-- low fillfactor leaves room on each page for HOT updates.
CREATE TABLE dp_counter_private.events (
    number   pg_catalog.int8 NOT NULL,
    slot     pg_catalog.int4 NOT NULL,
    head     pg_catalog.bool NOT NULL,
    total    pg_catalog.int8 NOT NULL,
    carries  pg_catalog.int8 NOT NULL,
    tail     pg_catalog.bool NOT NULL
) USING heap WITH (fillfactor = 10);

CREATE INDEX events_number_slot_idx ON dp_counter_private.events (number, slot);

ALTER TABLE dp_counter_private.events
    ALTER COLUMN head SET STATISTICS 0,
    ALTER COLUMN total SET STATISTICS 0,
    ALTER COLUMN carries SET STATISTICS 0,
    ALTER COLUMN tail SET STATISTICS 0,
    ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.events FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.events
IS 'dp_counter: true numbers of recorded events of each event counter';

-- stream is the number of the group. Of an average, count and rest are its two numbers (measure.hpp)
-- and the interval is that of count / (count + rest).
--
-- Releases become public when their step is published, by an update of one row. But xmin would show
-- the number of transactions, and so of recordings, between two of them: roles read a view without
-- system columns, never the table. The row without columns, (SELECT) AS one, makes the view not
-- updatable.
CREATE TABLE dp_counter_private.releases (
    number      pg_catalog.int8 NOT NULL,
    step        pg_catalog.int8 NOT NULL,
    stream      pg_catalog.int4 NOT NULL,
    period      pg_catalog.timestamptz,
    released_at pg_catalog.timestamptz NOT NULL,
    count       pg_catalog.int8 NOT NULL,
    stddev      pg_catalog.float8 NOT NULL,
    low         pg_catalog.int8,
    high        pg_catalog.int8,
    rest        pg_catalog.int8,
    share_low   pg_catalog.float8,
    share_high  pg_catalog.float8,
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
    ALTER COLUMN rest SET STATISTICS 0,
    ALTER COLUMN share_low SET STATISTICS 0,
    ALTER COLUMN share_high SET STATISTICS 0,
    ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.releases FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.releases
IS 'dp_counter: the releases of all counters, published or about to be';

CREATE TABLE dp_counter_private.publications (
    number  pg_catalog.int8 PRIMARY KEY,
    steps   pg_catalog.int8 NOT NULL
) USING heap;

ALTER TABLE dp_counter_private.publications ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.publications FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.publications
IS 'dp_counter: how many steps of each counter readers may see';

-- The groups of a counter. Their order, and so the number of each, is that of the declaration.
CREATE TABLE dp_counter_private.groups (
    number pg_catalog.int8 NOT NULL,
    stream pg_catalog.int4 NOT NULL,
    name   pg_catalog.text NOT NULL,
    dropped boolean NOT NULL,
    PRIMARY KEY (number, stream)
) USING heap;

ALTER TABLE dp_counter_private.groups ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.groups FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.groups
IS 'dp_counter: the names of the groups of each counter, by the number of the group, and whether '
   'one was dropped';

CREATE FUNCTION dp_counter_private.group_name(number pg_catalog.int8, stream pg_catalog.int4)
RETURNS pg_catalog.text
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_counter_group_name';

COMMENT ON FUNCTION dp_counter_private.group_name(pg_catalog.int8, pg_catalog.int4)
IS 'Internal: the name of a group, for the views of counters. A query reads all names of a counter '
   'once.';

CREATE VIEW dp_counter_private.published WITH (security_barrier) AS
SELECT r.number, r.stream, r.period, r.step, r.released_at, r.count, r.stddev, r.low, r.high,
       r.rest, r.share_low, r.share_high,
       dp_counter_private.group_name(r.number, r.stream) AS name
FROM dp_counter_private.releases AS r, dp_counter_private.publications AS p, (SELECT) AS one
WHERE r.number OPERATOR(pg_catalog.=) p.number AND r.step OPERATOR(pg_catalog.<=) p.steps;

COMMENT ON VIEW dp_counter_private.published
IS 'dp_counter: the published releases, which the views of counters read';

CREATE TABLE dp_counter_private.budgets (
    number        pg_catalog.int8 PRIMARY KEY,
    budget        dp_counter_private.view_name NOT NULL,
    epsilon       pg_catalog.numeric NOT NULL,
    per           pg_catalog.interval,
    person_type   pg_catalog.regtype,
    time_type     pg_catalog.regtype,
    within        pg_catalog.int8,
    root          pg_catalog.int8 NOT NULL,
    since         pg_catalog.timestamp NOT NULL,
    until         pg_catalog.timestamp NOT NULL,
    least_epsilon pg_catalog.numeric NOT NULL,
    most_cells    pg_catalog.int8 NOT NULL
) USING heap;

CREATE INDEX budgets_budget_idx ON dp_counter_private.budgets (budget);

ALTER TABLE dp_counter_private.budgets ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.budgets FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.budgets
IS 'dp_counter: the epsilon of each budget; of one that renews, the length of a person''s windows, '
   'and the types of person and time of its sources; of one within another, the numbers of that and '
   'of the outermost one, whose windows it has, and the times for which it may be charged';

-- What is left of budgets that were dropped: name is the last one, spent the most that a window has
-- spent. In another cluster the owner's OID may be another role's.
CREATE TABLE dp_counter_private.dropped_budgets (
    number     pg_catalog.int8 PRIMARY KEY,
    name       pg_catalog.text,
    epsilon    pg_catalog.numeric NOT NULL,
    per        pg_catalog.interval,
    spent      pg_catalog.numeric NOT NULL,
    within     pg_catalog.int8,
    since      pg_catalog.timestamp NOT NULL,
    until      pg_catalog.timestamp NOT NULL,
    owner      pg_catalog.oid NOT NULL,
    owner_name pg_catalog.text,
    dropped_at pg_catalog.timestamptz NOT NULL,
    dropped_by pg_catalog.text NOT NULL
) USING heap;

ALTER TABLE dp_counter_private.dropped_budgets ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.dropped_budgets FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.dropped_budgets
IS 'dp_counter: budgets that were dropped, and what was spent of each';

-- One key for all renewing budgets: those of equal length have equal windows, so their charges
-- add up.
CREATE TABLE dp_counter_private.window_key (
    one pg_catalog.bool PRIMARY KEY DEFAULT true CHECK (one),
    key pg_catalog.bytea NOT NULL
) USING heap;

ALTER TABLE dp_counter_private.window_key
    ALTER COLUMN key SET STATISTICS 0,
    ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.window_key FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.window_key
IS 'dp_counter: the secret key from which the windows of persons follow, from the first renewing '
   'budget on';

-- Entries refer to budget and counter by their numbers, also to a budget within the budget. A dropped
-- counter's entry is closed, and purpose keeps its last name; role is the name of the role that
-- charged, session_role that of session_user. since and until are times of the rows, as their column shows them (timestamptz: in UTC);
-- the windows that an entry is for begin from begins_from to before begins_before. A counter that
-- continues another one may have two entries. An entry whose end is moved earlier, from cut_from, and one
-- that is refunded say when and by whom.
CREATE TABLE dp_counter_private.budget_entries (
    entry         pg_catalog.int8 PRIMARY KEY,
    budget        pg_catalog.int8 NOT NULL,
    number        pg_catalog.int8,
    purpose       pg_catalog.text NOT NULL,
    epsilon       pg_catalog.numeric NOT NULL,
    since         pg_catalog.timestamp NOT NULL,
    until         pg_catalog.timestamp NOT NULL,
    begins_from   pg_catalog.timestamp NOT NULL,
    begins_before pg_catalog.timestamp NOT NULL,
    role          pg_catalog.text NOT NULL,
    session_role  pg_catalog.text NOT NULL,
    spent_at      pg_catalog.timestamptz NOT NULL,
    closed        pg_catalog.bool NOT NULL,
    cut_at        pg_catalog.timestamptz,
    cut_by        pg_catalog.text,
    cut_from      pg_catalog.timestamp,
    refunded_at   pg_catalog.timestamptz,
    refunded_by   pg_catalog.text
) USING heap;

CREATE INDEX budget_entries_budget_idx ON dp_counter_private.budget_entries (budget);
CREATE INDEX budget_entries_number_idx ON dp_counter_private.budget_entries (number);

ALTER TABLE dp_counter_private.budget_entries ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.budget_entries FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.budget_entries
IS 'dp_counter: what has spent each budget, with what was cut or refunded';

CREATE VIEW dp_counter_private.spendings WITH (security_barrier) AS
SELECT e.budget,
       COALESCE(dp_counter_private.face(c.counter, c.number)::pg_catalog.text,
                dp_counter_private.face(b.budget, b.number)::pg_catalog.text, e.purpose) AS purpose,
       e.epsilon,
       CASE WHEN pg_catalog.isfinite(e.since) THEN e.since END AS since,
       CASE WHEN pg_catalog.isfinite(e.until) THEN e.until END AS until,
       CASE WHEN pg_catalog.isfinite(e.begins_from) THEN e.begins_from END AS begins_from,
       CASE WHEN pg_catalog.isfinite(e.begins_before) THEN e.begins_before END AS begins_before,
       e.role,
       e.session_role,
       e.spent_at,
       e.cut_at,
       e.cut_by,
       CASE WHEN pg_catalog.isfinite(e.cut_from) THEN e.cut_from END AS cut_from,
       e.refunded_at,
       e.refunded_by
FROM dp_counter_private.budget_entries AS e
     LEFT JOIN dp_counter_private.counters AS c ON c.number OPERATOR(pg_catalog.=) e.number
     LEFT JOIN dp_counter_private.budgets AS b ON b.number OPERATOR(pg_catalog.=) e.number;

COMMENT ON VIEW dp_counter_private.spendings
IS 'dp_counter: the entries of budgets, which the views of budgets read';

-- Sources are views; these tables hold what counters count in them. Columns are stored by number,
-- so that they can be renamed.
CREATE TABLE dp_counter_private.sources (
    source      dp_counter_private.view_name NOT NULL,
    budget      pg_catalog.int8 NOT NULL,
    person      pg_catalog.int2 NOT NULL,
    at          pg_catalog.int2 NOT NULL,
    time_zone   pg_catalog.text NOT NULL,
    person_wise pg_catalog.bool NOT NULL,
    window_wise pg_catalog.bool NOT NULL,
    never_fails pg_catalog.int2[] NOT NULL
) USING heap;

CREATE INDEX sources_source_idx ON dp_counter_private.sources (source);

ALTER TABLE dp_counter_private.sources ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.sources FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.sources
IS 'dp_counter: the sources, and which of their columns are the person and the time of a row';

-- Released numbers, but for who has no counter of the source. event is 0 for all rows.
CREATE TABLE dp_counter_private.contributions (
    source      dp_counter_private.view_name NOT NULL,
    event       pg_catalog.int2 NOT NULL,
    bound       pg_catalog.int4 NOT NULL,
    kept        pg_catalog.float8,
    low         pg_catalog.float8 NOT NULL,
    high        pg_catalog.float8 NOT NULL,
    released_at pg_catalog.timestamptz NOT NULL
) USING heap;

CREATE INDEX contributions_source_event_bound_idx
    ON dp_counter_private.contributions (source, event, bound);

ALTER TABLE dp_counter_private.contributions ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.contributions FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.contributions
IS 'dp_counter: the share of a source''s events that each bound keeps, with the ends of its '
   'interval, as a report last released them';

CREATE TABLE dp_counter_private.source_counters (
    number     pg_catalog.int8 PRIMARY KEY,
    source     dp_counter_private.view_name NOT NULL,
    event      pg_catalog.int2,
    measure    pg_catalog.text NOT NULL,
    value      pg_catalog.int2,
    lower      pg_catalog.int8 NOT NULL,
    upper      pg_catalog.int8 NOT NULL,
    per_person pg_catalog.int8,
    by         pg_catalog.int2,
    groups     pg_catalog.int4,
    others     pg_catalog.int4,
    every      pg_catalog.interval NOT NULL,
    since      pg_catalog.timestamp NOT NULL,
    grace      pg_catalog.interval NOT NULL,
    ended      pg_catalog.timestamptz,
    offsets    pg_catalog.int8 NOT NULL,
    key        pg_catalog.bytea NOT NULL,
    analyst    pg_catalog.bool NOT NULL,
    begun      pg_catalog.bool NOT NULL,
    remembered pg_catalog.text[] NOT NULL,
    continues  pg_catalog.int8,
    continued  pg_catalog.timestamp,
    old_epsilon pg_catalog.numeric,
    old_per_person pg_catalog.int8
) USING heap;

ALTER TABLE dp_counter_private.source_counters
    ALTER COLUMN key SET STATISTICS 0,
    ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.source_counters FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.source_counters
IS 'dp_counter: what each counter over a source counts, a digest of its time zone''s offsets, and '
   'the secret key of its tallies; of one that an analyst declared, whether a tick has begun to read '
   'rows; names and types of what it reads, for when its source was dropped; and of one that '
   'continues another one the number of that, where it ended, its epsilon and its bound';

-- A person is stored as a digest under the counter's key. The fillfactor leaves room on each page
-- for new versions of its rows.
CREATE TABLE dp_counter_private.tallies (
    used       pg_catalog.int8 NOT NULL,
    number     pg_catalog.int8 NOT NULL,
    digest     pg_catalog.uuid NOT NULL,
    own_window pg_catalog.int4 NOT NULL
) USING heap WITH (fillfactor = 90);

-- Unique, so that a person with two rows would be an error, not a second bound.
CREATE UNIQUE INDEX tallies_number_digest_idx ON dp_counter_private.tallies (number, digest);

ALTER TABLE dp_counter_private.tallies
    ALTER COLUMN used SET STATISTICS 0,
    ALTER COLUMN number SET STATISTICS 0,
    ALTER COLUMN own_window SET STATISTICS 0,
    ALTER COLUMN digest SET STATISTICS 0,
    ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.tallies FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.tallies
IS 'dp_counter: how many events of each person each counter over a source has counted';

-- From the first counter or budget on, pg_dump dumps the rows of all these tables. Until then it
-- must not read them: the owner of the database may lack the privilege and still needs to dump it.
-- A restored dump inserts the rows by COPY, for which these constraints call the function.
CREATE FUNCTION dp_counter_private.kept_in_dumps() RETURNS boolean
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_kept_in_dumps';

COMMENT ON FUNCTION dp_counter_private.kept_in_dumps()
IS 'Internal: returns true, and includes the rows of counters and budgets in dumps from now on.';

ALTER TABLE dp_counter_private.counters
    ADD CONSTRAINT kept_in_dumps CHECK (dp_counter_private.kept_in_dumps());
ALTER TABLE dp_counter_private.budgets
    ADD CONSTRAINT kept_in_dumps CHECK (dp_counter_private.kept_in_dumps());
ALTER TABLE dp_counter_private.dropped_budgets
    ADD CONSTRAINT kept_in_dumps CHECK (dp_counter_private.kept_in_dumps());

-- Counters and sources ---------------------------------------------------------------------------
--
-- None of the functions is SECURITY DEFINER: they check the caller's privileges on the view of the
-- counter and run with the caller's rights.

CREATE FUNCTION dp_counter_create(
    name pg_catalog.text DEFAULT NULL,
    source pg_catalog.regclass DEFAULT NULL,
    epsilon numeric DEFAULT NULL,
    every interval DEFAULT NULL,
    since timestamp DEFAULT NULL,
    horizon bigint DEFAULT NULL,
    event pg_catalog.text DEFAULT NULL,
    per_person integer DEFAULT NULL,
    persons boolean DEFAULT false,
    sum pg_catalog.text DEFAULT NULL,
    avg pg_catalog.text DEFAULT NULL,
    share pg_catalog.text DEFAULT NULL,
    lower bigint DEFAULT NULL,
    upper bigint DEFAULT NULL,
    by pg_catalog.text DEFAULT NULL,
    groups pg_catalog.text[] DEFAULT NULL,
    groups_from pg_catalog.regclass DEFAULT NULL,
    groups_column pg_catalog.text DEFAULT NULL,
    others pg_catalog.text DEFAULT NULL,
    grace interval DEFAULT NULL,
    cumulative boolean DEFAULT NULL,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL,
    budget pg_catalog.regclass DEFAULT NULL,
    continues pg_catalog.regclass DEFAULT NULL,
    same_persons boolean DEFAULT false
) RETURNS pg_catalog.regclass
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_create';

COMMENT ON FUNCTION dp_counter_create(
    pg_catalog.text, pg_catalog.regclass, numeric, interval, timestamp, bigint, pg_catalog.text,
    integer, boolean, pg_catalog.text, pg_catalog.text, pg_catalog.text, bigint, bigint,
    pg_catalog.text, pg_catalog.text[], pg_catalog.regclass, pg_catalog.text, pg_catalog.text,
    interval, boolean, integer, pg_catalog.text, pg_catalog.regclass, pg_catalog.regclass,
    boolean)
IS 'Creates a counter over a source and the view of its releases, and charges the budget of the '
   'source or one within it. The caller owns the source, and then the view, or has REFERENCES on '
   'the columns named and INSERT on the budget, and gets SELECT on the view. All its releases '
   'together are epsilon-DP for neighbors that differ in all rows of one person or, where the '
   'budget renews, in those of one of the person''s own windows. At most per_person events of a '
   'person count there; per_person is required, but for persons. It counts events, persons, the '
   'sum or the average of a column clamped to lower .. upper, or the share of events for which a '
   'column is true. Its groups are public, an array or the values of a column of a table, which is '
   'read once, as the caller; rows of all others count in a group that others names, or not at '
   'all. '
   'With continues it begins where another counter of the caller''s has come to, which ends: each '
   'person has used up as much of the new bound as of the old one, and the budget is charged for '
   'what the new counter costs more. With same_persons the caller vouches that a person has the '
   'same key in the sources of both.';

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

COMMENT ON FUNCTION dp_event_counter_create(
    pg_catalog.text, numeric, bigint, interval, integer, pg_catalog.text)
IS 'Creates a counter of events that calls and triggers record, and the view of its releases, '
   'which the caller owns. All its releases together are epsilon-DP for neighbors that differ by '
   'one event in one step. The optional every is the least time between two steps.';

CREATE FUNCTION dp_counter_record(counter pg_catalog.regclass, events integer DEFAULT 1)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_record';

COMMENT ON FUNCTION dp_counter_record(pg_catalog.regclass, integer)
IS 'Records events in the open step of an event counter, when the transaction commits. Requires '
   'the INSERT privilege on the view of the counter.';

CREATE FUNCTION dp_counter_record()
RETURNS pg_catalog.trigger
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_record_trigger';

COMMENT ON FUNCTION dp_counter_record()
IS 'AFTER trigger on INSERT or UPDATE: records each row, or each row of a statement''s NEW '
   'TABLE, as an event of the event counter that the trigger''s argument names.';

CREATE PROCEDURE dp_tick(what pg_catalog.regclass DEFAULT NULL)
LANGUAGE c
AS 'MODULE_PATHNAME', 'dp_tick';

COMMENT ON PROCEDURE dp_tick(pg_catalog.regclass)
IS 'Closes the steps that are due and publishes their releases: of a counter, of the counters of a '
   'source, or of all counters of the database that have a source or an every. Requires the UPDATE '
   'privilege on the view of a counter; of many, it ticks those on which the caller has it, up to '
   '200,000 cells of each, and the next call goes on. It goes on past a counter that fails, and '
   'raises an error at the end that names those. It commits, so it cannot run inside a transaction '
   'block.';

CREATE FUNCTION dp_source_create(
    source pg_catalog.regclass,
    budget pg_catalog.regclass,
    person pg_catalog.text,
    at pg_catalog.text,
    time_zone pg_catalog.text DEFAULT NULL,
    person_wise boolean DEFAULT false,
    window_wise boolean DEFAULT false,
    never_fails pg_catalog.text[] DEFAULT NULL
) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_source_create';

COMMENT ON FUNCTION dp_source_create(
    pg_catalog.regclass, pg_catalog.regclass, pg_catalog.text, pg_catalog.text, pg_catalog.text,
    boolean, boolean, pg_catalog.text[])
IS 'Declares a view of the caller as a source. The columns person and at show whose event a row '
   'is and when it happened. Periods of its counters are local to time_zone, by default the '
   'current one. Called again with person_wise, window_wise or never_fails, it adds that; person '
   'may then be another column of the same plain type, time_zone another name of the same zone.';

CREATE FUNCTION dp_source_drop(source pg_catalog.regclass)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_source_drop';

COMMENT ON FUNCTION dp_source_drop(pg_catalog.regclass)
IS 'Makes a source an ordinary view again. Raises an error while the source has counters.';

CREATE PROCEDURE dp_source_contributions(
    source pg_catalog.regclass,
    name pg_catalog.text,
    epsilon numeric,
    event pg_catalog.text DEFAULT NULL,
    most integer DEFAULT 20,
    since timestamp DEFAULT NULL,
    until timestamp DEFAULT NULL
)
LANGUAGE c
AS 'MODULE_PATHNAME', 'dp_source_contributions';

COMMENT ON PROCEDURE dp_source_contributions(
    pg_catalog.regclass, pg_catalog.text, numeric, pg_catalog.text, integer, timestamp, timestamp)
IS 'Releases how many persons of a source have 1, 2, ..., most events, or more, and the greatest '
   'share of all events that each bound keeps, with its 95 % interval (NULL where too many persons '
   'have more), into a new table. Under a budget that renews it counts own windows of persons, those '
   'that are wholly in the range. It reads the rows from since to before until, by default now, '
   'charges the budget and is epsilon-DP for neighbors that differ in all rows of one person, or of '
   'one own window. It commits, so it cannot run inside a transaction block.';

CREATE PROCEDURE dp_source_suggest(
    source pg_catalog.regclass,
    name pg_catalog.text,
    epsilon numeric,
    plan_epsilon double precision,
    every interval,
    event pg_catalog.text DEFAULT NULL,
    sum pg_catalog.text DEFAULT NULL,
    avg pg_catalog.text DEFAULT NULL,
    per_person integer DEFAULT NULL,
    groups integer DEFAULT 1,
    since timestamp DEFAULT NULL,
    until timestamp DEFAULT NULL
)
LANGUAGE c
AS 'MODULE_PATHNAME', 'dp_source_suggest';

COMMENT ON PROCEDURE dp_source_suggest(
    pg_catalog.regclass, pg_catalog.text, numeric, double precision, interval, pg_catalog.text,
    pg_catalog.text, pg_catalog.text, integer, integer, timestamp, timestamp)
IS 'Chooses per_person for a counter with epsilon plan_epsilon, so many groups and periods of length '
   'every, or, where sum or avg names a column, its upper, into a new table. One more of it would '
   'cost as much noise as it saves. The table also has the share of all events that it keeps, or of '
   'the units'' greatest values, at most, with its 95 % interval; those of a unit beyond most do not '
   'count. Under a budget that renews it looks at the own windows that are wholly in the range. It '
   'reads the rows from since to before until, by default now, charges the budget and is epsilon-DP '
   'for neighbors that differ in all rows of one person, or of one own window. It commits, so it '
   'cannot run inside a transaction block.';

CREATE PROCEDURE dp_source_groups(
    source pg_catalog.regclass,
    name pg_catalog.text,
    epsilon numeric,
    "by" pg_catalog.text,
    most integer DEFAULT 4,
    event pg_catalog.text DEFAULT NULL,
    since timestamp DEFAULT NULL,
    until timestamp DEFAULT NULL,
    groups_from pg_catalog.regclass DEFAULT NULL,
    groups_column pg_catalog.text DEFAULT NULL
)
LANGUAGE c
AS 'MODULE_PATHNAME', 'dp_source_groups';

COMMENT ON PROCEDURE dp_source_groups(
    pg_catalog.regclass, pg_catalog.text, numeric, pg_catalog.text, integer, pg_catalog.text,
    timestamp, timestamp, pg_catalog.regclass, pg_catalog.text)
IS 'Finds which groups a source has, of those in a column of a table or of all values of an integer '
   'type, into a new table: those that weigh enough that with 95 % none of them is a false one. The '
   'weight of a person, or own window, is 1 in all, shared by its first most groups. It reads the '
   'rows from since to before until, by default now, charges the budget and is epsilon-DP for '
   'neighbors that differ in all rows of one person, or of one own window. It commits, so it cannot '
   'run inside a transaction block.';

CREATE FUNCTION dp_counter_add_groups(
    counter pg_catalog.regclass,
    groups pg_catalog.text[] DEFAULT NULL,
    groups_from pg_catalog.regclass DEFAULT NULL,
    groups_column pg_catalog.text DEFAULT NULL
) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_add_groups';

COMMENT ON FUNCTION dp_counter_add_groups(
    pg_catalog.regclass, pg_catalog.text[], pg_catalog.regclass, pg_catalog.text)
IS 'Adds groups to a counter over a source, from the next period that it closes on; of those in a '
   'column of a table the ones that are new. Their rows count among others no longer. It costs no '
   'epsilon, since a person''s bound is for all groups together. Only the owner of the view can '
   'call it.';

CREATE FUNCTION dp_counter_drop_groups(
    counter pg_catalog.regclass,
    groups pg_catalog.text[]
) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_drop_groups';

COMMENT ON FUNCTION dp_counter_drop_groups(pg_catalog.regclass, pg_catalog.text[])
IS 'Releases these groups of a counter no longer, from the next period that it closes on. Their '
   'releases stay, and their rows are those of groups that are not declared. A group cannot be '
   'added again. Only the owner of the view can call it.';

CREATE FUNCTION dp_counter_drop(counter pg_catalog.regclass)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_drop';

COMMENT ON FUNCTION dp_counter_drop(pg_catalog.regclass)
IS 'Drops a counter, its state and its releases, as DROP VIEW does. The owner of the view can call '
   'it or, for a counter that an analyst declared and for which no tick has begun to read, a role '
   'that may charge its budget.';

CREATE FUNCTION dp_counter_end(counter pg_catalog.regclass)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_end';

COMMENT ON FUNCTION dp_counter_end(pg_catalog.regclass)
IS 'Ends a counter: deletes its tallies, its noise and what it has not released, and keeps the view '
   'with its releases, which no longer depends on the source. The charge stays; where the budget '
   'renews it ends with the last closed step. Only the owner of the view can call it.';

CREATE FUNCTION dp_counter_resume(counter pg_catalog.regclass)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_resume';

COMMENT ON FUNCTION dp_counter_resume(pg_catalog.regclass)
IS 'Lets a counter go on in a copy of its database: one that was restored, copied or upgraded, or a '
   'standby that was promoted. Steps that the original has published and the copy lacks are released '
   'again, running totals with the same noise: call it only if there are none, and the original '
   'releases nothing more. Only the owner of the view can call it.';

CREATE FUNCTION dp_counter_private.dp_counter_dropped()
RETURNS pg_catalog.event_trigger
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_dropped';

COMMENT ON FUNCTION dp_counter_private.dp_counter_dropped()
IS 'Internal event trigger function: deletes the counters whose views are dropped.';

CREATE EVENT TRIGGER dp_counter_dropped ON sql_drop
EXECUTE FUNCTION dp_counter_private.dp_counter_dropped();

-- ALWAYS: also where session_replication_role is replica.
ALTER EVENT TRIGGER dp_counter_dropped ENABLE ALWAYS;

COMMENT ON EVENT TRIGGER dp_counter_dropped
IS 'dp_counter: deletes the counters whose views are dropped';

CREATE FUNCTION dp_counter_private.dp_counter_replaced()
RETURNS pg_catalog.event_trigger
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_replaced';

COMMENT ON FUNCTION dp_counter_private.dp_counter_replaced()
IS 'Internal event trigger function: keeps the queries of the views of counters and budgets.';

CREATE EVENT TRIGGER dp_counter_replaced ON ddl_command_end
WHEN TAG IN ('ALTER TABLE', 'ALTER VIEW', 'CREATE RULE', 'CREATE VIEW')
EXECUTE FUNCTION dp_counter_private.dp_counter_replaced();

ALTER EVENT TRIGGER dp_counter_replaced ENABLE ALWAYS;

COMMENT ON EVENT TRIGGER dp_counter_replaced
IS 'dp_counter: keeps the queries of the views of counters and budgets';

-- Lists of counters and sources ------------------------------------------------------------------

-- The view below passes what is public of a counter; any role may evaluate it, so any may call this.
CREATE FUNCTION dp_counter_private.next_step(
    steps bigint,
    horizon bigint,
    every interval,
    released_at timestamptz,
    time_type pg_catalog.oid,
    time_zone pg_catalog.text,
    since timestamp,
    "grace" interval,
    ended timestamptz,
    OUT next_due timestamptz,
    OUT periods_behind bigint
)
RETURNS record
LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_counter_next_step';

COMMENT ON FUNCTION dp_counter_private.next_step(
    bigint, bigint, interval, timestamptz, pg_catalog.oid, pg_catalog.text, timestamp, interval,
    timestamptz)
IS 'Internal: returns when the next step of a counter is due, and how many periods are due now.';

CREATE VIEW dp_counters WITH (security_barrier) AS
SELECT f.counter,
       c.epsilon,
       c.sensitivity,
       c.horizon,
       c.steps,
       c.horizon OPERATOR(pg_catalog.-) c.steps AS steps_left,
       c.mechanism,
       c.k,
       c.cumulative,
       c.stddev,
       c.released_at,
       (SELECT v.oid::pg_catalog.regclass FROM pg_catalog.pg_class AS v
        WHERE v.oid OPERATOR(pg_catalog.=) s.source::pg_catalog.oid) AS source,
       (SELECT a.attname FROM pg_catalog.pg_attribute AS a
        WHERE a.attrelid OPERATOR(pg_catalog.=) s.source::pg_catalog.oid
              AND a.attnum OPERATOR(pg_catalog.=) s.event) AS event,
       s.measure,
       (SELECT a.attname FROM pg_catalog.pg_attribute AS a
        WHERE a.attrelid OPERATOR(pg_catalog.=) s.source::pg_catalog.oid
              AND a.attnum OPERATOR(pg_catalog.=) s.value) AS value,
       CASE WHEN s.measure OPERATOR(pg_catalog.=) ANY ('{sum,avg}'::pg_catalog.text[])
            THEN s.lower END AS lower,
       CASE WHEN s.measure OPERATOR(pg_catalog.=) ANY ('{sum,avg}'::pg_catalog.text[])
            THEN s.upper END AS upper,
       s.per_person::pg_catalog.int4 AS per_person,
       (SELECT r.per FROM dp_counter_private.budget_entries AS e
                          JOIN dp_counter_private.budgets AS b
                          ON b.number OPERATOR(pg_catalog.=) e.budget
                          JOIN dp_counter_private.budgets AS r
                          ON r.number OPERATOR(pg_catalog.=) b.root
        WHERE e.number OPERATOR(pg_catalog.=) c.number LIMIT 1) AS per,
       COALESCE((SELECT a.attname FROM pg_catalog.pg_attribute AS a
                 WHERE a.attrelid OPERATOR(pg_catalog.=) s.source::pg_catalog.oid
                       AND a.attnum OPERATOR(pg_catalog.=) s.by),
                (SELECT a.attname FROM pg_catalog.pg_attribute AS a -- its source is gone
                 WHERE a.attrelid OPERATOR(pg_catalog.=) f.counter::pg_catalog.oid
                       AND a.attnum OPERATOR(pg_catalog.=) 2 AND s.by IS NOT NULL)) AS by,
       (SELECT pg_catalog.array_agg(g.name ORDER BY g.stream) FROM dp_counter_private.groups AS g
        WHERE g.number OPERATOR(pg_catalog.=) c.number AND NOT g.dropped) AS groups,
       (SELECT g.name FROM dp_counter_private.groups AS g
        WHERE g.number OPERATOR(pg_catalog.=) c.number
              AND g.stream OPERATOR(pg_catalog.=) s.others) AS others,
       COALESCE(s.every, c.every) AS every,
       s.since,
       o.time_zone,
       s.grace,
       s.ended,
       c.ended_at,
       n.next_due,
       n.periods_behind,
       CASE WHEN r.may_tick THEN c.last_failed END AS last_failed,
       CASE WHEN r.may_tick THEN c.last_sqlstate END AS last_sqlstate
FROM dp_counter_private.counters AS c
     LEFT JOIN dp_counter_private.source_counters AS s
     ON s.number OPERATOR(pg_catalog.=) c.number
     LEFT JOIN dp_counter_private.sources AS o ON o.source::pg_catalog.oid OPERATOR(pg_catalog.=) s.source::pg_catalog.oid
     LEFT JOIN pg_catalog.pg_attribute AS t
     ON t.attrelid OPERATOR(pg_catalog.=) o.source::pg_catalog.oid
        AND t.attnum OPERATOR(pg_catalog.=) o.at,
     LATERAL dp_counter_private.face(c.counter, c.number) AS f (counter),
     LATERAL (SELECT pg_catalog.has_table_privilege(f.counter::pg_catalog.oid, 'UPDATE')
                     OR pg_catalog.pg_has_role(v.relowner, 'USAGE') AS may_tick
              FROM pg_catalog.pg_class AS v
              WHERE v.oid OPERATOR(pg_catalog.=) f.counter::pg_catalog.oid) AS r,
     LATERAL dp_counter_private.next_step(
         c.steps, CASE WHEN c.ended_at IS NULL THEN c.horizon ELSE c.steps END,
         COALESCE(s.every, c.every), c.released_at, t.atttypid, o.time_zone, s.since, s.grace,
         s.ended) AS n,
     (SELECT) AS one -- makes the view not updatable, also for pg_write_all_data
WHERE r.may_tick
      OR pg_catalog.has_table_privilege(f.counter::pg_catalog.oid, 'SELECT')
      OR pg_catalog.pg_has_role('pg_monitor', 'USAGE');

COMMENT ON VIEW dp_counters
IS 'The counters whose views the current user may read or that it may tick, or all of them for '
   'members of pg_monitor; public values only. stddev and released_at are those of the last '
   'release; with mechanism box k is the periods of a block, and sensitivity the most blocks that a '
   'unit changes; per_person is for a person''s life or each own window, whose length is per; every is '
   'the length of a period or, for an event counter, the least time between two steps; others is the '
   'one of groups that counts the rows of all others; since is local to time_zone; ended is the end of the last released period, and ended_at when '
   'dp_counter_end ended the counter, NULL while it goes on. The next step may close at next_due, '
   'and periods_behind periods may now; NULL where no further step can come or an event counter '
   'has no every. last_failed and last_sqlstate are those of a failure of the last tick; '
   'roles that may not tick the counter see NULL.';

CREATE VIEW dp_sources WITH (security_barrier) AS
SELECT v.oid::pg_catalog.regclass AS source,
       (SELECT dp_counter_private.face(b.budget, b.number) FROM dp_counter_private.budgets AS b
        WHERE b.number OPERATOR(pg_catalog.=) s.budget) AS budget,
       p.attname AS person,
       a.attname AS at,
       s.time_zone,
       s.person_wise,
       s.window_wise,
       ARRAY(SELECT c.attname FROM pg_catalog.pg_attribute AS c
             WHERE c.attrelid OPERATOR(pg_catalog.=) v.oid
                   AND c.attnum OPERATOR(pg_catalog.=) ANY (s.never_fails)
             ORDER BY c.attnum) AS never_fails,
       (SELECT pg_catalog.count(*) FROM dp_counter_private.source_counters AS c
                                        JOIN dp_counter_private.counters AS n
                                        ON n.number OPERATOR(pg_catalog.=) c.number
        WHERE c.source::pg_catalog.oid OPERATOR(pg_catalog.=) v.oid AND n.ended_at IS NULL
              AND dp_counter_private.face(n.counter, n.number) IS NOT NULL) AS counters
FROM dp_counter_private.sources AS s, pg_catalog.pg_class AS v, pg_catalog.pg_attribute AS p,
     pg_catalog.pg_attribute AS a
WHERE v.oid OPERATOR(pg_catalog.=) s.source::pg_catalog.oid
      AND p.attrelid OPERATOR(pg_catalog.=) v.oid AND p.attnum OPERATOR(pg_catalog.=) s.person
      AND a.attrelid OPERATOR(pg_catalog.=) v.oid AND a.attnum OPERATOR(pg_catalog.=) s.at
      AND (pg_catalog.pg_has_role(v.relowner, 'USAGE')
           OR pg_catalog.has_any_column_privilege(v.oid, 'REFERENCES')
           OR pg_catalog.pg_has_role('pg_monitor', 'USAGE')
           OR EXISTS (SELECT FROM dp_counter_private.source_counters AS c
                                    JOIN dp_counter_private.counters AS n
                                    ON n.number OPERATOR(pg_catalog.=) c.number
                      WHERE c.source::pg_catalog.oid OPERATOR(pg_catalog.=) v.oid
                            AND pg_catalog.has_table_privilege(
                                dp_counter_private.face(n.counter, n.number)::pg_catalog.oid,
                                'UPDATE')));

COMMENT ON VIEW dp_sources
IS 'The sources that the current user, or a role of which the user is a member, owns or has the '
   'REFERENCES privilege on, those of which it may tick a counter, or all of them for members of '
   'pg_monitor, and the number of counters of each. never_fails are the columns for which the owner '
   'vouches that evaluating them raises no error.';

-- The planner has no statistics of releases, and would read many of them one by one by the index.
CREATE FUNCTION dp_counter_changes(
    counter pg_catalog.regclass,
    lag bigint,
    since timestamp DEFAULT NULL,
    until timestamp DEFAULT NULL,
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
SET enable_indexscan = off
AS 'MODULE_PATHNAME', 'dp_counter_changes';

COMMENT ON FUNCTION dp_counter_changes(pg_catalog.regclass, bigint, timestamp, timestamp)
IS 'Returns for the steps and groups of a counter the events of the last lag periods, with the '
   'standard deviation and the 95 % interval of that difference. Steps before lag, which have '
   'fewer periods behind them, are left out; since and until choose the steps whose period begins '
   'from since to before until. period is local to the time zone of the source. It reads only '
   'releases, so it costs no privacy.';

CREATE FUNCTION dp_counter_plan(
    counter pg_catalog.regclass,
    OUT of pg_catalog.text,
    OUT periods bigint,
    OUT stddev double precision,
    OUT half_width bigint,
    OUT groups integer,
    OUT sensitivity bigint,
    OUT epsilon numeric,
    OUT remaining numeric,
    OUT per interval,
    OUT kept pg_catalog.text,
    OUT guarantee pg_catalog.text
)
RETURNS SETOF record
LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000 ROWS 6
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'dp_counter_plan';

COMMENT ON FUNCTION dp_counter_plan(pg_catalog.regclass)
IS 'Returns what a counter costs and how accurate it is: for one period and for sums or changes of '
   '4, 12 and 52, the standard deviation of the noise and half the width of the 95 % interval; the '
   'charge to the budget, what remains of it for the times of the counter, which share of the events '
   'per_person keeps, as far as a report has released it, and the guarantee in words. It reads no '
   'data. In the transaction that creates the counter it shows what a rollback undoes.';

-- Budgets -----------------------------------------------------------------------------------------
--
-- A budget, like a counter, exists as long as its view, which lists what has spent it.

CREATE FUNCTION dp_budget_create(
    name pg_catalog.text,
    epsilon numeric,
    per interval DEFAULT NULL,
    within pg_catalog.regclass DEFAULT NULL,
    since timestamp DEFAULT NULL,
    until timestamp DEFAULT NULL,
    least_epsilon numeric DEFAULT NULL,
    most_cells bigint DEFAULT NULL
)
RETURNS pg_catalog.regclass
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_budget_create';

COMMENT ON FUNCTION dp_budget_create(
    pg_catalog.text, numeric, interval, pg_catalog.regclass, timestamp, timestamp, numeric,
    bigint)
IS 'Creates a budget, the epsilon that all releases about a population may spend together, and a '
   'view of what has spent it, which the caller owns. It is for all rows of one person or, with '
   'per, for those in one of the person''s own windows of so many days. With within, it is a share '
   'of another budget of the caller''s, set aside at once: if that one renews, for rows from since '
   'to before until, by default from today on. least_epsilon and most_cells, groups times periods '
   'a year, limit each counter that an analyst declares.';

CREATE PROCEDURE dp_budget_spend(
    budget pg_catalog.regclass,
    epsilon numeric,
    purpose pg_catalog.text,
    since timestamp DEFAULT NULL,
    until timestamp DEFAULT NULL
)
LANGUAGE c
AS 'MODULE_PATHNAME', 'dp_budget_spend';

COMMENT ON PROCEDURE dp_budget_spend(
    pg_catalog.regclass, numeric, pg_catalog.text, timestamp, timestamp)
IS 'Charges a budget with an epsilon that its owner is about to spend by a query, and raises an '
   'error if less is left. A budget that renews is charged for the rows from since to before '
   'until, in the time that their column shows (timestamptz: in UTC). It commits, so it cannot run '
   'inside a transaction block.';

CREATE FUNCTION dp_budget_left(
    budget pg_catalog.regclass,
    since timestamp DEFAULT NULL,
    until timestamp DEFAULT NULL
)
RETURNS numeric
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dp_budget_left';

COMMENT ON FUNCTION dp_budget_left(pg_catalog.regclass, timestamp, timestamp)
IS 'Returns what is left of a budget for a charge for the rows from since to before until, in the '
   'time that their column shows (timestamptz: in UTC); NULL is where the range of the budget '
   'begins or ends. Requires the SELECT privilege on the budget.';

CREATE FUNCTION dp_budget_drop(budget pg_catalog.regclass)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_budget_drop';

COMMENT ON FUNCTION dp_budget_drop(pg_catalog.regclass)
IS 'Drops a budget that has been spent from, which DROP VIEW refuses to do. dp_budgets goes on to show '
   'what was spent of it. One within another budget leaves what was spent there, and gives back the '
   'rest. Only the owner of the budget can '
   'call it, once no source names it, no counter is charged to it and no budget is within it.';

CREATE FUNCTION dp_own_window(budget pg_catalog.regclass, person "any", at "any")
RETURNS bigint
LANGUAGE c STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_own_window';

COMMENT ON FUNCTION dp_own_window(pg_catalog.regclass, "any", "any")
IS 'Returns the number of the person''s own window in which this time is, for queries that count '
   'within the windows of a budget that renews; NULL where one of them is NULL or the time is '
   'infinite. Only the owner of the budget can call it; of one within another, the owner of the '
   'outermost one.';

-- The view below passes what it reads; any role may evaluate it, so any may call this.
CREATE FUNCTION dp_counter_private.most_spent(
    since timestamp[],
    until timestamp[],
    begins_from timestamp[],
    begins_before timestamp[],
    epsilon numeric[],
    per interval,
    "from" timestamp,
    "to" timestamp
) RETURNS numeric
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_counter_most_spent';

COMMENT ON FUNCTION dp_counter_private.most_spent(
    timestamp[], timestamp[], timestamp[], timestamp[], numeric[], interval, timestamp, timestamp)
IS 'Returns the most that these entries of a budget spend in a window of per that meets the rows '
   'from one time to before the other.';

CREATE VIEW dp_budgets WITH (security_barrier) AS
SELECT f.budget,
       b.epsilon,
       r.per,
       CASE WHEN r.per IS NOT NULL
            THEN COALESCE(dp_counter_private.most_spent(
                     e.since, e.until, e.begins_from, e.begins_before, e.epsilon, u.per,
                     '-infinity', u.now OPERATOR(pg_catalog.-) u.per), 0) END AS spent_past,
       w.spent,
       b.epsilon OPERATOR(pg_catalog.-) w.spent AS remaining,
       dp_counter_private.face(a.budget, a.number) AS within,
       CASE WHEN pg_catalog.isfinite(b.since) THEN b.since END AS since,
       CASE WHEN pg_catalog.isfinite(b.until) THEN b.until END AS until,
       b.least_epsilon,
       b.most_cells,
       NULL::pg_catalog.text AS dropped_name,
       NULL::pg_catalog.timestamptz AS dropped_at,
       NULL::pg_catalog.text AS dropped_by
FROM dp_counter_private.budgets AS b
     JOIN dp_counter_private.budgets AS r ON r.number OPERATOR(pg_catalog.=) b.root
     LEFT JOIN dp_counter_private.budgets AS a ON a.number OPERATOR(pg_catalog.=) b.within,
     LATERAL dp_counter_private.face(b.budget, b.number) AS f (budget),
     LATERAL (SELECT COALESCE(r.per, '0'::interval) AS per,
                     CASE WHEN r.time_type OPERATOR(pg_catalog.=) 'timestamptz'::pg_catalog.regtype
                          THEN pg_catalog.timezone('UTC', pg_catalog.now())
                          ELSE LOCALTIMESTAMP END AS now) AS u,
     LATERAL (SELECT pg_catalog.array_agg(x.since) AS since,
                     pg_catalog.array_agg(x.until) AS until,
                     pg_catalog.array_agg(x.begins_from) AS begins_from,
                     pg_catalog.array_agg(x.begins_before) AS begins_before,
                     pg_catalog.array_agg(x.epsilon) AS epsilon
              FROM dp_counter_private.budget_entries AS x
              WHERE x.budget OPERATOR(pg_catalog.=) b.number AND x.refunded_at IS NULL) AS e,
     LATERAL (SELECT COALESCE(dp_counter_private.most_spent(
                         e.since, e.until, e.begins_from, e.begins_before, e.epsilon, u.per,
                         CASE WHEN b.until OPERATOR(pg_catalog.<=) u.now THEN '-infinity'
                              ELSE u.now END, 'infinity'), 0) AS spent) AS w
WHERE pg_catalog.has_table_privilege(f.budget::pg_catalog.oid, 'SELECT')
      OR f.budget IS NULL AND pg_catalog.pg_has_role('pg_monitor', 'USAGE')
UNION ALL
SELECT NULL, d.epsilon, d.per, NULL, d.spent, NULL, dp_counter_private.face(a.budget, a.number),
       CASE WHEN pg_catalog.isfinite(d.since) THEN d.since END,
       CASE WHEN pg_catalog.isfinite(d.until) THEN d.until END,
       NULL, NULL, d.name, d.dropped_at, d.dropped_by
FROM dp_counter_private.dropped_budgets AS d
     LEFT JOIN dp_counter_private.budgets AS a ON a.number OPERATOR(pg_catalog.=) d.within
WHERE pg_catalog.pg_has_role('pg_monitor', 'USAGE')
      OR pg_catalog.pg_get_userbyid(d.owner)::pg_catalog.text OPERATOR(pg_catalog.=) d.owner_name
         AND pg_catalog.pg_has_role(d.owner, 'USAGE');

COMMENT ON VIEW dp_budgets
IS 'The budgets whose views the current user may read: the epsilon of each, how much is spent '
   'and how much remains. Of a budget that renews, spent is the most that a window that ends after '
   'now loses, remaining what a charge for all times from now on may take (for others: '
   'dp_budget_left), and spent_past the most that an earlier window has lost; once until is past, '
   'spent is the most that any window loses. within is the budget of which it is a share, and since '
   'and until are the times of the rows for which it may be charged, NULL where they have no '
   'beginning or no end. Members of pg_monitor also see the budgets whose views are lost, with a '
   'NULL budget: what has spent them stays booked. A budget that was dropped stays, with a NULL '
   'budget, its last name, when and by whom, and the most that a window has spent, for its owner '
   'and members of pg_monitor.';

-- Planner ---------------------------------------------------------------------------------------
--
-- IMMUTABLE: results depend only on the arguments, which are public, and the choice of a plan is
-- deterministic. (A later version may choose better plans: rebuild indexes and generated columns
-- over these functions after an upgrade, as for any extension.) Not STRICT where NULL means
-- "choose".

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
IS 'Returns the mechanism, the parameters and the exact errors of dp_running_count for a horizon '
   'and epsilon, without reading data. Where k or mechanism is NULL, the least mean squared '
   'error decides. With a NULL horizon it returns a row for each epoch: each step is in one '
   'epoch, which has all of epsilon, and the errors include the noise carried over from earlier '
   'epochs.';

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
IS 'Returns the errors of this extension''s mechanisms and of the literature''s, least mean '
   'squared error first; ratio is that to the best. With delta it adds the Gaussian mechanisms, '
   'whose guarantee (approximate) is weaker. Only these gain from contributions: the number of '
   'steps over which the change of one unit (sensitivity) is spread.';

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

COMMENT ON FUNCTION dp_stddev(
    bigint, bigint, double precision, integer, pg_catalog.text, bigint, bigint)
IS 'Returns the standard deviation of the release after step rows, or of its difference to the '
   'release after since_step rows. It reads no data and is exact; the rounding of hat counts as '
   'a variance of 1/12 each, too much for a difference of few steps at a large epsilon. With '
   'mechanism laplace it is that of the sum of step - since_step numbers, each released once '
   '(dp_count, dp_laplace, a counter that is not cumulative), and with box that of these periods '
   'of a counter with mechanism box; horizon is ignored.';

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
    bigint, bigint, bigint, double precision, double precision, integer, pg_catalog.text, bigint,
    bigint, pg_catalog.int8range)
IS 'Returns the shortest interval, or one wider by 1 at each end, around a release after step '
   'rows, or around its difference to the release after since_step rows, that holds the truth '
   'with probability confidence. It is computed from the exact distribution of the noise and '
   'reads no data; its ends are moved into within, where the truth is for certain. With mechanism '
   'laplace, released is the sum of step - since_step numbers, each released once (dp_count, '
   'dp_laplace, a counter that is not cumulative), and with box that of these periods of a counter '
   'with mechanism box; horizon is ignored.';

CREATE FUNCTION dp_avg(
    above bigint,
    below bigint,
    lower bigint DEFAULT 0,
    upper bigint DEFAULT 1
) RETURNS double precision
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_avg';

COMMENT ON FUNCTION dp_avg(bigint, bigint, bigint, bigint)
IS 'Returns the average of values between lower and upper, from releases of the sum of value - '
   'lower (above) and of the sum of upper - value (below). With lower 0 and upper 1 it is a share, '
   'from the numbers of yes and of no. NULL where the releases together are not positive. It '
   'reads no data.';

CREATE FUNCTION dp_avg_interval(
    above bigint,
    below bigint,
    step bigint,
    horizon bigint,
    epsilon double precision,
    lower bigint DEFAULT 0,
    upper bigint DEFAULT 1,
    confidence double precision DEFAULT 0.95,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL,
    sensitivity bigint DEFAULT NULL,
    since_step bigint DEFAULT 0
) RETURNS pg_catalog.numrange
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'dp_avg_interval';

COMMENT ON FUNCTION dp_avg_interval(
    bigint, bigint, bigint, bigint, double precision, bigint, bigint, double precision, integer,
    pg_catalog.text, bigint, bigint)
IS 'Returns an interval around dp_avg that holds the average of what the two releases count with '
   'probability confidence. Both are of one step, horizon, epsilon, k, mechanism and sensitivity, '
   'which is upper - lower if NULL. It is computed from the exact distribution of the noise and '
   'reads no data; where the releases together are not positive it is all from lower to upper.';

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
                dp_counters, dp_sources, dp_budgets TO PUBLIC;
