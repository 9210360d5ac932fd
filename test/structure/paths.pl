#!/usr/bin/perl
# The maps do not rot: every path that they name exists, and every `path:name` has that name in it.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use Test::More;

chdir dirname(abs_path($0)) . '/../..' or die $!;

# Paths are in backquotes and begin with something in the root folder; a room's README names its own files as they
# are. `*` is a wildcard.
my @maps = ('CONTRIBUTING.md', 'docs/architecture.md', 'docs/derivation.md', 'test/README.md',
    glob('docs/decisions/*.md'), glob('src/pg/*/README.md'));

for my $map (@maps) {
    open my $in, '<', $map or die "$map: $!";
    my $text = do { local $/; <$in> };
    $text =~ s/^```.*?^```//gms;
    my (@missing, $paths);
    for my $quoted ($text =~ /`([^`\s]+)`/g) {
        my ($path, $name) = $quoted =~ m{^([\w.*/-]+?)(?::([\w:~]+))?$} or next;
        $path =~ s{/$}{};
        $path = dirname($map) . "/$path" if $map =~ m{^src/} && $path =~ m{^\w+\.[ch]pp$};
        my ($first) = $path =~ m{^([^/]+)};
        next unless -e ($first // '') && ($path =~ m{/} || $path =~ /\.\w+$/ || $path eq 'Makefile');
        next if $path =~ m{^build(/|$)};
        $paths++;
        my @found = glob($path);
        if (!@found || !-e $found[0]) { push @missing, $path; next }
        next if !$name;
        my ($last) = $name =~ /(\w+)$/;
        push @missing, "$path: $name" if !grep { contains($_, $last) } @found;
    }
    ok($paths, "$map names paths") if $map =~ m{architecture|CONTRIBUTING|^test|^src};
    is(join("\n", @missing), '', "$map: they exist");
}

sub contains {
    my ($path, $word) = @_;
    open my $in, '<', $path or return 0;
    my $text = do { local $/; <$in> };
    return $text =~ /\b\Q$word\E\b/;
}

done_testing();
