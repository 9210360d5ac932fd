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

CREATE FUNCTION dp_promise(budget pg_catalog.regclass)
RETURNS pg_catalog.text
LANGUAGE c STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'dp_promise';

COMMENT ON FUNCTION dp_promise(pg_catalog.regclass)
IS 'Returns in words what a budget promises to each person, what more than one unit costs, what is '
   'not covered, and what has been charged. Requires the SELECT privilege on the budget.';

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
IS 'The budgets whose views the current user may read: the epsilon of each, how much is spent and '
   'how much remains; for windows at other times there is dp_budget_left. Members of pg_monitor also '
   'see the budgets whose views are lost. A budget that was dropped stays in the list for its owner '
   'and members of pg_monitor.';
COMMENT ON COLUMN dp_budgets.budget IS 'Its view; NULL: it was dropped or is lost';
COMMENT ON COLUMN dp_budgets.epsilon IS 'The most that may be spent about one unit';
COMMENT ON COLUMN dp_budgets.per IS 'Length of the windows in which it renews; NULL: a life';
COMMENT ON COLUMN dp_budgets.spent_past IS 'The most that a window that is over has lost';
COMMENT ON COLUMN dp_budgets.spent
IS 'The most that a window that ends after now loses, or that a life has lost';
COMMENT ON COLUMN dp_budgets.remaining
IS 'What a counter that begins now, and has no end, may take';
COMMENT ON COLUMN dp_budgets.within IS 'The budget of which it is a share';
COMMENT ON COLUMN dp_budgets.since
IS 'The first time of rows for which it may be charged; NULL: no beginning';
COMMENT ON COLUMN dp_budgets.until IS 'The end of these times; NULL: no end';
COMMENT ON COLUMN dp_budgets.least_epsilon IS 'Least epsilon of a counter that an analyst declares';
COMMENT ON COLUMN dp_budgets.most_cells IS 'Most numbers that such a counter releases in a year';
COMMENT ON COLUMN dp_budgets.dropped_name IS 'The last name of a budget that was dropped';
COMMENT ON COLUMN dp_budgets.dropped_at IS 'When it was dropped; NULL: it is there';
COMMENT ON COLUMN dp_budgets.dropped_by IS 'The role that dropped it';

