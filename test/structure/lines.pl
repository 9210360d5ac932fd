#!/usr/bin/perl
# Lines of tests: at most 140 columns, or so many without the longest literal, which is not broken.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Find qw(find);
use Test::More;

chdir dirname(abs_path($0)) . '/../..' or die $!;

my $most    = 140;
my $literal = qr/'(?:[^']|'')*'|"(?:[^"\\]|\\.)*"|\bq[qr]?\{.*\}|\bqr\/.*\/|=~ \/.*\/|\$\$.*?\$\$/;
my %lines_are_statements = ('test/t/nested_budgets.pl' => 1); # for psql's \g

my @files;
find({ no_chdir => 1, wanted => sub { push @files, $_ if /\.(?:sql|spec|pl|pm|cpp|hpp|sh)$/ } }, 'test');
my @long;
for my $file (grep { !$lines_are_statements{$_} } sort @files) {
    open my $in, '<:encoding(UTF-8)', $file or die "$file: $!";
    while (my $line = <$in>) {
        chomp $line;
        next if length $line <= $most;
        my ($longest) = sort { $b <=> $a } 0, map { length } $line =~ /($literal)/g;
        push @long, "$file:$.: " . (length($line) - $longest) if length($line) - $longest > $most;
    }
}
cmp_ok(scalar @files, '>', 200, 'there are tests');
is(join("\n", @long), '', "no line of a test has more than $most columns beside a literal");
done_testing();
