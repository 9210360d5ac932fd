#!/usr/bin/perl
# The reference is whole: docs/reference.md has a heading and an example for each function,
# procedure, aggregate and view that SQL makes for users, with the type and the default of each
# argument, and no heading for anything else.
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

sub kind_of {
    my ($what, $rest) = @_;
    return
        $what ne 'FUNCTION'             ? lc $what
      : $rest =~ /RETURNS \S*trigger$/m ? 'trigger function'
      : $rest =~ /^LANGUAGE c WINDOW/m  ? 'window function'
      :                                   'function';
}

# By heading: the types and defaults of each argument and OUT column, in all overloads but those
# that are always an error. dp_counter_create has defaults that it refuses, to show the way out.
my %made;
my %required = map { ("dp_counter_create: function $_" => 1) }
  qw(name source epsilon every since);
$required{'dp_source_suggest: procedure since'} = 1; # after arguments that have defaults
my $sql = join '', map { slurp($_) } glob 'sql/install/*.sql';
while ($sql =~ /^CREATE (FUNCTION|PROCEDURE|AGGREGATE|VIEW) (dp_\w+)\b(?!\.)(.*?;)$/gms) {
    my ($what, $name, $rest) = ($1, $2, $3);
    my $heading = "$name: " . kind_of($what, $rest);
    next if $rest =~ /_(?:missing|mistake|text|number)\b/;
    my $arguments = $made{$heading} //= {};
    next if $what eq 'VIEW';
    my ($list) = $rest =~ /^\s*\((.*?)\s*\)\s*(?:RETURNS|LANGUAGE|\()/s or die "$name: no list";
    for my $argument (split /,\s*/, $list =~ s{pg_catalog\.|"}{}gr) {
        next if $what eq 'AGGREGATE' && $argument =~ /^\s*(?:double precision|\w+)$/; # no name
        my ($out, $argument_name, $type, $default) =
          $argument =~ /^\s*(OUT )?(\w+) (.+?)(?: DEFAULT (\S+))?$/ or die "$name: $argument";
        $default = 'required' if !defined $default || $required{"$heading $argument_name"};
        $type = 'timestamp' if $type eq 'any' && $name ne 'dp_own_window';
        $arguments->{$argument_name}{ $out ? "$type |" : "$type | $default |" } = 1;
    }
}
cmp_ok(scalar keys %made, '>', 30, 'there are functions');

my %sections = slurp('docs/reference.md') =~ /^### (dp_\w+: [\w ]+)\n(.*?)(?=^##? |^### |\z)/gms;
is(join("\n", grep { !exists $sections{$_} } sort keys %made),
    '', 'docs/reference.md has a heading "### NAME: KIND" for each');
is(join("\n", grep { !exists $made{$_} } sort keys %sections),
    '', 'docs/reference.md has no heading for what sql/install does not make');

for my $heading (sort grep { exists $sections{$_} } keys %made) {
    my $section = $sections{$heading};
    my ($other) = $section =~ /^With the arguments of \[(\w+)\]/m; # whose section has them
    my @wrong;
    for my $name (sort keys %{ $made{$heading} }) {
        push @wrong, $name
          if !($other && $made{"$other: function"}{$name})
          && !grep { index($section, "\n| `$name` | $_") >= 0 } keys %{ $made{$heading}{$name} };
    }
    is(join(' ', @wrong), '', "$heading: arguments");
    like($section, qr/^```sql\n/m, "$heading: an example");
}
done_testing();
