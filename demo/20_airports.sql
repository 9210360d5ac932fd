-- A running count for each airport: PARTITION BY. A flight is in one partition, so each pays epsilon once.

CREATE TABLE late_by_airport AS
SELECT id, origin, departure,
       row_number() OVER in_order AS flights,
       dp_running_count(delay > 15, :epsilon) OVER in_order AS late
FROM flights
WINDOW in_order AS (PARTITION BY origin ORDER BY departure, id);

\echo
\echo
\echo '2. The same for each airport; the eight largest, at the end of each day.'
\echo
\echo '   SELECT dp_running_count(delay > 15, epsilon) OVER (PARTITION BY origin ORDER BY departure, id) FROM flights'
\echo

WITH truth AS (
    SELECT id, sum((delay > 15)::int) OVER (PARTITION BY origin ORDER BY departure, id) AS late FROM flights
), day_ends AS (
    SELECT DISTINCT ON (r.origin, r.departure::date)
           r.origin, r.departure::date AS day, r.flights, r.late AS private, t.late AS true
    FROM late_by_airport AS r JOIN truth AS t USING (id)
    ORDER BY r.origin, r.departure::date, r.flights DESC
), errors AS (
    SELECT r.origin, sqrt(avg((r.late - t.late) ^ 2)) AS rms
    FROM late_by_airport AS r JOIN truth AS t USING (id)
    GROUP BY r.origin
)
SELECT one.origin AS airport,
       two.flights,
       one.true    AS "Thu, true",
       one.private AS "Thu, private",
       two.true    AS "Fri, true",
       two.private AS "Fri, private",
       round(rms::numeric, 1) AS "rms error of all"
FROM day_ends AS one
JOIN day_ends AS two USING (origin)
JOIN errors USING (origin)
WHERE one.day = '2001-06-14' AND two.day = '2001-06-15'
ORDER BY two.flights DESC, airport
LIMIT 8;
