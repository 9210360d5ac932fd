# Counters of active persons, by random pairs of histories that differ in all rows of one person in one of that person's own windows,
# while rows come late, move, change their groups and go, and one tick closes any number of periods. What both release, at an epsilon at
# which there is no noise, is what a model computes from the rows that each tick saw; and of each pair anchors differ by at most 1,
# increments by at most 2 (with groups that change 2 and 4), and nothing where the window ends before what was charged for.
#
# A round has ACTIVE_PAIRS (80) pairs in one table, each with groups of its own, and ACTIVE_ROUNDS (6) it has: the evidence has 100 of
# 600. ACTIVE_SEED repeats a run but for the keys.
use strict;
use warnings;
use Digest::SHA qw(sha256);
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use POSIX qw(floor);
use Renewal;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $pairs  = $ENV{ACTIVE_PAIRS}  // 80;
my $rounds = $ENV{ACTIVE_ROUNDS} // 6;
my $seed   = $ENV{ACTIVE_SEED}   // int(rand(1e6));
srand $seed;
note("ACTIVE_SEED=$seed");

use constant DAY => 86_400_000_000;
my $node = new_node('active', conf => "autovacuum = off\nfsync = off\njit = off\nmax_parallel_workers_per_gather = 0\n");

sub sql { return $node->safe_psql('postgres', "SET client_min_messages = warning;\n$_[0]"); }
sub one_of { return $_[ int(rand(@_)) ]; }
sub least { my ($a, $b) = @_; return $a < $b ? $a : $b; }
sub most { my ($a, $b) = @_; return $a > $b ? $a : $b; }

sql($renewal_sql . q{
	CREATE TABLE events (who bigint, at timestamp, place text, other_side boolean,
		day date GENERATED ALWAYS AS (at::date) STORED, instant timestamptz GENERATED ALWAYS AS (at AT TIME ZONE 'UTC') STORED);
	CREATE VIEW events_0 AS SELECT who, at, day, instant, place FROM events;
	CREATE VIEW events_1 AS SELECT who, at, day, instant, place FROM events WHERE other_side;
	CREATE PROCEDURE tick(steps integer) LANGUAGE plpgsql AS $$
	BEGIN
		FOR side IN 0 .. 1 LOOP CALL oracle.tick('active_' || side, steps); END LOOP;
	END $$;});

my %hours = ('6 hours' => 6, '12 hours' => 12, '1 day' => 24, '36 hours' => 36, '2 days' => 48, '3 days' => 72);
my %found;    # by kind, "anchors increments" => pairs
my ($wrong, $uncharged, $short, $cells, $compared) = (0, 0, 0, 0, 0);

# The rows that a tick reads, of persons, in their order.
sub rows_read
{
	my ($rows, $round, $from, $to, $side) = @_;
	my %read;
	for my $row (grep { $_->{at} >= $from && $_->{at} < $to && !($side && $_->{removed}) } @$rows)
	{
		my $rank = sha256($round->{key} . pack('q>q>q>q>', $row->{at}, $round->{number}{ $row->{place} }, 1, $row->{copy})
			. pack('q>', $row->{who}));
		push @{ $read{ $row->{who} } }, [ $row->{at}, substr($rank, 0, 8), $row->{place} ];
	}
	@$_ = sort { $a->[0] <=> $b->[0] || $a->[1] cmp $b->[1] } @$_ for values %read;
	return \%read;
}

# Steps first .. last at the ends of the round: the stock of each group, for the state of each person.
sub stocks
{
	my ($state, $read, $round, $first, $last) = @_;
	my @stocks;
	for my $who (keys %{ { %$state, %$read } })
	{
		my $person = $state->{$who} //= {};
		my @rows = @{ $read->{$who} // [] };
		for my $step ($first .. $last)
		{
			my $end = $round->{ends}[ $step - 1 ];
			while (@rows && $rows[0][0] < $end)
			{
				my ($at, undef, $place) = @{ shift @rows };
				my $window = floor((floor($at / DAY) - $round->{phase}{$who}) / $round->{per});
				@$person{qw(window place)} = ($window, $place) if !defined $person->{window} || $window > $person->{window};
				$person->{last} = $at;
			}
			++$stocks[$step]{ $person->{place} } if defined $person->{last} && $person->{last} >= $end - $round->{active} * DAY;
		}
	}
	return \@stocks;
}

for my $number (1 .. $rounds)
{
	still_running();
	my $at = (qw(at day instant))[ $number % 3 ];
	my $zone = $at eq 'instant' ? 'Europe/Berlin' : 'UTC';
	my $per = 1 + int(rand(5));
	my $active = $per + int(rand(4));
	my $every = one_of(($at eq 'day' ? () : ('6 hours', '12 hours', '36 hours')), '1 day', '1 day', '2 days', '3 days');
	my $most = int(($per + $active) * 24 / $hours{$every}) + 1;
	my $steps = 4 + int(rand(2.5 * $most));
	my $since = sprintf "timestamp '2020-03-2%d %s'", int(rand(9)), $at eq 'day' ? '00:00' : one_of('00:00', '00:00', '12:00', '00:15');
	my $unit = $at eq 'day' ? 24 : 6;
	sql("SELECT dp_budget_create('budget', 1e6, per => '$per days');" . join '',
		map { "SELECT dp_source_create('events_$_', budget => 'budget', person => 'who', at => '$at', time_zone => '$zone');" } 0, 1);
	my @places = map { ("$_.a", "$_.b", "$_.c") } 1 .. $pairs;
	my $groups = join ',', map { "'$_'" } @places;
	my $failed = failure($node, join(";\n", 'BEGIN',
		(map { "SELECT dp_counter_create('active_$_', source => 'events_$_', epsilon => 1000, every => '$every', since => $since,
			active => '$active days', by => 'place', groups => ARRAY[$groups])" } 0, 1),
		'UPDATE dp_counter_private.source_counters SET key = (SELECT min(key::text)::bytea FROM dp_counter_private.source_counters)',
		"TRUNCATE oracle.counters; INSERT INTO oracle.counters (name, at, zone, every, since) SELECT c.counter::text, '$at',
			time_zone, every, since FROM dp_counters AS c", 'COMMIT'));
	die $failed if $failed;
	my %round = (per => $per, active => $active);
	my ($mechanism, $k, $sensitivity) = split /\|/,
		sql(q{SELECT mechanism, k, sensitivity FROM dp_counters WHERE counter = 'active_0'::regclass});
	my $block = $mechanism eq 'anchored' ? $k : $sensitivity / 2;
	$round{key} = pack 'H*', sql(q{SELECT encode(min(key::text)::bytea, 'hex') FROM dp_counter_private.source_counters});
	$round{number}{ $places[$_] } = $_ + 1 for 0 .. $#places;
	my @ends = split /\n/, sql("SELECT oracle.face(oracle.boundary(c, n)) FROM oracle.counters AS c,
		generate_series(0, $steps) AS n WHERE name = 'active_0' ORDER BY n");
	my $begin = shift @ends;
	$round{ends} = \@ends;
	# No days of a window and of active after it, from a midnight on, have more ends within than a block has steps.
	for my $day (floor($begin / DAY) - $per - $active .. floor($ends[-1] / DAY))
	{
		++$short if $block < grep { $_ > $day * DAY && $_ < ($day + $per + $active) * DAY } @ends;
	}
	for my $line (split /\n/, sql("SELECT who, oracle.phase(oracle.plain(who), $per) FROM generate_series(10, $pairs * 10 + 9) AS who"))
	{
		my ($who, $phase) = split /\|/, $line;
		$round{phase}{$who} = $phase;
	}
	# Units, and rows around the times that are read.
	my $low = $begin - ($active + $per + 1) * DAY;
	my $days = ($ends[-1] - $low) / DAY + 2;
	my $any_time = sub {
		my $time = $low + int(rand($days * 24 / $unit)) * $unit * DAY / 24;
		return $at eq 'day' ? floor($time / DAY) * DAY : $time - (rand() < 0.1 ? 1_000_000 : 0);
	};
	my (@rows, %removed);
	my $set_place = sub {
		my ($row, $region) = @_;
		my $window = floor((floor($row->{at} / DAY) - $round{phase}{ $row->{who} }) / $per);
		$row->{removed} = $row->{who} % 10 == 0 && $window == $removed{ $row->{pair} };
		$row->{place} = "$row->{pair}." . ($row->{pair} % 2 ? 'a' : $region) if defined $region;
	};
	my $arrive = sub {
		for (1 .. $_[0])
		{
			my $pair = 1 + int(rand($pairs));
			my $row = { pair => $pair, who => $pair * 10 + (rand() < 0.7 ? 0 : 1), at => $any_time->() };
			$set_place->($row, one_of('a', 'b', 'c'));
			push @rows, $row;
		}
	};
	for my $pair (1 .. $pairs)
	{
		my $day = floor(($begin - $active * DAY) / DAY) + int(rand($days)) - $per;
		$removed{$pair} = floor(($day - $round{phase}{ $pair * 10 }) / $per);
	}
	$arrive->(int($pairs * rand($days) / 3) + $pairs * 3);
	my @states = ({}, {});
	my @truth = ({}, {});
	for (my $closed = 0; $closed < $steps;)
	{
		my $last = rand() < 0.15 ? $steps : least($steps, $closed + 1 + int(rand() ** 2 * $steps / 2));
		my %copies;
		$_->{copy} = $copies{"$_->{who} $_->{at} $_->{place}"}++ for @rows;
		# A copy is removed with its original: both are of one window.
		my $values = join ',', map { sprintf "(%d, timestamp '2000-01-01' + %.0f * interval '1 microsecond', '%s', %s)",
			@$_{qw(who at place)}, $_->{removed} ? 'false' : 'true' } @rows;
		$node->safe_psql('postgres', "TRUNCATE events; INSERT INTO events (who, at, place, other_side) VALUES $values; CALL tick($last);");
		for my $side (0, 1)
		{
			my $read = rows_read(\@rows, \%round, $closed == 0 ? $begin - $active * DAY : $ends[ $closed - 1 ], $ends[ $last - 1 ], $side);
			my $stocks = stocks($states[$side], $read, \%round, $closed + 1, $last);
			for my $step ($closed + 1 .. $last)
			{
				$truth[$side]{$step}{$_} = $stocks->[$step]{$_} for keys %{ $stocks->[$step] };
			}
		}
		$closed = $last;
		$arrive->($pairs);
		@rows = grep { rand() > 0.07 } @rows;
		for my $row (@rows)
		{
			my $what = rand;
			next if $what > 0.15;
			$row->{at} = $any_time->() if $what < 0.05;
			$row->{at} += (rand() < 0.5 ? -1 : 1) * $per * DAY if $what > 0.12;
			$set_place->($row, $what < 0.08 ? one_of('a', 'b', 'c') : undef);
		}
	}
	# What was released is the truth.
	for my $side (0, 1)
	{
		for my $line (split /\n/, sql("SELECT step, place, count FROM active_$side"))
		{
			my ($step, $place, $count) = split /\|/, $line;
			++$cells;
			++$wrong if $count != ($truth[$side]{$step}{$place} // 0);
		}
	}
	# And what one unit changes.
	for my $pair (1 .. $pairs)
	{
		my ($anchors, $increments) = (0, 0);
		for my $place (map { "$pair.$_" } qw(a b c))
		{
			my $before = 0;
			for my $step (1 .. $steps)
			{
				my $difference = ($truth[0]{$step}{$place} // 0) - ($truth[1]{$step}{$place} // 0);
				if (($step - 1) % $block == 0) { $anchors += abs $difference; }
				else { $increments += abs($difference - $before); }
				$before = $difference;
			}
		}
		my $until = (($removed{$pair} + 1) * $per + $round{phase}{ $pair * 10 }) * DAY;
		++$uncharged if $until <= $begin - $active * DAY && $anchors + $increments > 0;
		++$found{ $pair % 2 ? 'one group' : 'groups' }{"$anchors $increments"};
		++$compared;
	}
	note("round $number: $at, per $per, active $active, every $every, $steps steps, $mechanism, block $block");
	sql(join '', (map { "SELECT dp_counter_drop('active_$_'); SELECT dp_source_drop('events_$_');" } 0, 1),
		"SELECT dp_budget_drop('budget');");
}

for my $kind (sort keys %found)
{
	note("$kind: anchors and increments that differ, and pairs: ", join ', ', map { "$_: $found{$kind}{$_}" } sort keys %{ $found{$kind} });
	my $limit = $kind eq 'groups' ? 2 : 1;
	my @over = grep { my ($anchors, $increments) = split / /; $anchors > $limit || $increments > 2 * $limit } keys %{ $found{$kind} };
	is("@over", '', "$kind: no unit changes more than $limit anchors and @{[ 2 * $limit ]} increments");
}
is($wrong, 0, "$cells cells are those of the model");
is($short, 0, 'no unit can change more steps than a block has');
is($uncharged, 0, "$compared pairs: nothing differs by a window before what was charged for");
done_testing();
