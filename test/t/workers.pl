# How a call and its worker end: whoever is canceled, ended or killed, and wherever the worker is then, each step is
# released once, nothing is half done, and no worker or shared memory stays.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

# Shared memory in files of the server's own folder: what is left over can be counted.
my $node = new_node('workers', allows_streaming => 1,
	conf => "autovacuum = off\ndynamic_shared_memory_type = mmap\nrestart_after_crash = on\n");
my $limit = $PostgreSQL::Test::Utils::timeout_default;

# --- helpers

my $admin; # a superuser's session, which is faster than a psql for each statement
sub connect_admin
{
	$admin = $node->background_psql('postgres', on_error_stop => 0);
	$admin->set_query_timer_restart;
	$admin->query('SET client_min_messages = warning');
	return;
}
sub sql { return scalar $admin->query_safe($_[0]) }
sub as { return sql("SET SESSION AUTHORIZATION $_[0]; $_[1]; RESET SESSION AUTHORIZATION") }
sub until_is
{
	my ($what, $condition) = @_;
	for (my $end = time + $limit; time < $end; usleep(10_000)) { return 1 if $condition->() }
	diag("waited in vain for $what");
	return 0;
}

# A statement in a session of its own, which goes on. Options: user, settings (PGOPTIONS), before, holds
# (an advisory lock), then (statements before it).
my $calls = 0;
sub start_call
{
	my ($statement, %options) = @_;
	my $name = 'call' . ++$calls;
	local $ENV{PGOPTIONS} = $options{settings} // '';
	my $out = $node->basedir . "/$name";
	my %call = (name => $name, out => $out);
	$call{run} = start_program($out, 'psql', '-X', '-A', '-t', '-U', $options{user} // 'clock', '-d',
		($options{to} // $node->connstr($options{database} // 'postgres')) . " application_name=$name",
		(map { ('-c', $_) } $options{before} // (), $options{holds} ? "SELECT pg_advisory_lock($options{holds})" : (),
			$options{then} // ()), '-c', $statement);
	return \%call;
}
sub output { my ($call) = @_; return slurp_file($call->{out}) . slurp_file("$call->{out}.errors") }
sub finish { my ($call) = @_; eval { $call->{run}->finish }; return output($call) }
sub caller_of { my ($call) = @_; return sql("SELECT pid FROM pg_stat_activity WHERE application_name = '$call->{name}'") }
my $workers = q{FROM pg_stat_activity WHERE backend_type = 'dp_counter worker'};
sub worker_of { my ($call) = @_; return sql("SELECT max(w.pid) FROM pg_stat_activity AS w, pg_stat_activity AS c
	WHERE c.application_name = '$call->{name}' AND w.application_name = 'dp_counter worker for PID ' || c.pid") }
# Whether the call's worker waits for a lock, or for one of a kind, where it can wait for another one in passing; and until it does.
sub waits
{
	my ($call, $kind) = @_;
	my $waits = "w.wait_event_type = 'Lock'" . ($kind ? " AND w.wait_event = '$kind'" : '');
	return 't' eq sql("SELECT count(*) > 0 FROM pg_stat_activity AS w, pg_stat_activity AS c
		WHERE c.application_name = '$call->{name}' AND w.application_name = 'dp_counter worker for PID ' || c.pid
			AND $waits");
}
sub is_held
{
	my ($call, $kind) = @_;
	return until_is('a worker that waits', sub { return waits($call, $kind) }) || BAIL_OUT('no worker waits: ' . output($call));
}
# A call that statement_timeout ends while its worker waits: where the timeout comes before that, another one with twice the time.
sub start_call_for_timeout
{
	my ($statement) = @_;
	for (my $timeout = 1500; $timeout < 1000 * $limit; $timeout *= 2)
	{
		my $call = start_call($statement, settings => "-c statement_timeout=$timeout");
		my $is_held;
		until_is('a worker that waits, or the timeout', sub {
			$is_held = waits($call);
			return $is_held || (-e "$call->{out}.errors" && slurp_file("$call->{out}.errors") =~ /ERROR:/);
		});
		return $call if $is_held;
		finish($call);
	}
	BAIL_OUT('no worker waits before the timeout');
}
sub no_worker { return until_is('the end of the worker', sub { return sql("SELECT count(*) $workers") eq '0' }) }
# Of calls. Those of the server's own statistics, of whole megabytes, come with what it has statistics about, and stay.
sub segments { return scalar(grep { (-s) % 1048576 } glob $node->data_dir . '/pg_dynshmem/mmap.*') }
sub restarts { return scalar(() = slurp_file($node->logfile) =~ /all server processes terminated; reinitializing/g) }

my $least = segments();
connect_admin();
sql(unguarded_functions() . q{
	CREATE ROLE steward LOGIN; CREATE ROLE other LOGIN; CREATE ROLE clock LOGIN; CREATE ROLE stranger LOGIN;
	GRANT CREATE ON SCHEMA public TO steward, other;
	CREATE TABLE facts AS SELECT n AS person, timestamp '2025-01-01 12:00' + n % 3 * interval '1 day' AS at, n % 2 AS x
		FROM generate_series(1, 60) AS n;
	GRANT SELECT ON facts TO steward, other;
});
for my $owner (qw(steward other))
{
	as($owner, qq{SELECT dp_budget_create('budget_of_$owner', 1e12);
		CREATE VIEW facts_of_$owner AS SELECT person, at, x FROM facts;
		SELECT dp_source_create('facts_of_$owner', 'budget_of_$owner', 'person', 'at', 'UTC')});
}
sub declare
{
	my ($owner, $source, @names) = @_;
	as($owner, "SELECT dp_counter_create('$_', '$source', 0.01, '1 day', '2025-01-01', horizon => 3, per_person => 1);
	GRANT SELECT, UPDATE ON $_ TO clock") for @names;
	return;
}
sub steps { return join ' ', map { sql("SELECT steps FROM dp_counter_private.counters WHERE counter = '$_'::regclass") . '/'
	. sql("SELECT count(*) FROM $_") } @_ }
sub failed { return sql("SELECT coalesce(last_sqlstate, 'fine') FROM dp_counters WHERE counter = '$_[0]'::regclass") }
# All that is stored of counters, published or not.
sub stored
{
	return join ' ', map { sql("SELECT string_agg(step || ':' || r.count, ' ' ORDER BY step) FROM dp_counter_private.releases AS r
		JOIN dp_counter_private.counters USING (number) WHERE counter = '$_'::regclass") } @_;
}
# Where a worker is held: while it reads, and between its two commits.
my %lock = (reading => 'facts IN ACCESS EXCLUSIVE MODE', publishing => 'dp_counter_private.publications IN SHARE MODE');
my $holder;
sub hold
{
	my ($where) = @_;
	$holder = $node->background_psql('postgres', on_error_stop => 0);
	$holder->query("SET synchronous_commit = local; BEGIN; LOCK TABLE $lock{$where};");
	return;
}
sub let_go { eval { $holder->query('COMMIT;') ; $holder->quit }; return }

# --- each way in which a call can end, in each of the two places

my $round = 0;
my %ways = (
	'a cancel' => { end => sub { sql('SELECT pg_cancel_backend(' . caller_of($_[0]) . ')') },
		says => qr/ERROR:  canceling statement due to user request/ },
	'statement_timeout' => { times_out => 1, says => qr/ERROR:  canceling statement due to statement timeout/ },
	'pg_terminate_backend' => { end => sub { sql('SELECT pg_terminate_backend(' . caller_of($_[0]) . ')') },
		says => qr/FATAL:  terminating connection due to administrator command/ },
	'a lost connection' => { end => sub { $_[0]{run}->signal('KILL') }, settings => '-c client_connection_check_interval=100',
		says => qr/^$/ },
	'kill -9 of the session' => { end => sub { kill 'KILL', caller_of($_[0]) }, crashes => 1,
		says => qr/terminated abnormally|server closed the connection/ },
	'kill -9 of the worker' => { end => sub { kill 'KILL', worker_of($_[0]) }, crashes => 1,
		says => qr/terminated abnormally|server closed the connection|because of crash/ },
	'shutdown fast' => { stops => 'fast', says => qr/FATAL:  terminating connection due to administrator command/ },
	'shutdown immediate' => { stops => 'immediate', says => qr/immediate shutdown|server closed the connection/ },
);
for my $where (qw(reading publishing))
{
	for my $name (sort keys %ways)
	{
		my $way = $ways{$name};
		my @counters = map { $_ . ++$round } qw(a b);
		declare('steward', 'facts_of_steward', @counters);
		hold($where);
		my $call = $way->{times_out} ? start_call_for_timeout('CALL dp_tick()') : start_call('CALL dp_tick()', settings => $way->{settings});
		is_held($call) if !$way->{times_out};
		my $closed = stored(@counters);
		unlike(output($call), qr/released/, "$where: what is not published is not told");
		my $restarts = restarts();
		$node->stop($way->{stops}) if $way->{stops};
		$way->{end}->($call) if $way->{end};
		like(finish($call), $way->{says}, "$where: $name ends a call");
		if ($way->{crashes} || $way->{stops})
		{
			if ($way->{stops}) { $node->start }
			else
			{
				until_is('the crash', sub { return restarts() > $restarts });
				until_is('the restart', sub { return system('pg_isready', '-q', '-d', $node->connstr('postgres')) == 0 });
			}
			eval { $_->quit } for $admin, $holder;
			connect_admin();
		}
		else
		{
			ok(until_is('the end of the session', sub { return caller_of($call) eq '' }), 'its session is gone');
			is(sql("SELECT count(*) $workers"), '0', 'after its worker'); # which still could not go on
			let_go();
		}
		is(steps(@counters), ($where eq 'reading' ? '0/0' : '3/0') . ' 0/0', 'nothing is half done');
		is(join(' ', map { failed($_) } @counters), 'fine fine', 'nor noted as a failure');
		is(stored(@counters), $closed, 'nothing else is stored');
		is(failure($node, 'CALL dp_tick()', user => 'clock'), '', 'the next tick goes on');
		is(steps(@counters), '3/3 3/3', 'and releases all');
		like(stored(@counters), qr/^\Q$closed\E/, 'what was closed is not drawn again') if $where eq 'publishing';
	}
}

# --- a worker that is ended: a failure of the counter whose turn it was; another worker goes on
my %ends = (
	pg_terminate_backend => [ '57P01', qr/terminating (background worker "dp_counter worker"|connection) due to administrator command/ ],
	pg_cancel_backend => [ '57014', qr/canceling statement due to user request/ ],
);
for my $where (qw(reading publishing))
{
	for my $function (sort keys %ends)
	{
		my ($sqlstate, $says) = @{ $ends{$function} };
		my @counters = map { $_ . ++$round } qw(a b c);
		declare('steward', 'facts_of_steward', @counters[ 0, 1 ]);
		declare('other', 'facts_of_other', $counters[2]);
		hold($where);
		my $call = start_call('CALL dp_tick()');
		is_held($call);
		my $closed = stored($counters[0]);
		my $worker = worker_of($call);
		sql("SELECT $function($worker)");
		until_is('the next turn', sub { return output($call) =~ /WARNING:  $counters[0]: / }) || diag(output($call));
		is_held($call);
		cmp_ok(worker_of($call), $function =~ /terminate/ ? '!=' : '==', $worker,
			"$where: $function of the worker: the next counter " . ($function =~ /terminate/ ? 'gets another' : 'has it'));
		let_go();
		my $told = finish($call);
		like($told, qr/WARNING:  $counters[0]: .*$says.*ERROR:  1 of \d+ counters failed: $counters[0]\n/s, 'a failure of the counter');
		is(join(' ', map { failed($_) } @counters), "$sqlstate fine fine", 'which is noted');
		is(steps(@counters), ($where eq 'reading' ? '0/0' : '3/0') . ' 3/3 3/3', 'the others are released');
		my $others = stored(@counters[ 1, 2 ]);
		is(failure($node, 'CALL dp_tick()', user => 'clock'), '', 'the next tick goes on');
		is(steps(@counters) . ' ' . failed($counters[0]), '3/3 3/3 3/3 fine', 'and releases all');
		is(stored(@counters[ 1, 2 ]), $others, 'nothing twice');
		is(stored($counters[0]), $closed, 'nor what was closed') if $where eq 'publishing';
	}
}

# A counter that ends every worker takes nothing from the others, however often.
sql(q{
	CREATE FUNCTION ends_worker() RETURNS boolean LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
		BEGIN PERFORM public.end_session(pg_backend_pid(), 0), public.wait(60); RETURN true; END $$;
});
as('steward', q{CREATE VIEW fragile AS SELECT person, at, ends_worker() AS risky FROM facts;
SELECT dp_source_create('fragile', 'budget_of_steward', 'person', 'at', 'UTC', person_wise => true)});
as('steward', "SELECT dp_counter_create('$_', 'fragile', 0.01, '1 day', '2025-01-01', horizon => 3"
	. (/risky/ ? q{, event => 'risky'} : '') . ", per_person => 1); GRANT UPDATE ON $_ TO clock") for qw(first risky second risky_too third);
for (1, 2)
{
	like(failure($node, 'CALL dp_tick()', user => 'clock'), qr/2 of \d+ counters failed: risky, risky_too\n/,
		'two of five counters end their worker');
	is(steps(qw(first risky second risky_too third)), '3/3 0/0 3/3 0/0 3/3', 'the others are released');
	is(failed('risky') . failed('risky_too'), '5500055000', 'they have failed');
}
as('steward', q{DROP VIEW risky; DROP VIEW risky_too});

# --- a session ends after its worker, however long that takes
for my $function (qw(pg_cancel_backend pg_terminate_backend))
{
	my $name = "slow_$function";
	declare('steward', 'facts_of_steward', $name);
	hold('reading');
	my $call = start_call('CALL dp_tick()');
	is_held($call);
	my ($session, $worker) = (caller_of($call), worker_of($call));
	kill 'STOP', $worker;
	sql("SELECT $function($session)");
	usleep(1_000_000);
	is(caller_of($call), $session, "$function: a call waits for the end of its worker");
	kill 'CONT', $worker;
	like(finish($call), qr/ERROR:  canceling statement|FATAL:  terminating connection/, 'and ends then');
	let_go();
	is(failure($node, 'CALL dp_tick()', user => 'clock') . steps($name), '3/3', 'the next tick goes on');
}

# --- synchronous standbys that do not confirm: the worker is within one of its two commits
sub wait_for_standbys
{
	my ($names) = @_;
	sql($_) for "ALTER SYSTEM SET synchronous_standby_names = '$names'", 'SELECT pg_reload_conf()';
	until_is('the setting', sub { return sql('SHOW synchronous_standby_names') eq $names });
	sql('CHECKPOINT'); # by the process that tells all others of it
	return;
}
my %in_commit = (
	confirmed => [ sub { }, qr/NOTICE:  \w+: 3 periods released/ ],
	canceled => [ sub { sql('SELECT pg_cancel_backend(' . caller_of($_[0]) . ')'); ok(no_worker(), 'its worker ends') },
		qr/ERROR:  canceling statement due to user request/ ],
	'without a worker' => [ sub { sql('SELECT pg_terminate_backend(' . worker_of($_[0]) . ')'); ok(no_worker(), 'it ends') },
		qr/WARNING:  \w+: the worker that reads the source ended without an answer/ ],
);
for my $where (qw(reading publishing))
{
	for my $way (sort keys %in_commit)
	{
		my ($end, $says) = @{ $in_commit{$way} };
		my $name = 'commit' . ++$round;
		my $restarts = restarts();
		declare('steward', 'facts_of_steward', $name);
		hold($where);
		my $call = start_call('CALL dp_tick()');
		is_held($call);
		wait_for_standbys('gone');
		let_go();
		ok(until_is('standbys', sub { return sql("SELECT count(*) $workers AND wait_event = 'SyncRep'") eq '1' }),
			"a worker that waits for standbys, after $where");
		usleep(1_000_000);
		unlike(output($call), qr/released/, 'what nobody else can see is not told');
		is(steps($name), $where eq 'reading' ? '0/0' : '3/0', 'nor seen');
		$end->($call);
		wait_for_standbys('');
		like(finish($call), $says, "a call that is $way");
		my $closed = stored($name);
		is(failure($node, 'CALL dp_tick()', user => 'clock') . steps($name), '3/3', 'the next tick has nothing to do, or publishes');
		is(stored($name), $closed, 'what was closed');
		is(restarts(), $restarts, 'and nothing crashes');
	}
}

# --- a caller who is gone, which its session does not see: the counter is released, or later
{
	declare('steward', 'facts_of_steward', 'alone', 'alone_too');
	hold('reading');
	my $call = start_call('CALL dp_tick()');
	is_held($call);
	$call->{run}->signal('KILL');
	finish($call);
	let_go();
	ok(until_is('the end of the session', sub { return caller_of($call) eq '' }),
		'a session that does not see that its client is gone ends when it tells what it has done');
	is(sql("SELECT count(*) $workers"), '0', 'after its worker');
	like(steps('alone', 'alone_too'), qr{^3/3 [03]/[03]$}, 'and has released what it would have told');
	my $closed = stored('alone', 'alone_too');
	is(failure($node, 'CALL dp_tick()', user => 'clock'), '', 'the next tick goes on');
	is(steps('alone', 'alone_too'), '3/3 3/3', 'and releases all');
	like(stored('alone', 'alone_too'), qr/^\Q$closed\E/, 'nothing twice');
}

# --- two at once
{
	declare('steward', 'facts_of_steward', 'twice', 'twice_too');
	hold('reading');
	my @both = map { start_call('CALL dp_tick()') } 1, 2;
	is_held($_) for @both;
	cmp_ok(worker_of($both[0]), '!=', worker_of($both[1]), 'two calls have two workers');
	let_go();
	my $told = join '', map { finish($_) } @both;
	like($told, qr/$_: 3 periods released/, 'who tell what was released') for qw(twice twice_too);
		# each what it has closed, and what it has published
	unlike($told, qr/ERROR|WARNING/, 'and none fails');
	is(steps('twice', 'twice_too'), '3/3 3/3', 'all of them');
}

# --- while a call waits for its worker: what it holds, and who sees what
{
	declare('steward', 'facts_of_steward', 'seen');
	hold('reading');
	my $call = start_call(q{CALL dp_tick('seen')});
	is_held($call);
	my $pid = caller_of($call);
	my $worker = worker_of($call);
	is(sql("SELECT string_agg(locktype || mode, ' ') FROM pg_locks WHERE pid = $pid"), 'virtualxidExclusiveLock',
		'the caller holds no lock while it waits');
	is(sql("SELECT backend_xmin IS NULL AND backend_xid IS NULL FROM pg_stat_activity WHERE pid = $pid"), 't', 'nor anything from vacuum');
	my $row = "SELECT query || coalesce(usename, '') || coalesce(client_addr::text, '') FROM pg_stat_activity WHERE pid = $worker";
	is(as($_, $row), '<insufficient privilege>' . sql("SELECT usename FROM pg_stat_activity WHERE pid = $worker"),
		"the worker's query is hidden from $_") for qw(stranger clock steward);
	unlike(sql($row), qr/SELECT|FROM/, 'and is none');
	is(as('stranger', "SELECT count(*) FROM pg_locks WHERE pid = $worker AND locktype = 'advisory'"), '0',
		'its locks are those of its tables');
	is(as('clock', "SELECT application_name FROM pg_stat_activity WHERE pid = $worker"), "dp_counter worker for PID $pid",
		'all see whose it is');
	like(failure($node, "SELECT pg_terminate_backend($worker)", user => $_),
		qr/ERROR:  (must be a superuser|permission denied) to terminate/, "$_ cannot end it") for qw(stranger clock steward);
	let_go();
	like(finish($call), qr/NOTICE:  seen: 3 periods released/, 'it ends well');
}

# --- locks
# A counter whose view waits, in the worker, for this advisory lock.
sub gated_counter
{
	my ($counter, $lock) = @_;
	as('steward', qq{
		CREATE FUNCTION gate_${lock}() RETURNS boolean
			LANGUAGE plpgsql STABLE AS \$\$ BEGIN PERFORM public.hold_shared(${lock}); RETURN true; END \$\$;
		CREATE VIEW gated_${lock} AS SELECT person, at, gate_${lock}() AS open FROM facts;
		SELECT dp_source_create('gated_${lock}', 'budget_of_steward', 'person', 'at', 'UTC', person_wise => true);
		SELECT dp_counter_create('${counter}', 'gated_${lock}', 0.01, '1 day', '2025-01-01', horizon => 3, event => 'open', per_person => 1);
		GRANT UPDATE ON ${counter} TO clock});
}
gated_counter('behind', 7);
# The deadlock is found in the worker, the first whose deadlock_timeout is over.
my $evaluation = qr/ERROR:  55000: could not evaluate source "gated_[78]"\n/;
my $patient = 'SET deadlock_timeout = 60000';
{
	my $third = $node->background_psql('postgres', on_error_stop => 0);
	$third->query("$patient; SELECT pg_advisory_lock(7);");
	sql('SELECT pg_advisory_lock(9)'); # until the other session waits
	my $call = start_call(q{CALL dp_tick('behind')}, before => q{\set VERBOSITY verbose}, holds => 8, then => 'SELECT pg_advisory_lock_shared(9)');
	my $eights = q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 8 AND};
	until_is('its lock', sub { return sql("$eights granted") eq '1' });
	$third->{stdin} .= "SELECT pg_advisory_lock(8);\n";
	until_is('the wait for it', sub { $third->{run}->pump_nb; return sql("$eights NOT granted") eq '1' });
	sql('SELECT pg_advisory_unlock(9)');
	my $began = time;
	like(finish($call), $evaluation, 'a deadlock of a call, its worker and another session');
	cmp_ok(time - $began, '<', 15, 'ends it soon');
	$third->query('SELECT pg_advisory_unlock_all();');
	$third->quit;
}
is(steps('behind') . failed('behind'), '0/055000', 'nothing is half done');
# Two calls, each of which holds what the other one's worker waits for. One of them ends, and the other one may.
gated_counter('behind_too', 8);
{
	sql('SELECT pg_advisory_lock(9)');
	my %common = (before => q{\set VERBOSITY verbose}, then => 'SELECT pg_advisory_lock_shared(9)', settings => '-c statement_timeout=60000');
	my @both = (start_call(q{CALL dp_tick('behind')}, %common, holds => 8), start_call(q{CALL dp_tick('behind_too')}, %common, holds => 7));
	until_is('their locks', sub { return sql(q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid IN (7, 8)
		AND granted}) eq '2' });
	sql('SELECT pg_advisory_unlock(9)');
	my @told = map { finish($_) } @both;
	like(join('', @told), $evaluation, 'two calls that wait for each other');
	like($_, qr/$evaluation|NOTICE:  00000: behind\w*: 3 periods released/, 'one has its turn after the other, or fails too') for @told;
	is(failure($node, 'CALL dp_tick()', user => 'clock') . steps('behind', 'behind_too'), '3/3 3/3', 'then both go on');
}
gated_counter('behind_itself', 10);
like(finish(start_call(q{CALL dp_tick('behind_itself')}, holds => 10)), qr/NOTICE:  behind_itself: 3 periods released/,
	'a call does not wait for itself');
as('steward', q{SELECT dp_counter_drop('behind_itself'); SELECT dp_counter_drop('behind_too')});
as('steward', q{
	SELECT dp_counter_drop('behind');
	CREATE FUNCTION talks(person integer) RETURNS boolean LANGUAGE plpgsql STABLE AS $$ BEGIN RAISE NOTICE '%',
		repeat('talk ', 100); RETURN true; END $$;
	CREATE VIEW talking AS SELECT person, at, talks(person) AS open FROM facts;
	SELECT dp_source_create('talking', 'budget_of_steward', 'person', 'at', 'UTC', person_wise => true);
	SELECT dp_counter_create('talking_' || n, 'talking', 0.01, '1 day', '2025-01-01', horizon => 3, event => 'open',
		per_person => 1) FROM generate_series(1, 3) AS n;
	SELECT dp_counter_create('behind', 'gated_7', 0.01, '1 day', '2025-01-01', horizon => 3, event => 'open', per_person => 1);
	GRANT UPDATE ON behind, talking_1, talking_2, talking_3 TO clock});
{
	# The last one waits; those before have told more than fits into what memory there is at first.
	$holder = $node->background_psql('postgres', on_error_stop => 0);
	$holder->query('BEGIN; SELECT pg_advisory_xact_lock(7);');
	my $call = start_call('CALL dp_tick()', user => 'steward');
	is_held($call, 'advisory');
	until_is('what the others have told', sub { return slurp_file("$call->{out}.errors") =~ /talking_3: 3 periods released/ });
	sql('SELECT pg_cancel_backend(' . caller_of($call) . ')');
	like(finish($call), qr/NOTICE:  talk.*NOTICE:  talking_3: 3 periods released.*ERROR:  canceling statement due to user request\nCONTEXT:  tick of counter "behind"\n/s, 'a cancel says which counter it has met');
	let_go();
}
is(failure($node, 'CALL dp_tick()', user => 'clock'), '', 'without the lock it goes well');
as('steward', q{
	CREATE TABLE many AS SELECT n AS person, timestamp '2025-01-01' AS at FROM generate_series(1, 60000) AS n;
	CREATE VIEW chatting AS SELECT person, at, talks(person) AS open FROM many;
	SELECT dp_source_create('chatting', 'budget_of_steward', 'person', 'at', 'UTC', person_wise => true);
	SELECT dp_counter_create('chat', 'chatting', 0.01, '1 day', '2025-01-01', horizon => 1, event => 'open', per_person => 1)});
SKIP:
{
	skip 'no /proc', 1 unless -r "/proc/$$/status";
	# Each of 60,000 messages had taken 2 kB to the end of the call.
	my $session = $node->background_psql('postgres', on_error_stop => 1, extra_params => [ '-U', 'steward' ]);
	$session->query_safe(q{SET client_min_messages = warning; SELECT dp_counter_plan('chat')});
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	my $peak = sub { slurp_file("/proc/$pid/status") =~ /VmHWM:\s+(\d+)/; return $1 };
	my $before = $peak->();
	$session->query_safe(q{CALL dp_tick('chat')});
	cmp_ok($peak->() - $before, '<', 20_000, 'messages take no memory');
	$session->quit;
}
for my $where (qw(reading publishing))
{
	declare('steward', 'facts_of_steward', "limited_$where");
	hold($where);
	like(failure($node, "SET lock_timeout = '100ms'; CALL dp_tick('limited_$where')", user => 'clock'),
		qr/canceling statement due to lock timeout/, "$where: lock_timeout of the session holds in its worker");
	like(failure($node, "SET lock_timeout = '100ms'; CALL dp_tick('limited_$where')", user => 'steward'),
		qr/canceling statement due to lock timeout/, 'as the owner is told');
	my $closed = stored("limited_$where");
	let_go();
	is(failure($node, 'CALL dp_tick()', user => 'clock'), '', 'later it goes well');
	like(stored("limited_$where"), qr/^\Q$closed\E/, 'and nothing is drawn twice');
}

# --- reports: the table and its charge, or neither
my $reports = q{SELECT count(*) || ' ' || (SELECT count(*) FROM pg_class WHERE relname ~ '^report' AND relkind = 'r')
	FROM budget_of_steward WHERE purpose ~ 'report'};
my %report = (
	dp_source_suggest => q{CALL dp_source_suggest('facts_of_steward', 'report%d', 0.001, 1, '1 day', since => '2025-01-01',
		until => '2025-01-04')},
	dp_source_groups => q{CALL dp_source_groups('facts_of_steward', 'report%d', 0.001, 'x')},
	dp_source_contributions => q{CALL dp_source_contributions('facts_of_steward', 'report%d', 0.001, most => 2)},
);
my $made = 0;
for my $name (sort keys %report)
{
	for my $function (qw(pg_cancel_backend pg_terminate_backend), '')
	{
		for my $of (\&caller_of, \&worker_of)
		{
			my $before = sql($reports);
			hold('reading');
			my $call = start_call(sprintf($report{$name}, ++$made), user => 'steward');
			is_held($call);
			sql("SELECT $function(" . $of->($call) . ')') if $function;
			if ($function) { ok(no_worker(), "$name: $function ends the worker"); like(finish($call), qr/ERROR|FATAL/, 'and the call') }
			let_go();
			is(finish($call), "CALL\n", "$name goes well") if !$function;
			is(sql($reports), $function ? $before : join(' ', map { $_ + 1 } split / /, $before),
				$function ? 'nothing is half done' : 'with its charge');
			last if !$function;
		}
	}
}

# --- the roles go, or what they have
sql('CREATE ROLE going LOGIN; GRANT CREATE ON SCHEMA public TO going');
for my $where (qw(reading publishing))
{
	my $name = "left_$where";
	declare('steward', 'facts_of_steward', $name, "${name}_too");
	sql("CREATE ROLE leaving LOGIN; GRANT UPDATE ON $name, ${name}_too TO leaving");
	hold($where);
	my $call = start_call('CALL dp_tick()', user => 'leaving');
	is_held($call);
	my $closed = stored($name);
	sql('DROP OWNED BY leaving; DROP ROLE leaving');
	let_go();
	my $told = finish($call);
	unlike($told, qr/released|crash|closed the connection/, "$where: a call by a role that was dropped says nothing more");
	like(steps($name, "${name}_too"), qr{^3/[03] 0/0$}, 'nor reads any further');
	is(failure($node, 'CALL dp_tick()', user => 'clock'), '', 'others go on');
	is(steps($name, "${name}_too"), '3/3 3/3', 'and release all');
	like(stored($name), qr/^\Q$closed\E/, 'nothing twice');
}
for my $gone (0, 1)
{
	as('going', qq{SELECT dp_budget_create('budget$gone', 1e12);
		CREATE TABLE moved$gone AS SELECT 1 AS person, timestamp '2025-01-01' AS at; CREATE VIEW moved_dp$gone AS SELECT * FROM moved$gone;
		SELECT dp_source_create('moved_dp$gone', 'budget$gone', 'person', 'at', 'UTC')});
	declare('going', "moved_dp$gone", "of_going$gone");
	$holder = $node->background_psql('postgres', on_error_stop => 0);
	$holder->query("BEGIN; ALTER VIEW moved_dp$gone OWNER TO other;"
		. ($gone ? 'REASSIGN OWNED BY going TO other; DROP OWNED BY going; DROP ROLE going;' : ''));
	my $call = start_call("CALL dp_tick('of_going$gone')");
	is_held($call);
	let_go();
	like(finish($call), qr/ERROR:  source "moved_dp$gone" has got another owner meanwhile\nHINT:  Try again\.\n/,
		'an owner who was replaced, ' . ($gone ? 'and dropped' : 'and is there'));
	is(steps("of_going$gone"), '0/0', 'nothing is half done');
	sql("ALTER TABLE moved$gone OWNER TO other");
	is(failure($node, 'CALL dp_tick()', user => 'clock'), '', 'it can be tried again');
	is(steps("of_going$gone"), '3/3', 'and goes well');
}

# --- the database: its settings, its end
sql(q{CREATE DATABASE odd TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'});
$node->safe_psql('odd', q{
	CREATE EXTENSION dp_counter;
	GRANT CREATE ON SCHEMA public TO steward;
	SET SESSION AUTHORIZATION steward;
	SELECT dp_budget_create('b', 1e12);
	CREATE TABLE facts AS SELECT 1 AS person, timestamp '2025-01-01' AS at;
	CREATE FUNCTION sees() RETURNS boolean LANGUAGE plpgsql STABLE AS $$ BEGIN
		RAISE WARNING 'as % of %, %, %', current_user, session_user, current_setting('transaction_isolation'), current_setting('row_security');
		RETURN true; END $$;
	CREATE VIEW facts_dp AS SELECT *, sees() AS seen FROM facts;
	SELECT dp_source_create('facts_dp', 'b', 'person', 'at', 'UTC', person_wise => true);
	SELECT dp_counter_create(U&'"\\00E9t\\00E9' || n || '"', 'facts_dp', 1e9, '1 day', '2025-01-01', horizon => 3, event => 'seen',
		per_person => 1) FROM generate_series(1, 2) AS n;
	DO $$ BEGIN EXECUTE U&'GRANT SELECT, UPDATE ON \\00E9t\\00E91, \\00E9t\\00E92 TO clock'; END $$});
sql("ALTER DATABASE odd SET $_") for 'default_transaction_read_only = on', 'default_transaction_isolation = serializable',
	'default_transaction_deferrable = on', 'role = stranger',
	'search_path = nowhere', q{client_encoding = 'LATIN1'}, 'row_security = off', 'session_replication_role = replica', 'enable_seqscan = off';
like(failure($node, 'CALL public.dp_tick()', user => 'clock', database => 'odd'),
	qr/ERROR:  cannot execute dp_tick\(\) in a read-only transaction/, 'a database that is read only by default');
{
	local $ENV{PGOPTIONS} = '-c default_transaction_read_only=off -c client_encoding=utf8 -c search_path=public';
	for my $user (qw(clock steward))
	{
		my $n = $user eq 'clock' ? 1 : 2;
		my ($out, $told);
		is($node->psql('odd', "SET client_min_messages = notice; CALL dp_tick(U&'\\00E9t\\00E9$n')", stdout => \$out,
			stderr => \$told, extra_params => [ '-U', $user ]), 0, "whatever a database sets, a session that may write ticks, as $user");
		like($told, qr/NOTICE:  "?\xc3\xa9t\xc3\xa9$n"?: 3 periods released/, 'what the worker says is in the session\'s encoding');
		like($told, qr/WARNING:  as steward of steward, read committed, on/, 'and reads as the owner') if $user eq 'steward';
		is($node->safe_psql('odd', "SELECT count FROM public.\x{c3}\x{a9}t\x{c3}\x{a9}$n ORDER BY step",
			extra_params => [ '-U', $user ]), "1\n1\n1", 'all rows');
	}
}
# A session that is open when its database is closed to others.
{
	$node->end_session;
	sql(q{CREATE DATABASE shut TEMPLATE odd});
	$node->safe_psql('shut', q{SET default_transaction_read_only = off; SET ROLE postgres;
	SELECT public.dp_counter_resume(counter) FROM public.dp_counters});
	my $session = $node->background_psql('shut', on_error_stop => 0, extra_params => [ '-U', 'steward' ]);
	$session->query(q{SET search_path = public;
	SELECT dp_counter_create('late', 'facts_dp', 1, '1 day', '2025-01-01', horizon => 3, per_person => 1)});
	$session->{stderr} = '';
	sql('ALTER DATABASE shut ALLOW_CONNECTIONS false');
	$session->query(q{CALL dp_tick('late')});
	like($session->{stderr}, qr/ERROR:  database "shut" is not currently accepting connections/,
		'a database that takes no connections: nor does a worker get one');
	$session->{stderr} = '';
	sql('ALTER DATABASE shut ALLOW_CONNECTIONS true');
	is($session->query(q{CALL dp_tick('late'); SELECT count(*) FROM late}), '3', 'later it does');
	$session->{stderr} = '';
	$session->query(q{SELECT dp_counter_create('last', 'facts_dp', 1, '1 day', '2025-01-01', horizon => 3, per_person => 1)});
	my $inside = $node->background_psql('shut', on_error_stop => 0);
	$inside->query('BEGIN; LOCK TABLE public.facts;');
	my $call = start_call(q{CALL public.dp_tick('public.last')}, database => 'shut', user => 'steward');
	is_held($call);
	is(failure($node, 'ALTER DATABASE shut RENAME TO other') =~ /ERROR:  database "shut" is being accessed by other users/, 1,
		'a database in which a worker reads is not renamed');
	sql('DROP DATABASE shut WITH (FORCE)');
	like(finish($call), qr/FATAL:  terminating connection due to administrator command/, 'but dropped by force, which ends the call');
	ok(no_worker(), 'and its worker');
	eval { $_->quit } for $session, $inside;
}

# --- the library is replaced while a session has it: by one with another version of the job, and by none
SKIP:
{
	my $library = abs_path($node->basedir) . '/library.so';
	my $bytes = slurp_file($node->config_data('--pkglibdir') . '/dp_counter.so');
	my $other = $bytes;
	my $found = ($other =~ s/\x02\x00\x70\x64/\x03\x00\x70\x64/g); # kJobVersion, in the code of caller and worker
	skip 'the version is not in one piece in this machine\'s code', 8 if $found < 2;
	my $put = sub {
		open my $file, '>:raw', "$library.new" or die $!;
		print $file $_[0];
		close $file;
		rename "$library.new", $library or die $!;
	};
	$put->($bytes);
	sql('CREATE DATABASE replaced');
	$node->safe_psql('replaced', qq{
		CREATE EXTENSION dp_counter; GRANT CREATE ON SCHEMA public TO steward;
		UPDATE pg_proc SET probin = '$library' WHERE probin = '\$libdir/dp_counter'});
	my $session = $node->background_psql('replaced', on_error_stop => 0, extra_params => [ '-U', 'steward' ]);
	my $declare = q{SELECT dp_counter_create('%s', 'facts_dp', 1, '1 day', '2025-01-01', horizon => 3, per_person => 1)};
	$session->query(q{
		SELECT dp_budget_create('b', 1e12);
		CREATE TABLE facts AS SELECT 1 AS person, timestamp '2025-01-01' AS at; CREATE VIEW facts_dp AS SELECT * FROM facts;
		SELECT dp_source_create('facts_dp', 'b', 'person', 'at', 'UTC');} . join ';', map { sprintf $declare, $_ } qw(early middle late));
	is($session->query(q{CALL dp_tick('early'); SELECT count(*) FROM early}), '3', 'a library somewhere');
	$session->{stderr} = '';
	$put->($other);
	$session->query(q{CALL dp_tick('middle')});
	like($session->{stderr}, qr/ERROR:  this session has another version of dp_counter's library than its worker\nHINT:  Reconnect: the library was replaced\./, 'replaced, a session that has the old one says so');
	$session->{stderr} = '';
	is($session->query(q{SELECT count(*) FROM middle}), '0', 'nothing is half done');
	is($node->safe_psql('replaced', q{SET client_min_messages = warning; CALL dp_tick('middle'); SELECT count(*) FROM middle},
		extra_params => [ '-U', 'steward' ]), '3', 'another session goes on');
	unlink $library;
	$session->query(q{CALL dp_tick('late')});
	like($session->{stderr}, qr/ERROR:  the worker that reads the source ended without an answer\nHINT:  The server's log may say why\./, 'removed, it has none');
	like(slurp_file($node->logfile), qr/could not (access|load) .*library\.so/, 'as the log says');
	$session->{stderr} = '';
	$put->($bytes);
	is($session->query(q{CALL dp_tick('late'); SELECT count(*) FROM late}), '3', 'put back, the session goes on');
	$session->quit;
}

# --- no free slot: one worker at a time
eval { $_->quit } for $holder;
$admin->quit;
is(segments(), $least, 'no shared memory is left over');
$node->append_conf('postgresql.conf', "max_worker_processes = 1\nmax_logical_replication_workers = 0");
$node->restart;
connect_admin();
{
	declare('steward', 'facts_of_steward', 'slot', 'slot_too');
	declare('other', 'facts_of_other', 'slot_of_other');
	hold('reading');
	my $first = start_call('CALL dp_tick()');
	is_held($first);
	my $second = start_call('CALL dp_tick()', before => q{\set VERBOSITY verbose});
	my $canceled = start_call('CALL dp_tick()');
	my $waits = sub { my ($call) = @_; return until_is('a call that waits for a slot',
		sub { return sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = '$call->{name}' AND query ~ '^CALL'
			AND wait_event = 'Extension'") eq '1' }) };
	ok($waits->($_), 'where no slot is free, a call waits') for $second, $canceled;
	sql('SELECT pg_cancel_backend(' . caller_of($canceled) . ')');
	like(finish($canceled), qr/ERROR:  canceling statement due to user request/, 'which a cancel ends');
	my $told = finish($second);
	like($told, qr/ERROR:  53000: no background worker is free to read the source\nDETAIL:  All 1 of max_worker_processes were busy for 10 seconds\.\nHINT:  .*max_worker_processes/, 'and after ten seconds an error, which names the setting');
	is(scalar(() = $told =~ /no background worker/g), 1, 'once, not for every counter');
	is(steps('slot', 'slot_too', 'slot_of_other') . failed('slot') . failed('slot_of_other'), '0/0 0/0 0/0finefine',
		'nothing is half done, or noted');
	my $third = start_call('CALL dp_tick()');
	$waits->($third);
	let_go();
	unlike(join('', map { finish($_) } $first, $third), qr/ERROR|WARNING/, 'a slot that becomes free is used');
	is(steps('slot', 'slot_too', 'slot_of_other'), '3/3 3/3 3/3', 'all is released');
}

# --- shutdown smart: waits for the call, with all its workers
{
	declare('steward', 'facts_of_steward', 'smart');
	declare('other', 'facts_of_other', 'smart_too');
	hold('reading');
	my $call = start_call('CALL dp_tick()');
	is_held($call);
	$admin->quit;
	my $stop = start_program($node->basedir . '/stop', 'pg_ctl', '-D', $node->data_dir, '-m', 'smart', 'stop');
	until_is('the shutdown', sub { return slurp_file($node->logfile) =~ /received smart shutdown request/ });
	let_go();
	like(finish($call), qr/smart: 3 periods released.*smart_too: 3 periods released/s, 'a smart shutdown waits for a call, and its workers');
	ok($stop->finish, 'and ends then');
	$node->_update_pid(0);
}

# --- single-user mode
{
	my ($out, $told) = ('', '');
	my $in = "CALL dp_tick('single')\n";
	$node->start;
	connect_admin();
	declare('steward', 'facts_of_steward', 'single');
	$admin->quit;
	$node->stop;
	IPC::Run::run([ 'postgres', '--single', '-D', $node->data_dir, 'postgres' ], '<', \$in, '>', \$out, '2>', \$told);
	like($told, qr/ERROR:  sources cannot be read in single-user mode\n.*DETAIL:  They are read by a background worker\./s,
		'in single-user mode an error says why');
	$node->start;
	connect_admin();
	is(steps('single'), '0/0', 'nothing is half done');
	is(failure($node, 'CALL dp_tick()', user => 'clock') . steps('single'), '3/3', 'and the server goes on');
}

# --- PgBouncer, whose clients go while their server goes on
SKIP:
{
	my ($bouncer) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';
	skip 'no PgBouncer', 6 if !$bouncer;
	my $home = PostgreSQL::Test::Utils::tempdir_short();
	append_to_file("$home/pgbouncer.ini", sprintf <<'INI', $node->host, $node->port, $home, $node->port, $home, $home);
[databases]
postgres = host=%s port=%s user=clock
[pgbouncer]
listen_addr =
unix_socket_dir = %s
listen_port = %s
auth_type = any
pool_mode = transaction
ignore_startup_parameters = extra_float_digits
application_name_add_host = 0
logfile = %s/pgbouncer.log
pidfile = %s/pgbouncer.pid
INI
	sql('ALTER ROLE clock SET client_connection_check_interval = 100');
	my $pooler = start_program("$home/pgbouncer.out", $bouncer, '-q', "$home/pgbouncer.ini");
	my $pooled = "host=$home port=" . $node->port . ' dbname=postgres';
	until_is('PgBouncer', sub { return system('pg_isready', '-q', '-d', $pooled) == 0 });
	declare('steward', 'facts_of_steward', 'pooled');
	hold('publishing');
	my $call = start_call('CALL dp_tick()', to => $pooled);
	is_held($call);
	my $closed = stored('pooled');
	$call->{run}->signal('KILL');
	finish($call);
	ok(no_worker(), 'PgBouncer: a client that goes takes the call with it');
	let_go();
	is(steps('pooled'), '3/0', 'closed, not published');
	$call = start_call('CALL dp_tick()', to => $pooled);
	like(finish($call), qr/NOTICE:  pooled: 3 periods released/, 'another goes on');
	is(stored('pooled'), $closed, 'with what was closed');
	$pooler->signal('TERM');
	eval { $pooler->finish };
}

$admin->quit;
is(segments(), $least, 'no shared memory is left over');
$node->stop;
unlike(slurp_file($node->logfile), qr/TRAP:|terminated by signal (?!9)/, 'nothing has crashed that was not killed');
done_testing();
