-- Pure epsilon-DP against (epsilon, delta)-DP by Gaussian noise: root mean squared error over delta,
-- horizon 1,000,000, epsilon = 1.
SELECT delta,
       max(rmse) FILTER (WHERE mechanism = 'hat') AS hat,
       max(rmse) FILTER (WHERE mechanism = 'subtraction, k = 19') AS k19,
       max(rmse) FILTER (WHERE mechanism = 'normalized square root, analytic Gaussian') AS analytic,
       max(rmse) FILTER (WHERE mechanism = 'square root, classic Gaussian') AS classic,
       max(rmse) FILTER (WHERE mechanism = 'Henzinger-Upadhyay-Upadhyay bound') AS bound
FROM (SELECT 10::float8 ^ (-i / 4.0) AS delta FROM generate_series(8, 72) AS i) AS deltas,
     LATERAL dp_compare(1000000, 1.0, delta)
GROUP BY delta
ORDER BY delta;
