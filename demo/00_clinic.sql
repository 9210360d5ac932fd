-- A clinic, made up: 1,000,000 visits of 200,000 patients over two years up to yesterday, most of them seldom there and
-- some every other day. One patient is protected, with all of her visits. The scripts of this folder run in order in one
-- psql session, from the folder above (quickstart).
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
       current_date - 730 + day + seconds * interval '1 second' AS visited_at,
       (ARRAY['north', 'south', 'east', 'west'])[1 + patient_id % 7 % 4] AS region,
       CASE WHEN share(id, 5) < 0.03 + 0.12 * power(0.5 + 0.5 * cos((day - 40) * pi() / 182.5), 3) THEN 'flu' ELSE 'other' END AS diagnosis,
       share(id, 6) < 0.01 AS late
FROM generate_series(1::bigint, 1000000) AS id,
     LATERAL (SELECT floor(200000 * power(share(id, 1), 1.6))::integer + 1 AS patient_id,
                     floor(730 * share(id, 3))::integer AS day, floor(86400 * share(id, 4))::integer AS seconds) AS visit;
INSERT INTO visits SELECT patient_id, visited_at, region, diagnosis FROM arriving WHERE NOT late;
CREATE INDEX ON visits (visited_at);
ANALYZE visits;

SELECT to_char(count(*), 'FM9,999,999') AS visits, to_char(count(DISTINCT patient_id), 'FM999,999') AS patients,
       to_char(min(visited_at), 'FMDD FMMonth YYYY') AS first_day, to_char(max(visited_at), 'FMDD FMMonth YYYY') AS last_day
FROM visits \gset
SELECT max(n) AS most FROM (SELECT count(*) AS n FROM visits GROUP BY patient_id) AS s \gset

\echo
\echo 'A clinic:' :visits 'visits of' :patients 'patients,' :first_day 'to' :last_day', at most' :most 'of one patient.'
\echo 'The secret of each patient: that she was there, when, where, and why; all of it at once.'
\echo
\echo '1. What may be released about these patients, at most: a budget. What may be counted: a view. Whom it protects: a source.'
\echo
\echo '   SELECT dp_budget_create(''patients_budget'', 3.0);'
\echo '   CREATE VIEW visits_dp AS SELECT patient_id, visited_at, region, diagnosis = ''flu'' AS flu FROM visits;'
\echo '   SELECT dp_source_create(''visits_dp'', budget => ''patients_budget'', person => ''patient_id'', at => ''visited_at'');'
\echo
\echo '   SELECT dp_counter_create(''flu_by_day'', epsilon => 1.0, horizon => 1095, source => ''visits_dp'', event => ''flu'','
\echo '                            per_person => 1, every => ''1 day'', since => current_date - 730,'
\echo '                            by => ''region'', groups => ''{north,south,east,west}'');'

SELECT dp_budget_create('patients_budget', 3.0) AS budget \gset
CREATE VIEW visits_dp AS SELECT patient_id, visited_at, region, diagnosis = 'flu' AS flu FROM visits;
SELECT dp_source_create('visits_dp', budget => 'patients_budget', person => 'patient_id', at => 'visited_at') AS source \gset
SELECT dp_counter_create('flu_by_day', epsilon => 1.0, horizon => 1095, source => 'visits_dp', event => 'flu', per_person => 1,
                         every => '1 day', since => current_date - 730, by => 'region', groups => '{north,south,east,west}') AS counter \gset

SELECT clock_timestamp() AS begun \gset
CALL dp_counter_tick('flu_by_day');
SELECT to_char(extract(epoch FROM clock_timestamp() - :'begun'), 'FM990.0') AS seconds, count(DISTINCT period) AS days FROM flu_by_day \gset

\echo
\echo '2. One call releases every day that is over; from now on, one call a night.'
\echo
\echo '   CALL dp_counter_tick(''flu_by_day'')      --' :days 'days in' :seconds 's'
\echo
\echo '   Patients with flu so far, each counted once, in what all may read:'
\echo
\echo '   SELECT * FROM flu_by_day'
\echo

WITH truth AS (
    SELECT region, period, sum(count(patient_id)) OVER (PARTITION BY region ORDER BY period) AS patients
    FROM (SELECT DISTINCT region, period FROM flu_by_day) AS cells
    LEFT JOIN (SELECT DISTINCT ON (patient_id) patient_id, region, visited_at::date AS period FROM visits WHERE diagnosis = 'flu'
               ORDER BY patient_id, visited_at::date, array_position('{north,south,east,west}', region)) AS firsts USING (region, period)
    GROUP BY region, period
)
SELECT period::date AS day, region, count AS "patients, private", low || ' .. ' || high AS "95 % interval", truth.patients AS "patients, true"
FROM flu_by_day JOIN truth USING (region, period)
WHERE step IN (7, 180, 730) ORDER BY step, region;

INSERT INTO visits SELECT patient_id, visited_at, region, diagnosis FROM arriving WHERE late;
SELECT to_char(count(*), 'FM999,999') AS late FROM arriving WHERE late \gset
CALL dp_source_tick('visits_dp');
SELECT count(DISTINCT period) - :days AS more FROM flu_by_day \gset

\echo
\echo '3. The records of' :late 'visits come late. Their days are closed: nothing is released again, and another tick closes'
\echo '  ' :more 'days more. (grace => ''3 days'' would have waited for them.) What has been spent:'
\echo
\echo '   SELECT * FROM dp_budgets'
\echo

SELECT * FROM dp_budgets;

-- For the plot: the week up to each day, in the north.
CREATE TEMPORARY TABLE plotted AS
WITH firsts AS (
    SELECT DISTINCT ON (patient_id) region, visited_at::date AS day FROM visits_dp WHERE flu
    ORDER BY patient_id, visited_at::date, array_position('{north,south,east,west}', region)
), truth AS (
    SELECT day, sum(count(*)) OVER (ORDER BY day RANGE '6 days' PRECEDING) AS patients FROM firsts WHERE region = 'north' GROUP BY day
)
SELECT day, patients AS truth, count, low, high
FROM dp_counter_changes('flu_by_day', 7) JOIN truth ON day = period::date WHERE group_value = 'north' AND step >= 7;
\! mkdir -p build/demo
\copy (SELECT * FROM plotted ORDER BY day) TO 'build/demo/flu.tsv'
\! gnuplot demo/flu.gp
\echo
\echo '4. New patients with flu a week, in the north, with their error band, beside the truth: build/demo/flu.png'
\echo
\echo '   SELECT * FROM dp_counter_changes(''flu_by_day'', 7)'
