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
    active interval DEFAULT NULL,
    sum pg_catalog.text DEFAULT NULL,
    avg pg_catalog.text DEFAULT NULL,
    share pg_catalog.text DEFAULT NULL,
    lower bigint DEFAULT NULL,
    upper bigint DEFAULT NULL,
    histogram pg_catalog.text DEFAULT NULL,
    bins bigint[] DEFAULT NULL,
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
    integer, boolean, interval, pg_catalog.text, pg_catalog.text, pg_catalog.text, bigint, bigint,
    pg_catalog.text, bigint[], pg_catalog.text, pg_catalog.text[], pg_catalog.regclass,
    pg_catalog.text, pg_catalog.text, interval, boolean, integer, pg_catalog.text,
    pg_catalog.regclass, pg_catalog.regclass,
    boolean)
IS 'Creates a counter over a source and the view of its releases, and charges the budget of the '
   'source or one within it. The caller owns the source, and then the view, or has REFERENCES on '
   'the columns named and INSERT on the budget, and gets SELECT on the view. All its releases '
   'together are epsilon-DP for neighbors that differ in all rows of one person or, where the '
   'budget renews, in those of one of the person''s own windows. At most per_person events of a '
   'person count there; per_person is required, unless persons or active is given. It counts '
   'events, persons, those who are active, with an event in the time before the end of a period, '
   'the sum or the average of a column clamped to lower .. upper, the share of events for which a '
   'column is true, or the events in bins of a column, whose lower ends are public. Its groups are '
   'public, an array or the values of a column of a table, which is read once, as the caller; '
   'rows of all others count in a group that others names, or not at all. With continues it begins '
   'where another counter of the caller''s has come to, which ends: each person has used up as '
   'much of the new bound as of the old one, and the budget is charged for what the new counter '
   'costs more. With same_persons the caller vouches that a person has the same key in the sources '
   'of both.';

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
    never_fails pg_catalog.text[] DEFAULT NULL,
    same_persons boolean DEFAULT false
) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_source_create';

COMMENT ON FUNCTION dp_source_create(
    pg_catalog.regclass, pg_catalog.regclass, pg_catalog.text, pg_catalog.text, pg_catalog.text,
    boolean, boolean, pg_catalog.text[], boolean)
IS 'Declares a view of the caller as a source. The columns person and at show whose event a row '
   'is and when it happened. Periods of its counters are local to time_zone, by default the '
   'current one. Called again with other person_wise, window_wise or never_fails, it changes them; '
   'time_zone may then be another name of the same zone and, with same_persons, person another '
   'column in which each person has the same value.';

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
   'every, or, where sum or avg names a column, its upper, into a new table. From there on more of '
   'it adds more noise than it saves events. The table also has the share of all events that it '
   'keeps, or of the units'' greatest values, at most, with its 95 % interval; those of a unit '
   'beyond most do not count. Under a budget that renews it looks at the own windows that are '
   'wholly in the range. It reads the rows from since to before until, by default now, charges the '
   'budget and is epsilon-DP for neighbors that differ in all rows of one person, or of one own '
   'window. It commits, so it cannot run inside a transaction block.';

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
   'type, into a new table: those of so large a weight that with 95 % each of them has rows. The '
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
WHEN TAG IN ('ALTER EXTENSION', 'ALTER TABLE', 'ALTER VIEW', 'CREATE RULE', 'CREATE VIEW')
EXECUTE FUNCTION dp_counter_private.dp_counter_replaced();

ALTER EVENT TRIGGER dp_counter_replaced ENABLE ALWAYS;

COMMENT ON EVENT TRIGGER dp_counter_replaced
IS 'dp_counter: keeps the queries of the views of counters and budgets';

CREATE FUNCTION dp_counter_private.dp_counter_drop_owned()
RETURNS pg_catalog.event_trigger
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dp_counter_drop_owned';

COMMENT ON FUNCTION dp_counter_private.dp_counter_drop_owned()
IS 'Internal event trigger function: keeps the extension from DROP OWNED.';

CREATE EVENT TRIGGER dp_counter_drop_owned ON ddl_command_start
WHEN TAG IN ('DROP OWNED')
EXECUTE FUNCTION dp_counter_private.dp_counter_drop_owned();

ALTER EVENT TRIGGER dp_counter_drop_owned ENABLE ALWAYS;

COMMENT ON EVENT TRIGGER dp_counter_drop_owned
IS 'dp_counter: keeps the extension from DROP OWNED';

