-- Late flights of one airport by the hour: the truth, and a private count at epsilon = 0.2 with its 95 % interval.
WITH counted AS (
    SELECT row_number() OVER hours AS t, sum(count(id) FILTER (WHERE delay > 15)) OVER hours AS late,
           dp_running_sum(count(id) FILTER (WHERE delay > 15), 0.2, 1) OVER hours AS private
    FROM generate_series(timestamp '2001-06-14', '2001-06-15 23:00', '1 hour') AS hour
    LEFT JOIN flights ON date_trunc('hour', departure) = hour AND origin = 'ORD'
    GROUP BY hour
    WINDOW hours AS (ORDER BY hour)
)
SELECT t, late, private, lower(i), upper(i) - 1
FROM counted, LATERAL dp_interval(private, t, 48, 0.2, within => '[0,)') AS i
ORDER BY t;
