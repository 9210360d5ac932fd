# What counters under a renewing budget are good for: flows that do not fade, shares and means that the bound does not bend, and
# intervals that hold the bounded number as often as they say.
#
# RENEWAL_REPLAYS (300) groups are as many replays; the evidence has 3000.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use Renewal;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $replays = $ENV{RENEWAL_REPLAYS} // 300;

my $node = new_node('flows', conf => "autovacuum = off\nfsync = off\njit = off\nmax_parallel_workers_per_gather = 0\n");

sub sql { return $node->safe_psql('postgres', $_[0]); }

sql($renewal_sql);

# --- flat. Four persons of each phase, who come every 28 days for four years, of which the counters have the last three. An own year has
# 13 visits or 14 and the bound keeps 8, those of its first 224 days: 61 % of any four weeks.
sql(q{
	SELECT dp_budget_create('years', 1e15, per => '365 days');
	CREATE TABLE visits AS
	SELECT who, date '2020-01-01' + 28 * k + (7 * place)::int AS day
	FROM (SELECT who, row_number() OVER (PARTITION BY oracle.phase(oracle.plain(who), 365)) - 1 AS place
		FROM generate_series(1::bigint, 20000) AS who) AS persons,
	     generate_series(-14, 38) AS k WHERE place < 4 ORDER BY random();
	CREATE VIEW visits_dp AS SELECT * FROM visits;
	SELECT dp_source_create('visits_dp', budget => 'years', person => 'who', at => 'day');
	SELECT dp_counter_create(name, source => 'visits_dp', epsilon => 1e9, every => '4 weeks', since => '2020-01-01',
		per_person => 8) FROM unnest('{at_once,in_time}'::text[]) AS name;
	SELECT dp_counter_create('totals', source => 'visits_dp', epsilon => 1e9, every => '4 weeks', since => '2020-01-01',
		per_person => 8, cumulative => true);
	INSERT INTO oracle.counters (name, zone, every, since) SELECT name, 'UTC', '4 weeks', '2020-01-01'
		FROM unnest('{at_once,in_time,totals}'::text[]) AS name;
	CALL oracle.tick('at_once', 39);
	DO $$ BEGIN FOR n IN 1 .. 39 LOOP CALL oracle.tick('in_time', n); END LOOP; END $$;
	CALL oracle.tick('totals', 39);
	CREATE VIEW total_changes AS SELECT count - coalesce(lag(count) OVER (ORDER BY step), 0) AS count FROM totals;});
is(sql('SELECT count(*) FROM visits'), 365 * 4 * 53, 'four persons of each phase');
for my $counter (qw(at_once in_time total_changes))
{
	my ($least, $most) = split /\|/, sql("SELECT min(count) / 1460.0, max(count) / 1460.0 FROM $counter");
	cmp_ok($most - $least, '<', 0.02 * $least, sprintf('%s: the share kept is %.4f to %.4f in every four weeks, from the first on',
		$counter, $least, $most));
	cmp_ok(abs($least - 224 / 365), '<', 0.01, 'which is what the bound keeps');
}

# --- unbiased. Persons have ten rows a day, one of them flagged and of value 30, the others of value 1; it comes first, last, or anywhere.
# One row counts. A share of 5000 has a standard deviation of 0.0042, a mean one of 0.123: 6 of them, twice three times: a false alarm
# in 10^7 runs.
sql(q{
	CREATE TABLE days AS
	SELECT o * 5000 + p AS who, date '2021-06-01' AS day, (ARRAY['first', 'last', 'any'])[o] AS insertion, flagged,
		CASE WHEN flagged THEN 30 ELSE 1 END AS value
	FROM (SELECT o::bigint, p, n, n = 1 AS flagged FROM generate_series(1, 3) AS o, generate_series(1, 5000) AS p,
		generate_series(1, 10) AS n) AS rows
	ORDER BY CASE o WHEN 1 THEN flagged::int * -1 WHEN 2 THEN flagged::int ELSE random() END, random();
	CREATE VIEW days_dp AS SELECT who, day, insertion, insertion || flagged AS flag, value FROM days;
	SELECT dp_source_create('days_dp', budget => 'years', person => 'who', at => 'day');
	SELECT dp_counter_create('flags', source => 'days_dp', epsilon => 1e9, every => '1 week', since => '2021-06-01', per_person => 1,
		by => 'flag', groups => '{firstfalse,firsttrue,lastfalse,lasttrue,anyfalse,anytrue}');
	SELECT dp_counter_create('true_flags_first', source => 'days_dp', epsilon => 1e9, every => '1 week', since => '2021-06-01',
		per_person => 1,
		by => 'flag', groups => '{firsttrue,firstfalse,lasttrue,lastfalse,anytrue,anyfalse}');
	SELECT dp_counter_create('values', source => 'days_dp', epsilon => 1e9, every => '1 week', since => '2021-06-01', per_person => 1,
		sum => 'value', upper => 30, by => 'insertion', groups => '{first,last,any}');
	INSERT INTO oracle.counters (name, zone, every, since) SELECT name, 'UTC', '1 week', '2021-06-01'
		FROM unnest('{flags,true_flags_first,values}'::text[]) AS name;
	CALL oracle.tick('flags', 1);
	CALL oracle.tick('true_flags_first', 1);
	CALL oracle.tick('values', 1);});
for my $insertion (qw(first last any))
{
	for my $counter (qw(flags true_flags_first))
	{
		my ($flagged, $all) = split /\|/, sql("SELECT sum(count) FILTER (WHERE flag LIKE '%true'), sum(count) FROM $counter
			WHERE flag LIKE '$insertion%'");
		is($all, 5000, 'every person counts once');
		cmp_ok(abs($flagged / $all - 0.1), '<', 0.0255, "$counter, inserted $insertion: a flag of 10 % reads " . 100 * $flagged / $all . ' %');
	}
	my $mean = sql(qq{SELECT sum / 5000.0 FROM "values" WHERE insertion = '$insertion'});
	cmp_ok(abs($mean - 3.9), '<', 0.74, "a true average of 3.9 reads $mean");
}

# --- coverage, of the changes of the last 1, 7, 30 and 365 periods. A group has six persons, who come on the last day:
# the bounded number is 6000, nine standard deviations of the widest difference from 0, where intervals are cut. A
# frequency fails where its Kullback-Leibler distance from the probability exceeds 18 / replays, with a probability
# below 2 exp(-18) by Chernoff's bound, of eight: a false alarm in 3 million runs. Of 3000 replays that is 0.024, 6
# standard errors.
my $steps = 366;
my $scale = 1000 / 40;
sql(qq{
	CREATE TABLE replays AS SELECT g * 6 + p::bigint AS who, 'g' || g AS place, date '2020-12-31' AS day, 5000 AS value
		FROM generate_series(1, $replays) AS g, generate_series(1, 6) AS p;
	CREATE VIEW replays_dp AS SELECT * FROM replays;
	SELECT dp_source_create('replays_dp', budget => 'years', person => 'who', at => 'day');
	SELECT dp_counter_create(name, source => 'replays_dp', epsilon => 40, every => '1 day', since => '2020-01-01',
		horizon => $steps, per_person => 1,
		sum => 'value', upper => 1000, by => 'place', groups => (SELECT array_agg('g' || g)
			FROM generate_series(1, $replays) AS g), cumulative => name = 'running')
	FROM unnest('{single,running}'::text[]) AS name;
	CALL dp_tick('replays_dp');});

# That a sum of n independent discrete Laplace variables is at most h: the inversion of its characteristic function, by the trapezoidal
# rule, exact but for what lies beyond N - h.
sub probability
{
	my ($n, $h) = @_;
	my $p = exp(-1 / $scale);
	my $N = 2 ** 17;
	my $sum = 2 * $h + 1;
	for my $k (1 .. $N / 2)
	{
		my $t = 2 * 3.14159265358979323846 * $k / $N;
		my $phi = ((1 - $p) ** 2 / (1 - 2 * $p * cos($t) + $p ** 2)) ** $n;
		last if $phi < 1e-20;
		$sum += ($k == $N / 2 ? 1 : 2) * $phi * sin(($h + 0.5) * $t) / sin($t / 2);
	}
	return $sum / $N;
}

sub distance
{
	my ($f, $p) = @_;
	return ($f > 0 ? $f * log($f / $p) : 0) + ($f < 1 ? (1 - $f) * log((1 - $f) / (1 - $p)) : 0);
}

for my $lag (1, 7, 30, 365)
{
	for my $counter (qw(single running))
	{
		my ($n, $covered, $narrowest, $widest) = split /\|/, sql(qq{
			SELECT count(*), avg((6000 BETWEEN low AND high)::int), min(high - low), max(high - low)
				FROM dp_counter_changes('$counter', $lag) WHERE step = $steps});
		is($n, $replays, "$counter, lag $lag: a change for each group");
		# Of a difference of two totals at least 0.95 and, since one more on each side is less, at most 0.952.
		my ($from, $to) = (0.95, 0.952);
		$from = $to = probability($lag, $widest / 2) if $counter eq 'single';
		cmp_ok($from, '>=', 0.95, sprintf('the interval of %d to %d promises %.4f', $narrowest, $widest, $from));
		cmp_ok($to,   '<',  0.955, 'not much more');
		my $off = $covered < $from ? distance($covered, $from) : $covered > $to ? distance($covered, $to) : 0;
		cmp_ok($off * $replays, '<', 18, sprintf('and holds %.4f', $covered));
	}
}
my ($least, $most) = split /\|/, sql(q{SELECT min(high - low), max(high - low) FROM single});
cmp_ok(probability(1, $most / 2), '>=', 0.95, 'a single period\'s interval too');
done_testing();
