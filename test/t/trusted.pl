# The extension is trusted: whoever may create in a database installs, uses, updates, repairs and drops it there, without a
# superuser; what is in it belongs to the superuser still, and its secrets stay closed to the extension's owner.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('trusted');
$node->init;
$node->start;
$node->safe_psql('postgres', $_) for 'CREATE ROLE curator LOGIN', 'CREATE ROLE stranger LOGIN', 'CREATE DATABASE hospital OWNER curator';

sub as { my ($role, $sql) = @_; return $node->safe_psql('hospital', $sql, extra_params => [ '-U', $role ]); }

sub refused
{
	my ($role, $sql) = @_;
	my $stderr;
	$node->psql('hospital', "\\set VERBOSITY sqlstate\n$sql", stderr => \$stderr, extra_params => [ '-U', $role ]);
	return like($stderr, qr/42501/, "$role may not: $sql");
}

# --- installed by the database's owner
refused('stranger', 'CREATE EXTENSION dp_counter');
as('curator', 'CREATE EXTENSION dp_counter');
is(as('curator', q{SELECT extowner::regrole FROM pg_extension WHERE extname = 'dp_counter'}), 'curator', 'curator owns the extension');
is(as('curator', q{
	SELECT string_agg(DISTINCT owner::regrole::text, ' ') FROM (
		SELECT proowner AS owner, classid FROM pg_depend JOIN pg_proc p ON classid = 'pg_proc'::regclass AND objid = p.oid
			WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'dp_counter') AND deptype = 'e'
		UNION SELECT relowner, classid FROM pg_depend JOIN pg_class c ON classid = 'pg_class'::regclass AND objid = c.oid
			WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'dp_counter') AND deptype = 'e'
		UNION SELECT nspowner, 0 FROM pg_namespace WHERE nspname = 'dp_counter_private'
		UNION SELECT evtowner, 0 FROM pg_event_trigger) AS owners}),
	$node->safe_psql('hospital', 'SELECT current_user'), 'a superuser owns all that is in it');

# --- dumped and restored by the same role, as long as nobody has made a counter or a budget
my $connection = $node->connstr('hospital') . ' user=curator';
sub dumps_and_restores
{
	my ($name) = @_;
	my $file = $node->basedir . '/empty.sql';
	command_ok([ 'pg_dump', '-d', $connection, '-f', $file ], "the owner of the database dumps it $name");
	$node->safe_psql('postgres', 'CREATE DATABASE empty OWNER curator');
	command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $file, '-d', $node->connstr('empty') . ' user=curator' ],
		'... and restores it');
	$node->safe_psql('postgres', 'DROP DATABASE empty');
	return;
}
as('curator', 'CREATE TABLE staff AS SELECT 1 AS id');
dumps_and_restores('without counters');
as('curator', q{BEGIN; SELECT dp_budget_create('b', 1); SELECT dp_event_counter_create('c', 1); ROLLBACK});
dumps_and_restores('after a first counter that was rolled back');

# --- used: nobody in it is a superuser
$node->psql('hospital', q{SELECT dp_event_counter_create('er_flu', 1e9, 1000); SELECT dp_event_counter_create('other', 1e9)},
	stderr => \my $told, extra_params => [ '-U', 'curator' ]);
is(() = $told =~ /NOTICE:  from now on pg_dump of database "hospital" needs a superuser.*\nHINT: .* pg_dump -N dp_counter_private/g,
	1, 'the first counter tells its owner once how to dump');
as('curator', q{SELECT dp_counter_record('er_flu', 3)});
as('curator', q{CALL dp_tick('er_flu')});
as('curator', q{GRANT SELECT ON er_flu TO stranger});
is(as('stranger', 'SELECT step, count FROM er_flu'), '1|3', 'a counter lives');
as('curator', q{
	CREATE TABLE arrivals AS SELECT 'p' || p AS person, date '2024-01-01' + p AS day FROM generate_series(0, 9) AS p;
	CREATE VIEW arrivals_dp AS SELECT person, day FROM arrivals;
	SELECT dp_budget_create('arrivals_epsilon', 2e9);
	SELECT dp_source_create('arrivals_dp', 'arrivals_epsilon', 'person', 'day');
	SELECT dp_counter_create('arrivals_by_day', epsilon => 1e9, horizon => 10, source => 'arrivals_dp', every => '1 day',
		since => '2024-01-01', per_person => 1)});
as('curator', q{CALL dp_tick('arrivals_dp')});
is(as('curator', 'SELECT max(count) FROM arrivals_by_day'), 10, 'so does one over a source');
as('curator', 'DROP VIEW arrivals_by_day');
as('curator', 'DROP VIEW other');
is($node->safe_psql('hospital', 'SELECT count(*) FROM dp_counter_private.counters'), 1, 'and ends with its view');

# --- the secrets are not the owner's of the extension
refused('curator', $_) for
	'TABLE dp_counter_private.counters', 'TABLE dp_counter_private.events', 'TABLE dp_counter_private.releases',
	'GRANT USAGE ON SCHEMA dp_counter_private TO curator',
	'ALTER EXTENSION dp_counter DROP TABLE dp_counter_private.counters',
	'ALTER EVENT TRIGGER dp_counter_dropped DISABLE',
	'ALTER FUNCTION dp_repair() SECURITY DEFINER',
	q{UPDATE pg_proc SET provolatile = 'i' WHERE proname = 'dp_count'};

# --- repaired: by the owner of the extension and its members, and by a superuser
my $lose = q{UPDATE pg_proc SET provolatile = 'i' WHERE proname IN ('dp_count', 'dp_running_count')};
my $lost = $node->safe_psql('hospital', q{SELECT count(*) FROM pg_proc WHERE proname IN ('dp_count', 'dp_running_count')});
$node->safe_psql('hospital', $lose);
refused('stranger', 'SELECT dp_repair()');
is(as('curator', 'SELECT dp_repair(); SELECT dp_repair(); SELECT dp_count(true, 1e9)'), "$lost\n0\n1", 'the owner repairs');
$node->safe_psql('hospital', $lose);
is($node->safe_psql('hospital', 'SELECT dp_repair()'), $lost, 'so does a superuser');
$node->safe_psql('hospital', "GRANT curator TO stranger; $lose");
is(as('stranger', 'SELECT dp_repair()'), $lost, 'and a member of the owner');
$node->safe_psql('hospital', 'REVOKE curator FROM stranger');

# --- a dump has to leave the secrets out
command_fails([ 'pg_dump', '-d', $connection, '-f', $node->basedir . '/all.sql' ], 'the owner of the database does not dump the secrets');
command_ok([ 'pg_dump', '-N', 'dp_counter_private', '-d', $connection, '-f', $node->basedir . '/rest.sql' ], 'but all the rest');
unlike(slurp_file($node->basedir . '/rest.sql'), qr/COPY dp_counter_private|setval/, 'which has none');
my @restore = ('psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $node->basedir . '/rest.sql', '-d');
$node->safe_psql('postgres', "CREATE DATABASE $_ OWNER curator") for 'by_curator', 'by_superuser';
command_fails_like([ @restore, $node->connstr('by_curator') . ' user=curator' ],
	qr/permission denied for schema dp_counter_private/, 'he does not restore it');
command_ok([ @restore, $node->connstr('by_superuser') ], 'a superuser does');

# --- updated and dropped
for my $roles ('curator', 'stranger, CURRENT_USER CASCADE')
{
	like(failure($node, "DROP OWNED BY $roles", user => 'curator', database => 'hospital'),
		qr/cannot drop what role "curator" owns: it owns extension dp_counter.*HINT: /s, "DROP OWNED BY $roles drops no extension");
}
$node->safe_psql('postgres', 'CREATE DATABASE ward; CREATE ROLE landlord');
$node->safe_psql('ward', 'CREATE SCHEMA house AUTHORIZATION landlord; CREATE EXTENSION dp_counter SCHEMA house');
like(failure($node, 'DROP OWNED BY landlord CASCADE', database => 'ward'), qr/cannot drop what role "landlord" owns/,
	'nor does that of who owns its schema');
$node->safe_psql('hospital', 'BEGIN; REASSIGN OWNED BY curator TO CURRENT_USER; DROP OWNED BY curator, stranger; ROLLBACK');
is(as('curator', q{ALTER EXTENSION dp_counter UPDATE; SELECT count(*) FROM er_flu}), 1, 'the owner updates it');
refused('stranger', 'DROP EXTENSION dp_counter CASCADE');
as('curator', 'DROP EXTENSION dp_counter CASCADE');
is($node->safe_psql('hospital', q{SELECT count(*) FROM pg_namespace WHERE nspname = 'dp_counter_private'}), 0, 'and drops it');

# --- dropped in the middle of a transaction: what its owner makes in its place is not read
as('curator', q{
	CREATE EXTENSION dp_counter;
	CREATE VIEW v AS SELECT 1 AS a;
	SELECT dp_event_counter_create('c', 1.0);
	CREATE FUNCTION gone() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN DROP EXTENSION dp_counter CASCADE; RETURN 1; END $$;
	CREATE FUNCTION forge(columns text) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN
		PERFORM gone();
		CREATE SCHEMA dp_counter_private;
		EXECUTE 'CREATE TABLE dp_counter_private.counters (number bigint CONSTRAINT counters_pkey PRIMARY KEY, counter oid, ' || columns || ')';
		CREATE VIEW dp_counter_private.published AS SELECT 1::bigint AS number;
		CREATE VIEW dp_counter_private.spendings AS SELECT 1::bigint AS number;
		CREATE OR REPLACE VIEW v AS SELECT 1 AS a FROM dp_counter_private.published WHERE number = 1::bigint;
		INSERT INTO dp_counter_private.counters (number, counter) VALUES (1, 'v'::regclass);
		EXECUTE 'CREATE TABLE dp_counter_private.events (number bigint, slot integer, head boolean DEFAULT false, total bigint DEFAULT 0, carries bigint DEFAULT 0, tail boolean DEFAULT false)';
		CREATE INDEX events_number_slot_idx ON dp_counter_private.events (number, slot);
		INSERT INTO dp_counter_private.events (number, slot) SELECT 1, i FROM generate_series(0, 63) AS i;
		RETURN 1;
	END $$});
my $many = q{(SELECT string_agg('c' || i || ' bigint DEFAULT 4702111234474983745', ', ') FROM generate_series(2, 1000) AS i)};
my $forged = qr/table dp_counter_private\.\w+ must be owned by a superuser/;
for my $case (
	[ "SELECT forge($many), dp_counter_record('v'::regclass, 1)", $forged ],
	[ q{SELECT gone(), dp_counter_record('v'::regclass, 1)}, qr/table dp_counter_private\.\w+ does not exist/ ],
	[ q{SELECT gone(), dp_event_counter_create('x', 1.0)}, qr/the function was dropped meanwhile/ ],
  )
{
	my ($sql, $error) = @$case;
	like(failure($node, $sql, user => 'curator', database => 'hospital'), $error, $sql);
}
as('curator', 'DROP EXTENSION dp_counter CASCADE');

# --- without the library no DROP works, but that of the extension: said in docs/operations.md
as('curator', q{CREATE EXTENSION dp_counter; CREATE TABLE visits ()});
$node->safe_psql('hospital', q{UPDATE pg_proc SET probin = '$libdir/removed' WHERE probin = '$libdir/dp_counter'}); # as if it were gone
my $stderr;
$node->psql('hospital', 'DROP TABLE visits', stderr => \$stderr);
like($stderr, qr{could not access file "(\$libdir/)?removed"}, 'no DROP without the library');
as('curator', q{DROP EXTENSION dp_counter; DROP TABLE visits});
is(as('curator', q{SELECT count(*) FROM pg_class WHERE relname = 'visits'}), 0, 'but that of the extension, and then all');
done_testing();
