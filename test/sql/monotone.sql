-- dp_monotone: the non-decreasing path nearest to the releases, by pooling adjacent violators.
SELECT t, released, round(dp_monotone(released) OVER (ORDER BY t)::numeric, 6) AS path
FROM (VALUES (1, 3), (2, 1), (3, 5), (4, 4), (5, 4), (6, 10), (7, -2), (8, 10)) v (t, released) ORDER BY t;
-- what does not fall stays; what only falls is its mean; a row is itself
SELECT array_agg(path) FROM (SELECT dp_monotone(t * t) OVER (ORDER BY t) AS path FROM generate_series(-1, 4) t WHERE t >= 0) s;
SELECT array_agg(path) FROM (SELECT dp_monotone(-t) OVER (ORDER BY t) AS path FROM generate_series(1, 4) t) s;
SELECT dp_monotone(7) OVER ();
SELECT dp_monotone(t) OVER (ORDER BY t) FROM generate_series(1, 0) t;
-- order, partitions, frames (ignored), the type
SELECT p, t, dp_monotone(10 * p - t) OVER (PARTITION BY p ORDER BY t DESC ROWS BETWEEN CURRENT ROW AND CURRENT ROW) AS down,
    dp_monotone(10 * p - t) OVER (PARTITION BY p ORDER BY t) AS up
FROM generate_series(1, 2) p, generate_series(1, 3) t ORDER BY p, t;
SELECT pg_typeof(dp_monotone(1) OVER ());
-- exact at the ends of bigint
SELECT dp_monotone(n) OVER (ORDER BY t) FROM (VALUES (1, 9223372036854775807), (2, -9223372036854775808)) v (t, n);

-- against the definition (min-max formula: the greatest, over s <= t, of the least mean from s to an end u >= t)
CREATE TEMP TABLE released AS SELECT t, (t / 3 + (hashint4(t) % 9))::bigint AS n FROM generate_series(1, 60) t;
SELECT count(*), max(abs(path - wanted)) < 1e-9 AS right, bool_and(path >= before) AS never_falls
FROM (SELECT t, path, lag(path, 1, '-Infinity') OVER (ORDER BY t) AS before,
             (SELECT max(least) FROM (SELECT s.t, (SELECT min((SELECT avg(n) FROM released r WHERE r.t BETWEEN s.t AND u.t))
                 FROM released u WHERE u.t >= p.t) AS least
                                      FROM released s WHERE s.t <= p.t) m)::float8 AS wanted
      FROM (SELECT t, dp_monotone(n) OVER (ORDER BY t) AS path FROM released) p) q;
-- long, in memory and spilled: every mean is kept
SET work_mem = '64kB';
SELECT count(*), sum(n)::float8 = round(sum(path)) AS same_total, bool_and(path >= before) AS never_falls
FROM (SELECT n, path, lag(path, 1, '-Infinity') OVER (ORDER BY t) AS before
      FROM (SELECT t, n, dp_monotone(n) OVER (ORDER BY t) AS path FROM (SELECT t, (t + hashint4(t) % 100)::bigint AS n
          FROM generate_series(1, 100000) t) r) p) q;
RESET work_mem;

-- a NULL is an error
SELECT dp_monotone(n) OVER (ORDER BY t) FROM (VALUES (1, 2), (2, NULL)) v (t, n);
\echo SQLSTATE :LAST_ERROR_SQLSTATE
-- the usual use: releases of a count; over a stored release it costs nothing and is the same each time
CREATE TEMP TABLE stored AS SELECT t, dp_running_sum(1, 0.1, 1) OVER (ORDER BY t) AS n FROM generate_series(1, 500) t;
SELECT bool_and(a = b) AS same FROM (SELECT dp_monotone(n) OVER (ORDER BY t) AS a,
    dp_monotone(n) OVER (ORDER BY t ROWS UNBOUNDED PRECEDING) AS b FROM stored) s;
-- The path is found at the first row, and can be canceled there.
SELECT dp_monotone(CASE t WHEN 5 THEN pg_cancel_backend(pg_backend_pid())::integer WHEN 1000 THEN 1 / (t - 1000)
    ELSE t END) OVER (ORDER BY t) FROM generate_series(1, 2000) t;
-- An operator calls it outside a window: PostgreSQL 15 to 19 do not forbid that to anybody, nor for their own (ntile).
CREATE OPERATOR @- (FUNCTION = dp_monotone, RIGHTARG = bigint);
SELECT @- 7::bigint;
\echo SQLSTATE :LAST_ERROR_SQLSTATE
DROP OPERATOR @- (NONE, bigint);
