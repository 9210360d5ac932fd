-- Error bars: what the planner knows before anything is spent, and beside every released number.

SELECT mechanism, height, round(rmse::numeric, 1) AS rmse FROM dp_plan(:flights_count, :epsilon) \gset plan_
SELECT round(rmse::numeric, 1) AS paper_rmse FROM dp_compare(:flights_count, :epsilon) WHERE mechanism = 'subtraction, k = 19' \gset

\echo
\echo
\echo '   That was known beforehand, at no privacy cost. dp_plan: mechanism' :plan_mechanism'; root mean square error' :plan_rmse'.'
\echo '   (The paper''s mechanism with k = 19:' :paper_rmse'.) That is over many runs: within one, errors of neighbors are alike, so'
\echo '   that a run can have more, or less. And each released number has its own error bar:'
\echo
\echo '   SELECT late, dp_interval(late, flights, total, epsilon) FROM late_flights'
\echo

SELECT r.flights, r.late AS "late, private", dp_interval(r.late, r.flights, :flights_count, :epsilon) AS "95 % interval",
       t.late AS "late, true", CASE WHEN dp_interval(r.late, r.flights, :flights_count, :epsilon) @> t.late THEN 'yes' ELSE 'no' END AS "in it"
FROM late_flights AS r
JOIN (SELECT id, sum((delay > 15)::int) OVER (ORDER BY departure, id) AS late FROM flights) AS t USING (id)
WHERE r.flights % 5000 = 0
ORDER BY r.flights;
