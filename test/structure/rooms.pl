#!/usr/bin/perl
# The rooms of src/ and the arrows between them: what a room may include is written here and nowhere else.
# docs/architecture.md says what each promises. No server, no build: it reads the #includes.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Find qw(find);
use Test::More;

chdir dirname(abs_path($0)) . '/../..' or die $!;

# From the ground up, in floors: a room may include itself and those that it names here, which come earlier in
# this list. Rooms of one floor are strangers.
my @core  = qw(core/base core/noise core/tree core/hat core/count core/accuracy core/literature);
my @floor = map { "pg/$_" } qw(server tables);
my @third = map { "pg/$_" } qw(steps calendar budgets vetting worker);
my @rooms = (
    ['core/base'],
    ['core/noise',      'core/base'],
    ['core/tree',       'core/base', 'core/noise'],
    ['core/hat',        'core/base', 'core/noise'],
    ['core/count',      'core/base', 'core/noise', 'core/tree', 'core/hat'],
    ['core/accuracy',   @core[0 .. 4]],
    ['core/literature', @core[0 .. 5]],
    ['pg/server',       @core],
    ['pg/tables',       'pg/server', @core],
    ['pg/worker',       'pg/server', @core],
    ['pg/query',        'pg/server', @core],
    ['pg/calendar',     'pg/server', @core],
    ['pg/vetting',      @floor, @core],
    ['pg/budgets',      @floor, @core],
    ['pg/steps',        @floor, @core],
    ['pg/events',       @floor, 'pg/steps', @core],
    ['pg/persons',      @floor, 'pg/worker', 'pg/vetting', @core],
    ['pg/sources',      @floor, @third, 'pg/persons', @core],
    ['pg/planner',      @floor, 'pg/calendar', 'pg/budgets', 'pg/events', 'pg/sources', @core],
    ['pg/reports',      @floor, @third, 'pg/persons', 'pg/sources', @core],
    ['pg/counters',     @floor, @third, 'pg/events', 'pg/sources', @core],
    ['pg',              @floor, 'pg/query', 'pg/budgets', 'pg/events', @core],
);

my (%may, @order);
for my $entry (@rooms) {
    my ($room, @below) = @$entry;
    my @unknown = grep { !$may{$_} } @below;
    is("@unknown", '', "$room stands above what it may include");
    $may{$room} = { map { $_ => 1 } $room, @below };
    push @order, $room;
}

my @files;
find({ no_chdir => 1, wanted => sub { push @files, $_ if /\.(?:[ch]pp|inc)$/ } }, 'src');
s{^src/}{} for @files;

my (%includes, %inhabitants, @strays, @upward, @foreign);
for my $file (sort @files) {
    my $room = dirname($file);
    if (!$may{$room}) { push @strays, $file; next }
    $inhabitants{$room}++;
    open my $in, '<', "src/$file" or die "$file: $!";
    while (my $line = <$in>) {
        my ($included) = $line =~ /^\s*#\s*include\s+"([^"]+)"/ or next;
        if ($included =~ m{^(?:core|pg)/}) {
            push @{ $includes{$file} }, $included;
            push @upward, "$file includes $included" if !$may{$room}{ dirname($included) };
        } elsif ($room =~ m{^core}) {
            push @foreign, "$file includes $included";
        }
    }
}
is(join("\n", @strays),  '', 'every file lies in a room');
is(join("\n", @upward),  '', 'no include goes upwards or to a stranger');
is(join("\n", @foreign), '', 'the core includes no header of the server');
is(join(' ', grep { !$inhabitants{$_} } @order), '', 'no room is empty');
is(join(' ', grep { m{^pg/} && !-e "src/$_/README.md" } @order), '', "each room of the server's side has a README.md");

# Random bits come out of a begun release alone: their sources are named where they are made, and where a
# backend begins its releases.
my @sources = grep { !m{^core/noise/} && $_ !~ m{^pg/server/backend_random\.cpp$} && names_source($_) } sort @files;
is("@sources", '', 'no source of random bits is named outside core/noise and backend_random.cpp');
sub names_source {
    my ($file) = @_;
    open my $in, '<', "src/$file" or die "$file: $!";
    return grep { m{^(?!\s*//).*\b(?:RandomSource|Keystream|randombytes\w*|arc4random\w*|getrandom|pg_strong_random)\b}
        || m{noise/(?:keystream|random_source)\.hpp} } <$in>;
}

# The planner costs no privacy: nothing that it includes, at any distance, reads persons, states or random bits.
my %reached;
my @to_visit = grep { m{^pg/planner/} } @files;
while (my $file = shift @to_visit) { push @to_visit, grep { !$reached{$_}++ } @{ $includes{$file} // [] } }
my @secret = grep { m{^pg/(?:persons|steps|worker)/|/(?:streams_table|secret_memory|backend_random)\.hpp$} } sort keys %reached;
is("@secret", '', 'no file of the planner reaches persons, states, secret memory or random bits');

# A backend that loads the module must not construct libstdc++'s streams: big_integer.hpp keeps them out of Boost.
my @streams = grep { $_ ne 'core/base/big_integer.hpp' && includes_streams($_) } sort @files;
is("@streams", '', 'nobody includes <iostream>, or Boost, which does');
sub includes_streams {
    my ($file) = @_;
    open my $in, '<', "src/$file" or die "$file: $!";
    return grep { m{^\s*#\s*include\s+<(?:iostream|boost/)} } <$in>;
}

# Files of one room may include each other, but not in a circle.
my (%state, @circle);
sub visit {
    my ($file, @way) = @_;
    return if @circle || ($state{$file} // '') eq 'done';
    if (($state{$file} // '') eq 'open') { @circle = (@way, $file); return }
    $state{$file} = 'open';
    visit($_, @way, $file) for @{ $includes{$file} // [] };
    $state{$file} = 'done';
}
visit($_) for sort keys %includes;
is("@circle", '', 'no circle of includes');

done_testing();
