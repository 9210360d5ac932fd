-- Mean squared error against the horizon, epsilon = 1.
SELECT horizon,
       max(mse) FILTER (WHERE mechanism = 'hat') AS hat,
       max(mse) FILTER (WHERE mechanism = 'subtraction, best k') AS subtraction,
       max(mse) FILTER (WHERE mechanism = 'subtraction, k = 19') AS k19,
       max(mse) FILTER (WHERE mechanism = 'plain, best k') AS plain,
       max(mse) FILTER (WHERE mechanism = 'binary tree') AS binary,
       max(mse) FILTER (WHERE mechanism = 'Honaker online') AS honaker
FROM (SELECT DISTINCT round(10 ^ (i / 8.0))::bigint AS horizon FROM generate_series(8, 72) AS i) AS horizons,
     LATERAL dp_compare(horizon, 1.0)
GROUP BY horizon
ORDER BY horizon;
