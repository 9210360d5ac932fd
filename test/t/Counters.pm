# A server that answers safe_psql in one session, for as long as the database is the same and unless it is_fresh: to start psql
# takes longer than most of what is asked. The session begins anew after each script, and ends before the server does.
package Counters::Node;

use strict;
use warnings;
use PostgreSQL::Test::Cluster;
our @ISA = ('PostgreSQL::Test::Cluster');

sub safe_psql
{
	my ($self, $database, $sql, %options) = @_;
	return $self->SUPER::safe_psql($database, $sql, %options) if %options || $self->{is_fresh};
	$self->end_session if ($self->{session_in} // '') ne $database;
	for (1, 2)
	{
		my $was_open = $self->{session};
		my $session = $self->{session} //= $self->background_psql($database);
		$self->{session_in} = $database;
		$session->{stderr} = '';
		$session->set_query_timer_restart;
		no warnings 'redefine';
		local *PostgreSQL::Test::BackgroundPsql::note = sub { }; # else each query and answer is in the output
		local *PostgreSQL::Test::BackgroundPsql::explain = sub { };
		my $answer = eval { $session->query("$sql\n;\nDISCARD ALL;\n\\echo end") };
		# Some versions take the last newline, and some answer for a psql that has ended, too.
		return $answer if defined $answer && $answer =~ s/\n?end\n?\z//;
		my $error = $session->{stderr};
		$self->end_session;
		next if $was_open && $error !~ /ERROR:/; # its connection had gone, long before this script
		die "error running SQL: '$error'\nwith sql '$sql'";
	}
}

sub end_session
{
	my ($self) = @_;
	my $session = delete $self->{session} or return;
	eval { $session->quit }; # dies where psql is gone already
}

for my $name (qw(stop restart kill9 teardown_node clean_node))
{
	no strict 'refs';
	*$name = sub { my $self = shift; $self->end_session; my $how = "SUPER::$name"; $self->$how(@_) };
}

# What the TAP tests share.
package Counters;

use strict;
use warnings;
use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::Builder;
use Test::More;
use Time::HiRes qw(sleep);

our @EXPORT = qw(new_node resume_all failure releases is_gapless still_running start_program all_reported kill_one unguarded_functions);

# A test hangs where it has shown nothing for so many seconds, more where others have the processors: it dies there, and
# says where. A loop that takes long says still_running. TAP_PATIENCE is for many more rows.
{
	my $patience;
	my ($processors) = grep { /\A\d+\Z/ } `nproc 2>/dev/null`, 1;
	sub still_running
	{
		my ($load) = -r '/proc/loadavg' ? split(' ', slurp_file('/proc/loadavg')) : 0;
		$patience = int(($ENV{TAP_PATIENCE} // 120) * ($load > $processors ? $load / $processors : 1));
		alarm $patience;
	}
	my $shown = \&Test::Builder::ok;
	no warnings 'redefine';
	*Test::Builder::ok = sub { still_running(); goto &$shown };
	$SIG{ALRM} = sub { alarm 5; die "it hangs: no result for $patience seconds" }; # again, if an eval catches it
	still_running();
}

# A running server with the extension in database postgres; if it is_fresh, each safe_psql has a session of its own. All have the
# same system identifier, but for one that is `elsewhere`.
sub new_node
{
	my ($name, %options) = @_;
	my $node = Counters::Node->new($name, $options{install_path} ? (install_path => $options{install_path}) : ());
	my $extra = $options{initdb} // ($options{elsewhere} ? ['--no-sync'] : undef);
	$node->init(($extra ? (extra => $extra) : ()), allows_streaming => $options{allows_streaming} // 0);
	$node->{is_fresh} = $options{is_fresh};
	$node->append_conf('postgresql.conf', "max_prepared_transactions = 10\n" . ($options{conf} // ''));
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION dp_counter');
	return $node;
}

# What its owner calls in a copy of a database, for all counters.
sub resume_all
{
	my ($node, $database) = @_;
	return $node->safe_psql($database // 'postgres', 'SELECT dp_counter_resume(counter) FROM dp_counters WHERE ended_at IS NULL');
}

# The error message of a statement, or '' if it went well. Options are user, database and those of psql().
sub failure
{
	my ($node, $sql, %options) = @_;
	my $error;
	my $user = delete $options{user};
	my $database = delete $options{database} // 'postgres';
	my @extra = defined $user ? ('-U', $user) : ();
	my $status = $node->psql($database, $sql, stderr => \$error, extra_params => \@extra, %options);
	return $status == 0 ? '' : $error;
}

# step => count of the releases.
sub releases
{
	my ($node, $table) = @_;
	my %count = map { split /\|/ } split /\n/, $node->safe_psql('postgres', "SELECT step, count FROM $table");
	return \%count;
}

sub is_gapless
{
	my ($node, $table, $name) = @_;
	my $gaps = $node->safe_psql('postgres',
		"SELECT count(*) = coalesce(max(step), 0) AND coalesce(min(step), 1) = 1 FROM $table");
	is($gaps, 't', $name);
}

# Waits until all other sessions have reported the last of their statistics, as they do when they end: psql is gone before.
sub all_reported
{
	my ($node) = @_;
	$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'})
		or die 'sessions stay';
	return;
}

# Kills a process of this kind, one in a call if there is one, and waits until the server has begun afresh. One that ends anyway goes
# unnoticed: then another.
sub kill_one
{
	my ($node, $kind) = @_;
	my $restarts = sub { scalar(() = slurp_file($node->logfile) =~ /all server processes terminated; reinitializing/g) };
	my $before = $restarts->();
	for (1 .. 300)
	{
		my $pid = eval { $node->safe_psql('postgres', qq{
			SELECT pid FROM pg_stat_activity WHERE backend_type = '$kind' AND pid <> pg_backend_pid()
			ORDER BY (query LIKE 'CALL%')::int * random() DESC LIMIT 1}) };
		for (1 .. ($pid && kill('KILL', $pid) ? 50 : 1))
		{
			return if $restarts->() > $before;
			sleep(0.1);
		}
	}
	BAIL_OUT("waited in vain for a $kind to be killed");
}

# Starts a program that goes on in the background with no need of being pumped: its output goes to a file.
sub start_program
{
	my ($out, @command) = @_;
	return IPC::Run::start(\@command, '<', \undef, '>', $out, '2>', "$out.errors");
}

# Functions of a superuser's that do what PostgreSQL's own, which are VOLATILE, do not do while a source is read.
sub unguarded_functions
{
	return q{
		CREATE FUNCTION public.hold(pg_catalog.int8) RETURNS void LANGUAGE internal STABLE STRICT AS 'pg_advisory_lock_int8';
		CREATE FUNCTION public.hold_shared(pg_catalog.int8) RETURNS void LANGUAGE internal STABLE STRICT AS 'pg_advisory_xact_lock_shared_int8';
		CREATE FUNCTION public.put(pg_catalog.text, pg_catalog.text, pg_catalog.bool) RETURNS pg_catalog.text LANGUAGE internal STABLE
			AS 'set_config_by_name';
		CREATE FUNCTION public.end_session(integer, bigint) RETURNS boolean LANGUAGE internal STABLE STRICT AS 'pg_terminate_backend';
		CREATE FUNCTION public.wait(double precision) RETURNS void LANGUAGE internal STABLE STRICT AS 'pg_sleep';
	};
}

1;
