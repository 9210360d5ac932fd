-- Late flights of one airport: the truth, and a private count at epsilon = 1 with its 95 % interval.
WITH counted AS (
    SELECT row_number() OVER w AS t, count(*) OVER () AS horizon,
           sum((delay > 15)::int) OVER w AS late,
           dp_running_count(delay > 15, 1.0) OVER w AS private
    FROM flights WHERE origin = 'ORD'
    WINDOW w AS (ORDER BY departure, id)
)
SELECT t, late, private, lower(i), upper(i) - 1
FROM counted, LATERAL dp_interval(private, t, horizon, 1.0) AS i
ORDER BY t;
