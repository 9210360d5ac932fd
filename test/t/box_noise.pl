# The radius of an unfinished block of box noise: it outlives a crash, a dump and a copy, and nothing is drawn again.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary');
sub sql { return $node->safe_psql($_[1] // 'postgres', $_[0]); }

sql(q{
	CREATE TABLE visits (person integer, at timestamp);
	CREATE VIEW visits_dp AS SELECT * FROM visits;
	SELECT dp_budget_create('budget', 1, per => '365 days');
	SELECT dp_source_create('visits_dp', 'budget', 'person', 'at', 'UTC');
	SELECT dp_counter_create('months', 'visits_dp', 0.00000001, '1 month', '2024-01-01', persons => true);
});
is(sql('SELECT mechanism, k FROM dp_counters'), 'box|4', 'blocks of four months');

# As if it were the beginning of this month.
sub tick
{
	my ($month, $database) = @_;
	sql("UPDATE dp_counter_private.source_counters SET grace = date_trunc('day',
		now() AT TIME ZONE 'UTC') - timestamp '$month-01'", $database);
	return failure($node, "CALL dp_tick('months')", database => $database // 'postgres');
}
sub steps { return sql('SELECT coalesce(max(step), 0) FROM months', $_[0]); }
sub radius { return sql(q{SELECT encode(substring(state FROM 15 FOR 8), 'hex') FROM dp_counter_private.streams}, $_[0]); }
my $none = '0' x 16;

is(radius(), $none, 'no block is open');
is(tick('2024-03'), '', 'two months');
my $first = radius();
isnt($first, $none, 'the block has a radius'); # of some 2e9: 0, or that of the next block, with a probability below 1e-8

# --- a crash between the two commits of a tick
is(tick('2024-04'), '', 'a third one');
sql('UPDATE dp_counter_private.publications SET steps = 2');
is(steps(), 2, 'is stored and not published');
my $stored = sql('SELECT count FROM dp_counter_private.releases WHERE step = 3');
$node->stop('immediate');
$node->start;
is(radius(), $first, 'the radius outlives a crash');
is(tick('2024-04'), '', 'a tick');
is(sql('SELECT count FROM months WHERE step = 3'), $stored, 'publishes what was stored');
is(radius(), $first, 'and draws nothing');

# --- a dump in the middle of the block, and a copy
my $file = $node->basedir . '/dump.sql';
command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-f', $file ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', $file ], 'restored');
$node->safe_psql('postgres', 'CREATE DATABASE copied TEMPLATE postgres');
for my $database ('restored', 'copied')
{
	is(radius($database), $first, "$database: the same radius");
	is(sql('SELECT mechanism, k, sensitivity, steps FROM dp_counters', $database), 'box|4|4|3', "$database: the same blocks");
	like(tick('2024-07', $database), qr/is in a copy of its database/, "$database: it waits");
	is(steps($database), 3, "$database: and releases nothing");
	resume_all($node, $database);
	is(tick('2024-05', $database), '', "$database: it goes on");
	is(radius($database), $none, "$database: its block is over, and the radius gone");
	is(tick('2024-07', $database), '', "$database: another block");
	isnt(radius($database), $none, "$database: which has a radius");
	isnt(radius($database), $first, "$database: of its own");
	is(steps($database), 6, "$database: six months");
	sql(q{SELECT dp_counter_end('months')}, $database);
	is(radius($database), '', "$database: the end deletes it");
	is(steps($database), 6, "$database: and no release");
}

is(tick('2024-05'), '', 'the block ends');
is(radius(), $none, 'its radius is gone');
is(sql(q{SELECT count(*) FROM months}), 4, 'four releases');
sql(q{DROP VIEW months});
is(sql('SELECT count(*) FROM dp_counter_private.streams'), 0, 'nothing is left');

done_testing();
