-- One private running count over the whole stream.

-- The release: evaluated once, stored, and from then on read as often as anybody likes.
CREATE TABLE late_flights AS
SELECT id, departure,
       row_number() OVER in_order AS flights,
       dp_running_count(delay > 15, :epsilon) OVER in_order AS late
FROM flights
WINDOW in_order AS (ORDER BY departure, id);

\echo
\echo '1. How many late flights so far? A private answer at every one of the' :flights 'flights;'
\echo '   here are a few of them, beside the truth.'
\echo
\echo '   SELECT dp_running_count(delay > 15, epsilon) OVER (ORDER BY departure, id) FROM flights'
\echo

WITH truth AS (
    SELECT id, sum((delay > 15)::int) OVER (ORDER BY departure, id) AS late FROM flights
), points AS (
    SELECT max(r.flights) AS flights, hour
    FROM generate_series((SELECT date_trunc('day', min(departure)) FROM late_flights),
                         (SELECT max(departure) FROM late_flights) + interval '6 hours', interval '6 hours') AS hour
    JOIN late_flights AS r ON r.departure < hour
    GROUP BY hour
)
SELECT to_char(p.hour - interval '1 minute', 'Dy HH24:MI') AS "until",
       p.flights,
       t.late AS "late, true",
       r.late AS "late, private",
       r.late - t.late AS error,
       to_char(100.0 * abs(r.late - t.late) / nullif(t.late, 0), 'FM990.0 "%"') AS "error in %"
FROM points AS p
JOIN late_flights AS r USING (flights)
JOIN truth AS t USING (id)
ORDER BY p.flights;

WITH truth AS (
    SELECT id, sum((delay > 15)::int) OVER (ORDER BY departure, id) AS late FROM flights
)
SELECT round(sqrt(avg((r.late - t.late) ^ 2))::numeric, 1) AS rms, max(abs(r.late - t.late)) AS worst
FROM late_flights AS r JOIN truth AS t USING (id) \gset

\echo 'Over all' :flights 'answers: root mean square error' :rms', largest error' :worst'.'
