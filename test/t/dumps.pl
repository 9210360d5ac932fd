# Counters live on through pg_dump and restore and through a rename; on a standby they can be read.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary', allows_streaming => 1);
sub sql { return $node->safe_psql('postgres', $_[0]); }

sql(q{
	CREATE SCHEMA "Strange ""schema"; CREATE ROLE owner;
	CREATE TABLE filler_1 (); CREATE TABLE filler_2 (); -- so that OIDs differ after a restore
	SELECT dp_event_counter_create('public.visits_seen', 1e9, 1000);
	SELECT dp_event_counter_create('"Strange ""schema"."A table"', 1e9);
	SELECT dp_event_counter_create('noisy', 0.01, 100000, every => '1 microsecond');
	DROP TABLE filler_1, filler_2;
	CREATE TABLE visits (id integer);
	CREATE TRIGGER r AFTER INSERT ON visits REFERENCING NEW TABLE AS new FOR EACH STATEMENT EXECUTE FUNCTION dp_counter_record('visits_seen');
	INSERT INTO visits SELECT generate_series(1, 100);
	SELECT dp_counter_record('"Strange ""schema"."A table"', 11);
	ALTER VIEW noisy OWNER TO owner;
});
for my $table ('visits_seen', '"Strange ""schema"."A table"', 'noisy', 'noisy')
{
	sql("CALL dp_tick('$table')");
}
# between the two commits of a tick
my $noisy = q{(SELECT number FROM dp_counter_private.counters WHERE counter = 'noisy'::regclass)};
sql(q{CALL dp_tick('noisy')});
sql(qq{UPDATE dp_counter_private.publications SET steps = 2 WHERE number = $noisy});
is(sql('SELECT max(step) FROM noisy'), 2, 'a release is stored and not published');
sql(q{INSERT INTO visits SELECT generate_series(1, 23)}); # events of the open step

# What a recorder left behind that committed while its counter was dropped has the OID of nothing, and after a restore
# of anything. The same of a counter that has ended.
my $recorder = $node->background_psql('postgres');
my $owner    = $node->background_psql('postgres');
$recorder->query_safe(q{CREATE SCHEMA gone; SELECT dp_event_counter_create('gone.c', 1), dp_event_counter_create('public.ended', 1)});
sql(q{CALL dp_tick('public.ended')});
$recorder->query_safe(q{BEGIN; SELECT dp_counter_record('gone.c', 7), dp_counter_record('public.ended', 9)});
$owner->query_safe(q{BEGIN; SET client_min_messages = warning; DROP SCHEMA gone CASCADE; SELECT dp_counter_end('public.ended')});
$recorder->query_safe('COMMIT');
$owner->query_safe('COMMIT');
$_->quit for $recorder, $owner;
my $left = q{SELECT count(*) FROM dp_counter_private.events WHERE number NOT IN (SELECT number FROM dp_counter_private.counters
	WHERE ended_at IS NULL)};
is(sql($left), 2, 'events of counters that are gone, or have ended');

my $file = $node->basedir . '/dump.sql';
my $archive = $node->basedir . '/dump.custom';
command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-f', $file ], 'pg_dump');
command_ok([ 'pg_dump', '-Fc', '-d', $node->connstr('postgres'), '-f', $archive ], 'pg_dump -Fc');
like(slurp_file($file), qr/COPY dp_counter_private.counters/, 'the dump holds the state');
my $state = sql(q{SELECT to_jsonb(c) - 'system_identifier', s.* FROM dp_counter_private.counters c
	JOIN dp_counter_private.streams s ON s.number = c.number ORDER BY c.number});
my $releases = sql(q{SELECT * FROM dp_counter_private.releases ORDER BY number, step});
my $events = sql(q{SELECT counter::text, sum(total) FROM dp_counter_private.events JOIN dp_counter_private.counters USING (number)
	WHERE ended_at IS NULL GROUP BY 1 ORDER BY 1});

# What a dump has of the extension's tables.
sub secrets
{
	my ($dump) = @_;
	return join '', $dump =~ /^(COPY dp_counter_private\..*?^\\\.\n|SELECT pg_catalog\.setval\('dp_counter_private.*?\n)/msg;
}
my $secrets = secrets(slurp_file($file));
is(scalar(() = $secrets =~ /^(COPY|SELECT)/mg), 16, 'all fifteen tables and a sequence');

my $is_copy = qr/counter ".*" is in a copy of its database/;
my %restore = (
	psql       => [ [ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $file ] ],
	pg_restore => [ [ 'pg_restore', '-e', '-j', 2, $archive ] ],
	parts      => [ [ 'pg_restore', '-e', '--schema-only', $archive ], [ 'pg_restore', '-e', '--data-only', '--disable-triggers',
		'-j', 2, $archive ] ]);
for my $way (sort keys %restore)
{
	$node->safe_psql('postgres', "CREATE DATABASE by_$way TEMPLATE template0");
	command_ok([ @$_, '-d', $node->connstr("by_$way") ], "restore by $way") for @{ $restore{$way} };
	my $again = $node->basedir . "/again.$way.sql";
	command_ok([ 'pg_dump', '-d', $node->connstr("by_$way"), '-f', $again ], 'a dump of what was restored');
	is(secrets(slurp_file($again)), $secrets, 'has the same state');
	my $q = sub { return $node->safe_psql("by_$way", $_[0]); };
	is($q->(q{SELECT to_jsonb(c) - 'system_identifier', s.* FROM dp_counter_private.counters c JOIN dp_counter_private.streams s
		ON s.number = c.number ORDER BY c.number}), $state, 'the same counters');
	is($q->(q{SELECT counter::text, sum(total) FROM dp_counter_private.events JOIN dp_counter_private.counters USING (number)
		GROUP BY 1 ORDER BY 1}), $events, 'the same events');
	is($q->($left), 0, 'and none of a counter that is gone, or has ended');
	is($q->(q{SELECT steps, ended_at IS NOT NULL FROM dp_counters WHERE counter = 'ended'::regclass}), '1|t', 'which has ended again');
	is($q->(q{SELECT * FROM dp_counter_private.releases ORDER BY number, step}), $releases, 'the same releases');
	$q->('DROP VIEW ended');
	is($q->(q{SELECT pg_get_viewdef('noisy')}), sql(q{SELECT pg_get_viewdef('noisy')}), 'the same view of them');
	is($q->(q{SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relkind = 'v'
		AND reloptions = '{security_barrier=true}' AND relnamespace = 'public'::regnamespace}),
			'dp_budgets dp_counters dp_source_history dp_sources noisy visits_seen', 'as safe');
	$q->(q{SELECT dp_event_counter_create('another', 1)});
	is($q->(q{SELECT count(*) FROM another}), 0, 'a new counter has none of them');
	$q->('DROP VIEW another');
	$q->(q{INSERT INTO visits SELECT generate_series(1, 7)});
	like(failure($node, q{CALL dp_tick('visits_seen')}, database => "by_$way"), $is_copy, 'where it came from it may have released more');
	is($q->('SELECT max(step) FROM visits_seen'), 1, 'so it releases nothing by itself');
	resume_all($node, "by_$way");
	$q->(q{CALL dp_tick('visits_seen')});
	is($q->('SELECT step, count FROM visits_seen ORDER BY 1'), "1|100\n2|130", 'the counter goes on, with the events of the open step');
	$q->(q{CALL dp_tick('"Strange ""schema"."A table"')});
	is($q->('SELECT step, count FROM "Strange ""schema"."A table" ORDER BY 1'), "1|11\n2|11", 'whatever the name');
	$q->(q{CALL dp_tick('noisy')});
	is($q->('SELECT string_agg(step::text, $$ $$ ORDER BY step) FROM noisy'), '1 2 3 4',
		'a release that was stored and not published comes out');
	is($q->('SELECT count FROM noisy WHERE step = 3'),
		sql(qq{SELECT count FROM dp_counter_private.releases WHERE number = $noisy AND step = 3}), 'as it was');
	is($q->(q{SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = 'noisy'::regclass}), 'owner', 'its owner is the owner');
	$q->('DROP VIEW visits_seen');
	is($q->('SELECT count(*) FROM dp_counter_private.counters'), 2, 'and it can be dropped');
}

# --- a copy in the same cluster
sql('CREATE DATABASE copied TEMPLATE by_psql');
like(failure($node, q{CALL dp_tick('noisy')}, database => 'copied'), $is_copy, 'a template is one copy too many');
is(failure($node, q{CALL dp_tick('noisy')}, database => 'by_psql'), '', 'it goes on itself');
resume_all($node, 'copied');
is(failure($node, q{CALL dp_tick('noisy')}, database => 'copied'), '', 'and the copy if its owner wants it');

# --- a dump without the tables' rows: its views are those of no counter, and show nothing of the ones made later
my $bare = $node->basedir . '/bare.sql';
command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-N', 'dp_counter_private', '-f', $bare ], 'pg_dump -N');
$node->safe_psql('postgres', 'CREATE DATABASE bare TEMPLATE template0');
command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('bare'), '-f', $bare ], 'restored');
for my $name (qw(a b c d e))
{
	$node->safe_psql('bare', "SELECT dp_event_counter_create('$name', 1)");
	$node->safe_psql('bare', "CALL dp_tick('$name')");
}
is($node->safe_psql('bare', 'SELECT count(*) FROM (SELECT step FROM visits_seen UNION ALL SELECT step
	FROM "Strange ""schema"."A table" UNION ALL SELECT step FROM noisy) s'),
	0, 'the views of a dump without counters stay empty');

# --- groups of an enum whose labels have changed places and names since the last tick: the rows that are restored have them too;
# groups that come from a table, and one that is added after the restore; an average, which has two numbers, a sum below 0, and a
# histogram
$node->safe_psql('postgres', 'CREATE DATABASE labels TEMPLATE template0');
$node->safe_psql('labels', q{
	CREATE EXTENSION dp_counter;
	SELECT dp_budget_create('budget', 1e10);
	CREATE TYPE ward AS ENUM ('zero', 'a', 'b', 'c');
	CREATE TABLE visits AS SELECT day * 1000 + n AS patient, date '2024-12-31' + day AS at,
		(CASE WHEN n <= 100 * day THEN 'a' WHEN n <= 110 * day THEN 'b' ELSE 'c' END)::ward AS ward, CASE WHEN n <= 100 * day
			THEN 'north' WHEN n <= 110 * day THEN 'south' ELSE 'west' END AS place, n % 40 - 25 AS net
		FROM generate_series(1, 2) AS day, generate_series(1, 111 * day) AS n;
	CREATE VIEW visits_dp AS SELECT patient, at, ward, place, net FROM visits;
	CREATE TABLE places AS SELECT unnest('{south,north}'::text[]) AS name;
	SELECT dp_source_create('visits_dp', 'budget', 'patient', 'at', 'UTC');
	SELECT dp_counter_create('wards', epsilon => 1e9, horizon => 2, source => 'visits_dp', every => '1 day', since => '2025-01-01',
		by => 'ward', groups => '{a,c,b}', per_person => 1);
	SELECT dp_counter_create('by_place', epsilon => 1e9, horizon => 2, source => 'visits_dp', every => '1 day',
		since => '2025-01-01', by => 'place', groups_from => 'places', groups_column => 'name', others => 'elsewhere', per_person => 1);
	SELECT dp_counter_create('average', epsilon => 1e9, horizon => 2, source => 'visits_dp', every => '1 day',
		since => '2025-01-01', avg => 'net', lower => -20, upper => 10, per_person => 1);
	SELECT dp_counter_create('nets', epsilon => 1e9, horizon => 2, source => 'visits_dp', every => '1 day', since => '2025-01-01',
		sum => 'net', lower => -20, upper => 10, per_person => 1);
	SELECT dp_counter_create('net_bins', epsilon => 1e9, horizon => 2, source => 'visits_dp', every => '1 day',
		since => '2025-01-01', histogram => 'net', bins => '{-20,0,10}',
	                         by => 'ward', groups => '{a,c,b}', per_person => 1);
	UPDATE dp_counter_private.source_counters SET "grace" = now() AT TIME ZONE 'UTC' - (since + every);
	CALL dp_tick('visits_dp');
	CALL dp_source_contributions('visits_dp', 'contributions', 1e9, most => 2);
	ALTER TYPE ward RENAME VALUE 'a' TO 'd';
	ALTER TYPE ward RENAME VALUE 'c' TO 'a';
	ALTER TYPE ward RENAME VALUE 'b' TO 'c';
	ALTER TYPE ward ADD VALUE 'b' BEFORE 'd'; -- so that the OIDs have another order in a dump});
my $labels = $node->basedir . '/labels.custom';
command_ok([ 'pg_dump', '-Fc', '-d', $node->connstr('labels'), '-f', $labels ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE labels_restored TEMPLATE template0');
command_ok([ 'pg_restore', '-e', '-d', $node->connstr('labels_restored'), $labels ], 'restored');
resume_all($node, 'labels_restored');
for my $database (qw(labels labels_restored))
{
	$node->safe_psql($database, q{SELECT dp_counter_add_groups('by_place', '{west}');
	UPDATE dp_counter_private.source_counters SET "grace" = '0'; CALL dp_tick('visits_dp')});
	is($node->safe_psql($database, 'SELECT ward, count FROM wards WHERE step = 2 ORDER BY count'), "a|3\nc|30\nd|300",
		"$database: labels that were renamed go along");
	is($node->safe_psql($database, q{SELECT groups FROM dp_counters WHERE counter = 'wards'::regclass}), '{d,a,c}', 'and are shown');
	is($node->safe_psql($database, 'SELECT place, count FROM by_place WHERE step = 2 ORDER BY count'),
		"elsewhere|1\nwest|2\nsouth|30\nnorth|300", "$database: groups of a table too");
	is($node->safe_psql($database, q{SELECT groups, others FROM dp_counters WHERE counter = 'by_place'::regclass}),
		'{north,south,elsewhere,west}|elsewhere', 'with that of all others, and one that was added');
	is($node->safe_psql($database, q{SELECT DISTINCT regexp_replace(p.kept, '\d{4}-.*\d\).*', 'a day'),
		obj_description(c.counter, 'pg_class') = p.guarantee || ' ' || p.kept FROM dp_counters AS c, dp_counter_plan(c.counter) AS p}),
		'The bound keeps at most about 100 % of the events that a report has read (with 95 % confidence at most 100 %, released on a day|t',
			"$database: what the bound keeps is known, and in the COMMENT");
	is($node->safe_psql($database, q{
		SELECT step, a.above - t.sum - 20 * t.count, 10 * t.count - t.sum - a.below, n.sum - t.sum, n.sum < 0, a.count - t.count,
			round(a.low::numeric, 9) = t.avg AND t.avg = round(a.avg::numeric, 9)
		FROM average AS a JOIN nets AS n USING (step), LATERAL (SELECT sum(v), count(v), round(avg(v), 9) AS avg FROM visits,
			LATERAL (SELECT least(greatest(net, -20), 10)) AS c (v) WHERE at < date '2025-01-01' + step::int) AS t
		ORDER BY step}), "1|0|0|0|t|0|t\n2|0|0|0|t|0|t", "$database: both numbers of an average go on, and a sum below 0");
	is($node->safe_psql($database, q{
		SELECT count(*), sum(n.count), sum(abs(n.count - (SELECT count(*) FROM visits WHERE at = date '2024-12-31' + n.step::int AND ward = n.ward
			AND greatest(width_bucket(net, '{-20,0,10}'::integer[]), 1) = width_bucket(n.bin, '{-20,0,10}'::bigint[])))),
		       (SELECT count(*) FROM dp_counter_quantiles('net_bins', '{0.5}', 2)) FROM net_bins AS n}), '18|333|0|3',
		       	"$database: a histogram goes on");
}

# --- rename and move
sql(q{CREATE SCHEMA s; ALTER VIEW visits_seen RENAME TO seen; ALTER VIEW seen SET SCHEMA s});
like(failure($node, 'INSERT INTO visits VALUES (1)'),
	qr/relation "public.visits_seen" does not exist.*Trigger "r" of table "visits"/s, 'a trigger that names the old name says so');
sql(q{DROP TRIGGER r ON visits;
	CREATE TRIGGER r AFTER INSERT ON visits REFERENCING NEW TABLE AS new FOR EACH STATEMENT EXECUTE FUNCTION dp_counter_record('s.seen');
	INSERT INTO visits VALUES (1)});
sql(q{CALL dp_tick('s.seen')});
is(sql('SELECT count FROM s.seen WHERE step = 2'), 124, 'a counter may be renamed');

# --- a standby
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
sql(q{CALL dp_tick('s.seen')});
$node->wait_for_catchup('standby', 'replay');
is($standby->safe_psql('postgres', 'SELECT max(step) FROM s.seen'), 3, 'releases can be read on a standby');
is($standby->safe_psql('postgres', q{SELECT steps FROM dp_counters WHERE counter = 's.seen'::regclass}), 3, 'and the view');
for my $releases ('SELECT * FROM average ORDER BY step', 'SELECT * FROM by_place ORDER BY step, place',
	q{SELECT * FROM dp_counter_changes('average', 2) ORDER BY step})
{
	is($standby->safe_psql('labels_restored', $releases), $node->safe_psql('labels_restored', $releases), 'averages and groups too');
}
is($standby->safe_psql('postgres', 'SELECT max(n) FROM (SELECT dp_running_sum(1, 1e9, 1) OVER (ORDER BY i) AS n
	FROM generate_series(1, 9) AS i) AS r'), 9, 'a query is a release there as well');
like(failure($standby, q{CALL dp_tick('s.seen')}), qr/cannot execute dp_tick\(\) in a read-only transaction/,
	'ticking gives the read-only error');
like(failure($standby, q{SELECT dp_counter_record('s.seen')}), qr/cannot execute dp_counter_record\(\) in a read-only transaction/,
	'recording too');
$node->stop;
$standby->promote;
$standby->safe_psql('postgres', q{SELECT dp_counter_record('s.seen', 6)});
like(failure($standby, q{CALL dp_tick('s.seen')}), $is_copy, 'a promoted standby may lack a step');
resume_all($standby);
$standby->safe_psql('postgres', q{CALL dp_tick('s.seen')});
is($standby->safe_psql('postgres', 'SELECT step, count FROM s.seen ORDER BY step DESC LIMIT 1'), '4|130', 'a promoted standby goes on');
done_testing();
