# Rows on other servers, by postgres_fdw: they count where the rows are, the coordinator adds the noise once. What
# draws noise is never shipped, even if a server is told that it has the extension; a server that is down, slow
# or dies is a clear error, and no release.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Utils;
use Test::More;

my $coordinator = new_node('coordinator');
sub sql { return $coordinator->safe_psql('postgres', $_[0]); }

my %shard = map { $_ => new_node($_, conf => "log_statement = all\n") } qw(north south);
my $every = 3;    # every third visit has the flu
sql('CREATE EXTENSION postgres_fdw; CREATE TABLE visits (ward text, id integer, at timestamp, flu boolean) PARTITION BY LIST (ward)');
for my $ward (sort keys %shard)
{
	my $node = $shard{$ward};
	$node->safe_psql('postgres', qq{
		CREATE TABLE visits AS SELECT '$ward'::text AS ward, id, timestamp '2026-01-01' + id * interval '1 hour' AS at, id % $every = 0 AS flu
		FROM generate_series(0, 24 * 30 - 1) AS id;
	});
	$node->safe_psql('postgres', 'CREATE STATISTICS days ON (at::date) FROM visits; ANALYZE visits');
	my ($host, $port) = ($node->host, $node->port);
	sql(qq{
		CREATE SERVER $ward FOREIGN DATA WRAPPER postgres_fdw
		OPTIONS (host '$host', port '$port', dbname 'postgres', extensions 'dp_counter', use_remote_estimate 'true', async_capable 'true');
		CREATE USER MAPPING FOR CURRENT_USER SERVER $ward;
		CREATE FOREIGN TABLE visits_$ward PARTITION OF visits FOR VALUES IN ('$ward') SERVER $ward OPTIONS (table_name 'visits')});
}
sql('ALTER DATABASE postgres SET enable_partitionwise_aggregate = on');
$coordinator->end_session;

# --- what is shipped, and what comes of it
sub shipped { return join "\n", sql(($_[1] // '') . "EXPLAIN (VERBOSE, COSTS OFF) $_[0]") =~ /Remote SQL: (.*)/g; }

# Exact numbers by ward and day are the servers' work: the partition's key is among the group's.
my $by_ward = 'SELECT ward, at::date AS day, count(*) FILTER (WHERE flu) AS n FROM visits GROUP BY ward, at::date';
# Without it, each server's numbers are asked for one by one.
my $one_by_one = join ' UNION ALL ', map { "SELECT at::date AS day, count(*) FILTER (WHERE flu) AS n FROM visits_$_
	GROUP BY at::date" } sort keys %shard;
my $pushed = qr/^(SELECT.*count\(\*\) FILTER \(WHERE flu\).* FROM public\.visits.*GROUP BY.*\n?){2}$/;

for my $exact ($by_ward, $one_by_one)
{
	my $running = "SELECT day, dp_running_sum(sum(n)::bigint, 1e9, 1) OVER (ORDER BY day) AS n FROM ($exact) AS exact GROUP BY day";
	like(shipped($running), $pushed, 'a running sum: the servers count by day');
	is(sql("SELECT count(*), max(n), sum(n) FROM ($running) AS r"), '30|480|7440', 'and it is right');
}
my $by_ward_and_day = "SELECT ward, day, dp_running_sum(n, 1e9, 1) OVER (PARTITION BY ward ORDER BY day) AS n FROM ($by_ward) AS exact";
like(shipped($by_ward_and_day), $pushed, 'the same by ward');
is(sql("SELECT ward, max(n) FROM ($by_ward_and_day) AS r GROUP BY ward ORDER BY ward"), "north|240\nsouth|240", 'and it is right');

my $numbers = "SELECT ward, day, dp_laplace(n, 1e9, 1) AS n FROM ($by_ward) AS exact";
like(shipped($numbers), $pushed, 'dp_laplace: the servers count');
is(sql("SELECT count(*), sum(n) FROM ($numbers) AS r"), '60|480', 'and it is right');

my %by_row = (
	'dp_count'                           => 'SELECT dp_count(flu, 1e9) FROM visits',
	'dp_running_count, an aggregate'     => 'SELECT dp_running_count(flu, 1e9, 3, 1440) FROM visits',
	'dp_running_count, a window'         => 'SELECT max(n) FROM (SELECT dp_running_count(flu, 1e9) OVER (ORDER BY at, ward) AS n
		FROM visits) AS r',
	'dp_count by ward'                   => 'SELECT sum(n) FROM (SELECT dp_count(flu, 1e9) AS n FROM visits GROUP BY ward) AS r',
	'dp_laplace beside the count'        => 'SELECT sum(n) FROM (SELECT dp_laplace(count(*) FILTER (WHERE flu), 1e9, 1) AS n
		FROM visits GROUP BY ward) AS r',
	'dp_laplace of a column'             => 'SELECT sum(dp_laplace(flu::integer, 1e9, 1)) FROM visits',
	'dp_laplace in WHERE'                => 'SELECT count(*) FROM visits WHERE dp_laplace(flu::integer, 1e9, 1) = 1',
	'dp_laplace in WHERE, of one server' => 'SELECT 2 * count(*) FROM visits_north WHERE dp_laplace(flu::integer, 1e9, 1) = 1',
	'dp_count of one server'             => 'SELECT 2 * dp_count(flu, 1e9) FROM visits_north',
	'dp_count by ORDER BY'               => 'SELECT 2 * n FROM (SELECT dp_count(flu, 1e9) AS n FROM visits_south ORDER BY 1 LIMIT 1) AS r',
);
for my $name (sort keys %by_row)
{
	like(shipped($by_row{$name}), qr/^SELECT/, "$name: rows are fetched");
	unlike(shipped($by_row{$name}), qr/dp_/, '... and counted here');
	is(sql($by_row{$name}), 480, '... right');
}
is(sql(q{
	PREPARE by_day (float8) AS SELECT sum(dp_laplace(n, $1, 1)) FROM (SELECT count(*) FILTER (WHERE flu) AS n FROM visits
		GROUP BY ward) AS exact;
	SET plan_cache_mode = force_generic_plan;
	EXECUTE by_day (1e9)}), 480, 'a generic plan');
sql('CREATE TABLE bits AS SELECT id, ward, flu FROM visits; UPDATE visits SET flu = dp_laplace(flu::integer, 1e9, 1) = 1');
is(sql('SELECT count(*) FILTER (WHERE flu), count(*) FROM (TABLE bits INTERSECT ALL SELECT id, ward, flu FROM visits) AS same'),
	'480|1440', 'an update draws here, too');

for my $ward (sort keys %shard)
{
	my @statements = grep { /dp_/ && !/CREATE EXTENSION/ } split /\n/, slurp_file($shard{$ward}->logfile);
	is("@statements", '', "$ward was asked for no noise");
}

# It is not that the servers' extension were unknown: without its mark the same call is shipped.
my $by_server = 'SELECT sum(dp_laplace(flu::integer, 1e9, 1)) FROM visits_north';
unlike(shipped($by_server), qr/dp_/, 'dp_laplace is not shipped');
like(shipped($by_server, q{UPDATE pg_proc SET provolatile = 'i' WHERE proname = 'dp_laplace' AND pronargs = 3; })
	. sql('SELECT dp_repair()'), qr/dp_laplace.*1$/s,
	'... because it is VOLATILE: marked IMMUTABLE it would be');

# A view over there that draws is a query there: each scan of the foreign table is a release, one of what was stored is none.
$shard{north}->safe_psql('postgres', 'CREATE VIEW noisy AS SELECT dp_laplace(5, 1e-9, 1) AS n; CREATE TABLE stored AS TABLE noisy');
sql("CREATE FOREIGN TABLE $_ (n bigint) SERVER north") for qw(noisy stored);
is(sql("SELECT count(DISTINCT r.n) FROM generate_series(1, 3) AS g, LATERAL (SELECT n FROM $_->[0] WHERE n <> g OFFSET 0) AS r"),
	$_->[1], "a foreign table over $_->[2]")
	for ['noisy', 3, 'a view that draws: three scans, three releases'], ['stored', 1, 'what it gave: one'];

# There is no snapshot of all servers: each is read as it was when the transaction first asked it. A row that moves is counted on both.
my ($north, $south) = map { "psql -Xq -d '" . $shard{$_}->connstr('postgres') . "' -c" } qw(north south);
my $total = 'SELECT dp_laplace(n, 1e9, 1) FROM (SELECT count(*) AS n FROM visits) AS exact';
is(sql(qq{
	BEGIN;
	SELECT FROM visits_north WHERE id = 5;
	\\! $north 'DELETE FROM visits WHERE id = 5'
	\\! $south "INSERT INTO visits SELECT 'south', 1005, at, flu FROM visits WHERE id = 5"
	$total;
	COMMIT}), 1441, 'a row that moves to another server meanwhile is counted twice');
is(sql($total), 1440, '... and once, when it has moved');
$shard{north}->safe_psql('postgres', q{INSERT INTO visits SELECT 'north', 5, timestamp '2026-01-01 05:00', false});
$shard{south}->safe_psql('postgres', 'DELETE FROM visits WHERE id = 1005');

# Which expression of the period is shipped: one that depends on no collation and no setting.
sub days { return shipped("SELECT $_[0] AS day, count(*) FROM visits_north GROUP BY 1") }
like(days('at::date'), qr/count\(\*\).*GROUP BY/, 'at::date is shipped');
unlike(days(q{date_trunc('day', at)}), qr/GROUP BY/, q{date_trunc('day', at) is not: its text has a collation});
like(days(q{date_trunc('day' COLLATE "C", at)}), qr/^SELECT at FROM/, '... not even with one that is the same everywhere');
unlike(days(q{(at AT TIME ZONE 'UTC')::date}), qr/GROUP BY/, 'nor what depends on the time zone');
unlike(shipped('SELECT at::date AS day, count(*) FROM visits GROUP BY 1'), qr/GROUP BY/,
	'nor a count over several servers without their key');

# --- live counters: a row's trigger records what is written through the coordinator, a statement's NEW TABLE PostgreSQL refuses
sql(q{SELECT dp_event_counter_create('arrivals', 1e9, 10);
	CREATE TRIGGER arrivals AFTER INSERT ON visits FOR EACH ROW EXECUTE FUNCTION dp_counter_record('arrivals')});
sql(q{INSERT INTO visits SELECT ward, 1000, '2026-01-01', false FROM (VALUES ('north'), ('south'), ('south')) AS v (ward)});
like(failure($coordinator, q{BEGIN; INSERT INTO visits VALUES ('south', 1000, '2026-01-01', false); SELECT 1 / 0}),
	qr/division by zero/, 'a transaction that fails');
sql(q{DELETE FROM visits WHERE id = 1000});
sql(q{CALL dp_tick('arrivals')});
is(sql('SELECT step, count FROM arrivals'), '1|3', 'a row trigger records rows of foreign partitions, and of committed transactions alone');
like(failure($coordinator, q{CREATE TRIGGER arrivals_all AFTER INSERT
	ON visits_north REFERENCING NEW TABLE AS new FOR EACH STATEMENT EXECUTE FUNCTION dp_counter_record('arrivals')}),
	qr/Triggers on foreign tables cannot have transition tables/, 'none for a whole statement');
sql('DROP TRIGGER arrivals ON visits');

# --- servers that fail
my $release = "CREATE TABLE released AS SELECT day, dp_running_sum(sum(n)::bigint, 0.1, 1) OVER (ORDER BY day) AS n
	FROM ($by_ward) AS exact GROUP BY day";

# A statement by a session in the background, which may wait for a server.
sub start
{
	my ($statement, @settings) = @_;
	my $out     = $coordinator->basedir . '/release';
	my $session = start_program($out, 'psql', '-X', '-v', 'VERBOSITY=verbose', '-d', $coordinator->connstr('postgres'),
		map { ('-c', $_) } @settings, $statement);
	return sub { $session->finish; return slurp_file("$out.errors") };
}
# Neither a query nor a tick releases anything while a server fails.
sub fails
{
	my ($error, $message, $why) = @_;
	like($error, $message, $why);
	is(sql(q{SELECT to_regclass('released') IS NULL AND NOT EXISTS (TABLE flu_by_day)}), 't', '... and nothing is released');
}

# A counter with a source over the same rows: each is the visit of another person.
sql(q{
	CREATE VIEW visits_dp AS SELECT 2 * id + (ward = 'south')::integer AS person, at, ward, flu FROM visits;
	SELECT dp_budget_create('wards', 2e9)});
like(failure($coordinator, q{SELECT dp_source_create('visits_dp', 'wards', 'person', 'at')}), qr/HINT: .*person_wise/,
	'a source over foreign tables wants its owner\'s word');
sql(q{
	SELECT dp_source_create('visits_dp', 'wards', 'person', 'at', 'UTC', person_wise => true);
	SELECT dp_counter_create('flu_by_day', epsilon => 1e9, horizon => 30, source => 'visits_dp', event => 'flu', every => '1 day',
		since => '2026-01-01', by => 'ward', groups => '{north,south}', per_person => 1)});
my %statement = (query => $release, tick => q{CALL dp_tick('flu_by_day')});

$shard{south}->stop;
fails(start($statement{$_})->(), qr/ERROR:  08001: could not connect to server "south"/,
	"a server is down, $_: an error that names it") for qw(query tick);
$shard{south}->start;
is(sql("SELECT sum(n) FROM ($numbers) AS r"), 480, 'it is back: all goes on');

# To plan is quick, to read waits for a lock.
my $lock = 'SELECT pg_advisory_lock(1), pg_sleep(600)';
$shard{south}->safe_psql('postgres',
	'ALTER TABLE visits RENAME TO stays; CREATE VIEW visits AS SELECT * FROM stays
		WHERE (SELECT pg_advisory_xact_lock_shared(1)) IS NOT NULL');
is(sql("SELECT sum(n) FROM ($numbers) AS r"), 480, 'a server may have a view instead of a table');
for my $what (qw(query tick))
{
	my $wait = sub
	{
		my $error = start($statement{$what});
		ok($shard{south}->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity
			WHERE wait_event_type = 'Lock'}), "a $what waits for a server");
		return $error;
	};
	start_program($shard{south}->basedir . '/lock', 'psql', '-X', '-d', $shard{south}->connstr('postgres'), '-c', $lock);
	$shard{south}->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'});
	fails(start($statement{$what}, q{SET statement_timeout = '200ms'})->(),
		qr/ERROR:  57014: canceling statement due to statement timeout/, 'a server is slow: statement_timeout ends it');
	if ($what eq 'tick')
	{
		$shard{south}->safe_psql('postgres', q{ALTER DATABASE postgres SET statement_timeout = '200ms'});
		like(failure($coordinator, 'CALL dp_tick()'),
			qr/WARNING:  flu_by_day: canceling statement due to statement timeout.*ERROR:  1 of \d+ counters? failed: flu_by_day/s,
				'its own timeout is the failure of this counter alone');
		$shard{south}->safe_psql('postgres', 'ALTER DATABASE postgres RESET statement_timeout');
	}
	my $error = $wait->();
	$coordinator->poll_query_until('postgres', q{SELECT count(pg_cancel_backend(pid)) = 1 FROM pg_stat_activity
		WHERE query ~ '^(CREATE TABLE released|CALL)'});
	fails($error->(), qr/ERROR:  57014: canceling statement due to user request/, '... a cancel, too');
	$error = $wait->();
	$shard{south}->stop('immediate');
	fails($error->(), qr/ERROR:  (57P0\d|08006|XX000|HV000): .*(terminating connection|server closed the connection).*CONTEXT:  remote SQL command/s, 'it dies: an error that names the query');
	$shard{south}->start;
}
is(sql("$release; SELECT count(*) FROM released"), 30, 'it is back: a query releases');
is(failure($coordinator, $statement{tick}), '', 'and a tick');
is(sql('SELECT ward, count(*), max(step), max(count) FROM flu_by_day GROUP BY ward ORDER BY ward'),
	"north|30|30|240\nsouth|30|30|240", 'all that is due, each once, and every person is counted');
is(failure($coordinator, $statement{tick}), '', 'another tick finds nothing due');
is(sql('SELECT count(*) FROM flu_by_day'), 60, '... and releases nothing');
is(sql(q{SELECT spent FROM dp_budgets}), '1000000000', 'the budget was charged once');
like(slurp_file($shard{south}->logfile), qr/SELECT [^;]* WHERE [^;\n]*at >= '2026-01-01[^;\n]*at < '2026-01-31/,
	'a tick asks for the rows of its periods alone');
for my $ward (sort keys %shard)
{
	my @statements = grep { /dp_/ && !/CREATE EXTENSION|dp_laplace/ } split /\n/, slurp_file($shard{$ward}->logfile);
	is("@statements", '', "$ward was asked for no noise");
}

# --- loaded by the postmaster, for a cheaper first call
$coordinator->append_conf('postgresql.conf', "shared_preload_libraries = 'dp_counter'");
$coordinator->restart;
isnt(sql('SELECT dp_laplace(0, 1e-9, 1)'), sql('SELECT dp_laplace(0, 1e-9, 1)'), 'each backend has random bits of its own');
is(sql("SELECT sum(n) FROM ($numbers) AS r"), 480, 'and counts');
done_testing();
