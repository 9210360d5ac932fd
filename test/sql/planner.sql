-- The planner: what dp_plan, dp_compare, dp_stddev and dp_interval answer and refuse. Its numbers are
-- held against the definitions and the design's tables in test/unit; here is what SQL sees of them.
\pset format unaligned

-- the columns, and the paper's mechanisms at epsilon = 1
SELECT mechanism, height, radices, scale, round(mse::numeric, 4) AS mse, round(rmse::numeric, 4) AS rmse,
       round(max_stddev::numeric, 4) AS max_stddev, state_bytes > 0 AS has_state
FROM (VALUES (1, 1000, 19, 'subtraction'), (2, 1000, NULL, 'subtraction'), (3, 1000, NULL, 'plain'), (4, 1000, 2, 'plain'),
    (5, 10, NULL, 'plain'))
         v (n, horizon, k, wanted),
     dp_plan(horizon, 1, k, wanted)
ORDER BY n;

-- k alone means the paper's subtraction; nothing means the best there is
SELECT mechanism FROM dp_plan(1000, 1, 19);
SELECT horizon, plan.mse = (SELECT min(mse) FROM dp_compare(horizon, 1) WHERE guarantee = 'pure') AS is_the_best
FROM unnest(ARRAY[1, 2, 10, 33, 50, 1000, 1000000]) horizon, dp_plan(horizon, 1) plan;
SELECT mechanism, height, radices FROM dp_plan(1000, 0.1, 14, 'hat');
-- where the lattices of hats are too fine, trees are left
SELECT mechanism FROM dp_plan(1000000000000, 1e-9);
SELECT mechanism, count(*) FROM dp_plan(NULL, 1e-9, NULL, 'hat') GROUP BY mechanism ORDER BY mechanism;

-- discrete noise at a small epsilon is continuous noise: mechanism.md's table in units of 1/epsilon^2
SELECT horizon, mechanism, k, round((mse * 1e-12)::numeric, 1) AS mse, round((max_stddev ^ 2 * 1e-12)::numeric, 1) AS max_variance
FROM unnest(ARRAY[100, 1000, 10000, 100000, 1000000, 10000000]) horizon, dp_compare(horizon, 1e-6)
WHERE mechanism NOT IN ('hat', 'noise per step')
ORDER BY horizon, mechanism COLLATE "C";

-- the same for a billion, and for what goes beyond it
SELECT horizon, wanted, k, height, radices, round((mse * 1e-6)::numeric, 1) AS mse, round((max_stddev ^ 2 * 1e-6)::numeric) AS max_variance
FROM (VALUES (1, 1000000000, 'subtraction', 19), (1, 1000000000, 'subtraction', NULL),
             (2, 100, 'hat', NULL), (2, 1000, 'hat', NULL), (2, 1024, 'hat', NULL), (2, 10000, 'hat', NULL), (2, 100000, 'hat', NULL),
                 (2, 1000000, 'hat', NULL), (2, 1000000000, 'hat', NULL), (2, 1000000000, 'hat', 16))
         v (n, horizon, wanted, k), dp_plan(horizon, 1e-3, k, wanted)
ORDER BY n, horizon, k;

-- dp_compare: best first, the ratio, and what each one guarantees
SELECT array_agg(mse ORDER BY n) = array_agg(mse ORDER BY mse) AS sorted, min(ratio) AS least_ratio,
    bool_and(abs(ratio - mse / least) < 1e-12) AS is_ratio,
       bool_and(abs(rmse ^ 2 - mse) < 1e-9 * mse) AS is_root
FROM (SELECT *, row_number() OVER () AS n, min(mse) OVER () AS least FROM dp_compare(1000000, 0.5, 1e-9)) c;
SELECT guarantee, mechanism, k IS NULL AS without_k, max_stddev IS NULL AS mean_only
FROM dp_compare(1000000, 0.5, 1e-9) ORDER BY guarantee DESC, mechanism COLLATE "C";
-- without delta the pure ones alone; at a large epsilon the classic formula is wrong and left out
SELECT count(*), min(guarantee) FROM dp_compare(1000, 0.5);
-- contributions: a person's c rows, wherever they are, are worth c times the Laplace noise, and less than that of
-- Gaussian noise; only the latter asks where they are
SELECT contributions, round(max(rmse / contributions) FILTER (WHERE mechanism = 'hat')::numeric, 1) AS hat,
    round(max(rmse / contributions) FILTER (WHERE mechanism LIKE '%analytic%')::numeric, 1) AS analytic,
       (array_agg(mechanism ORDER BY mse))[1] AS best
FROM unnest(ARRAY[1, 3, 20, 1000]) contributions, dp_compare(10000, 1, 1e-6, contributions, contributions => contributions)
    GROUP BY contributions ORDER BY contributions;
SELECT bool_and((c.mse = one.mse) = (c.guarantee <> 'approximate')) AS gaussian_alone, bool_and(c.mse <= one.mse) AS never_worse, count(*)
FROM dp_compare(365, 0.1, 1e-6, 12, 12) c JOIN dp_compare(365, 0.1, 1e-6, 12) one USING (mechanism);
SELECT mechanism FROM dp_compare(1000, 10, 1e-6) WHERE guarantee = 'approximate' ORDER BY mechanism COLLATE "C";

-- dp_stddev: a step of one node and of eighteen; nothing is hidden at step 0
SELECT t, round(dp_stddev(t, 1000, 1, 19)::numeric, 6) AS stddev, round(dp_stddev(t, 1000, 1, 19, 'plain')::numeric, 6) AS plain
FROM unnest(ARRAY[0, 1, 2, 9, 10, 18, 19, 171, 1000]) t;
-- its squares have dp_plan's mean and maximum
SELECT mechanism, abs(avg(dp_stddev(t, 500, 1, NULL, wanted) ^ 2) / min(mse) - 1) < 1e-5 AS mean,
    abs(max(dp_stddev(t, 500, 1, NULL, wanted)) / min(max_stddev) - 1) < 1e-6 AS greatest
FROM unnest(ARRAY['hat', 'subtraction', 'plain']) wanted, dp_plan(500, 1, NULL, wanted), generate_series(1, 500) t
GROUP BY mechanism ORDER BY mechanism COLLATE "C";

-- dp_interval: one node of scale 3, P(|z| <= a) = 1 - 2 q^(a+1)/(1+q); wider for more confidence
SELECT confidence, dp_interval(180, 361, 1000, 1, confidence, 19) AS interval,
       (SELECT min(a) FROM generate_series(0, 100) a
           WHERE 1 - 2 * exp(-(a + 1) / 3.0::float8) / (1 + exp(-1 / 3.0::float8)) >= confidence) AS half_width
FROM unnest(ARRAY[0.5, 0.8, 0.9, 0.95, 0.99, 0.999999999]::float8[]) confidence;
SELECT dp_interval(180, 361, 1000, 1, 0.95, 19) AS "default" , dp_interval(180, 361, 1000, 1, k => 19) = dp_interval(180, 361, 1000, 1,
    0.95, 19) AS same;
-- ends are moved into `within`, and only there; never empty
SELECT released, dp_interval(released, 361, 1000, 1, 0.95, 19), dp_interval(released, 361, 1000, 1, 0.95, 19,
    within => '[0,361]') AS within FROM unnest(ARRAY[-1000, -9, -8, 0, 5, 353, 361, 369, 5000]) released;
SELECT dp_interval(9223372036854775807, 100, 1000, 1), dp_interval(-9223372036854775808, 100, 1000, 1);
SELECT dp_interval(500, 3, 730, 1) AS events, dp_interval(5, 3, 730, 1, within => '[0,)') AS counts,
    dp_interval(5, 3, 730, 1, within => '(,3]') AS at_most,
       dp_interval(5, 3, 730, 1, within => '(,)') AS everywhere, dp_interval(5, 3, 730, 1, within => '[4,5)') AS known;
-- at step 0 the count is 0 for certain; a large epsilon leaves hardly any noise, a small one much
SELECT mechanism, dp_interval(0, 0, 1000, 1, mechanism => mechanism) AS nothing,
    dp_interval(0, 0, NULL, 1, mechanism => mechanism) AS of_no_horizon
FROM unnest(ARRAY['hat', 'subtraction', 'plain', NULL]) mechanism;
SELECT dp_interval(70, 100, 1000, 1e9) AS exact, dp_interval(50, 100, 1000, 1e-6) AS anything;
SELECT mechanism, dp_interval(250, 500, 1000, 1e9, 0.99, NULL, mechanism) AS exact
FROM unnest(ARRAY['hat', 'subtraction', 'plain']) mechanism;
-- symmetric around the release; twice the confidence, more width
SELECT bool_and(250 - lower(i) = upper(i) - 1 - 250) AS symmetric, bool_and(i <@ j) AS nested
FROM generate_series(400, 600, 7) t, dp_interval(250, t, 1000, 1, 0.5) i, dp_interval(250, t, 1000, 1, 0.9) j;

-- what is remembered of one request answers no other: any two that differ in one argument, one after the other and back
WITH requests (horizon, epsilon, k, mechanism, sensitivity, t, since, confidence) AS (VALUES
    (1000::bigint, 0.1::float8, NULL::int, NULL::text, 1::bigint, 700::bigint, 0::bigint, 0.95::float8),
    (2000, 0.1, NULL, NULL, 1, 700, 0, 0.95), (1000, 0.11, NULL, NULL, 1, 700, 0, 0.95), (1000, 0.1, 3, NULL, 1, 700, 0, 0.95),
        (1000, 0.1, 19, NULL, 1, 700, 0, 0.95),
    (1000, 0.1, 3, 'plain', 1, 700, 0, 0.95), (1000, 0.1, NULL, NULL, 2, 700, 0, 0.95), (1000, 0.1, NULL, NULL, 1, 300, 0, 0.95),
        (1000, 0.1, NULL, NULL, 1, 700, 500, 0.95),
    (1000, 0.1, NULL, NULL, 1, 700, 0, 0.9),
    (NULL, 0.1, NULL, NULL, 1, 700, 0, 0.95), (NULL, 0.11, NULL, NULL, 1, 700, 0, 0.95), (NULL, 0.1, 3, NULL, 1, 700, 0, 0.95),
        (NULL, 0.1, 19, NULL, 1, 700, 0, 0.95),
    (NULL, 0.1, 3, 'plain', 1, 700, 0, 0.95), (NULL, 0.1, NULL, NULL, 2, 700, 0, 0.95), (NULL, 0.1, NULL, NULL, 1, 7, 0, 0.95),
        (NULL, 0.1, NULL, NULL, 1, 70000, 0, 0.95),
    (NULL, 0.1, NULL, NULL, 1, 700, 500, 0.95), (NULL, 0.1, NULL, NULL, 1, 700, 0, 0.9))
SELECT count(DISTINCT b) AS requests, count(DISTINCT upper(answer)) AS widths, count(DISTINCT stddev) AS stddevs,
    count(DISTINCT (b, answer, stddev)) AS answers
FROM requests AS a, requests AS b, LATERAL (
    SELECT dp_interval(0, a.t, a.horizon, a.epsilon, a.confidence, a.k, a.mechanism, a.sensitivity, a.since) AS before,
           dp_interval(0, b.t, b.horizon, b.epsilon, b.confidence, b.k, b.mechanism, b.sensitivity, b.since) AS answer,
           dp_stddev(b.t, b.horizon, b.epsilon, b.k, b.mechanism, b.sensitivity, b.since) AS stddev OFFSET 0) AS answers
WHERE before IS NOT NULL;

-- differences: release(t) - release(since) shares nodes with both; at since = t nothing is hidden, and nothing changes for 0
SELECT bool_and(dp_stddev(t, 730, 1, since_step => 0) = dp_stddev(t, 730, 1) AND dp_stddev(t, 730, 1, since_step => t) = 0) AS ends,
       round(avg(dp_stddev(t, 730, 1, since_step => t - 7))::numeric, 1) AS week,
           round(avg(sqrt(dp_stddev(t, 730, 1) ^ 2 + dp_stddev(t - 7, 730, 1) ^ 2))::numeric, 1) AS independent,
       bool_and(dp_interval(50, t, 730, 1, since_step => t) = '[50,51)') AS certain
FROM generate_series(7, 730) t;
-- one node each: noise per step is that of the steps between
SELECT round(dp_stddev(9, 10, 1, 100, 'plain', since_step => 5)::numeric, 9) = round(2 * dp_stddev(1, 10, 1, 100, 'plain')::numeric,
    9) AS four_steps,
       round(dp_stddev(700, 730, 1, since_step => 699)::numeric, 1) AS day, round(dp_stddev(700, 730, 1, since_step => 693)::numeric,
           1) AS week,
       dp_stddev(700, NULL, 1, since_step => 650) < 0.8 * sqrt(dp_stddev(700, NULL, 1) ^ 2 + dp_stddev(650, NULL,
           1) ^ 2) AS without_horizon,
       dp_stddev(700, NULL, 1, since_step => 20) BETWEEN 1
           AND sqrt(dp_stddev(700, NULL, 1) ^ 2 + dp_stddev(20, NULL, 1) ^ 2) AS across_epochs;
-- sensitivity: where noise is not small, it multiplies the error; a sum of cents has the intervals of dollars, a hundred times as wide
SELECT sensitivity, round((dp_stddev(100, 365, 0.1, sensitivity => sensitivity) / dp_stddev(100, 365, 0.1) / sensitivity)::numeric,
    2) AS stddev,
       round((max_stddev / sensitivity)::numeric, 1) AS max_stddev, round((rmse / sensitivity)::numeric, 1) AS rmse, mechanism,
       (SELECT bool_and(abs(c.ratio / one.ratio - 1) < 1e-3) FROM dp_compare(365, 0.1, 1e-6, sensitivity) c
           JOIN dp_compare(365, 0.1, 1e-6) one USING (mechanism)) AS same_order
FROM (VALUES (1::bigint), (2), (10), (1000), (100000)) v (sensitivity), dp_plan(365, 0.1, sensitivity => v.sensitivity) plan;
-- one number is t = horizon = 1: scale sensitivity / epsilon, variance 2q/(1-q)^2
SELECT bool_and(abs(dp_stddev(1, 1, epsilon,
    sensitivity => s) / (sqrt(2 * exp(-epsilon / s)) / (1 - exp(-epsilon / s))) - 1) < 1e-9) AS laplace
FROM unnest(ARRAY[0.01, 0.5, 1, 3]::float8[]) epsilon, unnest(ARRAY[1, 5, 1000]) s;

-- mechanism laplace: the sum of step - since_step numbers, each released once; horizon is ignored
SELECT bool_and(dp_stddev(t, horizon, e, mechanism => 'laplace', sensitivity => s, since_step => since) = dp_stddev(t, 1000, e, 2000,
    'plain', s, since)
                AND dp_interval(50, t, horizon, e, 0.9, mechanism => 'laplace', sensitivity => s, since_step => since) = dp_interval(50,
                    t, 1000, e, 0.9, 2000, 'plain', s, since)) AS as_nodes
FROM unnest(ARRAY[1, 7, 30, 365, 1000]) t, unnest(ARRAY[0, 1]) since, unnest(ARRAY[NULL, -5, 10]::bigint[]) horizon,
    unnest(ARRAY[0.01, 1, 20]::float8[]) e, unnest(ARRAY[1, 12]) s;
SELECT round(dp_stddev(7, NULL, 1, mechanism => 'laplace')::numeric, 4) AS week, round((sqrt(7) * dp_stddev(1, 1, 1))::numeric,
    4) AS seven_days,
       dp_interval(100, 7, NULL, 1, mechanism => 'laplace') AS around, dp_interval(3, 7, NULL, 1, mechanism => 'laplace',
           within => '[0,)') AS within;

-- one query with the counts (20 intervals, each fails with a probability of 1e-9)
SELECT bool_and(late BETWEEN lower(wide) AND upper(wide) - 1) AS within, bool_and(upper(wide) <= t + 1 AND lower(wide) >= 0) AS clamped
FROM (SELECT t, late, dp_interval(private, t, 200, 1.0, 0.999999999, within => int8range(0, t, '[]')) AS wide
      FROM (SELECT row_number() OVER w AS t, (sum(b::int) OVER w)::bigint AS late,
          dp_running_count(b, 1.0, horizon => 200) OVER w AS private
            FROM (SELECT i, i % 3 = 0 AS b FROM generate_series(1, 200) i) s WINDOW w AS (ORDER BY i)) c WHERE t % 10 = 0) d;

-- without a horizon: a plan for every epoch, next to each other, errors that hold what is carried over and agree with dp_stddev
SELECT count(*), min(first_step) AS first, max(last_step) AS last, bool_and(first_step = before + 1) AS no_gap,
    bool_and(mse > mse_before) AS grows
FROM (SELECT *, lag(last_step) OVER steps AS before, lag(mse) OVER steps AS mse_before
    FROM dp_plan(NULL, 1) WINDOW steps AS (ORDER BY first_step)) plan;
SELECT first_step, last_step, mechanism, abs(avg(dp_stddev(t, NULL, 1) ^ 2) / mse - 1) < 1e-5 AS mean,
    abs(max(dp_stddev(t, NULL, 1)) / max_stddev - 1) < 1e-6 AS greatest
FROM dp_plan(NULL, 1) plan, generate_series(first_step, last_step) t WHERE last_step <= 1000 GROUP BY first_step, last_step, mechanism,
    mse, max_stddev ORDER BY 1;
SELECT first_step, last_step, mechanism, radices FROM dp_plan(NULL, 1, 3) LIMIT 3;
-- one row for a horizon beside many for none, in one call and in the select list
SELECT horizon, count(*) FROM (VALUES (10), (NULL), (20)) v (horizon), dp_plan(horizon, 1) GROUP BY horizon ORDER BY horizon;
SELECT horizon, count(plan) FROM (SELECT horizon, dp_plan(horizon, 1) AS plan FROM (VALUES (10), (NULL), (20)) v (horizon)) s
    GROUP BY horizon ORDER BY horizon;
SELECT (dp_plan(horizon, 1, 19)).last_step FROM unnest(ARRAY[10, 20]) horizon;

-- NULL: a missing release or step has no interval; a missing parameter is an error
SELECT dp_stddev(5, 10, 1, since_step => NULL) IS NULL AND dp_interval(5, 5, 10, 1, since_step => NULL) IS NULL AS no_since,
    dp_interval(NULL, 5, 10, 1) IS NULL AS no_release, dp_interval(5, NULL, 10, 1) IS NULL AS no_step,
    dp_stddev(NULL, 10, 1) IS NULL AS no_stddev;
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
    answer := call || E'\n    ' || state || ': ' || message || coalesce(E'\n    HINT: ' || nullif(hint, ''), '');
END $$;
SELECT pg_temp.answer(call)
FROM unnest(ARRAY[
    'dp_plan(10, NULL)', 'dp_plan(0, 1)', 'dp_plan(-1, 1)', 'dp_plan(10, 0)', 'dp_plan(10, ''NaN'')', 'dp_plan(10, 1, 0)',
        'dp_plan(10, 1, 1)', 'dp_plan(10, 1, NULL, ''best'')', 'dp_plan(1000000000000, 1e-9, NULL, ''hat'')',
    'dp_compare(10, NULL)', 'dp_compare(0, 1)', 'dp_compare(10, 1, 0)', 'dp_compare(10, 1, 1)', 'dp_compare(10, 1, ''NaN'')',
    'dp_stddev(-1, 10, 1)', 'dp_stddev(11, 10, 1)', 'dp_stddev(1, 10, NULL)', 'dp_stddev(1, 10, ''Infinity'')',
    'dp_interval(1, -1, 10, 1)', 'dp_interval(1, 11, 10, 1)', 'dp_interval(1, 1, 10, 1, NULL)', 'dp_interval(1, 1, 10, 1, 0)',
        'dp_interval(1, 1, 10, 1, 1)',
    'dp_interval(1, 1, 10, 1, 0.9999999999)', 'dp_interval(1, 1, 10, 1, ''NaN'')', 'dp_interval(NULL, 1, 10, NULL)',
    'dp_plan(10, 1, sensitivity => 0)', 'dp_plan(10, 1, sensitivity => NULL)', 'dp_compare(10, 1, NULL, -1)',
        'dp_compare(10, 1, NULL, NULL)', 'dp_compare(10, 1, NULL, 9223372036854775807)',
    'dp_compare(10, 1, NULL, 5, 0)', 'dp_compare(10, 1, 1e-6, 5, -1)', 'dp_compare(10, 1, 1e-6, 5, NULL)',
        'dp_compare(10, 1, 1e-6, 12, 11)', 'dp_compare(10, 1, 1e-6, contributions => 2)',
    'dp_stddev(5, 10, 1, since_step => 6)', 'dp_stddev(5, 10, 1, since_step => -1)', 'dp_stddev(5, 10, 1, sensitivity => 0)',
        'dp_stddev(5, 10, 1, sensitivity => 68719476737)',
    'dp_interval(1, 5, 10, 1, since_step => 6)', 'dp_interval(1, 5, 10, 1, sensitivity => NULL)',
        'dp_interval(1, 5, 10, 1, within => ''empty'')',
    'dp_stddev(5, NULL, 1, 2, ''laplace'')', 'dp_interval(1, 5, NULL, 1, 0.95, 2, ''laplace'')', 'dp_stddev(5, NULL, 1, NULL, ''Laplace'')',
    'dp_stddev(5, NULL, 1, NULL, ''laplace'', since_step => 6)', 'dp_stddev(-1, NULL, 1, NULL, ''laplace'')',
        'dp_interval(1, 5, NULL, 1, mechanism => ''laplace'', since_step => -1)',
    'dp_stddev(5, NULL, NULL, NULL, ''laplace'')', 'dp_stddev(5, NULL, 0, NULL, ''laplace'')',
        'dp_stddev(5, NULL, 1, NULL, ''laplace'', 0)', 'dp_stddev(5, NULL, 1, NULL, ''laplace'', NULL)',
    'dp_stddev(NULL, NULL, 1, NULL, ''laplace'')', 'dp_interval(1, 5, NULL, 1, 1, NULL, ''laplace'')',
        'dp_interval(1, 9223372036854775807, NULL, 1, mechanism => ''laplace'')',
    'dp_plan(10, 1, NULL, ''laplace'')', 'dp_running_count(true, 1.0, mechanism => ''laplace'') OVER ()'
]) call;
\pset tuples_only off

-- a plan can be folded into a query: nothing here is volatile
EXPLAIN (COSTS OFF, VERBOSE) SELECT dp_stddev(1000, 1000, 1e9, 2, 'plain'), dp_interval(5, 10, 10, 1e9);
