# The end of a counter with a source shows nobody how many persons it counted, by whatever way it is dropped or ended.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('drops', is_fresh => 1, conf => "shared_preload_libraries = 'pg_stat_statements'\nautovacuum = off\n");
my $persons = 5000;
$node->safe_psql('postgres', qq{
	CREATE EXTENSION pg_stat_statements;
	CREATE ROLE stranger LOGIN;
	CREATE ROLE steward LOGIN;
	GRANT CREATE ON SCHEMA public TO steward;
	SET ROLE steward;
	SELECT dp_budget_create('b', 1e10);
	CREATE TABLE visits AS SELECT i AS patient, timestamp '2025-01-01' AS at FROM generate_series(1, $persons) AS i;
	CREATE VIEW visits_dp AS SELECT patient, at FROM visits;
	SELECT dp_source_create('visits_dp', 'b', 'patient', 'at', 'UTC');
});
my $flush = 'SELECT pg_stat_force_next_flush();';
my $watch = q{
	SELECT seq_scan, seq_tup_read, idx_scan, idx_tup_fetch, n_tup_ins, n_tup_upd, n_tup_del, n_live_tup, n_dead_tup
	FROM pg_stat_all_tables WHERE relname = 'tallies';
	SELECT idx_scan, idx_tup_read, idx_tup_fetch FROM pg_stat_all_indexes WHERE relname = 'tallies';
	SELECT heap_blks_read + heap_blks_hit, idx_blks_read + idx_blks_hit FROM pg_statio_all_tables WHERE relname = 'tallies';};
my $tallies = 'SELECT count(*) FROM dp_counter_private.tallies WHERE used > 0';

for my $drop (q{SELECT dp_counter_drop('c')}, q{SELECT dp_counter_end('c')}, 'DROP VIEW c', 'DROP OWNED BY counting')
{
	$node->safe_psql('postgres', q{
		CREATE ROLE counting LOGIN;
		GRANT CREATE ON SCHEMA public TO counting;
		SET ROLE steward;
		SELECT dp_counter_create('c', epsilon => 1e-3, horizon => 1, source => 'visits_dp', every => '1 day',
			since => '2025-01-01', per_person => 1);
		CALL dp_tick('c');
		RESET ROLE;
		ALTER VIEW c OWNER TO counting;
		SELECT pg_stat_statements_reset();});
	is($node->safe_psql('postgres', $tallies), $persons, 'a counter has tallies');
	all_reported($node);
	my $before = $node->safe_psql('postgres', $watch, extra_params => [ '-U', 'stranger' ]);
	$node->safe_psql('postgres', "$drop; $flush");
	all_reported($node);
	is($node->safe_psql('postgres', $watch, extra_params => [ '-U', 'stranger' ]), $before, "$drop: no statistic of the tallies has moved");
	cmp_ok($node->safe_psql('postgres', 'SELECT max(wal_records) FROM pg_stat_statements', extra_params => [ '-U', 'stranger' ]),
		'<', $persons / 5,
		'nor does pg_stat_statements show that many were logged');
	is($node->safe_psql('postgres', $tallies), 0, 'they are gone');
	$node->safe_psql('postgres', q{DROP OWNED BY counting; DROP ROLE counting});
}
$node->stop;
done_testing();
