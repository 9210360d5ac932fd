-- Mean squared error for streams by day, week and month, in units of 1/epsilon^2: horizons 7 to 1000, and the
-- best factorizations known, found by numerical optimization of all nodes.
SELECT horizon,
       max(mse) FILTER (WHERE mechanism = 'hat') * 1e-6 AS hat,
       max(mse) FILTER (WHERE mechanism = 'subtraction, best k') * 1e-6 AS subtraction,
       max(mse) FILTER (WHERE mechanism = 'subtraction, k = 19') * 1e-6 AS k19,
       max(mse) FILTER (WHERE mechanism = 'noise per step') * 1e-6 AS per_step,
       max(best_known) AS best_known
FROM (SELECT DISTINCT round(7 * (1000 / 7.0) ^ (i / 160.0))::bigint AS horizon FROM generate_series(0, 160) AS i
      UNION SELECT horizon FROM (VALUES (24), (64), (256), (365)) AS v (horizon)) AS horizons
     LEFT JOIN (VALUES (24, 16.90), (64, 28.33), (256, 53.88), (365, 62.16)) AS optimized (horizon, best_known) USING (horizon),
     LATERAL dp_compare(horizon, 1e-3)
GROUP BY horizon
ORDER BY horizon;
