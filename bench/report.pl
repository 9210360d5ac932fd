#!/usr/bin/perl
# Turns the measurements of a folder into report.md, summary.csv and the data of the charts.
#
# Usage: report.pl FOLDER    (with server.csv, core.csv and machine.md)

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Marks   ();
use Results ();

my ($folder) = @ARGV;
my $results  = Results->new($folder);
my @marks    = Marks::evaluate($results);

open my $report, '>', "$folder/report.md" or die "report.md: $!\n";
select $report;
print slurp("$folder/machine.md"), "\n";
marks();
ordered();
small_groups();
grid();
scaling();
draws();
steps();
close $report;
summary_csv();
chart_data();

sub slurp { my ($file) = @_; local (@ARGV, $/) = ($file); return scalar readline ARGV }

# "0.812 (0.808 to 0.815)"
sub spread
{
    my ($s, $digits) = @_;
    $digits //= 3;
    return sprintf "%.${digits}f (%.${digits}f to %.${digits}f)", @$s{qw(median low high)};
}

sub megabytes { my ($bytes) = @_; return sprintf '%.1f', $bytes / 1e6 }

# A Markdown table.
sub table
{
    my ($header, @rows) = @_;
    print '| ', join(' | ', @$header), " |\n|", '---|' x @$header, "\n";
    print '| ', join(' | ', @$_), " |\n" for @rows;
    print "\n";
}

sub marks
{
    print "### Marks\n\n";
    table(
        ['what', 'column', 'mark', 'processor time', 'elapsed', ''],
        map {
            my $mark = $_;
            [
                $mark->{what}, $mark->{column},
                ($mark->{at_least} ? 'at least ' : 'at most ') . sprintf('%.2f', $mark->{limit}),
                spread($mark->{measured}, 2),
                $mark->{elapsed} ? spread($mark->{elapsed}, 2) : '',
                Marks::holds($mark) ? 'ok' : '**missed**'
            ]
        } @marks
    );
}

sub ordered
{
    my $rows = rows_of('ordered') or return;
    print "### $rows rows in one stream\n\n";
    my @rows;
    for my $series ($results->series('ordered'))
    {
        my $base = $series =~ /ROWS$/ ? 'sum, ROWS' : 'sum, RANGE';
        push @rows,
            [
            $series,
            sprintf('%.1f', $results->ns_per_row('ordered', $series)->{median}),
            spread($results->ratio('ordered', $series, $base, 'cpu_ms')),
            spread($results->ratio('ordered', $series, $base, 'ms')),
            megabytes($results->greatest('ordered', $series, 'peak_bytes')),
            megabytes($results->greatest('ordered', $series, 'temp_bytes')),
            ];
    }
    table(['query', 'ns a row', 'to sum, same frame', 'the same, elapsed', 'memory, MB', 'files, MB'], @rows);
}

sub small_groups
{
    for my $group ('partitions of 100', 'partitions of 10', 'GROUP BY', 'flights')
    {
        my $rows = rows_of($group) or next;
        my ($base) = $results->series($group);
        print $group eq 'flights' ? "### $rows real flights\n\n" : "### $rows rows, $group\n\n";
        table(
            ['query', 'ns a row', "to $base", 'the same, elapsed'],
            map {
                [
                    $_,
                    sprintf('%.1f', $results->ns_per_row($group, $_)->{median}),
                    spread($results->ratio($group, $_, $base, 'cpu_ms')),
                    spread($results->ratio($group, $_, $base, 'ms'))
                ]
            } $results->series($group)
        );
    }
}

sub grid
{
    my $rows = rows_of('grid') or return;
    print "### Every mechanism: window function with a horizon of $rows, ratio to sum RANGE\n\n";
    my (@names, %cells);
    for my $series ($results->series('grid'))
    {
        my ($name, $epsilon) = $series =~ /^(\w+, k = \w+), epsilon = (.+)$/ or next;
        push @names, $name unless $cells{$name};
        $cells{$name}{$epsilon} = spread($results->ratio('grid', $series, 'sum', 'cpu_ms'));
    }
    table(['mechanism', 'epsilon = 1', 'epsilon = 0.01'], map { [$_, @{ $cells{$_} }{ 1, 0.01 }] } @names);
    my $bits = $results->ratio('grid', 'window, bit(1), k = 19', 'sum, bit(1)', 'cpu_ms');
    print 'With bit(1) instead of boolean, subtraction, k = 19, epsilon = 1, to sum of bit(1): ', spread($bits), ".\n\n" if $bits;
}

sub scaling
{
    my @rows;
    for my $exponent (3 .. 8)
    {
        my @cells = ("1e$exponent");
        for (['k = 19', 'subtraction/19'], ['default', 'auto/auto'])
        {
            my ($column, $stream) = @$_;
            my $name   = "T = 1e$exponent, $column";
            my $rounds = $results->has('scaling', $name);
            my ($core) = grep { /^stream\/\Q$stream\E\/(.+)$/ && $1 == 10**$exponent } $results->core_names;
            push @cells, $rounds ? sprintf('%.1f', $results->ns_per_row('scaling', $name)->{median}) : '',
                $core ? sprintf('%.1f', $results->core_ns($core)->{median}) : '', $core ? $results->core_bytes($core) : '',
                $rounds ? megabytes($results->greatest('scaling', $name, 'peak_bytes')) : '',
                $rounds ? megabytes($results->greatest('scaling', $name, 'temp_bytes')) : '';
        }
        push @rows, \@cells;
    }
    print "### Horizon\n\n";
    table(
        [
            'T', map { ("$_: ns a row", 'core: ns a step', 'state, bytes', 'memory, MB', 'files, MB') } 'k = 19', 'default'
        ],
        @rows
    );
}

sub draws
{
    my @scales = sort { $a <=> $b } map { m{^draw/exact/(.+)$} ? $1 : () } $results->core_names or return;
    print "### One noise value, ns\n\n";
    table(
        ['scale', 'exact (dp_counter)', 'rejection, exact', 'double precision, insecure', 'rejection to exact'],
        map {
            my $scale = $_ + 0;
            my ($name) = grep { m{^draw/exact/(.+)$} && $1 == $scale } $results->core_names;
            ($name) = $name =~ m{([^/]+)$};
            [
                $name,
                (map { spread($results->core_ns("draw/$_/$name"), 1) } qw(exact rejection insecure)),
                spread($results->core_ratio("draw/rejection/$name", "draw/exact/$name"), 1)
            ]
        } @scales
    );
}

sub steps
{
    my (%cells, @names);
    for my $series (sort $results->core_names)
    {
        my ($mechanism, $k, $epsilon) = $series =~ m{^step/(\w+)/(\w+)/(.+)$} or next;
        my $name = "$mechanism, k = $k";
        push @names, [$mechanism, $k eq 'auto' ? 1e9 : $k, $name] unless $cells{$name};
        $cells{$name}{$epsilon} = spread($results->core_ns($series), 1);
        $cells{$name}{bytes} = $results->core_bytes($series);
    }
    return unless @names;
    print "### One step of the core, horizon 1e6, ns\n\n";
    table(
        ['mechanism', 'epsilon = 1', 'epsilon = 0.01', 'state, bytes'],
        map { [$_->[2], @{ $cells{ $_->[2] } }{ 1, '0.01', 'bytes' }] }
            sort { $a->[0] cmp $b->[0] || $a->[1] <=> $b->[1] } @names
    );
}

sub rows_of
{
    my ($group) = @_;
    my ($series) = $results->series($group) or return;
    my ($row) = $results->rounds($group, $series);
    return $row->{rows} =~ s/(?<=\d)(?=(?:\d{3})+$)/,/gr;
}

sub summary_csv
{
    open my $out, '>', "$folder/summary.csv" or die "summary.csv: $!\n";
    print $out "what,column,limit,median,low,high,elapsed,verdict\n";
    for (@marks)
    {
        printf $out qq{"%s","%s",%s,%.4f,%.4f,%.4f,%s,%s\n}, @$_{qw(what column limit)},
            @{ $_->{measured} }{qw(median low high)}, $_->{elapsed} ? sprintf('%.4f', $_->{elapsed}{median}) : '',
            Marks::holds($_) ? 'ok' : 'missed';
    }
}

# Blank-separated columns for charts.gp.
sub chart_data
{
    open my $ratios, '>', "$folder/ratios.dat" or die "ratios.dat: $!\n";
    my $line = 0;
    for (grep { $_->{elapsed} } @marks)
    {
        printf $ratios qq{%d "%s, %s" %g %g %g %g\n}, $line++, $_->{what}, $_->{column},
            @{ $_->{measured} }{qw(median low high)}, $_->{limit};
    }
    open my $draws, '>', "$folder/draws.dat" or die "draws.dat: $!\n";
    for my $sampler (qw(exact rejection insecure))
    {
        print $draws qq{"$sampler"\n};
        for my $scale (sort { $a <=> $b } map { m{^draw/\Q$sampler\E/(.+)$} ? $1 : () } $results->core_names)
        {
            my ($name) = grep { m{^draw/\Q$sampler\E/(.+)$} && $1 == $scale } $results->core_names;
            my $ns = $results->core_ns($name);
            printf $draws "%g %g %g %g\n", $scale, @$ns{qw(median low high)};
        }
        print $draws "\n\n";
    }
    open my $horizons, '>', "$folder/horizons.dat" or die "horizons.dat: $!\n";
    for my $column ('k = 19', 'default')
    {
        print $horizons qq{"$column"\n};
        for my $exponent (grep { $results->has('scaling', "T = 1e$_, $column") } 3 .. 8)
        {
            my $ns = $results->ns_per_row('scaling', "T = 1e$exponent, $column");
            printf $horizons "1e%d %g %g %g\n", $exponent, @$ns{qw(median low high)};
        }
        print $horizons "\n\n";
    }
}
