# Ticks that fail in every way: canceled, out of disk space, between their commits, inside a transaction. A step is
# closed once, and its release is drawn once.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $orphans = q{SELECT count(*) FROM dp_counter_private.events AS e WHERE NOT EXISTS (SELECT FROM dp_counter_private.counters AS c
	WHERE c.number = e.number)};
my $node = new_node('failures', is_fresh => 1, initdb => ['--wal-segsize=1'], conf => "autovacuum = off\n");
sub sql { return $node->safe_psql('postgres', $_[0]); }

# --- not where it could be rolled back
sql(q{SELECT dp_event_counter_create('c', 1e9)});
like(failure($node, q{BEGIN; CALL dp_tick('c');}), qr/cannot run inside a transaction block/, 'not in a transaction block');
like(failure($node, q{SELECT 1 \; CALL dp_tick('c');}), qr/cannot run inside a transaction block/, 'nor in an implicit one');
sql(q{CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN CALL dp_tick('c'); END $$;
	CREATE PROCEDURE p_definer() LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN CALL dp_tick('c'); END $$;
	CREATE PROCEDURE p_set() LANGUAGE plpgsql SET work_mem = '1MB' AS $$ BEGIN CALL dp_tick('c'); END $$;
	CREATE PROCEDURE p_block() LANGUAGE plpgsql AS $$ BEGIN CALL dp_tick('c'); EXCEPTION WHEN division_by_zero THEN NULL; END $$;
	CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN CALL dp_tick('c'); END $$;});
for my $call ('SELECT f()', 'CALL p_definer()', 'CALL p_set()', 'CALL p_block()')
{
	like(failure($node, $call), qr/cannot run inside a transaction block/, "not by $call");
}
is(sql('SELECT count(*) FROM c'), 0, 'nothing was released');
is(sql('SELECT steps FROM dp_counters'), 0, 'and no step closed');
sql('CALL p()');
is(sql('SELECT max(step) FROM c'), 1, 'a procedure that may commit may call it');
like(failure($node, q{SET default_transaction_read_only = on; CALL dp_tick('c')}),
	qr/cannot execute dp_tick\(\) in a read-only transaction/, 'PostgreSQL\'s own read-only error');
like(failure($node, q{BEGIN READ ONLY; SELECT dp_counter_record('c')}),
	qr/cannot execute dp_counter_record\(\) in a read-only transaction/, 'for recorders too');

# --- whatever the session's defaults are
for my $level ('repeatable read', 'serializable')
{
	sql("SELECT dp_counter_record('c', 3)");
	sql("SET default_transaction_isolation = '$level'; SET synchronous_commit = off; CALL dp_tick('c')");
}
is(sql('SELECT count FROM c ORDER BY step DESC LIMIT 1'), 6, 'isolation levels change nothing');
sql('SELECT dp_counter_drop($$c$$)');

# --- a release that cannot be published is kept, not drawn again
sql(q{SELECT dp_event_counter_create('n', 0.01, 1000)});
my $stored = q{SELECT c.steps, p.steps, r.count FROM dp_counter_private.counters c JOIN dp_counter_private.publications p
	ON p.number = c.number JOIN dp_counter_private.releases r ON r.number = c.number AND step = c.steps WHERE counter = 'n'::regclass};
sql(q{BEGIN; SELECT FROM dp_counter_private.publications FOR UPDATE; PREPARE TRANSACTION 'in the way'});
my %drawn;
for (1 .. 5)
{
	like(failure($node, q{SET lock_timeout = '20ms'; CALL dp_tick('n')}),
		qr/lock timeout.*publication of step 1, which is closed/s, 'the tick fails and says that the step is closed');
	$drawn{sql($stored)} = 1;
}
is(scalar(keys %drawn), 1, 'it is the same release every time');
like((keys %drawn)[0], qr/^1\|0\|/, 'and no further step is closed meanwhile');
sql(q{ROLLBACK PREPARED 'in the way'});
sql(q{CALL dp_tick('n')});
is(sql('SELECT max(step) FROM n'), 2, 'the next tick publishes both');
is(sql('SELECT count FROM n WHERE step = 1'), (keys %drawn)[0] =~ s/.*\|//r, 'what was stored');
is_gapless($node, 'n', 'in the end no step is missing');

# --- where it is not known what is published, nothing is drawn
sql(q{CREATE TABLE saved AS SELECT * FROM dp_counter_private.publications; DELETE FROM dp_counter_private.publications});
like(failure($node, q{CALL dp_tick('n')}), qr/publication is missing.*HINT:  Restore the extension's tables/s, 'a damaged table is named');
is(sql(q{SELECT steps || ' ' || (SELECT count(*) FROM dp_counter_private.releases) FROM dp_counters}), '2 2', 'and no step closed');
sql(q{INSERT INTO dp_counter_private.publications SELECT * FROM saved});

# --- who listens is told, with a name that SQL takes
sql(q{CREATE SCHEMA "A schema"; SELECT dp_event_counter_create('"A schema"."A ""counter"', 1)});
like(sql(q{LISTEN dp_counter; CALL dp_tick('"A schema"."A ""counter"')}),
	qr/^Asynchronous notification "dp_counter" with payload ""A schema"."A ""counter" 1" received/m, 'a notification of a release');
unlike(sql(q{LISTEN dp_counter}) . failure($node, q{LISTEN dp_counter; BEGIN; CALL dp_tick('n')}), qr/notification/, 'none without');
SKIP:
{
	skip 'before 17 the queue of notifications has room for 8 gigabytes', 3 if sql('SHOW server_version_num') < 170000;
	$node->append_conf('postgresql.conf', 'max_notify_queue_pages = 64');
	$node->restart;
	my $listener = $node->background_psql('postgres');
	$listener->query_safe('LISTEN x; BEGIN;');
	like(failure($node, q{DO $$ BEGIN FOR i IN 1 .. 1000 LOOP PERFORM pg_notify('x', repeat('y', 7000) || i); COMMIT; END LOOP; END $$}),
		qr/too many notifications/, 'the queue of notifications is full');
	my $step = sql('SELECT max(step) FROM n');
	is(failure($node, q{CALL dp_tick('n')}), '', 'a tick goes on');
	is(sql('SELECT max(step) FROM n'), $step + 1, 'and publishes');
	$listener->quit;
}

# --- cancel and termination at every instant
sql(q{SELECT dp_event_counter_create('t', 1e9); SELECT dp_event_counter_create('tn', 0.01, 100000)});
my %seen;
my $cancels_from = length slurp_file($node->logfile);
my $watcher = $node->background_psql('postgres');
for my $i (1 .. 150)
{
	still_running();
	$watcher->query_safe(q{SELECT dp_counter_record('t', 3)});
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query('SELECT pg_backend_pid()');
	$session->{stdin} .= "CALL dp_tick('t'); CALL dp_tick('tn');\n" x 3;
	$session->{run}->pump_nb;
	usleep(rand(3000));
	$i % 2 ? kill('INT', $pid) : kill('TERM', $pid);
	eval { $session->quit }; # dies where psql is gone already, with its connection
	my %now = map { split /\|/ } split /\n/, $watcher->query_safe('SELECT step, count FROM tn');
	for my $step (keys %seen) { $seen{$step} == $now{$step} or fail("release of step $step changed") }
	%seen = %now;
}
$watcher->quit;
all_reported($node); # none goes on
sql(q{CALL dp_tick('t'); }); sql(q{CALL dp_tick('tn')});
is(sql('SELECT count FROM t ORDER BY step DESC LIMIT 1'), 450, 'after 150 canceled ticks every event is counted once');
is_gapless($node, $_, "$_: no step is missing") for qw(t tn);
# The server logs a statement with each cancel or termination that found one running.
my @hits = substr(slurp_file($node->logfile), $cancels_from)
	=~ /(?:canceling\ statement\ due\ to\ user\ request|terminating\ connection\ due\ to\ administrator\ command)\n
		(?:(?!.*(?:ERROR|FATAL|LOG):).*\n)*?.*STATEMENT:\ +CALL\ dp_tick/gx;
note(scalar(@hits) . ' of 150 hit a running tick; steps closed: ' . sql('SELECT max(step) FROM t'));
cmp_ok(scalar(@hits), '>=', 15, 'at least 15 of 150 cancels and terminations hit a running tick');

# --- a full disk: files may not grow beyond some size
SKIP:
{
	skip 'no prlimit', 4 unless eval { run_log([ 'prlimit', '--version' ]) };
	# Each fills a page, so that the table is larger than a file of the WAL, and grows by a page with each tick.
	sql(q{SELECT count(dp_event_counter_create(name, 1e9, 800000, k => 901, mechanism => 'subtraction')) FROM (SELECT 'big' UNION ALL
		SELECT 'big_' || i FROM generate_series(1, 130) AS i) AS n (name)});
	sql('VACUUM FULL dp_counter_private.streams');
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my ($pid) = $session->query('SELECT pg_backend_pid()') =~ /(\d+)/; # PostgreSQL 16 leaves a newline behind it
	my $limit = sql(q{SELECT pg_relation_size('dp_counter_private.streams')}) + 10 * 8192 + 4096;
	run_log([ 'prlimit', '--pid', $pid, "--fsize=$limit" ]) or die 'no limit on the size of files';
	my $keeper = $node->background_psql('postgres');
	$keeper->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1'); # so that no page gets free
	my ($steps, $error) = (0, '');
	for (1 .. 40)
	{
		$session->query(q{SELECT dp_counter_record('big', 2)});
		$session->{stderr} = '';
		$session->query(q{CALL dp_tick('big')});
		$error = $session->{stderr};
		last if $error =~ /ERROR/;
		++$steps;
	}
	like($error, qr/could not (extend|write)/, "the disk is full after $steps ticks");
	$_->quit for $session, $keeper;
	is(sql('SELECT coalesce(max(step), 0) FROM big'), $steps, 'the tick that failed closed no step');
	sql(q{CALL dp_tick('big')});
	is(sql('SELECT step, count FROM big ORDER BY step DESC LIMIT 1'), ($steps + 1) . '|' . 2 * ($steps + 1), 'its events are in the next');
	is_gapless($node, 'big', 'no step is missing');
	sql(q{SELECT count(dp_counter_drop(('big_' || i)::regclass)::text) FROM generate_series(1, 130) AS i});
}

# --- prepared transactions keep nobody waiting, not even their own session
sql(q{SELECT dp_event_counter_create('p', 1e9)});
sql(q{SET lock_timeout = '2s'; BEGIN; SELECT dp_counter_record('p', 10); PREPARE TRANSACTION 'one'; SELECT dp_counter_record('p', 100);});
sql(q{BEGIN; SELECT dp_counter_record('p', 1000); PREPARE TRANSACTION 'two'});
sql(q{CALL dp_tick('p')});
$node->stop('immediate');
$node->start;
sql(q{COMMIT PREPARED 'one'});
sql(q{CALL dp_tick('p')});
sql(q{ROLLBACK PREPARED 'two'});
sql(q{CALL dp_tick('p')});
is(sql('SELECT string_agg(count::text, $$ $$ ORDER BY step) FROM p'), '100 110 110',
	'a prepared transaction is counted when it is committed, also after a crash');
sql(q{BEGIN; SELECT dp_counter_record('p', 7); PREPARE TRANSACTION 'three'});
sql(q{SET lock_timeout = '2s'; DROP VIEW p});
sql(q{COMMIT PREPARED 'three'});
# One that would give epsilon back, if that were not rolled back.
sql(q{CREATE TABLE rows_of_f AS SELECT 1 AS person, now() AS at; CREATE VIEW f_dp AS SELECT * FROM rows_of_f;
	SELECT dp_budget_create('f_budget', 1); SELECT dp_source_create('f_dp', 'f_budget', 'person', 'at');
	SELECT dp_counter_create('f', 'f_dp', 0.5, '1 day', '2024-01-01', horizon => 2, per_person => 1)});
sql(q{BEGIN; SAVEPOINT a; SAVEPOINT b; SELECT dp_counter_drop('f'); RELEASE b; ROLLBACK TO a; PREPARE TRANSACTION 'four'});
sql(q{ROLLBACK PREPARED 'four'});
is(sql(q{SELECT dp_counter_drop('f'); SELECT dp_source_drop('f_dp'); SELECT dp_budget_drop('f_budget'); DROP TABLE rows_of_f CASCADE}), "\n\n",
	'what is rolled back to a savepoint gives nothing back');
is(sql($orphans), 1, 'one that outlives its counter leaves a slot of nobody');
sql(q{SELECT dp_event_counter_create('p', 1e9)});
is(sql($orphans), 0, 'until the next counter is made');

# --- a drop that waits for another one
sql(q{SELECT dp_event_counter_create('d', 1e9)});
my $first = $node->background_psql('postgres', on_error_stop => 1);
$first->query_safe('BEGIN; DROP VIEW d;');
my $out = $node->basedir . '/second_drop';
my $second = start_program($out, 'psql', '-X', '-d', $node->connstr('postgres'), '-c', q{SELECT dp_counter_drop('d')});
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'
	AND query ~ 'dp_counter_drop'}), 'one drop waits for another');
$first->query_safe('COMMIT');
$first->quit;
$second->finish;
like(slurp_file("$out.errors"), qr/ERROR:  relation with OID \d+ does not exist/, 'and finds nothing any more');

# --- the horizon
sql(q{SELECT dp_event_counter_create('h', 1e9, 2)});
sql(q{CALL dp_tick('h')}) for 1 .. 2;
sql(q{SELECT dp_counter_record('h', 5)});
like(failure($node, q{CALL dp_tick('h')}), qr/reached its horizon of 2 steps.*HINT/s, 'a tick past the horizon is refused with a hint');
is(sql(q{SELECT sum(total) FROM dp_counter_private.events WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n
	WHERE n.counter = 'h'::regclass)}), 5, 'and the events are kept');
is(sql(q{SELECT steps, steps_left FROM dp_counters WHERE counter = 'h'::regclass}), '2|0', 'no step is left');
done_testing();
