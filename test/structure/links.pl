#!/usr/bin/perl
# The pages lead where they say: every relative link of every page names a file, and its anchor a heading of that page.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use Test::More;

chdir dirname(abs_path($0)) . '/../..' or die $!;

sub page {
    my ($path) = @_;
    open my $in, '<:encoding(UTF-8)', $path or die "$path: $!";
    my $text = do { local $/; <$in> };
    return $text =~ s/^```.*?^```//gmsr;
}

# As GitHub makes them: lower case, blanks are hyphens, other signs go.
my %anchors;
sub anchors {
    my ($path) = @_;
    return $anchors{$path} //= { map { s/[^\w\- ]//gr =~ s/ /-/gr => 1 } map { lc } page($path) =~ /^#+ +(.*?)\s*$/gm };
}

my @pages = (glob('*.md'), glob('docs/*.md'), glob('docs/*/*.md'), glob('test/*.md'), glob('test/*/*.md'),
    glob('src/pg/*/*.md'));
for my $page (@pages) {
    my @broken;
    for my $link (page($page) =~ /\]\(([^)\s]+)\)/g) {
        next if $link =~ m{^[a-z]+://};
        my ($file, $anchor) = split /#/, $link, 2;
        my $target = $file eq '' ? $page : dirname($page) . "/$file";
        push @broken, $link if !-e $target || (defined $anchor && !anchors($target)->{$anchor});
    }
    is(join(' ', @broken), '', "$page: links");
}

open my $readme, '<', 'README.md' or die $!;
cmp_ok(scalar(() = <$readme>), '<', 200, 'README.md is read in ten minutes');
done_testing();
