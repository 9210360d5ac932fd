-- The standard deviation of the release at every step, horizon 1000, epsilon = 1.
SELECT t,
       dp_stddev(t, 1000, 1.0) AS "default",
       dp_stddev(t, 1000, 1.0, 19) AS k19,
       dp_stddev(t, 1000, 1.0, 2, 'plain') AS binary
FROM generate_series(1, 1000) AS t;
