# What counters under a renewing budget count: exactly what plain SQL does that computes windows, order and bound by itself (Renewal.pm),
# whatever happens to the rows between ticks.
#
# RENEWAL_ROWS (10000) and RENEWAL_DAYS (300) make it larger; the evidence has 1,000,000 and 1096, with a TAP_PATIENCE
# of 3600. Epsilon 1e9 takes the noise away (test/README.md), at a sensitivity of at most 20,000. The test holds the
# clock by the counter's grace.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use Renewal;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rows    = $ENV{RENEWAL_ROWS} // 10_000;
my $days    = $ENV{RENEWAL_DAYS} // 300;
my $persons = int($rows / 10) || 1;
my $per     = int($days / 3);

my $node = new_node('renewal',
	conf => "autovacuum = off\nfsync = off\njit = off\nmax_parallel_workers_per_gather = 0\nwork_mem = '256MB'\n");

sub sql { return $node->safe_psql('postgres', $_[0]); }

sql($renewal_sql);
# Persons of three types, times of three types. Few instants, so that there are ties; the data begin a window and more before the
# counters. Times around midnight of the zone's and of UTC's, and around the clock changes.
sql(qq{
	SELECT setseed(0.25);
	CREATE TABLE rows (id bigserial PRIMARY KEY, who bigint, name text GENERATED ALWAYS AS ('n' || who) STORED,
		card uuid GENERATED ALWAYS AS (lpad(who::text, 32, '0')::uuid) STORED,
		at timestamp, day date GENERATED ALWAYS AS (at::date) STORED,
			instant timestamptz GENERATED ALWAYS AS (at AT TIME ZONE 'Europe/Berlin') STORED,
		region text, event boolean, value bigint);
	CREATE FUNCTION any_region() RETURNS text
		LANGUAGE sql VOLATILE AS \$\$ SELECT ('{north,south,east,west,nowhere}'::text[])[1 + floor(random() * 5)::int] \$\$;
	CREATE FUNCTION any_value() RETURNS bigint LANGUAGE sql VOLATILE AS
		\$\$ SELECT ('{-5,0,1,1,2,7,100,101,9223372036854775807,NULL}'::bigint[])[1 + floor(random() * 10)::int] \$\$;
	CREATE FUNCTION any_time() RETURNS timestamp LANGUAGE sql VOLATILE AS
		\$\$ SELECT CASE WHEN random() < 0.01 THEN ('{NULL,infinity,-infinity}'::timestamp[])[1 + floor(random() * 3)::int]
		            ELSE timestamp '2020-02-20' + floor(random() * ($days + 2 * $per) - 2 * $per)::int * interval '1 day'
		                 + floor(random() * 4)::int * interval '1 hour' - (random() < 0.2)::int * interval '1 microsecond' END \$\$;
	CREATE FUNCTION any_ids(n integer) RETURNS SETOF bigint LANGUAGE sql VOLATILE AS
		\$\$ SELECT 1 + floor(random() * (SELECT last_value FROM rows_id_seq))::bigint FROM generate_series(1, n) \$\$;
	CREATE PROCEDURE arrive(n integer) LANGUAGE sql AS \$\$
		INSERT INTO rows (who, at, region, event, value)
		SELECT CASE WHEN random() < 0.01 THEN NULL ELSE floor($persons * power(random(), 2)) END, any_time(), any_region(),
		       CASE WHEN random() < 0.1 THEN NULL ELSE random() < 0.6 END, any_value()
		FROM generate_series(1, n * 3 / 5);
		-- at the time of another row of the person, and copies of rows
		INSERT INTO rows (who, at, region, event, value) SELECT who, at, any_region(), random() < 0.6, any_value() FROM rows
			JOIN any_ids(n / 5) AS of (id) USING (id);
		INSERT INTO rows (who, at, region, event, value) SELECT who, at, region, event, value FROM rows
			JOIN any_ids(n / 5) AS of (id) USING (id) \$\$;
	CREATE PROCEDURE happen(n integer) LANGUAGE plpgsql AS \$\$
	BEGIN
		CALL arrive(n);
		UPDATE rows SET at = at - interval '3 days' WHERE id IN (SELECT any_ids(n));
		UPDATE rows SET at = at - $per * interval '1 day' WHERE id IN (SELECT any_ids(n));
		UPDATE rows SET at = any_time() WHERE id IN (SELECT any_ids(n));
		UPDATE rows SET region = any_region(), value = any_value(), event = NOT event WHERE id IN (SELECT any_ids(n));
		UPDATE rows SET who = who + 1 WHERE id IN (SELECT any_ids(n));
		DELETE FROM rows WHERE id IN (SELECT any_ids(n));
	END \$\$;
	CALL arrive($rows);
	CREATE INDEX ON rows (at);
	CREATE INDEX ON rows (day);
	CREATE INDEX ON rows (instant);
	ANALYZE rows;
	CREATE VIEW rows_dp AS SELECT * FROM rows;
	CREATE VIEW days_dp AS SELECT * FROM rows;
	CREATE VIEW instants_dp AS SELECT * FROM rows;
	CREATE VIEW lives_dp AS SELECT * FROM rows;
	SELECT dp_budget_create('at_budget', 1e15, per => '$per days');
	SELECT dp_budget_create('day_budget', 1e15, per => '5 weeks');
	SELECT dp_budget_create('instant_budget', 1e15, per => '30 days');
	SELECT dp_budget_create('life_budget', 1e15);
	SELECT dp_source_create('rows_dp', budget => 'at_budget', person => 'who', at => 'at', time_zone => 'UTC');
	SELECT dp_source_create('days_dp', budget => 'day_budget', person => 'name', at => 'day', time_zone => 'Asia/Tokyo');
	SELECT dp_source_create('instants_dp', budget => 'instant_budget', person => 'card', at => 'instant', time_zone => 'Europe/Berlin');
	SELECT dp_source_create('lives_dp', budget => 'life_budget', person => 'who', at => 'at', time_zone => 'UTC');
	CREATE FUNCTION declare(of_source text, counter text, words text) RETURNS void LANGUAGE plpgsql AS \$\$
	BEGIN
		EXECUTE format('SELECT dp_counter_create(%L, source => %L, epsilon => 1e9, since => %L, %s)', counter, of_source, '2020-02-20', words);
		INSERT INTO oracle.counters (name, person, at, zone, per, measure, event, value, lower, upper, place, groups, per_person,
			every, since, cumulative)
		SELECT declare.counter, s.person, s.at, s.time_zone, extract(day FROM b.per), c.measure,
		       c.event, c.value, c.lower, c.upper, c.by, c.groups, c.per_person, c.every, c.since, c.cumulative
		FROM dp_counters AS c JOIN dp_sources AS s USING (source) JOIN dp_budgets AS b USING (budget) WHERE c.counter = declare.counter::regclass;
	END \$\$;});

# a source, a counter, its words, how many of its steps are closed at once
my $groups = q(by => 'region', groups => '{west,north,unseen,south,east}');
my $some   = q(by => 'region', groups => '{west,north}');
my @plans  = (
	[ 'rows_dp',     'whole_past',       "every => '1 day', per_person => 3, event => 'event', $groups",
		$days,          $days ],
	[ 'rows_dp',     'by_day',           "every => '1 day', per_person => 3, event => 'event', $groups",
		$days,          1 ],
	[ 'rows_dp',     'sums',             "every => '1 week', per_person => 2, sum => 'value', upper => 100, $groups",
		int($days / 7), 1 ],
	[ 'rows_dp',     'totals',           "every => '1 mon', per_person => 200, sum => 'value', upper => 100, cumulative => true",
		int($days / 31), 1 ],
	[ 'rows_dp',     'people',           "every => '5 days', persons => true, event => 'event', $groups",
		int($days / 5), 3 ],
	[ 'rows_dp',     'averages',         "every => '1 week', per_person => 2, avg => 'value', lower => -3, upper => 50, $groups",
		int($days / 7), 2 ],
	[ 'rows_dp',     'debts',            "every => '4 days', per_person => 2, sum => 'value', lower => -3, upper => 1",
		int($days / 4), 5 ],
	[ 'days_dp',     'shares',           "every => '5 days', per_person => 1, share => 'event', cumulative => true, $some",
		int($days / 5), 3 ],
	[ 'days_dp',     'daily',            "every => '1 day', per_person => 1, $some",
		int($days / 2), 3 ],
	[ 'days_dp',     'weekly_totals',
		"every => '1 week', per_person => 3, event => 'event', horizon => 200, cumulative => true, $some", int($days / 7), 2 ],
	[ 'days_dp',     'daily_people',     "every => '9 days', per_person => 2, persons => true, $groups",
		int($days / 9), 2 ],
	[ 'instants_dp', 'four_a_day',       "every => '6 hours', per_person => 2, event => 'event', $groups",
		4 * 60,         25 ],
	[ 'instants_dp', 'hours',            "every => '1 hour', per_person => 2, $some",
		24 * 45,        100 ],
	[ 'instants_dp', 'months_of_people', "every => '1 mon', persons => true, $groups",
		int($days / 31), 1 ],
	[ 'lives_dp',    'lives',
		"every => '1 week', horizon => 200, per_person => 3, sum => 'value', upper => 100, $groups",  int($days / 7), 4 ],
	[ 'lives_dp',    'single_weeks',     "every => '1 week', cumulative => false, per_person => 3, $groups",
		int($days / 7), 4 ],
);
for my $plan (@plans)
{
	my ($source, $name, $words) = @$plan;
	sql("SELECT declare('$source', '$name', \$\$$words\$\$)");
}
is(sql(q{SELECT string_agg(name, ' ' ORDER BY name) FROM oracle.counters WHERE cumulative}), 'lives shares totals weekly_totals',
	'counts of each period are the default where the budget renews');

# --- windows
for my $of ([ 'at_budget', 'who', 'at', $per ], [ 'day_budget', 'name', 'day', 35 ], [ 'instant_budget', 'card', 'instant', 30 ])
{
	my ($budget, $person, $at, $length) = @$of;
	is(sql(qq{SELECT count(*) FROM rows WHERE dp_own_window('$budget', $person, $at) IS DISTINCT FROM
		CASE WHEN isfinite($at) THEN oracle.window_of(oracle.day($at), oracle.phase(oracle.plain($person), $length), $length)
			END}), 0, "$budget: dp_own_window is what SQL computes");
	cmp_ok(sql("SELECT count(DISTINCT oracle.phase(oracle.plain(who), $length)) FROM generate_series(1, 30 * $length) AS who"),
		'==', $length, 'every day is some window\'s first')
		if $person eq 'who';
}

# --- contributions: own windows that are wholly inside the range, by their events
for my $of ([ 'rows_dp', 'who', 'at', $per ], [ 'days_dp', 'name', 'day', 35 ], [ 'instants_dp', 'card', 'instant', 30 ])
{
	my ($source, $person, $at, $length) = @$of;
	my ($from, $to) = map { my $local = "timestamp '2020-02-20' + interval '$_'";
		$at eq 'instant' ? "(($local) AT TIME ZONE 'Europe/Berlin')" : "($local)" } '-29 days -23 hours', int(1.9 * $per) . ' days 2 hours';
	sql("CALL dp_source_contributions('$source', 'report', 1e9, event => 'event', most => 3, since => timestamp '2020-01-21 01:00',
		until => timestamp '2020-02-20 02:00' + @{[ int(1.9 * $per) ]} * interval '1 day')");
	is(sql(qq{
		WITH units AS (
			SELECT oracle.plain($person) AS person, oracle.window_of(oracle.day($at), oracle.phase(oracle.plain($person), $length),
				$length) AS own_window, count(*) AS events
			FROM rows WHERE $at >= $from AND $at < $to AND event AND who IS NOT NULL GROUP BY 1, 2
		), truth AS (
			SELECT least(events, 4) AS events, count(*) AS persons FROM units,
			       LATERAL (SELECT timestamp '2000-01-01' + (own_window * $length + oracle.phase(person,
			       	$length)) * interval '1 day' AS start) AS begin
			WHERE start >= @{[ $at eq 'instant' ? "$from AT TIME ZONE 'UTC'" : $from ]}
				AND start + $length * interval '1 day' <= @{[ $at eq 'instant' ? "$to AT TIME ZONE 'UTC'" : $to ]} GROUP BY 1
		)
		SELECT count(*) FILTER (WHERE coalesce(t.persons, 0) IS DISTINCT FROM r.persons), count(t.persons) FROM truth AS t FULL
			JOIN report AS r USING (events)}), '0|4', "$source: contributions of own windows");
	sql('DROP TABLE report');
}

# --- nothing happens in between: one tick for the whole past, and one a day. The same key orders ties the same.
sql(q{UPDATE dp_counter_private.source_counters SET key = (SELECT key FROM dp_counter_private.source_counters
	WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter = 'by_day'::regclass))
		WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter = 'whole_past'::regclass);
	CREATE PROCEDURE close_all(name text, last integer, at_once integer, happens integer) LANGUAGE plpgsql AS $$
	BEGIN
		FOR step IN (SELECT steps + 1 FROM oracle.counters AS c WHERE c.name = close_all.name) .. last BY at_once LOOP
			CALL oracle.close(name, least(step + at_once - 1, last));
			IF happens > 0 THEN CALL happen(happens); END IF;
		END LOOP;
	END $$;});
my @still = splice @plans, 0, 2;
sql("CALL close_all('$$_[1]', $$_[3], $$_[4], 0)") for @still;
is(sql("SELECT oracle.differences('whole_past')"), 0, 'one tick for the whole past counts what SQL does');
is(sql("SELECT oracle.differences('by_day')"),     0, 'so do daily ticks');
is(sql(q{SELECT count(*) FROM (SELECT step, region, count, period FROM whole_past EXCEPT SELECT step, region, count, period
	FROM by_day) AS s}), 0, 'they count the same');
is(sql('SELECT min(step), max(step) FROM whole_past'), "1|$days", 'of the time before since nothing is released');
my ($kept, $all, $without) = split /\|/, sql(qq{
	SELECT (SELECT sum(total) FROM oracle.cells WHERE name = 'by_day'), count(*) FILTER (WHERE event AND region <> 'nowhere'),
		count(DISTINCT who)
	FROM rows WHERE at >= '2020-02-20' AND at < timestamp '2020-02-20' + $days * interval '1 day' AND who IS NOT NULL});
note("$kept of $all events counted");
cmp_ok($kept, '<', 0.95 * $all, 'the bound leaves events out');
cmp_ok($kept, '>', 0.2 * $all,  'and lets events count');
cmp_ok(sql(q{SELECT count(*) FROM oracle.tallies AS a JOIN oracle.tallies AS b USING (name, person) WHERE name = 'by_day'
	AND a.own_window < b.own_window AND a.used = 3 AND b.used = 3}),
	'>', 10, 'persons reach it in one window and again in a later one');

# --- tallies: those of windows that are over go, and none of a window that goes on
sub tallies_are_right
{
	my ($name) = @_;
	my ($missing, $stale) = split /\|/, sql(qq{
		WITH c AS (SELECT per, oracle.day(oracle.boundary(k, k.steps)) AS next FROM oracle.counters AS k WHERE name = '$name'),
		latest AS (SELECT DISTINCT ON (person) person, own_window, used FROM oracle.tallies WHERE name = '$name' ORDER BY person,
			own_window DESC),
		stored AS (SELECT own_window, used FROM dp_counter_private.tallies JOIN dp_counter_private.counters USING (number)
			WHERE counter = '$name'::regclass AND own_window < 2147483647)
		SELECT (SELECT count(*) FROM (SELECT own_window, used FROM latest, c WHERE (own_window + 1) * per + oracle.phase(person, per) > next
		                              EXCEPT ALL SELECT own_window, used FROM stored) AS s),
		       (SELECT count(*) FROM stored, c WHERE (own_window + 3) * per <= next)});
	is($missing, 0, "$name: every tally of a window that goes on is there");
	is($stale,   0, "$name: those of windows long over are not");
	return;
}
tallies_are_right($_) for 'whole_past', 'by_day';
is(sql(q{SELECT count(*) FROM ((SELECT own_window, used FROM dp_counter_private.tallies JOIN dp_counter_private.counters
	USING (number) WHERE counter = 'by_day'::regclass AND used > 0)
	EXCEPT ALL (SELECT own_window, used FROM oracle.tallies WHERE name = 'by_day')) AS s}), 0, 'and none that SQL does not have');

# --- with late, moved, changed and deleted rows in between; groups are added on the way
my $some_rows = int($rows / 500) || 1;
for my $plan (@plans)
{
	my ($source, $name, $words, $steps, $at_once) = @$plan;
	my $half = int($steps / 2);
	sql("CALL close_all('$name', $half, $at_once, $some_rows)");
	if ($words =~ /west,north\}/)
	{
		sql(qq{SELECT dp_counter_add_groups('$name', '{east,south}');
			UPDATE oracle.counters SET groups = '{west,north,east,south}' WHERE name = '$name'});
	}
	sql("CALL close_all('$name', $steps, $at_once, $some_rows)");
	is(sql("SELECT oracle.differences('$name')"), 0, "$name: exact with late, moved, changed and deleted rows");
	cmp_ok(sql("SELECT count(*) FROM oracle.cells WHERE name = '$name' AND total > 0"), '>', 3, 'and there is something to count');
	tallies_are_right($name) if $source ne 'lives_dp' && $name !~ /people$/;
}
is(sql('SELECT count(*) FROM oracle.tallies AS t JOIN oracle.counters AS c USING (name) WHERE used > per_person'), 0,
	'SQL keeps the bound');
is(sql(q{SELECT count(*) FROM dp_counter_private.tallies JOIN dp_counter_private.counters USING (number)
	WHERE counter IN ('people'::regclass, 'months_of_people'::regclass)}), 0,
	'persons of each period need no tallies');
done_testing();
