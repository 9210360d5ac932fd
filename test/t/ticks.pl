# dp_tick over many counters: what a timeout, a crash, a lost standby or a thousand failures leave behind, and what others see of a failure.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('ticks', allows_streaming => 1, conf => "autovacuum = off\n");
sub sql { return $node->safe_psql('postgres', $_[0], extra_params => [ '-U', $_[1] // 'postgres' ]) }
# A source is read by a worker: what the call waits for, it waits for.
sub waits_for { my ($event, $name) = @_; ok($node->poll_query_until('postgres', qq{SELECT count(*) = 1 FROM pg_stat_activity
	WHERE $event AND (backend_type = 'dp_counter worker' OR query ~ '^CALL dp_tick')}), $name) }

# Three counters whose noise shows in every release, of which the second can be held up; and who sees how they are.
sql(q{
	CREATE ROLE steward LOGIN; CREATE ROLE clock LOGIN; CREATE ROLE stranger LOGIN; GRANT CREATE ON SCHEMA public TO steward;
});
sql(q{
	SELECT dp_budget_create('b', 1e12);
	CREATE TABLE facts AS SELECT n AS person, timestamp '2025-01-01 12:00' + n % 3 * interval '1 day' AS at, 1 AS x
		FROM generate_series(1, 60) AS n;
	CREATE VIEW facts_dp AS SELECT person, at, 1 / x > 0 AS risky FROM facts;
	SELECT dp_source_create('facts_dp', 'b', 'person', 'at', 'UTC');
	SELECT dp_counter_create(name, 'facts_dp', 0.01, '1 day', '2025-01-01', horizon => 3, per_person => 1)
		FROM (VALUES ('one'), ('two'), ('three')) AS t (name);
	GRANT SELECT, UPDATE ON one, two, three TO clock;
}, 'steward');
my $status = q{SELECT string_agg(counter || ' ' || steps || ' ' || coalesce(periods_behind::text, 'done') || ' '
	|| coalesce(last_sqlstate, 'fine'), ', ' ORDER BY counter::text = 'one' DESC, counter::text = 'two' DESC) FROM dp_counters
		WHERE counter IN ('one'::regclass, 'two'::regclass, 'three'::regclass)};
my $of_one = q{SELECT string_agg(step || ' ' || count || ' ' || released_at, ', ' ORDER BY step) FROM one};
my $released = q{SELECT string_agg(counter || ' ' || steps, ', ' ORDER BY number)
	FROM (SELECT counter::oid::regclass, number, p.steps FROM dp_counter_private.counters JOIN dp_counter_private.publications AS p
		USING (number) WHERE counter IN ('one'::regclass, 'two'::regclass, 'three'::regclass)) AS t};

# --- statement_timeout in the middle: nothing is noted as a failure, and the rest comes later
my $holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; ALTER VIEW two SET (security_barrier = true);');
my ($timeout, $error) = (2, '');
do # where the machine has not come to the second counter by then, nothing is released, and it may take longer
{
	$error = failure($node, "SET statement_timeout = '${timeout}s'; CALL dp_tick()", user => 'clock');
	$timeout *= 2;
} until $error =~ /NOTICE:  one: / || $timeout > 600;
like($error,
	qr/NOTICE:  one: 3 periods released.*ERROR:  canceling statement due to statement timeout\nCONTEXT:  tick of counter "two"/s,
		'a timeout ends the whole call');
my $first = sql($of_one);
$holder->query_safe('COMMIT;');
is(sql($status, 'clock'), 'one 3 done fine, two 0 3 fine, three 0 3 fine', 'what was released stays, and nothing is noted as a failure');
is(sql($released), 'one 3, two 0, three 0', 'readers see that');

# --- a crash in the middle
$holder->query_safe('BEGIN; ALTER VIEW three SET (security_barrier = true);');
my $tick = start_program($node->basedir . '/crashed', 'psql', '-X', '-U', 'clock', '-d', $node->connstr('postgres'), '-c',
	'CALL dp_tick()');
waits_for(q{wait_event_type = 'Lock'}, 'a tick is in the middle');
is(sql($released), 'one 3, two 3, three 0', 'the second is released');
my $second = sql('SELECT string_agg(step || $$ $$ || count, $$, $$ ORDER BY step) FROM two');
$node->stop('immediate');
eval { $tick->finish };
eval { $holder->quit };
$node->start;
is(sql($status, 'clock'), 'one 3 done fine, two 3 done fine, three 0 3 fine', 'after a crash dp_counters shows how far each is');
sql('CALL dp_tick()', 'clock');
is(sql($released), 'one 3, two 3, three 3', 'the next tick releases the rest, and nothing twice');
is(sql($of_one), $first, 'what was released before the timeout is the same');
is(sql('SELECT string_agg(step || $$ $$ || count, $$, $$ ORDER BY step) FROM two'), $second, 'what was released before the crash too');

# --- what others see of a failure: no notification, no statistic, no phase that stays
sql(q{
	SELECT dp_counter_create(name, 'facts_dp', 1e9, '1 day', '2025-01-01', horizon => 3, event => event, per_person => 1)
		FROM (VALUES ('risky', 'risky'), ('safe', NULL)) AS t (name, event);
	GRANT SELECT, UPDATE ON risky, safe TO clock;
	UPDATE facts SET x = 0 WHERE person = 7}, 'steward');
sql('CALL dp_tick($$safe$$)', 'clock');
# The statistics of the secret tables that a session moves, less what a tick with nothing to do moves.
sub moved
{
	my ($call) = @_;
	my $read = q{SELECT string_agg(relname || ' ' || n_tup_ins || ' ' || n_tup_upd || ' ' || n_tup_del || ' ' || n_dead_tup, ', '
		ORDER BY relname) FROM pg_stat_all_tables WHERE schemaname = 'dp_counter_private'};
	all_reported($node);
	my $before = sql($read, 'stranger');
	my $told;
	$node->psql('postgres', "LISTEN dp_counter; $call", stdout => \$told, on_error_stop => 0, extra_params => [ '-U', 'clock' ]);
	all_reported($node);
	return (sql($read, 'stranger') eq $before ? 'nothing' : 'something', $told =~ /notification/ ? 'heard' : 'silent');
}
is(join(' ', moved('CALL dp_tick($$risky$$)')), 'nothing silent', 'a failure counts no row and notifies nobody');
is(join(' ', moved('CALL dp_tick()')), 'nothing silent', 'dp_tick neither');
is(sql(q{SELECT last_sqlstate FROM dp_counters WHERE counter = 'risky'::regclass}, 'clock'), '55000', 'though it is stored');
$holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; ALTER VIEW safe SET (security_barrier = true);');
$tick = start_program($node->basedir . '/phases', 'psql', '-X', '-U', 'clock', '-d', $node->connstr('postgres'), '-c', 'CALL dp_tick()');
waits_for(q{wait_event_type = 'Lock'}, 'a tick waits for a counter after the one that failed');
is(sql(q{SELECT string_agg(query, ', ' ORDER BY backend_type) FROM pg_stat_activity WHERE query ~ '^CALL'
	OR backend_type = 'dp_counter worker'}), 'CALL dp_tick(), ', 'no phase of that one stays in pg_stat_activity');
$holder->query_safe('COMMIT;');
$holder->quit;
$tick->finish;
sql('UPDATE facts SET x = 1', 'steward');
is(join(' ', moved('CALL dp_tick()')), 'something heard', 'a release is both counted and heard');
is(sql(q{SELECT last_sqlstate IS NULL FROM dp_counters WHERE counter = 'risky'::regclass}, 'clock'), 't', 'and ends the failure');

# One of the same worker that comes after one that fails.
sql(q{SELECT dp_counter_create(name, 'facts_dp', 1e9, '1 day', '2025-01-01', horizon => 3, event => event, per_person => 1)
		FROM (VALUES ('risky_too', 'risky'), ('safe_too', NULL)) AS t (name, event);
	GRANT SELECT, UPDATE ON risky_too, safe_too TO clock;
	UPDATE facts SET x = 0 WHERE person = 7}, 'steward');
all_reported($node);
my $written = q{SELECT n_tup_ins FROM pg_stat_all_tables WHERE relname = 'releases'};
my $before = sql($written);
is(join(' ', moved('CALL dp_tick()')), 'something heard', 'releases after a failure are counted');
is(sql($written) - $before, 3, 'each of them');
sql(q{UPDATE facts SET x = 1; SELECT dp_counter_drop('risky_too'), dp_counter_drop('safe_too')}, 'steward');

# --- a thousand counters that fail take no more memory, in one call, than one
sql(q{
	UPDATE facts SET x = 0;
	CREATE SCHEMA many AUTHORIZATION steward;
	SELECT count(dp_counter_create('many.c' || n, 'facts_dp', 1, '1 day', '2025-01-01', horizon => 3, event => 'risky',
		per_person => 1)) FROM generate_series(1, 1000) AS n;
	DO $$ BEGIN EXECUTE (SELECT string_agg(format('GRANT UPDATE ON many.c%s TO clock', n), ';') FROM generate_series(1, 1000) AS n); END $$;
}, 'postgres');
SKIP:
{
	skip 'no /proc', 6 unless -r "/proc/$$/status";
	my $session = $node->background_psql('postgres', on_error_stop => 0, extra_params => [ '-U', 'clock' ]);
	my ($pid) = $session->query('SELECT pg_backend_pid()') =~ /(\d+)/;
	my $memory = sub { my ($kilobytes) = slurp_file("/proc/$_[0]/status") =~ /RssAnon:\s+(\d+)/; return $kilobytes };
	# Each by itself, which with their names fills the caches of the catalogs.
	$session->query('SET client_min_messages = error;');
	$session->query(join(' ', map { "CALL dp_tick('many.c$_');" } 1 .. 1000));
	$session->query('SELECT max(counter::text) FROM dp_counters;');
	my $singly = $memory->($pid);
	my %holders = map { ($_ => $node->background_psql('postgres')) } 10, 1000;
	$holders{$_}->query_safe("BEGIN; ALTER VIEW many.c$_ SET (security_barrier = true);") for keys %holders;
	$holder = $holders{1000};
	$session->{stdin} .= "CALL dp_tick();\n";
	$session->{run}->pump_nb;
	waits_for(q{wait_event_type = 'Lock'}, 'a tick has failed nine times');
	my $worker = sql(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'dp_counter worker'});
	my $of_few = $memory->($worker);
	$holders{10}->query_safe('COMMIT;');
	$holders{10}->quit;
	ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE relation = 'many.c1000'::regclass
		AND NOT granted}), 'and 999 times');
	is(sql(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'dp_counter worker'}), $worker, 'in one worker');
	cmp_ok(sql("SELECT count(*) FROM pg_locks WHERE pid IN ($pid, $worker)"), '<', 10, 'no lock of a counter that failed is held');
	my $together = $memory->($pid);
	my $of_many = $memory->($worker);
	note("memory: $singly kB singly, $together kB together; of the worker $of_few kB after 9 and $of_many kB after 999");
	cmp_ok($together - $singly, '<', 3072, 'and no memory');
	cmp_ok($of_many - $of_few, '<', 32768, 'nor in the worker, but for what it knows of the catalogs, with the query of each view');
	$holder->query_safe('COMMIT;');
	$holder->quit;
	$session->quit;
}
is(sql(q{SELECT count(*) FROM dp_counters WHERE last_sqlstate = '55000'}), '1000', 'all of them have failed');
like(failure($node, 'SET client_min_messages = error; CALL dp_tick()', user => 'clock'),
	qr/ERROR:  1000 of 1005 counters failed: many\.c1, many\.c2, .*, many\.c1000\n/, 'the error names them');

# --- by the extended protocol, whose plan a rollback gives back
my $script = $node->basedir . '/tick.sql';
append_to_file($script, "CALL dp_tick();\n");
for my $mode ('extended', 'prepared')
{
	my ($out, $told) = ('', '');
	IPC::Run::run([ 'pgbench', '-n', '-M', $mode, '-t', '3', '-f', $script, '-U', 'clock', $node->connstr('postgres') ], '>',
		\$out, '2>', \$told);
	like($told, qr/ERROR:  1000 of 1005 counters failed/, "a call by the $mode protocol");
}
is(sql('SELECT 1'), '1', 'and the server is up');
sql('DO $$ BEGIN FOR n IN 1 .. 1000 LOOP EXECUTE format($f$DROP VIEW many.c%s$f$, n); COMMIT; END LOOP; END $$');

# --- what keeps a failure from being stored does not hide it
sql(q{SELECT dp_counter_create('late', 'facts_dp', 1, '1 day', '2025-01-01', horizon => 3, event => 'risky', per_person => 1);
GRANT SELECT, UPDATE ON late TO clock}, 'steward');
$holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; LOCK TABLE dp_counter_private.counters IN SHARE MODE;');
for my $call ('dp_tick()', q{dp_tick('late')})
{
	like(failure($node, "SET lock_timeout = '50ms'; CALL $call", user => 'clock'), qr/could not evaluate source "facts_dp"/,
		"$call reports what it could not store");
}
$holder->query_safe('COMMIT;');
$holder->quit;
my $late = q{SELECT steps || ' ' || coalesce(last_sqlstate, 'fine') FROM dp_counters WHERE counter = 'late'::regclass};
is(sql($late, 'clock'), '0 fine', 'it was not stored');
is(failure($node, 'CALL dp_tick($$late$$)', user => 'clock') ne '' && sql($late, 'clock'), '0 55000', 'it can be now');
sql('UPDATE facts SET x = 1', 'steward');
sql('CALL dp_tick()', 'clock');
is(sql($late, 'clock'), '3 fine', 'and the counter goes on');

# --- synchronous standbys: whoever cancels a wait for them cancels the call, not one counter
sql(q{
	SELECT dp_counter_create(name, 'facts_dp', 1, '1 day', '2025-01-01', horizon => 3, event => 'risky', per_person => 1)
		FROM (VALUES ('next'), ('last')) AS t (name);
	GRANT SELECT, UPDATE ON next, last TO clock;
	UPDATE facts SET x = 0}, 'steward');
$node->append_conf('postgresql.conf', "synchronous_standby_names = 'gone'");
$node->reload;
ok($node->poll_query_until('postgres', q{SHOW synchronous_standby_names}, 'gone'), 'a standby that is not there');
$status = q{SELECT string_agg(steps || ' ' || coalesce(last_sqlstate, 'fine'), ', ' ORDER BY counter::text DESC) FROM dp_counters
	WHERE counter IN ('next'::regclass, 'last'::regclass)};
my $calls = 0;
sub canceled_call
{
	my $out = $node->basedir . '/waiting.' . ++$calls;
	my $call = start_program($out, 'psql', '-X', '-U', 'clock', '-d', $node->connstr('postgres'), '-c',
		'SET synchronous_commit = local', '-c', 'CALL dp_tick()');
	waits_for(q{wait_event = 'SyncRep'}, 'a tick waits for it');
	sql(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'});
	$call->finish;
	return slurp_file("$out.errors");
}
like(canceled_call(), qr/ERROR:  synchronous standbys have not confirmed the last commit\n.*CONTEXT:  tick of counter "next"/s,
	'canceled when it has stored a failure');
is(sql($status, 'clock'), '0 55000, 0 fine', 'it ticks no further counter');
sql('SET synchronous_commit = local; UPDATE facts SET x = 1', 'steward');
like(canceled_call(), qr/ERROR:  step 3 is closed, but synchronous standbys have not confirmed it.*CONTEXT:  tick of counter "next"/s, 'canceled when it has closed a step');
is(sql($status, 'clock'), '0 55000, 0 fine', 'neither, and no step is shown before its publication');
$node->append_conf('postgresql.conf', "synchronous_standby_names = ''");
$node->reload;
ok($node->poll_query_until('postgres', q{SHOW synchronous_standby_names}, ''), 'no standby any more');
sql('CALL dp_tick()', 'clock');
is(sql($status, 'clock'), '3 fine, 3 fine', 'a later tick goes on');
done_testing();
