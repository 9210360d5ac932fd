-- After the update: all of it works on, and nothing was lost. Prints 't' alone.
INSERT INTO visits VALUES (35, true);
CALL dp_tick('er_flu');
INSERT INTO arrivals VALUES ('d', date '2024-01-03');
UPDATE dp_counter_private.source_counters SET grace = LOCALTIMESTAMP - timestamp '2024-01-04 12:00';
CALL dp_tick('arrivals_by_day');
REFRESH MATERIALIZED VIEW released;
SELECT (SELECT max(n) FROM running) = 14 AND (SELECT max(n) FROM streaming) = 14 AND (SELECT n FROM released) = 14
       AND (SELECT array_agg(count ORDER BY step) FROM er_flu) = '{2,4}' AND (SELECT steps FROM dp_counters
           WHERE counter = 'er_flu'::regclass) = 2
       AND (SELECT array_agg(count ORDER BY step) FROM arrivals_by_day) = '{2,3,4}' AND (SELECT remaining FROM dp_budgets) = 2e9;
