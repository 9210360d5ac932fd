# pg_cron, by the page's own line, ticks counters of a minute for some minutes, as a role with no
# right but to tick: twice at once, and past a counter that fails for a while. No check depends on
# the machine's speed: what a run has to release is what was over when it began.
#
# Needs a server as test/schedulers/pg_cron_*.sh start it.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Page qw(snippet);
use Test::More;

sub sql
{
	my ($sql, $user) = @_;
	my @psql = (qw(psql -X -A -t -q -v ON_ERROR_STOP=1 -U), $user // 'postgres', '-c');
	open my $psql, '-|', @psql, $sql or die "psql: $!";
	my $answer = do { local $/; <$psql> } // '';
	close $psql or die "failed: $sql\n";
	chomp $answer;
	return $answer;
}

# Waits until the query says t; 10 minutes are for a machine that does nothing else.
sub wait_for
{
	my ($what, $query) = @_;
	for (1 .. 600)
	{
		remember_releases();
		return if sql("SELECT $query") eq 't';
		sleep 1;
	}
	die "waited in vain: $what\n" . sql('TABLE cron.job_run_details');
}

# Minute i of the test has i % 7 + 1 persons. The counter `broken` divides.
my $begin = sql(q{SELECT date_trunc('minute', now() AT TIME ZONE 'UTC')});
sql($_)
  for 'CREATE EXTENSION pg_cron', 'CREATE EXTENSION dp_counter',
  "ALTER DATABASE postgres SET timezone = 'UTC'",
  'CREATE ROLE night_clock LOGIN; GRANT USAGE ON SCHEMA cron TO night_clock';
sql(qq{
	CREATE TABLE visits AS
	SELECT p, timestamp '$begin' + i * interval '1 minute' AS at, 1 AS divisor
	FROM generate_series(0, 100) AS i, generate_series(1, i % 7 + 1) AS p;
	CREATE VIEW visits_dp AS SELECT p, at, 1 / divisor = 1 AS whole FROM visits;
	SELECT dp_budget_create('people', 1e12);
	SELECT dp_source_create('visits_dp', budget => 'people', person => 'p', at => 'at');
});
my $declare = "source => 'visits_dp', cumulative => false, per_person => 1000,
	every => '1 minute', since => '$begin'";
sql($_)
  for "SELECT dp_counter_create('before', epsilon => 1e9, $declare)",
  "SELECT dp_counter_create('broken', epsilon => 1e9, event => 'whole', $declare)",
  "SELECT dp_counter_create('after', epsilon => 1e9, $declare)",
  "SELECT dp_counter_create('noisy', epsilon => 0.01, $declare)",
  "SELECT dp_event_counter_create('calls', epsilon => 1e9, horizon => 99, every => '30 s')",
  'GRANT UPDATE ON before, broken, after, noisy, calls TO night_clock';

# What was read once never changes.
my (%seen, @changed);
sub remember_releases
{
	for (split /\n/, sql('SELECT step, count FROM noisy'))
	{
		my ($step, $count) = split /\|/;
		push @changed, $step if ($seen{$step} //= $count) ne $count;
	}
	return;
}

my $schedule = snippet('sql', qr/cron\.schedule/);
$schedule =~ s/'\d+ \* \* \* \*'/'* * * * *'/ or die "no schedule: $schedule";
sql($schedule, 'night_clock');
sql($schedule =~ s/'dp_counter'/'the same again'/r, 'night_clock');

my $runs = 'FROM cron.job_run_details WHERE end_time IS NOT NULL AND';
wait_for('a release', 'EXISTS (SELECT FROM after)');
sql('UPDATE visits SET divisor = 0');
wait_for('a run that fails', "EXISTS (SELECT $runs status = 'failed')");
my ($stuck, $on) = map { sql("SELECT max(step) FROM $_") } qw(broken after);
cmp_ok($on, '>', $stuck, 'a tick goes on past a counter that fails');
is(sql(q{SELECT string_agg(counter::text, ' ') FROM dp_counters WHERE last_failed IS NOT NULL}),
	'broken', 'dp_counters shows it');
like(sql("SELECT return_message $runs status = 'failed' LIMIT 1"), qr/broken/, 'and so does pg_cron');

sql('UPDATE visits SET divisor = 1');
sql(q{SELECT dp_counter_record('calls')});
wait_for('two minutes more', "EXISTS (SELECT FROM after WHERE step = $on + 2)");
sql('SELECT cron.unschedule(jobid) FROM cron.job', 'night_clock');
wait_for('the end', 'NOT EXISTS (SELECT FROM cron.job_run_details WHERE end_time IS NULL)');

my $failed = sql("SELECT max(end_time) $runs status = 'failed'");
is(sql("SELECT count(DISTINCT jobid) $runs status = 'succeeded' AND start_time > '$failed'"),
	2, 'both jobs succeed once it is fixed');
is(sql("SELECT DISTINCT return_message $runs status = 'succeeded'"), 'CALL', 'by the CALL');
is(sql('SELECT DISTINCT username FROM cron.job_run_details'), 'night_clock', 'of the role that ticks');

for my $counter (qw(before broken after noisy))
{
	is(sql("SELECT count(*) - max(step), count(*) - count(DISTINCT step) FROM $counter"),
		'0|0', "$counter: each period once");
	is(sql("SELECT count(*) FROM $counter WHERE count <> (step - 1) % 7 + 1"),
		0, "$counter: what was in it") if $counter ne 'noisy';
	next if $counter eq 'broken';
	is(sql(qq{
		SELECT string_agg(step || ' at ' || released_at || ', not by the run of ' || start_time, ', ')
		FROM $counter JOIN cron.job_run_details
		  ON start_time AT TIME ZONE 'UTC' >= period + interval '1 min' AND end_time < released_at}),
		'', "$counter: by the first run after its end");
}
is(join(' ', @changed), '', 'a release that was read does not change');
is(sql(q{
	SELECT count(*) FROM calls JOIN calls AS next ON next.step = calls.step + 1
	WHERE next.released_at < calls.released_at + interval '30 s'}),
	0, 'no step of an event counter comes early');
is(sql('SELECT max(count), min(count) FROM calls'), '1|0', 'and an event is counted once');
done_testing();
