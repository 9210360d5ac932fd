-- After the update: all of it works on, and nothing was lost. Prints 't' alone.
INSERT INTO visits VALUES (35, true);
CALL dp_counter_tick('er_flu');
REFRESH MATERIALIZED VIEW released;
SELECT (SELECT max(n) FROM running) = 14 AND (SELECT max(n) FROM streaming) = 14 AND (SELECT n FROM released) = 14
       AND (SELECT array_agg(count ORDER BY step) FROM er_flu) = '{2,4}' AND (SELECT steps FROM dp_counters) = 2;
