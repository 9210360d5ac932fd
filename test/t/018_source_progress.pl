# A long tick shows its phase, tells its owner every 10 s, stops at once when it is cancelled in any phase, and leaves nothing half done.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use LiveCounters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('progress', conf => "autovacuum = off\n");
my $major = int($node->safe_psql('postgres', 'SHOW server_version_num') / 10000);
$node->append_conf('postgresql.conf', 'compute_query_id = on') if $major >= 14;
$node->reload;
sub sql { return $node->safe_psql('postgres', $_[0], extra_params => [ '-U', $_[1] // 'postgres' ]) }

$node->safe_psql('postgres', q{
	CREATE ROLE steward LOGIN;
	CREATE ROLE clock LOGIN;
	CREATE ROLE stranger LOGIN;
	GRANT CREATE ON SCHEMA public TO steward;
	CREATE EXTENSION dblink;

	-- Runs a statement, cancels it when it is in the phase, and says what was shown then and afterwards. Where the cancel came too late for
	-- the phase, on a busy machine, it tries again.
	CREATE FUNCTION cancelled(phase text, OUT shown text, OUT shown_id text, OUT to_strangers text, OUT ms numeric, OUT message text, OUT afterwards text, OUT id text, OUT stored bigint)
	LANGUAGE plpgsql AS $$
	DECLARE
		statement constant text := 'CALL dp_counter_tick(''c'')';
		activity pg_stat_activity;
		is_late boolean;
		cancelled_at timestamptz;
	BEGIN
		PERFORM dblink_connect('other', format('host=%s port=%s dbname=postgres user=stranger', current_setting('unix_socket_directories'), current_setting('port')));
		FOR attempt IN 1 .. 10 LOOP
			PERFORM dblink_connect('ticker', format('host=%s port=%s dbname=postgres user=steward', current_setting('unix_socket_directories'), current_setting('port')));
			SELECT * INTO activity FROM pg_stat_activity WHERE pid = (SELECT pid FROM dblink('ticker', 'SELECT pg_backend_pid()') AS t (pid integer));
			stored := pg_relation_size('dp_counter_private.tallies');
			PERFORM dblink_send_query('ticker', statement);
			FOR i IN 1 .. 20000 LOOP
				PERFORM pg_sleep(0.001), pg_stat_clear_snapshot();
				SELECT * INTO activity FROM pg_stat_activity WHERE pid = activity.pid;
				EXIT WHEN activity.query = statement || ' -- public.c: ' || phase OR (i > 100 AND activity.state = 'idle');
			END LOOP;
			SELECT query INTO to_strangers FROM dblink('other', 'SELECT query FROM pg_stat_activity WHERE pid = ' || activity.pid) AS t (query text);
			cancelled_at := clock_timestamp();
			PERFORM dblink_cancel_query('ticker');
			shown := activity.query;
			shown_id := to_jsonb(activity) ->> 'query_id';
			is_late := false;
			WHILE activity.state = 'active' LOOP
				SELECT * INTO activity FROM pg_stat_activity WHERE pid = activity.pid;
				is_late := is_late OR activity.query NOT IN (shown, statement);
				ms := extract(epoch FROM clock_timestamp() - cancelled_at) * 1000;
				PERFORM pg_sleep(0.001), pg_stat_clear_snapshot();
			END LOOP;
			stored := pg_relation_size('dp_counter_private.tallies') - stored;
			afterwards := activity.state || ': ' || activity.query;
			id := to_jsonb(activity) ->> 'query_id';
			SELECT coalesce(max(status), 'no answer') INTO message FROM dblink_get_result('ticker', false) AS t (status text);
			message := dblink_error_message('ticker');
			PERFORM dblink_disconnect('ticker');
			EXIT WHEN NOT is_late AND message LIKE '%canceling statement%';
		END LOOP;
		IF is_late THEN message := 'never in this phase'; END IF;
		PERFORM dblink_disconnect('other');
	END $$;
});
sql(q{
	SELECT dp_budget_create('b', 1e10);
	CREATE TABLE visits (patient integer, at timestamp, region integer);
	INSERT INTO visits SELECT hashint4(i) & 131071, timestamp '2024-01-01' + i % 730 * interval '1 day', i % 10 FROM generate_series(1, 300000) AS i;
	ANALYZE visits;
	CREATE VIEW visits_dp AS SELECT * FROM visits;
	SELECT dp_source_create('visits_dp', 'b', 'patient', 'at');
	SELECT dp_counter_create('c', epsilon => 1e9, horizon => 730, source => 'visits_dp', every => '1 day', since => '2024-01-01', by => 'region', groups => '{0,1,2,3,4,5,6,7,8,9}');

	-- Slow: a second and a half a row, in the reading, where rows are sorted, or in the counting, where they come in order.
	CREATE TABLE naps (patient integer PRIMARY KEY, at timestamp DEFAULT '2024-01-01');
	INSERT INTO naps SELECT generate_series(1, 8);
	CREATE FUNCTION nap(seconds float8) RETURNS boolean LANGUAGE plpgsql STABLE AS 'BEGIN PERFORM pg_sleep(seconds); RETURN true; END';
	CREATE VIEW naps_dp AS SELECT *, nap(1.5) AS napped, nap(1.2) AS dozed FROM naps;
	SELECT dp_source_create('naps_dp', 'b', 'patient', 'at', person_wise => true);
	SELECT dp_counter_create(name, epsilon => 1e9, horizon => 1, source => 'naps_dp', event => event, every => '1 day', since => '2024-01-01')
	FROM (VALUES ('owners', 'napped'), ('in_order', 'napped'), ('clocks', 'dozed')) AS counter(name, event);
	GRANT UPDATE ON clocks TO clock;
	CREATE VIEW short_dp AS SELECT patient, at FROM naps;
	SELECT dp_source_create('short_dp', 'b', 'patient', 'at');
	SELECT dp_counter_create('short', epsilon => 1e9, horizon => 1, source => 'short_dp', every => '1 day', since => '2024-01-01');
}, 'steward');

# --- notices: these take 12 seconds each, and go on meanwhile

my %slow = (
	owners   => [ 'steward', q{CALL dp_counter_tick('owners')} ],
	in_order => [ 'steward', q{SET seq_page_cost = 1e9; CALL dp_counter_tick('in_order')} ],
	clocks   => [ 'clock',   q{CALL dp_counter_tick('clocks')} ],
	locker   => [ 'postgres', q{SELECT pg_sleep(9); BEGIN; LOCK TABLE dp_counter_private.releases IN SHARE MODE; SELECT pg_sleep(2); COMMIT} ], # of the clock, when 10 s are over
	report   => [ 'steward', q{CALL dp_source_contributions('naps_dp', 'report', 1, event => 'napped')} ],
);
my %run;
for my $name (keys %slow)
{
	my ($user, $sql) = @{ $slow{$name} };
	my @statements = map { ('-c', $_) } split /; /, $sql;
	$run{$name} = start_program("$PostgreSQL::Test::Utils::tmp_check/$name", 'psql', '-XAt', '-d', $node->connstr('postgres') . " user=$user", @statements);
}

# --- phases, and cancels in them

my $state = q{
	SELECT (SELECT count(*) FROM dp_counter_private.releases), (SELECT count(*) FROM dp_counter_private.tallies),
	       (SELECT sum(total) FROM dp_counter_private.streams), (SELECT sum(steps) FROM dp_counter_private.publications), (SELECT sum(spent) FROM dp_budgets)
};
my $before = sql($state);
sub cancelled
{
	my ($phase, $around) = @_;
	my ($shown, $shown_id, $to_strangers, $ms, $message, $afterwards, $id, $stored) = split /\|/,
		sql("BEGIN; $around; SELECT shown, shown_id, to_strangers, round(ms, 1), split_part(message, E'\\n', 1), afterwards, id, stored FROM cancelled('$phase'); COMMIT");
	is($shown, "CALL dp_counter_tick('c') -- public.c: $phase", "$phase is shown");
	is($to_strangers, '<insufficient privilege>', 'not to strangers');
	is($message, 'ERROR:  canceling statement due to user request', 'it stops at a cancel');
	cmp_ok($ms, '<', 2000, "after $ms ms"); # 2 s: for machines that are busy with something else
	is($afterwards, "idle: CALL dp_counter_tick('c')", 'and then the statement is shown as it was');
	is($shown_id, $id, 'with its identifier');
	ok($major < 14 || $id, 'which it has');
	return $stored;
}
my $none = 'SET TRANSACTION READ ONLY';
cancelled($_, $none) for 'reading the source', 'counting';
my $part = cancelled('storing tallies', $none);
# Drawing is soon done: it is held where the first releases are stored.
cmp_ok($part, '<', 0.8 * cancelled('drawing noise', 'LOCK TABLE dp_counter_private.releases IN SHARE MODE'), 'and not only when all tallies are stored');
is(sql($state), $before, 'nothing is spent or half done');

# While it is published: what was closed is not drawn again.
cancelled('publishing', 'LOCK TABLE dp_counter_private.publications IN SHARE MODE');
is(sql('SELECT count(*) FROM c', 'steward'), 0, 'nothing is published');
my $digest = q{SELECT count(*), md5(string_agg(r::text, '' ORDER BY step, stream)) FROM dp_counter_private.releases AS r WHERE number = (SELECT min(number) FROM dp_counter_private.releases)};
my $closed = sql($digest);
like($closed, qr/^7300\|/, 'all is closed');
sql(q{CALL dp_counter_tick('c')}, 'steward');
is(sql($digest), $closed, 'the next tick publishes what was drawn');
is(sql('SELECT sum(count) FROM c WHERE step = 730', 'steward'), sql('SELECT count(DISTINCT patient) FROM visits'), 'and that is right');

my $shows;
$node->psql('postgres', q{DO 'BEGIN CALL dp_counter_tick(''short''); RAISE NOTICE ''%'', (SELECT query FROM pg_stat_activity WHERE pid = pg_backend_pid()); END'},
	stderr => \$shows, extra_params => [ '-U', 'steward' ]);
like($shows, qr/NOTICE:  DO 'BEGIN/, 'after a tick that went well its statement is shown as it was');
is(sql('SELECT step, count FROM short', 'steward'), '1|8', 'as this one did');

# --- the notices

$_->finish for values %run;
my %heard = map { $_ => slurp_file("$PostgreSQL::Test::Utils::tmp_check/$_.errors") } keys %run;
like($heard{owners}, qr/\ANOTICE:  public\.owners: reading the source, 1[0-4] s\n\z/, 'the owner hears the phase and the time after 10 s, and nothing else');
like($heard{in_order}, qr/\ANOTICE:  public\.in_order: counting, 1[0-4] s\n\z/, 'of the counting as well');
like($heard{report}, qr/\ANOTICE:  public\.naps_dp: reading the source, 1[0-4] s\n\z/, 'and of a report on contributions');
is($heard{clocks}, '', 'a clock hears nothing, in no phase');
is(sql('SELECT step, count FROM clocks', 'steward'), '1|8', 'but ticks');
$node->stop;
done_testing();
