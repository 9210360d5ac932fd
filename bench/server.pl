#!/usr/bin/perl
# Measures queries on the server that libpq's environment variables name, and prints a line of CSV
# for each measurement.
#
# Usage: server.pl ROUNDS ROWS ROWS_OF_SMALL_GROUPS ROWS_OF_FLIGHTS [GROUP...]
#
# The series of a group run interleaved, a b c, c b a, a b c, ..., so that a slower minute of the
# machine meets all of them. A warm-up on a tenth of the rows comes first and is not counted.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Series  ();
use Session ();

my ($rounds, $rows, $small_rows, $flights, @wanted) = @ARGV;

my @groups = (
    Series::ordered($rows),           Series::partitions($rows, 100),
    Series::partitions($rows, 10),    Series::groups_of_100($rows),
    Series::grid($small_rows),        Series::scaling(2 * $small_rows),
    ($flights ? Series::flights($flights) : ()),
);

$| = 1;
print "group,series,rows,round,ms,cpu_ms,temp_bytes,peak_bytes\n";
for my $group (@groups)
{
    next if @wanted && !grep { $_ eq $group->{name} } @wanted;
    print STDERR "    $group->{name}\n";
    my $session = Session->new;
    $session->ask("SET enable_$_ = off") for qw(sort seqscan bitmapscan hashagg);
    my @order = @{ $group->{series} };
    for my $round (0 .. $rounds)
    {
        for my $series (@order)
        {
            my $part = $round == 0 ? $group->{rows} / 10 : undef;
            $session->ask("SET work_mem = '" . ($series->{memory} // '4MB') . "'");
            my $result = $session->measure($series->{query}->($part));
            die "$series->{name}: rows do not come in order:\n$result->{plan}\n"
                if $result->{plan} =~ /Sort|Seq Scan|Heap Fetches: [1-9]/;
            next if $round == 0;
            printf qq{"%s","%s",%d,%d,%.3f,%.3f,%d,%d\n}, $group->{name}, $series->{name},
                $group->{rows}, $round, @$result{qw(ms cpu_ms temp_bytes peak_bytes)};
        }
        @order = reverse @order if $round > 0;
    }
    $session->close_session;
}
