# Concurrent recorders beside a ticking clock: every committed event is counted exactly once, nobody
# waits. DP_CLOCK_SECONDS sets the time.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = $ENV{DP_CLOCK_SECONDS} // 10;
my $node = new_node('clock', conf => "fsync = off\nautovacuum = off\nlog_lock_waits = on\ndeadlock_timeout = 100ms\n");
$node->safe_psql('postgres', q{
	CREATE TABLE ledger (client integer, n integer);
	SELECT dp_event_counter_create('rows_seen', 1e9);
	SELECT dp_event_counter_create('events_seen', 1e9);
	CREATE TRIGGER r AFTER INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION dp_counter_record('rows_seen');
});

my $load = $node->basedir . '/load.sql';
append_to_file($load, q{
\set n random(0, 3)
\set undo random(1, 10)
BEGIN;
INSERT INTO ledger VALUES (:client_id, :n);
SELECT dp_counter_record('events_seen', :n);
\if :undo = 1
ROLLBACK;
\elif :undo = 2
END;
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO ledger SELECT :client_id, :n FROM generate_series(1, 3);
SELECT dp_counter_record('events_seen', 3 * :n);
COMMIT;
\else
COMMIT;
\endif
});

my ($out, $err) = ('', '');
my $recorders = IPC::Run::start(
	[ 'pgbench', '-n', '-c', 8, '-j', 2, '-T', $seconds, '-f', $load, '-d', $node->connstr('postgres') ],
	'>', \$out, '2>', \$err);
my $clock_script = $node->basedir . '/tick.sql';
append_to_file($clock_script, "CALL dp_tick('rows_seen');\nCALL dp_tick('events_seen');\n");
my ($clock_out, $clock_err) = ('', '');
my $clocks = IPC::Run::start( # two clocks at once: ticks wait for each other, and each closes a step
	[ 'pgbench', '-n', '-c', 2, '-T', $seconds, '-f', $clock_script, '-d', $node->connstr('postgres') ],
	'>', \$clock_out, '2>', \$clock_err);
$recorders->finish;
$clocks->finish;

unlike($err . $clock_err, qr/ERROR|aborted/, 'no recorder and no tick failed');
my ($transactions) = $out =~ /processed: (\d+)/;
my ($ticks) = $clock_out =~ /processed: (\d+)/;
cmp_ok($transactions, '>', 8, "$transactions transactions of 8 recorders in $seconds s"); # thousands, where nothing else runs
cmp_ok($ticks, '>', 2, "$ticks ticks of each counter by 2 clocks");

$node->safe_psql('postgres', "CALL dp_tick('rows_seen'); ");
$node->safe_psql('postgres', "CALL dp_tick('events_seen')");
is($node->safe_psql('postgres', 'SELECT count FROM rows_seen ORDER BY step DESC LIMIT 1'),
	$node->safe_psql('postgres', 'SELECT count(*) FROM ledger'), 'rows are counted exactly');
is($node->safe_psql('postgres', 'SELECT count FROM events_seen ORDER BY step DESC LIMIT 1'),
	$node->safe_psql('postgres', 'SELECT sum(n) FROM ledger'), 'events are counted exactly');
is($node->safe_psql('postgres', 'SELECT max(step) FROM rows_seen'), $ticks + 1, 'every tick was a step');
for my $table (qw(rows_seen events_seen))
{
	is_gapless($node, $table, "steps of $table have no gap");
	is($node->safe_psql('postgres',
			"SELECT count(*) FROM $table a JOIN $table b ON b.step = a.step + 1 WHERE b.count < a.count"),
		0, "$table never falls");
}

# Ticks wait for ticks of the same counter alone; recorders for nobody. (PostgreSQL's own short wait where a file grows
# lasts longer if the machine stands still.)
my $log = slurp_file($node->logfile);
my @waits = $log =~ /process \d+ still waiting for (.*)/g;
is(scalar(grep { !/ExclusiveLock on object \d+ of class \d+|ExclusiveLock on extension of relation/ } @waits), 0, 'no recorder waited')
	or diag(join "\n", @waits);

# Under such a load the table of events grows by hundreds of pages at a time, as files that many write to do. Then it has
# room: 20,000 versions of rows, 64 bytes each, would take 160 pages more.
sub pages { return $node->safe_psql('postgres', q{SELECT pg_relation_size('dp_counter_private.events') / 8192}); }
my $pages = pages();
my $one = $node->basedir . '/one.sql';
append_to_file($one, "SELECT dp_counter_record('events_seen', 1);\n");
command_ok([ 'pgbench', '-n', '-t', 20_000, '-f', $one, '-d', $node->connstr('postgres') ], 'another 20,000 recordings');
cmp_ok(pages() - $pages, '<', 40, "they let the table of events grow from $pages to " . pages() . ' pages');
done_testing();
