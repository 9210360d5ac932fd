# A role that may read releases, record and tick, and no more, tries every way to the secrets.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('secrets', is_fresh => 1, conf => "stats_fetch_consistency = none\ntrack_functions = none\nautovacuum = off\n");
	# which has statistics of its own
$node->safe_psql('postgres', 'CREATE ROLE auditor LOGIN; GRANT pg_read_all_data, pg_write_all_data, pg_monitor TO auditor');
$node->safe_psql('postgres', q{
	CREATE ROLE clinic LOGIN; CREATE ROLE reader LOGIN; CREATE ROLE recorder LOGIN; CREATE ROLE ticker LOGIN;
	CREATE ROLE stranger LOGIN;
	CREATE SCHEMA er AUTHORIZATION clinic; GRANT USAGE ON SCHEMA er TO PUBLIC;
	GRANT CREATE ON SCHEMA public TO clinic, reader, recorder, ticker, stranger, auditor;
	SET ROLE clinic;
	CREATE TABLE er.visits (id integer, diagnosis text);
	SELECT dp_event_counter_create('er.flu', 1.0, 1000);
	CREATE TRIGGER flu AFTER INSERT ON er.visits FOR EACH ROW WHEN (NEW.diagnosis = 'flu')
		EXECUTE FUNCTION dp_counter_record('flu');
	GRANT SELECT ON er.flu TO reader;
	GRANT INSERT ON er.flu, er.visits TO recorder;
	GRANT UPDATE ON er.flu TO ticker;
});
sub try_as { my ($user, $sql) = @_; return failure($node, $sql, user => $user); }

# --- who may do what
is(try_as('recorder', "INSERT INTO er.visits SELECT i, 'flu' FROM generate_series(1, 41234) i"), '', 'INSERT lets a role record');
is(try_as('recorder', "SELECT dp_counter_record('er.flu', 7)"), '', 'by a call too');
is(try_as('ticker', "CALL dp_tick('er.flu')"), '', 'UPDATE lets a role tick');
is(try_as('reader', 'SELECT * FROM er.flu'), '', 'SELECT lets a role read');
is(try_as('clinic', "CALL dp_tick('er.flu')"), '', 'the owner may tick');
for my $user (qw(reader ticker stranger))
{
	like(try_as($user, "SELECT dp_counter_record('er.flu')"), qr/permission denied for view flu/, "$user may not record");
}
for my $user (qw(reader recorder stranger))
{
	like(try_as($user, "CALL dp_tick('er.flu')"), qr/permission denied for view flu/, "$user may not tick");
}
for my $user (qw(reader recorder ticker stranger auditor))
{
	like(try_as($user, "SELECT dp_counter_drop('er.flu')"), qr/must be owner of view flu/, "$user may not drop");
}
like(try_as('recorder', "INSERT INTO er.flu VALUES (99, now(), 1, 1, 1, 1)"), qr/cannot insert into view "flu"/,
	'a recorder cannot forge releases');
for my $user (qw(ticker auditor clinic))
{
	like(try_as($user, 'UPDATE er.flu SET count = 0'), qr/cannot update view "flu"/, "nor can $user");
	like(try_as($user, 'DELETE FROM er.flu'), qr/cannot delete from view "flu"/, 'or take any away');
}
for my $user (qw(clinic reader recorder ticker stranger auditor))
{
	like(try_as($user, 'SELECT xmin FROM er.flu'), qr/column "xmin" does not exist/, "$user learns nothing of other transactions");
}
like(try_as('stranger', "SELECT dp_counter_record('pg_class')"), qr/permission denied/, 'no other table is a counter');
like(try_as('clinic', "SELECT dp_counter_record('er.visits')"), qr/"visits" is not a counter/, 'not even an own one');

# --- the secret tables
my @tries = map {
	my $table = "dp_counter_private.$_";
	("SELECT * FROM $table", "COPY $table TO STDOUT", "UPDATE $table SET count = 0", "INSERT INTO $table VALUES (1)",
		"DELETE FROM $table", "CREATE VIEW public.peek AS SELECT * FROM $table", "BEGIN; LOCK TABLE $table; ROLLBACK",
		"TRUNCATE $table", "CREATE TABLE public.peek (LIKE $table)",
		"CREATE TRIGGER peek AFTER INSERT ON $table FOR EACH ROW EXECUTE FUNCTION dp_counter_record('er.flu')",
		"ANALYZE VERBOSE $table", "SELECT xmin FROM $table", "SELECT pg_get_viewdef('$table')")
} qw(counters streams groups events releases publications published sources source_counters tallies budgets dropped_budgets
	budget_entries source_history window_key);
for my $user (qw(clinic reader recorder ticker stranger))
{
	my %said; # by the line of the statement
	$node->psql('postgres', join('', map { "$_;\n" } @tries), stderr => \my $errors, on_error_stop => 0, extra_params => [ '-U', $user ]);
	$said{$1} .= $2 while $errors =~ /^psql:<stdin>:(\d+): (ERROR:.*)$/mg;
	is($said{ $_ + 1 }, 'ERROR:  permission denied for schema dp_counter_private', "$user cannot: $tries[$_]") for 0 .. $#tries;
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM dp_counter_private.counters', extra_params => [ '-U', 'auditor' ]), 0,
	'pg_read_all_data reads no counter');
is($node->safe_psql('postgres', 'SELECT count(*) FROM dp_counter_private.events', extra_params => [ '-U', 'auditor' ]), 0,
	'and no event');
is($node->safe_psql('postgres', 'SELECT count(*) FROM (SELECT xmin FROM dp_counter_private.releases) s',
	extra_params => [ '-U', 'auditor' ]), 0,
	'and of the releases no system column');
is($node->safe_psql('postgres', 'SELECT count(*) FROM er.flu', extra_params => [ '-U', 'auditor' ]), 2, 'but the releases themselves');
for my $table (qw(counters streams events releases publications))
{
	like(try_as('auditor', "SET row_security = off; SELECT * FROM dp_counter_private.$table"),
		qr/query would be affected by row-level security policy for table "$table"/,
		"not even with row security off: $table");
}
is(try_as('auditor', 'UPDATE dp_counter_private.events SET total = 0; DELETE FROM dp_counter_private.counters'), '',
	'pg_write_all_data meets no row');
is(try_as('auditor', 'UPDATE dp_counter_private.releases SET count = 0; DELETE FROM dp_counter_private.releases'), '',
	'nor among the releases');
like(try_as('auditor', "INSERT INTO dp_counter_private.events (number, slot, total) VALUES (1, 1, 5)"),
	qr/row-level security policy for table "events"/, 'and makes none');
like(try_as('auditor', "INSERT INTO dp_counter_private.releases VALUES (1, 3, 1, 0, NULL, now(), 1, 1, 1, 1)"),
	qr/row-level security policy for table "releases"/, 'no release either');
like(try_as('auditor', 'UPDATE dp_counter_private.published SET count = 0'), qr/cannot update view "published"/,
	'not by the view of all releases');
like(try_as('auditor', 'UPDATE dp_counters SET steps = 0'), qr/cannot update view "dp_counters"/, 'nor by the list of counters');
like(try_as('auditor', 'DELETE FROM dp_counters'), qr/cannot delete from view "dp_counters"/, 'from which it deletes none');
is($node->safe_psql('postgres', 'SELECT sum(total) FROM dp_counter_private.events'), 41241, 'all of it is still there');

# --- a leaky function in a query on the view sees the reader's own rows alone
is(try_as('stranger', q{
	CREATE FUNCTION public.leak(x anyelement) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN RAISE EXCEPTION 'leak %', x; END $$;
	SELECT * FROM dp_counters WHERE public.leak(epsilon)}), '', 'a stranger sees no counter, not even by a leaky function');
is($node->safe_psql('postgres', 'SELECT counter::text, epsilon, horizon, steps, steps_left FROM dp_counters',
	extra_params => [ '-U', 'reader' ]),
	'er.flu|1.0|1000|2|998', 'a reader sees the public values');
is($node->safe_psql('postgres', q{
	SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute
	WHERE attrelid = 'dp_counters'::regclass AND attnum > 0}),
	'counter epsilon sensitivity horizon steps steps_left mechanism k cumulative stddev released_at source event measure value lower upper bins per_person active per by groups others every since time_zone grace ended ended_at continues next_due periods_behind last_failed last_sqlstate', 'and there are no others');

# --- statistics: a reader watches everything that he may while events arrive
my $flush = 'SELECT pg_stat_force_next_flush();';
my $watch = $flush . q{
	SELECT relname, seq_scan, seq_tup_read, idx_scan, idx_tup_fetch, n_tup_ins, n_tup_upd, n_tup_hot_upd, n_tup_del,
		n_live_tup, n_dead_tup, n_mod_since_analyze
	FROM pg_stat_all_tables WHERE schemaname = 'dp_counter_private' OR relid IN
		(SELECT reltoastrelid FROM pg_class WHERE relnamespace = 'dp_counter_private'::regnamespace) ORDER BY 1;
	SELECT indexrelname, idx_scan, idx_tup_read, idx_tup_fetch FROM pg_stat_all_indexes WHERE schemaname = 'dp_counter_private' ORDER BY 1;
	SELECT relname, heap_blks_read, heap_blks_hit, idx_blks_read, idx_blks_hit FROM pg_statio_all_tables
	WHERE schemaname = 'dp_counter_private' ORDER BY 1;
	SELECT relname, relpages, reltuples, pg_relation_size(oid) FROM pg_class
		WHERE relnamespace = 'dp_counter_private'::regnamespace ORDER BY 1;
	SELECT count(*) FROM pg_stats WHERE schemaname = 'dp_counter_private';
};
$node->safe_psql('postgres',
	'VACUUM ANALYZE dp_counter_private.counters, dp_counter_private.streams, dp_counter_private.events, dp_counter_private.releases');
all_reported($node);
my $before = $node->safe_psql('postgres', $watch, extra_params => [ '-U', 'reader' ]);
for my $i (1 .. 50)
{
	$node->safe_psql('postgres', q{
		INSERT INTO er.visits SELECT i, 'flu' FROM generate_series(1, 100) i;
		INSERT INTO er.visits SELECT i, 'flu' FROM generate_series(1, 100) i;
		SELECT dp_counter_record('er.flu', 5);
	} . $flush, extra_params => [ '-U', 'recorder' ]);
}
all_reported($node);
my $after = $node->safe_psql('postgres', $watch, extra_params => [ '-U', 'reader' ]);
is($after, $before, 'no statistic that a role can read moves when events arrive');

# --- nobody sees who records: no lock is left for the time of a transaction
my $session = $node->background_psql('postgres', on_error_stop => 1);
$session->query_safe('BEGIN; SELECT dp_counter_record($$er.flu$$);');
is($node->safe_psql('postgres', q{
	SELECT count(*) FROM pg_locks WHERE relation IN ('er.flu'::regclass, 'dp_counter_private.events'::regclass,
		'dp_counter_private.counters'::regclass) OR objid = 'er.flu'::regclass}), 0,
			'an open transaction with an event holds no lock on the counter');
$session->query_safe('COMMIT');
$session->quit;

# --- messages
like(try_as('recorder', "SELECT dp_counter_record('er.flu', -1)"), qr/must not be negative/, 'a negative number is refused');
for my $sql ("SELECT dp_counter_record('er.flu', -1)", "SELECT dp_counter_record('er.flu', NULL)", "SELECT dp_counter_record(NULL)",
	"CALL dp_tick('er.flu')", "BEGIN; CALL dp_tick('er.flu')")
{
	unlike(try_as('recorder', $sql), qr/412\d\d/, "no true count in the message of $sql");
}
$node->safe_psql('postgres', 'UPDATE dp_counter_private.streams SET state = substr(state, 1, 60)');
my $message = try_as('ticker', "CALL dp_tick('er.flu')");
like($message, qr/stored state of the counter is corrupt/, 'a truncated state is an error');
unlike($message, qr/\\x|412\d\d/, 'which shows nothing of it');
is(scalar(grep { /(ERROR|DETAIL|HINT|CONTEXT|WARNING|LOG):.*412\d\d/ && !/LOG:  (statement|listening)/ } split /\n/,
	slurp_file($node->logfile)),
	0, 'nor does the log');

# --- dumps by roles without the privilege
for my $user (qw(reader recorder clinic))
{
	command_fails([ 'pg_dump', '-U', $user, '-d', $node->connstr('postgres') ], "$user cannot dump the database");
}
command_fails([ 'pg_dump', '-U', 'auditor', '-d', $node->connstr('postgres') ], 'pg_read_all_data cannot dump it either');
my ($dump, $stderr) = run_command([ 'pg_dump', '-U', 'reader', '-d', $node->connstr('postgres'), '-t', 'er.flu' ]);
like($dump, qr/CREATE VIEW er.flu/, 'a reader may dump the view');
unlike($dump, qr/^(COPY|INSERT)/m, 'which holds no row');
like($node->safe_psql('postgres', 'COPY (SELECT * FROM er.flu ORDER BY step) TO STDOUT', extra_params => [ '-U', 'reader' ]),
	qr/^1\t.*\n2\t/, 'and export the releases');
done_testing();
