# Analysts' counters where a server is needed: crashes before and after the mark of a tick that reads, code of the analyst's that
# a superuser's event trigger would run as the owner of the source, and dumps.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('analysts', conf => "fsync = on\n");
sub sql { my ($sql, $user) = @_; return $node->safe_psql('postgres', $sql, $user ? (extra_params => [ '-U', $user ]) : ()); }

sql(q{
	CREATE ROLE steward LOGIN; CREATE ROLE ana LOGIN; CREATE ROLE clock LOGIN;
	CREATE SCHEMA clinic AUTHORIZATION steward; CREATE SCHEMA counted;
	GRANT USAGE ON SCHEMA clinic, counted TO PUBLIC; GRANT CREATE ON SCHEMA counted TO steward, ana;
	CREATE TABLE filler (); -- so that OIDs differ after a restore
});
sql(q{
	CREATE TABLE clinic.visits AS SELECT n AS patient, date '2024-01-01' AS at, n % 2 = 0 AS flu FROM generate_series(1, 20) AS n;
	CREATE VIEW clinic.visits_dp AS SELECT * FROM clinic.visits;
	SELECT dp_budget_create('clinic.patients', 1e10);
	SELECT dp_budget_create('clinic.research', 5e9, within => 'clinic.patients');
	SELECT dp_source_create('clinic.visits_dp', 'clinic.patients', 'patient', 'at', 'UTC');
	GRANT REFERENCES (flu) ON clinic.visits_dp TO ana;
	GRANT INSERT ON clinic.research TO ana;
	ALTER DEFAULT PRIVILEGES IN SCHEMA counted GRANT UPDATE ON TABLES TO clock;
}, 'steward');
sub declaration { return "SELECT dp_counter_create('counted.$_[0]', 'clinic.visits_dp', 1e8, '1 day', '2024-01-01', horizon => 1,
	event => 'flu', budget => 'clinic.research', per_person => 1)"; }
sub declare { return sql(declaration($_[0]), 'ana'); }
my $marks = q{SELECT counter, analyst, begun FROM dp_counter_private.source_counters JOIN dp_counter_private.counters
	USING (number) ORDER BY counter::text};
my $ledger = q{SELECT purpose, role FROM clinic.research WHERE refunded_at IS NULL ORDER BY purpose};

# --- a crash while a tick waits: before it has stored the mark, and after that, before it has read a row
declare($_) for qw(before after);
sub crash_while
{
	my ($counter, $lock, $is_waiting) = @_;
	my $gate = $node->background_psql('postgres');
	$gate->query_safe("BEGIN; LOCK TABLE $lock MODE");
	my $tick = start_program($node->basedir . "/$counter.out", 'psql', '-X', '-d', $node->connstr('postgres') . ' user=clock',
		'-c', "CALL dp_tick('counted.$counter')");
	$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE NOT granted AND relation = '}
		. (split ' ', $lock)[0] . q{'::regclass}) or die 'no tick waits';
	is(sql("SELECT begun FROM dp_counter_private.source_counters
		WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter = 'counted.$counter'::regclass)"),
			$is_waiting, "while the tick waits for $lock");
	$node->stop('immediate');
	eval { $gate->quit };
	$tick->finish;
	$node->start;
	return;
}
crash_while('before', 'dp_counter_private.source_counters IN SHARE', 'f');
crash_while('after', 'dp_counter_private.tallies IN ACCESS EXCLUSIVE', 't'); # which it opens before it reads
is(sql($marks), "counted.after|t|t\ncounted.before|t|f", 'the mark outlives the crash, and is not made before');
like(failure($node, q{SELECT dp_counter_drop('counted.after')}, user => 'ana'), qr/must be owner of view after/,
	'what may have been read is not taken back');
sql(q{SELECT dp_counter_drop('counted.before')}, 'ana');
is(sql($ledger), 'counted.after|ana', 'what was not read is');
sql(q{SELECT dp_counter_drop('counted.after')}, 'steward');
is(sql($ledger), 'counted.after|ana', 'its owner gets no refund for it either');

# --- an event trigger whose function names what the session can put in its way
sql(q{
	CREATE TABLE public.ran (who name, what text); GRANT INSERT, SELECT ON public.ran TO PUBLIC;
	CREATE TABLE counted.log (tag text); GRANT INSERT ON counted.log TO PUBLIC;
	CREATE FUNCTION public.audit() RETURNS event_trigger LANGUAGE plpgsql AS $$
	DECLARE tag text := tg_tag; -- of the type text that is first in the search path of the session's first DDL
	BEGIN
		IF to_regclass('log') IS NOT NULL THEN INSERT INTO log VALUES (upper(tag) || current_user); END IF;
	END $$;
	CREATE EVENT TRIGGER audit_start ON ddl_command_start EXECUTE FUNCTION public.audit();
	CREATE EVENT TRIGGER audit_end ON ddl_command_end EXECUTE FUNCTION public.audit();
	CREATE EVENT TRIGGER audit_drop ON sql_drop EXECUTE FUNCTION public.audit();
	CREATE SCHEMA evil AUTHORIZATION ana; GRANT CREATE ON SCHEMA evil TO steward; GRANT USAGE ON SCHEMA evil TO PUBLIC;
});
sql(q{
	CREATE FUNCTION evil.upper(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.ran
		VALUES (current_user, 'upper'); RETURN $1; END $$;
	CREATE FUNCTION evil.concat(text, name) RETURNS text LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.ran
		VALUES (current_user, '||'); RETURN $1; END $$;
	CREATE OPERATOR evil.|| (LEFTARG = text, RIGHTARG = name, FUNCTION = evil.concat);
	CREATE FUNCTION evil.on_log() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.ran
		VALUES (current_user, 'trigger'); RETURN NEW; END $$;
	CREATE TABLE evil.log (tag text);
	CREATE TRIGGER on_log BEFORE INSERT ON evil.log FOR EACH ROW EXECUTE FUNCTION evil.on_log();
	GRANT INSERT ON evil.log TO PUBLIC;
	CREATE FUNCTION evil.seen(text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.ran
		VALUES (current_user, 'domain'); RETURN true; END $$;
	CREATE DOMAIN evil.text AS text CHECK (evil.seen(VALUE));
}, 'ana');
my $ran = q{SELECT coalesce(string_agg(DISTINCT who || ': ' || what, ', ' ORDER BY who || ': ' || what), 'nothing') FROM public.ran
	WHERE who <> 'ana'};
my $path = q{SET search_path = evil, pg_catalog, public; };
my $statement = 'CREATE VIEW evil.of_ana AS SELECT 1 AS n; DROP VIEW evil.of_ana; ';
is(failure($node, $path . $statement, user => 'ana'), '', 'a statement of the analyst\'s');
is(sql(q{SELECT string_agg(DISTINCT what, ' ' ORDER BY what) FROM public.ran WHERE who = 'ana'}), 'domain trigger upper ||',
	'runs, by the event trigger, the analyst\'s code as the analyst');
my $temporary = q{CREATE TEMP TABLE log (tag text);
CREATE TRIGGER on_log BEFORE INSERT ON log FOR EACH ROW EXECUTE FUNCTION evil.on_log(); GRANT INSERT ON log TO PUBLIC; };
for my $first ('', $path, $path . $statement, $temporary, $path . $temporary)
{
	is(failure($node, $first . declaration('hostile') . q{; SELECT dp_counter_drop('counted.hostile')}, user => 'ana'), '',
		"a counter is declared and taken back after: $first");
	is(sql($ran), 'nothing', 'which runs nothing of the analyst\'s as the steward');
}
is(failure($node, declaration('hostile'), user => 'ana') . failure($node, q{SELECT dp_counter_drop('counted.hostile')},
	user => 'steward'), '', 'a counter that the steward drops');
is(sql($ran), 'nothing', 'nothing either');
declare('declared');
sql('DROP EVENT TRIGGER audit_start; DROP EVENT TRIGGER audit_end; DROP EVENT TRIGGER audit_drop');

# --- dumps keep who declared, whether a tick has begun, the charges, and the privileges, those on columns too
declare($_) for qw(begun ticked);
sql('REVOKE SELECT ON clinic.visits FROM steward', 'steward');
like(failure($node, q{CALL dp_tick('counted.begun')}, user => 'clock'), qr/could not evaluate source/, 'a tick that fails');
sql('GRANT SELECT ON clinic.visits TO steward', 'steward');
sql(q{CALL dp_tick('counted.ticked')}, 'clock');
sql('DROP TABLE filler');
my $all = "$marks; $ledger; " . q{
	SELECT relname, pg_get_userbyid(relowner), pg_get_userbyid(grantee), privilege_type FROM pg_class, aclexplode(relacl)
		WHERE relnamespace = 'counted'::regnamespace AND relkind = 'v' AND grantee <> relowner ORDER BY 1, 3;
	SELECT attname, attacl FROM pg_attribute WHERE attrelid = 'clinic.visits_dp'::regclass AND attacl IS NOT NULL;
	SELECT * FROM counted.ticked};
my $state = sql($all);
like($state, qr/^counted\.begun\|t\|t\ncounted\.declared\|t\|f\ncounted\.ticked\|t\|t\n/, 'before');
my $dump = $node->basedir . '/dump.sql';
command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-f', $dump ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', $dump ], 'restored');
is($node->safe_psql('restored', $all), $state, 'all is kept');
my %in = (database => 'restored', user => 'ana');
like(failure($node, q{SELECT dp_counter_drop('counted.begun')}, %in), qr/must be owner of view begun/,
	'what may have been read is not taken back there');
like(failure($node, q{SELECT dp_counter_drop('counted.declared')}, %in), qr/must be owner of view declared/,
	'nor in a copy what was not: the original may have read for it');
$node->safe_psql('restored', q{SELECT dp_counter_resume('counted.declared')});
is(failure($node, q{SELECT dp_counter_drop('counted.declared')}, %in), '', 'until its owner says that it has not');
is(failure($node, declaration('another'), %in), '', 'and the analyst declares another one');
like(failure($node, declaration('more') =~ s/'flu'/'patient'/r, %in), qr/permission denied for view visits_dp/, 'with what was granted');
like(failure($node, q{SELECT dp_counter_resume('counted.begun')}, %in), qr/must be owner of view begun/,
	'to go on in a copy is for the owner of the source to say');
$node->safe_psql('restored', q{SELECT dp_counter_resume('counted.begun')});
is(failure($node, q{CALL dp_tick('counted.begun')}, database => 'restored', user => 'clock'), '', 'the clock goes on');
is($node->safe_psql('restored', 'SELECT count FROM counted.begun'), 10, 'with the counter that has begun');

# --- one whose first tick failed is not refunded, for the tick may have read all until now; but it is not charged for ever
sql(q{
	CREATE VIEW clinic.yearly_dp AS SELECT * FROM clinic.visits;
	SELECT dp_budget_create('clinic.yearly', 1e9, per => '365 days');
	SELECT dp_source_create('clinic.yearly_dp', 'clinic.yearly', 'patient', 'at', 'UTC');
	GRANT REFERENCES (flu) ON clinic.yearly_dp TO ana; GRANT INSERT ON clinic.yearly TO ana;
}, 'steward');
sql(q{SELECT dp_counter_create('counted.yearly', 'clinic.yearly_dp', 1e9, '1 day', '2025-01-01', event => 'flu', per_person => 1)}, 'ana');
sql('REVOKE SELECT ON clinic.visits FROM steward', 'steward');
like(failure($node, q{CALL dp_tick('counted.yearly')}, user => 'clock'), qr/could not evaluate source/, 'a tick that fails');
sql(q{SELECT dp_counter_drop('counted.yearly')}, 'steward');
is(sql(q{SELECT dp_budget_left('clinic.yearly', CURRENT_DATE, CURRENT_DATE + 1), dp_budget_left('clinic.yearly', CURRENT_DATE + 400)},
	'steward'), '0|1000000000', 'the budget is free again when the windows of today are over');
done_testing();
