# A tick by each driver, with the page's own snippets: directly, and through PgBouncer in each pool
# mode; and what a driver is told that is not in autocommit mode.
#
# Needs a server that libpq's variables name, its programs in $SERVER_BIN (test/with_server).
use strict;
use warnings;
use File::Temp ();
use FindBin;
use lib $FindBin::RealBin;
use Page qw(snippet);
use POSIX qw(WNOHANG);
use Test::More;

# The output of a command and its exit status, in a changed environment.
sub run
{
	my ($environment, @command) = @_;
	local %ENV = (%ENV, %$environment);
	my $pid = open(my $out, '-|') // die "fork: $!";
	if ($pid == 0)
	{
		open STDERR, '>&', \*STDOUT;
		exec @command or die "$command[0]: $!";
	}
	my $output = do { local $/; <$out> } // '';
	close $out;
	return ($output, $? >> 8);
}

sub sql
{
	my ($sql) = @_;
	my @psql = qw(psql -X -A -t -q -v ON_ERROR_STOP=1 -d hospital -c);
	my ($output, $status) = run({ PGUSER => 'postgres' }, @psql, $sql);
	die "failed: $sql: $output" if $status != 0;
	chomp $output;
	return $output;
}

# Each tick that ran adds a step.
sub ticks
{
	my ($name, $times, @run) = @_;
	my $before = sql('SELECT count(*) FROM calls');
	my ($output, $status) = run(@run);
	is(sql('SELECT count(*) FROM calls') - $before, $times, $name) or diag $output;
	is($status, 0, "$name: no error");
	return $output;
}

sub refuses
{
	my ($name, $told, @run) = @_;
	my $before = sql('SELECT count(*) FROM calls');
	my ($output, $status) = run(@run);
	isnt($status, 0, "$name is an error");
	like($output, $told, "$name: which teaches");
	is(sql('SELECT count(*) FROM calls'), $before, "$name: nothing was released");
	return;
}

system('createdb', 'hospital') == 0 or die;
sql($_)
  for 'CREATE EXTENSION dp_counter', 'CREATE ROLE dp_counter_tick LOGIN',
  "SELECT dp_event_counter_create('calls', epsilon => 1, horizon => 1000, every => '1 microsecond')",
  'GRANT UPDATE ON calls TO dp_counter_tick';
$ENV{PGUSER} = 'dp_counter_tick';

# PgBouncer before the same server: a database for each pool mode, the page's for transactions.
my $home = File::Temp->newdir;
chmod 0755, $home;
chown((getpwnam 'postgres')[ 2, 3 ], $home) if $> == 0;
open my $users, '>', "$home/users" or die $!;
print $users qq{"dp_counter_tick" ""\n};
close $users;
open my $ini, '>', "$home/pgbouncer.ini" or die $!;
print $ini <<"INI";
[databases]
hospital = host=$ENV{PGHOST} port=$ENV{PGPORT} pool_mode=transaction
hospital_session = host=$ENV{PGHOST} port=$ENV{PGPORT} dbname=hospital pool_mode=session
hospital_statement = host=$ENV{PGHOST} port=$ENV{PGPORT} dbname=hospital pool_mode=statement
[pgbouncer]
unix_socket_dir = $home
listen_port = 6432
auth_type = trust
auth_file = $home/users
logfile = $home/log
INI
close $ini;
my $pooler = fork // die "fork: $!";
if ($pooler == 0)
{
	my @user = $> == 0 ? qw(-u postgres) : ();
	exec '/usr/sbin/pgbouncer', '-q', @user, "$home/pgbouncer.ini" or die "pgbouncer: $!";
}
END { if ($pooler) { local $?; kill TERM => $pooler; waitpid $pooler, 0 } }
until (-S "$home/.s.PGSQL.6432")
{
	die "pgbouncer did not start\n" if waitpid $pooler, WNOHANG;
	sleep 1;
}
my $pooled = { PGHOST => "$home", PGPORT => 6432 };

my $taught = qr/cannot run inside a transaction block.*HINT: .* In a driver, use autocommit mode/s;
for my $driver (qw(psycopg psycopg2))
{
	my $page = snippet('python', qr/^import $driver$/m);
	my @python = ('/usr/bin/python3', '-c'); # Debian's, which has Debian's packages
	my $output = ticks($driver, 1, {}, @python, $page);
	like($output, qr/calls/, "$driver: the snippet prints what was released");
	(my $careless = $page) =~ s/autocommit *= *\KTrue/False/ or die "$driver: no autocommit";
	refuses("$driver without autocommit", $taught, {}, @python, $careless);
	refuses("$driver without autocommit, pooled", $taught, $pooled, @python, $careless);

	for my $mode ('', '_session', '_statement')
	{
		my $other = $page =~ s/dbname=hospital/$&$mode/r;
		ticks("$driver through PgBouncer$mode", 1, $pooled, @python, $other);
	}

	# A session that ticks for long meets another server connection, without what it has prepared.
	my ($indent, $call) = $page =~ /^( *)(connection\..*execute\(.*)/m or die "$driver: no call";
	my $again = $page . join "\n$indent", '', "for i in range(8): $call",
	  "other = $driver.connect('dbname=hospital')", "other.cursor().execute('SELECT 1')", $call, '';
	ticks("$driver, again and again through PgBouncer", 10, $pooled, @python, $again);
}

# A driver reads what the views show, which have no infinite times, and binds parameters without types.
my $reads = <<'PYTHON';
import psycopg
with psycopg.connect("dbname=hospital user=postgres", autocommit=True) as connection:
    for view in ("dp_budgets", "dp_counters", "dp_sources", "budget", "share", "by_day"):
        print(view, len(connection.execute(f"SELECT * FROM {view}").fetchall()))
    connection.execute("CALL dp_budget_spend('budget', 1, 'a query', since => %s, until => %s)", ("2026-01-01", "infinity"))
    print(connection.execute("SELECT count(*) FROM dp_counter_changes('by_day', 1, since => %s, until => %s)", (None, "2026-01-01")).fetchall())
PYTHON
sql($_)
  for 'CREATE TABLE visits (person integer, at timestamp)', 'CREATE VIEW visits_dp AS TABLE visits',
  q{SELECT dp_budget_create('budget', 10, per => '7 days')}, q{SELECT dp_budget_create('share', 1, within => 'budget')},
  q{SELECT dp_source_create('visits_dp', 'budget', 'person', 'at', 'UTC')},
  q{SELECT dp_counter_create('by_day', source => 'visits_dp', epsilon => 1, every => '1 day', since => '2025-01-01', per_person => 1)},
  q{SELECT dp_event_counter_create('unticked', epsilon => 1, every => '1 hour')};
my ($read, $status) = run({}, '/usr/bin/python3', '-c', $reads);
is($read, "dp_budgets 2\ndp_counters 3\ndp_sources 1\nbudget 2\nshare 0\nby_day 0\n[(0,)]\n", 'psycopg reads all views');
is($status, 0, 'without an error');
sql('DROP TABLE visits CASCADE');

# The extended protocol, as JDBC and most other drivers speak it.
my $script = File::Temp->new;
print $script "CALL dp_tick();\n";
$script->flush;
my @pgbench = ("$ENV{SERVER_BIN}/pgbench", qw(-n -t 3 -f), "$script");
ticks("the extended protocol, $_", 3, {}, @pgbench, '-M', $_, 'hospital') for qw(extended prepared);
ticks("the same through PgBouncer$_", 3, $pooled, @pgbench, qw(-M extended), "hospital$_")
  for '', '_session', '_statement';
refuses('{call} in JDBC', qr/To call a procedure, use CALL/, {},
	qw(psql -X -d hospital -v ON_ERROR_STOP=1 -c), 'SELECT * FROM dp_tick() AS result');

# The line for cron: with nothing to say it sends no mail.
my (%cron, $command);
for (split /\n/, snippet('crontab', qr/dp_tick/))
{
	if    (/^(\w+)=(.*)/)                           { $cron{$1} = $2 }
	elsif (/^\d+ \* \* \* \* dp_counter_tick (.*)/) { $command = $1 }
	else                                            { die "crontab: $_" }
}
is(ticks('cron', 1, \%cron, 'sh', '-c', $command), '', 'cron: no mail');
sql('ALTER DATABASE hospital SET default_transaction_read_only = on');
refuses('cron of a tick that fails', qr/ERROR/, \%cron, 'sh', '-c', $command);
done_testing();
