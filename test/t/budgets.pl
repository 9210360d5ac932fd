# Budgets outlive crashes, dumps, restores and standbys: what was spent is spent, and what was rolled back is not.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('budgets', allows_streaming => 1);
sub sql { return $node->safe_psql('postgres', $_[0]); }
# what of renewing budgets has to stay, and who has which windows
sub renewing
{
	my ($server, $database) = @_;
	return $server->safe_psql($database // 'postgres', q{
		SELECT purpose, epsilon, since, until, role FROM renewing ORDER BY purpose;
		SELECT string_agg(dp_own_window('renewing', 'patient ' || n, timestamptz '2024-06-01 00:00Z')::text, ' ' ORDER BY n)
			FROM generate_series(1, 50) AS n;
		SELECT person_type, time_type FROM dp_counter_private.budgets WHERE budget = 'renewing'::regclass;
		SELECT source, window_wise FROM dp_sources});
}
sub budgets { my ($server, $database) = @_; return $server->safe_psql($database // 'postgres',
	'SELECT budget, epsilon, per, spent_past, spent, remaining, dropped_name, dropped_by = current_user FROM dp_budgets
		ORDER BY budget::text'); }

sql(q{
	CREATE ROLE steward; CREATE SCHEMA "Strange ""schema" AUTHORIZATION steward;
	SET ROLE steward;
	SELECT dp_budget_create('"Strange ""schema"."A budget"', 3.0);
	RESET ROLE;
	SELECT dp_budget_create('nothing_spent', 0.1);
	CALL dp_budget_spend('"Strange ""schema"."A budget"', 0.1, 'a table of 2024');
	CREATE TABLE visits (patient text, at timestamptz);
	INSERT INTO visits VALUES ('p', '2024-01-01 12:00Z');
	CREATE VIEW visits_dp AS SELECT * FROM visits;
	SELECT dp_budget_create('renewing', 1.0, per => '365 days');
	SELECT dp_source_create('visits_dp', budget => 'renewing', person => 'patient', at => 'at', time_zone => 'UTC', window_wise => true);
	SELECT dp_counter_create('by_day', source => 'visits_dp', epsilon => 0.5, every => '1 day', horizon => 2,
		since => '2024-01-01', cumulative => false, per_person => 1);
	CALL dp_tick('visits_dp');
	CALL dp_budget_spend('renewing', 0.75, 'a map', since => '-infinity', until => '2022-12-31');
	SELECT dp_budget_create('gone', 2.0, per => '7 days');
	CALL dp_budget_spend('gone', 0.25, 'a list', since => '2022-12-01', until => '2022-12-31');
	SELECT dp_budget_drop('gone');
});

# --- a budget without an end is none
like(failure($node, $_), qr/epsilon must be positive and finite, not Infinity/,
	"no endless epsilon: $_") for q{SELECT dp_budget_create('endless', 'infinity')}, q{SELECT dp_event_counter_create('endless', 'infinity')};

# --- a crash: a charge that was committed is kept, whatever the session's synchronous_commit is; one that was not is not
sql(q{SET synchronous_commit = off; CALL dp_budget_spend('"Strange ""schema"."A budget"', 0.20, 'the atlas')});
my $open = $node->background_psql('postgres');
$open->query_safe(q{BEGIN; SELECT dp_budget_create('half_made', 5)});
$node->stop('immediate');
eval { $open->quit };
$node->start;
my $state = qq{"Strange ""schema"."A budget"|3.0|||0.30|2.70||\nnothing_spent|0.1|||0|0.1||\nrenewing|1.0|365 days|0.75|0|1.0||\n|2.0|7 days||0.25||public.gone|t};
is(budgets($node), $state, 'after a crash');
my $renewing = renewing($node);
like($renewing, qr/^a map\|0.75\|\|2022-12-31 00:00:00\|\w+\nby_day\|0.5\|2024-01-01 00:00:00\|2024-01-03 00:00:00\|\w+\n/,
	'charges have their ranges');

# --- dump and restore
my $dump = $node->basedir . '/dump.sql';
command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-f', $dump ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', $dump ], 'restore');
is(budgets($node, 'restored'), $state, 'after a restore');
is(renewing($node, 'restored'), $renewing, 'ranges and roles of charges, persons\' windows and the types of sources too');
like(failure($node, q{CALL dp_budget_spend('renewing', 0.75, 'more', since => '2023-12-01', until => '2024-01-01')},
	database => 'restored'),
	qr/has an epsilon of 0.25 left, not 0.75/, 'renewing budgets are charged on, for what is left of each window');
like(failure($node, q{CREATE VIEW others AS SELECT 1 AS patient, at FROM visits;
SELECT dp_source_create('others', budget => 'renewing', person => 'patient', at => 'at')}, database => 'restored'),
	qr/person must be of type text, not bigint/, 'and keep to their types');
$node->safe_psql('restored', q{SELECT dp_budget_create('of_equal_length', 1, per => '365 days');
SELECT dp_source_create('others', budget => 'of_equal_length', person => 'patient', at => 'at')});
is($node->safe_psql('restored', q{SELECT count(*) FROM dp_counter_private.window_key}), 1, 'a new one has the key that was restored');
is($node->safe_psql('restored', q{SELECT purpose, epsilon FROM "Strange ""schema"."A budget" ORDER BY spent_at}),
	"a table of 2024|0.1\nthe atlas|0.20", 'and what has spent it');
is($node->safe_psql('restored', q{SELECT relowner::regrole FROM pg_class WHERE relname = 'A budget'}), 'steward', 'its owner is the owner');
$node->safe_psql('restored', q{SET ROLE steward; CALL dp_budget_spend('"Strange ""schema"."A budget"', 2.7, 'all that is left')});
like(failure($node, q{CALL dp_budget_spend('"Strange ""schema"."A budget"', 0.1, 'more')}, database => 'restored'),
	qr/has an epsilon of 0.00 left, not 0.1/, 'and it is charged on');
$node->safe_psql('restored', q{SELECT dp_budget_create('another', 1)});
is($node->safe_psql('restored', 'SELECT count(*) FROM another'), 0, 'a new budget has none of its entries');

# --- a standby
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
sql(q{CALL dp_budget_spend('nothing_spent', 0.1, 'a map')});
$node->wait_for_catchup('standby', 'replay');
$state =~ s/0.1\|\|\|0\|0.1\|\|$/0.1|||0.1|0.0||/m;
is(budgets($standby), $state, 'read on a standby');
is(renewing($standby), $renewing, 'and the windows too');
like(failure($standby, q{CALL dp_budget_spend('nothing_spent', 0.1, 'a map')}),
	qr/cannot execute dp_budget_spend\(\) in a read-only transaction/, 'and not charged there');
$node->stop;
$standby->promote;
is(budgets($standby), $state, 'a promoted standby has all of it');
like(failure($standby, q{CALL dp_budget_spend('nothing_spent', 0.1, 'a map')}), qr/has an epsilon of 0.0 left/, 'and keeps to it');

# --- the extension goes with its budgets by CASCADE alone
like(failure($standby, 'DROP EXTENSION dp_counter'), qr/other objects depend on it/, 'DROP EXTENSION is refused');
is(failure($standby, 'DROP EXTENSION dp_counter CASCADE'), '', 'but for CASCADE');
done_testing();
