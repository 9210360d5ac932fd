-- dp_avg and dp_avg_interval: an average, or a share, from two releases of one law.

-- a share from yes and no; an average from the sums of value - lower and of upper - value
SELECT dp_avg(30, 70) AS share, dp_avg(45, 255, 0, 30) AS average, dp_avg(45, 255, upper => 35, lower => 5) AS higher,
    dp_avg(1, 2, -10, 20) AS signed,
       dp_avg(9223372036854775807, 9223372036854775807) AS large, dp_avg(1, 3, -9223372036854775808, -1) AS range;
SELECT dp_avg(1, 3, -9223372036854775808, 0);
-- noise may take one below 0: the ends of the range; nothing where both together are not positive
SELECT dp_avg(-5, 100) AS low, dp_avg(100, -5, 0, 30) AS high, dp_avg(5, -5) AS none, dp_avg(0, 0) AS nothing,
    dp_avg(-9223372036854775808, -1) AS less;
-- exact against plain SQL
SELECT bool_and(abs(dp_avg(above, below, -20, 130) - avg) < 1e-12) AS exact,
    bool_and(dp_avg_interval(above, below, 1, 1, 1e9, -20, 130) = numrange(avg::numeric, avg::numeric, '[]')) AS certain
FROM (SELECT sum(v + 20) AS above, sum(130 - v) AS below, avg(v)::float8 AS avg
      FROM (SELECT g, least(greatest(i * g % 301 - 100, -20), 130) AS v FROM generate_series(1, 40) i, generate_series(1, 50) g) s
          GROUP BY g) t;

-- beside a large lower, too, where a double has no digits left: it is that of lower = 0, moved
SELECT bool_and(dp_avg_interval(a, 1000 - a, 1, 1, epsilon, low, low + 100)
                = numrange(low + lower(i), low + upper(i), '[]')) AS moved,
       bool_and(dp_avg_interval(a, 1000 - a, 1, 1, epsilon, low, low + 100) @> low + a / 10.0) AS holds
FROM unnest(ARRAY[0, 37, 300, 999, 1000]) AS a, unnest(ARRAY[1.0, 30, 1e9]) AS epsilon,
     unnest(ARRAY[1700000000000000, -9000000000000000000, 9223372036854775000]) AS low,
     dp_avg_interval(a, 1000 - a, 1, 1, epsilon, 0, 100) AS i;
-- also where it has no width, and the average no end
SELECT dp_avg_interval(1, 2, 1, 1, 1e9), dp_avg_interval(0, 2, 1, 1, 1e9), dp_avg_interval(2, 0, 1, 1, 1e9);

-- the interval holds the average, lies in the range and is narrower with more values, more epsilon, less confidence and
-- a shorter difference
SELECT bool_and(i @> dp_avg(a, 1000 - a)::numeric) AS around, bool_and(i <@ '[0,1]') AS within,
    bool_and(lower_inc(i) AND upper_inc(i)) AS closed,
       bool_and(abs(lower(i) + upper(mirror) - 1) < 1e-3) AS symmetric
FROM generate_series(-40, 1040, 20) a, dp_avg_interval(a, 1000 - a, 40, 120, 1.0) i, dp_avg_interval(1000 - a, a, 40, 120, 1.0) mirror;
CREATE FUNCTION pg_temp.width(numrange) RETURNS numeric LANGUAGE sql AS 'SELECT upper($1) - lower($1)';
SELECT name, round(pg_temp.width(wide) / pg_temp.width(narrow), 1) AS ratio
FROM (VALUES ('ten times the values', dp_avg_interval(300, 700, 40, 120, 0.5), dp_avg_interval(3000, 7000, 40, 120, 0.5)),
             ('ten times epsilon', dp_avg_interval(3000, 7000, 40, 120, 0.05), dp_avg_interval(3000, 7000, 40, 120, 0.5)),
             ('half of the confidence', dp_avg_interval(3000, 7000, 40, 120, 0.05),
                 dp_avg_interval(3000, 7000, 40, 120, 0.05, confidence => 0.475)),
             ('a share of 0.5 instead of 0.05', dp_avg_interval(500, 9500, 40, 120, 0.05), dp_avg_interval(5000, 5000, 40, 120, 0.05)),
             ('all, not the last step', dp_avg_interval(3000, 7000, 40, 120, 0.05),
                 dp_avg_interval(3000, 7000, 40, 120, 0.05, since_step => 39)),
             ('three rows a person', dp_avg_interval(90000, 210000, 40, 120, 0.5, 0, 30, sensitivity => 90),
                 dp_avg_interval(90000, 210000, 40, 120, 0.5, 0, 30)),
             ('no horizon', dp_avg_interval(3000, 7000, 40, NULL, 0.05), dp_avg_interval(3000, 7000, 40, 120, 0.05)),
             ('k and mechanism', dp_avg_interval(3000, 7000, 120, 120, 0.05, k => 2, mechanism => 'plain'),
                 dp_avg_interval(3000, 7000, 120, 120, 0.05))) v (name, wide, narrow);
-- a range of 30 is 30 times a share with a thirtieth of epsilon's noise
SELECT round(pg_temp.width(dp_avg_interval(90000, 210000, 40, 120, 1.0, 100, 130)) / pg_temp.width(dp_avg_interval(90000, 210000, 40, 120,
    1.0 / 30)), 1) AS ratio;
-- nothing is known, and nothing is hidden
SELECT dp_avg_interval(5, -6, 40, 120, 1.0) AS nothing, dp_avg_interval(-700, -300, 40, 120, 1.0, -5, 30) AS less,
    dp_avg_interval(1, 1, 40, 120, 1e-6) AS anything,
       dp_avg_interval(30, 70, 0, 120, 1.0) AS empty, dp_avg_interval(30, 70, 40, 120, 1e9) AS exact,
           dp_avg_interval(30, 70, 40, 120, 1.0, since_step => 40) AS same;
-- rounded outwards, but not out of the range of the values
SELECT dp_avg_interval(1, 1, 40, 120, 1e-4, -10, 100000) AS wide, dp_avg_interval(5, -6, 40, 120, 1.0, -1, 2000000) AS nothing;
-- one release below 0 by more than its noise
SELECT lower(i) AS low, upper(i) BETWEEN 0.005 AND 0.015 AS high FROM dp_avg_interval(-500, 1500, 40, 120, 1.0) i;

-- one query with the sums, whose two epsilons are one (40 intervals, each fails with a probability of 1e-9)
SELECT count(*), bool_and(i @> average) AS within
FROM (SELECT t, average, dp_avg_interval(above, below, t, 200, 1.0, 0, 30, 0.999999999) AS i
      FROM (SELECT t, avg(v) OVER w AS average, dp_running_sum(v, 1.0, 30, 200) OVER w AS above,
          dp_running_sum(30 - v, 1.0, 30, 200) OVER w AS below
            FROM (SELECT t, t * 7 % 31 AS v FROM generate_series(1, 200) t) s WINDOW w AS (ORDER BY t)) r WHERE t > 160) d;

-- what is remembered of one law answers no other
WITH laws (horizon, epsilon, k, mechanism, sensitivity, t, since, confidence) AS (VALUES
    (1000::bigint, 0.1::float8, NULL::int, NULL::text, 1::bigint, 700::bigint, 0::bigint, 0.95::float8),
    (2000, 0.1, NULL, NULL, 1, 700, 0, 0.95), (1000, 0.11, NULL, NULL, 1, 700, 0, 0.95), (1000, 0.1, 3, NULL, 1, 700, 0, 0.95),
        (1000, 0.1, 3, 'plain', 1, 700, 0, 0.95),
    (1000, 0.1, NULL, NULL, 2, 700, 0, 0.95), (1000, 0.1, NULL, NULL, 1, 300, 0, 0.95), (1000, 0.1, NULL, NULL, 1, 700, 500, 0.95),
        (1000, 0.1, NULL, NULL, 1, 700, 0, 0.9),
    (NULL, 0.1, NULL, NULL, 1, 700, 0, 0.95), (NULL, 0.1, NULL, NULL, 1, 70000, 0, 0.95))
SELECT count(DISTINCT b) AS laws, count(DISTINCT answer) AS answers, count(DISTINCT (b, answer)) AS both
FROM laws AS a, laws AS b, LATERAL (
    SELECT dp_avg_interval(300000, 700000, a.t, a.horizon, a.epsilon, 0, 1, a.confidence, a.k, a.mechanism, a.sensitivity,
        a.since) AS before,
           dp_avg_interval(300000, 700000, b.t, b.horizon, b.epsilon, 0, 1, b.confidence, b.k, b.mechanism, b.sensitivity,
               b.since) AS answer OFFSET 0) AS answers
WHERE before IS NOT NULL;

-- NULL: a missing release or step has no answer; a missing parameter is an error
SELECT dp_avg(NULL, 1) IS NULL AND dp_avg(1, NULL) IS NULL AS no_avg, dp_avg_interval(NULL, 1, 1, 1, 1) IS NULL
    AND dp_avg_interval(1, NULL, 1, 1, 1) IS NULL AS no_release,
       dp_avg_interval(1, 1, NULL, 1, 1) IS NULL AND dp_avg_interval(1, 1, 1, 1, 1, since_step => NULL) IS NULL AS no_step;
\pset tuples_only on
CREATE FUNCTION pg_temp.answer(call text, OUT answer text) LANGUAGE plpgsql AS $$
DECLARE
    state text;
    message text;
    hint text;
BEGIN
    EXECUTE 'SELECT ' || call INTO answer;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
    -- PostgreSQL's own hint depends on the major
    answer := call || E'\n    ' || state || ': ' || message || CASE WHEN hint <> '' AND state <> '42883' THEN E'\n    HINT: ' || hint
        ELSE '' END;
END $$;
SELECT pg_temp.answer(call)
FROM unnest(ARRAY[
    'dp_avg(1, 2, 5, 5)', 'dp_avg(1, 2, 5)', 'dp_avg(NULL, 2, 6, 5)', 'dp_avg(1, 2, NULL)', 'dp_avg(1, 2, 0, NULL)', 'dp_avg(1.5, 2)',
    'dp_avg_interval(1, 2, 1, 1, 1, 5, 5)', 'dp_avg_interval(1, 2, 1, 1, 1, NULL)',
        'dp_avg_interval(1, 2, 1, 1, 1, 0, 30, sensitivity => 1)',
    'dp_avg_interval(1, 2, 1, 1, 1, sensitivity => 0)', 'dp_avg_interval(1, 2, 1, 1, 1, -9223372036854775808, 9223372036854775807)',
    'dp_avg_interval(1, 2, 1, 1, NULL)', 'dp_avg_interval(1, 2, 1, 0, 1)', 'dp_avg_interval(1, 2, 1, 1, -1)',
        'dp_avg_interval(1, 2, 2, 1, 1)', 'dp_avg_interval(1, 2, -1, 1, 1)',
    'dp_avg_interval(1, 2, 1, 1, 1, confidence => 1)', 'dp_avg_interval(1, 2, 1, 1, 1, confidence => NULL)',
        'dp_avg_interval(1, 2, 1, 1, 1, k => 1)',
    'dp_avg_interval(1, 2, 1, 1, 1, mechanism => ''best'')', 'dp_avg_interval(1, 2, 1, 1, 1, since_step => 2)'
]) call;
\pset tuples_only off
-- nothing here is volatile
EXPLAIN (COSTS OFF, VERBOSE) SELECT dp_avg(30, 70), dp_avg_interval(30, 70, 1, 1, 1e9);
