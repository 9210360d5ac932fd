#!/usr/bin/perl
# Google Benchmark's JSON on standard input, a line of CSV for each repetition on standard output.
use strict;
use warnings;
use JSON::PP ();

local $/ = undef;
my $runs = JSON::PP::decode_json(scalar <STDIN>)->{benchmarks};
print "series,round,ns,cpu_ns,bytes\n";
for my $run (@$runs)
{
    next unless $run->{run_type} eq 'iteration';
    my ($name) = $run->{run_name} =~ m{^(\w+/[^/]+/[^/]+(?:/(?!iterations)[^/]+)?)};
    printf "%s,%d,%.3f,%.3f,%d\n", $name, $run->{repetition_index} + 1, $run->{real_time},
        $run->{cpu_time}, $run->{bytes} // 0;
}
