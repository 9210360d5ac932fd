# What is measured on the server, and what the project promised itself (the marks).
#
# A line is [name, expression, base, marks, work_mem]. It is measured once for each column of its group:
# COLUMN in the name becomes the column's, K and EPSILON in the expression its values, N the group's
# rows. The base is the line that it is held against (of the same column, if it has columns); the
# marks are the greatest ratios to it, one a column. To add a mark, add a line; every window has an ORDER BY
# without ties, and an index that gives it, so that no query sorts.
package queries;

use strict;
use warnings;

# The window function takes the mechanism before the horizon; the types tell the aggregate apart.
sub window
{
    my ($horizon, $bit) = @_;
    return 'dp_running_count(' . ($bit // 'b') . ", 1.0, K, NULL::text, ${horizon}::bigint)";
}
sub running_sum { my ($addend, $horizon) = @_; return "dp_running_sum($addend, 1.0, 1, $horizon, K)" }
sub aggregate { my ($horizon) = @_; return "dp_running_count(b, 1.0, K, ${horizon}::bigint)" }

# The stream: a third of the bits are set, and every query finds its rows in order in an index.
our $setup = <<'SQL';
CREATE UNLOGGED TABLE stream (t bigint, b boolean, b1 bit(1), p100 integer, p10 integer);
INSERT INTO stream
SELECT t, b, CASE WHEN b THEN B'1' ELSE B'0' END, (t - 1) / 100, (t - 1) / 10
FROM (SELECT t, hashint8(t) % 3 = 0 AS b FROM generate_series(1, :rows::bigint) AS t) AS bits;
CREATE INDEX stream_boolean ON stream (t) INCLUDE (b);
CREATE INDEX stream_bit ON stream (t) INCLUDE (b1);
CREATE INDEX stream_of_100 ON stream (p100, t) INCLUDE (b);
CREATE INDEX stream_of_10 ON stream (p10, t) INCLUDE (b);
CREATE UNLOGGED TABLE days AS SELECT ((i - 1) * 730 / (2 * :rows::bigint))::integer AS day, b FROM stream, LATERAL (VALUES (t), (t + :rows)) AS twice (i);
VACUUM (FREEZE, ANALYZE) stream, days;
SQL

# Real flights in order of departure; :file is a CSV of departure, delay, origin.
our $setup_flights = <<'SQL';
CREATE UNLOGGED TABLE flights (id bigint GENERATED ALWAYS AS IDENTITY, departure timestamp, delay integer, origin text);
COPY flights (departure, delay, origin) FROM :'file' WITH (FORMAT csv, HEADER);
CREATE INDEX flights_in_order ON flights (id) INCLUDE (delay);
VACUUM (FREEZE, ANALYZE) flights;
SQL

my $columns = [['k = 19', K => 19], ['default', K => 'NULL']];
my $range   = 'OVER (ORDER BY t)';
my $frame   = 'OVER (ORDER BY t ROWS UNBOUNDED PRECEDING)';
my $p100    = 'OVER (PARTITION BY p100 ORDER BY t)';
my $p10     = 'OVER (PARTITION BY p10 ORDER BY t)';
my $flights = 'OVER (ORDER BY id)';

# Two years of days, as PostgreSQL likes best; with workers their processor time is not the backend's.
my @by_day = map { "enable_$_ = on" } qw(sort seqscan hashagg);
my $by_day = 'day, sum(count(*) FILTER (WHERE b)) OVER (ORDER BY day)';
my $private_by_day = 'day, ' . running_sum('count(*) FILTER (WHERE b)', 'NULL') . ' OVER (ORDER BY day)';

# A group's lines run interleaved. `from` with `head` selects its first PART rows. With `settings` of its own
# rows may come in any order.
sub groups
{
    my ($rows, $flight_rows) = @_;
    my $few = $rows / 10;
    return (
        # The window function ignores the frame, PostgreSQL does not: under RANGE, the default, it compares
        # each row with the next to find the frame's end. The aggregate is refused over ROWS. The window function
        # compares rows itself, to refuse ties: so it is held against what compares them, over either frame.
        { name => 'one stream', rows => $rows, from => 'stream', head => 't <= PART', columns => $columns, lines => [
            ['sum, RANGE',                               "sum(b::int) $range"],
            ['window, horizon, COLUMN, RANGE',           window('N') . " $range",    'sum, RANGE', [1.05, 1.05]],
            ['aggregate, horizon, COLUMN, RANGE',        aggregate('N') . " $range", 'sum, RANGE', [1.15, 1.30]],
            ['window, row count, 1 GB, COLUMN, RANGE',   window('NULL') . " $range", 'sum, RANGE', [1.00, 1.00], '1GB'],
            ['window, row count, 256 MB, COLUMN, RANGE', window('NULL') . " $range", 'sum, RANGE', [1.00, 1.00], '256MB'],
            ['window, row count, 4 MB, COLUMN, RANGE',   window('NULL') . " $range", 'sum, RANGE', [1.60, 1.65]],
            ['dp_running_sum, horizon, COLUMN, RANGE',   running_sum('b::int', 'N') . " $range", 'sum, RANGE', [1.10, 1.15]],
            ['aggregate, no horizon, RANGE',             aggregate('NULL') =~ s/K/NULL/r . " $range", 'sum, RANGE'],
            ['count FILTER, RANGE',                      "count(*) FILTER (WHERE b) $range", 'sum, RANGE'],
            ['row_number, RANGE',                        "row_number() $range", 'sum, RANGE'],
            ['sum, ROWS',                                "sum(b::int) $frame"],
            ['window, horizon, COLUMN, ROWS',            window('N') . " $frame",    'sum, RANGE', [1.05, 1.05]],
            ['window, row count, 1 GB, COLUMN, ROWS',    window('NULL') . " $frame", 'sum, RANGE', [1.00, 1.00], '1GB'],
            ['window, row count, 4 MB, COLUMN, ROWS',    window('NULL') . " $frame", 'sum, RANGE', [1.60, 1.65]],
        ] },
        { name => 'by day', rows => 2 * $rows, from => 'days', head => 'day < 73', tail => 'GROUP BY day', settings => [@by_day], columns => $columns, lines => [
            ['sum',                    $by_day],
            ['dp_running_sum, COLUMN', $private_by_day, 'sum', [1.02, 1.02]],
            ['dp_laplace',             'SELECT day, dp_laplace(n, 1.0, 1) FROM (SELECT day, count(*) FILTER (WHERE b) AS n FROM days GROUP BY day) AS exact', 'sum'],
        ] },
        { name => 'by day, two workers', rows => 2 * $rows, from => 'days', head => 'day < 73', tail => 'GROUP BY day',
          settings => [@by_day, 'max_parallel_workers_per_gather = 2'], columns => $columns, lines => [
            ['sum',                    $by_day],
            ['dp_running_sum, COLUMN', $private_by_day, 'sum', [1.05, 1.05]],
            ['dp_count',               'day, dp_count(b, 1.0)', 'sum'],
        ] },
        { name => 'error bars', rows => 1_000_000, from => 'generate_series(1, 1000000) AS t', head => 't <= PART', lines => [
            ['dp_interval, k = 19',  'dp_interval(t, t, N, 1.0, 0.95, 19)'],
            ['streams of 730 days', 'dp_interval(t, t % 730 + 1, 730, 1.0)', 'dp_interval, k = 19'],
            ['the same, since a week before', 'dp_interval(t, t % 730 + 1, 730, 1.0, since_step => greatest(t % 730 - 6, 0))', 'dp_interval, k = 19'],
        ] },
        { name => 'partitions of 100', rows => $rows, from => 'stream', head => 'p100 < PART / 100', columns => $columns, lines => [
            ['sum',            "sum(b::int) $p100"],
            ['window, COLUMN', window('NULL') . " $p100", 'sum', [0.95, 1.00]],
        ] },
        { name => 'partitions of 10', rows => $rows, from => 'stream', head => 'p10 < PART / 10', columns => $columns, lines => [
            ['sum',            "sum(b::int) $p10"],
            ['window, COLUMN', window('NULL') . " $p10", 'sum', [1.00, 1.00]],
            map { ["window, horizon $_, COLUMN", window($_) . " $p10", 'sum', [1.10, 1.25]] } qw(1e3 1e6 1e9),
        ] },
        { name => 'GROUP BY, groups of 100', rows => $rows, from => 'stream', head => 'p100 < PART / 100', tail => 'GROUP BY p100', columns => $columns, lines => [
            ['count(*)',          'p100, count(*)'],
            ['aggregate, COLUMN', 'p100, ' . aggregate(100), 'count(*)', [1.15, 1.30]],
            ['dp_count',          'p100, dp_count(b, 1.0)', 'count(*)'],
        ] },
        { name => 'flights, more than 15 minutes late', rows => $flight_rows, from => 'flights', head => 'id <= PART', columns => $columns, lines => [
            ['sum',                       "sum((delay > 15)::int) $flights"],
            ['window, row count, COLUMN', window('NULL', 'delay > 15') . " $flights", 'sum'],
        ] },
        { name => 'every mechanism, horizon given', rows => $few, from => 'stream', head => 't <= PART',
          columns => [['epsilon = 1', EPSILON => 1], ['epsilon = 0.01', EPSILON => 0.01]], lines => [
            ['sum',                    "sum(b::int) $range"],
            ['sum, bit(1)',            "sum(b1::int) $range"],
            ['bit(1), k = 19, COLUMN', "dp_running_count(b1, EPSILON, 19, NULL::text, N) $range", 'sum, bit(1)'],
            map { my $mechanism = $_;
                map { ["$mechanism, k = $_, COLUMN", "dp_running_count(b, EPSILON, " . ($_ eq 'auto' ? 'NULL' : $_) . ", '$mechanism', N) $range", 'sum'] }
                    2, 7, 19, 101, 'auto' } qw(subtraction plain hat),
        ] },
        # The same rows as many streams of T rows; beyond their number, the head of one.
        { name => 'horizons', rows => 2 * $few, columns => $columns, lines => [
            map { my $length = 10**$_ < 2 * $few ? 10**$_ : 2 * $few;
                ["T = 1e$_, COLUMN", "SELECT s.* FROM generate_series(0, PART / $length - 1) AS i, LATERAL (SELECT "
                    . window("1e$_") . " $frame FROM stream WHERE t > i::bigint * $length AND t <= (i::bigint + 1) * $length) AS s"] } 3 .. 8,
        ] },
    );
}

1;
