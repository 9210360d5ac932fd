# State is wiped from a backend's memory when its query ends: the backend reads out its own memory, and the
# state of a stream is looked for in it.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use LiveCounters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'needs /proc/self/mem' unless -e '/proc/self/mem';
my $node = new_node('wiped');
my $readable = $node->psql('postgres', q{SELECT pg_read_binary_file('/proc/self/mem', ('x' || lpad(split_part(line, '-', 1), 16, '0'))::bit(64)::bigint, 4096)
	FROM regexp_split_to_table(pg_read_file('/proc/self/maps'), E'\n') AS line WHERE line ~ '\[heap\]'}, stdout => \my $heap);
unless ($readable == 0 && $heap)
{
	$node->stop;
	plan skip_all => 'a process cannot read its memory here';
}
$node->safe_psql('postgres', 'CREATE TABLE visits AS SELECT t, t <= 41234 AS flu FROM generate_series(1, 60000) t');

# At row 50,000 the state of a stream holds these two numbers side by side. Nothing else may, by chance or not: epsilon is
# large, so that the release is always the count, and the queries give it before the row's number.
my $state = pack('q<q<', 50_000, 41_234);

# How often it is in the memory of a session that has run this.
sub copies_after
{
	my ($sql) = @_;
	my $dump = q{
		SELECT format('SELECT encode(pg_read_binary_file(''/proc/self/mem'', %s, %s), ''hex'');', begin, least(size, finish - begin))
		FROM (SELECT regexp_split_to_table(pg_read_file('/proc/self/maps'), E'\n') AS line) AS lines,
		     LATERAL (SELECT ('x' || lpad(split_part(split_part(line, ' ', 1), '-', 1), 16, '0'))::bit(64)::bigint AS start,
		                     ('x' || lpad(split_part(split_part(line, ' ', 1), '-', 2), 16, '0'))::bit(64)::bigint AS finish,
		                     4 * 1024 * 1024::bigint AS size) AS region,
		     LATERAL generate_series(start, finish - 1, size) AS begin
		WHERE line ~ ' rw-p ' AND line !~ 'stack|vvar|\.so'
		\gexec
	};
	my ($status, $out) = $node->psql('postgres', "$sql;\n$dump", on_error_stop => 0, on_error_die => 0);
	my $bytes = 0;
	my $copies = 0;
	for (split /\n/, $out)
	{
		next unless /^[0-9a-f]{1000,}$/;
		my $memory = pack 'H*', $_;
		$bytes += length $memory;
		++$copies while $memory =~ /\Q$state\E/g;
	}
	cmp_ok($bytes, '>', 1_000_000, "read $bytes bytes of memory");
	return $copies;
}

my %calls = (
	'window function' => 'dp_running_count(flu, 1e6) OVER (ORDER BY t)',
	'hats' => "dp_running_count(flu, 1e6, NULL, 'hat', 60000) OVER (ORDER BY t)",
	'aggregate' => 'dp_running_count(flu, 1e6, 19, 60000) OVER (ORDER BY t)',
	'without a horizon' => 'dp_running_count(flu, 1e6, NULL, NULL::bigint) OVER (ORDER BY t)',
);
for my $name (sort keys %calls)
{
	my $query = "SELECT $calls{$name} AS n, t FROM visits";
	my $open = "BEGIN; DECLARE c CURSOR FOR $query; MOVE 50000 IN c";
	cmp_ok(copies_after($open), '>', 0, "$name: the state of an open query is found");
	is(copies_after("$open; CLOSE c; COMMIT"), 0, "$name: not that of a closed one");
	is(copies_after("SELECT count(n), count(1 / (t - 50000)) FROM ($query) s"), 0, "$name: nor that of one that failed") ;
	is(copies_after("SELECT count(n) FROM ($query LIMIT 50000) s"), 0, "$name: nor that of one that ended early");
}
$node->stop;
done_testing;
