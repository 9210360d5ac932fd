# A long tick shows its phase, stops when it is canceled in any phase, and leaves nothing half done.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('progress', conf => "autovacuum = off\n");
$node->append_conf('postgresql.conf', 'compute_query_id = on');
$node->reload;
sub sql { return $node->safe_psql('postgres', $_[0], extra_params => [ '-U', $_[1] // 'postgres' ]) }

$node->safe_psql('postgres', q{
	CREATE ROLE steward LOGIN;
	CREATE ROLE stranger LOGIN;
	GRANT CREATE ON SCHEMA public TO steward;
	CREATE EXTENSION dblink;

	-- Runs a statement, cancels it when it is in the phase, and says what was shown then and afterwards. Where the cancel came too late for
	-- the phase, on a busy machine, it tries again.
	CREATE FUNCTION canceled(phase text, OUT shown text, OUT shown_id text, OUT to_strangers text, OUT message text,
		OUT afterwards text, OUT id text)
	LANGUAGE plpgsql AS $$
	DECLARE
		statement constant text := 'CALL dp_tick(''c'')';
		activity pg_stat_activity;
		is_late boolean;
	BEGIN
		PERFORM dblink_connect('other', format('host=%s port=%s dbname=postgres user=stranger',
			current_setting('unix_socket_directories'), current_setting('port')));
		FOR attempt IN 1 .. 50 LOOP
			PERFORM dblink_connect('ticker', format('host=%s port=%s dbname=postgres user=steward',
				current_setting('unix_socket_directories'), current_setting('port')));
			SELECT * INTO activity FROM pg_stat_activity
				WHERE pid = (SELECT pid FROM dblink('ticker', 'SELECT pg_backend_pid()') AS t (pid integer));
			PERFORM dblink_send_query('ticker', statement);
			FOR i IN 1 .. 20000 LOOP
				PERFORM pg_sleep(0.001), pg_stat_clear_snapshot();
				SELECT * INTO activity FROM pg_stat_activity WHERE pid = activity.pid;
				EXIT WHEN activity.query = statement || ' -- public.c: ' || phase OR (i > 100 AND activity.state = 'idle');
			END LOOP;
			SELECT query INTO to_strangers FROM dblink('other', 'SELECT query FROM pg_stat_activity WHERE pid = ' || activity.pid) AS t (query text);
			PERFORM dblink_cancel_query('ticker');
			shown := activity.query;
			shown_id := to_jsonb(activity) ->> 'query_id';
			is_late := false;
			WHILE activity.state = 'active' LOOP
				SELECT * INTO activity FROM pg_stat_activity WHERE pid = activity.pid;
				is_late := is_late OR activity.query NOT IN (shown, statement);
				PERFORM pg_sleep(0.001), pg_stat_clear_snapshot();
			END LOOP;
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
	INSERT INTO visits SELECT hashint4(i) & 131071, timestamp '2024-01-01' + i % 730 * interval '1 day', i % 10
		FROM generate_series(1, 300000) AS i;
	ANALYZE visits;
	CREATE VIEW visits_dp AS SELECT * FROM visits;
	SELECT dp_source_create('visits_dp', 'b', 'patient', 'at');
	SELECT dp_counter_create('c', epsilon => 1e9, horizon => 730, source => 'visits_dp', every => '1 day', since => '2024-01-01',
		by => 'region', groups => '{0,1,2,3,4,5,6,7,8,9}', per_person => 1);

	CREATE VIEW short_dp AS SELECT patient, at FROM visits;
	SELECT dp_source_create('short_dp', 'b', 'patient', 'at');
	SELECT dp_counter_create('short', epsilon => 1e9, horizon => 1, source => 'short_dp', every => '1 day', since => '2024-01-01',
		per_person => 1);
}, 'steward');

# --- phases, and cancels in them

my $state = q{
	SELECT (SELECT count(*) FROM dp_counter_private.releases), (SELECT count(*) FROM dp_counter_private.tallies),
	       (SELECT sum(total) FROM dp_counter_private.streams), (SELECT sum(steps) FROM dp_counter_private.publications),
	       	(SELECT sum(spent) FROM dp_budgets)
};
my $before = sql($state);
sub canceled
{
	my ($phase, $around) = @_;
	my ($shown, $shown_id, $to_strangers, $message, $afterwards, $id) = split /\|/,
		sql("BEGIN; $around; SELECT shown, shown_id, to_strangers, split_part(message, E'\\n', 1), afterwards, id
			FROM canceled('$phase'); COMMIT");
	is($shown, "CALL dp_tick('c') -- public.c: $phase", "$phase is shown");
	is($to_strangers, '<insufficient privilege>', 'not to strangers');
	is($message, 'ERROR:  canceling statement due to user request', 'it stops at a cancel, in this phase');
	is($afterwards, "idle: CALL dp_tick('c')", 'and then the statement is shown as it was');
	is($shown_id, $id, 'with its identifier');
	ok($id, 'which it has');
	return;
}
my $none = 'SET TRANSACTION READ ONLY';
canceled($_, $none) for 'reading the source', 'counting', 'storing tallies';
# Drawing is soon done: it is held where the first releases are stored.
canceled('drawing noise', 'LOCK TABLE dp_counter_private.releases IN SHARE MODE');
is(sql($state), $before, 'nothing is spent or half done');

# While it is published: what was closed is not drawn again.
canceled('publishing', 'LOCK TABLE dp_counter_private.publications IN SHARE MODE');
is(sql('SELECT count(*) FROM c', 'steward'), 0, 'nothing is published');
my $digest = q{SELECT count(*), md5(string_agg(r::text, '' ORDER BY step, stream)) FROM dp_counter_private.releases AS r
	WHERE number = (SELECT min(number) FROM dp_counter_private.releases)};
my $closed = sql($digest);
like($closed, qr/^7300\|/, 'all is closed');
sql(q{CALL dp_tick('c')}, 'steward');
is(sql($digest), $closed, 'the next tick publishes what was drawn');
is(sql('SELECT sum(count) FROM c WHERE step = 730', 'steward'), sql('SELECT count(DISTINCT patient) FROM visits'), 'and that is right');

my $shows;
$node->psql('postgres', q{DO 'BEGIN CALL dp_tick(''short''); RAISE NOTICE ''%'', (SELECT query FROM pg_stat_activity WHERE pid = pg_backend_pid()); END'},
	stderr => \$shows, extra_params => [ '-U', 'steward' ]);
like($shows, qr/NOTICE:  DO 'BEGIN/, 'after a tick that went well its statement is shown as it was');
is(sql('SELECT count FROM short', 'steward'), sql(q{SELECT count(DISTINCT patient) FROM visits WHERE at = '2024-01-01'}),
	'as this one did');
$node->stop;
done_testing();
