# A step that a synchronous standby may not have is not published: if the standby took over, it would be drawn again.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Counters;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary', allows_streaming => 1);
sub sql { return $node->safe_psql('postgres', $_[0]); }
sql(q{SELECT dp_event_counter_create('c', 0.01, 1000)});
sql(q{CREATE TABLE visits (patient integer, at timestamp); CREATE VIEW visits_dp AS SELECT * FROM visits;
	SELECT dp_budget_create('weekly', 5, per => '7 days'); SELECT dp_source_create('visits_dp', 'weekly', 'patient', 'at', 'UTC')});
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
# What costs and changes nothing can be asked there, too.
my $plan = q{SELECT string_agg(p::text, ' ') FROM dp_counter_plan('u', 'visits_dp', 1, '1 day', '2300-01-01', active => '28 days') AS p};
is($standby->safe_psql('postgres', $plan), sql($plan), 'a standby plans a declaration');
is($standby->safe_psql('postgres', q{SELECT dp_promise('weekly')}), sql(q{SELECT dp_promise('weekly')}), 'and says what a budget promises');
$node->append_conf('postgresql.conf', "synchronous_standby_names = '*'");
$node->reload;
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'}),
	'there is a synchronous standby');
is(failure($node, q{CALL dp_tick('c')}), '', 'a tick waits for it');
sql(q{SELECT dp_counter_record('c', 5)});
my $stored = q{SELECT c.steps, p.steps, r.count FROM dp_counter_private.counters c JOIN dp_counter_private.publications p
	ON p.number = c.number JOIN dp_counter_private.releases r ON r.number = c.number AND step = c.steps};
my $released = q{SELECT string_agg(step || ':' || count, ' ' ORDER BY step) FROM c};
my $first = sql($released);
like($first, qr/^1:-?\d+$/, 'and publishes');

# Ticks, in a session that asks for no standby, and is canceled as soon as it waits for one.
my $ticks = 0;
sub canceled_tick
{
	my ($until) = @_;
	my $out = $node->basedir . '/tick.' . ++$ticks;
	my $tick = start_program($out, 'psql', '-X', '-d', $node->connstr('postgres'), '-c', 'SET synchronous_commit = local',
		'-c', q{CALL dp_tick('c')});
	ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'
		AND query ~ 'tick'}), 'a tick waits for a standby that is gone');
	is(sql($released), $first, 'its release cannot be seen');
	ok($node->poll_query_until('postgres', $until), 'it is canceled then') if $until;
	# as often as it waits: a second time, and it has published
	$node->poll_query_until('postgres', q{SELECT count(pg_cancel_backend(pid)) = 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'});
	$tick->finish;
	return slurp_file("$out.errors");
}
$standby->stop;
my $message = qr/ERROR:  step 2 is closed, but synchronous standbys have not confirmed it.*HINT:  The next tick publishes it/s;
like(canceled_tick(), $message, 'canceled, it says that the step is closed');
is(sql($released), $first, 'and does not publish it');
my $second = sql($stored);
like($second, qr/^2\|1\|-?\d+$/, 'it is stored');
like(canceled_tick(), $message, 'another tick waits as well');
is(sql($stored), $second, 'it draws nothing');
is(sql($released), $first, 'and does not publish it either');


# One that has written all of it and flushed nothing: a receiver flushes a segment at its end.
my @receiver = ('pg_receivewal', '-d', $node->connstr('postgres'), '-S', 'receiver');
command_ok([ @receiver, '--create-slot' ], 'a slot');
mkdir $node->basedir . '/received';
my $receiver = start_program($node->basedir . '/receiver.out', @receiver, '-n', '-s', 1, '-D', $node->basedir . '/received');
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'}), 'receives');
like(canceled_tick(q{SELECT write_lsn >= pg_current_wal_flush_lsn() AND flush_lsn < write_lsn FROM pg_stat_replication}), $message,
	'what a standby has only written is not published');
$receiver->kill_kill;
$node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_stat_replication');
sql(q{SELECT pg_drop_replication_slot('receiver')});

$standby->start;
is(failure($node, q{CALL dp_tick('c')}), '', 'with the standby back a tick goes on');
my $count = $second =~ s/.*\|//r;
like(sql($released), qr/^$first 2:$count 3:-?\d+$/, 'it publishes what was stored, and its own step');
my $all = sql($released);

# What was published, a standby that takes over has.
$node->stop('immediate');
$standby->append_conf('postgresql.conf', "synchronous_standby_names = ''");
$standby->promote;
is($standby->safe_psql('postgres', $released), $all, 'the standby that takes over has all releases');
# Whether it was a synchronous one, and why it was promoted, no setting shows.
my $is_copy = qr/counter "c" is in a copy of its database.*HINT: .*dp_counter_resume/s;
like(failure($standby, q{CALL dp_tick('c')}), $is_copy, 'that it has all, its owner has to say');
is($standby->safe_psql('postgres', $released), $all, 'until then it releases nothing');
$standby->safe_psql('postgres', q{SELECT dp_counter_resume('c')});
is($standby->psql('postgres', q{CALL dp_tick('c')}), 0, 'then it goes on');
like($standby->safe_psql('postgres', $released), qr/^$all 4:-?\d+$/, 'with the next step');

# --- a recovery to an earlier time
my $restored = PostgreSQL::Test::Cluster->new('restored');
$restored->init_from_backup($node, 'base', has_restoring => 0);
$restored->append_conf('postgresql.conf',
	"synchronous_standby_names = ''\nrecovery_target = 'immediate'\nrecovery_target_action = promote\nrestore_command = 'false'");
$restored->append_conf('recovery.signal', '');
$restored->start;
ok($restored->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()'), 'recovered');
like(failure($restored, q{CALL dp_tick('c')}), $is_copy, 'it lacks the steps since');
done_testing();
