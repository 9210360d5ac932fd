-- What a user of the installed version does, before an update. Only what 1.0.0 has.
CREATE TABLE visits AS SELECT t, t % 3 = 0 AS flu FROM generate_series(1, 30) t;
CREATE VIEW running AS SELECT t, dp_running_count(flu, 1e9) OVER (ORDER BY t) AS n FROM visits;
CREATE VIEW streaming AS SELECT t, dp_running_count(flu, 1e9, 3, 100) OVER (ORDER BY t) AS n FROM visits;
CREATE MATERIALIZED VIEW released AS SELECT dp_count(flu, 1e9) AS n FROM visits;
SELECT dp_counter_create('er_flu', 1e9, 1000);
CREATE FUNCTION record() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM dp_counter_record('er_flu', NEW.flu::int);
    RETURN NULL;
END $$;
CREATE TRIGGER record AFTER INSERT ON visits FOR EACH ROW EXECUTE FUNCTION record();
INSERT INTO visits VALUES (31, true), (32, false), (33, true);
CALL dp_counter_tick('er_flu');
INSERT INTO visits VALUES (34, true);
