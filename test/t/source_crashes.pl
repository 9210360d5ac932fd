# Crashes at random instants of ticks with a source: every period is released once, and what has been seen stays as it
# was; tallies, totals and the budget fit together. Two clocks tick all the time, and workers are ended all the time.
# DP_SOURCE_CRASH_CYCLES sets the number.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $cycles = $ENV{DP_SOURCE_CRASH_CYCLES} // 4;

my $node = new_node('source_crash', conf => q{
	synchronous_commit = off
	fsync = on
	restart_after_crash = on
});
sub sql { return $node->safe_psql('postgres', $_[0]); }

# 9,000 days of visits that do not change: what is counted in the end is what one query counts.
sql(q{
	SELECT setseed(0.15);
	CREATE TABLE visits AS
		SELECT floor(4000 * power(random(), 2))::int AS person, timestamp '2000-01-01' + floor(random() * 9000)::int * interval '1 day' AS at,
		       CASE WHEN random() < 0.5 THEN 'north' ELSE 'south' END AS region, floor(random() * 9)::int - 5 AS net
		       	FROM generate_series(1, 40000);
	CREATE INDEX ON visits (at);
	ANALYZE visits;
	CREATE VIEW visits_dp AS SELECT * FROM visits;
	SELECT dp_budget_create('budget', 1e10);
	SELECT dp_source_create('visits_dp', budget => 'budget', person => 'person', at => 'at', time_zone => 'UTC');
	SELECT dp_counter_create('exact', epsilon => 1e9, horizon => 9000, source => 'visits_dp', per_person => 5, "by" => 'region',
		groups => '{north,south}', every => '1 day', since => '2000-01-01');
	SELECT dp_counter_create('noisy', epsilon => 0.01, horizon => 9000, source => 'visits_dp', per_person => 5, "by" => 'region',
		groups => '{north,south}', every => '1 day', since => '2000-01-01');
	SELECT dp_counter_create('average', epsilon => 1e9, horizon => 9000, source => 'visits_dp', per_person => 9000,
		every => '1 day', since => '2000-01-01', avg => 'net', lower => -4, upper => 2);
	SELECT dp_counter_create('nets', epsilon => 1e9, horizon => 9000, source => 'visits_dp', per_person => 9000, every => '1 day',
		since => '2000-01-01', sum => 'net', lower => -4, upper => 2);
	CREATE SEQUENCE suggestions;
	-- no period is over yet; each round of the clock makes it three more
	UPDATE dp_counter_private.source_counters SET "grace" = now()::timestamp - since;
});
my $round = q{
UPDATE dp_counter_private.source_counters SET "grace" = "grace" - 3 * every;
CALL dp_tick('exact');
CALL dp_tick('visits_dp');
SELECT dp_counter_create('passing', epsilon => 0.5, horizon => 9000, source => 'visits_dp', every => '1 day',
	since => '2100-01-01', per_person => 1) \g /dev/null
SELECT dp_counter_drop('passing') \g /dev/null
SELECT format('CALL dp_source_suggest(%L, %L, 0.001, 1, %L, since => %L, until => %L)', 'visits_dp',
	'suggested_' || nextval('suggestions'), '1 day', '2000-01-01', '2001-01-01') \gexec
SELECT 'seen', step, region, count FROM noisy ORDER BY step DESC, region LIMIT 12;
};
my $clock = $node->basedir . '/clock.sql';
append_to_file($clock, $round x 1000);
my $second_clock = $node->basedir . '/second_clock.sql';
append_to_file($second_clock, "CALL dp_tick('visits_dp');\n" x 3000);
my $terminator = $node->basedir . '/terminator.sql';
append_to_file($terminator, q{SELECT CASE WHEN backend_type = 'dp_counter worker' THEN pg_terminate_backend(pid) END
	FROM pg_stat_activity; SELECT pg_sleep(random() * 2);} . "\n");
append_to_file($terminator, slurp_file($terminator) x 3000);
my @psql = ('psql', '-X', '-A', '-t', '-d', $node->connstr('postgres'), '-f');

sub last_step { return sql('SELECT coalesce(max(step), 0) FROM noisy'); }
sub wait_until
{
	my ($what, $condition) = @_;
	for (1 .. 1800)
	{
		return if $condition->();
		sleep(0.1);
	}
	BAIL_OUT("waited in vain for $what");
}

my (%seen, $between, $ended);
for my $cycle (1 .. $cycles)
{
	my $step = last_step();
	my $seen_file = $node->basedir . "/seen.$cycle";
	my $ticker = start_program($seen_file, @psql, $clock);
	my $second = start_program($node->basedir . '/second.out', @psql, $second_clock);
	my $third = start_program($node->basedir . "/ended.$cycle", @psql, $terminator);
	wait_until('ticks', sub { return last_step() > $step + 6 });
	sleep(rand(0.3));
	my $kind = $cycle % 4; # 2: a session is killed, 3: a worker
	if    ($kind == 0) { $node->stop('immediate') }
	elsif ($kind == 1) { $node->kill9 }
	else
	{
		kill_one($node, $kind == 3 ? 'dp_counter worker' : 'client backend');
	}
	$_->kill_kill for ($ticker, $second, $third);
	$ended += () = slurp_file($node->basedir . "/ended.$cycle") =~ /^t$/mg;
	if ($kind >= 2) { wait_until('the restart', sub { return system('pg_isready', '-q', '-d', $node->connstr('postgres')) == 0 }) }
	else # orphans of a killed postmaster still hold the shared memory for a moment
	{
		wait_until('the start', sub { return 1 if $node->start(fail_ok => 1); $node->{_pid} = undef; return 0 });
	}

	# what a reader saw is what is there
	my %now = map { my ($s, $r, $c) = split /\|/; ("$s $r" => $c) } split /\n/, sql('SELECT step, region, count FROM noisy');
	for (split /\n/, slurp_file($seen_file))
	{
		my (undef, $s, $r, $c) = /^(seen)\|(\d+)\|(\w+)\|(-?\d+)$/ or next;
		$seen{"$s $r"} //= $c;
	}
	my @changed = grep { !defined $now{$_} || $now{$_} != $seen{$_} } keys %seen;
	fail("a release that was seen is another one after crash $cycle: @changed") if @changed;

	# closed and unpublished by the crash: stored, and published as it is
	my $closed = sql(q{SELECT string_agg(step || ' ' || stream || ' ' || r.count, ',' ORDER BY step, stream) FROM dp_counter_private.releases r
		JOIN dp_counter_private.counters c ON c.number = r.number JOIN dp_counter_private.publications p ON p.number = c.number
		WHERE c.counter = 'noisy'::regclass AND r.step > p.steps});
	$between++ if $closed ne '';
	sql(q{CALL dp_tick('noisy')});
	my %stored = map { my ($s, $g, $c) = split / /; ("$s " . ('north', 'south')[ $g - 1 ] => $c) } split /,/, $closed;
	%now = map { my ($s, $r, $c) = split /\|/; ("$s $r" => $c) } split /\n/, sql('SELECT step, region, count FROM noisy');
	my @drawn = grep { ($now{$_} // '') ne $stored{$_} } keys %stored;
	fail("a release was drawn twice in crash $cycle: @drawn") if @drawn;

	for my $table (qw(exact noisy average nets))
	{
		my $groups = $table =~ /exact|noisy/ ? 2 : 1;
		my $ok = sql("SELECT count(*) = $groups * coalesce(max(step), 0) AND count(DISTINCT step) = coalesce(max(step), 0)
			AND coalesce(min(step), 1) = 1 FROM $table");
		fail("periods of $table are missing after crash $cycle") if $ok ne 't';
	}
	# the passing counter is there and charged, or neither
	my $odd = sql(q{SELECT (SELECT spent FROM dp_budgets) - (SELECT sum(CASE counter::text WHEN 'noisy' THEN 0.01 WHEN 'passing'
		THEN 0.5 ELSE 1e9 END) FROM dp_counters) - (SELECT 0.001 * count(*) FROM budget WHERE purpose ~ '^suggestion')});
	fail("the budget is off by $odd after crash $cycle") if $odd != 0;
	# so is a suggestion
	my $charges = sql(q{SELECT string_agg(purpose, ', ' ORDER BY purpose) FROM budget WHERE purpose ~ '^suggestion'});
	my $tables = sql(q{SELECT string_agg('suggestion in public.' || relname, ', ' ORDER BY 'suggestion in public.' || relname)
		FROM pg_class WHERE relname ~ '^suggested_' AND relkind = 'r'});
	is($charges, $tables, "after crash $cycle each suggestion has its charge, and each charge its suggestion");
	sql(q{DO $$ BEGIN IF to_regclass('passing') IS NOT NULL THEN PERFORM dp_counter_drop('passing'); END IF; END $$});
}
pass("$cycles crash cycles");
cmp_ok($ended, '>', 0, 'workers were ended');
note("$ended workers; " . scalar(keys %seen) . ' releases seen by a reader; ' . ($between // 0)
	. ' crashes came between the two commits of a tick');

# what all these ticks have counted is what one query counts
sql(q{CALL dp_tick('visits_dp')});
is(sql(q{
	WITH events AS (
		SELECT person, at, region, row_number() OVER (PARTITION BY person ORDER BY at, region) AS n FROM visits
	), truth AS (
		SELECT step, region, (SELECT count(*) FROM events e WHERE n <= 5 AND e.region = x.region
			AND at < timestamp '2000-01-01' + step * interval '1 day') AS count
		FROM exact x WHERE step % 10 = 0 OR step = (SELECT max(step) FROM exact)
	)
	SELECT count(*) FROM truth JOIN exact USING (step, region) WHERE truth.count <> exact.count}), 0,
		'the totals are those of one query: no period was counted twice or not at all');
is(sql(q{
	WITH closed AS (
		SELECT person, least(count(*), 5) AS used FROM visits WHERE at < timestamp '2000-01-01' + (SELECT max(step)
			FROM exact) * interval '1 day' GROUP BY person
	)
	SELECT (SELECT sum(used) FROM closed) - (SELECT sum(used) FROM dp_counter_private.tallies t JOIN dp_counter_private.counters c
		USING (number) WHERE c.counter = 'exact'::regclass)
		|| ' ' || (SELECT count(*) FROM closed) - (SELECT count(*) FROM dp_counter_private.tallies t
			JOIN dp_counter_private.counters c USING (number) WHERE c.counter = 'exact'::regclass AND t.own_window < 2147483647)}),
	'0 0', 'so are the tallies');
is(sql(q{
	WITH truth AS (SELECT step, sum(least(greatest(net, -4), 2)) AS sum, count(net) AS count FROM nets
		JOIN visits ON at < timestamp '2000-01-01' + step * interval '1 day' WHERE step % 10 = 0 GROUP BY step)
	SELECT count(*) > 0, count(*) FILTER (WHERE a.count <> t.count OR a.above <> t.sum + 4 * t.count
		OR a.below <> 2 * t.count - t.sum), count(*) FILTER (WHERE n.sum <> t.sum OR n.sum > 0)
	FROM truth AS t JOIN average AS a USING (step) JOIN nets AS n USING (step) WHERE step > 10}), 't|0|0',
		'and so are both numbers of an average, and a sum below 0');
cmp_ok(last_step(), '>', 6 * $cycles, 'there were ticks before every crash');
cmp_ok(sql(q{SELECT count(*) FROM budget WHERE purpose ~ '^suggestion'}), '>', 0, 'and suggestions');
done_testing();
