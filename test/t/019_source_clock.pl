# What a clock, a role with no right but to tick, can do to a source: run code of its own as the source's owner, change a person's key, learn
# from statistics, errors and messages, by its settings, its schemas and what it did earlier in its session. Each attack is run against a view
# that calls what it needs; such a view is refused, at its declaration and, where it was replaced after that, at the tick.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use LiveCounters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('clock', conf => "autovacuum = off\n");
my $major = int($node->safe_psql('postgres', 'SHOW server_version_num') / 10000);
sub sql { return $node->safe_psql('postgres', $_[0], extra_params => [ '-U', $_[1] // 'postgres' ]) }

# The statements one after the other in one session, whatever fails. What it was told, but for what was released.
sub session
{
	my ($user, @statements) = @_;
	my ($out, $told);
	$node->psql('postgres', join(";\n", @statements), stdout => \$out, stderr => \$told, on_error_stop => 0, extra_params => [ '-U', $user ]);
	return $told =~ s/^\S*(?: )?NOTICE:  \S+: \d+ (?:period|step)s? released, .*\n?//mgr;
}

sql(q{
	CREATE ROLE steward LOGIN; CREATE ROLE clock LOGIN; CREATE ROLE other LOGIN; CREATE ROLE stranger LOGIN;
	CREATE SCHEMA hospital AUTHORIZATION steward; GRANT USAGE ON SCHEMA hospital TO PUBLIC;
	CREATE SCHEMA evil AUTHORIZATION clock; CREATE SCHEMA others AUTHORIZATION other; GRANT USAGE ON SCHEMA evil, others TO PUBLIC;
	CREATE PROCEDURE public.over(n integer) LANGUAGE sql AS $$ UPDATE dp_counter_private.source_counters SET "grace" = now() AT TIME ZONE 'UTC' - (since + n * every) $$;
	CREATE TABLE public.ran (who text, as_whom text); GRANT ALL ON public.ran TO PUBLIC;
});
# A helper that is compiled once a session, with the type of its variable found by the search_path of that moment.
my $helper = sub { return qq{CREATE FUNCTION $_[0] RETURNS $_[1] LANGUAGE plpgsql IMMUTABLE AS \$\$ DECLARE v text := 'v'; BEGIN RETURN $_[2]; END \$\$;} };
sql(q{
	SELECT dp_budget_create('hospital.b', 1e12);
	CREATE TABLE hospital.visits AS SELECT 1 AS person, timestamp '2024-01-01 12:00' + n * interval '1 day' AS at, 'flu' AS note FROM generate_series(0, 7) AS n;
	CREATE TABLE hospital.other AS SELECT * FROM hospital.visits;
} . $helper->('hospital.norm(x text)', 'text', 'lower(x) || v') . $helper->('hospital.most(x text)', 'integer', 'length(v) * 1000'), 'steward');
for my $role ([ 'clock', 'evil' ], [ 'other', 'others' ])
{
	my ($user, $schema) = @$role;
	sql(qq{
		CREATE FUNCTION $schema.run() RETURNS boolean LANGUAGE plpgsql AS \$\$ BEGIN INSERT INTO public.ran VALUES ('$user', current_user); RETURN true; END \$\$;
		CREATE DOMAIN $schema.text AS pg_catalog.text CHECK ($schema.run());
		CREATE FUNCTION $schema.cat(pg_catalog.text, pg_catalog.text) RETURNS pg_catalog.text LANGUAGE plpgsql AS \$\$ BEGIN PERFORM $schema.run(); RETURN 'x'; END \$\$;
		CREATE OPERATOR $schema.|| (LEFTARG = pg_catalog.text, RIGHTARG = pg_catalog.text, FUNCTION = $schema.cat);
	}, $user);
}

# A source of the owner's with a counter that the clock may tick, of eight days; then its view is replaced.
my $number = 0;
sub source
{
	my ($query, %options) = @_;
	my $owner = $options{owner} // 'steward';
	my $schema = $options{schema} // 'hospital';
	my $name = 's' . ++$number;
	my $columns = $options{columns} // q{person::text AS person, at, true AS event};
	sql(qq{
		CREATE VIEW $schema.$name AS SELECT $columns FROM hospital.visits;
		SELECT dp_source_create('$schema.$name', '$schema.b', 'person', 'at', 'UTC', person_wise => }
		. ($options{person_wise} // 'true') . qq{);
		SELECT dp_counter_create('$schema.c$number', epsilon => 1e9, horizon => 8, source => '$schema.$name', event => 'event', per_person => 1, every => '1 day', since => '2024-01-01');
		GRANT UPDATE ON $schema.c$number TO clock, stranger;
		CREATE OR REPLACE VIEW $schema.$name AS $query}, $owner);
	return "$schema.c$number";
}
sub refusal { my ($query) = @_; return failure($node, "BEGIN; CREATE VIEW hospital.tried AS $query; SELECT dp_source_create('hospital.tried', 'hospital.b', 'person', 'at', 'UTC', person_wise => true)", user => 'steward', on_error_stop => 1); }
my @ran_as = (q{SELECT coalesce(string_agg(DISTINCT who || ' as ' || as_whom, ', '), 'nobody') FROM ran WHERE who <> as_whom});
sub ran { my $ran = sql($ran_as[0]); sql('TRUNCATE ran'); return $ran; }
my $poison = 'SET search_path = evil, pg_catalog';

# --- code of the clock's that runs as the source's owner
my $normed = q{SELECT hospital.norm(person::text) AS person, at, true AS event FROM hospital.visits};
like(refusal($normed), qr/DETAIL:  It calls hospital\.norm\(text\), which is neither .*HINT:  Store the value/s, 'a function in plpgsql is refused in a view, by name, with the way out');
my $counter = source($normed);
my $told = session('clock', $poison, q{SELECT hospital.norm('x')}, "CALL public.dp_counter_tick('$counter')");
is(ran(), 'nobody', 'a clock that poisons a helper of the view runs nothing as the owner');
like($told, qr/could not evaluate source/, 'as the view is refused');
unlike($told, qr/norm\(text\)/, 'the clock does not learn why');
like(session('steward', "CALL dp_counter_tick('$counter')"), qr/DETAIL:  It calls hospital\.norm\(text\),/, 'its owner does');

# An honest clock ticks one owner's source and then another's.
sql(q{GRANT SELECT ON hospital.visits TO other; GRANT EXECUTE ON FUNCTION hospital.norm(text) TO other}, 'steward');
sql(q{
	SELECT dp_budget_create('others.b', 1e12);
	CREATE FUNCTION others.poison(x text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
	BEGIN PERFORM set_config('search_path', 'others, pg_catalog', true); RETURN hospital.norm(x); END $$;
}, 'other');
my $first = source(q{SELECT others.poison(person::text) AS person, at, true AS event FROM hospital.visits}, owner => 'other', schema => 'others');
$counter = source($normed);
session('clock', "CALL dp_counter_tick('$first')", "CALL dp_counter_tick('$counter')");
is(ran(), 'nobody', 'nor does another owner whose source the clock ticked before');

# The planner evaluates what is in a table's indexes and constraints, with constants.
sql(q{CREATE TABLE hospital.checked (LIKE hospital.visits); ALTER TABLE hospital.checked ADD CHECK (person < hospital.most('x'));
	CREATE TABLE hospital.indexed (LIKE hospital.visits); CREATE INDEX indexed_most ON hospital.indexed ((person + hospital.most('x')));
	CREATE TABLE hospital.parts (LIKE hospital.visits) PARTITION BY RANGE ((person + hospital.most('x')))}, 'steward');
sql(q{CREATE TABLE hospital.statistics (LIKE hospital.visits); CREATE STATISTICS hospital.most ON (person + hospital.most('x')), at FROM hospital.statistics}, 'steward') if $major >= 14;
for my $table ('checked', 'indexed', 'parts', $major >= 14 ? 'statistics' : ())
{
	$counter = source("SELECT person::text AS person, at, true AS event FROM hospital.$table");
	$told = session('clock', $poison, q{SELECT hospital.most('x')}, 'SET constraint_exclusion = on', "CALL public.dp_counter_tick('$counter')");
	is(ran(), 'nobody', "nor by a function in what the planner looks at: $table");
	($table eq 'checked' ? \&unlike : \&like)->($told, qr/could not evaluate/, $table eq 'checked' ? 'which does without constraints' : 'as the source is refused');
}
like(refusal('SELECT person, at FROM hospital.indexed'), qr/PostgreSQL may call hospital\.most\(text\) for "indexed_most"/, 'which says why');
$counter = source(q{SELECT person || 'x' AS person, at, true AS event FROM hospital.visits});
is(session('clock', $poison, "CALL public.dp_counter_tick('$counter')"), '', 'an operator of its own, first in its path');
is(ran(), 'nobody', 'is not that in a function of pg_catalog'); # of older majors; later ones name theirs in full

# --- the clock in a person's key
sub most_counted
{
	my ($counter, @settings) = @_;
	for my $day (1 .. 8)
	{
		sql("CALL over($day)");
		session($day % 2 ? 'clock' : 'stranger', (map { s/#/$day/r } @settings), "CALL dp_counter_tick('$counter')");
	}
	return sql("SELECT coalesce(max(count), 0) FROM $counter");
}
sql(q{CREATE FUNCTION hospital.strings() RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ DECLARE s text; BEGIN EXECUTE 'SELECT ''a\\b'''  INTO s; RETURN s; END $$}, 'steward');
sql('ALTER FUNCTION hospital.strings() STABLE', 'steward');
my %key = (
	salt    => [ q{person || current_setting('hospital.salt', true)}, q{SET hospital.salt = '#'} ],
	strings => [ q{person || hospital.strings()}, q{SELECT set_config('standard_conforming_strings', CASE WHEN # % 2 = 0 THEN 'on' ELSE 'off' END, false), set_config('escape_string_warning', 'off', false)} ],
	session => [ q{(person || session_user) COLLATE "default"}, 'SELECT' ],
	role    => [ q{person || coalesce((SELECT 'x' WHERE pg_has_role(session_user, 'clock', 'USAGE')), '')}, 'SELECT' ],
);
for my $name (sort keys %key)
{
	my ($person, @settings) = @{ $key{$name} };
	my $query = "SELECT $person AS person, at, true AS event FROM hospital.visits";
	cmp_ok(most_counted(source($query), @settings), '<=', 1, "a person is not counted twice by the session: $name");
	like(refusal($query), qr/It (calls|uses)/, 'and it is refused when declared');
}
cmp_ok(most_counted(source(q{SELECT (person || session_user) COLLATE "default" AS person, at, true AS event FROM hospital.visits}, person_wise => 'false')), '<=', 1, 'in a simple view neither');

# --- statistics, errors, messages
sql(q{
	CREATE TABLE hospital.big AS SELECT n FROM generate_series(1, 100000) AS n; ANALYZE hospital.big;
	CREATE FUNCTION hospital.rows() RETURNS bigint LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$ BEGIN RETURN (SELECT count(*) FROM hospital.big); END $$;
	CREATE FUNCTION hospital.slow(note text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
	BEGIN
		IF note = 'flu' THEN
			PERFORM pg_sleep(600);
		ELSE
			PERFORM pg_sleep(600);
		END IF;
		RETURN true;
	END $$;
	CREATE FUNCTION hospital.talk(note text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$ BEGIN RAISE INFO 'secret %', note; RETURN true; END $$;
}, 'steward');
my $flush = $major >= 15 ? 'SELECT pg_stat_force_next_flush();' : 'SELECT pg_sleep(2);';
my @parallel = ('SET max_parallel_workers_per_gather = 2', 'SET parallel_setup_cost = 0', 'SET parallel_tuple_cost = 0', 'SET min_parallel_table_scan_size = 0', 'SET parallel_leader_participation = off');
my $read = $flush . q{SELECT relname, seq_scan, seq_tup_read FROM pg_stat_all_tables WHERE relname IN ('big', 'visits', 'other') ORDER BY 1};
my @by_workers = (
	[ 'of a function', source(q{SELECT person::text AS person, at, hospital.rows() > 1 AS event FROM hospital.visits}) ],
	[ 'of the view itself', source(q{SELECT n::text AS person, timestamp '2024-01-01 12:00' AS at, true AS event FROM hospital.big}) ]);
for my $case (@by_workers)
{
	all_reported($node);
	my $before = sql($read, 'stranger');
	session('clock', @parallel, "CALL dp_counter_tick('$case->[1]')");
	all_reported($node);
	is(sql($read, 'stranger'), $before, "parallel workers count nothing: $case->[0]");
}

$counter = source(q{SELECT person::text AS person, at, hospital.slow(note) AS event FROM hospital.visits});
unlike(session('clock', q{SET statement_timeout = '1s'}, "CALL dp_counter_tick('$counter')"), qr/CONTEXT|line \d/, 'an error does not say where it was raised');
$counter = source(q{SELECT person::text AS person, at, hospital.talk(note) AS event FROM hospital.visits});
unlike(session('clock', "CALL dp_counter_tick('$counter')"), qr/secret/, 'no message of level INFO is heard');

# --- what accepted functions read of the session
sql(q{
	CREATE TABLE hospital.facts AS SELECT n AS person, timestamptz '2024-01-01 09:00+00' AS at, '10/03/04' AS day, interval '1 day 2 hours' AS stay, 0.1::float8 + 0.2 AS weight,
		'\x61'::bytea AS raw, 'ann' AS name FROM generate_series(1, 10) AS n;
	CREATE TABLE hospital.guarded AS SELECT * FROM hospital.facts; ALTER TABLE hospital.guarded ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
	CREATE POLICY readable ON hospital.guarded USING (person > 0);
}, 'steward');
my @settings = (
	[ 'TimeZone', 'Asia/Tokyo', 'extract(hour FROM at) < 12' ],
	[ 'DateStyle', 'ISO, DMY', q{day::date = date '2010-03-04'} ],
	[ 'IntervalStyle', 'sql_standard', q{stay::text = '1 day 02:00:00'} ],
	[ 'timezone_abbreviations', 'Australia', q{extract(hour FROM at AT TIME ZONE 'EST') = 4} ],
	[ 'extra_float_digits', '-5', q{weight::text = '0.30000000000000004'} ],
	[ 'bytea_output', 'escape', q{raw::text = '\x61'} ],
	[ 'quote_all_identifiers', 'on', q{quote_ident(name) = 'ann'} ]);
for my $case (@settings, [ 'row_security', 'off', 'true', 'guarded' ])
{
	my ($name, $value, $event, $table) = @$case;
	$table //= 'facts';
	$counter = 'hospital.of_' . lc $name;
	sql(qq{
		CREATE VIEW hospital.view_$name AS SELECT person, at, $event AS event FROM hospital.$table;
		SELECT dp_source_create('hospital.view_$name', 'hospital.b', 'person', 'at', 'UTC', person_wise => true);
		SELECT dp_counter_create('$counter', epsilon => 1e9, horizon => 1, source => 'hospital.view_$name', event => 'event', every => '1 day', since => '2024-01-01');
		GRANT UPDATE ON $counter TO clock}, 'steward');
	is(failure($node, qq{SET TimeZone = 'UTC'; SET $name = '$value'; DO 'BEGIN ASSERT (SELECT count(*) FROM hospital.view_$name WHERE event) = 10; END'}, user => 'steward') eq '' ? 1 : 0, 0, "$name matters");
	is(session('clock', "SET $name = '$value'", "CALL dp_counter_tick('$counter')"), '', 'a clock sets it');
	is(sql("SELECT count FROM $counter"), 10, 'and nothing changes');
}

# --- an extension's function that is no longer what it was
sql('CREATE EXTENSION fuzzystrmatch; CREATE EXTENSION citext; CREATE EXTENSION hstore; CREATE EXTENSION pg_trgm; CREATE EXTENSION tablefunc; CREATE EXTENSION unaccent; CREATE EXTENSION postgres_fdw');
$counter = source(q{SELECT soundex(note) AS person, at, levenshtein(note, 'flue') < 2 AS event FROM hospital.visits});
sql('ALTER FUNCTION soundex(text) VOLATILE; CALL over(1)');
like(session('clock', "CALL dp_counter_tick('$counter')"), qr/could not evaluate/, 'a function that has become volatile is refused at the next tick');
sql('ALTER FUNCTION soundex(text) IMMUTABLE');
is(session('clock', "CALL dp_counter_tick('$counter')"), '', 'immutable ones of extensions, in C, are taken');
is(sql("SELECT count FROM $counter"), 1, 'and count');

# What of an extension is taken: what is immutable, in C.
sql(q{CREATE TABLE hospital.notes AS SELECT 1 AS person, timestamp '2024-01-01' AS at, 'Flu'::citext AS note, 'a=>1'::hstore AS doc; CREATE AGGREGATE public.my_max(citext) (SFUNC = citext_larger, STYPE = citext);
	CREATE FUNCTION public.own_soundex(pg_catalog.text) RETURNS pg_catalog.text AS '$libdir/fuzzystrmatch', 'soundex' LANGUAGE c IMMUTABLE;
	CREATE INDEX ON hospital.notes (note)}, 'postgres');
sql('ALTER TABLE hospital.notes OWNER TO steward');
is(refusal($_), '', "taken: $_") for map { "SELECT $_ FROM hospital.notes" } q{person, at, note = 'flu' AS flu, doc -> 'a' AS a}, q{person, at, similarity(note::text, 'flu') > 0.5 AS flu},
	q{person || '-' || note AS person, at}, q{DISTINCT ON (note) person, at, note, doc}, q{person, at, max(note) OVER (PARTITION BY person) AS note}, q{person, at, concat(note) AS note};
for my $case (
	[ q{person, at, note::text % 'flu' AS flu}, 'similarity_op' ], [ q{person, at, regexp_match(note, 'flu') AS flu}, 'regexp_match' ], [ q{person, at, my_max(note) OVER (PARTITION BY person) AS note}, 'my_max' ],
	[ q{person, at, (SELECT count(*) FROM crosstab('SELECT 1, 2, 3') AS c(a int, b int)) > 1 AS flu}, 'crosstab' ], [ q{person, at, unaccent(note) AS flu}, 'unaccent' ],
	[ q{person, at, own_soundex(note::text) AS flu}, 'own_soundex' ],
	# an extension's function that takes or makes any type may check domains
	[ q{person, at, (populate_record(ROW(person), doc)) IS NULL AS flu}, 'populate_record' ], [ q{person, at, ROW(person) #= doc IS NULL AS flu}, 'populate_record' ], [ q{hstore(ROW(person)) -> 'f1' AS person, at}, 'hstore' ])
{
	like(refusal("SELECT $case->[0] FROM hospital.notes"), qr/DETAIL:  It calls (public\.)?$case->[1]\(/, "refused: $case->[1]");
}

sql(q{CREATE FUNCTION public.odd(citext, pg_catalog.text) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT 0'; ALTER OPERATOR FAMILY citext_ops USING btree ADD FUNCTION 1 (citext, pg_catalog.text) public.odd(citext, pg_catalog.text)});
like(refusal(q{SELECT person, at, greatest(note, note) AS most FROM hospital.facts, (VALUES ('Flu'::citext)) AS v (note)}), qr/It uses values of type (public\.)?citext/, 'nor a type that is compared by what is not in C');
sql(q{ALTER OPERATOR FAMILY citext_ops USING btree DROP FUNCTION 1 (citext, pg_catalog.text)});

# --- foreign tables, whose values are made of text, by input functions
my ($host, $port) = ($node->host, $node->port);
sql(qq{
	CREATE ROLE remote LOGIN; ALTER ROLE remote SET statement_timeout = '1s'; GRANT USAGE ON SCHEMA hospital TO remote;
	CREATE VIEW public.slow AS SELECT 'p' AS person, timestamp '2024-01-01 12:00' AS at, pg_sleep(600) IS NULL AS event; GRANT SELECT ON slow TO remote;
	CREATE VIEW public.fast_keys AS SELECT 'p'::pg_catalog.text AS person, timestamp '2024-01-01 12:00' AS at, '{x}'::pg_catalog.text[] AS event; GRANT SELECT ON fast_keys TO remote;
	CREATE VIEW public.fast AS SELECT 'p'::pg_catalog.text AS person, timestamp '2024-01-01 12:00' AS at, true AS event; GRANT SELECT ON fast TO remote;
	CREATE SERVER loop FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres'); GRANT USAGE ON FOREIGN SERVER loop TO steward;
	CREATE USER MAPPING FOR steward SERVER loop OPTIONS (user 'remote', password_required 'false');
});
sql(q{
	CREATE DOMAIN hospital.key AS text CHECK (hospital.norm(VALUE) IS NOT NULL);
	CREATE FOREIGN TABLE hospital.far_slow (person text, at timestamp, event boolean) SERVER loop OPTIONS (schema_name 'public', table_name 'slow');
	CREATE FOREIGN TABLE hospital.far (person text, at timestamp, event boolean) SERVER loop OPTIONS (schema_name 'public', table_name 'fast');
	CREATE FOREIGN TABLE hospital.far_key (person text, at timestamp, event hospital.key) SERVER loop OPTIONS (schema_name 'public', table_name 'fast');
	CREATE FOREIGN TABLE hospital.far_keys (person text, at timestamp, event hospital.key[]) SERVER loop OPTIONS (schema_name 'public', table_name 'fast_keys');
	CREATE TABLE hospital.near (LIKE hospital.far_key) PARTITION BY RANGE (at); ALTER TABLE hospital.near ATTACH PARTITION hospital.far_key DEFAULT;
}, 'steward');
$counter = source('SELECT person, at, event FROM hospital.far');
is(session('clock', "CALL dp_counter_tick('$counter')"), '', 'a foreign table is read');
is(sql("SELECT count FROM $counter WHERE step = 1"), 1, 'and counted');
for my $table ('far_key', 'far_keys', 'near')
{
	$counter = source("SELECT person, at, event IS NOT NULL AS event FROM hospital.$table");
	$told = session('clock', $poison, q{SELECT hospital.norm('x')}, "CALL public.dp_counter_tick('$counter')");
	is(ran(), 'nobody', 'no domain is checked');
	like($told, qr/could not evaluate/, 'as such a column is refused');
	like(refusal("SELECT person, at FROM hospital.$table"), qr/Column "event" of foreign table "far_keys?" is of type hospital\.key/, 'by name');
}
$counter = source('SELECT person, at, event FROM hospital.far_slow');
like(session('clock', "CALL dp_counter_tick('$counter')"), qr/\Apsql\S* ERROR:  could not evaluate source "\w+"\nHINT: [^\n]*\s*\z/, 'a timeout there tells no context');
like(session('steward', "CALL dp_counter_tick('$counter')"), qr/CONTEXT:  remote SQL command/, 'which its owner sees');
$node->stop;
done_testing();
