-- A clinic, made up: 1,000,000 visits of 200,000 patients over four years up to yesterday, most of them seldom there and
-- some every other day. What one patient does in a year is protected. The scripts of this folder run in order in one psql
-- session, from the folder above (quickstart).
\pset pager off
\pset border 1
\pset linestyle ascii
\pset footer off
SET client_min_messages = warning;

CREATE EXTENSION dp_counter;

CREATE TABLE visits (patient_id integer NOT NULL, visited_at timestamp NOT NULL, region text NOT NULL, diagnosis text NOT NULL);

-- Hashes instead of chance: the same clinic at every run. A share between 0 and 1 of a number and a salt:
CREATE FUNCTION share(n bigint, salt integer) RETURNS double precision LANGUAGE sql IMMUTABLE AS
    $$ SELECT (hashint8extended(n, salt) & 1048575) / 1048576.0::double precision $$;

-- Patient n of 200,000 is there the oftener the smaller n is. Flu has its season; one visit in a hundred is recorded late.
CREATE TEMPORARY TABLE arriving AS
SELECT patient_id,
       current_date - 1461 + day + seconds * interval '1 second' AS visited_at,
       (ARRAY['north', 'south', 'east', 'west'])[1 + patient_id % 7 % 4] AS region,
       CASE WHEN share(id, 5) < 0.03 + 0.12 * power(0.5 + 0.5 * cos((day - 40) * pi() / 182.5), 3) THEN 'flu' ELSE 'other' END AS diagnosis,
       share(id, 6) < 0.01 AS late
FROM generate_series(1::bigint, 1000000) AS id,
     LATERAL (SELECT floor(200000 * power(share(id, 1), 1.6))::integer + 1 AS patient_id,
                     floor(1461 * share(id, 3))::integer AS day, floor(86400 * share(id, 4))::integer AS seconds) AS visit;
INSERT INTO visits SELECT patient_id, visited_at, region, diagnosis FROM arriving WHERE NOT late;
CREATE INDEX ON visits (visited_at);
ANALYZE visits;

SELECT to_char(count(*), 'FM9,999,999') AS visits, to_char(count(DISTINCT patient_id), 'FM999,999') AS patients,
       to_char(min(visited_at), 'FMDD FMMonth YYYY') AS first_day, to_char(max(visited_at), 'FMDD FMMonth YYYY') AS last_day
FROM visits \gset
SELECT max(n) AS most FROM (SELECT count(*) AS n FROM visits GROUP BY patient_id) AS s \gset

\echo
\echo 'A clinic:' :visits 'visits of' :patients 'patients,' :first_day 'to' :last_day', at most' :most 'of one patient.'
\echo 'The secret of each patient: all that happened within a year: that she was there, when, where, and why.'
\echo
\echo '1. What may be released about a patient''s year, at most: a budget. What may be counted: a view. Whom it protects: a'
\echo '   source. Flu visits a week, and all visits so far, of the last three years and of the years to come:'
\echo
\echo '   SELECT dp_budget_create(''patients_budget'', 3.0, per => ''365 days'');'
\echo '   CREATE VIEW visits_dp AS SELECT patient_id, visited_at, region, diagnosis = ''flu'' AS flu FROM visits;'
\echo '   SELECT dp_source_create(''visits_dp'', budget => ''patients_budget'', person => ''patient_id'', at => ''visited_at'');'
\echo
\echo '   SELECT dp_counter_create(''flu_by_week'', source => ''visits_dp'', epsilon => 1.0, per_person => 2, every => ''1 week'','
\echo '                            since => current_date - 1092, event => ''flu'','
\echo '                            by => ''region'', groups => ''{north,south,east,west}'');'
\echo '   SELECT dp_counter_create(''visits_so_far'', source => ''visits_dp'', epsilon => 0.5, per_person => 12, every => ''1 week'','
\echo '                            since => current_date - 1092, cumulative => true, horizon => 520);'

SELECT dp_budget_create('patients_budget', 3.0, per => '365 days') AS budget \gset
CREATE VIEW visits_dp AS SELECT patient_id, visited_at, region, diagnosis = 'flu' AS flu FROM visits;
SELECT dp_source_create('visits_dp', budget => 'patients_budget', person => 'patient_id', at => 'visited_at') AS source \gset
SELECT dp_counter_create('flu_by_week', source => 'visits_dp', epsilon => 1.0, per_person => 2, every => '1 week',
                         since => current_date - 1092, event => 'flu',
                         by => 'region', groups => '{north,south,east,west}') AS counter \gset
SELECT dp_counter_create('visits_so_far', source => 'visits_dp', epsilon => 0.5, per_person => 12, every => '1 week',
                         since => current_date - 1092, cumulative => true, horizon => 520) AS counter \gset

SELECT clock_timestamp() AS begun \gset
CALL dp_tick('visits_dp');
SELECT to_char(extract(epoch FROM clock_timestamp() - :'begun'), 'FM990.0') AS seconds, count(DISTINCT period) AS weeks
FROM flu_by_week \gset

\echo
\echo '2. One call releases every week that is over; from now on, one call a night.'
\echo
\echo '   CALL dp_tick(''visits_dp'')      -- two counters,' :weeks 'weeks each, in' :seconds 's'
\echo
\echo '   Flu visits of the 52 weeks of each year, which do not fade from year to year:'
\echo
\echo '   SELECT * FROM dp_counter_changes(''flu_by_week'', 52)'
\echo

CREATE TEMPORARY TABLE truth AS
SELECT period, region, (SELECT count(*) FROM visits AS v WHERE v.region = f.region AND diagnosis = 'flu'
                        AND visited_at >= period AND visited_at < period + interval '7 days') AS visits
FROM flu_by_week AS f;

SELECT step / 52 AS year, group_value AS region, count AS "visits, private", low || ' .. ' || high AS "95 % interval",
       (SELECT sum(visits) FROM truth WHERE region = group_value AND truth.period <= c.period
        AND truth.period > c.period - interval '364 days') AS "visits, true"
FROM dp_counter_changes('flu_by_week', 52) AS c WHERE step % 52 = 0 AND group_value IN ('north', 'south')
ORDER BY group_value, step;

\echo
\echo '   All visits so far. The counter keeps the first 12 of each patient''s own year, and the interval is for these:'
\echo
\echo '   SELECT * FROM visits_so_far'
\echo

SELECT step / 52 AS years, count AS "visits, private", low || ' .. ' || high AS "95 % interval",
       (SELECT count(*) FROM visits WHERE visited_at >= current_date - 1092 AND visited_at < period + interval '7 days')
       AS "visits, true"
FROM visits_so_far WHERE step % 52 = 0 ORDER BY step;

INSERT INTO visits SELECT patient_id, visited_at, region, diagnosis FROM arriving WHERE late;
SELECT to_char(count(*), 'FM999,999') AS late FROM arriving WHERE late \gset
CALL dp_tick('visits_dp');
SELECT count(DISTINCT period) - :weeks AS more FROM flu_by_week \gset

\echo
\echo '3. The records of' :late 'visits come late. Their weeks are closed: nothing is released again, and another tick closes'
\echo '  ' :more 'weeks more. (grace => ''3 days'' would have waited for them.) What a patient''s year has lost, at most:'
\echo
\echo '   SELECT budget, epsilon, spent, remaining FROM dp_budgets'
\echo

SELECT budget, epsilon, spent, remaining FROM dp_budgets;

\! mkdir -p build/demo && tools/plot -g north -g south -o build/demo/flu.png flu_by_week
\echo
\echo '4. A picture of the releases, with their 95 % intervals: build/demo/flu.png'
\echo
\echo '   $ tools/plot -g north -g south -o build/demo/flu.png flu_by_week'
