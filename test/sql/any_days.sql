-- All rows of any P days, which are no own window: a counter pays 3 times its epsilon, contributions 4 times. Both are
-- reached, by one person. (test/unit/person_bound_test.cpp: by no history is more.)

SET client_min_messages = warning;
CREATE TABLE visits (person integer, at timestamp, o integer);
CREATE VIEW visits_dp AS SELECT person, at, o <> -6 AS counts FROM visits;
SELECT dp_budget_create('budget', 1e12, per => '7 days');
SELECT dp_source_create('visits_dp', 'budget', 'person', 'at', time_zone => 'UTC');
SELECT dp_counter_create('with_rows', 'visits_dp', 1e9, '1 day', timestamp '2025-12-20', horizon => 40, event => 'counts', per_person => 2),
       dp_counter_create('without', 'visits_dp', 1e9, '1 day', timestamp '2025-12-20', horizon => 40, event => 'counts', per_person => 2);
-- the days on which the person's windows begin
CREATE TABLE windows AS SELECT min(d) AS b FROM generate_series(timestamp '2026-01-05', '2026-01-20', '1 day') AS d
WHERE dp_own_window('budget', 1, d) <> dp_own_window('budget', 1, d - interval '1 day');
-- of two windows the end of the first one and the beginning of the second
INSERT INTO visits SELECT 1, b + o * interval '1 day', o FROM windows, unnest('{-6,-1,-1,1,1,6,6}'::int[]) AS o;
CALL dp_source_contributions('visits_dp', 'h_with', 1e9, most => 6, since => '2025-12-01', until => '2026-02-15');
CALL dp_tick('with_rows');
DELETE FROM visits USING windows WHERE at >= b - interval '3 days' AND at < b + interval '4 days';
CALL dp_source_contributions('visits_dp', 'h_without', 1e9, most => 6, since => '2025-12-01', until => '2026-02-15');
CALL dp_tick('without');
SELECT events, w.persons AS with_rows, o.persons AS without FROM h_with AS w JOIN h_without AS o USING (events) WHERE w.persons <> 0
    OR o.persons <> 0 ORDER BY events;
SELECT sum(abs(w.persons - o.persons)) AS contributions FROM h_with AS w JOIN h_without AS o USING (events);
SELECT sum(abs(w.count - o.count)) / 2.0 AS of_its_bound FROM with_rows AS w JOIN without AS o USING (step);
SELECT substring(obj_description('without'::regclass) FROM 'One row.*');

DROP TABLE h_with, h_without, windows;
DO $$ BEGIN PERFORM dp_counter_drop(counter) FROM dp_counters; END $$;
DROP TABLE visits CASCADE;
SELECT dp_budget_drop('budget');
