-- A live counter: the flights once more, as they depart, with a clock that ticks every two hours. The scripts before
-- this one have loaded them. Each statement is a transaction of its own: a tick commits.

CREATE TABLE departures (LIKE flights INCLUDING DEFAULTS);
SELECT dp_event_counter_create('late_departures', :epsilon) AS counter \gset
CREATE FUNCTION record_late() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM dp_counter_record('late_departures', coalesce((NEW.delay > 15)::int, 0));
    RETURN NULL;
END $$;
CREATE TRIGGER late AFTER INSERT ON departures FOR EACH ROW EXECUTE FUNCTION record_late();
CREATE ROLE newspaper;
GRANT SELECT ON late_departures TO newspaper;

\echo
\echo
\echo 'Live: the same flights as they depart. Nobody queries them: a trigger records, a clock ticks, the view grows.'
\echo
\echo '   SELECT dp_event_counter_create(\'late_departures\', epsilon);'
\echo '   PERFORM dp_counter_record(\'late_departures\', (NEW.delay > 15)::int);    -- in a trigger, for every flight'
\echo '   GRANT SELECT ON late_departures TO newspaper;'
\echo '   CALL dp_tick(\'late_departures\');    -- every two hours'
\echo
\echo '   until     | step | late, private | stddev |   95 % between | late, true'
\echo '  -----------+------+---------------+--------+----------------+-----------'

\pset tuples_only on
\pset format unaligned
SELECT statement
FROM generate_series((SELECT date_trunc('day', min(departure)) FROM flights),
                     (SELECT max(departure) FROM flights), interval '2 hours') AS hour,
     LATERAL (VALUES
        (1, format('INSERT INTO departures SELECT * FROM flights WHERE departure >= %L AND departure < %L',
                   hour, hour + interval '2 hours')),
        (2, 'DO $$ BEGIN CALL dp_tick(''late_departures''); PERFORM pg_sleep(0.1); END $$'),
        (3, format($$SELECT format('  %%s | %%s |%%s |%%s |%%s |%%s', %L, lpad(step::text, 4), lpad(count::text, 14),
                                  lpad(round(stddev::numeric, 1)::text, 7), lpad(low || ' .. ' || high, 15),
                                  lpad((SELECT count(*) FROM departures WHERE delay > 15)::text, 11))
                     FROM late_departures ORDER BY step DESC LIMIT 1$$,
                   to_char(hour + interval '2 hours' - interval '1 minute', 'Dy HH24:MI')))
     ) AS v (part, statement)
ORDER BY hour, part
\gexec
\pset tuples_only off
\pset format aligned

-- The same reader asks a thousand times.
SET ROLE newspaper;
CREATE TEMP TABLE answers (count bigint);
DO $$
BEGIN
    FOR i IN 1 .. 1000 LOOP
        INSERT INTO answers SELECT count FROM late_departures ORDER BY step DESC LIMIT 1;
    END LOOP;
END $$;
\echo
\echo 'The newspaper asks a thousand times for the newest number, and averages what it gets:'
\echo
SELECT count(*) AS answers, count(DISTINCT count) AS "different ones", round(avg(count), 2) AS average FROM answers;
\echo
\echo 'What it can see of the counter, and what it costs however often it is read:'
\echo
SELECT counter, epsilon AS "epsilon spent", steps, round(stddev::numeric, 1) AS "stddev now" FROM dp_counters;
RESET ROLE;
