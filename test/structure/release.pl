#!/usr/bin/perl
# What a release consists of: one version everywhere, a META.json that PGXN takes (its specification 1.0.0,
# https://pgxn.org/spec/), and an archive that is the same whenever and wherever it is made.
use strict;
use warnings;
use Cwd qw(abs_path);
use Digest::SHA;
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use IO::Uncompress::Unzip qw($UnzipError);
use JSON::PP;
use Test::More;

chdir dirname(abs_path($0)) . '/../..' or die $!;

sub slurp {
    my ($path) = @_;
    open my $in, '<:raw', $path or die "$path: $!";
    local $/;
    return <$in>;
}

my $meta = decode_json(slurp('META.json'));

# --- the version ---------------------------------------------------------------------------------
my ($version) = slurp('dp_counter.control') =~ /^default_version = '([^']+)'/m;
like($version, qr/^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)$/, 'default_version is a semantic version');
is($meta->{version}, $version, "META.json: version");
is($meta->{provides}{dp_counter}{version}, $version, 'META.json: version of what it provides');
my ($logged) = slurp('CHANGELOG.md') =~ /^## \[([\d.]+)\]/m;
is($logged, $version, 'CHANGELOG.md: the newest section');
my ($packaged) = slurp('debian/changelog') =~ /^dp-counter \(([\d.]+)-\d+\) /;
is($packaged, $version, 'debian/changelog: the newest entry');
my $control = slurp('debian/control.in') =~ s/PGVERSION/15/gr;
is(slurp('debian/control'), $control, 'debian/control is what pg_buildext makes of debian/control.in for Debian 12');
ok(-e "test/upgrade/dp_counter--$version.txt", "test/upgrade has the listing of $version");

# --- tools/release: on a copy of what it writes to --------------------------------------------------
my $copy = tempdir(CLEANUP => 1);
mkdir "$copy/$_" or die $! for qw(tools debian);
for my $file (qw(tools/release dp_counter.control META.json debian/changelog)) {
    open my $out, '>:raw', "$copy/$file" or die $!;
    print $out slurp($file);
    close $out or die $!;
}
chmod 0755, "$copy/tools/release" or die $!;
open my $log, '>', "$copy/CHANGELOG.md" or die $!;
print $log "# Changelog\n\n## [3.4.5] - unreleased\n\n" . slurp('CHANGELOG.md') =~ s/^# Changelog\n//r;
close $log or die $!;
isnt(system("$copy/tools/release 3.4.6 >/dev/null 2>&1"), 0, 'a release needs its section in the change log');
is(system("$copy/tools/release 3.4.5 2030-01-02 >/dev/null"), 0, 'tools/release');
like(slurp("$copy/dp_counter.control"), qr/^default_version = '3\.4\.5'$/m,                        'dp_counter.control has the version');
like(slurp("$copy/CHANGELOG.md"),       qr/^## \[3\.4\.5\] - 2030-01-02$/m,                        'CHANGELOG.md has the day');
like(slurp("$copy/debian/changelog"),   qr/\Adp-counter \(3\.4\.5-1\) .*  Wed, 02 Jan 2030 00:00:00/s, 'debian/changelog has both');
my $released = decode_json(slurp("$copy/META.json"));
is(join(' ', $released->{version}, $released->{provides}{dp_counter}{version}, $released->{'meta-spec'}{version},
	$released->{release_status}),
    '3.4.5 3.4.5 1.0.0 stable', 'META.json has the version, where it is ours');

# --- META.json -----------------------------------------------------------------------------------
my $term   = qr{^[^\s/\\[:cntrl:]]{2,}$};
my $semver = qr/^\d+\.\d+\.\d+(?:-?[A-Za-z][0-9A-Za-z-]*)?$/;
my $range  = qr/^(?:0|(?:(?:[<>]=?|[!=]=)?\s*\d+\.\d+\.\d+(?:-?[A-Za-z][\w-]*)?)(?:\s*,\s*(?:[<>]=?|[!=]=)?\s*\d+\.\d+\.\d+)*)$/;
my %licence = map { $_ => 1 } qw(agpl_3 apache_1_1 apache_2_0 artistic_1 artistic_2 bsd freebsd gfdl_1_2 gfdl_1_3
    gpl_1 gpl_2 gpl_3 lgpl_2_1 lgpl_3_0 mit mozilla_1_0 mozilla_1_1 openssl perl_5 postgresql qpl_1_0 ssleay sun
    zlib open_source restricted unrestricted unknown);
my @required = qw(name version abstract maintainer license provides meta-spec);
my @optional = qw(description generated_by tags no_index prereqs release_status resources);
my %known    = map { $_ => 1 } @required, @optional;

is(join(' ', grep { !defined $meta->{$_} || $meta->{$_} eq '' } @required), '', 'all required keys are there');
is(join(' ', grep { !$known{$_} && !/^x_/i } sort keys %$meta), '', 'and no unknown ones');
like($meta->{name}, $term, 'name is a term');
ok($licence{ $meta->{license} }, 'license is one of the list');
is($meta->{'meta-spec'}{version}, '1.0.0', 'meta-spec');
like($meta->{release_status} // 'stable', qr/^(?:stable|testing|unstable)$/, 'release_status');
is(join(' ', grep { ref || !length || length > 255 || m{[/\\[:cntrl:]]} } @{ $meta->{tags} // [] }), '', 'tags');
for my $name (sort keys %{ $meta->{provides} }) {
    my $it = $meta->{provides}{$name};
    like($name, $term, "$name is a term");
    like($it->{version} // '', $semver, "$name: version");
    ok(-f ($it->{file} // ''), "$name: file is in the archive");
    ok(!exists $it->{docfile} || -f $it->{docfile}, "$name: docfile is in the archive");
    is(join(' ', grep { !/^(?:file|version|abstract|docfile|x_.*)$/ } sort keys %$it), '', "$name: no unknown keys");
}
for my $phase (sort keys %{ $meta->{prereqs} // {} }) {
    like($phase, qr/^(?:configure|build|test|runtime|develop)$/, "prereqs: phase $phase");
    for my $relation (sort keys %{ $meta->{prereqs}{$phase} }) {
        like($relation, qr/^(?:requires|recommends|suggests|conflicts)$/, "prereqs: relation $relation");
        my $needed = $meta->{prereqs}{$phase}{$relation};
        like($needed->{$_}, $range, "prereqs: version of $_") for sort keys %$needed;
    }
}

# --- the archive ---------------------------------------------------------------------------------
my $top = 'CHANGELOG.md CONTRIBUTING.md LICENSE META.json Makefile README.md SECURITY.md bench debian demo docs dp_counter.control '
    . 'expected quickstart sql src test tools';
SKIP: {
    skip 'not in a git repository', 5 if system('git rev-parse --verify -q HEAD >/dev/null 2>&1') != 0;
    my $dir = tempdir(CLEANUP => 1);
    my @archives = map {
        local $ENV{TZ} = $_;
        local $ENV{MAKEFLAGS} = '';
        my $made = "$dir/" . ($_ eq 'UTC' ? 1 : 2);
        system("make -s dist DIST_DIR=$made >&2") == 0 or die 'make dist failed';
        "$made/dp_counter-$version.zip";
    } 'UTC', 'Asia/Tokyo';
    is(Digest::SHA->new(256)->addfile($archives[0])->hexdigest,
        Digest::SHA->new(256)->addfile($archives[1])->hexdigest, 'two archives are equal to the byte');

    my @names;
    my $zip = IO::Uncompress::Unzip->new($archives[0]) or die $UnzipError;
    do { push @names, $zip->getHeaderInfo->{Name} } while $zip->nextStream > 0;
    is(join(' ', grep { !m{^dp_counter-\Q$version\E/} } @names), '', 'all under one folder');
    my %has = map { s{^[^/]+/}{}r => 1 } @names;
    is(join(' ', grep { !$has{$_} } qw(META.json Makefile dp_counter.control sql/install/queries.sql README.md LICENSE
        CHANGELOG.md)), '', 'what PGXN and a build need is in it');
    is(join(' ', grep { /\.(?:o|so|d|zip)$|^build/ } sort keys %has), '', 'and nothing that was built');
    my %top = map { s{/.*}{}r => 1 } keys %has;
    is(join(' ', sort grep { length && !/^\./ } keys %top), $top, 'nor a file that was left at the top by mistake');
}

done_testing();
