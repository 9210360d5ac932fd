# A dump that leaves a schema or a table out, or of which a COPY fails, is restored: what is left goes on, what depends on
# the missing part is refused, and nobody counts again.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('partial');
sub sql { return $node->safe_psql('postgres', $_[0]); }

sql(q{
	CREATE SCHEMA scratch;
	CREATE TABLE visits AS SELECT person, timestamp '2024-01-01 12:00' AS at, 'a' AS ward FROM generate_series(1, 1000) AS person,
		generate_series(1, 3);
	CREATE VIEW visits_dp AS SELECT person, at, ward FROM visits;
	CREATE VIEW scratch.other_dp AS SELECT person, at FROM visits;
	SELECT dp_budget_create('years', 1e10, per => '365 days'), dp_budget_create('scratch.spent', 1e10);
	SELECT dp_source_create('visits_dp', 'years', 'person', 'at', 'UTC'), dp_source_create('scratch.other_dp', 'years', 'person', 'at', 'UTC');
	SELECT dp_counter_create('stays', 'visits_dp', 1e8, '1 day', '2024-01-01', per_person => 3, cumulative => true, "by" => 'ward',
		groups => '{a,b}');
	SELECT dp_counter_create('persons', 'visits_dp', 1e9, '1 day', '2024-01-01', persons => true);
	SELECT dp_counter_create('other', 'scratch.other_dp', 1e8, '1 day', '2024-01-01', per_person => 3);
	SELECT dp_counter_create('scratch.mine', 'visits_dp', 1e8, '1 day', '2024-01-01', per_person => 3);
	CREATE PROCEDURE over(days integer) LANGUAGE sql AS $$ UPDATE dp_counter_private.source_counters
		SET "grace" = now()::timestamp - since - days * every $$;
	CALL over(1);
});
sql('CALL dp_tick()');
sql(q{CALL dp_budget_spend('scratch.spent', 1, 'a table')});

# Restores a dump with these options, changed by `change`, as t2; ten more rows of each person follow on the second day.
sub restore
{
	my ($change, @options) = @_;
	my $dump = slurp_file(do { my $f = $node->basedir . '/dump.sql';
		system_or_bail('pg_dump', @options, '-d', $node->connstr('postgres'), '-f', $f); $f });
	$change->() for $dump;
	append_to_file(my $file = $node->basedir . '/changed.sql', $dump);
	$node->safe_psql('postgres', 'DROP DATABASE IF EXISTS t2');
	$node->safe_psql('postgres', 'CREATE DATABASE t2');
	$node->psql('t2', "\\i $file", on_error_stop => 0, stderr => \my $errors);
	unlink $file;
	$node->safe_psql('t2', q{INSERT INTO visits SELECT person, timestamp '2024-01-02 12:00', 'a'
		FROM generate_series(1, 1000) AS person, generate_series(1, 10); CALL over(2)});
	return $errors;
}
# How resuming and ticking a counter ends, and how many events it has counted by then.
sub goes_on
{
	my ($counter) = @_;
	my $error = failure($node, "SELECT dp_counter_resume('$counter'); CALL dp_tick('$counter')", database => 't2');
	my ($said) = $error =~ /ERROR:  (.*)/;
	return ($said // 'goes on') . ', ' . $node->safe_psql('t2', $counter eq 'stays' ? 'SELECT max(count) FROM stays'
		: "SELECT sum(count) FROM $counter");
}
my $keep = sub { };

is(restore($keep), '', 'a whole dump');
my $whole = goes_on('stays');
like($whole, qr/^goes on, 30\d\d$/, 'of which nobody counts again but who has a new window on the second day');
is(goes_on('persons'), 'goes on, 2000', 'persons of a day count each day');

# --- a schema that is left out takes nothing along but what is in it
is(restore($keep, '-N', 'scratch'), '', 'a dump without a schema');
is(goes_on('stays'), $whole, 'the counters of another one go on');
is(goes_on('other'), 'the source of counter "other" was dropped, 3000', 'one whose source was there keeps its releases');
is($node->safe_psql('t2', 'SELECT budget, spent FROM dp_budgets ORDER BY 1'), "years|1300000000\n|1",
	'what was spent stays booked, also of a budget without its view');
is($node->safe_psql('t2', 'SELECT count(*) FROM dp_counters'), 3, 'a counter without its view is not listed');
like(failure($node, q{SELECT dp_budget_create('more', 1, per => '365 days'); SELECT dp_source_drop('visits_dp')},
	database => 't2'), qr/counters depend on it/, 'sources and budgets are as they were');
is(failure($node, q{SELECT dp_counter_drop(counter) FROM dp_counters; SELECT dp_source_drop('visits_dp')}, database => 't2'), '',
	'and nothing lost blocks a drop');

# --- a table that is left out, or whose COPY fails
my %missing = (
	streams => 'a stream of the counter is missing, 3000',
	publications => qq{the counter's publication is missing, },
	groups => 'a group of the counter is missing, ',
	tallies => 'what the persons of counter "stays" have used up is missing, 3000',
	budgets => 'the budget of the source is missing, 3000',
	budget_entries => 'the charge of the counter is missing, 3000',
	window_key => 'the key of the windows is missing, 3000',
	source_counters => qq{the counter's events are missing, 3000},
	sources => 'the source of counter "stays" was dropped, 3000');
for my $table (sort keys %missing)
{
	restore($keep, "--exclude-table-data=dp_counter_private.$table");
	like(goes_on('stays'), qr/^\Q$missing{$table}\E/, "without $table");
}
like(restore(sub { s/^(COPY dp_counter_private\.tallies .*\n).*/$1broken/m }), qr/invalid input syntax|missing data/,
	'a COPY of tallies that fails');
is(goes_on('stays'), $missing{tallies}, 'is the same as none');

# --- another key of the windows is never made under a budget that has one
restore($keep, '--exclude-table-data=dp_counter_private.window_key');
like(failure($node, q{SELECT dp_budget_create('more', 1, per => '7 days')}, database => 't2'),
	qr/the key of the windows is missing/, 'no other key');
is(failure($node, q{SELECT dp_budget_create('more', 1)}, database => 't2'), '', 'a budget for life needs none');
# nor is the one of a database that had one before the restore taken for it: the COPY of the key fails
my $other_key = sub {
	s/^(COPY dp_counter_private\.window_key .*\n)/INSERT INTO dp_counter_private.window_key VALUES (true, sha256('x'));\n$1/m;
};
like(restore($other_key), qr/duplicate key/, 'a key that is there already');
is(goes_on('stays'), 'the key of the windows is not that of the budget, 3000', 'is not taken for that of the budget');
like(failure($node, q{SELECT dp_own_window('years', 1, timestamp '2024-01-01')}, database => 't2'),
	qr/not that of the budget/, 'nor to show windows');

# --- what was charged, by counters that are dropped and by queries, is not forgotten
restore($keep, '--exclude-table-data=dp_counter_private.budget_entries');
like(failure($node, $_, database => 't2'), qr/the charges of the budget are missing/, "without entries: $_")
	for q{CALL dp_budget_spend('scratch.spent', 1, 'again')}, q{SELECT dp_budget_left('scratch.spent')},
	q{SELECT dp_counter_create('again', 'visits_dp', 1, '1 day', '2024-01-01', per_person => 3)};

# --- a role that may read the secret tables makes a view that a dump has left out
sql('CREATE ROLE reads_all LOGIN; GRANT pg_read_all_data TO reads_all');
my $face = sql(q{SELECT 'CREATE VIEW mine.bu WITH (security_barrier) AS ' || pg_get_viewdef('scratch.spent'::regclass)});
is(restore($keep, '-N', 'scratch'), '', 'a dump without a schema');
$node->safe_psql('t2', 'CREATE SCHEMA mine AUTHORIZATION reads_all');
$node->safe_psql('t2', $face, extra_params => [ '-U', 'reads_all' ]);
like(failure($node, q{CALL dp_budget_spend('mine.bu', 1, 'x')}, database => 't2', user => 'reads_all'), qr/"bu" is not a budget/,
	'which is not the budget');
$node->safe_psql('t2', "DROP VIEW mine.bu; $face");
is($node->safe_psql('t2', q{SELECT dp_budget_left('mine.bu') = 1e10 - 1}), 't', 'but that of a superuser is');
# nor where a superuser's restore changes such views: with rules, or a query that needs a key, which come after the rows
sql(q{CREATE SCHEMA trap AUTHORIZATION reads_all});
my $query = $face =~ s/.* AS //sr;
$node->safe_psql('postgres', qq{
	CREATE VIEW trap.ruled WITH (security_barrier) AS $query; CREATE RULE r AS ON INSERT TO trap.ruled DO INSTEAD NOTHING;
	CREATE TABLE trap.keyed (id integer PRIMARY KEY, x integer);
	CREATE VIEW trap.late WITH (security_barrier) AS SELECT k.x FROM dp_counter_private.spendings AS s, trap.keyed AS k
		WHERE s.budget = @{[ $query =~ /budget = ('?\d+'?::bigint)/ ]} GROUP BY k.id;
}, extra_params => [ '-U', 'reads_all' ]);
is(restore($keep, '-N', 'scratch'), '', 'a dump with such views');
is($node->safe_psql('t2', q{SELECT count(*) FROM dp_budgets WHERE budget IS NOT NULL}), 1, 'does not make them budgets');
$node->safe_psql('t2', qq{ALTER VIEW trap.$_ OWNER TO reads_all; ALTER VIEW trap.$_ RENAME TO x; ALTER VIEW trap.x RENAME TO $_})
	for 'ruled', 'late';
is($node->safe_psql('t2', q{SELECT count(*) FROM dp_budgets WHERE budget IS NOT NULL}), 1, 'nor does a superuser who alters them');
sql('DROP SCHEMA trap CASCADE');

# --- a counter that continues another one, and has read nothing yet
sql(q{
	SELECT dp_counter_create('after', 'visits_dp', 2e8, '1 day', per_person => 6, continues => 'stays');
	CREATE TABLE expected AS SELECT 6 * count(*) AS count FROM generate_series(1, 1000) AS person
	WHERE dp_own_window('years', person, timestamp '2024-01-01 12:00') < dp_own_window('years', person, timestamp '2024-01-02 12:00')});
is(restore($keep), '', 'a dump before its first tick');
is(goes_on('after'), 'goes on, ' . sql('SELECT count FROM expected'), 'it takes over what each person has used up');
is($node->safe_psql('t2', q{SELECT array_agg((epsilon::bigint, begins_from::date, begins_before::date) ORDER BY begins_from)
	FROM years WHERE purpose = 'after'}),
	'{"(200000000,2024-01-02,)","(100000000,,2024-01-02)"}', 'both entries are there');
restore($keep, '--exclude-table-data=dp_counter_private.tallies');
is(goes_on('after'), 'what the persons of counter "after" have used up is missing, ', 'without tallies it releases nothing');
done_testing();
