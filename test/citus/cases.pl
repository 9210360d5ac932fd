#!/usr/bin/perl
# Private counts over distributed tables: the workers count, the noise is drawn once; what is stored on several
# nodes is one release. Run by test/citus/run, which provides the cluster.
use strict;
use warnings;
use Test::More;

my @workers = split ' ', $ENV{WORKERS} // die "usage: test/citus/run\n";

# The output of statements in one session; what goes wrong is part of it.
sub sql
{
    my ($sql, %options) = @_;
    my $port = $options{port} // $ENV{PGPORT};
    open my $psql, '-|', 'sh', '-c', 'exec psql -XqAt -p "$1" -v ON_ERROR_STOP=1 -c "$2" 2>&1', 'sh', $port, $sql or die "psql: $!";
    local $/ = undef;
    my $out = <$psql> // '';
    close $psql;
    $out =~ s{\n+\z}{};
    return $out;
}

# What the shards are asked, and what is asked of what they answered.
sub tasks
{
    my @queries = sql("SET citus.explain_all_tasks = on; EXPLAIN (VERBOSE, COSTS OFF) $_[0]") =~ /^\s*Query: (.*)/mg;
    return ([grep { /_\d{6}\b/ } @queries], [grep { !/_\d{6}\b/ } @queries]);
}

for my $setting ("citus.shard_count = 4", "citus.shard_replication_factor = 1")
{
    sql("ALTER DATABASE postgres SET $setting");
}
diag(sql('SELECT citus_version()'), "\n", sql('SELECT version()'));
is(sql(q{SELECT string_agg(DISTINCT result, ',')
	FROM run_command_on_all_nodes('SELECT extversion FROM pg_extension WHERE extname = ''dp_counter''')}),
    sql(q{SELECT extversion FROM pg_extension WHERE extname = 'dp_counter'}), 'CREATE EXTENSION reaches all nodes');

# 30 days of two visits an hour, every third with the flu.
my $columns = '(ward text, id integer, at timestamp, flu boolean)';
my $rows    = q{SELECT CASE WHEN id % 2 = 0 THEN 'north' ELSE 'south' END, id,
	timestamp '2026-01-01' + id / 2 * interval '1 hour', id % 3 = 0
    FROM generate_series(0, 1439) AS id};
my %table = (
    visits       => q{create_distributed_table('visits', 'id')},
    visits_ward  => q{create_distributed_table('visits_ward', 'ward')},
    visits_twice => q{create_distributed_table('visits_twice', 'id')},
    visits_all   => q{create_reference_table('visits_all')},
);
for my $table (sort keys %table)
{
    my $copies = $table eq 'visits_twice' ? 2 : 1;
    is(sql("CREATE TABLE $table $columns; SET citus.shard_replication_factor = $copies; SELECT $table{$table};
    INSERT INTO $table $rows"), '', "$table is there");
}

# --- exact at an enormous epsilon, and drawn once, above what the shards count
my $by_day = 'SELECT at::date AS day, count(*) FILTER (WHERE flu) AS n FROM TABLE GROUP BY at::date';
my %combined = (
    'dp_running_sum over GROUP BY' => ['SELECT max(n)
        FROM (SELECT dp_running_sum(count(*) FILTER (WHERE flu), 1e9, 1) OVER (ORDER BY at::date) AS n FROM TABLE
            GROUP BY at::date) AS r', 480],
    'dp_running_sum over a subquery' => ["SELECT sum(n) FROM (SELECT dp_running_sum(n, 1e9, 1) OVER (ORDER BY day) AS n
        FROM ($by_day) AS exact) AS r", 7440],
    'dp_running_sum by month' => [q{SELECT max(n)
        FROM (SELECT dp_running_sum(count(*) FILTER (WHERE flu), 1e9, 1) OVER (ORDER BY date_trunc('month', at)) AS n FROM TABLE
            GROUP BY date_trunc('month', at)) AS r}, 480],
    'dp_laplace of a number' => ['SELECT dp_laplace(n, 1e9, 1) FROM (SELECT count(*) FILTER (WHERE flu) AS n FROM TABLE) AS exact', 480],
    'dp_laplace by day'      => ["SELECT sum(n) FROM (SELECT dp_laplace(n, 1e9, 1) AS n FROM ($by_day) AS exact) AS r", 480],
    'dp_laplace beside count(*)' => ['SELECT dp_laplace(count(*) FILTER (WHERE flu), 1e9, 1) FROM TABLE', 480],
    'dp_running_count, row by row' => ['SELECT max(n) FROM (SELECT dp_running_count(flu, 1e9) OVER (ORDER BY id) AS n
        FROM TABLE) AS r', 480],
    'dp_count over rows that are fetched' => ['SELECT dp_count(flu, 1e9) FROM (SELECT flu FROM TABLE OFFSET 0) AS rows', 480],
);
for my $name (sort keys %combined)
{
    for my $table (sort keys %table)
    {
        my ($query, $result) = map { s/\bTABLE\b/$table/gr } @{ $combined{$name} };
        is(sql($query), $result, "$name, $table");
        next if $table eq 'visits_all';    # one node has all of it
        my ($shards) = tasks($query);
        is(scalar @$shards, 4, '... asks every shard');
        is("@{[grep { /dp_\w+\(/ } @$shards]}", '', '... for no noise');
    }
}
my ($shards) = tasks($combined{'dp_running_sum over GROUP BY'}[0] =~ s/\bTABLE\b/visits/gr);
is(scalar(grep { /count\(\*\) FILTER \(WHERE flu\).*GROUP BY/ } @$shards), 4, 'the shards count by day');
($shards) = tasks($combined{'dp_running_sum by month'}[0] =~ s/\bTABLE\b/visits/gr);
is(scalar(grep { /GROUP BY .*date_trunc/ } @$shards), 4, 'and by month');

# A group that lies in one shard is drawn there, once, with the group.
my $by_ward = 'SELECT ward, dp_laplace(n, 1e9, 1) FROM (SELECT ward, count(*) FILTER (WHERE flu) AS n FROM visits_ward
	GROUP BY ward) AS exact ORDER BY ward';
is(sql($by_ward), "north|240\nsouth|240", 'groups of the distribution column');
is(sql('SELECT ward, dp_count(flu, 1e9) FROM visits_ward GROUP BY ward ORDER BY ward'), "north|240\nsouth|240", 'dp_count, too');
is(sql('SELECT ward, max(n) FROM (SELECT ward, dp_running_sum(count(*) FILTER (WHERE flu), 1e9, 1) OVER (PARTITION BY ward
	ORDER BY at::date) AS n FROM visits_ward GROUP BY ward, at::date) AS r GROUP BY ward ORDER BY ward'),
    "north|240\nsouth|240", 'and windows');
is(sql($by_ward, port => $workers[0]), "north|240\nsouth|240", 'asked on a worker');

# Rows fetched for an aggregate bring epsilon along as a column. Whether it is the same in all of them is not asked: no
# error may depend on rows.
for my $aggregate ('dp_count(flu, 1e9)', 'dp_running_count(flu, 1e9, 3, 1440)')
{
    like(sql("SELECT $aggregate FROM $_"),
        qr/^ERROR:  epsilon, k and horizon must be constants.*\nHINT: .*the table is distributed.*dp_laplace\(n, epsilon, 1\)/,
        "$aggregate over several shards is refused, with a way out: $_") for qw(visits visits_ward);
}

# --- joined with a distributed table: a subquery over what Citus has fetched, or over a reference table, is repeated for each
# shard, and each repetition is a release. A CTE, or OFFSET 0, is drawn once, before.
my %release = (
    'the shards\' numbers' => 'SELECT ward, dp_laplace(n, 1e-6, 1) AS n FROM (SELECT ward, count(*) AS n FROM visits
        GROUP BY ward) AS exact',
    'a reference table'    => 'SELECT ward, dp_count(flu, 1e-6) AS n FROM visits_all GROUP BY ward',
);
for my $name (sort keys %release)
{
    my $releases = 'SELECT count(DISTINCT r.n) FROM visits JOIN';
    is(sql("$releases ($release{$name}) AS r USING (ward)"), 2 * 4, "a release of $name, joined as a subquery: one for each shard");
    is(sql("WITH r AS MATERIALIZED ($release{$name}) $releases r USING (ward)"), 2, '... as a CTE: one');
    is(sql("WITH r AS ($release{$name}) $releases r USING (ward)"), 2, '... MATERIALIZED or not');
    is(sql("$releases ($release{$name} OFFSET 0) AS r USING (ward)"), 2, '... with OFFSET 0: one');
    sql("CREATE VIEW noisy AS $release{$name}");
    is(sql("$releases noisy AS r USING (ward)"), 2 * 4, '... a view is a subquery');
    sql('DROP VIEW noisy');
}
my $number = 'SELECT dp_laplace(n, 1e-6, 1) AS n FROM (SELECT count(*) AS n FROM visits) AS exact';
is(sql("SELECT count(DISTINCT n) FROM (SELECT ($number) AS n FROM visits) AS r"), 4, 'so is a subquery in the SELECT list');
is(sql("WITH r AS MATERIALIZED ($number) SELECT count(DISTINCT n) FROM (SELECT (SELECT n FROM r) FROM visits) AS r"), 1,
	'... and not as a CTE');
is(sql('SELECT count(DISTINCT r.n) FROM visits, (SELECT dp_laplace(5, 1e-6, 1) AS n) AS r'), 1, 'a release of no table is drawn once');

# --- stored on several nodes: the same release (an immutable function was run on each: three values)
sql('CREATE TABLE released (what text, n bigint)');
sql(q{SELECT create_reference_table('released')});
sql('CREATE TABLE released_twice (what text, n bigint); SET citus.shard_replication_factor = 2');
sql(q{SET citus.shard_replication_factor = 2; SELECT create_distributed_table('released_twice', 'what')});
my %releases = (
    'one number'      => q{SELECT 'a', dp_count(flu, 1e-6) FROM visits_all},
    'a number by id'  => q{SELECT id::text, dp_count(flu, 1e-6) FROM visits WHERE id < 20 GROUP BY id},
    'of the shards'   => q{SELECT 'b', dp_laplace(n, 1e-6, 1) FROM (SELECT count(*) AS n FROM visits) AS exact},
    'a running sum'   => q{SELECT at::date::text, dp_running_sum(count(*), 1e-6, 1) OVER (ORDER BY at::date) FROM visits GROUP BY at::date},
    'a value'         => q{VALUES ('c', dp_laplace(5, 1e-6, 1))},
    'values'          => q{VALUES ('d', dp_laplace(5, 1e-6, 1)), ('d', dp_laplace(5, 1e-6, 1))},
);
for my $target (qw(released released_twice))
{
    for my $name (sort keys %releases)
    {
        is(sql("TRUNCATE $target; INSERT INTO $target $releases{$name}"), '', "INSERT INTO $target: $name");
        my $placements = sql(qq{SELECT string_agg(result, ' ' ORDER BY nodeport), count(DISTINCT result), count(*)
            FROM run_command_on_placements('$target',
                'SELECT coalesce(string_agg(what || '':'' || n, '','' ORDER BY what, n), '''') FROM %s') GROUP BY shardid});
        my @shards = map { [split /\|/] } split /\n/, $placements;
        is("@{[grep { $_->[1] != 1 || $_->[2] < 2 } @shards]}", '', '... every copy has the same');
        isnt("@{[map { $_->[0] } @shards]}" =~ s/ //gr, '', '... and there is one');
    }
    like(sql("UPDATE $target SET n = dp_laplace(n, 1.0, 1)"), qr/must not be VOLATILE/,
        'an UPDATE that would run on every copy is refused by Citus');
}

# A default is drawn once for a row that is inserted, but on each node for the rows that a new column finds.
my $copies = q{SELECT count(DISTINCT result) FROM run_command_on_placements('released',
	'SELECT string_agg(noise::text, '','' ORDER BY what) FROM %s')};
sql(q{TRUNCATE released; INSERT INTO released VALUES ('a', 1), ('b', 2)});
is(sql('ALTER TABLE released ADD COLUMN noise bigint DEFAULT dp_laplace(5, 1e-6, 1)'), '', 'a new column with a default');
is(sql($copies), 3, '... differs from node to node');
is(sql(q{TRUNCATE released; INSERT INTO released VALUES ('a', 1), ('b', 2); INSERT INTO released (what) SELECT 'c'}), '',
	'rows that are inserted');
is(sql($copies), 1, '... have the same everywhere');
is(sql('ALTER TABLE released DROP COLUMN noise'), '', 'as before');

is(sql(q{SELECT count(DISTINCT result) FROM run_command_on_all_nodes('SELECT dp_laplace(5, 1e-6, 1)')}), 3,
	'a statement that is repeated on every node draws on each');

# --- live counters: Citus has no triggers on distributed tables
sql(q{SELECT dp_event_counter_create('arrivals', 1e9, 10)});
for my $table ('visits', 'visits_all')
{
    like(sql("CREATE TRIGGER arrivals AFTER INSERT ON $table FOR EACH ROW EXECUTE FUNCTION dp_counter_record('arrivals')"),
        qr/^ERROR:  triggers are not supported on/, "a trigger on $table is refused");
}
is(sql(q{BEGIN; INSERT INTO visits SELECT ward, id + 10000, at, flu FROM visits_all WHERE id < 5;
SELECT dp_counter_record('arrivals', 5); COMMIT}), '', 'dp_counter_record in the same transaction');
sql(q{CALL dp_tick('arrivals')});
is(sql('SELECT step, count FROM arrivals'), '1|5', '... is counted');
is(sql(q{SELECT dp_counter_drop('arrivals'); SELECT count(*) FROM dp_counters}), "\n0", 'and dropped');

# --- a source instead: its query is asked of the shards
sql(q{DELETE FROM visits WHERE id >= 10000});
sql(q{SELECT dp_budget_create('patients', 4e9)});
for my $table (qw(visits visits_twice visits_all))
{
    sql("CREATE VIEW ${table}_dp AS SELECT id, at, ward, flu FROM $table");
    is(sql(qq{SELECT dp_source_create('${table}_dp', 'patients', 'id', 'at', 'UTC')}), '', "a source over $table");
    sql(qq{SELECT dp_counter_create('flu_$table', epsilon => 1e9, horizon => 30, source => '${table}_dp', event => 'flu',
        every => '1 day', since => '2026-01-01', by => 'ward', groups => '{north,south}', per_person => 1)});
}
my $released = 'SELECT ward, count(*), max(step), max(count) FROM TABLE GROUP BY ward ORDER BY ward';
my $all_due  = "north|30|30|240\nsouth|30|30|240";
is(sql(q{CALL dp_tick('visits_all_dp')}), 'NOTICE:  flu_visits_all: 30 periods released, no further one follows',
	'a tick over a reference table');
is(sql($released =~ s/TABLE/flu_visits_all/r), $all_due, '... releases what is due');

# --- a worker that is gone
my $stop = sub { system("cd $ENV{CLUSTER} && " . ($> == 0 ? 'runuser -u postgres -- ' : '')
	. "$ENV{SERVER_BIN}/pg_ctl -D data.worker2 -l log.worker2 -w $_[0] >/dev/null") };
$stop->('-m immediate stop');
my $release = 'SELECT max(n) FROM (SELECT dp_running_sum(count(*) FILTER (WHERE flu), 1e9, 1) OVER (ORDER BY at::date) AS n
	FROM TABLE GROUP BY at::date) AS r';
like(sql($release =~ s/TABLE/visits/r), qr/ERROR:  connection to the remote node .*:$workers[1] failed/,
	'a worker is gone: an error that names it');
like(sql(q{CALL dp_tick('flu_visits')}), qr/ERROR:  connection to the remote node .*:$workers[1] failed/, '... of a tick, too');
is(sql('SELECT count(*) FROM flu_visits'), 0, '... and nothing is released');
like(sql($release =~ s/TABLE/visits_twice/r), qr/^480$/m, 'with a second copy of every shard the answer is right');
unlike(sql(q{CALL dp_tick('flu_visits_twice')}), qr/ERROR/, '... and a tick');
is(sql($released =~ s/TABLE/flu_visits_twice/r), $all_due, '... which releases what is due');
$stop->('start');
is(sql($release =~ s/TABLE/visits/r), 480, 'it is back');
is(sql(q{CALL dp_tick('flu_visits')}), 'NOTICE:  flu_visits: 30 periods released, no further one follows', 'so is the tick');
is(sql($released =~ s/TABLE/flu_visits/r), $all_due, '... which releases what is due, each once');

done_testing();
