# The write-ahead log of a recording, and of the tick that counts it, does not tell how many events there are: its position,
# which every role may ask for, is the same after 0, 1 or many events, and so is the number of row versions.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Nothing but the recordings writes.
my $node = new_node('traces', conf => "wal_level = minimal\nmax_wal_senders = 0\nfull_page_writes = off\nautovacuum = off\n");

# The lengths of the log records of updates of a secret table while these statements run, one a transaction, in one session.
sub lengths_in
{
	my ($table, @statements) = @_;
	my $file = $node->safe_psql('postgres', "SELECT pg_relation_filenode('dp_counter_private.$table')");
	my @positions = split /\n/,
		$node->safe_psql('postgres', join ';', map { ($_, 'SELECT pg_current_wal_insert_lsn()') } 'SELECT', @statements);
	@positions = grep {m{/}} @positions;
	my ($out) = run_command([ 'pg_waldump', '-p', $node->data_dir . '/pg_wal', '-s', $positions[0], '-e', $positions[-1] ]);
	return [ map { m{len \(rec/tot\):\s*(\d+)/\s*\1,.*UPDATE.*/$file\b} ? $1 : () } split /\n/, $out ];
}

# Of events, while these numbers are recorded.
sub lengths
{
	my (@events) = @_;
	my $counter = "c$events[0]_" . scalar @events;
	$node->safe_psql('postgres', "SELECT dp_event_counter_create('$counter', 1); SELECT dp_counter_record('$counter', 0)");
	return lengths_in('events', map {"SELECT dp_counter_record('$counter', $_)"} @events);
}

# Across bytes that change, carry and stay; few enough for one page.
my @numbers = (0, 1, 254, 1, 255, 256, 0, 65535, 1, 16777216, 2147483647, 0, 2147483647, 1);
my $updates = lengths(@numbers);
is(scalar @$updates, scalar @numbers, 'every recording makes one row version, of 0 events too');
my %lengths = map { $_ => 1 } @$updates;
is(scalar keys %lengths, 1, 'logged in records of one length') or diag("lengths @$updates");
is_deeply(lengths((0) x 12), lengths((1) x 12), 'as many and as long for 0 as for 1');

# A tick stores the new total and noise. How long that is depends on the step, not on the events.
sub ticks
{
	my ($horizon, @events) = @_;
	my @ticked;
	$node->safe_psql('postgres', "SELECT dp_event_counter_create('ticked', 1, $horizon); CALL dp_tick('ticked')");
	foreach my $events (@events)
	{
		$node->safe_psql('postgres', "SELECT dp_counter_record('ticked', $events)");
		push @ticked, @{ lengths_in('streams', "CALL dp_tick('ticked')") };
	}
	$node->safe_psql('postgres', 'DROP VIEW ticked');
	return \@ticked;
}
foreach my $horizon ('NULL', 365)
{
	my $ticked = ticks($horizon, @numbers);
	is(scalar @$ticked, scalar @numbers, "every tick makes one row version, horizon $horizon");
	is_deeply($ticked, ticks($horizon, (0) x @numbers), 'logged in as many bytes for 0 as for any number');
}
$node->stop;
done_testing();
