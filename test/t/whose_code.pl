# Whose code runs when a source is read, and what it sees: the view's own functions run as its owner and see nothing of
# the session that calls; nobody else's code runs with the owner's rights. Calls come from a clock, a role with no right
# but to tick; from a stranger come the types, casts, operators and domains that an honest view uses.
#
# Evaluation is read only, so functions leave marks in the server's log: MARK (who wrote it) as (whom it runs as).
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('clock', conf => "autovacuum = off\nmax_worker_processes = 32\n");
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

# What the server has logged since the last call.
my $read = 0;
sub logged
{
	my $log = slurp_file($node->logfile, $read);
	$read += length $log;
	return $log;
}

# Whose code has run as whom since then.
sub marks
{
	my %marks = map { $_ => 1 } logged() =~ /LOG:  MARK (\w+ as \w+)/g;
	return join ', ', sort keys %marks;
}

# A function that leaves its author's mark.
sub marking
{
	my ($author, $function, $result, $options) = @_;
	return "CREATE FUNCTION $function LANGUAGE plpgsql " . ($options // 'IMMUTABLE')
		. " AS \$\$ BEGIN RAISE LOG 'MARK $author as %', current_user; RETURN $result; END \$\$;";
}

# A source of the owner's with a counter of one day, which the clock may tick.
sub source
{
	my ($name, $query, %options) = @_;
	my $schema = $options{schema} // 'hospital';
	return qq{
		CREATE VIEW $schema.$name AS $query;
		SELECT dp_source_create('$schema.$name', '$schema.b', 'person', 'at', 'UTC', person_wise => true);
	} . counter("c_$name", $name, %options);
}
sub counter
{
	my ($name, $source, %options) = @_;
	my $schema = $options{schema} // 'hospital';
	return qq{
		SELECT dp_counter_create('$schema.$name', epsilon => 1e9, horizon => 1, source => '$schema.$source', event => 'event',
			every => '1 day', since => '2024-01-01', per_person => 1);
		GRANT UPDATE ON $schema.$name TO clock, nurse;
	};
}

sql(q{
	CREATE ROLE steward LOGIN; CREATE ROLE clock LOGIN; CREATE ROLE stranger LOGIN; CREATE ROLE other LOGIN; CREATE ROLE chief LOGIN SUPERUSER;
	CREATE ROLE nurse; GRANT nurse TO clock;
	CREATE SCHEMA hospital AUTHORIZATION steward; CREATE SCHEMA evil AUTHORIZATION clock; CREATE SCHEMA odd AUTHORIZATION stranger;
	CREATE SCHEMA others AUTHORIZATION other; CREATE SCHEMA office AUTHORIZATION chief;
	GRANT USAGE ON SCHEMA hospital, evil, odd, others, office TO PUBLIC;
	CREATE EXTENSION postgres_fdw; CREATE EXTENSION isn;
});
sql(unguarded_functions());
sql(q{
	SELECT dp_budget_create('hospital.b', 1e15);
	CREATE TABLE hospital.visits AS SELECT 1 AS person, timestamp '2024-01-01 12:00' AS at, 'flu' AS note;
}, 'steward');
# in front of the clock's path: a domain of the name of a type, whose check marks
sql(marking('clock', 'evil.run() RETURNS boolean', 'true', 'STABLE')
	. 'CREATE DOMAIN evil.text AS pg_catalog.text CHECK (evil.run())', 'clock');
my $poison = 'SET search_path = evil, pg_catalog, hospital, public';

# --- what the view sees
sql(q{
	-- All settings, the roles, and what a session keeps. Its variable is of the type that the path finds when it is compiled.
	CREATE FUNCTION hospital.seen() RETURNS text LANGUAGE plpgsql STABLE AS $$
	DECLARE v text := 'v';
	BEGIN
		RETURN (SELECT string_agg(name || '=' || setting, E'\n' ORDER BY name COLLATE "C") FROM (
			SELECT name, setting FROM pg_settings
			UNION ALL SELECT name, coalesce(nullif(current_setting(name, true), ''), 'NULL')
				FROM unnest('{role,session_authorization,is_superuser,my.x,hospital.y}'::pg_catalog.text[]) AS name
			UNION ALL VALUES ('!users', concat_ws(' ', session_user, current_user)), ('!type', pg_typeof(v)::pg_catalog.text),
				('!path', current_schemas(true)::pg_catalog.text),
				('!temporary', concat_ws(' ', pg_my_temp_schema(), to_regclass('visits'), to_regclass('pg_temp.visits'))),
				('!client', concat_ws(' ', inet_client_addr(), inet_client_port(), current_query()))
			UNION ALL SELECT '!prepared', count(*)::pg_catalog.text FROM pg_prepared_statements UNION ALL SELECT '!cursors',
				count(*)::pg_catalog.text FROM pg_cursors
			UNION ALL SELECT '!channels', count(*)::pg_catalog.text FROM pg_listening_channels()
			UNION ALL SELECT '!locks', count(*)::pg_catalog.text FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory') AS s);
	END $$;
	CREATE FUNCTION hospital.tell() RETURNS boolean LANGUAGE plpgsql STABLE AS $$ BEGIN RAISE LOG 'SEEN[%]', hospital.seen();
	RETURN true; END $$;
}, 'steward');

# name => value of the only view that was evaluated since the last call. The caller's PID is in the worker's name.
sub seen
{
	my @seen = logged() =~ /LOG:  SEEN\[(.*?)\]$/msg;
	is(scalar @seen, 1, 'the view was evaluated');
	return { map { split /=/, s/^\t//r =~ s/(dp_counter worker for PID) \d+/$1/r, 2 } split /\n/, $seen[-1] };
}
sub differences
{
	my ($one, $other) = @_;
	return join ' ', sort grep { ($one->{$_} // '') ne ($other->{$_} // '') } keys %{ { %$one, %$other } };
}

# A session of a role that changes whatever it can.
my $change = q{
	DO $$
	DECLARE s record;
	BEGIN
		FOR s IN SELECT * FROM pg_settings WHERE context = 'user'
			AND name !~ '^(transaction_|default_transaction_read_only|exit_on_error|.*timeout)' LOOP
			BEGIN
				PERFORM set_config(s.name, CASE s.vartype WHEN 'bool' THEN CASE s.setting WHEN 'on' THEN 'off' ELSE 'on' END
					WHEN 'enum' THEN (SELECT v FROM unnest(s.enumvals) AS v WHERE v <> s.setting ORDER BY v DESC LIMIT 1)
					WHEN 'string' THEN s.setting ELSE (CASE WHEN s.setting::numeric < s.max_val::numeric
						THEN s.setting::numeric + 1 ELSE s.setting::numeric - 1 END)::text END, false);
			EXCEPTION WHEN OTHERS THEN NULL;
			END;
		END LOOP;
	END $$};
my @hostile = ($change, q{SET TimeZone = 'Asia/Tokyo'}, q{SET DateStyle = 'SQL, DMY'}, q{SET statement_timeout = '9min'},
	q{SET lock_timeout = '8min'}, q{SET my.x = 'x'}, q{SET client_encoding = 'LATIN1'},
	q{SET application_name = 'hostile'}, q{CREATE TEMP TABLE visits (person int)}, q{CREATE TEMP VIEW seen AS SELECT 1},
		q{PREPARE visits AS SELECT 1}, q{LISTEN visits}, q{SELECT pg_advisory_lock(1)},
	q{BEGIN; DECLARE visits CURSOR WITH HOLD FOR SELECT 1; COMMIT}, $poison,
		q{SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE});

# Two owners' sources in one call: a superuser's function is compiled by the path that the first one sets, and must not
# serve the second one so.
sql(q{CREATE FUNCTION public.norm(x pg_catalog.text) RETURNS pg_catalog.text LANGUAGE plpgsql IMMUTABLE AS $$ DECLARE v text := x;
BEGIN RETURN v; END $$});
sql(marking('other', 'others.run() RETURNS boolean', 'true', 'STABLE') . q{
	CREATE DOMAIN others.text AS pg_catalog.text CHECK (others.run());
	SELECT dp_budget_create('others.b', 1e15);
	CREATE TABLE others.visits AS SELECT 1 AS person, timestamp '2024-01-01 12:00' AS at, 'flu'::pg_catalog.text AS note;
	CREATE FUNCTION others.poison(x pg_catalog.text) RETURNS pg_catalog.text LANGUAGE plpgsql IMMUTABLE AS $$
		BEGIN PERFORM public.put('search_path', 'others, pg_catalog', false); RETURN public.norm(x); END $$;
} . source('first', 'SELECT person, at, others.poison(note) IS NOT NULL AS event FROM others.visits', schema => 'others'), 'other');
sql(source('second', 'SELECT person, at, public.norm(note) IS NOT NULL AND hospital.tell() AS event FROM hospital.visits'), 'steward');
logged();
is(session('clock', 'CALL dp_tick()'), '', 'a call ticks the sources of two owners');
my $log = slurp_file($node->logfile, $read);
like($log, qr/MARK other as other.*SEEN/s, 'the first one\'s code runs, as the first one');
unlike($log, qr/MARK other as (?!other)/, 'and not as the second one');
my $second = seen();

sql(source('seen', 'SELECT person, at, hospital.tell() AS event FROM hospital.visits') . counter('hostile', 'seen')
	. counter('by_super', 'seen'), 'steward');
logged();
session('steward', "CALL dp_tick('hospital.c_seen')");
my $plain = seen();
is($plain->{'!users'}, 'steward steward', 'the view of an owner who calls is evaluated as the owner');
is("$plain->{is_superuser} $plain->{role}", 'off none', 'who is no superuser');
is($plain->{synchronize_seqscans}, 'off', 'where a scan stops, no other one begins');
is(differences($plain, $second), '', 'in a session of its own, wherever other owners\' sources were read before');
session('clock', @hostile, 'SET ROLE nurse', q{CALL public.dp_tick('hospital.hostile')});
my $hostile = seen();
is(differences($plain, $hostile), 'lock_timeout',
	'it sees the same where a clock calls, after it has changed all that it can, but how long the call may wait for locks');
session('postgres', @hostile, 'SET ROLE postgres', q{CALL public.dp_tick('hospital.by_super')});
is(differences($hostile, seen()), '', 'and where a superuser calls');
session('postgres', @hostile, 'SET ROLE steward',
	q{CALL public.dp_source_contributions('hospital.seen', 'public.contributions', 1e9, event => 'event')});
sql('GRANT CREATE ON SCHEMA public TO steward');
logged();
for my $report ('contributions', 'suggest', 'groups')
{
	my $every = $report eq 'suggest' ? q{1e9, '1 day', since => '2024-01-01', until => '2024-02-01', } : $report eq 'groups'
		? q{'person', } : '';
	is(session('postgres', @hostile, 'SET ROLE steward', 'SET client_min_messages = warning',
		"CALL public.dp_source_$report('hospital.seen', 'public.$report', 1e9, $every event => 'event')"), '', "dp_source_$report");
	is(differences($hostile, seen()), '', 'shows it the same');
}
is(sql(q{SELECT role, session_role, count(*) FROM hospital.b WHERE purpose ~ ' in public' GROUP BY 1, 2}), 'steward|postgres|3',
	'the budget says who was behind the steward');
# A report creates a table, for which event triggers run: as the owner, like the rest, and without a way to another role.
sql(q{
	CREATE FUNCTION hospital.on_table() RETURNS event_trigger LANGUAGE plpgsql AS $$
	BEGIN
		BEGIN
			PERFORM pg_catalog.set_config('session_authorization', 'postgres', false);
		EXCEPTION WHEN insufficient_privilege THEN NULL;
		END;
		RAISE LOG 'MARK own as %', current_user;
	END $$}, 'steward');
sql(q{CREATE FUNCTION odd.on_table() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE LOG 'MARK stranger as %',
	current_user; END $$}, 'stranger');
logged();
for my $schema ('hospital', 'odd')
{
	sql("CREATE EVENT TRIGGER on_table ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION $schema.on_table()");
	my $spent = sql('SELECT sum(epsilon) FROM hospital.b');
	my $told = session('steward', "CALL dp_source_contributions('hospital.seen', 'public.$schema', 1)");
	if ($schema eq 'hospital')
	{
		is(marks(), 'own as steward', 'an event trigger by a function of the owner\'s runs as the owner');
		is(sql('SELECT count(*) > 0 FROM public.hospital'), 't', 'and the report is made');
	}
	else
	{
		like($told, qr/function odd\.on_table\(\) belongs to another role than the source/, 'one by a stranger\'s function is refused');
		is(marks(), '', 'and has not run');
		is(sql(q{SELECT to_regclass('public.odd') IS NULL, sum(epsilon) FROM hospital.b}), "t|$spent", 'nothing is created or spent');
		session('steward', 'CREATE TABLE public.plain ()');
		is(marks(), 'stranger as steward', 'as it does for the owner\'s own CREATE TABLE');
	}
	sql('DROP EVENT TRIGGER on_table');
}
# What the comparison can see: the session itself, by its own call.
session('clock', @hostile, 'SET ROLE nurse', 'SELECT hospital.tell()');
my $own = seen();
cmp_ok(scalar(split / /, differences($plain, $own)), '>', 100, 'a session that calls it itself shows more than a hundred differences');
like(differences($plain, $own), qr/(?=.*\Q$_\E)/,
	"such as $_") for qw(!channels !cursors !locks !path !prepared !temporary !type !users
	DateStyle TimeZone client_encoding extra_float_digits my.x role search_path work_mem);

# --- what the view leaves behind, and what it cannot do
my @refused = (
	# statements that are no queries
	(map { [ $_, '42501' ] } 'SET ROLE other', 'SET SESSION AUTHORIZATION postgres', 'RESET SESSION AUTHORIZATION', 'CREATE TEMP TABLE t ()',
		'CREATE TEMP VIEW t AS SELECT 1', 'DECLARE c CURSOR WITH HOLD FOR SELECT 1', 'PREPARE p AS SELECT 1', 'LISTEN c', 'DISCARD ALL',
		'CREATE TABLE hospital.t ()', 'TRUNCATE hospital.visits', 'SET TRANSACTION READ WRITE', 'NOTIFY channel', 'SET work_mem = 64',
		'LOCK TABLE hospital.visits IN ACCESS SHARE MODE', q{COPY hospital.visits TO '/dev/null'}, 'ANALYZE hospital.visits', 'RESET ALL',
		'REINDEX TABLE hospital.visits', q{DO 'BEGIN END'}, 'RESET transaction_read_only', q{CALL public.dp_tick('hospital.c_tried')}),
	[ 'COMMIT', '0A000' ],
	# queries that write
	(map { [ $_, '25006' ] } 'INSERT INTO hospital.visits VALUES (2)', 'UPDATE hospital.visits SET person = 2', 'DELETE FROM hospital.visits',
		'SELECT FROM hospital.visits FOR UPDATE'),
	# functions that do more than read
	(map { [ "SELECT $_", '42501' ] } q{nextval('hospital.numbers')}, q{public.dp_counter_record('hospital.recorded')},
		q{public.dp_counter_end('hospital.c_tried')}, q{public.dp_source_drop('hospital.tried')}, q{pg_notify('loot', 'x')},
		q{query_to_xml('SELECT 1', true, true, '')}, 'lo_create(0)', q{pg_read_file('PG_VERSION')}, 'pg_advisory_lock(2)', 'pg_sleep(0)',
		q{set_config('application_name', 'x', false)}, q{table_to_xml('hospital.visits', true, true, '')},
		q{pg_get_viewdef('hospital.tried'::regclass)}, q{pg_get_ruledef(1)}, q{pg_get_functiondef(1)}, q{pg_get_function_sqlbody(1)},
		q{fmgr_sql_validator('lpad(text,int4)'::regprocedure)}, q{pg_get_partition_constraintdef(1)}, q{public.isn_weak(true)},
		q{satisfies_hash_partition('hospital.visits'::regclass, 1, 0, 1)}),
	# where a function of a superuser's does it all the same
	[ q{SELECT public.put('role', 'none', true)}, '42501' ], [ q{SELECT public.put('transaction_read_only', 'off', true)}, '25001' ],
	[ q{SELECT public.put('transaction_read_only', NULL, false); INSERT INTO hospital.visits VALUES (2)}, $major >= 16 ? '0A000' : '25006' ],
);
my @done = (q{SELECT public.hold(2)}, (map { my ($name, $value) = split / /; "SELECT public.put('$name', '$value', false)" } 'TimeZone Asia/Tokyo',
	'search_path odd', 'hospital.y left', 'work_mem 1MB', 'max_parallel_workers_per_gather 4', 'client_min_messages debug5',
	'enable_seqscan off', 'transaction_read_only on'), 'SELECT random(), clock_timestamp(), gen_random_uuid(), setseed(0)');
sql(q{
	CREATE SEQUENCE hospital.numbers; SELECT dp_event_counter_create('hospital.recorded', 1);
	CREATE FUNCTION hospital.run(statement text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
	BEGIN
		BEGIN
			EXECUTE statement;
			RAISE LOG 'TRIED % => done', statement;
		EXCEPTION WHEN OTHERS THEN
			RAISE LOG 'TRIED % => %', statement, SQLSTATE;
		END;
		RETURN true;
	END $$;
	CREATE FUNCTION hospital.run_all() RETURNS boolean LANGUAGE plpgsql STABLE AS $$
	BEGIN PERFORM hospital.run(statement) FROM hospital.statements ORDER BY n; RETURN true; END $$;
	CREATE TABLE hospital.statements (n serial, statement text);
	INSERT INTO hospital.statements (statement) VALUES } . join(', ', map { "(\$\$$_\$\$)" } (map { $_->[0] } @refused), @done)
		. ';' . source('tried', 'SELECT person, at, hospital.run_all() AS event FROM hospital.visits') . counter('after', 'seen'), 'steward');
logged();
is(session('clock', q{CALL dp_tick()}), '', 'a view that tries what it cannot do, before another one of the same owner');
$log = slurp_file($node->logfile, $read);
my %tried = $log =~ /LOG:  TRIED (.*) => (\w+)$/mg;
is($tried{ $_->[0] }, $_->[1], "refused: $_->[0]") for @refused;
is($tried{$_}, 'done', "runs: $_") for @done;
cmp_ok(index($log, 'TRIED'), '<', index($log, 'SEEN['), 'the other one comes after it');
is(differences({ %$plain, '!locks' => 1 }, seen()), '',
	'and sees nothing of what the first one has set; advisory locks alone are held until the call ends');
is(sql('SELECT (SELECT count(*) FROM hospital.visits), (SELECT count FROM hospital.c_tried), sum(total)
	FROM dp_counter_private.events'), '1|1|0', 'nothing was written');
is(sql(q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'}), 0, 'and no lock stays');
is(session('steward', q{SET client_min_messages = warning; CALL dp_source_contributions('hospital.tried', 'public.tried', 1)}), '',
	'nor is what follows read only, where the view asks for it');

# --- whose code runs: of a stranger's types, in an honest view
sql(q{
	CREATE TYPE odd.mood AS ENUM ('sad', 'glad');
	CREATE TYPE odd.pair AS (a integer, b integer);
	CREATE DOMAIN odd.small AS integer;
} . join('', map { "CREATE FUNCTION odd.most$_(text) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 1000';" } '', '_set', '_definer'),
	'stranger');
# An operator class takes a superuser; its functions are the stranger's.
sql(q{
	CREATE FUNCTION odd.pair_cmp(x odd.pair, y odd.pair) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$
		BEGIN RAISE LOG 'MARK stranger as %', current_user; RETURN btrecordcmp(x, y); END $$;
	CREATE FUNCTION odd.pair_hash(x odd.pair) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$
		BEGIN RAISE LOG 'MARK stranger as %', current_user; RETURN x.a; END $$;
} . join('', map { my ($name, $operator) = @$_; qq{
	CREATE FUNCTION odd.pair_$name(x odd.pair, y odd.pair) RETURNS boolean LANGUAGE plpgsql
		IMMUTABLE AS \$\$ BEGIN RAISE LOG 'MARK stranger as %', current_user; RETURN x.a $operator y.a; END \$\$;
	CREATE OPERATOR odd.$operator (LEFTARG = odd.pair, RIGHTARG = odd.pair, FUNCTION = odd.pair_$name, RESTRICT = eqsel, HASHES,
		MERGES);} } [ 'lt', '<' ], [ 'le', '<=' ], [ 'eq', '=' ], [ 'ge', '>=' ], [ 'gt', '>' ]), 'stranger');
sql(q{
	CREATE OPERATOR CLASS odd.pair_ops DEFAULT FOR TYPE odd.pair USING btree AS OPERATOR 1 odd.<, OPERATOR 2 odd.<=,
		OPERATOR 3 odd.=, OPERATOR 4 odd.>=, OPERATOR 5 odd.>, FUNCTION 1 odd.pair_cmp(odd.pair, odd.pair);
	CREATE OPERATOR CLASS odd.pair_hash_ops DEFAULT FOR TYPE odd.pair USING hash AS OPERATOR 1 odd.=, FUNCTION 1 odd.pair_hash(odd.pair);
});
sql(q{CREATE TYPE odd.span AS RANGE (SUBTYPE = odd.pair, SUBTYPE_OPCLASS = odd.pair_ops)}, 'stranger');
sql(q{
	CREATE TYPE hospital.feeling AS ENUM ('sad', 'glad');
	CREATE TABLE hospital.facts AS SELECT 1 AS person, timestamp '2024-01-01 12:00' AS at, 'flu' AS note, 1 AS n,
		'glad'::odd.mood AS m, ARRAY['glad'::odd.mood] AS ms, '(1,2)'::odd.pair AS p,
		ARRAY['(1,2)'::odd.pair] AS ps, '["(1,2)","(3,4)"]'::odd.span AS s, 'glad'::hospital.feeling AS f;
	INSERT INTO hospital.facts SELECT person, at, note, n, m, ms, '(2,2)', ARRAY['(2,2)'::odd.pair], s, f FROM hospital.facts;
	CREATE TABLE hospital.indexed AS TABLE hospital.facts; CREATE TABLE hospital.partial AS TABLE hospital.facts;
	CREATE TABLE hospital.measured AS TABLE hospital.facts; CREATE TABLE hospital.with_set AS TABLE hospital.facts;
	CREATE TABLE hospital.with_definer AS TABLE hospital.facts;
	CREATE TABLE hospital.listed (LIKE hospital.facts) PARTITION BY LIST (p);
	CREATE TABLE hospital.list1 PARTITION OF hospital.listed FOR VALUES IN ('(1,2)');
	CREATE TABLE hospital.list2 PARTITION OF hospital.listed FOR VALUES IN ('(2,2)');
	INSERT INTO hospital.listed TABLE hospital.facts;
	ANALYZE hospital.facts;
	CREATE FUNCTION hospital.small(n integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$ DECLARE v odd.small := n;
	BEGIN RETURN v; END $$;
	-- a function that asks for parallel workers, processes of their own
	CREATE FUNCTION hospital.parallel() RETURNS bigint LANGUAGE plpgsql STABLE SET max_parallel_workers_per_gather = 2
		SET parallel_setup_cost = 0 SET parallel_tuple_cost = 0 SET min_parallel_table_scan_size = 0
		SET parallel_leader_participation = off AS $$ BEGIN RETURN (SELECT count(*) FROM hospital.many WHERE hospital.small(n) = 1); END $$;
	CREATE TABLE hospital.many AS SELECT 1 AS n FROM generate_series(1, 2000); ANALYZE hospital.many;
	-- the owner's own functions, one of which the owner casts with; and one of a superuser's, which both owners call
	CREATE FUNCTION hospital.helper(note text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ DECLARE v text := note;
	BEGIN RAISE LOG 'MARK own as %', current_user; RETURN v; END $$;
	CREATE FUNCTION hospital.given(note text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN note; END $$;
	CREATE FUNCTION hospital.text_of(hospital.feeling) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ DECLARE v text;
	BEGIN RAISE LOG 'MARK own as %', current_user; v := $1::varchar; RETURN v; END $$;
	CREATE FUNCTION hospital.json_of(hospital.feeling) RETURNS json LANGUAGE plpgsql IMMUTABLE AS $$ DECLARE v text;
	BEGIN v := '"' || $1::varchar || '"'; RETURN v::json; END $$;
	CREATE CAST (hospital.feeling AS text) WITH FUNCTION hospital.text_of;
	CREATE CAST (hospital.feeling AS json) WITH FUNCTION hospital.json_of;
}, 'steward');

# Expressions of a view that PostgreSQL evaluates by functions, casts and comparisons of a type, which no query shows.
sql(q{CREATE FUNCTION hospital.try(query text) RETURNS text LANGUAGE plpgsql AS $$ DECLARE told text;
	BEGIN
		EXECUTE 'CREATE VIEW hospital.tried_dp AS ' || query;
		PERFORM public.dp_source_create('hospital.tried_dp', 'hospital.b', 'person', 'at', 'UTC', person_wise => true);
		RAISE EXCEPTION 'taken';
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS told = PG_EXCEPTION_DETAIL;
		RETURN coalesce(nullif(told, ''), SQLERRM);
	END $$}, 'steward');
sub tries { my ($query) = @_; return sql("SELECT hospital.try(\$try\$$query\$try\$)", 'steward') }
my %typed = map { ref $_ ? @$_ : ($_ => "SELECT person, at, ($_) IS NOT NULL AS event FROM hospital.facts") } (
	q{'x' || m}, q{to_json(m)}, q{to_jsonb(ms)}, q{row_to_json(ROW(m))}, q{to_jsonb(facts)}, q{json_build_array(m)}, q{m::text},
		q{ps = ps}, q{facts < facts}, q{facts IN (SELECT g FROM hospital.facts AS g)}, q{s @> p}, q{'glad'::odd.mood}, q{m},
	q{n::odd.small}, q{n::hospital.tiny}, q{ARRAY[n]::odd.small[]}, q{(note || n)::odd.small[]}, q{('(,' || n || ')')::hospital.tiny_row},
		q{note::odd.wide}, q{note::hospital.wide}, q{NULL::odd.pair}, q{(p).a}, q{ROW(n, n)::odd.pair},
	q{ARRAY[]::odd.pair[]}, q{hospital.to_small(n)}, q{n OPERATOR(hospital.@@@) n},
	q{jsonb_populate_record(NULL::hospital.tiny_row, to_jsonb(note))}, q{SELECT count(*) FROM jsonb_to_record(to_jsonb(note)) AS r(x odd.small)},
		q{SELECT count(*) FROM xmltable('/a' PASSING (note::xml) COLUMNS x odd.small PATH '.') AS x},
	(map { [ $_ => "SELECT person, at, $_ IS NOT NULL AS event FROM hospital.facts GROUP BY person, at" ] } 'json_agg(m)', 'hospital.smallest(n)',
		q{jsonb_object_agg(note, m)}, 'count(DISTINCT p)', 'array_agg(n ORDER BY p)', 'max(ps)'),
	(map { [ $_ => "SELECT person, at, true AS event FROM hospital.facts $_" ] } 'GROUP BY person, at, p', 'ORDER BY p LIMIT 2',
		'JOIN (SELECT ps FROM hospital.facts) AS g USING (ps)'),
	[ above => 'SELECT person, at, (c.*)::odd.parent IS NOT NULL AS event FROM hospital.child AS c' ],
	[ window => 'SELECT person, at, hospital.smallest(n) OVER () IS NOT NULL AS event FROM hospital.facts' ],
	[ ranked => 'SELECT person, at, rank() OVER (ORDER BY p) > 0 AS event FROM hospital.facts' ],
	[ union => 'SELECT person, at, event FROM (SELECT person, at, p, true AS event FROM hospital.facts UNION SELECT person, at, p,
		true FROM hospital.facts) AS u' ],
	$major >= 16 ? (q{JSON_OBJECT('k': m)}, q{JSON_ARRAY(m)}) : (),
	$major >= 17 ? (q{JSON_VALUE(note::jsonb, '$' RETURNING odd.small)}, q{JSON_QUERY(note::jsonb, '$' RETURNING hospital.tiny_row)}) : ());
sql(q{CREATE TYPE odd.wide AS RANGE (SUBTYPE = odd.small); CREATE TABLE odd.parent (person integer, at timestamp)}, 'stranger');
sql(q{CREATE DOMAIN hospital.tiny AS odd.small; CREATE TYPE hospital.tiny_row AS (x text, y hospital.tiny[]);
	CREATE TYPE hospital.wide AS RANGE (SUBTYPE = hospital.tiny);
	CREATE TABLE hospital.child (person integer, at timestamp);
	CREATE FUNCTION hospital.to_small(integer) RETURNS odd.small LANGUAGE sql IMMUTABLE AS 'SELECT $1';
	CREATE FUNCTION hospital.to_small(integer, integer) RETURNS odd.small LANGUAGE sql IMMUTABLE AS 'SELECT $1';
	CREATE OPERATOR hospital.@@@ (LEFTARG = integer, RIGHTARG = integer, FUNCTION = hospital.to_small);
	CREATE AGGREGATE hospital.smallest(integer) (SFUNC = int4smaller, STYPE = integer, FINALFUNC = hospital.to_small)}, 'steward');
sql('ALTER TABLE hospital.child INHERIT odd.parent');
like(tries($typed{$_}), qr/It uses type odd\.\w+(\[\])?, which belongs to another role than the view/, "refused: $_") for sort keys %typed;

# What no query shows: of variables in PL/pgSQL, of indexes, statistics and partitions of the owner's tables, of what the planner asks.
my %cases = (
	(map { $_ => "SELECT person, at, ($_) IS NOT NULL AS event FROM hospital.facts" } q{hospital.small(n)}, q{hospital.given(note)},
		q{hospital.parallel()}),
	(map { $_ => "SELECT person, at, true AS event FROM hospital.$_" } 'indexed', 'partial', 'measured', 'with_set', 'with_definer', 'listed'));
my %harmless = map { $_ => "SELECT person, at, ($_) IS NOT NULL AS event FROM hospital.facts" } q{format('%s', f)}, q{hospital.helper(note)},
	q{'x' || f}, q{to_jsonb(f)};
$harmless{aggregate} = 'SELECT person, at, jsonb_object_agg(note, f) IS NOT NULL AS event FROM hospital.facts GROUP BY person, at';
my @names = (sort(keys %cases), sort keys %harmless);
my %number = map { $names[$_] => 'v' . $_ } 0 .. $#names;
sql(join('', map { source($number{$_}, $cases{$_} // $harmless{$_}) } @names) . q{
	CREATE INDEX ON hospital.indexed ((n + odd.most('x'))); CREATE INDEX ON hospital.partial (n) WHERE n > odd.most('x');
	CREATE INDEX ON hospital.with_set ((n + odd.most_set('x'))); CREATE INDEX ON hospital.with_definer ((n + odd.most_definer('x')));
	CREATE STATISTICS hospital.most ON (n + odd.most('x')), at FROM hospital.measured;
}, 'steward');

# Then the stranger adds code to what is the stranger's, and the owner gives a function away.
sql(q{GRANT CREATE ON SCHEMA hospital TO stranger; ALTER FUNCTION hospital.given(text) OWNER TO stranger; SET ROLE stranger;
	CREATE OR REPLACE FUNCTION hospital.given(note text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
		BEGIN RAISE LOG 'MARK stranger as %', current_user; RETURN note; END $$;
	RESET ROLE; REVOKE CREATE ON SCHEMA hospital FROM stranger});
sql(marking('stranger', 'odd.small(integer) RETURNS boolean', '$1 < 10', 'IMMUTABLE PARALLEL SAFE') . q{
	ALTER DOMAIN odd.small ADD CHECK (odd.small(VALUE)) NOT VALID;
	ALTER FUNCTION odd.pair_cmp(odd.pair, odd.pair) SECURITY DEFINER; -- which the planner calls for partitions, by no expression
} . join('', map { qq{CREATE OR REPLACE FUNCTION odd.most$_->[0](text) RETURNS integer LANGUAGE plpgsql IMMUTABLE $_->[1] AS \$\$
		BEGIN RAISE LOG 'MARK stranger as %', current_user; RETURN 1000; END \$\$;} } [ '', '' ], [ '_set', 'SET exit_on_error = on' ],
	[ '_definer', 'SECURITY DEFINER' ]), 'stranger');
logged();
# The clock has compiled the owner's functions under a path of its own, in the session in which it ticks.
my $told = session('clock', $poison, q{SELECT hospital.helper('x'), hospital.text_of('glad'), hospital.json_of('glad')},
	'RESET search_path', 'CALL dp_tick()');
$log = slurp_file($node->logfile, $read);
is(marks(), 'clock as clock, own as clock, own as steward',
	'no code of a stranger, or of the clock, runs as anybody else; the owner\'s runs as the owner');
my %failed = map { $_ => 1 } $told =~ /WARNING:  hospital\.c_(v\d+): could not evaluate source/g;
is(join(' ', grep { !$failed{ $number{$_} } } sort keys %cases), '', 'a source fails that would run a stranger\'s');
unlike($log, qr/FATAL/, 'before a setting of a function ends the worker');
is(join(' ', grep { $failed{ $number{$_} } } sort keys %harmless), '', 'and no other');
unlike($told, qr/stranger|odd\.|belongs/, 'the clock does not learn why');
like(session('steward', qq{CALL dp_tick('hospital.c_$number{indexed}')}),
	qr/function odd\.most\(text\) belongs to another role than the source/, 'the owner does');
# What an owner sees who evaluates the views: each would run the stranger's code.
logged();
session('steward', map { ("DO \$do\$ BEGIN RAISE LOG 'CASE %', \$case\$$_\$case\$; END \$do\$",
	"SELECT * FROM hospital.$number{$_}") } sort keys %cases);
my %ran = map { /\A(.*)$/m => 1 } grep { /MARK stranger as/ } split /LOG:  CASE /, logged();
is(join(' ', grep { !$ran{$_} } sort keys %cases), '', 'in a session of the owner\'s, the stranger\'s code runs');

# What a query names of a stranger's is refused, with PostgreSQL's own functions alone, too: with the owner's rights they would do
# something. What roles have that could act as the owner is not.
sql(q{
	CREATE ROLE helper LOGIN; GRANT steward TO helper; CREATE SCHEMA helpers AUTHORIZATION helper; GRANT USAGE ON SCHEMA helpers TO PUBLIC;
	CREATE FOREIGN DATA WRAPPER none; GRANT USAGE ON FOREIGN DATA WRAPPER none TO stranger;
	CREATE SERVER none FOREIGN DATA WRAPPER none; GRANT USAGE ON FOREIGN SERVER none TO stranger, steward;
});
sql(q{
	CREATE TABLE odd.rows (person integer, at timestamp, t text); CREATE TABLE odd.other (LIKE odd.rows);
	CREATE VIEW odd.feed AS SELECT * FROM odd.rows; CREATE MATERIALIZED VIEW odd.stored AS SELECT * FROM odd.rows;
	CREATE FOREIGN TABLE odd.far (person integer, at timestamp) SERVER none;
	CREATE OPERATOR odd.=== (LEFTARG = text, RIGHTARG = text, PROCEDURE = texteq, NEGATOR = OPERATOR(odd.!==), RESTRICT = neqsel);
	CREATE OPERATOR odd.!== (LEFTARG = text, RIGHTARG = text, PROCEDURE = textne);
	CREATE DOMAIN odd.word AS text;
	CREATE SERVER of_stranger FOREIGN DATA WRAPPER none; GRANT USAGE ON FOREIGN SERVER of_stranger TO steward;
	GRANT SELECT ON ALL TABLES IN SCHEMA odd TO steward;
}, 'stranger');
sql(q{
	CREATE TABLE hospital.rows AS SELECT 1 AS person, timestamp '2024-01-01 12:00' AS at, 'x' AS t;
	CREATE TABLE hospital.tree (LIKE hospital.rows) PARTITION BY LIST (person);
	CREATE TABLE hospital.leaf PARTITION OF hospital.tree DEFAULT PARTITION BY LIST (person);
	CREATE TABLE hospital.leaf1 PARTITION OF hospital.leaf DEFAULT; CREATE TABLE hospital.heir () INHERITS (hospital.rows);
	CREATE FOREIGN TABLE hospital.far_stranger (person integer, at timestamp) SERVER of_stranger;
	CREATE TABLE hospital.worded (person integer, at timestamp, t odd.word); INSERT INTO hospital.worded TABLE hospital.rows;
}, 'steward');
sql(q{CREATE TABLE helpers.rows AS TABLE hospital.rows; GRANT SELECT ON helpers.rows TO steward}, 'helper');
sql(q{CREATE TABLE office.rows AS TABLE hospital.rows; GRANT SELECT ON office.rows TO steward}, 'chief');
my $refusal = sub
{
	my ($from, $before) = @_;
	return failure($node, 'BEGIN; ' . ($before // '') . "CREATE VIEW hospital.tried_too AS SELECT person, at FROM $from;
		SET ROLE steward; SELECT dp_source_create('hospital.tried_too', 'hospital.b', 'person', 'at', 'UTC', person_wise => true)",
		user => $before ? 'postgres' : 'steward', on_error_stop => 1);
};
for (
	[ 'table odd.rows', 'odd.rows' ], [ 'view odd.feed', 'odd.feed' ], [ 'materialized view odd.stored', 'odd.stored' ],
		[ 'foreign table odd.far', 'odd.far' ], [ 'server of_stranger', 'hospital.far_stranger' ],
		[ 'table odd.rows', 'helpers.rows WHERE EXISTS (SELECT FROM odd.rows)' ],
		[ 'table odd.rows', '(WITH q AS (SELECT * FROM odd.rows) SELECT * FROM q) AS s' ],
		[ 'table odd.other', '(TABLE hospital.rows UNION TABLE odd.other) AS s' ],
	map { [ $_->[0], "hospital.rows WHERE t $_->[1]" ] } [ 'operator odd.===(text,text)', q{OPERATOR(odd.===) 'x'} ],
		[ 'operator odd.===(text,text)', q{OPERATOR(odd.===) ANY ('{x}')} ], [ 'type odd.word', '::odd.word IS NOT NULL' ])
{
	my ($part, $from) = @$_;
	my $told = $refusal->($from);
	like($told, qr/DETAIL:  It uses \Q$part\E, which belongs to another role than the view/, "refused: $from");
	like($told, qr/HINT:  What that role writes would run with the rights of the view's owner/, 'with what to do');
}
for ([ 'leaf', 'tree' ], [ 'tree', 'leaf' ], [ 'tree', 'leaf1' ], [ 'tree', 'ONLY hospital.leaf1' ], [ 'heir', 'rows' ])
{
	my ($given, $read) = @$_;
	like($refusal->($read =~ /ONLY/ ? $read : "hospital.$read", "ALTER TABLE hospital.$given OWNER TO stranger; SET ROLE steward; "),
		qr/DETAIL:  It uses table hospital\.$given, which belongs/, "$read is refused with a stranger's $given");
}
sql(join('', map { source($_->[0], "SELECT person, at, true AS event FROM $_->[1]") . counter("later_$_->[0]", $_->[0]) }
	[ 'of_helper', 'helpers.rows' ], [ 'of_chief', 'office.rows' ], [ 'of_only', 'ONLY hospital.rows' ], [ 'of_tree', 'hospital.tree' ]), 'steward');
is(session('clock', "CALL dp_tick('hospital.c_$_')"), '', "$_ is ticked") for 'of_helper', 'of_chief', 'of_only', 'of_tree';

# The same holds in the owner's functions, and of what a stranger gets later.
my $why = sub { session('steward', "CALL dp_tick('hospital.$_[0]')") };
sql(q{
	CREATE FUNCTION hospital.count_of(text) RETURNS bigint LANGUAGE plpgsql STABLE AS $$ DECLARE n bigint;
		BEGIN EXECUTE 'SELECT count(*) FROM ' || $1 INTO n; RETURN n; END $$;
	CREATE FUNCTION hospital.fed() RETURNS SETOF integer LANGUAGE sql STABLE AS 'SELECT person FROM odd.rows';
	CREATE FUNCTION hospital.same(a text, b text) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT a OPERATOR(odd.===) b';
	CREATE FUNCTION hospital.word(a text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT a::odd.word';
	CREATE FUNCTION hospital.pair() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ DECLARE v odd.pair; BEGIN RETURN v IS NULL; END $$;
} . join('', map { source($_->[0], "SELECT person, at, $_->[1] AS event FROM hospital.rows") } [ 'of_fed', 'EXISTS (SELECT FROM hospital.fed())' ],
	[ 'of_text', q{hospital.count_of('odd.feed') = 0} ], [ 'of_same', q{NOT hospital.same(t, 'y')} ],
	[ 'of_word', q{hospital.word(t) = 'x'} ], [ 'of_pair', 'hospital.pair()' ]), 'steward');
my %part = (of_fed => 'table odd.rows', of_text => 'view odd.feed', of_same => 'operator odd.===(text,text)', of_word => 'type odd.word',
	of_pair => 'type odd.pair');
like($why->("c_$_"), qr/\Q$part{$_}\E belongs to another role than the source.*HINT:  If you trust that role/s,
	"nor may the owner's functions have $part{$_}") for sort keys %part;
sql(q{ALTER TABLE hospital.leaf1 OWNER TO stranger; GRANT SELECT ON hospital.leaf1 TO steward});
like($why->('later_of_tree'), qr/It uses table hospital\.leaf1, which belongs/, 'nor may a table that a stranger gets later be read');
like(session('clock', q{CALL dp_tick('hospital.later_of_tree')}), qr/\Apsql\S* ERROR:  could not evaluate source "\w+"\nHINT: [^\n]*\s*\z/,
	'the clock does not learn why');
sql('ALTER ROLE stranger NOINHERIT; GRANT steward TO stranger');
is(session('clock', q{CALL dp_tick('hospital.later_of_tree')}), '', 'until the owner trusts that role');
sql('REVOKE steward FROM stranger; ALTER TYPE hospital.feeling OWNER TO stranger');
sql(counter('later_of_type', $number{q{to_jsonb(f)}}), 'steward');
like($why->('later_of_type'), qr/It uses type hospital\.feeling, which belongs/, 'nor may a type');
sql('ALTER TYPE hospital.feeling OWNER TO steward');

# A check of a stranger's domain can run where no query shows it, as of a variable. It has no function of the stranger's, and those of
# PostgreSQL only read.
sql(q{CREATE FUNCTION hospital.word_of(t text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ DECLARE v odd.word := t;
		BEGIN RETURN true; END $$;}
	. source('tells', 'SELECT person, at, hospital.word_of(t) AS event FROM hospital.rows')
	. source('stored', 'SELECT person, at, true AS event FROM hospital.worded'), 'steward');
for my $does (q{pg_notify('loot', VALUE) IS NOT NULL}, q{query_to_xml('TABLE hospital.rows', true, true, '') IS NOT NULL},
	q{pg_get_viewdef('hospital.tells'::regclass) IS NULL}, q{pg_relation_is_updatable('odd.rows', false) IS NULL},
	q{pg_advisory_lock(7) IS NULL})
{
	sql("ALTER DOMAIN odd.word ADD CONSTRAINT c CHECK ($does) NOT VALID", 'stranger');
	my ($out, $errors);
	$node->psql('postgres', "LISTEN loot; CALL dp_tick('hospital.c_tells'); DO 'BEGIN PERFORM pg_sleep(0.2); END'; SELECT 1",
		stdout => \$out, stderr => \$errors, on_error_stop => 0, extra_params => [ '-U', 'clock' ]);
	is($out, 1, "a check that runs tells a stranger nothing: $does");
	like($errors, qr/ERROR:  could not evaluate source/, 'but that the tick fails');
	like($why->('c_tells'), qr/function \w+\([\w,]+\) cannot be called while a source is read/, 'and the owner why');
	sql('ALTER DOMAIN odd.word DROP CONSTRAINT c', 'stranger');
}
is(session('clock', q{CALL dp_tick('hospital.c_stored')}), '', 'columns that are not read have any type');
# While it plans, too, a worker calls nothing that does more than read.
sql(q{CREATE FUNCTION hospital.early(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM pg_sleep(0); RETURN $1; END $$;}
	. source('hasty', q{SELECT person, at, t = hospital.early('x') AS event FROM hospital.rows}), 'steward');
like($why->('c_hasty'), qr/function pg_sleep\(double precision\) cannot be called while a source is read/,
	'nor does the planner call such a function');

# A superuser's source runs as the superuser, and a clock gains nothing by it.
sql(q{
	SELECT dp_budget_create('office.b', 1e15);
	CREATE TYPE office.feeling AS ENUM ('sad', 'glad');
	CREATE TABLE office.facts AS SELECT 1 AS person, timestamp '2024-01-01 12:00' AS at, 'glad'::office.feeling AS f, 1 AS n;
	CREATE FUNCTION office.text_of(office.feeling) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ DECLARE v text;
	BEGIN RAISE LOG 'MARK own as % %', current_user, current_setting('is_superuser'); v := $1::varchar; RETURN v; END $$;
	CREATE CAST (office.feeling AS text) WITH FUNCTION office.text_of;
	CREATE FUNCTION office.small(n integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ DECLARE v odd.small := n; BEGIN RETURN v; END $$;
	CREATE FUNCTION office.tell() RETURNS boolean LANGUAGE plpgsql STABLE AS 'BEGIN RETURN hospital.tell(); END';
} . source('own', q{SELECT person, at, 'x' || f = 'xglad' AS event FROM office.facts}, schema => 'office')
	. source('odd', q{SELECT person, at, office.small(n) = n AS event FROM office.facts}, schema => 'office')
	. source('of_stewards', q{SELECT person, at, office.tell() AS event FROM office.facts}, schema => 'office'), 'chief');
sql(marking('clock', 'evil.rise() RETURNS boolean', q{(SELECT true FROM set_config('session_authorization', 'postgres', true))},
	'VOLATILE') . 'DROP DOMAIN evil.text; CREATE DOMAIN evil.text AS pg_catalog.text CHECK (evil.rise())', 'clock');
logged();
$told = session('clock', $poison, q{SELECT office.text_of('glad')}, 'RESET search_path',
	map { "CALL dp_tick('office.c_$_')" } 'own', 'odd', 'of_stewards');
$log = slurp_file($node->logfile, $read);
like($log, qr/MARK own as chief on/, 'a superuser\'s source runs as the superuser');
is(marks(), 'clock as clock, own as chief', 'and nobody else\'s code does');
is(() = $told =~ /could not evaluate source/g, 2, 'not that of other roles which own functions');
is(sql('SELECT count FROM office.c_own'), 1, 'what is left counts');

# --- messages
sql(q{CREATE FUNCTION hospital.talk(note text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
	BEGIN RAISE DEBUG 'debug %', note; RAISE INFO 'info %', note; RAISE NOTICE 'notice %', note; RAISE WARNING 'warning %', note;
	RAISE LOG 'log %', note; RETURN true; END $$;}
	. source('talks', 'SELECT person, at, hospital.talk(note) AS event FROM hospital.visits') . counter('talks_too', 'talks'), 'steward');
logged();
is(session('clock', 'SET client_min_messages = debug5', q{CALL dp_tick('hospital.c_talks')})
	=~ /\b(info|notice|warning|log|debug) flu/, '', 'no message of a view reaches another role');
is(join(' ', logged() =~ /(\w+) flu/g), 'log', 'nor the server\'s log, but what is for the log');
is(join(' ', session('steward', q{CALL dp_tick('hospital.talks_too')}) =~ /(\w+) flu/g), 'info notice warning',
	'they reach the owner who calls');
is(join(' ', sort(logged() =~ /(\w+) flu/g)), 'log warning', 'and the log, as by any statement of the owner\'s');

# --- reports: event triggers run as who calls, before the view's functions leave anything in the session
sql(q{
	CREATE SCHEMA traps AUTHORIZATION steward; GRANT USAGE ON SCHEMA traps TO PUBLIC;
	CREATE TABLE public.ddl (line pg_catalog.text); GRANT INSERT, SELECT ON ddl TO PUBLIC; ALTER TABLE ddl OWNER TO other;
	CREATE FUNCTION public.lines() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM public.ddl); END $$;
	CREATE FUNCTION public.log_line(words pg_catalog.text) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE line text := words; BEGIN INSERT INTO public.ddl VALUES (line); END $$;
	CREATE FUNCTION public.log_ddl() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM public.log_line(tg_tag), public.lines(); END $$;
	CREATE EVENT TRIGGER log_ddl ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION public.log_ddl();
});
sql(marking('own', 'traps.run() RETURNS boolean', 'true', 'STABLE') . q{
	CREATE DOMAIN traps.text AS pg_catalog.text CHECK (traps.run());
	CREATE FUNCTION traps.prepare() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
	BEGIN
		BEGIN
			PERFORM public.lines(); -- of a table of another role's, by a plan that the event trigger has made
			RAISE LOG 'MARK reader as %', current_user;
		EXCEPTION WHEN OTHERS THEN NULL;
		END;
		PERFORM public.put('search_path', 'traps, pg_catalog', true);
		PERFORM public.log_line('x'); -- compiles it
		RETURN true;
	EXCEPTION WHEN OTHERS THEN RETURN true;
	END $$;
	CREATE VIEW hospital.trapped AS SELECT person, at, traps.prepare() AS event, 'a'::pg_catalog.text AS code FROM hospital.visits;
	SELECT dp_source_create('hospital.trapped', 'hospital.b', 'person', 'at', 'UTC', person_wise => true);
	CREATE TABLE hospital.codes AS SELECT 'a'::pg_catalog.text AS code;
}, 'steward');
logged();
for my $report (q{contributions('hospital.trapped', 'public.r1', 1, event => 'event')},
	q{suggest('hospital.trapped', 'public.r2', 1, 1, '1 day', event => 'event', since => '2024-01-01', until => '2024-02-01')},
	q{groups('hospital.trapped', 'public.r3', 1, 'code', event => 'event', groups_from => 'hospital.codes', groups_column => 'code')})
{
	is(session('chief', "CALL dp_source_$report"), '', 'a report by a superuser');
	is(marks(), '', 'whose event trigger runs nothing of the view\'s owner');
}
is(sql('SELECT count(*) FROM public.ddl'), 3, 'it has run of each report');
sql('DROP EVENT TRIGGER log_ddl');

# --- groups of a type: who reads them runs no cast that its owner has made
sql(q{CREATE TYPE traps.mood AS ENUM ('sad', 'ok');} . marking('own', 'traps.told(mood traps.mood) RETURNS pg_catalog.text', q{'x'}) . q{
	CREATE CAST (traps.mood AS pg_catalog.text) WITH FUNCTION traps.told(traps.mood);
	CREATE VIEW hospital.moods AS SELECT person, at, 'sad'::traps.mood AS mood, 1 AS cents FROM hospital.visits;
	SELECT dp_source_create('hospital.moods', 'hospital.b', 'person', 'at', 'UTC');
	CREATE TABLE hospital.mood_list AS SELECT unnest(enum_range(NULL::traps.mood)) AS mood;
	SELECT dp_counter_create('hospital.by_mood', 'hospital.moods', 1e9, '1 day', '2024-01-01', 1, per_person => 1, by => 'mood',
		groups_from => 'hospital.mood_list', groups_column => 'mood', cumulative => false, histogram => 'cents', bins => '{0,2}');
}, 'steward');
session('chief', q{CALL dp_tick('hospital.by_mood')});
is(sql(q{SELECT string_agg(concat_ws(' ', group_value, bin, count), ', ' ORDER BY group_value, bin)
	FROM dp_counter_changes('hospital.by_mood', 1)}, 'chief'), 'ok 0 0, ok 2 0, sad 0 1, sad 2 0', 'changes by group');
is(sql(q{SELECT count(*) FROM dp_counter_quantiles('hospital.by_mood', '{0.5}')}, 'chief'), 2, 'quantiles');
is(session('chief', q{CALL dp_source_groups('hospital.moods', 'public.r4', 1e9, 'mood', groups_from => 'hospital.mood_list',
	groups_column => 'mood')}), '', 'which groups there are');
is(sql('SELECT value FROM public.r4', 'chief'), 'sad', 'are found');
SKIP: {
	skip 'no gnuplot', 1 if system('command -v gnuplot >/dev/null') != 0;
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	my @plot = ("$FindBin::RealBin/../tools/plot", '-U', 'chief', '-d', 'postgres');
	command_like([ @plot, '-q', '0.5', 'hospital.by_mood' ], qr/sad/, 'a chart');
}
is(marks(), '', 'no cast of its owner has run');

# --- foreign tables
my ($host, $port) = ($node->host, $node->port);
sql(qq{
	CREATE ROLE remote LOGIN;
	CREATE VIEW public.slow AS SELECT 'p' AS person, timestamp '2024-01-01 12:00' AS at, pg_sleep(600) IS NULL AS event;
	GRANT SELECT ON slow TO remote;
	CREATE VIEW public.fast AS SELECT 'p'::pg_catalog.text AS person, timestamp '2024-01-01 12:00' AS at,
		'flu'::pg_catalog.text AS note; GRANT SELECT ON fast TO remote;
	CREATE SERVER loop FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
	GRANT USAGE ON FOREIGN SERVER loop TO steward;
	CREATE USER MAPPING FOR steward SERVER loop OPTIONS (user 'remote', password_required 'false');
});
sql(q{
	CREATE DOMAIN hospital.key AS text CHECK (hospital.helper(VALUE) IS NOT NULL);
	CREATE FOREIGN TABLE hospital.far_slow (person text, at timestamp, event boolean) SERVER loop OPTIONS (schema_name 'public',
		table_name 'slow');
	CREATE FOREIGN TABLE hospital.far (person text, at timestamp, note hospital.key) SERVER loop OPTIONS (schema_name 'public',
		table_name 'fast');
} . source('remote', 'SELECT person, at, note IS NOT NULL AS event FROM hospital.far')
	. source('remote_slow', 'SELECT * FROM hospital.far_slow'), 'steward');
logged();
is(session('clock', q{CALL dp_tick('hospital.c_remote')}), '', 'a foreign table is read');
is(sql('SELECT count FROM hospital.c_remote'), 1, 'and counted');
is(marks(), 'own as steward', 'its owner\'s domain is checked');
sql(q{ALTER ROLE remote SET statement_timeout = '1s'});
like(session('clock', q{CALL dp_tick('hospital.c_remote_slow')}),
	qr/\Apsql\S* ERROR:  could not evaluate source "\w+"\nHINT: [^\n]*\s*\z/, 'a timeout there tells no context');
like(session('steward', q{CALL dp_tick('hospital.c_remote_slow')}), qr/CONTEXT:  remote SQL command/, 'which its owner sees');
$node->stop;
done_testing();
