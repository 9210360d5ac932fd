-- Averages, shares and signed sums of a counter over a source, against plain SQL: with an epsilon so large that the noise
-- vanishes, they are the bounded numbers to the digit.
\set VERBOSITY terse
CREATE SCHEMA measures;
SET search_path = measures, public;
SET TimeZone = 'UTC';
SELECT dp_budget_create('patients', 1e11);
CREATE TABLE stays (id integer PRIMARY KEY, patient integer, at timestamp, ward text, days smallint, cents bigint, flu boolean, note text);
-- No two stays of a patient are at the same time. NULLs of every kind, values beyond all bounds.
INSERT INTO stays
SELECT i, CASE WHEN i % 97 = 0 THEN NULL ELSE i * 7919 % 300 END, timestamp '2025-01-01' + i * interval '37 minutes',
    (ARRAY['a', 'b', NULL, 'x'])[1 + i * 31 % 4],
       CASE WHEN i % 13 = 0 THEN NULL ELSE i * 37 % 50 - 10 END, CASE WHEN i % 11 = 0 THEN NULL WHEN i % 101 = 0 THEN 9223372036854775807
           ELSE i * 53 % 4000 - 2000 END,
       CASE WHEN i % 7 = 0 THEN NULL ELSE i % 5 = 0 END
FROM generate_series(1, 4000) AS i;
CREATE VIEW stays_dp AS SELECT * FROM stays;
SELECT dp_source_create('stays_dp', budget => 'patients', person => 'patient', at => 'at', time_zone => 'UTC');

CREATE FUNCTION declare(name text, cumulative boolean, sum text DEFAULT NULL, avg text DEFAULT NULL, share text DEFAULT NULL,
    lower bigint DEFAULT NULL, upper bigint DEFAULT NULL)
RETURNS regclass LANGUAGE sql AS
$$ SELECT dp_counter_create(name, 'stays_dp', 1e9, '7 days', timestamp '2025-01-01', horizon => 12, per_person => 4,
    cumulative => cumulative, sum => sum, avg => avg,
                            share => share, lower => lower, upper => upper, "by" => 'ward', groups => '{b,a}') $$;
SELECT declare('days_by_week', false, avg => 'days', lower => -5, upper => 30);
SELECT declare('days_so_far', true, avg => 'days', upper => 30);
SELECT declare('flu_by_week', false, share => 'flu');
SELECT declare('flu_so_far', true, share => 'flu');
SELECT declare('net_by_week', false, sum => 'cents', lower => -1000, upper => 500);
SELECT declare('net_so_far', true, sum => 'cents', lower => -1000, upper => 500);
SELECT declare('loss_by_week', false, sum => 'cents', lower => -900, upper => -100);
SELECT declare('fee_by_week', false, sum => 'cents', lower => 100, upper => 900);
SELECT counter, sensitivity, cumulative, measure, value, lower, upper, per_person FROM dp_counters ORDER BY counter::text COLLATE "C";
CALL dp_tick('stays_dp');

-- the truth: the first four events of a patient, each as its clamped value
CREATE FUNCTION truth(counter regclass) RETURNS TABLE (step bigint, ward text, n numeric, total numeric) LANGUAGE sql AS $$
    WITH declared AS (SELECT * FROM dp_counters c WHERE c.counter = $1),
    events AS (
        SELECT 1 + floor(extract(epoch FROM s.at - d.since) / 604800)::bigint AS step, s.ward,
            least(greatest(v, d.lower), d.upper) AS value,
               row_number() OVER (PARTITION BY patient ORDER BY at) AS used
        FROM stays s, declared d, LATERAL (SELECT CASE d.value WHEN 'days' THEN s.days::numeric WHEN 'cents' THEN s.cents
            ELSE s.flu::integer END) AS x(v)
        WHERE v IS NOT NULL AND patient IS NOT NULL AND s.ward IN ('a', 'b') AND at < timestamp '2025-01-01' + 12 * interval '7 days')
    SELECT s, w, CASE WHEN cumulative THEN sum(n) OVER so_far ELSE n END, CASE WHEN cumulative THEN sum(total) OVER so_far ELSE total END
    FROM (SELECT s, w, count(e.value)::numeric AS n, coalesce(sum(e.value), 0) AS total
          FROM generate_series(1, 12) AS s CROSS JOIN unnest('{a,b}'::text[]) AS w LEFT JOIN events e ON e.step = s AND e.ward = w
              AND e.used <= 4 GROUP BY s, w) AS cells,
         declared WINDOW so_far AS (PARTITION BY w ORDER BY s)
$$;
SELECT 'days_by_week', count(*) FILTER (WHERE c.count <> n OR c.avg IS DISTINCT FROM (total / nullif(n, 0))::float8
    AND abs(c.avg - total / n) > 1e-9) AS wrong,
       count(*) FILTER (WHERE n > 0 AND (c.low > total / n + 1e-9 OR c.high < total / n - 1e-9)) AS outside, sum(n) > 100 AS counted
FROM days_by_week c JOIN truth('days_by_week') t USING (step, ward)
UNION ALL
SELECT 'days_so_far', count(*) FILTER (WHERE c.count <> n OR abs(c.avg - total / n) > 1e-9),
    count(*) FILTER (WHERE c.low > total / n + 1e-9 OR c.high < total / n - 1e-9), sum(n) > 100
FROM days_so_far c JOIN truth('days_so_far') t USING (step, ward)
UNION ALL
SELECT 'flu_by_week', count(*) FILTER (WHERE c.count <> n OR c.above <> total OR c.below <> n - total),
    count(*) FILTER (WHERE c.low > total / nullif(n, 0) + 1e-9 OR c.high < total / nullif(n, 0) - 1e-9), sum(n) > 100
FROM flu_by_week c JOIN truth('flu_by_week') t USING (step, ward)
UNION ALL
SELECT 'flu_so_far', count(*) FILTER (WHERE c.count <> n OR abs(c.share - total / n) > 1e-9),
    count(*) FILTER (WHERE c.low > total / n + 1e-9 OR c.high < total / n - 1e-9), sum(n) > 100
FROM flu_so_far c JOIN truth('flu_so_far') t USING (step, ward);
SELECT 'net_by_week', count(*) FILTER (WHERE c.sum <> total OR total NOT BETWEEN c.low AND c.high) AS wrong, bool_or(total < 0) AS falls
    FROM net_by_week c JOIN truth('net_by_week') t USING (step, ward)
UNION ALL SELECT 'net_so_far', count(*) FILTER (WHERE c.sum <> total OR total NOT BETWEEN c.low AND c.high), bool_or(total < 0)
    FROM net_so_far c JOIN truth('net_so_far') t USING (step, ward)
UNION ALL SELECT 'loss_by_week', count(*) FILTER (WHERE c.sum <> total OR total NOT BETWEEN c.low AND c.high), bool_or(total < 0)
    FROM loss_by_week c JOIN truth('loss_by_week') t USING (step, ward)
UNION ALL SELECT 'fee_by_week', count(*) FILTER (WHERE c.sum <> total OR total NOT BETWEEN c.low AND c.high), bool_or(total < 0)
    FROM fee_by_week c JOIN truth('fee_by_week') t USING (step, ward);

-- sums and averages of the last periods, the same from totals and from single periods
SELECT lag, count(*) AS rows, count(*) FILTER (WHERE a.sum <> b.sum OR a.low > a.sum OR a.high < a.sum) AS wrong
FROM unnest('{1,4,20}'::bigint[]) AS lag, LATERAL dp_counter_changes('net_by_week', lag) AS a
    JOIN LATERAL dp_counter_changes('net_so_far', lag) AS b USING (step, group_value) GROUP BY lag ORDER BY lag;
SELECT lag, count(*) AS rows, count(*) FILTER (WHERE a.count <> b.count OR a.avg IS DISTINCT FROM b.avg OR a.low > a.avg + 1e-3
    OR a.high < a.avg - 1e-3 OR a.sum IS NOT NULL) AS wrong
FROM unnest('{1,4,20}'::bigint[]) AS lag, LATERAL dp_counter_changes('flu_by_week', lag) AS a
    JOIN LATERAL dp_counter_changes('flu_so_far', lag) AS b USING (step, group_value) GROUP BY lag ORDER BY lag;
SELECT c.step, c.group_value, c.count = t.n AND coalesce(abs(c.avg - t.total / nullif(t.n, 0)) < 1e-9, c.avg IS NULL) AS exact
FROM dp_counter_changes('days_by_week', 3) AS c, LATERAL (SELECT sum(n) AS n, sum(total) AS total FROM truth('days_by_week') AS t
    WHERE t.step BETWEEN c.step - 2 AND c.step AND t.ward = c.group_value) AS t
WHERE c.step IN (3, 12) ORDER BY c.step, c.group_value;

-- the same whatever the owner calls the columns, and with releases at the ends of a bigint
CREATE TABLE changes AS SELECT v.counter, c.* FROM unnest('{days_so_far,flu_by_week,net_so_far}'::regclass[]) AS v (counter),
    LATERAL dp_counter_changes(v.counter, 3) AS c;
BEGIN;
ALTER VIEW days_so_far RENAME COLUMN avg TO mean;
ALTER VIEW days_so_far RENAME COLUMN above TO n;
ALTER VIEW flu_by_week RENAME COLUMN step TO week;
ALTER VIEW flu_by_week RENAME COLUMN ward TO "the ""ward";
ALTER VIEW net_so_far RENAME COLUMN sum TO cents;
SELECT count(*) FROM (TABLE changes EXCEPT SELECT v.counter, c.*
    FROM unnest('{days_so_far,flu_by_week,net_so_far}'::regclass[]) AS v (counter), LATERAL dp_counter_changes(v.counter, 3) AS c) AS d;
ROLLBACK;
BEGIN;
UPDATE dp_counter_private.releases SET count = 9223372036854775807, below = 9223372036854775807 WHERE share_low IS NOT NULL;
SELECT DISTINCT count, share FROM flu_by_week;
SELECT DISTINCT count, avg FROM dp_counter_changes('flu_by_week', 3);
UPDATE dp_counter_private.releases SET count = -9223372036854775808, below = -9223372036854775808 WHERE share_low IS NOT NULL;
SELECT DISTINCT count, share FROM flu_by_week;
SELECT DISTINCT count, avg, low, high FROM dp_counter_changes('flu_by_week', 3);
ROLLBACK;

-- Near epsilon 1, where the noise shows: the error bars of each release, and of the last periods, are those of the counter's own
-- parameters, whichever was ticked before it in the same session; and a number of events is rounded.
SELECT dp_counter_create(name, 'stays_dp', epsilon, '7 days', timestamp '2025-01-01', horizon => horizon, per_person => per_person,
    cumulative => cumulative, sum => sum, avg => avg, share => share, lower => lower, upper => upper) AS near_1
FROM (VALUES ('a_share', 0.5, 9, 4, true, NULL, NULL, 'flu', NULL, NULL), ('b_share', 0.05, 16, 3, true, NULL, NULL, 'flu', NULL, NULL),
    ('c_average', 1, 20, 2, true, NULL, 'days', NULL, -5, 30), ('d_sum', 0.75, 14, 4, true, 'cents', NULL, NULL, -100, 30),
             ('e_count', 1.5, 9, 4, true, NULL, NULL, NULL, NULL, NULL), ('f_share', 1, 9, 4, false, NULL, NULL, 'flu', NULL, NULL),
                 ('g_average', 0.25, 16, 2, false, NULL, 'days', NULL, 0, 30), ('h_sum', 2, 9, 4, false, 'cents', NULL, NULL, 0, 30),
             ('i_share', 2, 12, 1, false, NULL, NULL, 'flu', NULL, NULL)) AS c (name, epsilon, horizon, per_person, cumulative, sum, avg,
                 share, lower, upper);
CALL dp_tick('stays_dp');
-- what dp_counters says is of the last step
SELECT (SELECT stddev FROM dp_counters WHERE counter = 'e_count'::regclass) = (SELECT stddev FROM e_count ORDER BY step DESC
    LIMIT 1) AS last_count, (SELECT stddev FROM dp_counters WHERE counter = 'd_sum'::regclass) = (SELECT stddev FROM d_sum
    ORDER BY step DESC LIMIT 1) AS last_sum,
       (SELECT count(DISTINCT stddev) FROM e_count) > 1 AS that_changes;
-- the released numbers of the last `lag` periods, with their bars; 0: those of the view itself
CREATE FUNCTION released(c dp_counters, lag integer) RETURNS TABLE (step bigint, one bigint, other bigint, count bigint, low float8,
    high float8) LANGUAGE plpgsql AS $$
DECLARE
    last constant text := CASE WHEN lag = 0 THEN '%1$s' WHEN c.cumulative THEN '%1$s - lag(%1$s, %2$s, 0::bigint) OVER (ORDER BY step)'
        ELSE '(sum(%1$s) OVER (ORDER BY step ROWS %2$s - 1 PRECEDING))::bigint' END;
    bars constant text := CASE WHEN lag = 0 THEN format('SELECT step, %s AS count, low, high FROM %s', CASE WHEN c.measure <> 'sum'
        THEN 'count' ELSE 'NULL::bigint' END, c.counter) ELSE format('dp_counter_changes(%L, %s)', c.counter, lag) END;
BEGIN
    RETURN QUERY EXECUTE format('SELECT step, one, other, d.count, d.low::float8, d.high::float8 FROM (SELECT step, %s AS one, %s AS other FROM %s) AS v JOIN (SELECT * FROM %s) AS d USING (step)',
                                format(last, CASE c.measure WHEN 'count' THEN 'count' WHEN 'sum' THEN 'sum' ELSE 'above' END, lag),
                                    CASE WHEN c.measure IN ('avg', 'share') THEN format(last, 'below', lag) ELSE 'NULL::bigint' END,
                                c.counter, CASE WHEN lag = 0 THEN format('(%s) AS b', bars) ELSE bars END);
END $$;
CREATE FUNCTION planned(c dp_counters, lag integer, step bigint, one bigint, other bigint) RETURNS numrange LANGUAGE sql AS $$
    SELECT CASE WHEN other IS NULL THEN (SELECT numrange(lower(i), upper(i) - 1, '[]')
        FROM dp_interval(one, steps, c.horizon, c.epsilon::float8, 0.95, c.k, c.mechanism, c.sensitivity, since, CASE WHEN c.lower < 0
        THEN NULL ELSE int8range '[0,)' END) AS i)
           ELSE dp_avg_interval(one, other, steps, c.horizon, c.epsilon::float8, coalesce(c.lower, 0), coalesce(c.upper, 1), 0.95, c.k,
               c.mechanism, c.sensitivity, since) END
    FROM (SELECT CASE WHEN c.cumulative THEN step ELSE greatest(lag, 1) END, CASE WHEN c.cumulative AND lag > 0 THEN step - lag
        ELSE 0 END) AS s (steps, since)
$$;
SELECT c.counter, lag, count(*) AS rows,
       -- i is rounded outwards
       count(*) FILTER (WHERE NOT i @> low::numeric OR NOT i @> high::numeric OR low - lower(i) > (high - low) / 50
           OR upper(i) - high > (high - low) / 50) AS other_bars,
       count(*) FILTER (WHERE other IS NOT NULL
           AND r.count <> round((one::numeric + other) / (coalesce(c.upper, 1) - coalesce(c.lower, 0)))) AS other_counts
FROM dp_counters AS c, unnest('{0,1,3}'::integer[]) AS lag, released(c, lag) AS r, planned(c, lag, step, one, other) AS i
    WHERE c.counter::text ~ '^[a-i]_' GROUP BY 1, 2 ORDER BY c.counter::text, lag;

-- a group without events: nothing can be said
DELETE FROM stays;
SELECT dp_counter_create('none', 'stays_dp', 1e9, '7 days', timestamp '2025-01-01', horizon => 1, per_person => 4, avg => 'days',
    lower => 3, upper => 8);
SELECT dp_counter_create('none_of_all', 'stays_dp', 1e9, '7 days', timestamp '2025-01-01', horizon => 1, per_person => 4, share => 'flu',
    cumulative => false);
CALL dp_tick('stays_dp');
SELECT avg, low, high, count, above, below FROM none
    UNION ALL SELECT share, low, high, count, above, below FROM none_of_all ORDER BY low DESC;

-- what a reader sees
SELECT attname, format_type(atttypid, atttypmod), col_description(attrelid, attnum) FROM pg_attribute
    WHERE attrelid = 'days_by_week'::regclass ORDER BY attnum;
SELECT attname, format_type(atttypid, atttypmod), col_description(attrelid, attnum) FROM pg_attribute
    WHERE attrelid = 'net_so_far'::regclass AND attname = 'sum';
SELECT obj_description('days_by_week'::regclass), obj_description('net_so_far'::regclass);
SELECT number, periods, round(half_width) AS half_width, sensitivity FROM dp_counter_plan('days_by_week');

-- bad input
SELECT declare('bad', false, avg => 'days', lower => 30, upper => 30);
SELECT declare('bad', false, sum => 'days', lower => 5, upper => -5);
SELECT declare('bad', false, avg => 'days');
SELECT declare('bad', false, avg => 'days', lower => 3);
SELECT declare('bad', false, avg => 'days', lower => -2147483648, upper => 2147483648);
SELECT declare('bad', false, sum => 'days', upper => 2147483649);
SELECT declare('bad', false, sum => 'days', lower => -9223372036854775808, upper => 9223372036854775807);
SELECT declare('bad', false, avg => 'note', upper => 5);
SELECT declare('bad', false, avg => 'flu', upper => 5);
SELECT declare('bad', false, sum => 'flu', upper => 5);
SELECT declare('bad', false, share => 'days');
SELECT dp_counter_create('bad', 'stays_dp', 1, '7 days', timestamp '2025-01-01', avg => 'days', upper => 5);
SELECT dp_counter_create('bad', 'stays_dp', 1, '7 days', timestamp '2025-01-01', share => 'flu');
SELECT declare('bad', false, share => 'flu', upper => 1);
SELECT declare('bad', false, share => 'flu', lower => 0);
SELECT declare('bad', false, lower => 0);
SELECT declare('bad', false, avg => 'days', share => 'flu', upper => 5);
SELECT declare('bad', false, sum => 'days', avg => 'days', upper => 5);
SELECT declare('bad', false, avg => 'nothing', upper => 5);
SELECT dp_counter_create('bad', 'stays_dp', 1, '7 days', timestamp '2025-01-01', persons => true, share => 'flu');
SELECT dp_counter_create('bad', 'stays_dp', 1, '7 days', timestamp '2025-01-01', avg => 'days', upper => 2147483647, per_person => 2);
SELECT to_regclass('bad');
SET client_min_messages = warning;
DO $$ BEGIN PERFORM dp_counter_drop(counter) FROM dp_counters; END $$;
DROP VIEW stays_dp;
SELECT dp_budget_drop('patients');
DROP SCHEMA measures CASCADE;
