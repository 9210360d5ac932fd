# One psql, one backend, and what the kernel knows about that backend.
package Session;

use strict;
use warnings;
use IPC::Open2 qw(open2);
use Time::HiRes ();

my $end = '-- end of answer --';

sub new
{
    my ($class) = @_;
    my $self = bless {}, $class;
    $self->{psql} = open2($self->{from}, $self->{to}, qw(psql -X -q -At -v ON_ERROR_STOP=1));
    ($self->{backend}) = $self->ask('SELECT pg_backend_pid()');
    return $self;
}

# Runs SQL and returns the lines of its output. Errors are fatal.
sub ask
{
    my ($self, $sql) = @_;
    print { $self->{to} } "$sql;\n\\echo $end\n" or die "psql is gone: $!\n";
    $self->{to}->flush;
    my @lines;
    while (defined(my $line = readline $self->{from}))
    {
        chomp $line;
        return @lines if $line eq $end;
        push @lines, $line;
    }
    die "failed: $sql\n";
}

# Whether the server accepts this statement; in a psql of its own, since an error ends it.
sub accepts
{
    my ($sql) = @_;
    my $output = qx(psql -X -q -At -v ON_ERROR_STOP=1 -c "$sql" 2>&1);
    die "psql: $output" if $? >> 8 != 0 && $? >> 8 != 1;    # 1: the statement failed
    return $? == 0;
}

# Runs a query without sending its rows. Returns milliseconds by the clock and on the processor,
# bytes written to files, the peak of private memory, and the plan.
#
# The clock is EXPLAIN ANALYZE's (without time per node); the processor time is the backend's own
# and does not grow when other programs want the processor too.
sub measure
{
    my ($self, $query) = @_;
    $self->forget_peak;
    my $cpu     = $self->cpu_ms;
    my $written = $self->written_bytes;
    my @plan    = $self->ask("EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF, SUMMARY ON) $query");
    my ($ms) = map { /^Execution Time: ([\d.]+) ms/ ? $1 : () } @plan;
    return {
        ms         => $ms,
        cpu_ms     => $self->cpu_ms - $cpu,
        temp_bytes => $self->written_bytes - $written,
        peak_bytes => $self->peak_bytes,
        plan       => join("\n", @plan),
    };
}

sub proc
{
    my ($self, $file) = @_;
    open my $in, '<', "/proc/$self->{backend}/$file" or return '';
    local $/ = undef;
    return scalar readline $in;
}

sub cpu_ms
{
    my ($self) = @_;
    my ($nanoseconds) = split ' ', $self->proc('schedstat');
    return ($nanoseconds // 0) / 1e6;
}

sub written_bytes
{
    my ($self) = @_;
    return $self->proc('io') =~ /^wchar: (\d+)/m ? $1 : 0;
}

sub forget_peak
{
    my ($self) = @_;
    if (open my $out, '>', "/proc/$self->{backend}/clear_refs") { print $out "5\n"; close $out }
    return;
}

# The peak of what is not shared memory and not a mapped file.
sub peak_bytes
{
    my ($self) = @_;
    my %kb = $self->proc('status') =~ /^(\w+):\s+(\d+) kB/mg;
    return 1024 * (($kb{VmHWM} // 0) - ($kb{RssFile} // 0) - ($kb{RssShmem} // 0));
}

sub close_session
{
    my ($self) = @_;
    close $self->{to};
    close $self->{from};
    waitpid $self->{psql}, 0;
    return;
}

1;
