-- Through SQL: dp_interval holds the true count as often as it says, and dp_stddev is the standard
-- deviation that releases have.
--
-- 20,000 releases for each of 12 plans, all at a step where the true count lies well inside (0, t),
-- so that clamping does not matter.
--
-- False alarms: a frequency fails where its Kullback-Leibler distance from the confidence exceeds
-- 20/20000, with a probability below exp(-20) = 2e-9 by Chernoff's bound; there are 36. Where the
-- noise is wide (epsilon = 0.1: one more in half width is less than 0.8 % in probability) it must not
-- exceed the confidence by more than that either, another 12. A mean of squares fails 8 standard
-- deviations away, taking E N^4 <= 6 V^2 + 2 V (Laplace variables have 6 V^2; rare noise of size 1
-- has V): 12 of them. Together below 1e-6.
BEGIN;
SET LOCAL client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS dp_counter;
RESET client_min_messages;
SELECT plan(27 + 9 + 9);

CREATE TEMP TABLE releases AS
SELECT mechanism, k, epsilon, released
FROM (SELECT mechanism, k, epsilon, t,
             dp_running_count(t % 2 = 0, epsilon, k, mechanism, 30) OVER (PARTITION BY run ORDER BY t) AS released
      FROM (SELECT mechanism, k, epsilon, row_number() OVER () AS run -- one number is sorted much faster than four columns
            FROM (VALUES ('subtraction', 5), ('plain', 3), ('hat', 5)) plans (mechanism, k),
                 unnest(ARRAY[0.1, 1, 20]::float8[]) epsilon, generate_series(1, 20000)) runs, generate_series(1, 22) t) s
WHERE t = 22;

-- an interval for each value that was released, as often as it was
CREATE TEMP TABLE coverage AS
SELECT mechanism, epsilon, confidence, sum(times) AS runs,
       (sum(times) FILTER (WHERE dp_interval(released, 22, 30, epsilon, confidence, k,
           mechanism) @> 11::bigint) / sum(times))::float8 AS frequency
FROM (SELECT mechanism, k, epsilon, released, count(*) AS times FROM releases GROUP BY mechanism, k, epsilon, released) AS counted,
     unnest(ARRAY[0.5, 0.9, 0.99]::float8[]) confidence
GROUP BY mechanism, epsilon, confidence;

-- the Kullback-Leibler distance of a frequency from the probability that it should have
CREATE FUNCTION pg_temp.distance(f float8, p float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    $$ SELECT (CASE WHEN f > 0 THEN f * ln(f / p) ELSE 0 END) + (CASE WHEN f < 1 THEN (1 - f) * ln((1 - f) / (1 - p)) ELSE 0 END) $$;

SELECT ok(runs = 20000 AND (frequency >= confidence OR runs * pg_temp.distance(frequency, confidence) < 20),
          format('%s, epsilon %s: %s %% is covered', mechanism, epsilon, 100 * confidence))
FROM coverage ORDER BY mechanism, epsilon, confidence;

SELECT ok(frequency <= confidence + 0.008 OR runs * pg_temp.distance(frequency, confidence + 0.008) < 20,
          format('%s, epsilon %s: no more than %s %%', mechanism, epsilon, 100 * confidence))
FROM coverage WHERE epsilon = 0.1 ORDER BY mechanism, confidence;

-- at epsilon 20 hat hardly ever rounds: its 1/12 for that is too much
SELECT ok(abs(mean - variance) < 8 * sqrt((6 * variance ^ 2 + 2 * variance) / 20000)
                                 + CASE WHEN mechanism = 'hat' AND epsilon = 20 THEN 1.0 / 12 ELSE 0 END,
          format('%s, epsilon %s: dp_stddev', mechanism, epsilon))
FROM (SELECT mechanism, epsilon, avg((released - 11) ^ 2)::float8 AS mean, dp_stddev(22, 30, epsilon, k, mechanism) ^ 2 AS variance
      FROM releases GROUP BY mechanism, k, epsilon) v
ORDER BY mechanism, epsilon;

SELECT * FROM finish();
ROLLBACK;
