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

-- The module passes over a number that is used: a role with pg_write_all_data can set it back, or to
-- its end, 2^48 - 1.
CREATE SEQUENCE dp_counter_private.counters_number_seq MAXVALUE 281474976710655 CYCLE;

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
-- the last closed step is total + carries * 2^63, between marks, as in the table of events. A tick
-- replaces all rows of a counter: the fillfactor leaves room on each page for HOT updates of all.
CREATE TABLE dp_counter_private.streams (
    number  pg_catalog.int8 NOT NULL,
    stream  pg_catalog.int4 NOT NULL,
    head    pg_catalog.bool NOT NULL,
    total   pg_catalog.int8 NOT NULL,
    carries pg_catalog.int8 NOT NULL,
    state   pg_catalog.bytea NOT NULL,
    tail    pg_catalog.bool NOT NULL,
    PRIMARY KEY (number, stream)
) USING heap WITH (fillfactor = 45);

-- PLAIN: the length of a compressed state would depend on the noise, and what is moved to a TOAST
-- table can be read there by pg_read_all_data, since it has no row security.
ALTER TABLE dp_counter_private.streams
    ALTER COLUMN state SET STORAGE PLAIN,
    ALTER COLUMN head SET STATISTICS 0,
    ALTER COLUMN total SET STATISTICS 0,
    ALTER COLUMN carries SET STATISTICS 0,
    ALTER COLUMN state SET STATISTICS 0,
    ALTER COLUMN tail SET STATISTICS 0,
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

-- stream is the number of the group, bin that of a histogram's bin, else 0. Of an average, count and
-- below are its two numbers (measure.hpp) and the interval is that of count / (count + below).
--
-- Releases become public when their step is published, by an update of one row. But xmin would show
-- the number of transactions, and so of recordings, between two of them: roles read a view without
-- system columns, never the table. The row without columns, (SELECT) AS one, makes the view not
-- updatable.
CREATE TABLE dp_counter_private.releases (
    number      pg_catalog.int8 NOT NULL,
    step        pg_catalog.int8 NOT NULL,
    stream      pg_catalog.int4 NOT NULL,
    bin         pg_catalog.int4 NOT NULL,
    period      pg_catalog.timestamptz,
    released_at pg_catalog.timestamptz NOT NULL,
    count       pg_catalog.int8 NOT NULL,
    stddev      pg_catalog.float8 NOT NULL,
    low         pg_catalog.int8,
    high        pg_catalog.int8,
    below       pg_catalog.int8,
    share_low   pg_catalog.float8,
    share_high  pg_catalog.float8,
    PRIMARY KEY (number, step, stream, bin)
) USING heap;

ALTER TABLE dp_counter_private.releases
    ALTER COLUMN number SET STATISTICS 0,
    ALTER COLUMN step SET STATISTICS 0,
    ALTER COLUMN stream SET STATISTICS 0,
    ALTER COLUMN bin SET STATISTICS 0,
    ALTER COLUMN period SET STATISTICS 0,
    ALTER COLUMN released_at SET STATISTICS 0,
    ALTER COLUMN count SET STATISTICS 0,
    ALTER COLUMN stddev SET STATISTICS 0,
    ALTER COLUMN low SET STATISTICS 0,
    ALTER COLUMN high SET STATISTICS 0,
    ALTER COLUMN below SET STATISTICS 0,
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
SELECT r.number, r.stream, r.bin, r.period, r.step, r.released_at, r.count, r.stddev, r.low, r.high,
       r.below, r.share_low, r.share_high,
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
    most_cells    pg_catalog.int8 NOT NULL,
    key_digest    pg_catalog.int8,
    last_entry    pg_catalog.int8
) USING heap;

CREATE INDEX budgets_budget_idx ON dp_counter_private.budgets (budget);

ALTER TABLE dp_counter_private.budgets ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.budgets FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.budgets
IS 'dp_counter: the epsilon of each budget; of one that renews, the length of a person''s windows, '
   'and the types of person and time of its sources; of one within another, the numbers of that and '
   'of the outermost one, whose windows it has, and the times for which it may be charged; and, so '
   'that a restored part is not taken for the whole, a digest of the key of the windows, and the '
   'last entry';

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

-- Entries refer to budget and counter by their numbers, also to a budget within the budget. A
-- dropped counter's entry is closed, and purpose keeps its last name; role is the name of the role
-- that charged, session_role that of session_user. since and until are times of the rows, as their
-- column shows them (timestamptz: in UTC); the windows that an entry is for begin from begins_from
-- to before begins_before. A counter that continues another one may have two entries. An entry
-- whose end is moved earlier, from cut_from, and one that is refunded say when and by whom.
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

-- What a source was when it was declared or read, by names: evidence. budget is a number.
CREATE TABLE dp_counter_private.source_history (
    budget       pg_catalog.int8 NOT NULL,
    source       pg_catalog.text NOT NULL,
    owner        pg_catalog.text NOT NULL,
    budget_owner pg_catalog.text,
    person       pg_catalog.text NOT NULL,
    at           pg_catalog.text NOT NULL,
    time_zone    pg_catalog.text NOT NULL,
    vouched_for  pg_catalog.text,
    definition   pg_catalog.text NOT NULL,
    role         pg_catalog.text NOT NULL,
    session_role pg_catalog.text NOT NULL,
    booked_at    pg_catalog.timestamptz NOT NULL
) USING heap;

CREATE INDEX source_history_budget_idx ON dp_counter_private.source_history (budget);

ALTER TABLE dp_counter_private.source_history ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.source_history FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.source_history
IS 'dp_counter: what each source was when it was declared or read: its owners, its columns, what its '
   'owner vouched for, and the query of its view';

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
   'interval, as reports released them';

CREATE TABLE dp_counter_private.source_counters (
    number     pg_catalog.int8 PRIMARY KEY,
    source     dp_counter_private.view_name NOT NULL,
    event      pg_catalog.int2,
    measure    pg_catalog.text NOT NULL,
    value      pg_catalog.int2,
    lower      pg_catalog.int8 NOT NULL,
    upper      pg_catalog.int8 NOT NULL,
    bins       pg_catalog.int8[],
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
    old_per_person pg_catalog.int8,
    active     pg_catalog.int4
) USING heap;

ALTER TABLE dp_counter_private.source_counters
    ALTER COLUMN key SET STATISTICS 0,
    ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE dp_counter_private.source_counters FROM PUBLIC;

COMMENT ON TABLE dp_counter_private.source_counters
IS 'dp_counter: what each counter over a source counts, a digest of its time zone''s offsets, and '
   'the secret key of its tallies; of one that an analyst declared, whether a tick has begun to read '
   'rows; names and types of what it reads, for when its source was dropped; of one that continues '
   'another one the number of that, where it ended, its epsilon and its bound; and the days for '
   'which a person is active after an event';

-- A person is stored as a digest under the counter's key. Of active persons, used is the time of the
-- last event, in microseconds from 2000-01-01, and stream the number of the group. The fillfactor
-- leaves room on each page for new versions of its rows.
CREATE TABLE dp_counter_private.tallies (
    used       pg_catalog.int8 NOT NULL,
    number     pg_catalog.int8 NOT NULL,
    digest     pg_catalog.uuid NOT NULL,
    own_window pg_catalog.int4 NOT NULL,
    stream     pg_catalog.int4
) USING heap WITH (fillfactor = 90);

-- Unique, so that a person with two rows would be an error, not a second bound.
CREATE UNIQUE INDEX tallies_number_digest_idx ON dp_counter_private.tallies (number, digest);

ALTER TABLE dp_counter_private.tallies
    ALTER COLUMN used SET STATISTICS 0,
    ALTER COLUMN number SET STATISTICS 0,
    ALTER COLUMN own_window SET STATISTICS 0,
    ALTER COLUMN stream SET STATISTICS 0,
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

