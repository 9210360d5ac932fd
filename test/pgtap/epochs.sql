-- Without a horizon the noise comes in epochs. Over several of them the mean square of a release's error is the square of
-- dp_stddev: in GROUP BY, where the noise of the last row alone is drawn, and under OVER, where a stream goes on.
--
-- False alarms: 32 blocks of 1000 independent errors each. The fourth moment is at most 6.1 times the squared variance (the
-- errors are sums of Laplace variables of great scales), so that by Chebyshev the mean square of a block is off by a quarter
-- with a probability of at most p = 5.1 / (1000 / 16) = 0.082, and the median of the blocks only if 16 of them are: at
-- most (4p)^16 = 1.8e-8. There are 10 medians: below 2e-7 a run.
BEGIN;
SET LOCAL client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS dp_counter;
RESET client_min_messages;
SELECT plan(19);

-- before and behind the ends of the first two epochs
CREATE TEMP TABLE steps AS SELECT unnest(ARRAY[14, 15, 40, 100, 101]) AS t;
SELECT set_eq($$ SELECT last_step FROM dp_plan(NULL, 0.1) ORDER BY 1 LIMIT 2 $$, ARRAY[14, 100]::bigint[], 'where epochs end');

CREATE TEMP TABLE errors (form text, t integer, g integer, error bigint);
INSERT INTO errors
    SELECT 'GROUP BY', t, g, dp_running_count(i % 3 = 0, 0.1, NULL, NULL::bigint) - t / 3
    FROM steps, generate_series(1, 32000) g, LATERAL generate_series(1, t) i GROUP BY t, g;
INSERT INTO errors
    SELECT 'OVER', i, g, n - i / 3
    FROM (SELECT i, g, dp_running_count(i % 3 = 0, 0.1, NULL, NULL::bigint) OVER (PARTITION BY g ORDER BY i) AS n
          FROM generate_series(1, 32000) g, generate_series(1, 101) i) s
    WHERE i IN (TABLE steps);
-- the median of the blocks' mean squares
CREATE TEMP TABLE squares AS
    SELECT form, t, percentile_cont(0.5) WITHIN GROUP (ORDER BY square) AS square
    FROM (SELECT form, t, avg(error * error)::float8 AS square FROM errors GROUP BY form, t, g % 32) b GROUP BY form, t;

SELECT ok(abs(square / dp_stddev(t, NULL, 0.1) ^ 2 - 1) < 0.25, form || ': the mean square of step ' || t || ' is that of dp_stddev')
FROM squares ORDER BY form, t;
-- Power: without what is carried over from the epochs before, every step after the first is found out.
SELECT ok(abs(square / (dp_stddev(t, NULL, 0.1) ^ 2 - dp_stddev(CASE WHEN t > 100 THEN 100 ELSE 14 END, NULL, 0.1) ^ 2) - 1) > 0.25,
          'power: ' || form || ', step ' || t || ', with the noise of its epoch alone')
FROM squares WHERE t > 14 ORDER BY form, t;

SELECT * FROM finish();
ROLLBACK;
