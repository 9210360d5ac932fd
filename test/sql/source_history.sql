-- dp_source_history: what each source was when it was declared, and when a tick or a report found it changed.
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE SCHEMA history;
SET search_path = history, public;
CREATE ROLE history_steward;
CREATE ROLE history_next;
CREATE ROLE history_auditor;
CREATE ROLE history_monitor;
GRANT pg_monitor TO history_monitor;
GRANT CREATE, USAGE ON SCHEMA history TO history_steward, history_next;
GRANT USAGE ON SCHEMA history TO history_auditor, history_monitor;
CREATE TABLE visits AS SELECT n AS patient, date '2024-01-01' + n AS at, 100 * n AS cents, n AS "U" FROM generate_series(1, 4) AS n;
GRANT SELECT ON visits TO history_steward, history_next;
SET ROLE history_steward;
CREATE VIEW visits_dp AS SELECT patient, at, cents, "U" FROM visits;
SELECT dp_budget_create('budget', 1e9, per => '365 days'), dp_budget_create('other', 1e9);
SELECT dp_source_create('visits_dp', 'budget', 'patient', 'at', 'UTC');
CREATE VIEW booked AS SELECT source, budget, owner, budget_owner, person, at, time_zone, vouched_for,
    regexp_replace(replace(definition, 'visits.', ''), '\s+', ' ', 'g') AS definition, role, session_role = session_user AS is_session
FROM dp_source_history WHERE booked_at BETWEEN now() - interval '1 hour' AND clock_timestamp() ORDER BY booked_at;
SELECT * FROM booked;

-- Words that are changed; then what comes after the last row.
SELECT dp_source_create('visits_dp', 'budget', 'patient', 'at', window_wise => true);
SELECT dp_source_create('visits_dp', 'budget', 'patient', 'at', 'Etc/UTC', window_wise => true, never_fails => '{cents,U}');
CREATE PROCEDURE show_new(seen bigint) LANGUAGE plpgsql AS $$
DECLARE
    new record;
BEGIN
    FOR new IN SELECT * FROM booked OFFSET seen LOOP
        RAISE WARNING '%', concat_ws(' | ', new.source, new.owner, new.budget_owner, new.person, new.at, new.time_zone, new.vouched_for,
            new.definition, new.role);
    END LOOP;
END $$;
CALL show_new(1);

-- A tick finds nothing new, whatever the settings, and then another query.
SELECT dp_counter_create('days', 'visits_dp', 1, '1 day', '2024-01-01', per_person => 1);
SET quote_all_identifiers = on; SET datestyle = 'SQL, DMY'; SET timezone = 'Asia/Tokyo'; SET search_path = pg_catalog, public;
CALL dp_tick('history.days');
RESET quote_all_identifiers; RESET datestyle; RESET timezone; SET search_path = history, public;
CALL show_new(3);
CREATE OR REPLACE VIEW visits_dp AS SELECT patient, at, cents, "U" FROM visits WHERE cents < 300 AND at > '2023-12-31';
CALL show_new(3);
SELECT dp_counter_create('weeks', 'visits_dp', 1, '7 days', '2024-01-01', per_person => 1);
SET datestyle = 'German';
CALL dp_tick('weeks');
RESET datestyle;
CALL show_new(3);

-- Other owners, as the next tick sees them.
RESET ROLE;
ALTER VIEW visits_dp OWNER TO history_next;
ALTER VIEW budget OWNER TO history_next;
GRANT SELECT ON booked TO history_next;
SET ROLE history_next;
SELECT dp_counter_create('months', 'visits_dp', 1, '1 month', '2024-01-01', per_person => 1);
CALL dp_tick('months');
CALL show_new(4);
-- A report reads it too.
CREATE OR REPLACE VIEW visits_dp AS SELECT patient, at, cents, "U" FROM visits WHERE at > '2023-12-31';
CALL dp_source_contributions('visits_dp', 'report', 1);
CALL show_new(5);
RESET ROLE;

-- A view with a backslash, where backslashes escape: PostgreSQL 19 no longer lets them.
SET ROLE history_next;
CREATE VIEW words_dp AS SELECT patient, at FROM visits WHERE patient::text ~ '^\d$';
DO $$ BEGIN SET standard_conforming_strings = off; EXCEPTION WHEN OTHERS THEN NULL; END $$;
SELECT dp_source_create('words_dp', 'budget', 'patient', 'at', 'UTC', window_wise => true);
DO $$ BEGIN SET standard_conforming_strings = on; END $$;
SELECT definition FROM booked WHERE source = 'history.words_dp';
CALL dp_source_contributions('words_dp', 'words', 1);
SELECT count(*) FROM booked WHERE source = 'history.words_dp';
DROP TABLE words;
SELECT dp_source_drop('words_dp');
DROP VIEW words_dp;
RESET ROLE;

-- A load that makes the same view again leaves no row, whatever its settings.
DROP VIEW visits_dp CASCADE;
CREATE VIEW visits_dp AS SELECT patient, at, cents, "U" FROM visits WHERE at > '2023-12-31';
ALTER VIEW visits_dp OWNER TO history_next;
SET ROLE history_next;
SET quote_all_identifiers = on; SET datestyle = 'SQL, DMY';
SELECT dp_source_create('visits_dp', 'budget', 'patient', 'at', 'Etc/UTC', window_wise => true, never_fails => '{cents,U}');
RESET quote_all_identifiers; RESET datestyle;
CALL show_new(7);
-- By another budget it is another promise.
SET ROLE history_steward;
CREATE VIEW lives_dp AS SELECT patient, at FROM visits;
SELECT dp_source_create('lives_dp', 'other', 'patient', 'at', 'UTC');
CALL show_new(7);

-- Who sees it: who may read the budget, and monitors.
RESET ROLE;
CREATE FUNCTION seen() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM dp_source_history WHERE source ~ ''^history[.]''';
SET ROLE history_steward; SELECT seen();
SET ROLE history_auditor; SELECT seen();
RESET ROLE; GRANT SELECT ON budget TO history_auditor;
SET ROLE history_auditor; SELECT seen();
SELECT FROM dp_counter_private.source_history;
INSERT INTO dp_source_history (source) VALUES ('x');
DELETE FROM dp_source_history;
SET ROLE history_monitor; SELECT seen();
RESET ROLE;

-- It outlives source and budget.
SELECT dp_counter_drop(counter) FROM dp_counters WHERE counter IN ('days'::regclass, 'weeks'::regclass, 'months'::regclass);
SELECT dp_source_drop('visits_dp'), dp_source_drop('lives_dp');
SELECT dp_budget_drop('budget'), dp_budget_drop('other');
SET ROLE history_auditor; SELECT seen();
SET ROLE history_monitor; SELECT seen(), count(budget) AS budgets FROM dp_source_history WHERE source ~ '^history[.]';
RESET ROLE;
DELETE FROM dp_counter_private.source_history WHERE source ~ '^history[.]';
DROP SCHEMA history CASCADE;
DROP ROLE history_steward, history_next, history_auditor, history_monitor;
