#!/usr/bin/perl
# The reference is whole: whatever SQL makes for users stands in docs/reference.md.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use Test::More;

chdir dirname(abs_path($0)) . '/../..' or die $!;

sub slurp {
    my ($path) = @_;
    open my $in, '<', $path or die "$path: $!";
    local $/;
    return <$in>;
}

my %made = map { $_ => 1 } slurp('sql/dp_counter.sql') =~ /^CREATE (?:FUNCTION|PROCEDURE|AGGREGATE|VIEW) (dp_\w+)(?!\w|\.)/gm;
delete $made{dp_counter_dropped}; # the event trigger's
cmp_ok(scalar keys %made, '>', 20, 'there are functions');
my %told = map { $_ => 1 } slurp('docs/reference.md') =~ /\b(dp_\w+)/g;
is(join(' ', grep { !$told{$_} } sort keys %made), '', 'all of them stand in docs/reference.md');
done_testing();
