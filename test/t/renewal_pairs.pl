# What a renewing budget promises, by random pairs of histories that differ in all rows of one person in one of that person's own
# windows, while rows come late, move (between windows, into closed periods and back), change and go, and counters come and go. For
# each pair: the cells of a counter differ by at most its sensitivity, those of all other units not at all; a counter that differs was
# charged for the window; the epsilons of all that differ add up to at most the budget's. And charges, by plain SQL.
#
# A round has RENEWAL_PAIRS (60) pairs in one table, whose persons are disjoint, and RENEWAL_ROUNDS (6) it has: the evidence has 100 of
# 60. Side 0 and side 1 of all pairs are two views, so that persons have one phase; a counter of one and its twin of the other have one
# tally key. RENEWAL_SEED repeats a run but for the keys.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use Renewal;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $pairs  = $ENV{RENEWAL_PAIRS}  // 60;
my $rounds = $ENV{RENEWAL_ROUNDS} // 6;
my $seed   = $ENV{RENEWAL_SEED}   // int(rand(1e6));
srand $seed;
note("RENEWAL_SEED=$seed");

my $node = new_node('pairs', conf => "autovacuum = off\nfsync = off\njit = off\nmax_parallel_workers_per_gather = 0\n");

sub sql { return $node->safe_psql('postgres', "SET client_min_messages = warning;\n$_[0]"); }
sub one_of { return $_[ int(rand(@_)) ]; }

# of 14 days; the clocks change on the 29th
my $first = '2020-03-22';
sql($renewal_sql . q{
	CREATE TABLE setting (at text, per integer, zone text);
	CREATE TABLE units (pair integer PRIMARY KEY, who bigint, own_window integer);
	CREATE TABLE events (id serial PRIMARY KEY, pair integer, who bigint, at timestamp, day date GENERATED ALWAYS AS (at::date) STORED,
		instant timestamptz GENERATED ALWAYS AS (at AT TIME ZONE 'Europe/Berlin') STORED, region text, value integer, place text,
			other_side boolean);
	CREATE FUNCTION window_at(who bigint, at timestamp) RETURNS integer LANGUAGE sql AS $$
		SELECT oracle.window_of(CASE WHEN s.at = 'instant' THEN oracle.day(window_at.at AT TIME ZONE zone)
			ELSE oracle.day(window_at.at) END, oracle.phase(oracle.plain(who), per), per) FROM setting AS s $$;
	-- A quarter of the pairs has a group for each unit.
	CREATE FUNCTION place(pair integer, who bigint, own_window integer, region text) RETURNS text LANGUAGE sql IMMUTABLE AS
		$$ SELECT pair || CASE WHEN pair % 4 = 0 THEN '.' || who || '.' || own_window ELSE '' END || '.' || region $$;
	CREATE FUNCTION place_row() RETURNS trigger LANGUAGE plpgsql AS $$
	DECLARE
		w integer := window_at(NEW.who, NEW.at);
	BEGIN
		NEW.place := place(NEW.pair, NEW.who, w, NEW.region);
		NEW.other_side := NOT EXISTS (SELECT FROM units AS u WHERE u.pair = NEW.pair AND u.who = NEW.who AND u.own_window = w);
		RETURN NEW;
	END $$;
	CREATE TRIGGER place_row BEFORE INSERT OR UPDATE ON events FOR EACH ROW EXECUTE FUNCTION place_row();
	CREATE VIEW events_0 AS SELECT who, at, day, instant, place, value FROM events;
	CREATE VIEW events_1 AS SELECT who, at, day, instant, place, value FROM events WHERE other_side;
	CREATE FUNCTION any_time() RETURNS timestamp LANGUAGE sql VOLATILE AS $$
		SELECT timestamp '} . $first
			. q{' + floor(random() * (17 + per) - per - 3)::int * interval '1 day' + floor(random() * 5)::int * interval '6 hours' - (random() < 0.1)::int * interval '1 second' FROM setting $$;
	CREATE PROCEDURE arrive(n integer) LANGUAGE sql AS $$
		INSERT INTO events (pair, who, at, region, value)
		SELECT pair, pair * 10 + floor(3 * power(random(), 1.5)), any_time(), ('{a,b,b,c}'::text[])[1 + floor(random() * 4)::int],
			floor(random() * 8) - 1
		FROM (SELECT pair FROM units, generate_series(1, n) ORDER BY random()) AS rows $$;
	CREATE PROCEDURE happen() LANGUAGE sql AS $$
		CALL arrive(1);
		UPDATE events SET at = any_time() WHERE random() < 0.06;
		UPDATE events AS e SET at = e.at + CASE WHEN random() < 0.5 THEN -1 ELSE 1 END * per * interval '1 day' FROM setting
			WHERE random() < 0.03;
		UPDATE events SET at = at - interval '1 day' WHERE random() < 0.03;
		UPDATE events SET region = ('{a,b,c}'::text[])[1 + floor(random() * 3)::int], value = floor(random() * 8) - 1 WHERE random() < 0.04;
		UPDATE events SET who = pair * 10 + floor(random() * 3) WHERE random() < 0.03;
		DELETE FROM events WHERE random() < 0.07 $$;
	CREATE PROCEDURE begin_round(at_column text, days integer, zone text, pairs integer) LANGUAGE plpgsql AS $$
	BEGIN
		TRUNCATE events, units, setting;
		INSERT INTO setting VALUES (at_column, days, zone);
		INSERT INTO units SELECT pair, pair * 10, window_at(pair * 10, timestamp '} . $first
			. q{' + floor(random() * 14)::int * interval '1 day') FROM generate_series(1, pairs) AS pair;
		CALL arrive(35);
	END $$;
	CREATE FUNCTION places(regions text[]) RETURNS text[] LANGUAGE sql AS $$
		SELECT array_agg(DISTINCT place(pair, pair * 10 + p, CASE WHEN pair % 4 = 0 THEN w END, region))
		FROM units, setting, generate_series(0, 2) AS p, unnest(regions) AS region, LATERAL
		     generate_series(window_at(pair * 10 + p, timestamp '} . $first . q{'), window_at(pair * 10 + p, timestamp '} . $first
		     	. q{' + interval '14 days')) AS w
		WHERE pair % 4 = 0 OR (p = 0 AND w = window_at(pair * 10, timestamp '} . $first . q{')) $$;
	CREATE TABLE found (round integer, counter text, kind text, pair integer, epsilon numeric, sensitivity bigint, l1 numeric, others numeric);
	CREATE PROCEDURE compare(round integer, counter text, kind text) LANGUAGE plpgsql AS $$
	DECLARE
		d dp_counters := (SELECT c FROM dp_counters AS c WHERE c.counter = (compare.counter || '_0')::regclass);
		amounts text[] := CASE kind WHEN 'sum' THEN '{sum}' WHEN 'avg' THEN '{above,below}' ELSE '{count}'::text[] END;
	BEGIN
		EXECUTE format($query$
			INSERT INTO found
			SELECT $1, $2, $3, u.pair, $4, $5, sum(abs(d)),
				coalesce(sum(abs(d)) FILTER (WHERE label[3] IS NOT NULL AND (label[2]::bigint, label[3]::integer) <> (u.who, u.own_window)), 0)
			FROM (SELECT string_to_array(place, '.') AS label,
				CASE WHEN $6 THEN d - coalesce(lag(d) OVER (PARTITION BY place, amount ORDER BY step), 0) ELSE d END AS d
			      FROM (%s) AS s) AS cells
			JOIN units AS u ON u.pair = label[1]::integer GROUP BY u.pair $query$,
			(SELECT string_agg(format('SELECT place, step, %1$L AS amount, coalesce(a.%1$I, -1000000) - coalesce(b.%1$I,
				-1000000) AS d FROM %2$I AS a FULL JOIN %3$I AS b USING (place, step)',
				amount, counter || '_0', counter || '_1'), ' UNION ALL ') FROM unnest(amounts) AS amount))
			USING round, counter, kind, d.epsilon, d.sensitivity, d.cumulative;
	END $$;
	-- The most that a window loses: right after one begins to meet an entry.
	CREATE FUNCTION sweep(entries regclass, per interval, above timestamp DEFAULT '-infinity', until timestamp DEFAULT 'infinity')
		RETURNS numeric LANGUAGE plpgsql AS $$
	DECLARE
		result numeric;
	BEGIN
		EXECUTE format($query$
			WITH e AS (SELECT epsilon, greatest(since, '1800-01-01') AS since, least(until, '2300-01-01') AS until FROM %s AS x
				WHERE to_jsonb(x) ->> 'refunded_at' IS NULL),
			starts AS (SELECT greatest(since - $1, $2 - $1) + interval '1 microsecond' AS s FROM e UNION SELECT $2 - $1 + interval '1 microsecond'
				WHERE isfinite($2))
			SELECT coalesce(max(total), 0) FROM (SELECT (SELECT sum(epsilon) FROM e WHERE e.since < s + $1 AND e.until > s) AS total FROM starts
				WHERE s + $1 <= $3) AS totals $query$, entries)
			INTO result USING per, above, until;
		RETURN result;
	END $$;
	CREATE TABLE losses (round integer, pair integer, epsilon numeric, most numeric, budget numeric, uncharged bigint);
	CREATE PROCEDURE end_round(round integer) LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO losses
		SELECT end_round.round, u.pair, sum(2 * f.epsilon) FILTER (WHERE l1 > 0), sweep('budget', per * interval '1 day'),
		       (SELECT epsilon FROM dp_budgets WHERE budget = 'budget'::regclass),
		       count(*) FILTER (WHERE l1 > 0 AND NOT EXISTS (SELECT FROM budget AS e
		       	WHERE e.refunded_at IS NULL AND e.purpose IN (f.counter || '_0', 'public.' || f.counter || '_0')
		       	AND coalesce(e.since, '-infinity') < start + per * interval '1 day' AND coalesce(e.until, 'infinity') > start))
		FROM found AS f JOIN units AS u USING (pair), setting,
		     LATERAL (SELECT timestamp '2000-01-01'
		     	+ (u.own_window * per + oracle.phase(oracle.plain(u.who), per)) * interval '1 day' AS start) AS own
		WHERE f.round = end_round.round GROUP BY u.pair, per;
	END $$;
	CREATE PROCEDURE tick(counter text, steps integer) LANGUAGE plpgsql AS $$
	BEGIN
		FOR side IN 0 .. 1 LOOP CALL oracle.tick(counter || '_' || side, steps); END LOOP;
	END $$;});

my %hours = ('6 hours' => 6, '1 day' => 24, '36 hours' => 36, '2 days' => 48, '3 days' => 72, '1 week' => 168);
my $made = 0;

# A counter and its twin, or nothing where the budget has too little left.
sub declare
{
	my ($at) = @_;
	my $every = one_of(($at eq 'day' ? () : ('6 hours', '36 hours')), '1 day', '1 day', '2 days', '3 days', '1 week');
	my $offset = one_of(0, 0, 24 * int(rand(5)), $at eq 'day' ? 24 : 12, 24 * int(rand(7)));
	my $kind = one_of('count', 'count', 'sum', 'avg', 'persons', 'people');
	my $steps = int((14 * 24 - $offset) / $hours{$every});
	my $horizon = one_of(undef, undef, undef, 1 + int(rand($steps)));
	my %counter = (name => 'c' . ++$made, kind => $kind, closed => 0, steps => $horizon // $steps, regions => one_of('{a}', '{a,b}'));
	my $words = join ', ', "every => '$every'", "since => timestamp '$first' + interval '$offset hours'",
		$horizon ? "horizon => $horizon" : (),
		$kind eq 'persons' ? () : 'per_person => ' . one_of(1, 1, 2, 3), $kind eq 'sum' ? "sum => 'value', "
			. one_of('upper => 5', 'lower => -1, upper => 5', 'lower => -1, upper => 0') : (),
		$kind eq 'avg' ? "avg => 'value', " . one_of('upper => 5', 'lower => 2, upper => 4') : (), $kind =~ /^pe/ ? 'persons => true' : (),
		rand() < 0.2 ? 'cumulative => true' : ();
	my $error = failure($node, join(";\n", 'BEGIN',
		(map { "SELECT dp_counter_create('$counter{name}_$_', source => 'events_$_', epsilon => 1e9, by => 'place',
			groups => places('$counter{regions}'), $words)" } 0, 1),
		qq{UPDATE dp_counter_private.source_counters SET key = (SELECT key FROM dp_counter_private.source_counters
			WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter = '$counter{name}_0'::regclass))
			WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter = '$counter{name}_1'::regclass)},
		"INSERT INTO oracle.counters (name, zone, every, since) SELECT c.counter::text, time_zone, every, since
			FROM dp_counters AS c WHERE c.counter::text LIKE '$counter{name}\\__'",
		'COMMIT'));
	return if $error =~ /has an epsilon of .* left/;
	die $error if $error;
	return \%counter;
}

for my $round (1 .. $rounds)
{
	my $at = (qw(at day instant))[ $round % 3 ];
	my $per = 2 + int(rand(5));
	my $zone = $at eq 'instant' ? 'Europe/Berlin' : 'UTC';
	sql(sprintf('SELECT setseed(%.6f); ', rand) . "SELECT dp_budget_create('budget', @{[ one_of(4, 6, 8) ]}e9, per => '$per days');
		CALL begin_round('$at', $per, '$zone', $pairs);" . join '',
			map { "SELECT dp_source_create('events_$_', budget => 'budget', person => 'who', at => '$at', time_zone => '$zone');" } 0, 1);
	my @counters;
	my @dropped;
	for my $action (1 .. 14)
	{
		my $what = rand;
		if ($action < 3 || $what < 0.15)
		{
			my $counter = declare($at);
			push @counters, $counter if $counter;
		}
		my $counter = one_of(@counters);
		next unless $counter;
		if ($what < 0.75 && $counter->{closed} < $counter->{steps})
		{
			my $more = 1 + int(rand() ** 2 * ($counter->{steps} - $counter->{closed}));
			$counter->{closed} += $more;
			sql(sprintf 'SELECT setseed(%.6f);' . "CALL tick('$counter->{name}', $counter->{closed}); CALL happen();", rand);
		}
		elsif ($what < 0.85)
		{
			sql("CALL compare($round, '$counter->{name}', '$counter->{kind}');" . join '',
				map { "SELECT dp_counter_drop('$counter->{name}_$_');" } 0, 1);
			@counters = grep { $_ != $counter } @counters;
		}
		elsif ($counter->{regions} eq '{a}')
		{
			$counter->{regions} = '{a,b}';
			sql("SELECT dp_counter_add_groups('$counter->{name}_$_', places('{b}'))") for 0, 1;
		}
	}
	for my $counter (@counters)
	{
		sql("CALL tick('$counter->{name}', $counter->{steps});") if $counter->{closed} < $counter->{steps};
		sql("CALL compare($round, '$counter->{name}', '$counter->{kind}')");
	}
	sql("CALL end_round($round);" . join '', map { my $c = $_->{name}; map { "SELECT dp_counter_drop('${c}_$_');" } 0, 1 } @counters);
	sql(join '', (map { "SELECT dp_source_drop('events_$_');" } 0, 1), "SELECT dp_budget_drop('budget');");
}

note(sql(q{SELECT string_agg(format('%s: %s pairs, %s differ, %s by the sensitivity', kind, n, differ, fully), E'\n' ORDER BY kind)
	FROM (SELECT kind, count(*) AS n, count(*) FILTER (WHERE l1 > 0) AS differ, count(*) FILTER (WHERE l1 = sensitivity) AS fully
		FROM found GROUP BY kind) AS s}));
is(sql('SELECT count(*) FROM found WHERE l1 > sensitivity'), 0, 'no counter differs by more than its sensitivity');
is(sql(q{SELECT count(*) FROM found WHERE others > 0 AND kind <> 'persons'}), 0, 'no other unit\'s events differ');
is(sql('SELECT sum(uncharged) FROM losses'), 0, 'what differs was charged for the window');
is(sql('SELECT count(*) FROM losses WHERE epsilon > most OR most > budget'), 0,
	'what a window loses is within the sweep, and the sweep within the budget');
cmp_ok(sql('SELECT count(*) FROM found WHERE l1 = sensitivity'), '>', 0, 'some differ by all of the sensitivity');
note(sql('SELECT count(*) FROM losses WHERE epsilon = budget') . ' windows lose all of the budget');

# --- the sensitivity of persons without a bound is reached: a window that begins amid one period and ends amid the next, in which the
# events of the window after it are of another group
for my $at (qw(day at instant))
{
	my $zone = $at eq 'instant' ? 'Europe/Berlin' : 'UTC';
	sql(qq{
		TRUNCATE setting, units, events;
		INSERT INTO setting VALUES ('$at', 3, '$zone');
		SELECT dp_budget_create('budget', 1e10, per => '3 days');
		INSERT INTO units SELECT pair, who, window_at(who, '2020-03-26 12:00') FROM (SELECT row_number() OVER () AS pair, who
			FROM generate_series(1::bigint, 100) AS who
			WHERE window_at(who, '2020-03-24 12:00') < window_at(who, '2020-03-25 12:00') LIMIT 3) AS begin;
		INSERT INTO events (pair, who, at, region) SELECT pair, who, ('2020-03-' || day || ' 12:00')::timestamp, region FROM units,
			(VALUES (25, 'a'), (27, 'a'), (28, 'b')) AS v (day, region);}
		. join '', map { qq{
		SELECT dp_source_create('events_$_', budget => 'budget', person => 'who', at => '$at', time_zone => '$zone');
		SELECT dp_counter_create('tight_$_', source => 'events_$_', epsilon => 1e9, persons => true, every => '3 days',
			since => '2020-03-24', horizon => 2,
			by => 'place', groups => '{1.a,1.b,2.a,2.b,3.a,3.b}', cumulative => false);
		CALL dp_tick('tight_$_');} } 0, 1);
	is(sql(q{SELECT count(*) FROM units WHERE 3 = (SELECT sum(abs(a.count - b.count)) FROM tight_0 AS a
		JOIN tight_1 AS b USING (place, step) WHERE pair <> 4 AND place LIKE pair || '.%')}), 3, "$at: three cells differ");
	is(sql(q{SELECT sensitivity FROM dp_counters WHERE counter = 'tight_0'::regclass}), 3, 'which is the sensitivity');
	sql(join '', (map { "SELECT dp_counter_drop('tight_$_'), dp_source_drop('events_$_');" } 0, 1), "SELECT dp_budget_drop('budget');");
}

# --- charges of any range, in any order: accepted if and only if the sweep allows it
for my $per (1, 2, 7)
{
	my @charges = map {
		my ($a, $b) = sort { $a <=> $b } int(rand(40)), int(rand(40));
		my ($from, $to) = map { sprintf '2020-%02d-%02d %s', 1 + int($_ / 28), 1 + $_ % 28, rand() < 0.5 ? '00:00' : '12:00' } $a, $b + 1;
		($from, $to) = ('-infinity', $to) if rand() < 0.05;
		$to = 'infinity' if rand() < 0.05;
		[ one_of(qw(0.1 0.1 0.2 0.3)), $from, $to ]
	} 1 .. 80;
	my $n = 0;
	my $script = "SELECT dp_budget_create('swept', 1.0, per => '$per days');\n" . join '',
		map { sprintf "CALL dp_budget_spend('swept', %s, '%d', since => '%s', until => '%s');\n", $_->[0], ++$n, $_->[1], $_->[2] } @charges;
	$node->psql('postgres', $script, on_error_stop => 0, on_error_die => 0, stderr => \my $errors);
	$n = 0;
	sql('CREATE TABLE charges (n integer, epsilon numeric, since timestamp, until timestamp); INSERT INTO charges VALUES '
		. join ', ', map { sprintf "(%d, %s, '%s', '%s')", ++$n, @$_ } @charges);
	sql(qq{
		CREATE TABLE taken (LIKE charges);
		DO \$\$ DECLARE c charges; BEGIN
			FOR c IN SELECT * FROM charges ORDER BY n LOOP
				INSERT INTO taken VALUES (c.*);
				IF sweep('taken', '$per days') > 1 THEN DELETE FROM taken WHERE taken.n = c.n; END IF;
			END LOOP;
		END \$\$;});
	my $expected = sql(q{SELECT string_agg(n::text, ' ' ORDER BY n) FROM taken});
	is(sql(q{SELECT string_agg(purpose, ' ' ORDER BY purpose::int) FROM swept}), $expected, "$per days: what the sweep allows is charged");
	cmp_ok(scalar(split / /, $expected), '<', @charges - 10, 'and some is refused');
	is(sql(q{SELECT spent_past, spent, remaining FROM dp_budgets WHERE budget = 'swept'::regclass}),
		sql(qq{SELECT sweep('taken', '$per days', until => now()::timestamp), sweep('taken', '$per days', now()::timestamp), 1.0 - sweep('taken', '$per days', now()::timestamp)}), 'dp_budgets has the past and the future');
	sql(q{DROP TABLE charges, taken; SELECT dp_budget_drop('swept')});
}
done_testing();
