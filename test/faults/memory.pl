# Many small partitions, and many queries that fail: a backend must not grow.
#
# usage: prove test/faults/memory.pl [:: SHARE]     1: 1,000,000 partitions a call and 100,000 failures; 0.01: less
#
# Needs the extension installed and a server that libpq's variables name, as a superuser.
use strict;
use warnings;
use Test::More;

my $share      = shift // 1;
my $partitions = 1_000_000 * $share;
my $failures   = 100_000 * $share;
my $database   = "dp_memory_$$";

my @calls = (
	"dp_running_count(t % 3 = 0, 1.0) OVER (PARTITION BY g ORDER BY t)",
	"dp_running_count(t % 3 = 0, 1.0, 3, 'subtraction', 1000000) OVER (PARTITION BY g ORDER BY t)",
	"dp_running_count(t % 3 = 0, 1.0, NULL, 'hat', 1000) OVER (PARTITION BY g ORDER BY t)",
	"dp_running_count(t % 3 = 0, 1.0, 19, 1000) OVER (PARTITION BY g ORDER BY t)",
);
my @groups = ( 'dp_running_count(t % 3 = 0, 1.0, 19, 1000)', 'dp_count(t % 3 = 0, 1.0)' );
my @wrong = (
	"SELECT dp_running_count(true, 1.0, 3, ''plain'', 2) OVER (ORDER BY t) FROM generate_series(1, 5) t",      # past the horizon
	"SELECT dp_running_count(true, 0.0) OVER ()",
	"SELECT dp_running_count(true, 1.0, mechanism => ''none'') OVER ()",
	"SELECT dp_running_count(true, 1.0 + t) OVER (ORDER BY t) FROM generate_series(1, 5) t",
	"SELECT dp_running_count(true, 1.0) OVER (ORDER BY t / 2) FROM generate_series(1, 5) t",              # rows tie
	"SELECT dp_running_count(true, 1.0, 3, 100) OVER (ORDER BY t ROWS 1 PRECEDING) FROM generate_series(1, 5) t",
	"SELECT dp_running_count(true, 1.0, 3, 100) FILTER (WHERE t > 1) FROM generate_series(1, 5) t",
	"SELECT dp_running_count(B''101'', 1.0) OVER ()",
	"SELECT dp_count(true, -1)",
	"SELECT dp_running_count(1 / (t - 3) > 0, 1.0) OVER (ORDER BY t) FROM generate_series(1, 5) t", # in the middle
	"SELECT dp_running_count(1 / (t - 3) > 0, 1.0, NULL, 100) FROM generate_series(1, 5) t",
);

sub psql {
	my ($db, $sql) = @_;
	my $file = "/tmp/dp_memory_$$.sql";
	open my $out, '>', $file or die;
	print $out $sql;
	close $out;
	my @lines = `psql -X -q -A -t -d $db -f $file 2>&1`;
	unlink $file;
	chomp @lines;
	return @lines;
}

psql( 'postgres', "CREATE DATABASE $database;" );
END { if ($database) { local $?; psql( 'postgres', "DROP DATABASE $database;" ) } }
psql( $database, 'CREATE EXTENSION dp_counter;' );

# What the process has asked for. (What is resident depends on the machine's huge pages and swap, too.)
my $memory = "SELECT 'kB ' || (regexp_match(pg_read_file('/proc/self/status'), 'VmData:\\s+(\\d+)'))[1];\n";
my $limits = "SET work_mem = '4MB'; SET jit = off; SET enable_hashagg = off; SET max_parallel_workers_per_gather = 0;\n";

# Runs `sql` ten times in one session; the backend's memory after the second time and at the end.
sub flat {
	my ( $name, $sql ) = @_;
	my $problem = '';
	my @kb;
	for ( psql( $database, $limits . ( $sql . $memory ) x 10 ) ) {
		if (/^kB (\d+)/) { push @kb, $1 }
		elsif (/ERROR/) { $problem = $_ }
	}
	is( $problem, '', "$name: no error" );
	BAIL_OUT('the session ended') if @kb < 10;
	cmp_ok( $kb[-1], '<=', $kb[1] + 1024, "$name: $kb[1] kB after a fifth, $kb[-1] kB at the end" );
}

my $tenth = int $partitions / 10;
for my $call (@calls) {
	flat( "$partitions partitions, $call", "SELECT 1
		WHERE (SELECT count(n) FROM (SELECT $call AS n FROM generate_series(1, $tenth) g, generate_series(1, 3) t) s) < 0;\n" );
}
for my $call (@groups) {
	flat( "$partitions groups, $call", "SELECT 1
		WHERE (SELECT count(n) FROM (SELECT $call AS n FROM generate_series(1, $tenth) g, generate_series(1, 3) t GROUP BY g) s) < 0;\n" );
}
# Within a query: one call for two budgets in turn, which keeps what it knows of the last one.
psql( $database, join '', map {"SELECT dp_budget_create('budget_$_', 1,
	'7 days');\nCREATE VIEW source_$_ AS SELECT 1 AS person, date '2024-01-01' AS at;\nSELECT dp_source_create('source_$_', 'budget_$_',
		'person', 'at', window_wise => true);\n"} 1, 2 );
my ( $few, $many ) = map { /^kB (\d+)/ ? $1 : () } psql( $database, join '',
	map {"SELECT count(dp_own_window(CASE n % 2 WHEN 0 THEN 'budget_1'::regclass ELSE 'budget_2' END, n, '2024-01-01'))
		FROM generate_series(1, $_) AS n;\n" . $memory =~ s/VmData/VmPeak/r} 1000, 300_000 );
cmp_ok( $many, '<=', $few + 16384, "windows of two budgets in turn: $few kB for 1000, $many kB for 300,000" );
my $rounds = int $failures / 10 / @wrong;
flat(
	"$failures failing queries, caught",
	"DO \$do\$ BEGIN FOR i IN 1 .. $rounds LOOP\n"
	  . join( '', map {"BEGIN EXECUTE '$_'; RAISE 'accepted' USING ERRCODE = 'DP001'; EXCEPTION WHEN SQLSTATE 'DP001' THEN RAISE; WHEN OTHERS THEN NULL; END;\n"} @wrong )
	  . "END LOOP; END \$do\$;\n"
);
my $top = int $failures / 100 / @wrong;
my @answers = psql( $database, "\\set VERBOSITY sqlstate\n" . ( ( join( ";\n", map {s/''/'/gr} @wrong ) . ";\n" ) x $top . $memory ) x 10 );
my @kb = map { /^kB (\d+)/ ? $1 : () } @answers;
is( scalar( grep {/ERROR/} @answers ), $top * 10 * @wrong, 'queries that fail at top level all do' );
cmp_ok( $kb[-1], '<=', $kb[1] + 1024, "and leave nothing behind: $kb[1] kB after a fifth, $kb[-1] kB at the end" );
done_testing;
