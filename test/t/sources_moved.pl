# Counters with a source through dump and restore, on a standby and after its promotion: tallies, totals and budgets go
# along, so that what is counted in the end is what one query counts. And what other roles and clocks may do.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('around', allows_streaming => 1);
sub sql { return $node->safe_psql('postgres', $_[0]); }

sql(q{
	CREATE ROLE steward; CREATE ROLE clock LOGIN; CREATE ROLE stranger LOGIN;
	CREATE SCHEMA "A clinic" AUTHORIZATION steward; GRANT USAGE ON SCHEMA "A clinic" TO clock, stranger;
	SET ROLE steward; SET search_path = "A clinic", public; SET TIME ZONE 'Europe/Berlin';
	CREATE TABLE visits AS SELECT n, n % 97 AS person,
		timestamptz '2024-03-29 12:00 Europe/Berlin' + n % 240 * interval '1 hour' AS at, n % 3 = 0 AS "Is it flu?"
			FROM generate_series(1, 4000) n;
	CREATE VIEW "Visits of" AS SELECT person, at, "Is it flu?" FROM visits;
	SELECT dp_budget_create('budget', 1e9 + 1);
	SELECT dp_source_create('"Visits of"', budget => 'budget', person => 'person', at => 'at');
	SELECT dp_counter_create('flu', epsilon => 1e9, horizon => 8, source => '"Visits of"', event => 'Is it flu?', per_person => 10,
		every => '1 day', since => '2024-03-30');
	SELECT dp_counter_create('noisy', epsilon => 0.5, horizon => 8, source => '"Visits of"', event => 'Is it flu?',
		per_person => 10, every => '1 day', since => '2024-03-30');
	GRANT UPDATE ON flu, noisy TO clock;
	RESET ROLE;
	CREATE PROCEDURE public.over(n integer) LANGUAGE sql AS $$ UPDATE dp_counter_private.source_counters
		SET "grace" = now() AT TIME ZONE 'Europe/Berlin' - (since + n * every) $$;
	CALL public.over(3);
});
my $truth = q{SELECT string_agg((SELECT count(*)
	FROM (SELECT at, row_number() OVER (PARTITION BY person ORDER BY (at AT TIME ZONE 'Europe/Berlin')::date) AS n FROM "A clinic".visits
		WHERE "Is it flu?" AND at >= '2024-03-30 00:00 Europe/Berlin') AS v WHERE n <= 10
			AND at < (date '2024-03-30' + step)::timestamp AT TIME ZONE 'Europe/Berlin')::text, ' ' ORDER BY step) FROM generate_series(1, };
my $counts = q{SELECT string_agg(count::text, ' ' ORDER BY step) FROM "A clinic".flu};

# --- a clock without any right on the data, in another zone
is(failure($node, q{SELECT * FROM "A clinic"."Visits of"}, user => 'clock') =~ /permission denied/ ? 1 : 0, 1, 'the clock may not read');
$node->safe_psql('postgres', q{SET TIME ZONE 'Asia/Tokyo'; SET work_mem = '64kB'; SET search_path = pg_catalog;
CALL public.dp_tick('"A clinic"."Visits of"')}, extra_params => [ '-U', 'clock' ]);
is(sql($counts), sql("$truth 3) AS step"), 'but tick; days are those of the source\'s zone, in which one has 23 hours');
like(failure($node, q{CALL dp_tick('"A clinic".flu')}, user => 'stranger'), qr/permission denied/, 'a stranger may not');
like(failure($node, q{CALL dp_tick('"A clinic"."Visits of"')}, user => 'stranger'), qr/permission denied|may tick|privilege/,
	'nor the source');
like(failure($node, q{SELECT dp_counter_record('"A clinic".flu')}), qr/source/, 'nothing is recorded in it');

# --- what a tick shows to who runs it, and to others: nothing of the view's rows, plan or statistics
my $statistics = q{SELECT string_agg(concat_ws(' ', relname, seq_scan, seq_tup_read, idx_scan, idx_tup_fetch, n_tup_ins, n_tup_upd,
	n_live_tup), ', ' ORDER BY relname)
	FROM pg_stat_all_tables WHERE relname IN ('visits', 'tallies')};
sql('CALL over(4)');
sql('SELECT pg_stat_force_next_flush()');
# A tick of nothing takes back that tallies began with a row.
$node->safe_psql('postgres', 'SET client_min_messages = error; CALL public.dp_tick()', extra_params => [ '-U', 'stranger' ]);
my $before = $node->safe_psql('postgres', $statistics, extra_params => [ '-U', 'stranger' ]);
my ($out, $shown);
$node->psql('postgres', q{SET client_min_messages = debug5; SET debug_print_plan = on; SET debug_print_rewritten = on;
SET debug_print_parse = on; CALL dp_tick('"A clinic".noisy')},
	stdout => \$out, stderr => \$shown, extra_params => [ '-U', 'clock' ]);
unlike($shown, qr/ERROR/, 'a clock that wants to know all ticks');
unlike($shown, qr/visits|person|SORTGROUPCLAUSE|SORT\b/, 'and is shown neither the query nor its plan');
sql('SELECT pg_stat_force_next_flush()');
is($node->safe_psql('postgres', $statistics, extra_params => [ '-U', 'stranger' ]), $before, 'statistics stand still');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_stats WHERE schemaname = 'dp_counter_private'},
	extra_params => [ '-U', 'stranger' ]), 0, 'and say nothing of what is counted');

# --- an error in the view reaches its owner alone with its detail
sql(q{SET ROLE steward; CREATE OR REPLACE VIEW "A clinic"."Visits of" AS SELECT person, at, "Is it flu?"
	AND 1 / (person - 13) < 2 AS "Is it flu?" FROM "A clinic".visits});
my $error = failure($node, q{CALL dp_tick('"A clinic".flu')}, user => 'clock');
isnt($error, '', 'a view that fails for some row');
unlike($error, qr/division/, 'others than its owner do not learn why');
like(failure($node, q{SET ROLE steward; CALL dp_tick('"A clinic".flu')}), qr/division by zero/, 'its owner does');
is(sql(q{SELECT steps FROM dp_counters WHERE counter = '"A clinic".flu'::regclass}), 3, 'and no step was closed');
sql(q{SET ROLE steward; CREATE OR REPLACE VIEW "A clinic"."Visits of" AS SELECT person, at, "Is it flu?" FROM "A clinic".visits});

# --- counters that have ended: of a source that is gone, and of one that is there
sql(q{
	SET ROLE steward;
	SET search_path = "A clinic", public;
	CREATE VIEW gone AS SELECT person, at FROM visits;
	SELECT dp_budget_create('others', 10, per => '365 days');
	SELECT dp_source_create('gone', budget => 'others', person => 'person', at => 'at');
	CREATE VIEW there AS SELECT person, at FROM visits;
	SELECT dp_source_create('there', budget => 'others', person => 'person', at => 'at');
	SELECT dp_counter_create('ended', epsilon => 1, source => 'gone', per_person => 3, every => '1 day', since => '2024-03-30');
	SELECT dp_counter_create('ended_too', epsilon => 1, source => 'there', per_person => 3, every => '1 day',
		since => '2024-03-30', cumulative => true);
	SELECT dp_event_counter_create('recorded', 1);
	SELECT dp_counter_record('recorded', 3);
});
sql('CALL over(4)');
sql(qq{CALL dp_tick('"A clinic".$_')}) for qw(ended ended_too recorded);
sql(q{SET ROLE steward; SELECT dp_counter_end('"A clinic".ended'), dp_counter_end('"A clinic".ended_too'),
	dp_counter_end('"A clinic".recorded'), dp_source_drop('"A clinic".gone'); DROP VIEW "A clinic".gone});

# --- dump and restore
my $dump = $node->basedir . '/dump.custom';
command_ok([ 'pg_dump', '-Fc', '-d', $node->connstr('postgres'), '-f', $dump ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
command_ok([ 'pg_restore', '-e', '-j', 2, '-d', $node->connstr('restored'), $dump ], 'pg_restore');
my $q = sub { return $node->safe_psql('restored', $_[0]); };
for my $query ('SELECT * FROM dp_budgets ORDER BY budget::text', 'SELECT * FROM dp_sources ORDER BY source::text',
	'SELECT * FROM dp_counters WHERE ended_at IS NOT NULL ORDER BY counter::text', 'SELECT * FROM "A clinic".ended ORDER BY step',
	'SELECT step, count FROM "A clinic".recorded', 'SELECT purpose, epsilon, since, until FROM "A clinic".others ORDER BY 1',
		q{SELECT * FROM dp_counter_changes('"A clinic".ended_too', 2) ORDER BY step},
			'SELECT * FROM dp_counters ORDER BY counter::text', 'SELECT * FROM "A clinic".noisy ORDER BY step',
				'SELECT * FROM dp_counter_private.tallies ORDER BY number, digest')
{
	is($q->($query), sql($query), "the same: $query");
}
for my $counter (qw(ended ended_too recorded))
{
	like(failure($node, qq{CALL dp_tick('"A clinic".$counter')}, database => 'restored'), qr/counter "$counter" has ended/,
		"$counter has ended in the restored database too");
}
is($q->(q{SELECT count(*) FROM dp_counter_private.events}), 0, 'no events of a counter that has ended are dumped');
$q->('CALL over(6)');
$before = $q->($counts);
like(failure($node, q{CALL dp_tick('"A clinic"."Visits of"')}, database => 'restored'),
	qr/counter "\w+" is in a copy of its database/, 'a restored counter does not go on by itself');
is($q->($counts), $before, 'and releases nothing');
resume_all($node, 'restored');
$q->(q{CALL dp_tick('"A clinic"."Visits of"')});
is($q->($counts), $q->("$truth 6) AS step"), 'a restored counter goes on, with all tallies');
like(failure($node, q{SET ROLE steward; SELECT dp_counter_create('"A clinic".more', epsilon => 0.6, horizon => 8,
	source => '"A clinic"."Visits of"', every => '1 day', since => '2024-03-30', per_person => 1)}, database => 'restored'),
	qr/has an epsilon of 0\.5 left/, 'and its budget');

# --- a dump that is restored over its own database: what was released since cannot be released again, nor its charge be refunded
my $clean = $node->basedir . '/clean.sql';
$node->safe_psql('postgres', 'CREATE DATABASE cleaned');
my $c = sub { return $node->safe_psql('cleaned', $_[0]); };
$c->(q{
	CREATE EXTENSION dp_counter;
	CREATE TABLE visits AS SELECT n AS person, timestamp '2024-01-01' + n * interval '1 day' AS at FROM generate_series(0, 9) AS n;
	CREATE VIEW visits_dp AS SELECT person, at FROM visits;
	CREATE VIEW stays_dp AS SELECT person, at FROM visits;
	SELECT dp_budget_create('years', 10, per => '365 days'), dp_budget_create('life', 10);
	SELECT dp_source_create('visits_dp', 'years', 'person', 'at'), dp_source_create('stays_dp', 'life', 'person', 'at');
	SELECT dp_counter_create(name || '_' || source, source => source::regclass, epsilon => 1, every => '1 month',
		since => '2024-01-01', horizon => horizon, cumulative => false, per_person => 1)
	FROM (VALUES ('with', 12), ('without', NULL)) AS h (name, horizon), (VALUES ('visits_dp'), ('stays_dp')) AS s (source)});
$c->(q{CALL dp_budget_spend('life', 0.5, 'a table')});
$c->(q{CALL dp_budget_spend('years', 0.5, 'a table', since => '-infinity', until => 'infinity')});
command_ok([ 'pg_dump', '--clean', '--if-exists', '-d', $node->connstr('cleaned'), '-f', $clean ],
	'pg_dump --clean, before the first tick');
$c->('CALL dp_tick()');
my $spent = q{SELECT sum(epsilon) FROM years UNION ALL SELECT sum(epsilon) FROM life};
is($c->($spent), "2.5\n2.5", 'released');
$node->psql('cleaned', "\\i $clean", stderr => \my $refused, on_error_stop => 0);
like($refused, qr/cannot drop budget public.life because it has been spent from/, 'restored');
resume_all($node, 'cleaned');
for my $counter (qw(with_visits_dp with_stays_dp without_visits_dp without_stays_dp))
{
	like(failure($node, "CALL dp_tick('$counter')", database => 'cleaned'), qr/the charge of the counter is missing/,
		"$counter releases nothing anew");
	$c->("SELECT dp_counter_drop('$counter')");
}
is($c->($spent), "2.5\n2.5", 'and all stays spent');

# --- a standby, and its promotion
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
sql(q{CALL dp_tick('"A clinic"."Visits of"')});
$node->wait_for_catchup('standby', 'replay');
is($standby->safe_psql('postgres', $counts), sql($counts), 'read on a standby');
is($standby->safe_psql('postgres', q{SELECT count(*) FROM dp_counter_changes('"A clinic".noisy', 1)}), 4, 'changes too');
like(failure($standby, q{CALL dp_tick('"A clinic"."Visits of"')}), qr/read-only transaction/, 'and not ticked there');
$node->stop;
$standby->promote;
$standby->safe_psql('postgres', 'CALL over(8)');
resume_all($standby);
$standby->safe_psql('postgres', q{CALL dp_tick('"A clinic"."Visits of"')});
is($standby->safe_psql('postgres', $counts), $standby->safe_psql('postgres', "$truth 8) AS step"), 'a promoted standby goes on');

# --- what is left when the owner goes
like(failure($standby, 'DROP OWNED BY steward'), qr/has been spent from/, 'DROP OWNED would forget what was spent');
$standby->safe_psql('postgres', 'DROP DATABASE restored');
$standby->safe_psql('postgres', 'ALTER ROLE stranger SUPERUSER; REASSIGN OWNED BY steward TO stranger; DROP OWNED BY steward;
DROP ROLE steward');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM dp_counters'), 5, 'an heir has the counters');
done_testing();
