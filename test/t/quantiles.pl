# dp_counter_quantiles through SQL: 200 histograms with noise against this script, which computes the interval's ends
# from the releases by the definition, with a law of its own; and how often the intervals hold the truth.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('quantiles', conf => "autovacuum = off\nfsync = off\njit = off\n");

sub sql { return $node->safe_psql('postgres', $_[0]); }

# The least q with P(X >= q) <= 0.025. X is a sum of discrete Laplace variables times integers; each is the difference
# of two geometric ones: two recursive filters.
my %known;
sub quantile
{
	my ($scale, $below, $weight_below, $above, $weight_above) = @_;
	return $known{"@_"} //= do {
		my $ratio = exp(-1 / $scale);
		my $reach = int(14 * $scale * sqrt(2 * ($below * $weight_below**2 + $above * $weight_above**2))) + 30 * ($weight_below + $weight_above);
		my @mass = (0) x (2 * $reach + 1);
		$mass[$reach] = 1;
		for ([ $below, $weight_below ], [ $above, $weight_above ])
		{
			my ($times, $step) = @$_;
			for (1 .. $times)
			{
				$_ *= (1 - $ratio)**2 for @mass;
				$mass[$_] += $ratio * $mass[ $_ - $step ] for $step .. 2 * $reach;
				$mass[ 2 * $reach - $_ ] += $ratio * $mass[ 2 * $reach - $_ + $step ] for $step .. 2 * $reach;
			}
		}
		my ($q, $tail) = ($reach + 1, 0);
		$tail += $mass[ $reach + --$q ] while $tail + $mass[ $reach + $q - 1 ] <= 0.025;
		still_running();
		$q;
	};
}

# The places of the interval's bins, from 0, for a / b of the counts.
sub interval
{
	my ($counts, $part, $of, $scale, $lag) = @_;
	my ($sum, $total, @excess) = (0, 0);
	$total += $_ for @$counts;
	push @excess, $of * ($sum += $_) - $part * $total for @$counts;
	my @q = map { quantile($scale, $lag * ($_ + 1), $of - $part, $lag * (@$counts - $_ - 1), $part) } 0 .. $#$counts - 1;
	my ($first) = grep { $_ == $#$counts || $excess[$_] >= -$q[$_] } 0 .. $#$counts;
	my ($last) = grep { $_ == 0 || $excess[ $_ - 1 ] < $q[ $_ - 1 ] } reverse 0 .. $#$counts;
	return ($first, $last);
}

# Values of many shapes: a few, all in one bin, in both ends, rising, none in some periods.
sql(q{
	SELECT setseed(0.46);
	SELECT dp_budget_create('all', 1000, per => '365 days');
	CREATE TABLE events AS
	SELECT row_number() OVER () AS person, timestamp '2020-01-05' + period * interval '7 days' AS at, CASE WHEN n % 2 = 0 THEN 'a'
		ELSE 'b' END AS side,
	       CASE period % 5 WHEN 0 THEN random() * 12 - 1 WHEN 1 THEN 4 WHEN 2 THEN CASE WHEN random() < 0.5 THEN -3 ELSE 20 END
	                       WHEN 3 THEN 10 * sqrt(random()) ELSE 10 * random() * random() END::integer AS value
	FROM generate_series(0, 24) AS period, LATERAL generate_series(1, (random() ^ 2 * 400 * (period % 7))::integer) AS n;
	CREATE VIEW events_dp AS SELECT * FROM events;
	SELECT dp_source_create('events_dp', 'all', 'person', 'at');});
my %bins = (two => '{0,5}', few => '{0,2,4,8}', five => '{-1,0,1,6,7}', ten => '{0,1,2,3,4,5,6,7,8,9}');
my %scale = (two => 4, few => 8, five => 2, ten => 10);
for my $name (sort keys %bins)
{
	sql("SELECT dp_counter_create('$name', 'events_dp', 0.5, '1 week', '2020-01-05', horizon => 25, per_person => " . $scale{$name} / 2
		. ", histogram => 'value', bins => '$bins{$name}', by => 'side', groups => '{a,b}')");
}
sql("CALL dp_tick('events_dp')");
is(sql('SELECT sum(steps) FROM dp_counters'), 100, 'a hundred periods of two groups');

my ($histograms, $asked, $covered) = (0, 0, 0);
my %parts = ('0.5' => [ 1, 2 ], '0.25' => [ 1, 4 ], '0.9' => [ 9, 10 ]);
for my $name (sort keys %bins)
{
	my @ends = $bins{$name} =~ /-?\d+/g;
	my @different;
	for my $lag (1, 3)
	{
		my %low_high = map { my ($step, $side, $part, @ends) = split /\|/, $_, -1; ("$step $side $part" => "@ends") }
			split /\n/, sql("SELECT step, group_value, fraction, coalesce(low::text, '-'), coalesce(high::text, '-')
				FROM dp_counter_quantiles('$name', '{0.5,0.25,0.9}', $lag)");
		for (split /\n/, sql("SELECT r.step, r.side, string_agg(r.count::text, ' ' ORDER BY r.bin),
			string_agg(r.truth::text, ' ' ORDER BY r.bin) FROM (
				SELECT v.step, v.side, v.bin, sum(v.count) OVER w AS count,
					sum((SELECT count(*) FROM events AS e WHERE e.side = v.side AND at >= v.period AND at < v.period + interval '1 week'
				       AND greatest(width_bucket(e.value, '$bins{$name}'::integer[]), 1) = array_position('$bins{$name}'::bigint[],
				       	v.bin))) OVER w AS truth
				FROM $name AS v WINDOW w AS (PARTITION BY v.side, v.bin ORDER BY v.step ROWS $lag - 1 PRECEDING)) AS r
					WHERE r.step >= $lag GROUP BY 1, 2"))
		{
			my ($step, $side, $counts, $truth) = split /\|/;
			my @counts = split / /, $counts;
			my @truth = split / /, $truth;
			++$histograms if $lag == 1;
			for my $part (sort keys %parts)
			{
				my ($first, $last) = interval(\@counts, @{ $parts{$part} }, $scale{$name}, $lag);
				my $expected = ($first == 0 ? '-' : $ends[$first]) . ' ' . ($last == $#ends ? '-' : $ends[ $last + 1 ]);
				my $got = delete $low_high{"$step $side $part"} // 'nothing';
				push @different, "$step $side $part: $got, not $expected" if $got ne $expected;
				next if $lag > 1;
				my ($sum, $total) = (0, 0);
				$total += $_ for @truth;
				my ($true) = grep { ($sum += $truth[$_]) * $parts{$part}[1] >= $total * $parts{$part}[0] } 0 .. $#truth;
				++$asked;
				++$covered if $first <= $true && $true <= $last;
			}
		}
		push @different, map { "$_: too many" } sort keys %low_high;
	}
	is(join("\n", @different), '', "$name: every end is that of the definition");
}
is($histograms, 200, 'of 200 histograms');
# Three intervals of one histogram share its noise: as if there were 200. Below 0.85 with a probability of 1e-7 at 0.95 each.
cmp_ok($covered / $asked, '>', 0.85, "and $covered of $asked hold the truth");

$node->stop;
done_testing();
