# Crashes at random instants during recording and ticking lose nothing, repeat nothing and draw nothing
# again. DP_CRASH_CYCLES sets their number.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $cycles = $ENV{DP_CRASH_CYCLES} // 8;

# Recorders commit asynchronously: a tick must not count what a crash can undo.
my $node = new_node('crash', conf => q{
	synchronous_commit = off
	fsync = on
	restart_after_crash = on
	autovacuum_naptime = 1
});
$node->safe_psql('postgres', q{
	CREATE TABLE ledger (id bigserial, n integer);
	SELECT dp_event_counter_create('exact', 1e9);
	SELECT dp_event_counter_create('noisy', 0.01, 1000000);
	CREATE FUNCTION record() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM dp_counter_record('exact', NEW.n);
		RETURN NULL;
	END $$;
	CREATE TRIGGER exact AFTER INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION record();
	CREATE TRIGGER noisy AFTER INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION dp_counter_record('noisy');
});

# A transaction of two rows, one of them after a savepoint that may be rolled back.
my $load = $node->basedir . '/load.sql';
append_to_file($load, q{
\set n random(1, 5)
\set undo random(0, 1)
BEGIN;
INSERT INTO ledger (n) VALUES (:n);
SAVEPOINT s;
INSERT INTO ledger (n) VALUES (1);
\if :undo
ROLLBACK TO s;
\endif
COMMIT;
});

# Ticks both counters and shows what a reader can see, for as long as the server lives.
my $clock = $node->basedir . '/clock.sql';
append_to_file($clock, join("\n", ('CALL dp_tick(\'exact\');',
	q{CALL dp_tick('noisy');},
	q{SELECT 'seen', step, count FROM noisy ORDER BY step DESC LIMIT 2;}) x 3000) . "\n");
my $second_clock = $node->basedir . '/second_clock.sql';
append_to_file($second_clock, "CALL dp_tick('noisy');\n" x 3000);
my @psql = ('psql', '-X', '-A', '-t', '-d', $node->connstr('postgres'), '-f');

my %seen;
my $late = 0;

# Rows of the load and steps of the noisy counter, whatever may become of them in a crash.
sub progress { return split /\|/, $node->safe_psql('postgres',
	'SELECT (SELECT count(*) FROM ledger), (SELECT coalesce(max(step), 0) FROM noisy)'); }

# Waits for a condition; the limit is for a machine that is out of order.
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

for my $cycle (1 .. $cycles)
{
	still_running();
	my ($rows, $steps) = progress();
	my $seen_file = $node->basedir . "/seen.$cycle";
	my $loader = start_program($node->basedir . '/load.out', 'pgbench', '-n', '-c', 4, '-T', 600, '-f', $load,
		'-d', $node->connstr('postgres'));
	my $ticker = start_program($seen_file, @psql, $clock);
	my $second = start_program($node->basedir . '/second.out', @psql, $second_clock);
	wait_until('load and ticks', sub { my @now = progress(); return $now[0] > $rows + 10 && $now[1] > $steps + 2 });
	sleep(rand(0.7));

	my $kind = $cycle % 3;
	if ($kind == 0)
	{
		$node->stop('immediate');
	}
	elsif ($kind == 1)
	{
		$node->kill9;
	}
	else # one backend dies, the postmaster restarts all
	{
		kill_one($node, 'client backend');
	}
	$_->kill_kill for $loader, $ticker, $second;
	if ($kind == 2)
	{
		wait_until('the restart', sub { return system('pg_isready', '-q', '-d', $node->connstr('postgres')) == 0 });
	}
	else
	{
		# orphans of a killed postmaster still hold the shared memory for a moment
		wait_until('the start', sub { return 1 if $node->start(fail_ok => 1); $node->{_pid} = undef; return 0 });
	}

	my $now = releases($node, 'noisy');
	my $out = slurp_file($seen_file);
	# A release that a reader has seen is there, with the same count.
	while ($out =~ /^seen\|(\d+)\|(-?\d+)\n/mg) # whole lines: psql may have been killed in the middle of one
	{
		my ($step, $count) = ($1, $2);
		fail("step $step was $seen{$step} and became $count") if exists $seen{$step} && $seen{$step} != $count;
		$seen{$step} = $count;
	}
	for my $step (keys %seen)
	{
		next if defined $now->{$step} && $now->{$step} == $seen{$step};
		fail("release of step $step was seen and is gone or changed after crash $cycle");
	}
	$late += $node->safe_psql('postgres', 'SELECT count(*) FROM dp_counter_private.counters c
		JOIN dp_counter_private.publications p ON p.number = c.number WHERE p.steps < c.steps');

	# The next tick counts exactly what is committed.
	$node->safe_psql('postgres', "CALL dp_tick('exact')");
	$node->safe_psql('postgres', "CALL dp_tick('noisy')");
	my $equal = $node->safe_psql('postgres',
		'SELECT (SELECT sum(n) FROM ledger) = (SELECT count FROM exact ORDER BY step DESC LIMIT 1)');
	if ($equal ne 't' && $node->safe_psql('postgres', 'SELECT count(*) FROM ledger') > 0)
	{
		fail("events lost or counted twice after crash $cycle");
	}
	for my $table (qw(exact noisy))
	{
		my $ok = $node->safe_psql('postgres', "SELECT count(*) = max(step) AND min(step) = 1 FROM $table");
		fail("steps of $table have a gap after crash $cycle") if $ok ne 't';
	}
	my $falls = $node->safe_psql('postgres',
		'SELECT count(*) FROM exact a JOIN exact b ON b.step = a.step + 1 WHERE b.count < a.count');
	fail("an exact count fell after crash $cycle") if $falls != 0;
}
pass("$cycles crash cycles");

my ($rows, $steps) = progress(); # no crash came before there were more than 10 rows and 2 steps
note("$rows rows outlived the crashes, and $steps steps, " . scalar(keys %seen) . ' of them seen by a reader');
cmp_ok($steps, '>', 2 * $cycles, 'no step was lost, and there were some before every crash');
note("a crash came between a tick's two commits $late times");

# --- What a tick has published is on disk when it returns, whatever the session's synchronous_commit is. Nobody else
# brings it there: the process that flushes asynchronous commits stands still, and one of these is lost in the crash.
$node->append_conf('postgresql.conf', "bgwriter_lru_maxpages = 0\ncheckpoint_timeout = 1h\nautovacuum = off\n");
$node->restart;
$node->safe_psql('postgres', 'CREATE TABLE control (n integer); CHECKPOINT');
for my $setting (qw(off local))
{
	my $walwriter = $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'});
	kill('STOP', $walwriter) or die 'no process that flushes asynchronous commits';
	my $before = $node->safe_psql('postgres', 'SELECT max(step) FROM noisy');
	$node->safe_psql('postgres', "SET synchronous_commit = $setting; CALL dp_tick('noisy')");
	my $seen = $node->safe_psql('postgres', 'SELECT step, count FROM noisy ORDER BY step DESC LIMIT 1');
	$node->safe_psql('postgres', 'SET synchronous_commit = off; INSERT INTO control VALUES (1)');
	kill 'KILL', $walwriter; # the postmaster ends all others as after any crash, and begins afresh
	wait_until('the crash', sub { return !kill 0, $walwriter });
	wait_until('the restart', sub { return system('pg_isready', '-q', '-d', $node->connstr('postgres')) == 0 });
	is($node->safe_psql('postgres', 'SELECT count(*) FROM control'), 0, 'an asynchronous commit is lost');
	is($node->safe_psql('postgres', 'SELECT step, count FROM noisy ORDER BY step DESC LIMIT 1'), $seen,
		"a release that was seen is not, with synchronous_commit = $setting");
	like($seen, qr/^@{[$before + 1]}\|/, 'it was a new one');
}
done_testing();
