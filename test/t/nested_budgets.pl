# Random trees of budgets against a model in Perl: after each statement that makes, charges, refunds, ends or drops, and after crash,
# restart, dump and restore, budgets and their entries are what the model has, an error comes if and only if the model says so, and no
# window of any budget loses more than the budget has to charges to it or to what is within it. Then three sessions do all of this at once,
# until a crash. DP_NESTED_ROUNDS sets the number of trees, DP_NESTED_SEED repeats a run.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use List::Util qw(max min sum0 shuffle);
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Storable qw(dclone);
use Test::More;

my $rounds = $ENV{DP_NESTED_ROUNDS} // 40;
my $steps  = 30;
my $seed   = srand($ENV{DP_NESTED_SEED} // time);
note "DP_NESTED_SEED=$seed";

my $node = new_node('nested_budgets');
$node->safe_psql('postgres', q{
	CREATE TABLE rows AS SELECT i AS person, timestamp '2000-01-01' + i % 20 * interval '1 day' AS at FROM generate_series(1, 40) AS i;
	-- a time as the number of its day
	CREATE FUNCTION public.day(timestamp) RETURNS text LANGUAGE sql IMMUTABLE AS
		$$ SELECT CASE WHEN isfinite($1) THEN ($1::date - date '2000-01-01')::text ELSE replace($1::text, 'infinity', 'inf') END $$;
});

# --- the model: $tree->{budgets}{name} = {within, epsilon, since, until, order, per}, $tree->{entries}{key} = {budget,
# epsilon, since, until}
# with the name of a share for its key, $tree->{counters}{name} = {key, horizon, since, steps}. Epsilons are in tenths, times in days.
my $per = 3;
sub children { my ($t, $name) = @_; return grep { ($t->{budgets}{$_}{within} // '') eq $name } keys %{ $t->{budgets} } }
sub entries { my ($t, $name) = @_; return grep { $t->{entries}{$_}{budget} eq $name } keys %{ $t->{entries} } }
# What a window loses that begins at a noon and meets this range, at most. Ranges begin and end at midnights, so these see all of it.
sub most_lost
{
	my ($t, $entries, $renews, $since, $until) = @_;
	return sum0(map { $_->{epsilon} } @$entries) if !$renews;
	my @meeting = grep { $_ + $per > $since && $_ < $until } (-1000.5, map { $_ + 0.5 } -10 .. 50);
	return max(0, map { my $s = $_; sum0(map { $_->{epsilon} } grep { $s + $per > $_->{since}
		&& $s < $_->{until} } @$entries) } @meeting, $until > 9000 ? 9000 : ());
}
# Why a charge is refused; undef if it is not.
sub refusal
{
	my ($t, $name, $epsilon, $since, $until) = @_;
	my $budget = $t->{budgets}{$name};
	return qr/budget "$name" is for rows from/ if $since < $budget->{since} || $until > $budget->{until};
	my $left = $budget->{epsilon} - most_lost($t, [ map { $t->{entries}{$_} } entries($t, $name) ], $budget->{per}, $since, $until);
	my $shown = sprintf '%.1f', $left / 10;
	return $epsilon > $left ? qr/budget "$name" has an epsilon of \Q$shown\E left, not/ : undef;
}
sub charge { my ($t, $key, $name, $epsilon, $since, $until) = @_; $t->{entries}{$key} = { budget => $name, epsilon => $epsilon,
	since => $since, until => $until } }
sub drop_budget
{
	my ($t, $name) = @_;
	my $above = $t->{budgets}{$name}{within};
	for my $key (entries($t, $name)) { if (defined $above) { $t->{entries}{$key}{budget} = $above } else { delete $t->{entries}{$key} } }
	delete $t->{entries}{$name};
	delete $t->{budgets}{$name};
}
sub drop_counter
{
	my ($t, $name) = @_;
	my $counter = delete $t->{counters}{$name};
	my $entry = $t->{entries}{ $counter->{key} };
	if ($counter->{steps} == 0) { delete $t->{entries}{ $counter->{key} } }
	elsif ($t->{budgets}{ $entry->{budget} }{per}) { $entry->{until} = $counter->{since} + $counter->{steps} }
}
sub text_of
{
	my ($t) = @_;
	my @lines;
	for my $name (keys %{ $t->{budgets} })
	{
		my $budget = $t->{budgets}{$name};
		my @spent = map { $t->{entries}{$_} } entries($t, $name);
		my $ever = most_lost($t, \@spent, $budget->{per}, -9999, 9999);
		my $now = $budget->{per} && $budget->{until} > 9000 ? sum0(map { $_->{epsilon} } grep { $_->{until} > 9000 } @spent) : $ever;
		push @lines, join '|', 'budget', $name, $budget->{within} // '', $budget->{epsilon},
			(map { s/9999/inf/r } @$budget{qw(since until)}), $budget->{per} ? $ever : '', $now, $budget->{epsilon} - $now;
	}
	push @lines, join '|', 'entry', $_->[1]{budget}, exists $t->{budgets}{ $_->[0] } ? $_->[0] : '', $_->[1]{epsilon},
		map { s/9999/inf/r } @{ $_->[1] }{qw(since until)}
	  for map { [ $_, $t->{entries}{$_} ] } keys %{ $t->{entries} };
	return join "\n", sort @lines;
}
# The same of the database, and the worst that has gone wrong with windows: each budget against all that was charged to
# it and to what is within it.
sub state_query
{
	my ($schema) = @_;
	return qq{
		SELECT 'budget', c.relname, (SELECT relname FROM pg_class WHERE oid = within), (10 * epsilon)::int, coalesce(public.day(since), '-inf'), coalesce(public.day(until), 'inf'), (10 * spent_past)::int, (10 * spent)::int, (10 * remaining)::int
		FROM dp_budgets JOIN pg_class AS c ON c.oid = budget WHERE relnamespace = '$schema'::regnamespace;
		SELECT 'entry', c.relname, (SELECT relname FROM dp_counter_private.budgets AS s JOIN pg_class AS sc ON sc.oid = s.budget WHERE s.number = e.number), (10 * e.epsilon)::int, public.day(e.since), public.day(e.until)
		FROM dp_counter_private.budget_entries AS e JOIN dp_counter_private.budgets AS b ON b.number = e.budget JOIN pg_class AS c ON c.oid = b.budget WHERE relnamespace = '$schema'::regnamespace AND e.refunded_at IS NULL;
		WITH RECURSIVE inside AS (
			SELECT number AS outermost, number FROM dp_counter_private.budgets UNION ALL
			SELECT i.outermost, b.number FROM inside AS i JOIN dp_counter_private.budgets AS b ON b.within = i.number
		), charges AS (
			SELECT i.outermost, e.* FROM inside AS i JOIN dp_counter_private.budget_entries AS e ON e.budget = i.number
			WHERE e.refunded_at IS NULL AND NOT EXISTS (SELECT FROM dp_counter_private.budgets AS s WHERE s.number = e.number)
		), windows AS (
			SELECT b.number, b.epsilon, sum(c.epsilon) AS lost
			FROM dp_counter_private.budgets AS b JOIN dp_counter_private.budgets AS r ON r.number = b.root JOIN pg_class AS v ON v.oid = b.budget,
			     generate_series(timestamp '1999-12-20 12:00', '2000-02-20 12:00', '1 day') AS s, charges AS c
			WHERE v.relnamespace = '$schema'::regnamespace AND c.outermost = b.number AND (r.per IS NULL OR s + r.per > c.since AND s < c.until) GROUP BY 1, 2, s
		)
		SELECT 'exceeded', * FROM windows WHERE lost > epsilon;
		SELECT 'odd share', s.number FROM dp_counter_private.budgets AS s LEFT JOIN dp_counter_private.budget_entries AS e USING (number)
		WHERE s.within IS NOT NULL AND (e.budget, e.epsilon, e.since, e.until) IS DISTINCT FROM (s.within, s.epsilon, s.since, s.until);
		SELECT 'orphan', number FROM dp_counter_private.budget_entries AS e WHERE e.budget NOT IN (SELECT number FROM dp_counter_private.budgets UNION ALL SELECT number FROM dp_counter_private.dropped_budgets);
	};
}

# --- random statements
sub pick { return $_[ int rand @_ ] }
sub day { my ($n) = @_; return abs($n) > 9000 ? ($n < 0 ? "'-infinity'" : "'infinity'")
	: sprintf(q{(date '2000-01-01' + %d)::timestamp}, $n) }
sub tenths { return sprintf '%.1f', $_[0] / 10 }
sub random_range { my $since = rand() < 0.1 ? -9999 : int rand 30; return ($since, rand() < 0.1 ? 9999 : max($since, 0) + 1 + int rand 12) }
sub range_within
{
	my ($budget) = @_;
	return (-9999, 9999) if !$budget->{per};
	my ($since, $until) = random_range();
	return rand() < 0.2 ? ($since, $until) : $since >= $budget->{until} ? @$budget{qw(since until)}
		: (max($since, $budget->{since}), max($budget->{since} + 1, min($until, $budget->{until})));
}
my $made = 0;
# Returns the statement, the error that it must raise or undef, and what it does to the model.
sub random_step
{
	my ($t, $schema, $in_block) = @_;
	my @budgets = sort keys %{ $t->{budgets} };
	my @shares = grep { defined $t->{budgets}{$_}{within} } @budgets;
	my @counters = sort keys %{ $t->{counters} };
	my $name = pick(@budgets);
	my $budget = $t->{budgets}{$name};
	my $epsilon = 1 + int rand pick(3, 5, 10);
	my ($since, $until) = range_within($budget);
	my $kind = pick(qw(make make make spend spend counter counter counter tick tick end end drop drop drop views views));
	$kind = 'make' if $in_block && $kind =~ /^(?:spend|tick)$/ || $kind =~ /^(?:tick|end)$/ && !@counters || $kind
		=~ /^drop|views$/ && !@shares;
	if ($kind eq 'make')
	{
		my $new = 'b' . ++$made;
		my $implied = $budget->{per} && rand() < 0.2 && $since < $budget->{until};
		$until = $budget->{until} if $implied;
		my $range = !$budget->{per} ? '' : ', since => ' . day($since) . ($implied ? '' : ', until => ' . day($until));
		return (sprintf(q{SELECT dp_budget_create('%s.%s', %s, within => '%1$s.%s'%s)}, $schema, $new, tenths($epsilon), $name,
			$range), refusal($t, $name, $epsilon, $since, $until), sub {
			my ($t) = @_;
			charge($t, $new, $name, $epsilon, $since, $until);
			$t->{budgets}{$new} = { within => $name, epsilon => $epsilon, since => $since, until => $until, order => $made, per => $budget->{per} };
		});
	}
	if ($kind eq 'spend')
	{
		my $key = 'e' . ++$made;
		my $range = !$budget->{per} ? '' : ', since => ' . day($since) . ', until => ' . day($until);
		return (sprintf(q{CALL dp_budget_spend('%s.%s', %s, '%s'%s)}, $schema, $name, tenths($epsilon), $key, $range),
			refusal($t, $name, $epsilon, $since, $until), sub { charge($_[0], $key, $name, $epsilon, $since, $until) });
	}
	if ($kind eq 'counter')
	{
		my $new = 'c' . ++$made;
		($since, $until) = (int rand 30, 0);
		$until = $since + 1 + int rand 9;
		my @range = $budget->{per} ? ($since, $until) : (-9999, 9999);
		my $refusal = refusal($t, $name, $epsilon, @range);
		my $of_source = $name;
		$of_source = $t->{budgets}{$of_source}{within} while defined $t->{budgets}{$of_source}{within} && rand() < 0.5;
		my $named = $of_source ne $name || rand() < 0.5 ? ", budget => '$schema.$name'" : '';
		my $sql = sprintf(q{SELECT dp_counter_create('%s.%s', source => '%1$s.%2$s_dp', epsilon => %s, every => '1 day', since => %s, horizon => %d, per_person => 1%s)}, $schema, $new, tenths($epsilon), day($since), $until - $since, $named);
		my $source = sprintf q{CREATE VIEW %s.%s_dp AS SELECT * FROM rows; SELECT dp_source_create('%1$s.%2$s_dp', budget => '%1$s.%s', person => 'person', at => 'at');}, $schema, $new, $of_source;
		return ($sql, $refusal, sub {
			my ($t) = @_;
			charge($t, $new, $name, $epsilon, @range);
			$t->{counters}{$new} = { key => $new, of_source => $of_source, since => $since, horizon => $until - $since, steps => 0 };
		}, $source, $refusal ? "SELECT dp_source_drop('$schema.${new}_dp'); DROP VIEW $schema.${new}_dp;" : '');
	}
	if ($kind eq 'tick')
	{
		my $counter = pick(@counters);
		my $last = int rand(1 + $t->{counters}{$counter}{horizon});
		return ("CALL dp_tick('$schema.$counter')", undef, sub { my $c = $_[0]{counters}{$counter}; $c->{steps} = max($c->{steps}, $last) },
			sprintf(q{UPDATE dp_counter_private.source_counters SET "grace" = now()::timestamp - since - %d * every WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter = '%s.%s'::regclass);}, $last, $schema, $counter), '');
	}
	if ($kind eq 'end')
	{
		my $counter = pick(@counters);
		return ("SELECT dp_counter_drop('$schema.$counter')", undef, sub { drop_counter($_[0], $counter) }, '',
			"SELECT dp_source_drop('$schema.${counter}_dp'); DROP VIEW $schema.${counter}_dp;");
	}
	if ($kind eq 'drop')
	{
		my $share = pick(@shares);
		my $reason = (grep { $_->{of_source} eq $share } values %{ $t->{counters} }) ? qr/because a source depends on it/
			: children($t, $share) ? qr/because a budget is within it/
		  : (grep { $t->{entries}{ $_->{key} }{budget} eq $share } values %{ $t->{counters} }) ? qr/because a counter is charged to it/ : undef;
		return ("SELECT dp_budget_drop('$schema.$share')", $reason, sub { drop_budget($_[0], $share) });
	}
	# DROP VIEW: some shares, often with all that is within them, and some of the counters with their sources
	my %chosen = map { $_ => 1 } (shuffle(@shares))[ 0 .. int rand min(3, scalar @shares) ];
	if (rand() < 0.7)
	{
		for (1 .. 9) { $chosen{$_} = 1 for map { children($t, $_) } keys %chosen }
	}
	my @ended = rand() < 0.7 ? grep { $chosen{ $t->{entries}{ $t->{counters}{$_}{key} }{budget} } } @counters : ();
	my $after = dclone($t);
	drop_counter($after, $_) for @ended;
	my $refused;
	for my $share (sort { $after->{budgets}{$b}{order} <=> $after->{budgets}{$a}{order} } keys %chosen)
	{
		$refused ||= entries($after, $share);
		drop_budget($after, $share) if !$refused;
	}
	my $views = join ', ', map { "$schema.$_" } shuffle(keys %chosen, map { ($_, "${_}_dp") } @ended);
	return ("DROP VIEW $views", $refused ? qr/cannot drop budget/ : undef, sub { %{ $_[0] } = %$after });
}

# --- one tree: a script for psql, and what it has to print
sub random_tree
{
	my ($round, $schema) = @_;
	my $t = { budgets => {}, entries => {}, counters => {} };
	my $script = "\\set ON_ERROR_ROLLBACK on\nSET client_min_messages = error;\nCREATE SCHEMA $schema;\n";
	for (['life', 0], ['renewing', 1])
	{
		my ($name, $renews) = @$_;
		my $epsilon = 5 + int rand 20;
		$script .= sprintf "SELECT dp_budget_create('%s.%s', %s%s) \\g /dev/null\n", $schema, $name, tenths($epsilon),
			$renews ? ", per => '$per days'" : '';
		$t->{budgets}{$name} = { epsilon => $epsilon, since => -9999, until => 9999, order => 0, per => $renews };
	}
	my (@expected, $saved);
	my $step = sub {
		my ($sql, $error, $effect, $before, $after) = @_;
		$effect->($t) if !$error;
		$script .= join "\n", map({ "$_ \\g /dev/null" } split /(?<=;)\s*/, $before // ''), "\\echo \@step $sql",
			"$sql \\g /dev/null", '\\if :ERROR', '\\echo :LAST_ERROR_MESSAGE', '\\else', '\\echo', '\\endif',
		  map({ "$_ \\g /dev/null" } split /(?<=;)\s*/, $after // ''), state_query($schema), '';
		push @expected, { sql => $sql, error => $error, state => text_of($t) };
	};
	for my $n (1 .. $steps)
	{
		# some statements in a transaction that is rolled back
		if (!$saved && rand() < 0.1) { $saved = dclone($t); $script .= "BEGIN;\n" }
		$step->(random_step($t, $schema, defined $saved));
		if ($saved && rand() < 0.3) { $t = $saved; $saved = undef; $script .= "ROLLBACK;\n" }
	}
	if ($saved) { $t = $saved; $script .= "ROLLBACK;\n" }
	return ($script =~ s/; \\g/ \\g/gr, $t, @expected);
}
my ($statements, $errors) = (0, 0);
sub run_tree
{
	my ($database, $script, @expected) = @_;
	my ($out, $err);
	$node->psql($database, $script, stdout => \$out, stderr => \$err, on_error_stop => 0);
	my @steps = split /^\@step .*\n/m, $out;
	shift @steps;
	my @wrong;
	push @wrong, "there are " . @steps . ' steps' if @steps != @expected;
	while (my ($i, $expected) = each @expected)
	{
		my ($message, @state) = split /\n/, $steps[$i] // 'none';
		my $state = join "\n", sort @state;
		$statements++;
		$errors++ if $expected->{error};
		push @wrong, "step $i, $expected->{sql}: '$message' instead of " . ($expected->{error} // "''") if $expected->{error}
			? $message !~ $expected->{error} : $message ne '';
		push @wrong, "step $i, $expected->{sql}: the state is\n$state\ninstead of\n$expected->{state}" if $state ne $expected->{state};
		last if @wrong;
	}
	push @wrong, $err if $err =~ /ERROR/ && !@wrong && (() = $err =~ /ERROR/g) != grep { $_->{error} } @expected;
	diag "DP_NESTED_SEED=$seed\n", @wrong if @wrong;
	return !@wrong;
}
# What is of a tree in the end; and a tree without a source or a counter can be dropped from the leaves on.
sub state_of { my ($database, $schema) = @_; return join "\n", sort split /\n/, $node->safe_psql($database, state_query($schema)) }
sub drop_all
{
	my ($database, $schema, $t) = @_;
	return join "\n", 'SET client_min_messages = error;',
		map({ "SELECT dp_counter_drop('$schema.$_'), dp_source_drop('$schema.${_}_dp');" } keys %{ $t->{counters} }),
	  map({ "SELECT dp_budget_drop('$schema.$_');" } sort { $t->{budgets}{$b}{order} <=> $t->{budgets}{$a}{order} } keys %{
	  	$t->{budgets} }), "DROP SCHEMA $schema CASCADE;";
}

my (%kept, $failed);
for my $round (1 .. $rounds)
{
	my ($script, $t, @expected) = random_tree($round, "s$round");
	++$failed && last if !run_tree('postgres', $script, @expected);
	if ($round % 10 == 1) { $kept{"s$round"} = $t }
	else                  { $node->safe_psql('postgres', drop_all('postgres', "s$round", $t)) }
}
note "$statements statements, $errors of them refused";
ok(!$failed, "$rounds random trees are what the model says after each statement");
# Of about 6 and 24 in a tree: to fail, more than half of the trees would have none, each with a probability below 0.1.
cmp_ok($errors, '>', $rounds / 2, 'some statements are refused');
cmp_ok($statements - $errors, '>', $rounds, 'and some are not');

# --- crash, with a share half made and another half dropped
my $text = join "\n", map { "$_\n" . text_of($kept{$_}) } sort keys %kept;
sub kept_state { my ($database) = @_; return join "\n", map { "$_\n" . state_of($database, $_) } sort keys %kept }
$node->safe_psql('postgres', q{
	CREATE SCHEMA crash; SELECT dp_budget_create('crash.life', 1.0);});
$node->safe_psql('postgres', q{SELECT dp_budget_create('crash.kept', 0.3, within => 'crash.life')});
$node->safe_psql('postgres', q{CALL dp_budget_spend('crash.kept', 0.1, 'a table')});
my $before = state_of('postgres', 'crash');
my $open = $node->background_psql('postgres');
$open->query_safe(q{BEGIN; SELECT dp_budget_create('crash.half_made', 0.2, within => 'crash.life'); SELECT dp_budget_drop('crash.kept')});
$node->stop('immediate');
eval { $open->quit };
$node->start;
is(kept_state('postgres'), $text, 'after a crash all trees are as they were');
is(state_of('postgres', 'crash'), $before, 'what was half made and half dropped too');

# --- dump and restore
my $dump = $node->basedir . '/dump.sql';
command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-f', $dump ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', $dump ], 'restore');
is(kept_state('restored'), $text, 'after a restore all trees are as they were');
ok(run_tree('restored', (random_tree(0, 'restored'))[ 0, 2 .. $steps + 1 ]), 'and there new trees do as the model says');
for my $schema (sort keys %kept)
{
	is(failure($node, drop_all('restored', $schema, $kept{$schema}), database => 'restored'), '', "$schema can be dropped from the leaves on");
}

# --- three at once, and a crash: no window loses too much, sums fit, nobody deadlocks. (DROP VIEW locks its views in the order written.)
$node->safe_psql('postgres',
	q{CREATE SCHEMA crowd; CREATE SEQUENCE crowd.statements; SELECT dp_budget_create('crowd.life', 3.0), dp_budget_create('crowd.renewing', 3.0, per => '3 days')});
sub crowd_script
{
	my @names = map { "crowd.$_" } qw(life renewing), map { "b$_" } 1 .. 6;
	my $script = "SET client_min_messages = fatal;\n";
	for (1 .. 1500)
	{
		my ($name, $other) = (pick(@names), pick(@names[ 2 .. 7 ]));
		my ($since, $until) = random_range();
		my $range = rand() < 0.5 ? '' : ', since => ' . day($since) . ', until => ' . day($until);
		my $epsilon = tenths(1 + int rand 4);
		$script .= pick("SELECT dp_budget_create('$other', $epsilon, within => '$name'$range)",
			"CALL dp_budget_spend('$name', 0.1, 'crowd'$range)", "SELECT dp_budget_drop('$other')", "DROP VIEW "
				. join(', ', sort { $a cmp $b } $other, pick(@names[ 2 .. 7 ]))) . " \\g /dev/null\nSELECT nextval('crowd.statements');\n";
	}
	return $script;
}
my @crowd;
for my $n (1 .. 3)
{
	my $file = $node->basedir . "/crowd.$n";
	append_to_file($file, crowd_script());
	push @crowd, start_program("$file.out", 'psql', '-X', '-A', '-t', '-d', $node->connstr('postgres'), '-f', $file);
}
$node->poll_query_until('postgres', q{SELECT last_value > 1000 FROM crowd.statements}) or die 'nobody goes on';
$node->stop('immediate');
eval { $_->finish } for @crowd;
$node->start;
my $state = $node->safe_psql('postgres', state_query('crowd'));
unlike($state, qr/^(?:exceeded|odd share|orphan)/m, 'after a crash in a crowd no window has lost too much, and all sums fit');
like($state, qr/^entry/m, 'of those that were charged');
my @deadlocks = slurp_file($node->logfile) =~ /(.*deadlock detected\n(?:.*\n){8})/g;
is("@deadlocks", '', 'nobody deadlocked');
done_testing();
