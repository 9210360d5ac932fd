# What counters with a source count: exactly the capped SQL query, whatever happens to the rows between ticks; and never
# more for one person than the bound, in pairs of databases that differ in one person, under several plans.
#
# SOURCE_ROWS (10000), SOURCE_DAYS (30) and SOURCE_PAIRS (200 a plan) make it larger. Epsilon 1e9 takes the noise away
# (test/README.md), at a sensitivity of at most 500,000.
# The test holds the clock by the counter's grace: so many periods are over as it says.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rows  = $ENV{SOURCE_ROWS}  // 10_000;
my $days  = $ENV{SOURCE_DAYS}  // 30;
my $pairs = $ENV{SOURCE_PAIRS} // 200;

my $node = new_node('sources', conf => "autovacuum = off\nfsync = off\njit = off\nmax_parallel_workers = 4\nmax_worker_processes = 8\n");

sub sql { return $node->safe_psql('postgres', $_[0]); }

sql(q{
	SELECT dp_budget_create('budget', 1e15);
	CREATE PROCEDURE close(name regclass, n integer) LANGUAGE plpgsql AS $$
	BEGIN
		UPDATE dp_counter_private.source_counters SET "grace" = now()::timestamp - (since + n * every)
			WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter = name);
		COMMIT;
		CALL dp_tick(name);
	END $$;});

# --- exactness. The oracle keeps a person's tally, and counts by row_number() in the total order: by time, equal ones by a
# digest under the counter's key.
my $persons = int($rows / 5) || 1;
sql(qq{
	SELECT setseed(0.14);
	CREATE TABLE visits (id bigserial PRIMARY KEY, person bigint, at timestamp, region text, event boolean, value bigint);
	CREATE FUNCTION any_region() RETURNS text
		LANGUAGE sql VOLATILE AS \$\$ SELECT ('{north,south,east,west,nowhere}'::text[])[1 + floor(random() * 5)::int] \$\$;
	CREATE FUNCTION any_value() RETURNS bigint LANGUAGE sql VOLATILE AS
		\$\$ SELECT ('{-5,0,1,1,2,7,100,101,9223372036854775807,NULL}'::bigint[])[1 + floor(random() * 10)::int] \$\$;
	CREATE PROCEDURE arrive(n integer, first_day integer, last_day integer) LANGUAGE sql AS \$\$
		INSERT INTO visits (person, at, region, event, value)
		SELECT CASE WHEN random() < 0.01 THEN NULL ELSE floor($persons * power(random(), 2)) END,
		       CASE WHEN random() < 0.01 THEN ('{NULL,infinity,-infinity}'::timestamp[])[1 + floor(random() * 3)::int]
		            ELSE timestamp '2024-02-20' + (first_day - 1 + floor(random() * (last_day - first_day + 1)))::int * interval '1 day'
		                 + floor(random() * 3)::int * interval '12 hours' - (random() < 0.2)::int * interval '1 microsecond' END,
		       any_region(), CASE WHEN random() < 0.1 THEN NULL ELSE random() < 0.6 END, any_value()
		FROM generate_series(1, n) \$\$;
	CALL arrive($rows, 1, $days);
	CREATE INDEX ON visits (at);
	ANALYZE visits;
	CREATE VIEW visits_dp AS SELECT * FROM visits;
	SELECT dp_source_create('visits_dp', budget => 'budget', person => 'person', at => 'at', time_zone => 'UTC');
	CREATE TABLE tallies (name text, person bigint, used bigint, PRIMARY KEY (name, person));
	CREATE TABLE cells (name text, step bigint, region text, total numeric, PRIMARY KEY (name, step, region));
	CREATE PROCEDURE count_by_sql(counter text, bound bigint, first_step integer, last_step integer, every interval,
		is_sum boolean, regions text[]) LANGUAGE sql AS \$\$
		WITH events AS (
			SELECT person, step, number, regions[number] AS region, value, row_number() OVER (PARTITION BY person ORDER BY at, sha256(
				(SELECT key FROM dp_counter_private.source_counters AS s
					WHERE s.number = (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter = count_by_sql.counter::regclass))
				|| int8send((extract(epoch FROM at - '2000-01-01') * 1000000)::bigint) || int8send(number::bigint) || int8send(value)
				|| int8send(copy) || int8send(person))) AS n
			FROM (SELECT *, row_number() OVER (PARTITION BY person, at, number, value) - 1 AS copy FROM (
			      SELECT v.person, v.at, v.event, s.step, array_position(regions, v.region) AS number,
			             CASE WHEN NOT is_sum THEN 1 WHEN v.value IS NOT NULL THEN least(greatest(v.value, 0), 100) END AS value
			      FROM visits v JOIN generate_series(first_step, last_step) AS s(step)
			           ON v.at >= timestamp '2024-02-20' + (s.step - 1) * every AND v.at < timestamp '2024-02-20' + s.step * every
			      WHERE v.person IS NOT NULL AND (is_sum OR v.event)) AS events
			      WHERE value IS NOT NULL AND number IS NOT NULL) AS rows
		), counted AS (
			SELECT e.* FROM events e LEFT JOIN tallies t ON t.name = counter AND t.person = e.person WHERE e.n + coalesce(t.used, 0) <= bound
		), tallied AS (
			INSERT INTO tallies SELECT counter, person, count(*) FROM counted GROUP BY person
			ON CONFLICT (name, person) DO UPDATE SET used = tallies.used + excluded.used
		)
		INSERT INTO cells SELECT counter, s, r, coalesce(sum(c.value), 0)
		FROM generate_series(first_step, last_step) AS s CROSS JOIN unnest(regions) AS r LEFT JOIN counted c ON c.step = s
			AND c.region = r GROUP BY s, r \$\$;
	CREATE FUNCTION differences(counter text) RETURNS bigint LANGUAGE plpgsql AS \$\$
	DECLARE n bigint;
	BEGIN
		EXECUTE format('SELECT count(*) FROM (SELECT step, region::text, sum(total) OVER (PARTITION BY region ORDER BY step) AS count FROM cells WHERE name = %L) AS truth '
			|| 'FULL JOIN (SELECT step, region::text, %I AS count FROM %I) AS released USING (step, region) WHERE truth.count IS DISTINCT FROM released.count', counter,
			(SELECT attname FROM pg_attribute WHERE attrelid = counter::regclass AND attname IN ('count', 'sum')), counter) INTO n;
		RETURN n;
	END \$\$;});

my $groups = q('{west,north,unseen,south,east}');
# a name, per_person, value, every, the steps that are closed at once
my @plans = (
	[ 'whole_past',  3, 'NULL',    '1 day',  $days, $days ],
	[ 'by_day',      3, 'NULL',    '1 day',  $days, 1 ],
	[ 'once',        1, 'NULL',    '1 day',  $days, int($days / 4) ],
	[ 'sums',        3, "'value'", '1 day',  $days, 7 ],
	[ 'sums_month',  2, "'value'", '1 mon',  2,     1 ],
	[ 'all_of_them', 5000, "'value'", '1 day', $days, 5 ],
);
for my $plan (@plans)
{
	my ($name, $bound, $value, $every, $steps) = @$plan;
	my $kind = $value eq 'NULL' ? "event => 'event'" : "sum => 'value', upper => 100";
	sql(qq{SELECT dp_counter_create('$name', epsilon => 1e9, horizon => $steps, source => 'visits_dp', $kind, per_person => $bound,
		"by" => 'region', groups => $groups, every => '$every', since => '2024-02-20')});
}

sub close_both
{
	my ($plan, $first, $last) = @_;
	my ($name, $bound, $value, $every) = @$plan;
	my $is_sum = $value eq 'NULL' ? 'false' : 'true';
	sql("CALL close('$name', $last)");
	sql("CALL count_by_sql('$name', $bound, $first, $last, '$every', $is_sum, $groups)");
	return;
}

# nothing happens in between: one tick for the whole past, and one a day; with one key, ties are ordered alike
sql(q{UPDATE dp_counter_private.source_counters SET key = (SELECT key FROM dp_counter_private.source_counters
	WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter = 'whole_past'::regclass))
		WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter = 'by_day'::regclass)});
close_both($plans[0], 1, $days);
close_both($plans[1], $_, $_) for 1 .. $days;
is(sql("SELECT differences('whole_past')"), 0, 'one tick for the whole past counts what capped SQL does');
is(sql("SELECT differences('by_day')"),     0, 'so do daily ticks');
is(sql('SELECT count(*) FROM (TABLE whole_past EXCEPT SELECT w.* FROM whole_past w
	JOIN by_day d USING (step, region, count, period)) AS s'), 0, 'they count the same');
cmp_ok(sql("SELECT count(*) FROM cells WHERE name = 'by_day' AND total > 0"), '>', $days, 'and there is something to count');

# with late, updated, deleted and backdated rows in between
for my $plan (@plans[ 2 .. $#plans ])
{
	my ($name, undef, undef, undef, $steps, $at_once) = @$plan;
	for (my $first = 1; $first <= $steps; $first += $at_once)
	{
		my $last = $first + $at_once - 1 < $steps ? $first + $at_once - 1 : $steps;
		close_both($plan, $first, $last);
		my $n = int($rows / 100) || 1;
		sql(qq{
			CALL arrive($n, 1, $days);
			UPDATE visits SET at = at - interval '3 days' WHERE id % 97 = $last;
			UPDATE visits SET region = any_region(), value = any_value(), event = NOT event WHERE id % 89 = $last;
			UPDATE visits SET person = person + 1 WHERE id % 83 = $last;
			DELETE FROM visits WHERE id % 101 = $last;});
	}
	is(sql("SELECT differences('$name')"), 0, "$name: exact with late, updated, deleted and backdated rows");
}
is(sql(q{SELECT count(*) FROM dp_counter_private.tallies t JOIN dp_counter_private.counters c USING (number)
	WHERE t.used > CASE c.counter::oid::regclass::text WHEN 'once' THEN 1 WHEN 'all_of_them' THEN 5000 ELSE 3 END}), 0,
		'no tally is above its bound');

# --- sensitivity: pairs of small databases that differ in one person, laid into one table in different orders. A database is
# three groups of its own and persons of its own, so that the counter takes each for itself.
my $bound = 3;
my $upper = 100;
sql(qq{
	CREATE TABLE events (pair integer, side integer, person integer, n integer, at timestamp, region text, value integer);
	CREATE INDEX ON events (at);
	CREATE VIEW events_dp AS SELECT (pair * 2 + side) * 100 + person AS who, at, pair || '.' || side || '.' || region AS place,
		value FROM events;
	SELECT dp_source_create('events_dp', budget => 'budget', person => 'who', at => 'at', time_zone => 'UTC');
	-- Rows of person 0 are on side 0 alone. No two rows of a person tie: the digests that order ties differ between the sides.
	CREATE PROCEDURE lay(first_n integer, last_n integer) LANGUAGE sql AS \$\$
		INSERT INTO events
		SELECT pair, side, person, n, at, region, value
		FROM (SELECT pair, person, n,
			timestamp '2024-01-01' + floor(random() * 5)::int * interval '1 day' + n * interval '1 hour' AS at,
				(ARRAY['a', 'b', 'c', 'd'])[1 + floor(random() * 4)::int] AS region,
		             (ARRAY[0, 1, 50, 100, 200])[1 + floor(random() * 5)::int] AS value
		      FROM generate_series(1, $pairs) AS pair, generate_series(0, 5) AS person, generate_series(first_n, last_n) AS n
		      	WHERE random() < 0.6) AS rows
		JOIN generate_series(0, 1) AS side ON person > 0 OR side = 0
		ORDER BY random() \$\$;
	CREATE FUNCTION of_all(pair integer, person integer, n integer, salt integer) RETURNS double precision LANGUAGE sql AS
		\$\$ SELECT (hashint8extended(pair * 1000 + person * 100 + n, salt) & 1048575) / 1048576.0::double precision \$\$;});

my %settings = (
	'sort'            => q{enable_hashagg = off; enable_indexscan = off; enable_bitmapscan = off},
	'hash'            => q{enable_sort = off},
	'index'           => q{enable_seqscan = off; enable_bitmapscan = off},
	'workers'         => q{max_parallel_workers_per_gather = 4; parallel_setup_cost = 0; parallel_tuple_cost = 0; min_parallel_table_scan_size = 0; min_parallel_index_scan_size = 0},
	'workers, sorted' => q{max_parallel_workers_per_gather = 3; parallel_setup_cost = 0; parallel_tuple_cost = 0; min_parallel_table_scan_size = 0; enable_indexscan = off},
);
my $number = 0;
for my $plan (sort keys %settings)
{
	my $counter = 'pairs_' . ++$number;
	my @set = split /; /, $settings{$plan};
	$node->safe_psql('postgres', join ';', 'TRUNCATE events', "SELECT setseed(0.$number)", 'CALL lay(1, 6)', 'ANALYZE events');
	$node->safe_psql('postgres', "ALTER SYSTEM SET $_") for @set;
	sql('SELECT pg_reload_conf()');
	sql(qq{SELECT dp_counter_create('$counter', epsilon => 1e9, horizon => 5, source => 'events_dp', sum => 'value',
		upper => $upper, per_person => $bound, "by" => 'place',
		groups => (SELECT array_agg(pair || '.' || side || '.' || region) FROM generate_series(1, $pairs) AS pair,
			generate_series(0, 1) AS side, unnest('{a,b,c}'::text[]) AS region),
		every => '1 day', since => '2024-01-01')});
	sql("CALL close('$counter', 2)");
	# The same happens on both sides to all but person 0, whose rows do what they like.
	sql(qq{
		DELETE FROM events WHERE of_all(pair, person, n, 1) < 0.2;
		UPDATE events SET at = at - interval '2 days' WHERE of_all(pair, person, n, 2) < 0.2;
		UPDATE events SET at = at + interval '2 days' WHERE of_all(pair, person, n, 3) < 0.2;
		CALL lay(7, 8);});
	sql("CALL close('$counter', 5)");
	my ($most, $with, $over) = split /\|/, sql(qq{
		WITH increments AS (
			SELECT place, step, sum - coalesce(lag(sum) OVER (PARTITION BY place ORDER BY step), 0) AS added FROM $counter
		), distances AS (
			SELECT split_part(a.place, '.', 1) AS pair, sum(abs(a.added - b.added)) AS l1
			FROM increments a JOIN increments b ON b.step = a.step AND b.place = regexp_replace(a.place, '[.]0[.]', '.1.')
			WHERE a.place ~ '[.]0[.]' GROUP BY 1
		)
		SELECT max(l1), count(*) FILTER (WHERE l1 > 0), count(*) FILTER (WHERE l1 > $bound * $upper) FROM distances});
	is($over, 0, "$plan: no pair differs by more than $bound * $upper");
	is($most, $bound * $upper, 'some pair differs by that much');
	cmp_ok($with, '>', $pairs / 2, 'most differ');
	$node->safe_psql('postgres', 'ALTER SYSTEM RESET ALL');
	sql('SELECT pg_reload_conf()');
	sql("SELECT dp_counter_drop('$counter')");
}

# --- accuracy: thousands of groups are as many replays. Their errors are those of dp_plan and dp_stddev, and as often as said the
# bounded count lies between low and high. Groups are independent; a mean of squares has a relative standard deviation of at most
# 0.041 (of one Laplace variable: a skewness of 6.6), a coverage one of 0.004. 7.3 and 6.2 of them, over 20 steps, with a correction
# for the skewness: a false alarm in 50 million runs.
my $replays = 3000;
sql(qq{
	CREATE TABLE replays AS SELECT g AS who, 'g' || g AS place, date '2024-01-01' + (g * n) % 20 AS day
		FROM generate_series(1, $replays) g, generate_series(1, 6) n;
	CREATE VIEW replays_dp AS SELECT * FROM replays;
	SELECT dp_source_create('replays_dp', budget => 'budget', person => 'who', at => 'day', time_zone => 'UTC');
	SELECT dp_counter_create(name, epsilon => epsilon, horizon => 20, source => 'replays_dp', per_person => 4, "by" => 'place',
		groups => (SELECT array_agg('g' || g) FROM generate_series(1, $replays) g),
		every => '1 day', since => '2024-01-01') FROM (VALUES ('true_replays', 1e9), ('noisy_replays', 0.5)) AS v (name, epsilon);
	CREATE TABLE errors AS SELECT n.step, n.count - t.count AS error, n.stddev, t.count BETWEEN n.low AND n.high AS covered
		FROM noisy_replays n JOIN true_replays t USING (place, step) WITH NO DATA;});
sql("CALL dp_tick('replays_dp')");
sql('INSERT INTO errors SELECT n.step, n.count - t.count, n.stddev, t.count BETWEEN n.low AND n.high FROM noisy_replays n
	JOIN true_replays t USING (place, step)');
my ($ratio, $worst, $least, $greatest, $same) = split /\|/, sql(q{
	WITH by_step AS (
		SELECT step, avg(error ^ 2) / max(stddev) ^ 2 AS ratio, avg(covered::int) AS coverage, max(stddev) = min(stddev)
			AND abs(max(stddev) / dp_stddev(step, 20, 0.5, sensitivity => 4) - 1) < 1e-9 AS same FROM errors GROUP BY step
	)
	SELECT (SELECT avg(error ^ 2) FROM errors) / (dp_plan(20, 0.5, sensitivity => 4)).mse, max(abs(ratio - 1)), min(coverage),
		max(coverage), bool_and(same) FROM by_step});
note(sprintf('mean squared error to dp_plan %.3f, a step\'s off by at most %.3f, coverage %.3f to %.3f', $ratio, $worst,
	$least, $greatest));
cmp_ok(abs($ratio - 1), '<', 0.3, 'the mean squared error is that of dp_plan');
cmp_ok($worst,          '<', 0.3, 'that of every step is that of dp_stddev');
cmp_ok($least,          '>', 0.925, 'low and high hold the bounded count as often as they say');
is($same, 't', 'stddev is dp_stddev');
done_testing();
