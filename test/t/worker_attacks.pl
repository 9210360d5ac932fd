# What an attack on workers found: sessions that do not end.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('attacks', conf => "autovacuum = off\nmax_connections = 60\n");
sub sql { return $node->safe_psql('postgres', $_[0], extra_params => [ '-U', $_[1] // 'postgres' ]) }

sql(q{
	CREATE ROLE steward LOGIN; CREATE ROLE clock LOGIN; CREATE ROLE writer LOGIN;
	CREATE SCHEMA hospital AUTHORIZATION steward; GRANT USAGE ON SCHEMA hospital TO PUBLIC;
});
sql(unguarded_functions());
sql(q{
	SELECT dp_budget_create('hospital.b', 1e12);
	CREATE TABLE hospital.visits AS SELECT 1 AS person, timestamp '2025-01-01 12:00' AS at;
	GRANT UPDATE ON hospital.visits TO writer;
}, 'steward');

# A counter whose events are the rows for which this is true.
my $counters = 0;
sub counter
{
	my ($event) = @_;
	my $name = 'c' . ++$counters;
	sql(qq{
		CREATE VIEW hospital.${name}_dp AS SELECT person, at, $event AS event FROM hospital.visits;
		SELECT dp_source_create('hospital.${name}_dp', 'hospital.b', 'person', 'at', 'UTC', person_wise => true);
		SELECT dp_counter_create('hospital.$name', epsilon => 1e9, horizon => 1, source => 'hospital.${name}_dp', event => 'event',
			every => '1 day', since => '2025-01-01', per_person => 1);
		GRANT UPDATE ON hospital.$name TO clock}, 'steward');
	return "hospital.$name";
}
sub tick { return failure($node, "CALL dp_tick('$_[0]')", user => $_[1] // 'steward') }

# --- functions with options, which PostgreSQL looks up in another way
sql(q{CREATE FUNCTION hospital.own() RETURNS boolean LANGUAGE plpgsql STABLE SECURITY DEFINER
	SET work_mem = '1MB' AS 'BEGIN RETURN true; END'}, 'steward');
is(tick(counter('hospital.own()')), '', 'an owner\'s function may be SECURITY DEFINER and have settings');

# --- many who wait for one lock: 2^n ways from the last one to the first
my $counter = counter('true');
my @lockers = map { start_program("$PostgreSQL::Test::Utils::tmp_check/locker$_", 'psql', '-X', '-d', $node->connstr('postgres'),
	'-U', 'writer', '-c', 'BEGIN; LOCK TABLE hospital.visits IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(600)') } 1 .. 24;
$node->poll_query_until('postgres', q{SELECT count(*) = 24 FROM pg_locks WHERE relation = 'hospital.visits'::regclass
	AND mode = 'AccessExclusiveLock'}) or die 'no locks';
my $tick = start_program("$PostgreSQL::Test::Utils::tmp_check/tick", 'psql', '-X', '-d', $node->connstr('postgres'), '-U', 'clock',
	'-c', q{SET statement_timeout = '4s'}, '-c', "CALL dp_tick('$counter')");
$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'dp_counter worker'})
	or die 'no worker';
sql('SELECT pg_sleep(10)');
is(sql(q{SELECT count(*) FROM pg_stat_activity WHERE usename = 'clock'}), 0,
	'a caller whose worker waits behind 24 sessions ends at its timeout');
die 'it does not end' if sql(q{SELECT count(*) FROM pg_stat_activity WHERE usename = 'clock'}) > 0;
sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'writer'});
$_->finish for $tick, @lockers;

# --- a caller that does not read, so that the worker's messages fill the queue
sql(q{CREATE TABLE hospital.most AS SELECT 1000000 AS n;
	CREATE FUNCTION hospital.talk() RETURNS boolean LANGUAGE plpgsql STABLE AS $$ BEGIN
		PERFORM public.put('application_name', 'ready', false), public.wait(5);
		FOR i IN 1 .. (SELECT n FROM hospital.most) LOOP RAISE NOTICE 'x'; PERFORM public.put('application_name', 'told ' || i, false); END LOOP;
		PERFORM public.wait(600); RETURN true; END $$}, 'steward');
$counter = counter('hospital.talk()');
my $worker = q{FROM pg_stat_activity WHERE backend_type = 'dp_counter worker'};
sub wait_until { $node->poll_query_until('postgres', "SELECT count(*) = 1 $worker AND $_[0]") or die "not: $_[0]"; return }
sub fill_queue # until this holds; then the caller is terminated. How many messages the worker has sent.
{
	my ($condition) = @_;
	my $deaf = start_program("$PostgreSQL::Test::Utils::tmp_check/deaf", 'psql', '-X', '-d', $node->connstr('postgres'), '-U',
		'steward', '-c', "CALL dp_tick('$counter')");
	wait_until(q{application_name = 'ready'});
	my $caller = sql(q{SELECT pid FROM pg_stat_activity WHERE usename = 'steward'});
	kill 'STOP', $caller;
	wait_until($condition);
	my $count = sql("SELECT substr(application_name, 6)::integer $worker");
	kill 'TERM', $caller;
	kill 'CONT', $caller;
	sql('SELECT pg_sleep(3)');
	is(sql(q{SELECT count(*) FROM pg_stat_activity WHERE usename = 'steward' OR backend_type = 'dp_counter worker'}), 0,
		'and both end with the caller');
	sql("SELECT pg_terminate_backend(pid) $worker"); # where they have not
	$deaf->finish;
	return $count;
}
my $full = fill_queue(q{wait_event = 'MessageQueuePutMessage'});
cmp_ok($full, '>', 100, 'a worker waits for room in the queue');
sql("UPDATE hospital.most SET n = $full");
is(fill_queue("wait_event = 'PgSleep' AND application_name LIKE 'told %'"), $full, 'a worker has not room for its last words');
$node->stop;
done_testing();
