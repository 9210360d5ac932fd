# Nothing but the releases themselves tells a count: no log line, however talkative the server is, and no plan.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# 41234 of 60000 bits are set; with this epsilon every release is the true count. Every text is searched by the same two
# subs; at the end a leak of each kind is planted, which they have to see.
my $node = new_node('quiet', conf => q{
	log_min_messages = debug5
	log_line_prefix = '%m '
	log_statement = 'all'
	log_duration = on
	log_executor_stats = on
	debug_print_plan = on
	shared_preload_libraries = 'auto_explain'
	auto_explain.log_min_duration = 0
	auto_explain.log_analyze = on
	auto_explain.log_verbose = on
	auto_explain.log_buffers = on
	auto_explain.log_nested_statements = on
});
sub tells { return $_[0] =~ /\b41234\b/ }
# A process may have any number, and so may the operating system's figures of what it used (lines with "!").
sub lines_that_tell
{
	my ($from) = @_;
	return grep { tells($_) && !/t <= 41234|41234 \+ 1/ } map {s/(?:pid\W*|process )\d+//gri} grep {!/^!\t/} split /\n/,
		substr(slurp_file($node->logfile), $from);
}
my $started = length slurp_file($node->logfile);
$node->safe_psql('postgres', q{CREATE TABLE visits AS SELECT t, t <= 41234 AS flu FROM generate_series(1, 60000) t});

my @queries = (
	'SELECT dp_running_count(flu, 1e9) OVER (ORDER BY t) AS n FROM visits',
	'SELECT dp_running_count(flu, 1e9, 19, %s, 60000) OVER (ORDER BY t) AS n FROM visits',
	'SELECT dp_running_count(flu, 1e9, 19, 60000) OVER (ORDER BY t) AS n FROM visits',
	'SELECT dp_running_count(flu, 1e9, NULL, NULL::bigint) AS n FROM visits',
	'SELECT dp_count(flu, 1e9) AS n FROM visits',
	'SELECT dp_running_sum(count(*) FILTER (WHERE flu), 1e9, 1) OVER (ORDER BY t / 100) AS n FROM visits GROUP BY t / 100',
	'SELECT dp_laplace(n, 1e9, 1) AS n FROM (SELECT count(*) FILTER (WHERE flu) AS n FROM visits) exact',
);
my $plans = '';
for my $query (map { my $q = $_; $q =~ /%s/ ? map({ sprintf $q, "'$_'" } qw(hat subtraction plain)) : $q } @queries) {
	is($node->safe_psql('postgres', "SELECT max(n) FROM ($query) s"), 41234, $query);
	$plans .= $node->safe_psql('postgres', "EXPLAIN (ANALYZE, VERBOSE, BUFFERS, FORMAT yaml) SELECT max(n) FROM ($query) s");
}
my ($status, $out, $err) = $node->psql('postgres',
	'SELECT n, 1 / (t - 41235) FROM (SELECT t, dp_running_count(flu, 1e9) OVER (ORDER BY t) AS n FROM visits) s');
like($err, qr/division by zero/, 'an error in the middle of a count');
ok(!tells($err), 'does not tell it');
($status, $out, $err) = $node->psql('postgres', 'SELECT dp_running_count(flu, 1e9, horizon => 41234 + 1) OVER (ORDER BY t) FROM visits');
like($err, qr/more rows than the horizon of 41235/, 'nor does an error of the count itself');
ok(!tells($err), 'which names what is public');
ok(!tells($plans), 'no count in a plan');
# From here on: at its start the server also tells the environment.
is(join("\n", lines_that_tell($started)), '', 'no count in the log');

# --- planted leaks are seen: in a plan, in an error, in the log by a plan, an error and a message
my $leak = 'SELECT count(*) FROM visits WHERE flu';
my $before = length slurp_file($node->logfile);
ok(tells($node->safe_psql('postgres', "EXPLAIN (ANALYZE, VERBOSE, BUFFERS, FORMAT yaml) $leak")), 'a count in a plan is seen');
is($node->safe_psql('postgres', $leak), 41234, 'a count that is not private');
cmp_ok(scalar(grep {/rows=41234/} lines_that_tell($before)), '>', 0, 'is seen in the log, where auto_explain has its plan');
for my $level (qw(exception debug))
{
	$before = length slurp_file($node->logfile);
	($status, $out, $err) = $node->psql('postgres', "DO \$\$ BEGIN RAISE $level 'counted %', ($leak); END \$\$");
	ok(tells($err), 'a count in an error is seen') if $level eq 'exception';
	cmp_ok(scalar(grep {/counted 41234/} lines_that_tell($before)), '>', 0, "and one that the log has as $level");
}
$node->stop;
done_testing;
