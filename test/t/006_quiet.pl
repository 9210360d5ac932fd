# Nothing but the releases themselves tells a count: no log line, however talkative the server is, and no plan.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use LiveCounters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# 41234 of 60000 bits are set; with this epsilon every release is the true count.
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
my $started = length slurp_file($node->logfile);
$node->safe_psql('postgres', q{CREATE TABLE visits AS SELECT t, t <= 41234 AS flu FROM generate_series(1, 60000) t});

my @queries = (
	'SELECT dp_running_count(flu, 1e9) OVER (ORDER BY t) AS n FROM visits',
	'SELECT dp_running_count(flu, 1e9, 19, %s, 60000) OVER (ORDER BY t) AS n FROM visits',
	'SELECT dp_running_count(flu, 1e9, 19, 60000) OVER (ORDER BY t) AS n FROM visits',
	'SELECT dp_running_count(flu, 1e9, NULL, NULL::bigint) AS n FROM visits',
	'SELECT dp_count(flu, 1e9) AS n FROM visits',
);
my $plans = '';
for my $query (map { my $q = $_; $q =~ /%s/ ? map({ sprintf $q, "'$_'" } qw(hat bridge subtraction plain)) : $q } @queries) {
	is($node->safe_psql('postgres', "SELECT max(n) FROM ($query) s"), 41234, $query);
	$plans .= $node->safe_psql('postgres', "EXPLAIN (ANALYZE, VERBOSE, BUFFERS, FORMAT yaml) SELECT max(n) FROM ($query) s");
}
my ($status, $out, $err) = $node->psql('postgres', 'SELECT n, 1 / (t - 41235) FROM (SELECT t, dp_running_count(flu, 1e9) OVER (ORDER BY t) AS n FROM visits) s');
like($err, qr/division by zero/, 'an error in the middle of a count');
unlike($err, qr/\b41234\b/, 'does not tell it');
($status, $out, $err) = $node->psql('postgres', 'SELECT dp_running_count(flu, 1e9, horizon => 41234 + 1) OVER (ORDER BY t) FROM visits');
like($err, qr/more rows than the horizon of 41235/, 'nor does an error of the count itself');
unlike($err, qr/\b41234\b/, 'which names what is public');
unlike($plans, qr/\b41234\b/, 'no count in a plan');
# From here on: at its start the server also tells the environment. A process may have any number, and so may the operating
# system's figures of what it used (lines with "!").
my @told = grep {/\b41234\b/ && !/t <= 41234|41234 \+ 1/} map {s/(?:pid\W*|process )\d+//gri} grep {!/^!\t/} split /\n/, substr(slurp_file($node->logfile), $started);
is("@told", '', 'no count in the log');
$node->stop;
done_testing;
