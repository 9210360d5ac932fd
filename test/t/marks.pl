# The aggregates' mark in the catalog: pg_upgrade makes them IMMUTABLE, so that they refuse until the extension's owner has repaired
# them; counters and stored releases live on. A restored dump has the marks, and refreshes its materialized views.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $aggregates = 'SELECT dp_count(flu, 1e9), dp_running_count(flu, 1e9, 3, 100) FROM visits';
my $marks      = q{SELECT string_agg(DISTINCT provolatile::text, '') FROM pg_proc
	WHERE proname ~ '^dp_(running_count|running_sum|count|laplace)(_transition|_final)?$'};

# OLD_POSTGRES: the folder of another major, /usr/lib/postgresql/15, whose database is then upgraded (test/upgrade/majors).
my $old = new_node('old', elsewhere => 1, install_path => $ENV{OLD_POSTGRES});
sub sql { return $old->safe_psql('postgres', $_[0]); }

sql(q{
	CREATE TABLE visits AS SELECT t, t % 3 = 0 AS flu FROM generate_series(1, 30) t;
	CREATE MATERIALIZED VIEW held AS SELECT dp_count(flu, 1e-9) AS n FROM visits;
	CREATE TABLE stored AS SELECT t, dp_running_count(flu, 1e-9) OVER (ORDER BY t) AS n FROM visits;
	CREATE ROLE reader LOGIN;
	GRANT SELECT ON visits TO reader;
	SELECT dp_event_counter_create('er_flu', 1e9, 1000);
	SELECT dp_event_counter_create('for_ever', 1e9);
	SELECT dp_counter_record('er_flu', 5)});
sql(q{CALL dp_tick('er_flu')});
sql(q{SELECT dp_budget_create('patients_epsilon', 3.0)});
sql(q{CALL dp_budget_spend('patients_epsilon', 0.1, 'a table')});
# One of three days is closed, with one event a person: by the grace, as if it were noon of the day after it.
my $is_noon_of = q{UPDATE dp_counter_private.source_counters SET grace = now() AT TIME ZONE
	(SELECT time_zone FROM dp_sources WHERE source = 'arrivals_dp'::regclass) - timestamp '%s 12:00'
	WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter = 'arrivals_by_day'::regclass)};
sql($_) for split /;\n/, q{CREATE TABLE arrivals AS SELECT * FROM (VALUES ('a', date '2024-01-01'), ('b', date '2024-01-01'),
	('a', date '2024-01-02'), ('c', date '2024-01-02')) v (person, day);
CREATE VIEW arrivals_dp AS SELECT person, day FROM arrivals;
SELECT dp_budget_create('arrivals_epsilon', 3e9);
SELECT dp_source_create('arrivals_dp', budget => 'arrivals_epsilon', person => 'person', at => 'day');
SELECT dp_counter_create('arrivals_by_day', epsilon => 1e9, horizon => 10, source => 'arrivals_dp', every => '1 day',
	since => '2024-01-01', per_person => 1);
} . sprintf($is_noon_of, '2024-01-02') . q{;
CALL dp_tick('arrivals_by_day');
SELECT dp_budget_create('renewing', 3, per => '365 days');
CREATE VIEW renewing_dp AS SELECT person, day FROM arrivals;
SELECT dp_source_create('renewing_dp', budget => 'renewing', person => 'person', at => 'day')};
my $windows_of = q{SELECT string_agg(dp_own_window('renewing', 'person ' || n, date '2024-06-01')::text, ' ' ORDER BY n)
	FROM generate_series(1, 50) AS n};
my $windows = sql($windows_of);
# A share of it, from which an analyst declares.
my $declare = q{SET ROLE ana; SELECT dp_counter_create('%s', epsilon => %s, source => 'renewing_dp', budget => 'share',
	every => '1 day', since => current_date - 3, by => 'person', groups => '{a,b}', per_person => 1)};
sql(q{CREATE ROLE ana; GRANT CREATE ON SCHEMA public TO ana;
SELECT dp_budget_create('share', 1, within => 'renewing', since => '2020-01-01');
	GRANT INSERT ON share TO ana; GRANT REFERENCES (person) ON renewing_dp TO ana});
sql(sprintf $declare, 'asked', 0.6);
sql(q{SELECT dp_counter_record('er_flu', 7); SELECT dp_counter_record('for_ever', 2)}); # of the open step
is(sql($marks), 'v', 'a fresh install marks all of them volatile');
my $held   = sql('TABLE held');
my $stored = sql('SELECT * FROM stored ORDER BY t');

# --- dump and restore
my $dump = $old->basedir . '/dump.sql';
command_ok([ 'pg_dump', '-d', $old->connstr('postgres'), '-f', $dump ], 'pg_dump');
sql('CREATE DATABASE restored TEMPLATE template0');
SKIP: {
	skip 'a newer pg_dump, whose scripts are for newer servers', 5 if $ENV{OLD_POSTGRES};
	command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $old->connstr('restored'), '-f', $dump ], 'restore');
	is($old->safe_psql('restored', $marks),                          'v',     'a restored dump has the marks');
	is($old->safe_psql('restored', $aggregates),                     '10|10', 'and counts');
	is($old->safe_psql('restored', 'SELECT * FROM stored ORDER BY t'), $stored, 'a table keeps its release');
	isnt($old->safe_psql('restored', 'TABLE held'), $held, 'a materialized view is refreshed: a new release');
}
sql('DROP DATABASE restored');

# --- pg_upgrade, to the same major or from an older one
command_ok([ 'pg_dump', '--binary-upgrade', '-s', '-d', $old->connstr('postgres'), '-f', $dump ], 'pg_dump --binary-upgrade');
like(slurp_file($dump), qr/CREATE AGGREGATE public\.dp_count\(/, 'makes the aggregates itself, without the install script');
$old->stop;
my $new = PostgreSQL::Test::Cluster->new('new');
$new->init;
chomp(my $bin = `pg_config --bindir`); # of the servers: test/tap.sh puts it first
command_ok([
		'pg_upgrade', '-d', $old->data_dir, '-D', $new->data_dir, '-b', $ENV{OLD_POSTGRES} ? "$ENV{OLD_POSTGRES}/bin" : $bin, '-B', $bin,
		'-s', $new->host, '-p', $old->port, '-P', $new->port
	], 'pg_upgrade');
$new->start;

like(failure($new, "$aggregates"), qr/dp_count is not marked VOLATILE in the catalog.*HINT: .*dp_repair/s,
	'after it the aggregates refuse');
for my $query ($aggregates, "$aggregates WHERE false", 'SELECT dp_count(flu, 1e9) OVER () FROM visits',
	'SELECT dp_running_count(flu, 1e9, 3, 100) OVER (ORDER BY t) FROM visits', 'REFRESH MATERIALIZED VIEW held')
{
	like(failure($new, "\\set VERBOSITY sqlstate\n$query"), qr/55000/, "refused: $query");
}
is($new->safe_psql('postgres', 'SELECT max(n) FROM (SELECT dp_running_count(flu, 1e9) OVER (ORDER BY t) AS n FROM visits) s'), 10,
	'the window function keeps its mark');
is($new->safe_psql('postgres', q{SELECT cardinality(extconfig) FROM pg_extension WHERE extname = 'dp_counter'}), 16,
	'pg_dump still takes the tables');
is($new->safe_psql('postgres', 'TABLE held'),                        $held,   'a materialized view keeps its release');
is($new->safe_psql('postgres', 'SELECT * FROM stored ORDER BY t'), $stored, 'so does a table');
like(failure($new, q{CALL dp_tick('er_flu')}), qr/counter "er_flu" is in a copy of its database/, 'a counter waits for its owner');
resume_all($new);
$new->safe_psql('postgres', qq{CALL dp_tick('$_')}) for qw(er_flu for_ever);
is($new->safe_psql('postgres', 'SELECT step, count FROM er_flu ORDER BY 1'), "1|5\n2|12",
	'a counter goes on, with the events of the open step');
is($new->safe_psql('postgres', 'SELECT step, count FROM for_ever'),          '1|2',       'and that without a horizon');
$new->safe_psql('postgres', $_)
	for q{INSERT INTO arrivals VALUES ('d', date '2024-01-03')}, sprintf($is_noon_of, '2024-01-04'), q{CALL dp_tick('arrivals_by_day')};
is($new->safe_psql('postgres', 'SELECT step, count FROM arrivals_by_day ORDER BY 1'), "1|2\n2|3\n3|4",
	'one with a source, which knows who was counted');
$new->safe_psql('postgres', q{CALL dp_budget_spend('patients_epsilon', 0.2, 'a map')});
is($new->safe_psql('postgres', 'SELECT budget, epsilon, per, spent_past, spent, remaining FROM dp_budgets WHERE within IS NULL
	ORDER BY 1'), "patients_epsilon|3.0|||0.3|2.7\narrivals_epsilon|3000000000|||1000000000|2000000000\nrenewing|3|365 days|1|1|2",
	'budgets know what was spent');
is($new->safe_psql('postgres', $windows_of), $windows, 'persons have the same windows');
is($new->safe_psql('postgres', q{SELECT within, spent, remaining FROM dp_budgets WHERE budget = 'share'::regclass}),
	'renewing|0.6|0.4', 'a share is one still');
like(failure($new, sprintf $declare, 'more', 0.5), qr/budget "share" has an epsilon of 0\.4 left/, 'an analyst cannot exceed it');
$new->safe_psql('postgres', sprintf $declare, 'rest', 0.4);
is($new->safe_psql('postgres', q{SET ROLE ana; SELECT dp_counter_drop('asked'); RESET ROLE;
SELECT purpose, role = 'ana' FROM share WHERE refunded_at IS NULL ORDER BY spent_at}),
	"\ndp_counter_resume of public.asked|f\nrest|t", 'keeps the grants, and can take back');

like(failure($new, "\\set VERBOSITY sqlstate\nSELECT dp_repair()", user => 'reader'), qr/42501/, 'nobody but the owner repairs');
my ($status, $out) = $new->psql('postgres',
	"PREPARE p AS $aggregates; EXECUTE p;\nSELECT dp_repair();\nEXECUTE p;\nSELECT dp_repair();", on_error_stop => 0);
is($out, "8\n10|10\n0", 'who does, and a session sees it at once');
is($new->safe_psql('postgres', $marks), 'v', 'all are marked again');
is($new->safe_psql('postgres', $aggregates), '10|10', 'and count');
done_testing();
