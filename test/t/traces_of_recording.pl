# The write-ahead log of a recording does not tell how many events it records: its position, which every role may ask for, is
# the same after 0, 1 or many events, and so is the number of row versions.
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
my $file = $node->safe_psql('postgres', "SELECT pg_relation_filenode('dp_counter_private.events')");

# The log records of updates of events while these numbers are recorded, one a transaction, in one session: their lengths, and
# the lengths of all records of a transaction.
sub lengths
{
	my (@events) = @_;
	my $counter = "c$events[0]_" . scalar @events;
	$node->safe_psql('postgres', "SELECT dp_event_counter_create('$counter', 1)");
	my @positions = split /\n/, $node->safe_psql('postgres', "SELECT dp_counter_record('$counter', 0);"
		. join('', map {"SELECT pg_current_wal_insert_lsn(); SELECT dp_counter_record('$counter', $_);"} @events)
		. 'SELECT pg_current_wal_insert_lsn()');
	@positions = grep {m{/}} @positions;
	my ($out) = run_command([ 'pg_waldump', '-p', $node->data_dir . '/pg_wal', '-s', $positions[0], '-e', $positions[-1] ]);
	my @updates = map { m{len \(rec/tot\):\s*(\d+)/\s*\1,.*UPDATE.*/$file\b} ? $1 : () } split /\n/, $out;
	return \@updates;
}

# Across bytes that change, carry and stay; few enough for one page.
my @numbers = (0, 1, 254, 1, 255, 256, 0, 65535, 1, 16777216, 2147483647, 0, 2147483647, 1);
my $updates = lengths(@numbers);
is(scalar @$updates, scalar @numbers, 'every recording makes one row version, of 0 events too');
my %lengths = map { $_ => 1 } @$updates;
is(scalar keys %lengths, 1, 'logged in records of one length') or diag("lengths @$updates");
is_deeply(lengths((0) x 12), lengths((1) x 12), 'as many and as long for 0 as for 1');
$node->stop;
done_testing();
