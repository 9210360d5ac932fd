# What an attack on workers found: sessions that do not end.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('attacks', conf => "autovacuum = off\n");
sub sql { return $node->safe_psql('postgres', $_[0], extra_params => [ '-U', $_[1] // 'postgres' ]) }

sql(q{
	CREATE ROLE steward LOGIN; CREATE ROLE clock LOGIN;
	CREATE SCHEMA hospital AUTHORIZATION steward; GRANT USAGE ON SCHEMA hospital TO PUBLIC;
});
sql(unguarded_functions());
sql(q{
	SELECT dp_budget_create('hospital.b', 1e12);
	CREATE TABLE hospital.visits AS SELECT 1 AS person, timestamp '2025-01-01 12:00' AS at;
}, 'steward');

# A counter whose events are the rows for which this is true.
my $counters = 0;
sub counter
{
	my ($event) = @_;
	my $name = 'c' . ++$counters;
	sql(qq{
		CREATE VIEW hospital.${name}_dp AS SELECT person, at, $event AS event FROM hospital.visits;
		SELECT dp_source_create('hospital.${name}_dp', 'hospital.b', 'person', 'at', 'UTC', person_wise => true);
		SELECT dp_counter_create('hospital.$name', epsilon => 1e9, horizon => 1, source => 'hospital.${name}_dp', event => 'event',
			every => '1 day', since => '2025-01-01', per_person => 1);
		GRANT UPDATE ON hospital.$name TO clock}, 'steward');
	return "hospital.$name";
}
sub tick { return failure($node, "CALL dp_tick('$_[0]')", user => $_[1] // 'steward') }

# --- functions with options, which PostgreSQL looks up in another way
sql(q{CREATE FUNCTION hospital.own() RETURNS boolean LANGUAGE plpgsql STABLE SECURITY DEFINER
	SET work_mem = '1MB' AS 'BEGIN RETURN true; END'}, 'steward');
is(tick(counter('hospital.own()')), '', 'an owner\'s function may be SECURITY DEFINER and have settings');

# --- cursors that a function leaves open: the commit would run the rest of one that is pinned, as whoever ticks
sub loot { return sql('SELECT count(*) FROM hospital.loot') }
sql(q{
	CREATE TABLE hospital.loot (who name);
	GRANT INSERT ON hospital.loot TO PUBLIC;
	CREATE FUNCTION hospital.evil() RETURNS integer LANGUAGE plpgsql VOLATILE AS
		'BEGIN INSERT INTO hospital.loot VALUES (current_user); RETURN 1; END';
	CREATE FUNCTION hospital.forgets() RETURNS boolean LANGUAGE plpgsql STABLE AS
		'DECLARE c refcursor; n integer; BEGIN OPEN c FOR SELECT 1; FETCH c INTO n; RETURN n = 1; END';
}, 'steward');
is(tick(counter('hospital.forgets()')), '', 'a function may forget to close a cursor');
my $pinned;
SKIP:
{
	skip 'PL/Perl is not installed', 5 if sql(q{SELECT count(*) FROM pg_available_extensions WHERE name = 'plperl'}) eq '0';
	sql('CREATE EXTENSION plperl');
	sql(q{CREATE FUNCTION hospital.pins() RETURNS boolean LANGUAGE plperl STABLE AS
		'$_SHARED{cursor} //= spi_query("SELECT hospital.evil()"); return 1'}, 'steward');
	$pinned = counter('hospital.pins()');
	like(tick($pinned, $_), qr/pinned portal|could not evaluate/, "one that a function of PL/Perl keeps is an error for $_") for 'steward', 'clock',
		'postgres';
	is(loot(), 0, 'and its query is not run');
	# Not compiled here: this session would run the block, too.
	sql(q{SET check_function_bodies = off;
		CREATE FUNCTION hospital.ends() RETURNS boolean LANGUAGE plperl STABLE AS 'END { while (1) { } } return 1'}, 'steward');
	is(tick(counter('hospital.ends()')), '', 'an END block of PL/Perl is not run: the call comes back');
}

# --- errors at the worker's commit, where foreign servers commit, too, with any SQLSTATE
sql(q{
	CREATE EXTENSION postgres_fdw;
	GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw TO steward;
});
sql("CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '" . $node->host . "', port '" . $node->port
	. "', dbname 'postgres')", 'steward');
sql(q{CREATE USER MAPPING FOR steward SERVER far OPTIONS (user 'steward', password_required 'false')});
sql(q{
	CREATE FUNCTION hospital.refuse() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION USING ERRCODE = '57000', MESSAGE = 'a secret'; END $$;
	CREATE CONSTRAINT TRIGGER later AFTER INSERT ON hospital.loot DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
		EXECUTE FUNCTION hospital.refuse();
	CREATE VIEW hospital.remote AS SELECT hospital.evil() = 1 AS one;
	CREATE FOREIGN TABLE hospital.far (one boolean) SERVER far OPTIONS (table_name 'remote');
	CREATE FUNCTION hospital.reads() RETURNS boolean LANGUAGE sql STABLE AS 'SELECT one FROM hospital.far';
}, 'steward');
my $is_inherited = sql('SHOW server_version_num') >= 190000; # by postgres_fdw's session, that the worker only reads
my $far = counter('hospital.reads()');
my $after = counter('true');
my $told = failure($node, 'CALL dp_tick()', user => 'clock');
my $failed = $is_inherited ? 'could not evaluate source' : 'could not commit what the source was read for';
like($told, qr/^\S+ .*\Q$far: $failed\E/m, 'others learn that it failed');
unlike($told, qr/secret/, 'and not how');
is(sql("SELECT count(*) FROM $after"), 1, 'the counters that follow are ticked');
like(tick($far), $is_inherited ? qr/read-only transaction/ : qr/a secret/, 'its owner learns how');
is(sql("SELECT last_sqlstate FROM dp_counters WHERE counter = '$far'::regclass"), '55000', 'others not even by the SQLSTATE');
sql("SELECT dp_counter_drop('$_')", 'steward') for grep {defined} $far, $pinned;

# --- a name that the client's encoding cannot show
sql(q{CREATE DATABASE lettered ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0});
$node->safe_psql('lettered', q{
	CREATE EXTENSION dp_counter;
	GRANT CREATE ON SCHEMA public TO steward;
});
foreach (['postgres', q{U&'\65E5'}], ['steward', q{'fine'}]) # another owner's counter has another worker
{
	my ($owner, $name) = @$_;
	$node->safe_psql('lettered', qq{
		CREATE SCHEMA of_$owner; GRANT ALL ON SCHEMA of_$owner TO $owner; SET SESSION AUTHORIZATION $owner; SET search_path = of_$owner, public;
		CREATE TABLE visits AS SELECT 1 AS person, timestamp '2025-01-01 12:00' AS at;
		CREATE VIEW visits_dp AS SELECT person, at, 1 / (person - CASE WHEN current_user = 'postgres' THEN 1 ELSE 0 END) = 1 AS event FROM visits;
		SELECT dp_budget_create('b', 1e12);
		SELECT dp_source_create('visits_dp', 'b', 'person', 'at', 'UTC');
		SELECT dp_counter_create($name, epsilon => 1e9, horizon => 1, source => 'visits_dp', event => 'event', every => '1 day',
			since => '2025-01-01', per_person => 1)});
}
{
	local $ENV{PGCLIENTENCODING} = 'LATIN1';
	like(failure($node, 'CALL dp_tick()', database => 'lettered'), qr/encoding "LATIN1"/, 'a failure that cannot be shown');
	is($node->safe_psql('lettered', 'SELECT count(*) FROM of_steward.fine'), 1, 'does not stop the other counters');
}

# --- a setting of the database, on which functions depend that are IMMUTABLE, makes nobody another person
sql("ALTER DATABASE postgres SET $_") for q{bytea_output = 'escape'}, 'extra_float_digits = 0', q{intervalstyle = 'iso_8601'},
	'quote_all_identifiers = on', q{timezone_abbreviations = 'Australia'};
my $same = counter(q{decode('00ff', 'hex')::text = '\x00ff' AND 0.3::float8::text || (0.1::float8 + 0.2::float8)::text
	= '0.30.30000000000000004' AND interval '26 hours'::text = '26:00:00' AND quote_ident('person') = 'person'
	AND timestamp '2025-01-01 00:00' AT TIME ZONE left('EST,', 3) = timestamptz '2025-01-01 05:00+00'});
is(tick($same), '', 'settings of the database');
is(sql("SELECT count FROM $same"), 1, 'change no text of a value in a worker');
sql('ALTER DATABASE postgres RESET ALL');

# --- a caller that does not read, so that the worker's messages fill the queue
sql(q{CREATE TABLE hospital.most AS SELECT 1000000 AS n;
	CREATE FUNCTION hospital.talk() RETURNS boolean LANGUAGE plpgsql STABLE AS $$ BEGIN
		PERFORM public.put('application_name', 'ready', false), public.wait(5);
		FOR i IN 1 .. (SELECT n FROM hospital.most) LOOP RAISE NOTICE 'x'; PERFORM public.put('application_name', 'told ' || i, false); END LOOP;
		PERFORM public.wait(600); RETURN true; END $$}, 'steward');
my $counter = counter('hospital.talk()');
my $worker = q{FROM pg_stat_activity WHERE backend_type = 'dp_counter worker'};
sub wait_until { $node->poll_query_until('postgres', "SELECT count(*) = 1 $worker AND $_[0]") or die "not: $_[0]"; return }
sub fill_queue # until this holds; then the caller is terminated. How many messages the worker has sent.
{
	my ($condition) = @_;
	my $deaf = start_program("$PostgreSQL::Test::Utils::tmp_check/deaf", 'psql', '-X', '-d', $node->connstr('postgres'), '-U',
		'steward', '-c', "CALL dp_tick('$counter')");
	wait_until(q{application_name = 'ready'});
	my $caller = sql(q{SELECT pid FROM pg_stat_activity WHERE usename = 'steward'});
	kill 'STOP', $caller;
	wait_until($condition);
	my $count = sql("SELECT substr(application_name, 6)::integer $worker");
	kill 'TERM', $caller;
	kill 'CONT', $caller;
	my $left = q{SELECT count(*) FROM pg_stat_activity WHERE usename = 'steward' OR backend_type = 'dp_counter worker'};
	for (1 .. 60) { last if sql($left) eq '0'; sql('SELECT pg_sleep(1)') } # a worker that stays does so for 600 seconds
	is(sql($left), 0, 'and both end with the caller');
	sql("SELECT pg_terminate_backend(pid) $worker"); # where they have not
	$deaf->finish;
	return $count;
}
my $full = fill_queue(q{wait_event = 'MessageQueuePutMessage'});
cmp_ok($full, '>', 100, 'a worker waits for room in the queue');
sql("UPDATE hospital.most SET n = $full");
is(fill_queue("wait_event = 'PgSleep' AND application_name LIKE 'told %'"), $full, 'a worker has not room for its last words');
$node->stop;
done_testing();
