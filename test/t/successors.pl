# Counters that continue one another, by random histories: one to four of them, with other bounds, epsilons, periods, events and measures,
# gaps, and successors that are dropped before they read; while rows come late, move and go. Their sources are renamed, moved between
# schemas, dropped, made again with other columns and types, and replaced by others of the same persons; budgets are within budgets; the
# server crashes during ticks, and a dump moves all to another database. An independent model, in Perl, computes what each releases and
# what the budget books, and what was released stays as it was. And for pairs of histories that differ in all rows of one person in one
# own window (or in a life): what the releases of all differ by costs no more than is booked for that window.
#
# SUCCESSOR_HISTORIES (30), each with SUCCESSOR_UNITS (5) pairs. SUCCESSOR_SEED repeats a run but for the key of the windows.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use List::Util qw(max min sum0);
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use POSIX qw(floor ceil);
use Time::HiRes qw(usleep);
use Test::More;

my $histories = $ENV{SUCCESSOR_HISTORIES} // 30;
my $units     = $ENV{SUCCESSOR_UNITS}     // 5;
my $seed      = $ENV{SUCCESSOR_SEED}      // int(rand(1e6));
srand $seed;
note("SUCCESSOR_SEED=$seed");

my $node = new_node('successors', conf => "autovacuum = off\nfsync = off\njit = off\n");
my $database = 'postgres'; # after a restore another one
my $session; # for as long as the server runs
sub sql
{
	if (!$session)
	{
		$session = $node->background_psql($database);
		$session->query_safe('SET client_min_messages = warning');
	}
	$session->set_query_timer_restart;
	return $session->query_safe($_[0]) =~ s/\n\z//r;
}
sub disconnect
{
	$session->quit if $session;
	undef $session;
}
sub one_of { return $_[ int(rand(@_)) ]; }

# Times are minutes since 2020-01-01. Epsilons are millions: no noise.
my $day = 1440;
sub stamp { return defined $_[0] ? "timestamp '2020-01-01' + $_[0] * interval '1 minute'" : 'NULL'; }

sql(q{
	CREATE TABLE rows (h integer, who integer, own_window integer, at timestamp, flag boolean, value integer);
	CREATE SCHEMA other;
	CREATE TABLE seen (number bigint, step bigint, stream integer, released_at timestamptz, count bigint, PRIMARY KEY (number, step, stream));
	CREATE TABLE found (h integer, v integer, k integer, step integer, number bigint);
	CREATE FUNCTION minutes(timestamp) RETURNS integer LANGUAGE sql AS $$
		SELECT extract(epoch FROM $1 - timestamp '2020-01-01')::integer / 60 $$;
	CREATE PROCEDURE until(day integer) LANGUAGE plpgsql AS $$
	BEGIN
		UPDATE dp_counter_private.source_counters SET "grace" = LOCALTIMESTAMP - (timestamp '2020-01-01' + day * interval '1 day');
		COMMIT;
		CALL dp_tick();
	END $$;});

# --- histories: the persons' windows, and units to take away
my @histories;
for my $h (1 .. $histories)
{
	my $per = rand() < 0.2 ? undef : 2 + int(rand(7));
	my $history = { h => $h, per => $per, budget => 'b', persons => [ map { 10 * $h + $_ } 1 .. 1 + int(rand(2)) ], rows => [], chain => [] };
	push @histories, $history;
	sql(join "\n", map { "SELECT dp_budget_create('b_${h}_$_', 2e9" . (defined $per ? ", per => '$per days'" : '') . ');' } 0 .. $units);
	if (rand() < 0.3)
	{
		$history->{budget} = 'within';
		sql(join "\n", map { "SELECT dp_budget_create('within_${h}_$_', 1e9, within => 'b_${h}_$_'"
			. (defined $per ? ", since => '2019-01-01'" : '') . ');' } 0 .. $units);
	}
	make_source($history, new_source(), 0);
	next if !defined $per;
	for my $who (@{ $history->{persons} })
	{
		($history->{begins}{$who}, $history->{number}{$who}) = split /\|/, sql(qq{
			SELECT d, own_window FROM (SELECT d,
				dp_own_window('b_${h}_0', $who, date '2020-01-01' + d * interval '1 day') AS own_window FROM generate_series(-1, $per - 1) AS d) AS days
			ORDER BY own_window DESC, d LIMIT 1});
	}
}
# A source is named by what comes before its number; its columns may get other names, and `who` another type of the same form.
sub new_source { return { schema => 'public', name => 's', who => 'who', flag => 'flag', value => 'value' }; }
sub source_name { my ($source, $history, $v) = @_; return "$source->{schema}.$source->{name}_$history->{h}_$v"; }
sub make_source
{
	my ($history, $source, $v) = @_;
	$history->{source} = $source;
	$history->{known} = {%$source}; # what a drop leaves to its counter
	my ($who, $w) = $v > 0 ? @{ $history->{units}[$v] } : ();
	my $without = defined $who ? " AND NOT (who = $who AND own_window = $w)" : '';
	my $type = $source->{type} //= one_of(qw(smallint integer bigint));
	my @columns = @{ $source->{order} //= one_of([ 0 .. 4 ], [ 4, 2, 3, 1, 0 ], [ 1, 3, 0, 2, 4 ]) };
	my @all = ("who::$type AS $source->{who}", 'at', "flag AS $source->{flag}", "value AS $source->{value}", 'h AS further');
	my $name = source_name($source, $history, $v);
	sql("CREATE VIEW $name AS SELECT " . join(', ', @all[@columns]) . " FROM rows WHERE h = $history->{h}$without;
	SELECT dp_source_create('$name', 'b_$history->{h}_$v', '$source->{who}', 'at', 'UTC', same_persons => true)");
}
sub all_units { my ($history) = @_; return 0 .. $#{ $history->{units} }; }
sub for_all_units { my ($history, $code) = @_; return sql(join "\n", map { $code->($_) . ';' } all_units($history)); }

# What becomes of a source between two ticks. Its running counter, if it is gone, waits for a view of the name that it last knew.
my %changes;
sub change_source
{
	my ($history) = @_;
	my $source = $history->{source};
	my $what = defined $source ? one_of(qw(rename move column again again gone none none)) : 'back';
	return if $what eq 'none';
	++$changes{$what};
	my $name = sub { source_name($source, $history, $_[0]) };
	if ($what eq 'rename')
	{
		my $new = one_of(qw(t u v)) . ++$changes{names};
		for_all_units($history, sub { 'ALTER VIEW ' . $name->($_[0]) . " RENAME TO ${new}_$history->{h}_$_[0]" });
		$source->{name} = $new;
	}
	elsif ($what eq 'move')
	{
		my $schema = $source->{schema} eq 'public' ? 'other' : 'public';
		for_all_units($history, sub { 'ALTER VIEW ' . $name->($_[0]) . " SET SCHEMA $schema" });
		$source->{schema} = $schema;
	}
	elsif ($what eq 'column')
	{
		my $column = one_of(qw(who flag value));
		my $new = $column . ++$changes{names};
		for_all_units($history, sub { 'ALTER VIEW ' . $name->($_[0]) . " RENAME $source->{$column} TO $new" });
		$source->{$column} = $new;
	}
	else
	{
		for_all_units($history, sub { 'DROP VIEW ' . $name->($_[0]) . ' CASCADE' }) if $what ne 'back';
		$history->{source} = undef;
		return if $what eq 'gone';
		my %again = %{ $history->{known} };
		delete @again{qw(type order)};
		$again{who} = one_of('who', 'person'); # the columns of its counter have the names that it knows
		make_source($history, \%again, $_) for all_units($history);
	}
}
sub window
{
	my ($history, $who, $t) = @_;
	return defined $history->{per} ? $history->{number}{$who} + floor((floor($t / $day) - $history->{begins}{$who}) / $history->{per}) : 0;
}
# When it begins.
sub start
{
	my ($history, $who, $w) = @_;
	return $day * ($history->{begins}{$who} + ($w - $history->{number}{$who}) * $history->{per});
}

# Most days have one row or several; some have many.
sub any_time { my ($history) = @_; return int(rand(30 * $day)) - $day * (($history->{per} // 3) + 1); }
sub arrive
{
	my ($history, $n) = @_;
	for (1 .. $n)
	{
		push @{ $history->{rows} }, { who => one_of(@{ $history->{persons} }), t => any_time($history), flag => rand() < 0.6,
			value => int(rand(4)) };
	}
}
sub happen
{
	my ($history) = @_;
	arrive($history, int(rand(4)));
	@{ $history->{rows} } = grep { rand() > 0.07 } @{ $history->{rows} };
	$_->{t} = max(-20 * $day, $_->{t} + int(rand(14 * $day)) - 7 * $day) for grep { rand() < 0.12 } @{ $history->{rows} };
}
# One row of a person at a time: the order of others is another test's.
sub store_rows
{
	my @values;
	for my $history (@histories)
	{
		my %seen;
		for my $row (@{ $history->{rows} })
		{
			++$row->{t} while $seen{ $row->{who} }{ $row->{t} }++;
			$row->{w} = window($history, $row->{who}, $row->{t});
			push @values, "($history->{h}, $row->{who}, $row->{w}, " . stamp($row->{t}) . ', ' . ($row->{flag} ? 'true' : 'false')
				. ", $row->{value})";
		}
	}
	sql('TRUNCATE rows; INSERT INTO rows VALUES ' . join(', ', @values));
}
for my $history (@histories)
{
	arrive($history, 10 + int(rand(40)));
	my %units;
	for (1 .. 20 * $units)
	{
		my $row = one_of(@{ $history->{rows} });
		my $w = window($history, $row->{who}, $row->{t});
		$units{"$row->{who} $w"} //= 1 if keys %units < $units && $row->{t} > 0;
	}
	$history->{units} = [ undef, map { [ split / / ] } sort keys %units ];
	make_source($history, $history->{source}, $_) for 1 .. $#{ $history->{units} };
}

# --- counters, and what they are charged, by the model
sub declare
{
	my ($history, $counter, $name, $continues, $is_other) = @_;
	my $h = $history->{h};
	my $source = $history->{source};
	sql(join "\n", map {
		"SELECT dp_counter_create('c_${h}_${_}_$name', '" . source_name($source, $history, $_)
			. "', $counter->{e}e6, '$counter->{every} minutes', "
		. (defined $continues && $counter->{since} == $counter->{s} ? 'NULL' : stamp($counter->{since}))
		. ", per_person => $counter->{bound}, cumulative => false, budget => '$history->{budget}_${h}_$_'"
		. ($counter->{flag} ? ", event => '$source->{flag}'" : '')
		. ($counter->{most} > 1 ? ", sum => '$source->{value}', upper => $counter->{most}" : '')
		. ($is_other ? ', same_persons => true' : '')
		. (defined $continues ? ", continues => 'c_${h}_${_}_$continues'" : '') . ');'
	} 0 .. $#{ $history->{units} });
	$history->{known} = {%$source};
}
sub any_counter
{
	my ($history, $s) = @_;
	my $gap = rand() < 0.3 ? int(rand(2 * ($history->{per} // 3))) * $day / 2 : 0;
	return { e => 1 + int(rand(5)), bound => 1 + int(rand(6)), every => one_of($day, $day, $day / 2, 2 * $day), s => $s, since => $s + $gap,
		flag => rand() < 0.4, most => one_of(1, 1, 3), cells => {}, read => undef };
}
# What the model reads: [from, the end of the last period that is over by then), in the order of time.
sub tick
{
	my ($history, $until) = @_;
	my $counter = $history->{chain}[-1];
	my $old = @{ $history->{chain} } > 1 ? $history->{chain}[-2] : undef;
	my $steps = floor(($until - $counter->{since}) / $counter->{every});
	return if $steps <= $counter->{steps} || !defined $history->{source};
	$history->{known} = { %{ $history->{source} } };
	my $from = $counter->{since} + $counter->{steps} * $counter->{every};
	my $end = $counter->{since} + $steps * $counter->{every};
	if ($counter->{steps} == 0 && defined $old)
	{
		$from = $counter->{s};
		$_->{used} = min($counter->{bound}, ceil($_->{used} * $counter->{bound} / $old->{bound})) for values %{ $history->{tally} };
	}
	elsif ($counter->{steps} == 0) { $from -= $day * ($history->{per} // 0); }
	for my $row (sort { $a->{t} <=> $b->{t} } @{ $history->{rows} })
	{
		next if $row->{t} < $from || $row->{t} >= $end || ($counter->{flag} && !$row->{flag});
		my $tally = $history->{tally}{ $row->{who} } //= { w => $row->{w}, used => 0 };
		%$tally = (w => $row->{w}, used => 0) if $row->{w} > $tally->{w};
		next if $row->{w} < $tally->{w} || $tally->{used} >= $counter->{bound};
		++$tally->{used};
		$counter->{cells}{ 1 + floor(($row->{t} - $counter->{since}) / $counter->{every}) } += $counter->{most} > 1 ? $row->{value}
			: 1 if $row->{t} >= $counter->{since};
	}
	$counter->{steps} = $steps;
	$counter->{end} = $end;
}
# For a window that begins at s; of a life undef.
sub booked
{
	my ($history, $s) = @_;
	my $per = defined $s ? $day * $history->{per} : 0;
	my $sum = 0;
	for my $k (0 .. $#{ $history->{chain} })
	{
		my ($counter, $old, $next) = map { $_ < 0 ? undef : $history->{chain}[$_] } $k, $k - 1, $k + 1;
		my $end = defined $next ? $next->{s} : 1e9;
		next if defined $s && !($s + $per > $counter->{since} && $s < $end);
		my $is_later = !defined $old || (defined $s && $s >= $counter->{s});
		$sum += $is_later ? $counter->{e} : max(0, $counter->{e} - $old->{e});
	}
	return $sum;
}

for my $history (@histories)
{
	my $counter = any_counter($history, int(rand(4)) * $day);
	$counter->{steps} = 0;
	push @{ $history->{chain} }, $counter;
	declare($history, $counter, 1);
}
is(sql('SELECT count(*) FROM dp_counters'), sum0(map { scalar @{ $_->{units} } } @histories),
	'a first counter for each history with and without each unit');

# The call fails for counters without a source alone. Some are cut short by a crash, and called again.
my ($crashes, $others, $dropped, $gone) = (0) x 4;
sub tick_all
{
	my ($until, $crashes_within) = @_;
	if ($crashes_within)
	{
		disconnect();
		my $session = $node->background_psql($database, on_error_stop => 0);
		$session->{stdin} .= "CALL until($until);\n";
		$session->{run}->pump_nb();
		usleep(1000 * int(rand(1500)));
		$node->stop('immediate');
		eval { $session->quit };
		$node->start;
		++$crashes;
	}
	my @without = grep { !defined $_->{source} } @histories;
	my $error = failure($node, "CALL until($until)", database => $database);
	is(defined $error && $error =~ /(\d+) of \d+ counters? failed/ ? $1 : 0, sum0(map { scalar @{ $_->{units} } } @without),
		"every counter with a source closes its periods up to day $until") or diag($error);
	$gone += @without;
}
# What was released is as it was, and is remembered with what is new.
sub releases_stay
{
	my ($when) = @_;
	is(sql(q{SELECT count(*) FROM seen AS s LEFT JOIN dp_counter_private.releases AS r USING (number, step, stream)
		WHERE r.released_at IS DISTINCT FROM s.released_at OR r.count IS DISTINCT FROM s.count}), 0,
		"no release is lost or made again $when");
	sql('INSERT INTO seen SELECT number, step, stream, released_at, count FROM dp_counter_private.releases ON CONFLICT DO NOTHING');
}
sub move_by_dump
{
	my ($to) = @_;
	my $file = "${PostgreSQL::Test::Utils::tmp_check}/$to.dump";
	disconnect();
	command_ok([ 'pg_dump', '-Fc', '-d', $node->connstr($database), '-f', $file ], 'a dump');
	$node->safe_psql('postgres', "CREATE DATABASE $to TEMPLATE template0");
	command_ok([ 'pg_restore', '-e', '-d', $node->connstr($to), $file ], 'and its restore');
	$database = $to;
	resume_all($node, $to);
}
my %crash_at = map { $_ => 1 } map { 3 * (1 + int(rand(7))) } 1 .. 2;
my $move_at = 3 * (2 + int(rand(5)));
for my $until (map { 3 * $_ } 1 .. 7)
{
	store_rows();
	tick_all($until, $crash_at{$until});
	releases_stay("up to day $until");
	move_by_dump("moved_$until") if $until == $move_at;
	for my $history (@histories)
	{
		tick($history, $until * $day);
		change_source($history);
		my $k = @{ $history->{chain} };
		if (defined $history->{source} && $k < 4 && $history->{chain}[-1]{steps} > 0 && rand() < 0.5)
		{
			my $is_other = rand() < 0.2;
			if ($is_other)
			{
				++$others;
				my $new = { %{ new_source() }, name => 'o' . ++$changes{names} };
				make_source($history, $new, $_) for all_units($history);
			}
			my $counter = any_counter($history, $history->{chain}[-1]{end});
			$counter->{steps} = 0;
			if (rand() < 0.3)
			{
				++$dropped;
				declare($history, any_counter($history, $counter->{s}), 'dropped', $k, $is_other);
				for_all_units($history, sub { "SELECT dp_counter_drop('c_$history->{h}_$_[0]_dropped')" });
			}
			push @{ $history->{chain} }, $counter;
			declare($history, $counter, $k + 1, $k, $is_other);
		}
		happen($history);
	}
}

# --- what was released, and booked
sql(q{
	DO $$
	DECLARE
		c record;
	BEGIN
		FOR c IN SELECT counter, measure, regexp_split_to_array(counter::text, '_') AS parts FROM dp_counters LOOP
			EXECUTE format('INSERT INTO found SELECT %s, %s, %s, step, %I FROM %s', c.parts[2], c.parts[3], c.parts[4], c.measure, c.counter);
		END LOOP;
	END $$});
my %released;
for (split /\n/, sql('SELECT h, v, k, step, number FROM found'))
{
	my ($h, $v, $k, $step, $number) = split /\|/;
	$released{$h}{$v}{$k}{$step} = $number;
}
my ($steps, $wrong, $pairs, $worst, $costly, $differing, $chains, $charges, $wrong_charges) = (0) x 9;
for my $history (@histories)
{
	my $h = $history->{h};
	my @chain = @{ $history->{chain} };
	++$chains if @chain > 2;
	for my $k (1 .. @chain)
	{
		my $counter = $chain[ $k - 1 ];
		for my $step (1 .. $counter->{steps})
		{
			++$steps;
			my $is = $released{$h}{0}{$k}{$step} // 'nothing';
			my $expected = $counter->{cells}{$step} // 0;
			next if $is eq $expected;
			++$wrong;
			diag("history $h, counter $k, step $step: $is, not $expected") if $wrong < 10;
		}
	}
	my @entries = map { [ split /\|/ ] } split /\n/, sql(qq{
		SELECT epsilon / 1e6, coalesce(minutes(since), -1e9), coalesce(minutes(until), 1e9), coalesce(minutes(begins_from), -1e9),
			coalesce(minutes(begins_before), 1e9) FROM $history->{budget}_${h}_0 WHERE refunded_at IS NULL});
	my $per = $day * ($history->{per} // 0);
	my $stored = sub {
		my ($s) = @_;
		return sum0 map { $_->[0] } grep { !defined $s || ($s + $per > $_->[1] && $s < $_->[2] && $s >= $_->[3] && $s < $_->[4]) } @entries;
	};
	my $most = 0;
	for my $s (defined $history->{per} ? map { $_ * $day / 4 } -60 .. 140 : undef)
	{
		++$charges;
		$most = max($most, booked($history, $s));
		++$wrong_charges if abs(booked($history, $s) - $stored->($s)) > 1e-9;
	}
	++$wrong_charges if abs($most - sql("SELECT greatest(spent, spent_past) / 1e6 FROM dp_budgets
		WHERE budget = '$history->{budget}_${h}_0'::regclass")) > 1e-9;
	for my $v (1 .. $#{ $history->{units} })
	{
		my ($who, $w) = @{ $history->{units}[$v] };
		++$pairs;
		my $cost = 0;
		for my $k (1 .. @chain)
		{
			my $counter = $chain[ $k - 1 ];
			my $l1 = sum0 map { abs($released{$h}{0}{$k}{$_} - $released{$h}{$v}{$k}{$_}) } 1 .. $counter->{steps};
			$cost += $counter->{e} * $l1 / ($counter->{bound} * $counter->{most});
		}
		++$differing if $cost > 0;
		my $booked = $stored->(defined $history->{per} ? start($history, $who, $w) : undef);
		my $ratio = $cost == 0 ? 0 : $booked > 0 ? $cost / $booked : 1e6;
		++$costly if $ratio > 1 + 1e-9;
		$worst = max($worst, $ratio);
	}
}
is($wrong, 0, "each of $steps steps is what the model computes");
is($wrong_charges, 0, "what is booked for each of $charges windows is what the model computes");
is($costly, 0, "none of $pairs units costs more than is booked for it");
cmp_ok($worst, '>', 0.999, sprintf('the most is %.3f of it', $worst)) if $differing > 100;
cmp_ok($differing, '>', $pairs / 3, "$differing units have changed a release");
cmp_ok($chains, '>', $histories / 5, "$chains histories have three counters or more, and $dropped successors were dropped");
note("sources: ", join(', ', map { "$_ $changes{$_}" } sort keys %changes),
	"; $others others of the same persons, $gone ticks without; $crashes crashes, a dump");
disconnect();
done_testing();
