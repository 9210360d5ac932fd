# Cancels queries at random instants, thousands of times over. The backend must survive, stay small and
# count right afterwards.
#
# usage: prove test/faults/cancel.pl [:: CANCELS]     10,000 cancels
#
# Needs the extension installed and a server that libpq's variables name, as a superuser.
use strict;
use warnings;
use IPC::Open2;
use Test::More;

my $cancels  = shift // 10_000;
my $database = "dp_cancel_$$";

# Queries of some milliseconds, with noise, plans and samplers that no cache has seen before.
my @queries = (
	'SELECT sum(n) FROM (SELECT dp_running_count(b, 1.0) OVER (ORDER BY t) n FROM bits) s',
	'SELECT sum(n) FROM (SELECT dp_running_count(b, (SELECT 1 + random()), NULL, MECHANISM::text,
		(SELECT 1000000 + (random() * 1e6)::int)) OVER (PARTITION BY t % 97 ORDER BY t) n FROM (SELECT * FROM bits LIMIT 500) b) s',
	'SELECT sum(n) FROM (SELECT dp_running_count(b, 1.0, 5, MECHANISM) OVER (PARTITION BY t % 100 ORDER BY t) n FROM bits) s',
	'SELECT sum(n) FROM (SELECT dp_running_count(b, 1.0, 19, 100000::bigint) OVER (ORDER BY t) n FROM bits) s',
	'SELECT sum(n) FROM (SELECT dp_running_count(b, 0.5, NULL, 100000::bigint) n FROM bits GROUP BY t % 500) s',
	'SELECT sum(n) FROM (SELECT dp_count(b, 1.0) n FROM bits GROUP BY t % 5000) s',
	'SELECT sum(n) FROM (SELECT dp_running_count(b, (SELECT 1e-9 * (1 + random())), 65535) OVER (PARTITION BY t % 3 ORDER BY t) n
		FROM (SELECT * FROM bits LIMIT 300) b) s',
);
my @mechanisms = ( "'subtraction'", "'plain'", "'hat'" );

sub psql { my ( $db, $sql ) = @_; my $answer = `psql -X -A -t -q -d $db -c "$sql" 2>&1`; chomp $answer; return $answer }

psql( 'postgres', "CREATE DATABASE $database" );
END { if ($database) { local $?; psql( 'postgres', "DROP DATABASE $database WITH (FORCE)" ) } }
psql( $database, 'CREATE EXTENSION dp_counter' );
psql( $database, 'CREATE TABLE bits AS SELECT t, t % 3 = 0 AS b FROM generate_series(1, 10000) t; ANALYZE bits' );

# The victim: a session that we talk to.
my $pid = open2( my $from, my $to, "psql -X -A -t -q -d $database 2>&1" );
$to->autoflush(1);
my $asked = 0;

sub ask {
	my ($sql) = @_;
	++$asked;
	print $to "$sql;\n\\echo #$asked :SQLSTATE\n";
	my @answer;
	while (<$from>) {
		return ( $1, @answer ) if /^#$asked (\S+)/;
		chomp;
		push @answer, $_;
	}
	return ( 'gone', @answer );
}
# What the process has asked for. (What is resident depends on the machine's huge pages and swap, too.)
sub memory { return ( ask(q{SELECT (regexp_match(pg_read_file('/proc/self/status'), 'VmData:\s+(\d+)'))[1]}) )[1] }

my $backend = ( ask('SELECT pg_backend_pid()') )[1];

# Every query once to its end: what is kept, and the most that one takes at a time, is there before it is measured.
for my $query (@queries) {
	for my $mechanism (@mechanisms) { ask( $query =~ s/MECHANISM/$mechanism/r ) }
}

# Another session shoots at it, at random instants, until there is nobody left.
my $shooter = fork // die;
if ( $shooter == 0 ) {
	exec 'psql', '-X', '-q', '-d', $database, '-c',
	  "DO \$\$ BEGIN SET client_min_messages = error; WHILE pg_cancel_backend($backend) LOOP PERFORM pg_sleep(random() * 0.012); END LOOP; END \$\$";
}

my ( %states, $before );
my $shots = 0;
while ( $shots < $cancels ) {
	my $mechanism = $mechanisms[ int rand @mechanisms ];
	my ( $state, @answer ) = ask( $queries[ int rand @queries ] =~ s/MECHANISM/$mechanism/r );
	last if $state eq 'gone';
	$states{$state}++;
	++$shots if $state eq '57014';
	if ( !defined $before && $shots >= $cancels / 4 ) { # which may be canceled itself
		$before = memory() until defined $before && $before =~ /^\d+$/;
	}
}
kill 'TERM', $shooter;
waitpid $shooter, 0;
my $shooters = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'DO %pg_cancel_backend%'
	AND datname = '$database'";
for ( 1 .. 1800 ) {
	last if psql( 'postgres', $shooters ) eq '0';
	select undef, undef, undef, 0.1;
}
ask('SELECT 1'); # meets the last shot, if that is still under way

note join ', ', map {"$_: $states{$_}"} sort keys %states;
is( join( ' ', grep { !/^(00000|57014)$/ } sort keys %states ), '', "$shots queries canceled, the rest answered" );
cmp_ok( $shots, '>=', $cancels, 'as many as meant' );
my $after = memory();
cmp_ok( $after, '<', $before + 4096, "the backend did not grow: $before kB after a quarter, $after kB at the end" );
is( ( ask('SELECT bool_and(n = truth) FROM (SELECT dp_running_count(b, 1e9) OVER (ORDER BY t) n,
	sum(b::int) OVER (ORDER BY t) truth FROM bits) s') )[1],
	't', 'the session still counts right' );
is( ( ask('SELECT pg_backend_pid()') )[1], $backend, 'and is the same' );
print $to "\\q\n";
waitpid $pid, 0;
done_testing;
