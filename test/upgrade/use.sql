-- What a user of the installed version does, before an update. Only what 1.0.0 has.
CREATE TABLE visits AS SELECT t, t % 3 = 0 AS flu FROM generate_series(1, 30) t;
CREATE VIEW running AS SELECT t, dp_running_count(flu, 1e9) OVER (ORDER BY t) AS n FROM visits;
CREATE VIEW streaming AS SELECT t, dp_running_count(flu, 1e9, 3, 100) OVER (ORDER BY t) AS n FROM visits;
CREATE MATERIALIZED VIEW released AS SELECT dp_count(flu, 1e9) AS n FROM visits;
SELECT dp_event_counter_create('er_flu', 1e9, 1000);
CREATE FUNCTION record() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM dp_counter_record('er_flu', NEW.flu::int);
    RETURN NULL;
END $$;
CREATE TRIGGER record AFTER INSERT ON visits FOR EACH ROW EXECUTE FUNCTION record();
INSERT INTO visits VALUES (31, true), (32, false), (33, true);
CALL dp_tick('er_flu');
INSERT INTO visits VALUES (34, true);
-- One of three days is closed, with one event a person: by the grace, as if it were noon of the day after it.
CREATE TABLE arrivals AS SELECT * FROM (VALUES ('a', date '2024-01-01'), ('b', date '2024-01-01'), ('a', date '2024-01-02'),
    ('c', date '2024-01-02')) v (person, day);
CREATE VIEW arrivals_dp AS SELECT person, day FROM arrivals;
SELECT dp_budget_create('arrivals_epsilon', 3e9);
SELECT dp_source_create('arrivals_dp', budget => 'arrivals_epsilon', person => 'person', at => 'day');
SELECT dp_counter_create('arrivals_by_day', epsilon => 1e9, horizon => 10, source => 'arrivals_dp', every => '1 day',
    since => '2024-01-01', per_person => 1);
UPDATE dp_counter_private.source_counters SET grace = LOCALTIMESTAMP - timestamp '2024-01-02 12:00';
CALL dp_tick('arrivals_by_day');
