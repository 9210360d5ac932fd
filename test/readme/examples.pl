#!/usr/bin/perl
# Runs the SQL examples of the documentation and compares what psql prints with what the page shows.
#
# Every ```sql block of a page runs, in order, in a scratch database and a scratch folder of the page's own. The server is
# the one that libpq's environment variables name. A ```text block right after it is the output that the page
# promises; without one the example just has to run. Cells are compared whole, headers and row counts
# too. As noise cannot be compared, an HTML comment before the block can say more:
#
# <!-- example: noise in private, error --> numbers in these columns may be any number, any range of integers of this
# length, or any range of fractions
#   <!-- example: fails -->                     the output shows an error: ERROR, DETAIL and HINT are compared
#   <!-- example: not run -->                   a fragment
#   <!-- example: shell -->                     before a ```sh block: bash runs it, in the same folder and database
#   <!-- setup                                  SQL that the reader does not see
#   CREATE EXTENSION dp_counter;
#   -->
#
# Usage: prove test/readme/examples.pl [:: FILE...]; default README.md and docs/*.md.

use strict;
use warnings;
use Cwd qw(getcwd);
use File::Basename qw(dirname);
use File::Temp ();
use Test::More;

chdir dirname(__FILE__) . '/../..' or die "no repository: $!";
my $root = getcwd();
my @pages = map { "$root/$_" } @ARGV ? @ARGV : ('README.md', sort glob 'docs/*.md');

for my $page (@pages)
{
    my $database = "dp_examples_$$";
    my $folder = File::Temp->newdir;
    chdir $folder or die "$folder: $!";
    symlink "$root/$_", $_ or die "symlink: $!" for qw(test tools); # the flights, the plot
    (my $page_name = $page) =~ s{^\Q$root\E/}{};
    psql('postgres', "CREATE DATABASE $database") and die "cannot create $database\n";
    for my $example (examples_of($page))
    {
      SKIP: {
            skip "no gnuplot", 1 if $example->{sql} =~ m{gnuplot|tools/plot} && system('command -v gnuplot >/dev/null');
            my ($status, $output) = $example->{shell} ? shell($database, $example->{sql}) : psql($database, $example->{sql});
            check("$page_name:$example->{line}", $example, $status, $output);
        }
    }
    chdir $root;
    psql('postgres', "DROP DATABASE $database WITH (FORCE)");
}
done_testing();

# The examples of a page: line, sql, expected (if the page shows output), fails, noisy.
sub examples_of
{
    my ($page) = @_;
    open my $file, '<', $page or die "$page: $!";
    my (@examples, %options);
    my $block;       # the fenced block or the set-up that we are in
    my $awaiting;    # the example whose output may come next
    while (my $line = <$file>)
    {
        if ($block && $line !~ $block->{end}) { $block->{text} .= $line }
        elsif ($block)
        {
            if ($block->{language} eq 'text' && $awaiting) { $awaiting->{expected} = $block->{text} }
            undef $awaiting;
            if ($block->{language} eq ($options{shell} ? 'sh' : 'sql'))
            {
                my $example = { line => $block->{line}, sql => $block->{text}, noisy => {}, %options };
                push @examples, $awaiting = $example unless $options{skip};
                %options = ();
            }
            undef $block;
        }
        elsif ($line =~ /^```(\w*)/)    { $block = { language => $1,    line => $., text => '', end => qr/^```/ } }
        elsif ($line =~ /^<!-- setup$/) { $block = { language => 'sql', line => $., text => '', end => qr/^-->/ } }
        elsif ($line =~ /\S/)
        {
            undef $awaiting;
            %options = (%options, option($1, "$page:$.")) if $line =~ /^<!-- example: (.*?) -->/;
        }
    }
    return @examples;
}

sub option
{
    my ($text, $where) = @_;
    return (fails => 1) if $text eq 'fails';
    return (skip => 1)  if $text eq 'not run';
    return (shell => 1) if $text eq 'shell';
    return (noisy => { map { $_ => 1 } split /, */, $1 }) if $text =~ /^noise in (.*)/;
    die "$where: unknown: $text\n";
}

# Runs a script and returns psql's exit status and what it printed, as a reader sees it.
sub psql
{
    my ($database, $sql) = @_;
    $sql =~ s/\$__timeFilter\(([^)]*)\)/$1 BETWEEN '2000-01-01T00:00:00Z' AND '2999-12-31T23:59:59.9Z'/g; # as Grafana does
    my $script = File::Temp->new;
    print $script "\\pset pager off\n$sql";
    $script->flush;
    my $output = `psql -X -q -v ON_ERROR_STOP=1 -d $database -f $script 2>&1`;
    my $status = $?;
    $output =~ s/^psql:\S+:\d+: //mg;
    return ($status, $output);
}

sub shell
{
    my ($database, $script) = @_;
    local $ENV{PGDATABASE} = $database;
    open my $bash, '-|', 'bash', '-c', "set -euo pipefail\nexec 2>&1\n$script" or die "bash: $!";
    my $output = do { local $/; <$bash> };
    close $bash;
    return ($?, $output // '');
}

sub check
{
    my ($name, $example, $status, $output) = @_;
    my $as_told = $example->{fails} ? $status != 0 : $status == 0;
    if (!$as_told)
    {
        fail($name);
        diag($example->{fails} ? 'should fail but printed:' : 'failed:', "\n", $output);
    }
    elsif ($example->{fails})
    {
        is(complaint($output), complaint($example->{expected} // ''), $name);
    }
    elsif (defined $example->{expected})
    {
        my %noisy = %{ $example->{noisy} };
        is(comparable($output, %noisy), comparable($example->{expected}, %noisy), $name)
          or diag("psql printed:\n$output");
    }
    else { pass($name) }
    return;
}

# The lines of an error that do not depend on how the statement was typed. A page may go on in an indented line.
sub complaint
{
    my ($output) = @_;
    $output =~ s/\n +/ /g;
    return join '', grep { /^(ERROR|DETAIL|HINT):/ } split /^/, $output;
}

# psql's output without what may differ: alignment, blank lines, and numbers in noisy columns.
sub comparable
{
    my ($output, %noisy) = @_;
    my @lines = grep { /\S/ } split /\n/, $output;
    my (@header, @comparable);
    for my $i (0 .. $#lines)
    {
        my $line = $lines[$i];
        next if $line =~ /^[-+]+$/;
        my @cells = map { s/^\s+|\s+$//gr } split /\|/, $line, -1;
        if ($i < $#lines && $lines[ $i + 1 ] =~ /^[-+]+$/) { @header = @cells }
        elsif (@cells == @header)
        {
            for my $column (0 .. $#cells)
            {
                next unless $noisy{ $header[$column] };
                $cells[$column] =~ s/^-?[\d.]+$/(a number)/;
                # How wide an interval is, is no noise, where it was not cut off at 0.
                $cells[$column] =~ s/^\[-?[\d.]+,-?[\d.]+\]$/(a range of fractions)/;
                $cells[$column] =~ s/^\[(-?\d+),(-?\d+)\)$/$1 < 13 ? '(a range)' : '(a range of ' . ($2 - $1) . ')'/e;
            }
        }
        push @comparable, join ' | ', @cells;
    }
    return join "\n", @comparable, '';
}
