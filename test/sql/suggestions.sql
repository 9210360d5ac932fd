-- dp_source_suggest: at an enormous epsilon the choice is what plain SQL computes.
\pset null '(null)'
CREATE SCHEMA suggestions;
SET search_path = suggestions, public;
SET client_min_messages = warning;
CREATE ROLE suggestions_stranger;
GRANT USAGE ON SCHEMA suggestions TO suggestions_stranger;

CREATE FUNCTION candidates(most bigint) RETURNS SETOF bigint LANGUAGE sql AS $$
    SELECT c FROM (SELECT unnest('{1,2,3,4,5,6,8}'::bigint[]) UNION ALL
                   SELECT c * 10 ^ n FROM unnest('{10,12,15,20,25,30,40,50,65,80}'::bigint[]) AS c, generate_series(0, 8) AS n) AS s (c)
    WHERE c <= most $$;
-- Populations of 400 persons over two years: few events each, many of some, and amounts.
CREATE TABLE events (population text, person integer, at timestamp, odd boolean, cents bigint);
INSERT INTO events
SELECT population, person, timestamp '2023-01-01' + (abs(hashint8(person * 1000 + n)) % (730 * 86400)) * interval '1 second', n % 2 = 1,
       CASE n % 5 WHEN 4 THEN NULL WHEN 3 THEN -50 ELSE abs(hashint8(n * 7 + person)) % 1000 * (person % 10) END
FROM (VALUES ('few', 2, 1), ('some', 40, 3), ('many', 300, 2)) AS p (population, greatest_number, power), generate_series(1, 400) AS person,
     generate_series(1, (greatest_number * (person / 400.0) ^ power)::integer + 1) AS n;
INSERT INTO events VALUES ('few', NULL, '2023-06-01', true, 1), ('few', 1, NULL, true, 1), ('few', 1, 'infinity', true, 1),
    ('few', 1, '-infinity', true, 1),
    ('some', 1, '2022-12-31 23:59:59', true, 5000000), ('some', 1, '2025-01-01', true, 5000000);
CREATE TABLE populations AS SELECT DISTINCT population FROM events;
SELECT dp_budget_create('year', 1e12, per => '365 days'), dp_budget_create('week', 1e12, per => '7 days'), dp_budget_create('life', 1e12);
DO $$
DECLARE s record;
BEGIN
    FOR s IN SELECT population, budget, budget || '_' || population AS source FROM populations,
        unnest('{year,week,life}'::text[]) AS budget LOOP
        EXECUTE format('CREATE VIEW %I AS SELECT person, at, odd, cents FROM events WHERE population = %L', s.source, s.population);
        PERFORM dp_source_create(s.source::regclass, s.budget::regclass, 'person', 'at', 'UTC');
    END LOOP;
END $$;

-- Own windows that are wholly in the range, or persons, with the number of events or the greatest amount.
CREATE FUNCTION phase(person bigint, per integer) RETURNS numeric LANGUAGE sql AS $$
    SELECT mod(('x' || substr(digest, 1, 8))::bit(32)::bigint::numeric * 4294967296 + ('x' || substr(digest, 9, 8))::bit(32)::bigint, per)
    FROM (SELECT encode(sha256(key || int8send(person)), 'hex') AS digest FROM dp_counter_private.window_key) AS k $$;
CREATE TABLE phases AS SELECT person, per, phase(person, per) AS phase FROM generate_series(1, 400) AS person,
    unnest('{7,365}'::integer[]) AS per;
CREATE FUNCTION units(population text, per integer, odd_only boolean, of_sum boolean, first date, after date) RETURNS SETOF bigint
    LANGUAGE sql AS $$
    SELECT CASE WHEN of_sum THEN greatest ELSE events END FROM (
        SELECT count(*) AS events, max(cents) AS greatest, phase + p.per * floor((at::date - date '2000-01-01' - phase) / p.per) AS begins
        FROM events AS e LEFT JOIN phases AS p ON p.person = e.person AND p.per = units.per
        WHERE e.population = units.population AND at >= first AND at < after AND (odd OR NOT odd_only)
            AND (cents IS NOT NULL OR NOT of_sum) AND e.person IS NOT NULL
        GROUP BY e.person, begins) AS u
    WHERE per = 0 OR date '2000-01-01' + begins::integer >= first AND date '2000-01-01' + begins::integer + per <= after $$;
-- A counter's noise, of each period or of the change of the middle one of a running total, times the periods that the units cover.
CREATE FUNCTION enough(per integer, days integer, every_days float8, epsilon float8) RETURNS float8 LANGUAGE sql AS $$
    SELECT CASE WHEN per > 0 THEN (days - per + 1) / every_days * dp_stddev(1, NULL, epsilon, mechanism => 'laplace')
                ELSE (SELECT h * dp_stddev((h + 1) / 2, h, epsilon, since_step => (h + 1) / 2 - 1)
                    FROM greatest(1, round(days / every_days)::bigint) AS h) END $$;

CREATE TABLE choices (population text, budget text, per integer, every interval, every_days float8, plan_epsilon float8, event text,
    sum text, per_person integer, groups integer, average boolean, bound bigint, kept float8, low float8, high float8, most bigint);
INSERT INTO choices
SELECT population, budget, per, every, every_days, plan_epsilon, event, sum, CASE WHEN sum IS NOT NULL THEN 1 + length(population) % 3
    END, 1 + length(budget) % 3, length(budget || population) % 2 = 1
FROM populations, (VALUES ('year', 365), ('week', 7), ('life', 0)) AS b (budget, per),
     (VALUES (interval '7 days', 7, 1), ('1 month', 146097 / 4800.0, 0.2), ('6 hours', 0.25, 5), ('100 years', 36524.25, 1)) AS e (every,
         every_days, plan_epsilon),
     (VALUES (NULL, NULL), ('odd', NULL), (NULL, 'cents')) AS v (event, sum);
DO $$
DECLARE
    c record;
    chosen record;
BEGIN
    FOR c IN SELECT ctid, * FROM choices LOOP
        CALL dp_source_suggest(format('%s_%s', c.budget, c.population)::regclass, 'suggested_bound', 1e9, c.plan_epsilon, c.every,
            c.event, CASE WHEN NOT c.average THEN c.sum END, CASE WHEN c.average THEN c.sum END, c.per_person, c.groups,
            timestamp '2023-01-01', date '2025-01-01');
        EXECUTE format('SELECT %s::bigint AS bound, * FROM suggested_bound', CASE WHEN c.sum IS NULL THEN 'per_person' ELSE 'upper' END)
            INTO STRICT chosen;
        IF (chosen.epsilon, chosen.plan_epsilon, chosen.every) IS DISTINCT FROM (1e9, c.plan_epsilon, c.every)
            THEN RAISE 'not what was asked for: %', chosen; END IF;
        UPDATE choices SET bound = chosen.bound, kept = chosen.kept_at_most, low = chosen.kept_low, high = chosen.kept_high,
            most = chosen.most WHERE ctid = c.ctid;
        DROP TABLE suggested_bound;
    END LOOP;
END $$;
CREATE TABLE unit_numbers AS
SELECT d.*, u AS most FROM (SELECT DISTINCT population, per, event, sum FROM choices) AS d,
    units(population, per, event IS NOT NULL, sum IS NOT NULL, '2023-01-01', '2025-01-01') AS u;
CREATE TABLE above AS
SELECT population, per, event, sum, c, count(*) FILTER (WHERE most > c) AS n FROM unit_numbers, candidates(20000) AS c
    GROUP BY population, per, event, sum, c;
CREATE TABLE judged AS
SELECT *, (SELECT min(c) FROM above AS a WHERE (a.population, a.per, a.event IS NULL, a.sum IS NULL) = (o.population, o.per,
    o.event IS NULL, o.sum IS NULL)
                                         AND a.n <= floor(enough(o.per, 731, o.every_days, o.plan_epsilon) * groups * coalesce(per_person,
                                             1))) AS computed,
       (SELECT min(c) FROM above AS a WHERE (a.population, a.per, a.event IS NULL, a.sum IS NULL) = (o.population, o.per, o.event IS NULL,
           o.sum IS NULL) AND a.n = 0 AND c >= 2 * bound) AS computed_most,
       (SELECT sum(least(greatest(u.most, 0), bound)) / sum(least(greatest(u.most, 0), o.most)) FROM unit_numbers AS u
           WHERE (u.population, u.per, u.event IS NULL, u.sum IS NULL) = (o.population, o.per, o.event IS NULL, o.sum IS NULL)) AS share
FROM choices AS o;
SELECT count(*), count(*) FILTER (WHERE bound = computed) AS as_computed, count(*) FILTER (WHERE most = computed_most
    AND abs(kept - share) < 1e-4 AND low <= share AND high >= share AND high - low < 1e-4) AS kept_as_computed,
       count(DISTINCT bound) > 12 AS many, count(DISTINCT round(kept::numeric, 2)) > 12 AS many_shares, min(kept) < 0.7
           AND max(kept) = 1 AS varied FROM judged;
SELECT * FROM judged WHERE (bound = computed AND most = computed_most AND abs(kept - share) < 1e-4) IS NOT true LIMIT 10;
SELECT population, sum, array_agg(bound ORDER BY bound) AS of_a_life FROM choices WHERE budget = 'life' AND event IS NULL GROUP BY 1, 2
    ORDER BY 1, 2;
-- each is charged, for its range
SELECT count(*), min(purpose), max(purpose), sum(epsilon), min(since), max(until) FROM year;

-- the other types of time; a range of part of the days; until is now by default
CREATE VIEW of_dates AS SELECT person, at::date AS at FROM events WHERE population = 'some';
CREATE VIEW of_instants AS SELECT person, at AT TIME ZONE 'UTC' AS at FROM events WHERE population = 'some';
SELECT dp_budget_create('dates', 1e12, per => '365 days'), dp_budget_create('instants', 1e12, per => '365 days');
SELECT dp_source_create('of_dates', 'dates', 'person', 'at', 'Pacific/Honolulu'), dp_source_create('of_instants', 'instants', 'person',
    'at', 'Pacific/Honolulu', window_wise => true);
CALL dp_source_suggest('of_dates', 'd', 1e9, 0.5, '1 week', since => '2023-02-01', until => '2024-12-01');
CALL dp_source_suggest('of_instants', 'i', 1e9, 0.5, '1 week', since => '2023-01-31 14:00', until => '2024-11-30 14:00');
CALL dp_source_suggest('year_some', 'y', 1e9, 0.5, '1 week', since => '2023-01-31 00:00:01', until => '2024-12-01 23:00');
SELECT pg_typeof(per_person), per_person = (SELECT min(c) FROM candidates(100) AS c
    WHERE (SELECT count(*) FROM units('some', 365, false, false, '2023-02-01', '2024-12-01') AS u WHERE u > c)
          <= enough(365, date '2024-12-01' - date '2023-02-01', 7, 0.5)) AS dates FROM d;
SELECT i.per_person = d.per_person AS instants, y.per_person = d.per_person AS parts_of_days FROM d, i, y;
SELECT since, until FROM instants;
CALL dp_source_suggest('life_some', 'now', 1e9, 0.5, '1 week', since => '2023-01-01');
SELECT until IS NULL AS of_all_times FROM life ORDER BY spent_at DESC LIMIT 1;
-- no unit, only negative amounts: 1; the greatest bounds
CALL dp_source_suggest('life_some', 'nobody', 1e9, 0.5, '1 week', since => '1990-01-01', until => '1992-01-01');
CREATE VIEW debts AS SELECT person, at, -cents AS cents FROM events WHERE cents >= 0;
SELECT dp_source_create('debts', 'life', 'person', 'at');
CALL dp_source_suggest('debts', 'of_debts', 1e9, 0.5, '1 week', sum => 'cents', per_person => 1, since => '2023-01-01',
    until => '2025-01-01');
CREATE VIEW busy AS SELECT 1 AS person, date '2024-01-01' AS at, 9223372036854775807 AS cents FROM generate_series(1, 1000001);
SELECT dp_source_create('busy', 'life', 'person', 'at', person_wise => true);
CALL dp_source_suggest('busy', 'most_events', 1e9, 1e9, '100 years', since => '2024-01-01', until => '2025-01-01');
CALL dp_source_suggest('busy', 'most_cents', 1e9, 1e9, '100 years', since => '2024-01-01', until => '2025-01-01', avg => 'cents',
    per_person => 1000000, groups => 1000000);
TABLE nobody;
TABLE of_debts;
TABLE most_events;
SELECT pg_typeof(upper), upper, round(kept_at_most::numeric, 6) AS kept, most FROM most_cents;

-- bad input
CREATE TABLE charged AS SELECT budget, spent FROM dp_budgets;
CALL dp_source_suggest(NULL, 'bad', 1, 1, '1 day', since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('events', 'bad', 1, 1, '1 day', since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', NULL, 1, 1, '1 day', since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'now', 1, 1, '1 day', since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'pg_temp.bad', 1, 1, '1 day', since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', NULL, 1, '1 day', since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', 0, 1, '1 day', since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', 1e10, 1, '1 day', since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', 1, NULL, '1 day', since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', 1, 0, '1 day', since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', 1, 'NaN', '1 day', since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', 1, 2e9, '1 day', since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', 1, 1, NULL, since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', 1, 1, '0 days', since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', 1, 1, '1 month 1 day', since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', 1, 1, '1 second', since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', 1, 1, '1 day', 'cents', since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', 1, 1, '1 day', 'nothing', since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', 1, 1, '1 day', avg => 'odd', per_person => 1, since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', 1, 1, '1 day', sum => 'cents', since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', 1, 1, '1 day', per_person => 1, since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', 1, 1, '1 day', sum => 'cents', avg => 'cents', per_person => 1, since => '2023-01-01',
    until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', 1, 1, '1 day', sum => 'cents', per_person => 1000001, since => '2023-01-01',
    until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', 1, 1, '1 day', groups => 0, since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', 1, 1, '1 day', groups => 1000001, since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', 1, 1, '1 day', sum => 'odd', per_person => 1, since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', 1, 1, '1 day', sum => 'nothing', per_person => 1, since => '2023-01-01', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', 1, 1, '1 day');
CALL dp_source_suggest('life_few', 'bad', 1, 1, '1 day', since => '-infinity', until => '2025-01-01');
CALL dp_source_suggest('life_few', 'bad', 1, 1, '1 day', since => '2023-01-01', until => 'infinity');
CALL dp_source_suggest('life_few', 'bad', 1, 1, '1 day', since => '2023-01-01', until => '2023-01-01');
\set VERBOSITY terse
CALL dp_source_suggest('life_few', 'bad', 1, 1, '1 day', since => timestamptz '2023-01-01');
CALL dp_source_suggest('life_few', 'bad', 1, 1, '1 day', since => '2023-01-01', until => 7);
\set VERBOSITY default
CALL dp_source_suggest('year_few', 'bad', 1, 1, '1 day', since => '2023-01-01', until => '2023-12-31 23:59:59');
CALL dp_source_contributions('year_few', 'bad', 1, since => '2023-01-01', until => '2023-07-01');
SELECT dp_budget_create('little', 0.5);
CREATE VIEW little_dp AS SELECT * FROM life_few;
SELECT dp_source_create('little_dp', 'little', 'person', 'at');
CALL dp_source_suggest('little_dp', 'bad', 0.6, 1, '1 day', since => '2023-01-01', until => '2025-01-01');
SET ROLE suggestions_stranger;
CALL dp_source_suggest('life_few', 'bad', 1, 1, '1 day', since => '2023-01-01', until => '2025-01-01');
RESET ROLE;
BEGIN;
CALL dp_source_suggest('life_few', 'bad', 1, 1, '1 day', since => '2023-01-01', until => '2025-01-01');
ROLLBACK;
SELECT b.budget FROM dp_budgets AS b JOIN charged AS c USING (budget) WHERE b.spent <> c.spent;
SELECT to_regclass('bad');
-- what was released and may have been seen stays, with its charge
DO $$ BEGIN CALL dp_source_suggest('life_few', 'stays', 0.25, 1, '1 day', since => '2023-01-01', until => '2025-01-01');
RAISE 'this comes after'; END $$;
SELECT purpose, epsilon, (SELECT count(*) FROM stays) FROM life WHERE purpose ~ 'stays';
-- an event trigger that changes the table, or puts another schema in the place of its own: no row of another shape is made
CREATE FUNCTION widen() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN ALTER TABLE suggestions.wide ADD COLUMN made_by text; END $$;
CREATE EVENT TRIGGER suggestions_widen ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION widen();
CALL dp_source_suggest('life_few', 'wide', 0.25, 1, '1 day', since => '2023-01-01', until => '2025-01-01');
CREATE OR REPLACE FUNCTION widen() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN CREATE INDEX ON suggestions.wide ((1 + 1)); END $$;
CALL dp_source_suggest('life_few', 'wide', 0.25, 1, '1 day', since => '2023-01-01', until => '2025-01-01');
SELECT to_regclass('wide'), count(*) AS charged FROM life WHERE purpose ~ 'wide';
DROP EVENT TRIGGER suggestions_widen;
CREATE SCHEMA suggestions_own;
CREATE SCHEMA suggestions_decoy;
CREATE TABLE suggestions_decoy.moved (a text, b text, c text, d text);
CREATE FUNCTION swap() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    ALTER SCHEMA suggestions_own RENAME TO suggestions_gone;
    ALTER SCHEMA suggestions_decoy RENAME TO suggestions_own;
END $$;
CREATE EVENT TRIGGER suggestions_swap ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION swap();
CALL dp_source_suggest('life_few', 'suggestions_own.moved', 0.25, 1, '1 day', since => '2023-01-01', until => '2025-01-01');
DROP EVENT TRIGGER suggestions_swap;
SELECT (SELECT count(*) FROM suggestions_gone.moved) AS in_its_own, (SELECT count(*) FROM suggestions_own.moved) AS in_the_other;
-- a hint that can be followed
SELECT dp_counter_create('followed', 'life_some', 0.5, '1 week', '2023-01-01', 104,
    per_person => (SELECT per_person FROM now)) IS NOT NULL AS followed;

DO $$
DECLARE b regclass;
BEGIN
    PERFORM dp_counter_drop('followed');
    PERFORM dp_source_drop(source) FROM dp_sources WHERE source::text ~ '^(year|week|life|of|little|debts|busy)';
    FOR b IN SELECT unnest('{year,week,life,dates,instants,little}'::regclass[]) LOOP PERFORM dp_budget_drop(b); END LOOP;
END $$;
DROP SCHEMA suggestions, suggestions_gone, suggestions_own CASCADE;
DROP ROLE suggestions_stranger;
