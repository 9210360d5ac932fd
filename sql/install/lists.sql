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
       COALESCE(p.steps, c.steps) AS steps,
       c.horizon OPERATOR(pg_catalog.-) COALESCE(p.steps, c.steps) AS steps_left,
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
       s.bins,
       s.per_person::pg_catalog.int4 AS per_person,
       pg_catalog.make_interval(days => s.active) AS active,
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
       (SELECT dp_counter_private.face(p.counter, p.number) FROM dp_counter_private.counters AS p
        WHERE p.number OPERATOR(pg_catalog.=) s.continues) AS continues,
       CASE WHEN p.steps OPERATOR(pg_catalog.<) c.steps THEN c.released_at -- not published
            ELSE n.next_due END AS next_due,
       n.periods_behind,
       CASE WHEN r.may_tick THEN c.last_failed END AS last_failed,
       CASE WHEN r.may_tick THEN c.last_sqlstate END AS last_sqlstate
FROM dp_counter_private.counters AS c
     LEFT JOIN dp_counter_private.publications AS p
     ON p.number OPERATOR(pg_catalog.=) c.number
     LEFT JOIN dp_counter_private.source_counters AS s
     ON s.number OPERATOR(pg_catalog.=) c.number
     LEFT JOIN dp_counter_private.sources AS o
     ON o.source::pg_catalog.oid OPERATOR(pg_catalog.=) s.source::pg_catalog.oid
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
   'members of pg_monitor; public values only.';
COMMENT ON COLUMN dp_counters.counter IS 'The view of its releases';
COMMENT ON COLUMN dp_counters.epsilon IS 'For all that it ever releases';
COMMENT ON COLUMN dp_counters.sensitivity
IS 'What one unit changes at most; with mechanism box the most blocks of periods';
COMMENT ON COLUMN dp_counters.horizon IS 'Number of all its steps; NULL: no end';
COMMENT ON COLUMN dp_counters.steps IS 'Steps that are published';
COMMENT ON COLUMN dp_counters.steps_left IS 'Steps up to the horizon';
COMMENT ON COLUMN dp_counters.mechanism IS 'How the noise of its steps is made';
COMMENT ON COLUMN dp_counters.k
IS 'Radix; periods of a block of box or anchored noise; bins of mechanism bins';
COMMENT ON COLUMN dp_counters.cumulative
IS 'Whether a release counts all periods so far, or its own';
COMMENT ON COLUMN dp_counters.stddev IS 'Standard deviation of the noise of the last release';
COMMENT ON COLUMN dp_counters.released_at IS 'When the tick that closed the last step was called';
COMMENT ON COLUMN dp_counters.source
IS 'The view whose rows it counts; NULL for an event counter, and if it was dropped';
COMMENT ON COLUMN dp_counters.event
IS 'The column of the source that says which rows are events; NULL: all are';
COMMENT ON COLUMN dp_counters.measure
IS 'count, persons, sum, avg, share, histogram or active; NULL for an event counter';
COMMENT ON COLUMN dp_counters.value IS 'The column of a sum, average, share or histogram';
COMMENT ON COLUMN dp_counters.lower IS 'Least value of a sum or average';
COMMENT ON COLUMN dp_counters.upper IS 'Greatest value of a sum or average';
COMMENT ON COLUMN dp_counters.bins IS 'Lower ends of the bins of a histogram';
COMMENT ON COLUMN dp_counters.per_person
IS 'Most events that count of a person, in a life or each own window';
COMMENT ON COLUMN dp_counters.active IS 'How long a person is active after an event';
COMMENT ON COLUMN dp_counters.per IS 'Length of the own windows; NULL: a life';
COMMENT ON COLUMN dp_counters.by IS 'The column of the groups';
COMMENT ON COLUMN dp_counters.groups IS 'The groups that it counts';
COMMENT ON COLUMN dp_counters.others IS 'The one of groups that counts the rows of all others';
COMMENT ON COLUMN dp_counters.every
IS 'Length of a period; of an event counter the least time between two steps';
COMMENT ON COLUMN dp_counters.since IS 'Beginning of the first period, local to time_zone';
COMMENT ON COLUMN dp_counters.time_zone IS 'The time zone of its periods';
COMMENT ON COLUMN dp_counters.grace IS 'How long after its end a period is closed';
COMMENT ON COLUMN dp_counters.ended IS 'End of the last period that was closed';
COMMENT ON COLUMN dp_counters.ended_at IS 'When dp_counter_end ended it; NULL: it goes on';
COMMENT ON COLUMN dp_counters.continues IS 'The counter that it continues, unless that was dropped';
COMMENT ON COLUMN dp_counters.next_due
IS 'When the next step may close; NULL: none can, or there is no every';
COMMENT ON COLUMN dp_counters.periods_behind IS 'Periods that a tick would release now';
COMMENT ON COLUMN dp_counters.last_failed
IS 'When the last tick was called, if it failed; NULL to roles that may not tick it';
COMMENT ON COLUMN dp_counters.last_sqlstate IS 'The SQLSTATE of that failure';

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

CREATE VIEW dp_source_history WITH (security_barrier) AS
SELECT h.source, f.budget, h.owner, h.budget_owner, h.person, h.at, h.time_zone, h.vouched_for,
       h.definition, h.role, h.session_role, h.booked_at
FROM dp_counter_private.source_history AS h
     LEFT JOIN dp_counter_private.budgets AS b ON b.number OPERATOR(pg_catalog.=) h.budget,
     LATERAL dp_counter_private.face(b.budget, b.number) AS f (budget)
WHERE pg_catalog.has_table_privilege(f.budget::pg_catalog.oid, 'SELECT')
      OR pg_catalog.pg_has_role('pg_monitor', 'USAGE');

COMMENT ON VIEW dp_source_history
IS 'What each source of the budgets that the current user may read, or of all for members of '
   'pg_monitor, was when it was declared, and when a tick or a report found it changed: who owned the '
   'view and the budget, which columns are the person and the time, the time zone, what the owner '
   'vouched for, the query of the view, and by whom and when this was booked. Rows are never changed '
   'or deleted. budget is NULL if it was dropped.';

-- The planner has no statistics of releases, and would read many of them one by one by the index.
CREATE FUNCTION dp_counter_changes(
    counter pg_catalog.regclass,
    lag bigint,
    since timestamp DEFAULT NULL,
    until timestamp DEFAULT NULL,
    OUT period timestamp,
    OUT group_value pg_catalog.text,
    OUT bin bigint,
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
IS 'Returns for the steps, groups and bins of a counter the events of the last lag periods, with '
   'their standard deviation and 95 % interval; of active persons how many more '
   'there are than lag periods before. Steps before lag, which have fewer periods behind them, are '
   'left out; since and until choose the steps whose period begins '
   'from since to before until. period is local to the time zone of the source. It reads only '
   'releases, so it costs no privacy.';

CREATE FUNCTION dp_counter_quantiles(
    counter pg_catalog.regclass,
    fractions numeric[],
    lag bigint DEFAULT 1,
    since timestamp DEFAULT NULL,
    until timestamp DEFAULT NULL,
    OUT period timestamp,
    OUT group_value pg_catalog.text,
    OUT step bigint,
    OUT fraction numeric,
    OUT quantile double precision,
    OUT low bigint,
    OUT high bigint
)
RETURNS SETOF record
LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000
SET search_path = pg_catalog, pg_temp
SET enable_indexscan = off
AS 'MODULE_PATHNAME', 'dp_counter_quantiles';

COMMENT ON FUNCTION dp_counter_quantiles(
    pg_catalog.regclass, numeric[], bigint, timestamp, timestamp)
IS 'Returns for the steps and groups of a counter with a histogram quantiles of the events of the '
   'last lag periods. low is the lower end of the first bin where a quantile can be, and high the '
   'upper end of the last one, with 95 % probability, from the exact distribution of the noise; NULL '
   'in the first and in the last bin, which have no such end. Within its bin a quantile is '
   'interpolated. Steps, since and until are as in dp_counter_changes. It reads only releases, so it '
   'costs no privacy.';

-- The planner expects dp_counters to be long, and would compile for a second what takes 5 ms.
CREATE FUNCTION dp_counter_plan(
    counter pg_catalog.regclass,
    OUT number pg_catalog.text,
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
SET jit = off
AS 'MODULE_PATHNAME', 'dp_counter_plan';

COMMENT ON FUNCTION dp_counter_plan(pg_catalog.regclass)
IS 'Returns what a counter costs and how accurate it is: for one period and for sums or changes of '
   '4, 12 and 52, the standard deviation of the noise and half the width of the 95 % interval; the '
   'charge to the budget, what remains of it for the times of the counter, which share of the events '
   'per_person keeps, as far as a report has released it, and the guarantee in words. It reads no '
   'data. In the transaction that creates the counter it shows what a rollback undoes.';

-- The arguments of dp_counter_create, in the same order.
CREATE FUNCTION dp_counter_plan(
    name pg_catalog.text,
    source pg_catalog.regclass,
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
    same_persons boolean DEFAULT false,
    OUT number pg_catalog.text,
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
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 ROWS 6
SET search_path = pg_catalog, pg_temp
SET jit = off
AS 'MODULE_PATHNAME', 'dp_counter_plan_declaration';

COMMENT ON FUNCTION dp_counter_plan(
    pg_catalog.text, pg_catalog.regclass, numeric, interval, timestamp, bigint, pg_catalog.text,
    integer, boolean, interval, pg_catalog.text, pg_catalog.text, pg_catalog.text, bigint, bigint,
    pg_catalog.text, bigint[], pg_catalog.text, pg_catalog.text[], pg_catalog.regclass,
    pg_catalog.text, pg_catalog.text, interval, boolean, integer, pg_catalog.text,
    pg_catalog.regclass, pg_catalog.regclass, boolean)
IS 'Returns what dp_counter_create with the same arguments would make, as the other dp_counter_plan '
   'does, and makes and charges nothing. remaining is what would remain of the budget, below 0 where '
   'that would refuse the charge, and NULL with continues.';
