# What a tick with a source shows to others: not how many rows there were, nor what they held.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('leaks', is_fresh => 1,
	conf => "shared_preload_libraries = 'pg_stat_statements, auto_explain'\npg_stat_statements.track = all\n"
	. "track_functions = all\nautovacuum = off\nlog_statement = none\nlog_temp_files = 0\n"
	. "auto_explain.log_min_duration = 0\nauto_explain.log_analyze = on\nauto_explain.log_nested_statements = on\n");
sub sql { return $node->safe_psql('postgres', $_[0], extra_params => [ '-U', $_[1] // 'postgres' ]) }
$node->safe_psql('postgres', q{
	CREATE ROLE clock LOGIN;
	CREATE ROLE stranger LOGIN;
	CREATE ROLE steward LOGIN;
	GRANT CREATE ON SCHEMA public TO steward;
	CREATE EXTENSION pg_stat_statements;
	CREATE EXTENSION fuzzystrmatch;
});
sql(q{
	SELECT dp_budget_create('b', 1e10);
	CREATE TABLE visits (patient integer, at timestamptz, note text);
	CREATE INDEX ON visits (at);
	CREATE VIEW visits_dp AS SELECT patient, at, soundex(note) = 'N300' AS told FROM visits;
	SELECT dp_source_create('visits_dp', 'b', 'patient', 'at', 'UTC', person_wise => true);
	SELECT dp_counter_create('c', epsilon => 1e9, horizon => 10, source => 'visits_dp', event => 'told', per_person => 100,
		every => '1 day', since => '2025-01-01');
	GRANT UPDATE ON c TO clock;
	INSERT INTO visits SELECT i % 37, timestamptz '2025-01-01 12:00+00' + i % 10 * interval '1 day', 'note ' || i
		FROM generate_series(1, 12345) AS i;
}, 'steward');
sql('ANALYZE visits');

my $flush = 'SELECT pg_stat_force_next_flush();';
my $watch = $flush . q{
	SELECT relname, seq_scan, seq_tup_read, idx_scan, idx_tup_fetch, n_tup_ins, n_tup_upd, n_tup_del, n_live_tup, n_dead_tup
	FROM pg_stat_all_tables WHERE relname IN ('visits', 'tallies') ORDER BY 1;
	SELECT indexrelname, idx_scan, idx_tup_read, idx_tup_fetch FROM pg_stat_all_indexes WHERE relname IN ('visits', 'tallies') ORDER BY 1;
	SELECT calls FROM pg_stat_user_functions WHERE funcname = 'soundex';
	SELECT relname, reltuples FROM pg_class WHERE relname IN ('visits', 'tallies') ORDER BY 1;
};
sql('SET client_min_messages = error; CALL dp_tick()', 'stranger'); # takes back that tallies began with a row
all_reported($node);
my $before = sql($watch, 'stranger');
# A worker's time is that of a session in pg_stat_database: it had begun in 2000.
my $century = q{SELECT session_time > 1e9 FROM pg_stat_database WHERE datname = 'postgres'};
my ($out, $messages);
is($node->psql('postgres', "SET client_min_messages = debug5; SET trace_sort = on; SET debug_print_plan = on;
SET enable_sort = off; SET work_mem = '64kB'; $flush CALL dp_tick('c')",
		stdout => \$out, stderr => \$messages, extra_params => [ '-U', 'clock' ]), 0, 'a clock ticks');
is(sql("SELECT count(*) FROM c WHERE step = 10 AND count BETWEEN 3690 AND 3710", 'steward'), 1, 'and counts: 37 persons, 100 each');
all_reported($node);
is(sql($watch, 'stranger'), $before, 'no statistic that a role can read has moved');
sql($flush);
is(sql($century), 'f', 'the time of sessions is that of sessions');
unlike($messages, qr/note \d|12345|visits|performsort|begin tuple sort/i, 'the clock hears nothing of the evaluation');
is(sql(q{SELECT count(*) FROM pg_stat_statements WHERE rows BETWEEN 30 AND 13000 AND query !~ 'event_trigger_dropped_objects'
	AND query !~ 'pg_stat_activity'}), # which this test asks as often as it waits
	sql(q{SELECT count(*) FROM pg_stat_statements WHERE rows = 12345 AND query ~ '^INSERT'}),
	'pg_stat_statements has counted no row of it');
is(sql(q{SELECT count(*) FROM pg_stat_statements WHERE query ~ 'visits_dp' AND query ~ 'ORDER BY'}), 0, 'nor the statement');
my ($sorted, $logged) = split /\|/, sql(q{SELECT temp_blks_written, wal_records FROM pg_stat_statements
	WHERE query ~ '^CALL dp_tick'}, 'postgres');
is($sorted, 0, 'nor what was sorted');
cmp_ok($logged, '<', 2 * 37, 'nor what was logged of persons: a row and an index entry each');
unlike(slurp_file($node->logfile), qr/temporary file|performsort/, 'and the log does not say how much was sorted');
unlike(slurp_file($node->logfile), qr/Scan .*visits.*rows=12345/, 'nor a plan, with its rows');
sql("SET work_mem = '64kB'; SET trace_sort = on;
SELECT count(soundex(note)) FROM (SELECT note FROM visits ORDER BY note OFFSET 0) AS s", 'steward');
like(slurp_file($node->logfile), qr/temporary file/, 'all of which the log has of other statements');
like(slurp_file($node->logfile), qr/performsort/, 'the sort');
like(slurp_file($node->logfile), qr/Scan .*visits.*rows=12345/, 'plans as well');

all_reported($node);
sql($flush);
cmp_ok(sql(q{SELECT calls FROM pg_stat_user_functions WHERE funcname = 'soundex'}), '>', 10000, 'and statistics have calls of functions');

# VACUUM and ANALYZE count the persons, an autovacuum against wraparound among them; the next tick takes that back.
my $persons = q{SELECT c.relname, c.reltuples, c.relpages, s.n_live_tup, s.n_dead_tup FROM pg_class AS c LEFT JOIN pg_stat_all_tables AS s
	ON s.relid = c.oid WHERE c.relname ~ '^tallies' ORDER BY 1};
for my $command ('VACUUM', 'ANALYZE', 'VACUUM FULL')
{
	$node->safe_psql('postgres', "$command dp_counter_private.tallies");
	like(sql("$flush $persons", 'stranger'), qr/^tallies\|38\|/m, "$command shows the number of persons, and a row");
	$node->safe_psql('postgres', 'CALL dp_tick()');
	all_reported($node);
	is(sql("$flush $persons", "stranger") =~ s{\A\n}{}r, "tallies|-1|0|0|0\ntallies_number_digest_idx|-1|0||", 'until the next tick');
}

# So do a dump, a restore and a query count them, of the index as well; the tick of a counter alone takes that back.
my $counts = q{SELECT sum(t.seq_tup_read + t.n_tup_ins), sum(i.idx_tup_read) FROM pg_stat_all_tables AS t
	LEFT JOIN pg_stat_all_indexes AS i USING (relid) WHERE t.relname = 'tallies'};
for my $reads ('COPY dp_counter_private.tallies TO STDOUT', 'SET enable_seqscan = off; SELECT count(digest) FROM dp_counter_private.tallies')
{
	$node->safe_psql('postgres', "BEGIN; $reads; COMMIT; RESET enable_seqscan");
	all_reported($node);
	like(sql("$flush $counts", 'stranger'), qr/\b38\b/, 'what is read is the number of persons, and a row');
	sql("CALL dp_tick('c')", 'clock');
	all_reported($node);
	like(sql("$flush $counts", 'stranger'), qr/\A\s*0?\|0?\z/, 'until the next tick');
}

# They are reset: a standby that replays their drop twice ends, up to 15.18, where a session has looked at them.
sql(q{CREATE TABLE dropped()}, 'postgres');
my $from = sql('SELECT pg_current_wal_lsn()', 'postgres');
$node->safe_psql('postgres', 'VACUUM dp_counter_private.tallies');
sql("CALL dp_tick('c')", 'clock');
my $to = sql('SELECT pg_current_wal_lsn()', 'postgres');
sql(q{DROP TABLE dropped}, 'postgres');
my $statistics_dropped = sub { (run_command([ 'pg_waldump', '-p', $node->data_dir . '/pg_wal', '-r', 'Transaction', '-s', @_ ]))[0] };
unlike($statistics_dropped->($from, '-e', $to), qr/dropped stats/, 'no tick drops statistics');
like($statistics_dropped->($to, '-e', sql('SELECT pg_current_wal_lsn()', 'postgres')), qr/dropped stats/, 'as a drop of a table does');

# An error leaves the session's statistics as they were: on.
sql(q{CREATE TABLE probe AS SELECT generate_series(1, 10) AS n;
	CREATE VIEW failing_dp AS SELECT patient, at, 1 / (patient - 13) < 2 AS told FROM visits;
	SELECT dp_source_create('failing_dp', 'b', 'patient', 'at', 'UTC');
	SELECT dp_counter_create('failing', epsilon => 1e9, horizon => 1, source => 'failing_dp', event => 'told', every => '1 day',
		since => '2025-01-01', per_person => 1)}, 'steward');
$node->psql('postgres', "CALL dp_tick('failing'); SELECT count(*) FROM probe;", stderr => \$messages, on_error_stop => 0,
	extra_params => [ '-U', 'steward' ]);
like($messages, qr/division by zero/, 'after a tick that fails');
all_reported($node);
sql($flush);
is(sql(q{SELECT seq_tup_read FROM pg_stat_all_tables WHERE relname = 'probe'}), 10, 'statistics go on');
all_reported($node);
$before = sql($watch, 'stranger');

# A report that is seen before it is committed could be rolled back, with its charge.
sql('ALTER DATABASE postgres SET debug_print_plan = on'); # of workers, too
my $read = length slurp_file($node->logfile);
$node->psql('postgres', q{SET client_min_messages = log; SET plan_cache_mode = force_custom_plan;
CALL dp_source_contributions('visits_dp', 'report', 1e9, most => 2)},
	stdout => \$out, stderr => \$messages, extra_params => [ '-U', 'steward' ]);
$node->psql('postgres', q{SET client_min_messages = log; SET plan_cache_mode = force_custom_plan;
CALL dp_source_suggest('visits_dp', 'suggested', 1e9, 1e9, '1 day', since => '2025-01-01', until => '2025-02-01')},
	stdout => \$out, stderr => \my $more, extra_params => [ '-U', 'steward' ]);
my $log = slurp_file($node->logfile, $read);
sql('ALTER DATABASE postgres RESET debug_print_plan');
is(sql('SELECT persons FROM report WHERE events = 3', 'steward'), 37, 'a report');
is(sql('SELECT per_person FROM suggested', 'steward'), 400, 'a suggestion, for 333 events of a person');
unlike("$messages$more", qr/SORTGROUPCLAUSE|:constvalue 8/, 'their owner is shown no plan of the worker');
cmp_ok(scalar(() = $log =~ /LOG:  plan:/g), '>', 1, 'which a server can log');
unlike($log, qr/:constvalue 8 \[ 37 0|:constvalue 4 \[ -112 1 0/, 'but no number of the reports');
unlike($log, qr/Query Text: INSERT/, 'nor a statement that inserts it, with its parameters');
all_reported($node);
is(sql($watch, 'stranger'), $before, 'nor has a statistic moved');

# Files of a sort: a limit on them decides nothing, and a tick that fails after it does not count them.
sql(q{CREATE TABLE wide AS SELECT i AS patient, timestamptz '2025-01-01 12:00+00' AS at, repeat(md5(i::text), 31) AS ward, sign(90000 - i) AS x
		FROM generate_series(1, 90000) AS i;
	CREATE VIEW wide_dp AS SELECT patient, at, ward, 1 / x = 1 AS fails FROM wide;
	SELECT dp_source_create('wide_dp', 'b', 'patient', 'at', 'UTC', person_wise => true);
	SELECT dp_counter_create(name, epsilon => 1e9, horizon => 1, source => 'wide_dp', event => event, every => '1 day',
		since => '2025-01-01', per_person => 1, by => 'ward', groups => '{x}')
		FROM (VALUES ('spills', NULL), ('spills_and_fails', 'fails')) AS counters (name, event);
	GRANT UPDATE ON spills, spills_and_fails TO clock}, 'steward');
sql(q{ALTER SYSTEM SET temp_file_limit = '1MB'}, 'postgres');
sql('SELECT pg_reload_conf()', 'postgres');
all_reported($node);
my $files = q{SELECT temp_files, temp_bytes FROM pg_stat_database WHERE datname = 'postgres'};
sql($flush, 'stranger');
$before = sql($files, 'stranger');
like(failure($node, q{CALL dp_tick('spills')}, user => 'clock'), qr/^$/, 'a tick may sort more than temp_file_limit');
like(failure($node, q{CALL dp_tick('spills_and_fails')}, user => 'clock'), qr/could not evaluate source/, 'one fails after its sort');
all_reported($node);
sql($flush, 'stranger');
is(sql($files, 'stranger'), $before, 'neither is counted in pg_stat_database');

# Settings of the caller's are as they were, and had no say.
is(sql(q{SET TimeZone = 'Asia/Tokyo'; SET search_path = public; SET client_min_messages = notice; CALL dp_tick('c'); SHOW TimeZone;
SHOW search_path; SHOW client_min_messages}, 'clock'),
	"Asia/Tokyo\npublic\nnotice", 'the settings of the caller are put back');
$node->stop;
done_testing();
