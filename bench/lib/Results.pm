# The measurements of one run, and the ratios between them.
package Results;

use strict;
use warnings;
use Statistics ();

# Reads server.csv and core.csv of a folder.
sub new
{
    my ($class, $folder) = @_;
    my $self = bless { server => {}, order => {}, core => {}, core_order => [] }, $class;
    for my $row (read_csv("$folder/server.csv"))
    {
        my ($group, $series) = @$row{qw(group series)};
        push @{ $self->{order}{$group} }, $series unless $self->{server}{$group}{$series};
        $self->{server}{$group}{$series}[ $row->{round} ] = $row;
    }
    for my $row (read_csv("$folder/core.csv"))
    {
        $self->{core}{ $row->{series} }[ $row->{round} ] = $row;
    }
    return $self;
}

sub read_csv
{
    my ($file) = @_;
    open my $in, '<', $file or return;
    my @names = fields(scalar readline $in);
    my @rows;
    while (my $line = readline $in)
    {
        my %row;
        @row{@names} = fields($line);
        push @rows, \%row;
    }
    return @rows;
}

sub fields
{
    my ($line) = @_;
    chomp $line;
    return map { defined $_ ? $_ : () } $line =~ /"([^"]*)"|([^,"]+)/g;
}

sub has { my ($self, $group, $series) = @_; return exists $self->{server}{$group}{$series} }

sub groups { my ($self) = @_; return grep { $self->{order}{$_} } ('ordered', 'partitions of 100', 'partitions of 10', 'GROUP BY', 'flights', 'grid', 'scaling') }

sub series { my ($self, $group) = @_; return @{ $self->{order}{$group} // [] } }

# The rounds of a series that both clocks saw.
sub rounds
{
    my ($self, $group, $series) = @_;
    return grep { defined } @{ $self->{server}{$group}{$series} // [] };
}

# Nanoseconds a row on the processor.
sub ns_per_row
{
    my ($self, $group, $series) = @_;
    return Statistics::summary(map { 1e6 * $_->{cpu_ms} / $_->{rows} } $self->rounds($group, $series));
}

# The greatest value of a column over the rounds.
sub greatest
{
    my ($self, $group, $series, $column) = @_;
    my $most = 0;
    for ($self->rounds($group, $series)) { $most = $_->{$column} if $_->{$column} > $most }
    return $most;
}

# The ratio of two series by `clock` ("cpu_ms" or "ms"), round by round.
sub ratio
{
    my ($self, $group, $series, $base, $clock) = @_;
    my ($above, $below) = map { $self->{server}{$group}{$_} // [] } $series, $base;
    my @ratios = map { $above->[$_]{$clock} / $below->[$_]{$clock} }
        grep { $above->[$_] && $below->[$_] } 1 .. $#$above;
    return @ratios ? Statistics::summary(@ratios) : undef;
}

# Core: processor time of a series, and ratios of two.
sub core_names { my ($self) = @_; return keys %{ $self->{core} } }

sub core_ns
{
    my ($self, $series) = @_;
    my @rounds = grep { defined } @{ $self->{core}{$series} // [] } or return;
    return Statistics::summary(map { $_->{cpu_ns} } @rounds);
}

sub core_bytes { my ($self, $series) = @_; return $self->{core}{$series}[1]{bytes} }

sub core_ratio
{
    my ($self, $series, $base) = @_;
    my ($above, $below) = map { $self->{core}{$_} } $series, $base;
    return Statistics::summary(map { $above->[$_]{cpu_ns} / $below->[$_]{cpu_ns} } 1 .. $#$above);
}

1;
