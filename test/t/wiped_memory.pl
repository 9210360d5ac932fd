# State is wiped from a backend's memory when its query ends: the backend reads out its own memory, and the
# state of a stream is looked for in it.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'needs /proc/self/mem' unless -e '/proc/self/mem';
my $node = new_node('wiped', is_fresh => 1);
my $readable = $node->psql('postgres', q{SELECT pg_read_binary_file('/proc/self/mem',
	('x' || lpad(split_part(line, '-', 1), 16, '0'))::bit(64)::bigint, 4096)
	FROM regexp_split_to_table(pg_read_file('/proc/self/maps'), E'\n') AS line WHERE line ~ '\[heap\]'}, stdout => \my $heap);
unless ($readable == 0 && $heap)
{
	$node->stop;
	plan skip_all => 'a process cannot read its memory here';
}
$node->safe_psql('postgres', 'CREATE TABLE visits AS SELECT t, t <= 41234 AS flu FROM generate_series(1, 60000) t');

# At row 50,000 the state of a stream holds these two numbers, the second with 128 bits and aligned to them. Nothing
# else may, by chance or not: epsilon is large, so that the release is always the count, and the queries give it before
# the row's number.
my ($step, $total) = (pack('q<', 50_000), pack('q<q<', 41_234, 0));
my $state = qr/\Q$step\E.{8}\Q$total\E/s;
# Its noise is drawn until one of the 31 rows that follow, and planned until the end: these two numbers stand beside it.
# (The server itself has 50,000 and 50,001 beside the end.)
my $noise = qr/[\x52-\x6f]\xc3\0{6}\Q${\ pack 'q<', 60_000}\E/;

# The memory of a session that has run this, in small pieces: one that is partly gone by the time it is read is an error.
sub memory_after
{
	my ($sql) = @_;
	my $dump = q{
		SELECT format('SELECT encode(pg_read_binary_file(''/proc/self/mem'', %s, %s), ''hex'');', begin, least(size, finish - begin))
		FROM (SELECT regexp_split_to_table(pg_read_file('/proc/self/maps'), E'\n') AS line) AS lines,
		     LATERAL (SELECT ('x' || lpad(split_part(split_part(line, ' ', 1), '-', 1), 16, '0'))::bit(64)::bigint AS start,
		                     ('x' || lpad(split_part(split_part(line, ' ', 1), '-', 2), 16, '0'))::bit(64)::bigint AS finish,
		                     64 * 1024::bigint AS size) AS region,
		     LATERAL generate_series(start, finish - 1, size) AS begin
		WHERE line ~ ' rw-p ' AND line !~ 'stack|vvar|\.so'
		\gexec
	};
	my $file = $node->basedir . '/memory'; # psql writes it much faster than a pipe is read here
	$node->psql('postgres', "$sql;\n\\o $file\n$dump", on_error_stop => 0, on_error_die => 0);
	my $memory = join '', map { /^[0-9a-f]{1000,}$/ ? pack('H*', $_) : () } split /\n/, slurp_file($file);
	cmp_ok(length $memory, '>', 1_000_000, 'read ' . length($memory) . ' bytes of memory');
	return $memory;
}

# How often what matches is in it.
sub copies_after
{
	my ($sql, $pattern) = @_;
	$pattern //= $state;
	return scalar(() = memory_after($sql) =~ /$pattern/gs);
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
	next if $name eq 'without a horizon';
	cmp_ok(copies_after($open, $noise), '>', 0, "$name: the noise of an open query is found");
	is(copies_after("$open; CLOSE c; COMMIT", $noise), 0, "$name: not that of a closed one");
	is(copies_after("SELECT count(n), count(1 / (t - 50000)) FROM ($query) s", $noise), 0, "$name: nor that of one that failed") ;
	is(copies_after("SELECT count(n) FROM ($query LIMIT 50000) s", $noise), 0, "$name: nor that of one that ended early");
}

# --- the source of random bits
my ($lockable) = $node->safe_psql('postgres', q{SELECT pg_read_file('/proc/self/limits')}) =~ /Max locked memory +(\w+)/;
my $flags    = ($lockable eq 'unlimited' || $lockable >= 1 << 16 ? ' lo .*' : '') . ' dd( |$)';
my $undumped = "SELECT count(*) FROM regexp_split_to_table(pg_read_file('/proc/self/smaps'), E'\\n') AS line
	WHERE line ~ '^VmFlags:.*$flags'";
my ($before, $after) = split /\n/, $node->safe_psql('postgres', "$undumped;\nSELECT dp_laplace(1, 1.0, 1) \\g /dev/null\n$undumped");
cmp_ok($after, '>', $before, 'once there is a key of random bits, its memory is locked, where it may be, and kept out of core dumps');

# --- a live counter: events that wait for the end of their transaction
my @counters = map {"c$_"} 0 .. 12;
$node->safe_psql('postgres', join ';', map {"SELECT dp_event_counter_create('$_', 1e-3)"} @counters);
my $c0 = $node->safe_psql('postgres', q{SELECT 'c0'::regclass::oid});
my $number = $node->safe_psql('postgres', q{SELECT number FROM dp_counter_private.counters WHERE counter = 'c0'::regclass});
sub pending { my ($level, $events) = @_; return qr/\Q${\ pack 'L', $c0}\E.{4}\Q${\ pack 'qll', $number, $level, $events}\E/s; }
my $record = 'SELECT dp_counter_record($$c0$$, 41234)';
is(copies_after("BEGIN; $record", pending(1, 41_234)), 1, 'events of an open transaction are found');
is(copies_after("BEGIN; $record; COMMIT", pending(1, 41_234)), 0, 'not those of one that is committed');
is(copies_after("BEGIN; $record; ROLLBACK", pending(1, 41_234)), 0, 'nor of one that is rolled back');
is(copies_after("BEGIN; SAVEPOINT s; $record", pending(2, 41_234)), 1, 'those of a subtransaction are found');
is(copies_after("BEGIN; SAVEPOINT s; $record; RELEASE s", pending(2, 41_234)), 0, 'not when it is merged');
is(copies_after("BEGIN; SAVEPOINT s; $record; ROLLBACK TO s", pending(2, 41_234)), 0, 'nor when it is rolled back');
is(copies_after("BEGIN; $record; " . join(';', map {"SELECT dp_counter_record('$_', 1)"} @counters[ 1 .. 12 ]), pending(1, 41_234)), 1,
	'one copy where they had to move to a larger block');

# --- a total, in the form that its row has: head, total, carries, tail. Subtransactions fill the transaction's memory first: what
# comes next does not use it again at once.
my ($slot) = map { qr/[\0\1]\0{7}\Q${\ pack 'qq', $_, 0}\E[\0\1]/ } $node->safe_psql('postgres',
	q{UPDATE dp_counter_private.events SET total = 1234567890123
		WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter = 'c0'::regclass);
		SELECT 1234567890123 + 100 * 41234});
cmp_ok(copies_after('CREATE TEMP TABLE peek AS SELECT head, total + 100 * 41234, carries, tail FROM dp_counter_private.events',
	$slot), '>', 0,
	'a total is found');
is(copies_after('BEGIN;' . "SAVEPOINT s; $record;" x 100 . 'COMMIT', $slot), 0, 'none where it was recorded');

# --- the state, in the session that ticks: any 16 bytes of it that are noise, or its checksum
sub pieces_of { my ($state) = @_; return grep { tr/\0\xff//c > 8 } map { substr $state, $_,
	16 } grep { $_ >= 64 } 0 .. length($state) - 16 }
sub copies_of_state
{
	my ($name, $sql) = @_;
	my $file = $node->data_dir . "/state_$name";
	my $store = "\\! psql -XAt -d '" . $node->connstr('postgres')
		. "' -c \"SELECT encode(state, 'hex') FROM dp_counter_private.streams JOIN dp_counter_private.counters USING (number) WHERE counter = '$name'::regclass\" > $file";
	# Another session reads the state before this one's memory is looked at; what to look for is known after both.
	my $memory = memory_after("$sql;\n$store\n");
	my $stored = pack 'H*', (split /\n/, slurp_file($file))[0];
	my @pieces = pieces_of($stored);
	cmp_ok(scalar @pieces, '>', 16, "$name: a state with something in it");
	my $any = join '|', map {quotemeta} @pieces;
	return scalar(() = $memory =~ /$any/gs);
}
for my $horizon (1000, 5000, 'NULL')
{
	my $name = lc "t$horizon";
	$node->safe_psql('postgres', "SELECT dp_event_counter_create('$name', 1e-8, $horizon); SELECT dp_counter_record('$name', 41234)");
	$node->safe_psql('postgres', "CALL dp_tick('$name')") for 1 .. 13;
	my $copy = "CREATE TEMP TABLE peek AS SELECT state FROM dp_counter_private.streams JOIN dp_counter_private.counters
		USING (number) WHERE counter = '$name'::regclass";
	cmp_ok(copies_of_state($name, $copy), '>', 0, "$name: a state is found");
	is(copies_of_state($name, "CALL dp_tick('$name')"), 0, "$name: not where it was used");
	is(copies_of_state($name, "CALL dp_tick('$name')"), 0, "$name: nor in its next epoch");
}

# --- a tick of a source: the count of a cell, which is in no row, and the event of a person, by its cell; what a report has counted
$node->safe_psql('postgres', q{
	SELECT dp_budget_create('budget', 10);
	CREATE TABLE stays (patient integer, at timestamp, place integer, cents integer);
	CREATE VIEW stays_dp AS SELECT * FROM stays;
	SELECT dp_source_create('stays_dp', 'budget', 'patient', 'at', 'UTC');
	SELECT dp_counter_create(name, 'stays_dp', 1, '1 day', '2025-01-01', 1, per_person => 10000, sum => 'cents', upper => 40000,
		by => 'place', groups => (SELECT array_agg(i::text) FROM generate_series(1, 8000) AS i))
	FROM unnest('{ticked,failed}'::text[]) AS name;
	SELECT dp_counter_create('flows', 'stays_dp', 1, '1 day', '2025-01-01', 1, per_person => 10000, sum => 'cents', upper => 40000,
		by => 'place', groups => (SELECT array_agg(i::text) FROM generate_series(1, 8000) AS i), cumulative => false);
	SELECT dp_counter_create(name, 'stays_dp', 1, '1 day', '2025-01-01', 1, per_person => 10000, avg => 'cents', upper => 70000,
		by => 'place', groups => (SELECT array_agg(i::text) FROM generate_series(1, 8000) AS i), cumulative => name = 'means')
	FROM unnest('{means,mean_flows}'::text[]) AS name;
	INSERT INTO stays SELECT i, '2025-01-01', 8000, CASE WHEN i < 30865 THEN 40000 ELSE 7891 END FROM generate_series(1, 30865) AS i;
	INSERT INTO stays SELECT 40000, '2025-01-01', 1 + i, 20000 + i FROM generate_series(1, 7900) AS i});
my $cell = qr/\Q${\ pack 'q<q<', 1_234_567_891, 0}\E/;
my $rest = qr/\Q${\ pack 'q<q<', 30_865 * 70_000 - 1_234_567_891, 0}\E/; # the second number of the average
my $event = join '|', map { quotemeta pack 'q<q<', $_ + 1, 20_000 + $_ } 1 .. 7900; # its group and value
for my $secret ([ 'the count of a cell', '1234567891::bigint, 0::bigint', $cell ], [ 'the rest', '925982109::bigint, 0::bigint',
	$rest ], [ 'an event', '78::bigint, 20077::bigint', $event ])
{
	my ($name, $values, $pattern) = @$secret;
	cmp_ok(copies_after("CREATE TEMP TABLE peek AS SELECT v.* FROM (VALUES ($values)) AS v, generate_series(1, 100)", $pattern),
		'>', 0, "$name is found");
}
for my $counter (qw(flows means mean_flows ticked failed))
{
	my $memory = memory_after("CALL dp_tick('$counter')");
	is($node->safe_psql('postgres', "SELECT count(*) FROM $counter"), $counter eq 'failed' ? 0 : 8000, "a tick of a source: $counter");
	is(scalar(() = $memory =~ /$cell|$rest/g), 0, 'leaves no count');
	is(scalar(() = $memory =~ /$event/g), 0, 'and no event');
	next if $counter =~ /flows|means/;
	$node->safe_psql('postgres', q{CREATE OR REPLACE VIEW stays_dp AS SELECT patient, at, place, cents / CASE WHEN patient < 50000
		THEN 1 ELSE 0 END AS cents FROM stays;
		INSERT INTO stays VALUES (60000, '2025-01-01', 1, 1)});
}

# --- the same in the memory of the worker, which reads it out itself: in the view of a counter that is ticked after the
# others, by a function that its owner, a superuser, calls STABLE, with functions of the owner's, since PostgreSQL's are VOLATILE
$node->safe_psql('postgres', q{
	CREATE FUNCTION read_file(text) RETURNS text LANGUAGE internal STABLE AS 'pg_read_file_all';
	CREATE FUNCTION read_bytes(text, bigint, bigint) RETURNS bytea LANGUAGE internal STABLE AS 'pg_read_binary_file_off_len';
	CREATE FUNCTION peek(kept bigint[]) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
	DECLARE
		region record;
		size constant bigint := 1024 * 1024;
		begins bigint;
	BEGIN
		FOR region IN SELECT ('x' || lpad(split_part(split_part(line, ' ', 1), '-', 1), 16, '0'))::bit(64)::bigint AS start,
			('x' || lpad(split_part(split_part(line, ' ', 1), '-', 2), 16, '0'))::bit(64)::bigint AS finish
			FROM regexp_split_to_table(public.read_file('/proc/self/maps'), E'\n') AS line WHERE line ~ ' rw-p ' AND line !~ 'stack|vvar|\.so'
		LOOP
			FOR begins IN SELECT generate_series(region.start, region.finish - 1, size) LOOP
				RAISE NOTICE '%', encode(public.read_bytes('/proc/self/mem', begins, least(size, region.finish - begins)), 'hex');
			END LOOP;
		END LOOP;
		RETURN true;
	END $$;
	CREATE TABLE once AS SELECT 1 AS person, timestamp '2025-01-01 12:00' AS at;
	CREATE VIEW peeking AS SELECT *, peek(NULL) AS seen, peek(ARRAY[1234567890 + person::bigint, 0, 0]) AS kept FROM once;
	SELECT dp_source_create('peeking', 'budget', 'person', 'at', 'UTC', person_wise => true);
});
my $peeks = 0;
# The memory of a worker that has ticked all counters that are due.
sub memory_of_worker
{
	my ($event) = @_;
	my $counter = 'peek' . ++$peeks;
	$node->safe_psql('postgres', "SELECT dp_counter_create('$counter', 'peeking', 0.1, '1 day', '2025-01-01', 1, event => '$event',
		per_person => 1)");
	$node->psql('postgres', 'CALL dp_tick()', stderr => \my $told);
	my $memory = join '', map { /^(?:psql:.*?: )?NOTICE:  ([0-9a-f]{1000,})$/ ? pack('H*', $1) : () } split /\n/, $told;
	cmp_ok(length $memory, '>', 1_000_000, 'read ' . length($memory) . ' bytes of memory of a worker');
	return ($memory, $told =~ s/NOTICE:  [0-9a-f]{1000,}\n//gr);
}
my ($memory, $told) = memory_of_worker('kept');
cmp_ok(scalar(() = $memory =~ /$cell/g), '>', 0, 'what a worker has is found');
$node->safe_psql('postgres', q{
	CREATE OR REPLACE VIEW stays_dp AS SELECT patient, at, place, cents FROM stays;
	DELETE FROM stays WHERE patient = 60000;
	SELECT dp_counter_create('of_worker_' || name, 'stays_dp', 0.1, '1 day', '2025-01-01', 1, per_person => 10000, sum => 'cents',
		upper => 40000, by => 'place', groups => (SELECT array_agg(i::text) FROM generate_series(1, 8000) AS i), cumulative => name = 'ticked')
	FROM unnest('{ticked,flows}'::text[]) AS name;
	SELECT dp_counter_create('of_worker_means', 'stays_dp', 0.1, '1 day', '2025-01-01', 1, per_person => 10000, avg => 'cents',
		upper => 70000, by => 'place', groups => (SELECT array_agg(i::text) FROM generate_series(1, 8000) AS i));
	SELECT dp_counter_create('of_worker_state', 'stays_dp', 1e-8, '1 day', '2025-01-01', 5000, per_person => 1);
});
sub is_wiped
{
	my ($memory, $name) = @_;
	is(scalar(() = $memory =~ /$cell|$rest/g), 0, "$name: no count is left in the worker");
	is(scalar(() = $memory =~ /$event/g), 0, 'and no event');
	return;
}
($memory, $told) = memory_of_worker('seen');
like($told, qr/of_worker_$_: /, "a worker has ticked $_") for qw(ticked flows means state);
is_wiped($memory, 'after them');
my $pieces = $node->safe_psql('postgres', q{SELECT encode(state, 'hex') FROM dp_counter_private.streams
	JOIN dp_counter_private.counters USING (number) WHERE counter = 'of_worker_state'::regclass});
my @pieces = pieces_of(pack 'H*', $pieces);
cmp_ok(scalar @pieces, '>', 16, 'a state with something in it');
my $any = join '|', map {quotemeta} @pieces;
is(scalar(() = $memory =~ /$any/g), 0, 'nor of a state');
$node->safe_psql('postgres', q{
	CREATE OR REPLACE VIEW stays_dp AS SELECT patient, at, place, cents / CASE WHEN patient < 50000 THEN 1 ELSE 0 END AS cents FROM stays;
	INSERT INTO stays VALUES (60000, '2025-01-01', 1, 1);
	SELECT dp_counter_create('of_worker_failed', 'stays_dp', 0.1, '1 day', '2025-01-01', 1, per_person => 10000, sum => 'cents',
		upper => 40000, by => 'place', groups => (SELECT array_agg(i::text) FROM generate_series(1, 8000) AS i))});
($memory, $told) = memory_of_worker('seen');
like($told, qr/WARNING:  of_worker_failed: /, 'one has failed');
is_wiped($memory, 'after it');

$node->safe_psql('postgres', q{TRUNCATE stays;
	INSERT INTO stays SELECT patient, '2025-01-01' FROM generate_series(1, 12345) AS patient, generate_series(1, 3);
	INSERT INTO stays SELECT -patient, '2025-01-01' FROM generate_series(1, 23) AS patient, generate_series(1, 4)});
my $histogram = qr/\Q${\ pack 'q<q<q<q<', 12_345, 0, 23, 0}\E/;
cmp_ok(copies_after('CREATE TEMP TABLE peek AS SELECT v.* FROM (VALUES (12345::bigint, 0::bigint, 23::bigint, 0::bigint)) AS v,
	generate_series(1, 100)', $histogram), '>', 0, 'a histogram is found');
is(copies_after(q{CALL dp_source_contributions('stays_dp', 'report', 1e-3, most => 10)}, $histogram), 0, 'none that a report has made');
is($node->safe_psql('postgres', 'SELECT count(*) FROM report'), 11, 'which is there');
$node->safe_psql('postgres', q{INSERT INTO stays SELECT 20000 + 1000 * most + i, '2025-01-01'
	FROM unnest('{5,6,7,9,11,13,18,22,28,35,45,60}'::integer[]) AS most,
	generate_series(1, 40 + most) AS i, generate_series(1, most)});
my @above = split /\n/, $node->safe_psql('postgres', q{SELECT count(*) FILTER (WHERE most > c)
	FROM unnest('{1,2,3,4,5,6,8,10,12,15,20,25,30,40,50}'::integer[]) AS c,
	(SELECT count(*) AS most FROM stays GROUP BY patient) AS p GROUP BY c ORDER BY c});
my $above = join '|', map { quotemeta pack 'q<q<q<q<', @above[ $_ .. $_ + 3 ] } 0 .. $#above - 3;
cmp_ok(copies_after("CREATE TEMP TABLE peek AS SELECT v.* FROM (VALUES (" . join(', ', map {"$_\::bigint"} @above)
	. ')) AS v, generate_series(1, 100)', qr/$above/), '>', 0, 'units above bounds are found');
is(copies_after(q{CALL dp_source_suggest('stays_dp', 'suggested', 1e-3, 1, '1 day', since => '2025-01-01', until => '2025-01-02')},
	qr/$above/), 0, 'none that a suggestion has counted');
is($node->safe_psql('postgres', 'SELECT count(*) FROM suggested'), 1, 'which is there');
$node->stop;
done_testing;
