# What modules that look into the executor find of a tick: that queries ran, not how many rows they read. Each is tried
# where it is installed (Debian's postgresql-15-pg-qualstats, -pgaudit, -pg-stat-kcache, -plprofiler, -timescaledb).
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

chomp(my $library = `pg_config --pkglibdir`);
my $rows = 1379;
my $read = 0;

# A server with a source of so many rows, of a day each of which the clock may tick. Its view calls a function for each row.
sub server
{
	my ($name, $conf) = @_;
	my $node = new_node($name, conf => "autovacuum = off\n$conf");
	$node->safe_psql('postgres', qq{
		CREATE ROLE clock LOGIN;
		CREATE TABLE visits AS SELECT n AS person, timestamp '2024-01-01 12:00' AS at, 'flu' AS note FROM generate_series(1, $rows) AS n;
		CREATE FUNCTION is_flu(note text) RETURNS boolean
			LANGUAGE plpgsql STABLE AS \$\$ BEGIN RETURN (SELECT count(*) > 0 FROM visits WHERE person <= 3 AND visits.note = is_flu.note); END \$\$;
		ALTER FUNCTION is_flu SET search_path = public;
		CREATE VIEW visits_dp AS SELECT person, at, is_flu(note) AS flu FROM visits WHERE note = 'flu';
		SELECT dp_budget_create('b', 1e12);
		SELECT dp_source_create('visits_dp', 'b', 'person', 'at', 'UTC', person_wise => true);
		SELECT dp_counter_create('c', epsilon => 1e9, horizon => 1, source => 'visits_dp', event => 'flu', every => '1 day',
			since => '2024-01-01', per_person => 1);
		GRANT UPDATE ON c TO clock; ANALYZE visits;});
	return $node;
}
sub tick
{
	my ($node, @settings) = @_;
	$read = length slurp_file($node->logfile);
	$node->safe_psql('postgres', join('; ', @settings, "CALL dp_tick('c')"), extra_params => [ '-U', 'clock' ]);
	my $log = slurp_file($node->logfile, $read);
	is($node->safe_psql('postgres', 'SELECT count FROM c'), $rows, 'a clock ticks');
	return $log;
}
sub try
{
	my ($module, $conf, $test) = @_;
  SKIP:
	{
		skip "$module is not installed", 1 unless -e "$library/$module.so";
		my $node = server($module, $conf);
		$node->safe_psql('postgres', "CREATE EXTENSION $module CASCADE");
		$test->($node);
		$node->stop;
	}
	return;
}

try('pg_qualstats', "shared_preload_libraries = 'pg_qualstats'\npg_qualstats.sample_rate = 1\n", sub {
	my ($node) = @_;
	my $counts = q{SELECT count(*) FROM pg_qualstats WHERE execution_count > 2 OR nbfiltered > 2};
	$node->safe_psql('postgres', 'SELECT pg_qualstats_reset()');
	tick($node, 'SET pg_qualstats.sample_rate = 1');
	is($node->safe_psql('postgres', $counts), 0, 'pg_qualstats has counted no row');
	$node->safe_psql('postgres', 'SELECT count(*) FILTER (WHERE flu) FROM visits_dp');
	isnt($node->safe_psql('postgres', $counts), 0, 'which it does for a query of the view');
});

try('pgaudit', "shared_preload_libraries = 'pgaudit'\npgaudit.log = 'all'\npgaudit.log_rows = on\n", sub {
	my ($node) = @_;
	my $log = tick($node);
	like($log, qr/AUDIT: SESSION,\d+,\d+,READ,SELECT,.* FROM public\.visits_dp /, 'pgaudit logs what a tick reads');
	unlike($log, qr/AUDIT: .*,(?:3|$rows)$/m, 'without the number of rows');
	is(scalar(() = $log =~ /AUDIT: .* FROM visits WHERE person <= 3/g), 0, 'nor what a function of the view reads, once for each row');
	$read = length slurp_file($node->logfile);
	$node->safe_psql('postgres', 'SELECT * FROM visits_dp');
	$log = slurp_file($node->logfile, $read);
	like($log, qr/AUDIT: .*,$rows$/m, 'which it does for a query of the view');
	is(scalar(() = $log =~ /AUDIT: .* FROM visits WHERE person <= 3/g), $rows, 'and for what its function reads');
});

# It is off in a worker; a function that turns it on for itself stands for a module that is not known.
{
	my $node = server('auto_explain',
		"shared_preload_libraries = 'auto_explain'\nauto_explain.log_min_duration = 1h\nauto_explain.log_nested_statements = on\n");
	$node->safe_psql('postgres', 'ALTER FUNCTION is_flu SET auto_explain.log_min_duration = 0');
	my $plans = qr/duration: .* plan:\s+Query Text: \(?SELECT count/;
	is(scalar(() = tick($node) =~ /$plans/g), 0, 'a module is not told of the queries of functions, of which there are as many as rows');
	$read = length slurp_file($node->logfile);
	$node->safe_psql('postgres', 'SELECT * FROM visits_dp');
	is(scalar(() = slurp_file($node->logfile, $read) =~ /$plans/g), $rows, 'which it is where the view is queried');
	$node->stop;
}

try('pg_stat_kcache', "shared_preload_libraries = 'pg_stat_statements, pg_stat_kcache'\npg_stat_statements.track = all\npg_stat_kcache.track = all\n", sub {
	my ($node) = @_;
	my $counts = q{SELECT count(*) FROM pg_stat_statements(false) JOIN pg_stat_kcache() USING (queryid, userid, dbid) WHERE calls > 1000};
	$node->safe_psql('postgres', 'SELECT pg_stat_statements_reset(), pg_stat_kcache_reset()');
	tick($node);
	is($node->safe_psql('postgres', $counts), 0, 'pg_stat_kcache knows no statement of the view');
	$node->safe_psql('postgres', 'SELECT * FROM visits_dp');
	is($node->safe_psql('postgres', $counts), 1, 'as it does where the view is queried');
});

try('plprofiler', "shared_preload_libraries = 'plprofiler'\n", sub {
	my ($node) = @_;
	my $counts = q{SELECT count(*) FROM pl_profiler_linestats_shared() WHERE exec_count >= 1000};
	$node->safe_psql('postgres', 'SELECT pl_profiler_set_enabled_global(true), pl_profiler_set_collect_interval(0)');
	tick($node);
	is($node->safe_psql('postgres', $counts), 0, 'plprofiler counts no call of a function of the view');
	$node->safe_psql('postgres', 'SELECT pl_profiler_set_enabled_local(false); SELECT * FROM visits_dp; SELECT pl_profiler_collect_data()');
	isnt($node->safe_psql('postgres', $counts), 0, 'which it does where the view is queried');
});

SKIP:
{
	skip 'timescaledb is not installed', 1 unless -e "$library/timescaledb.so";
	my $node = server('timescaledb', "shared_preload_libraries = 'timescaledb'\n");
	$node->safe_psql('postgres', q{
		CREATE EXTENSION timescaledb;
		CREATE TABLE measured (person integer, at timestamp NOT NULL, note text);
		SELECT create_hypertable('measured', 'at');
		INSERT INTO measured SELECT person, at + person * interval '1 day', note FROM visits;
		INSERT INTO measured TABLE visits;
		CREATE VIEW measured_dp AS SELECT person, at, note = 'flu' AS flu FROM measured;
		SELECT dp_source_create('measured_dp', 'b', 'person', 'at', 'UTC');
		SELECT dp_counter_create('m', epsilon => 1e9, horizon => 1, source => 'measured_dp', event => 'flu', every => '1 day',
			since => '2024-01-01', per_person => 1);
		CALL dp_tick('m')});
	is($node->safe_psql('postgres', 'SELECT count FROM m'), $rows, 'a hypertable is read');
	$node->stop;
}
done_testing();
