# What the project promised itself, and whether it holds.
package Marks;

use strict;
use warnings;

# COLUMN stands for the two columns of the table, "k = 19" and "default". Limits in that order.
my @marks = (
    map({ my ($frame, $baseline) = ($_, "sum, $_");
          ["window, horizon, $frame",            'ordered', "window, horizon, COLUMN, $frame",          $baseline, 0.85, 1.00],
          ["window, row count, 1 GB, $frame",    'ordered', "window, row count, 1GB, COLUMN, $frame",   $baseline, 0.95, 1.10],
          ["window, row count, 256 MB, $frame",  'ordered', "window, row count, 256MB, COLUMN, $frame", $baseline, 1.10, 1.25],
          ["window, row count, 4 MB, $frame",    'ordered', "window, row count, 4MB, COLUMN, $frame",   $baseline, 1.10, 1.25],
        } 'RANGE', 'ROWS'),
    ['aggregate, horizon, RANGE',            'ordered',           'aggregate, COLUMN, RANGE', 'sum, RANGE', 1.15, 1.30],
    ['partitions of 100, window',            'partitions of 100', 'window, COLUMN',    'sum',      0.80, 1.00],
    ['partitions of 10, window',             'partitions of 10',  'window, COLUMN',    'sum',      0.90, 1.00],
    ['GROUP BY, 100 rows, against count(*)', 'GROUP BY',          'aggregate, COLUMN', 'count(*)', 1.15, 1.30],
);

# Each mark: what, column, limit, measured (median, low, high), elapsed (the same by the clock), and
# at_least where the measured value must not be below the limit.
sub evaluate
{
    my ($results) = @_;
    my @rows;
    for my $mark (@marks)
    {
        my ($what, $group, $pattern, $base, @limits) = @$mark;
        for my $column ('k = 19', 'default')
        {
            my $limit  = shift @limits;
            my $series = $pattern =~ s/COLUMN/$column/r;
            my $ratio  = $results->ratio($group, $series, $base, 'cpu_ms') or next;
            push @rows,
                {
                what     => $what,
                column   => $column,
                limit    => $limit,
                measured => $ratio,
                elapsed  => $results->ratio($group, $series, $base, 'ms'),
                };
        }
    }
    push @rows, flatness($results), draws($results);
    return @rows;
}

# The dearest horizon against the cheapest, T = 1e4 to 1e8.
sub flatness
{
    my ($results) = @_;
    my @rows;
    for my $column ('k = 19', 'default')
    {
        my @ns = sort { $a <=> $b }
            map { $_->{median} }
            map { $results->ns_per_row('scaling', "T = 1e$_, $column") }
            grep { $results->has('scaling', "T = 1e$_, $column") } 4 .. 8;
        next unless @ns;
        push @rows, single('ns per row, T = 1e4 to 1e8: greatest to least', $column, 1.10, $ns[-1] / $ns[0]);
    }
    return @rows;
}

sub draws
{
    my ($results) = @_;
    my @rows;
    for my $scale (1, 3, 10, 30)
    {
        my $ns = $results->core_ns("draw/exact/$scale") or next;
        push @rows, { what => 'ns per exact draw', column => "scale $scale", limit => 20, measured => $ns };
        push @rows,
            {
            what     => 'rejection sampler to exact draw',
            column   => "scale $scale",
            limit    => 4,
            at_least => 1,
            measured => $results->core_ratio("draw/rejection/$scale", "draw/exact/$scale"),
            };
    }
    return @rows;
}

sub single
{
    my ($what, $column, $limit, $value) = @_;
    return { what => $what, column => $column, limit => $limit, measured => { median => $value, low => $value, high => $value } };
}

# Marks are given with two digits after the point and are kept with as many.
sub holds
{
    my ($mark) = @_;
    my $value = sprintf '%.2f', $mark->{measured}{median};
    return $mark->{at_least} ? $value >= $mark->{limit} : $value <= $mark->{limit};
}

1;
