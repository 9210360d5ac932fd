# What is measured on the server: groups of queries that run interleaved.
package Series;

use strict;
use warnings;
use Session ();

our $default = 'default';    # k and mechanism left out

# The window function takes the mechanism before the horizon; the types tell the aggregate apart.
sub window_call
{
    my (%o) = @_;
    my $mechanism = defined $o{mechanism} ? "'$o{mechanism}'" : 'NULL';
    return sprintf 'dp_running_count(%s, %s, %s, %s::text, %s::bigint)', $o{bit} // 'b',
        $o{epsilon} // '1.0', $o{k} // 'NULL', $mechanism, $o{horizon} // 'NULL';
}

sub aggregate_call
{
    my (%o) = @_;
    return sprintf 'dp_running_count(b, 1.0, %s, %s::bigint)', $o{k} // 'NULL', $o{horizon} // 'NULL';
}

# The two columns of the table of marks.
my @columns = (['k = 19', k => 19], [$default]);

my $in_order = 'OVER (ORDER BY t)';
my $by_rows  = 'OVER (ORDER BY t ROWS UNBOUNDED PRECEDING)';

# One stream over the whole table, under both frames and every amount of memory. The window function
# ignores the frame, PostgreSQL does not: under RANGE, the default, it compares each row with the
# next to find the frame's end.
sub ordered
{
    my ($rows) = @_;
    my @series;
    my $add = sub {
        my ($name, $expression, $memory) = @_;
        push @series, {
            name   => $name,
            memory => $memory // '4MB',
            query  => sub { "SELECT $expression FROM stream" . ($_[0] ? " WHERE t <= $_[0]" : '') },
        };
    };
    for (['RANGE', $in_order], ['ROWS', $by_rows])
    {
        my ($frame, $over) = @$_;
        $add->("sum, $frame", "sum(b::int) $over");
        for (@columns)
        {
            my ($label, %o) = @$_;
            $add->("window, horizon, $label, $frame", window_call(%o, horizon => $rows) . " $over");
            $add->("aggregate, $label, $frame", aggregate_call(%o, horizon => $rows) . " $over")
                if $frame eq 'RANGE'; # over ROWS it is refused
        }
        for my $memory ('1GB', $frame eq 'RANGE' ? '256MB' : (), '4MB')
        {
            for (@columns)
            {
                my ($label, %o) = @$_;
                $add->(
                    "window, row count, $memory, $label, $frame", window_call(%o) . " $over",
                    $memory
                );
            }
        }
    }
    $add->('aggregate, no horizon, default, RANGE', aggregate_call() . " $in_order");
    $add->('count FILTER, RANGE', "count(*) FILTER (WHERE b) $in_order");
    $add->('row_number, RANGE',   "row_number() $in_order");
    return { name => 'ordered', rows => $rows, series => \@series };
}

# Many short streams.
sub partitions
{
    my ($rows, $size) = @_;
    my $key  = "p$size";
    my $over = "OVER (PARTITION BY $key ORDER BY t)";
    my $query = sub {
        my ($expression) = @_;
        return sub {
            "SELECT $expression $over FROM stream" . ($_[0] ? " WHERE $key < $_[0] / $size" : '');
        };
    };
    return {
        name   => "partitions of $size",
        rows   => $rows,
        series => [
            { name => 'sum', query => $query->('sum(b::int)') },
            map {
                my ($label, %o) = @$_;
                +{ name => "window, $label", query => $query->(window_call(%o)) }
            } @columns
        ],
    };
}

# One release a group.
sub groups_of_100
{
    my ($rows) = @_;
    my $query = sub {
        my ($expression) = @_;
        return sub {
            "SELECT p100, $expression FROM stream"
                . ($_[0] ? " WHERE p100 < $_[0] / 100" : '')
                . ' GROUP BY p100';
        };
    };
    return {
        name   => 'GROUP BY',
        rows   => $rows,
        series => [
            { name => 'count(*)', query => $query->('count(*)') },
            (
                map {
                    my ($label, %o) = @$_;
                    +{
                        name  => "aggregate, $label",
                        query => $query->(aggregate_call(%o, horizon => 100))
                    }
                } @columns
            ),
            { name => 'dp_count', query => $query->('dp_count(b, 1.0)') },
        ],
    };
}

# Every mechanism, k and epsilon, as a window function with a horizon.
sub grid
{
    my ($rows) = @_;
    my $query = sub {
        my ($expression) = @_;
        return sub { "SELECT $expression $in_order FROM stream WHERE t <= " . ($_[0] || $rows) };
    };
    my @series = (
        { name => 'sum',         query => $query->('sum(b::int)') },
        { name => 'sum, bit(1)', query => $query->('sum(b1::int)') },
        {
            name  => 'window, bit(1), k = 19',
            query => $query->(window_call(bit => 'b1', k => 19, horizon => $rows))
        }
    );
    for my $mechanism (qw(subtraction plain bridge hat))
    {
        for my $k (2, 7, 19, 101, undef)
        {
            for my $epsilon (0.01, 1)
            {
                my $call = window_call(
                    mechanism => $mechanism,
                    k         => $k,
                    epsilon   => $epsilon,
                    horizon   => $rows
                );
                next unless Session::accepts("SELECT $call OVER () FROM (VALUES (true)) AS v (b)");
                push @series,
                    {
                    name  => sprintf('%s, k = %s, epsilon = %s', $mechanism, $k // 'auto', $epsilon),
                    query => $query->($call),
                    };
            }
        }
    }
    return { name => 'grid', rows => $rows, series => \@series };
}

# The same number of rows as many streams of T rows; beyond the number of rows, the head of one. All
# are read from the one index, so that nothing else depends on T.
sub scaling
{
    my ($rows) = @_;
    my @series;
    for my $exponent (3 .. 8)
    {
        my $horizon = 10**$exponent;
        my $length  = $horizon < $rows ? $horizon : $rows;
        for (['sum', "sum(b::int) $by_rows"],
            map { my ($label, %o) = @$_;
                [$label, window_call(%o, horizon => $horizon) . " $by_rows"] } @columns)
        {
            my ($label, $expression) = @$_;
            next if $label eq 'sum' && $exponent > 3;
            push @series, {
                name  => "T = 1e$exponent, $label",
                query => sub {
                    my $streams = ($_[0] || $rows) / $length;
                    return "SELECT s.* FROM generate_series(1, $streams) AS i, LATERAL (SELECT $expression"
                        . " FROM stream WHERE t > (i - 1) * $length AND t <= i * $length) AS s";
                },
            };
        }
    }
    return { name => 'scaling', rows => $rows, series => \@series };
}

# Real data: was a flight more than 15 minutes late?
sub flights
{
    my ($rows) = @_;
    my $over  = 'OVER (ORDER BY id)';
    my $query = sub {
        my ($expression) = @_;
        return sub { "SELECT $expression $over FROM flights" . ($_[0] ? " WHERE id <= $_[0]" : '') };
    };
    return {
        name   => 'flights',
        rows   => $rows,
        series => [
            { name => 'sum', query => $query->('sum((delay > 15)::int)') },
            map {
                my ($label, %o) = @$_;
                +{
                    name  => "window, row count, $label",
                    query => $query->(window_call(%o, bit => 'delay > 15'))
                }
            } @columns
        ],
    };
}

1;
