# The page of tools/report in a browser, Debian's chromium: 200 counters with hostile names, light and dark, wide and
# narrow. It runs no script, loads nothing, draws every chart, and is nowhere wider than its window. The browser is asked
# through its debugger, so that the page's own policy stays in force. Screenshots are left in build/browser.
# Needs the extension created in no database yet, on the server that libpq's environment variables name.
use strict;
use warnings;
use utf8;
use Cwd qw(abs_path);
use Encode qw(decode_utf8 encode_utf8);
use FindBin;
use JSON::PP;
use MIME::Base64;
use POSIX ();
use Test::More;

binmode $_, ':utf8' for Test::More->builder->output, Test::More->builder->failure_output;
my $tree   = abs_path("$FindBin::RealBin/../..");
my $folder = "$tree/build/browser";
mkdir $_ for "$tree/build", $folder;

sub sql
{
    open my $psql, '|-', 'psql', '-X', '-q', '-o', '/dev/null', '-v', 'ON_ERROR_STOP=1' or die "psql: $!";
    print $psql encode_utf8("SET client_encoding = UTF8; SET client_min_messages = warning; $_[0]");
    close $psql or die 'psql failed';
    return;
}

my $counters = $ENV{BROWSER_COUNTERS} // 200;

# --- counters -------------------------------------------------------------------------------------------
my $script  = q{document.title = 'script'};
my @hostile = (
    "<script>$script</script>", "\"><img src=x onerror=\"$script\">", '</title><style>body { display: none }</style>',
    '<img src="http://192.0.2.1/x.png">', q{<link rel=stylesheet href="http://192.0.2.1/x.css">}, '&lt;b&gt; &amp;quot;',
    '-->]]></section>',
    "'; $script; //", "a\nb\tc", 'W' x 63, 'wide word ' x 6, 'עברית', '東京' x 10, '🙂', q{javascript:document.title='script'},
);
sub literal { return q{'} . $_[0] =~ s/'/''/gr . q{'}; }
sub identifier { return '"' . $_[0] =~ s/"/""/gr . '"'; }
my $groups = 'ARRAY[' . join(', ', map { literal($_) } @hostile) . ']';
sql(q{
    CREATE EXTENSION dp_counter;
    CREATE TABLE visits AS SELECT id AS person, timestamptz '2025-01-06' + id % 70 * interval '1 day' AS at, id % 3 = 0 AS flu,
        id % 100 AS cents, (} . $groups . q{)[1 + id % } . @hostile . q{] AS "<script>" FROM generate_series(1, 3000) AS id;
    CREATE VIEW visits_dp AS SELECT * FROM visits;
    SELECT dp_budget_create('patients', 1000);
    SELECT dp_source_create('visits_dp', budget => 'patients', person => 'person', at => 'at', time_zone => 'Asia/Tokyo');
} . join '', map { 'CALL dp_budget_spend(\'patients\', 0.1, ' . literal($_ x 4) . ");\n" } @hostile);
my @kinds = map { "per_person => 1$_" } ('', q{, by => '<script>', groups => } . $groups, q{, avg => 'cents', upper => 99},
    q{, share => 'flu', by => '<script>', groups => } . $groups, q{, histogram => 'cents', bins => '{0,10,20,30,40,50,60,70,80,90}'});
sql(join '', map {
    my $name = identifier(substr(($_ < @hostile ? '' : "$_ ") . $hostile[ $_ % @hostile ], 0, 20));
    my $kind = $kinds[ $_ % @kinds ];
    'SELECT dp_counter_create(' . literal($name) . ", source => 'visits_dp', epsilon => 1, every => '7 days', since => '2025-01-06',"
        . " horizon => 10, cumulative => false, $kind);\n";
} 0 .. $counters - 1);
sql('CALL dp_tick(\'visits_dp\');');
is(system("$tree/tools/report", '-o', "$folder/page.html"), 0, 'a page');

# --- the browser ----------------------------------------------------------------------------------------------
# Through --remote-debugging-pipe: it reads commands from descriptor 3 and writes answers to 4, each ended by a zero byte.
pipe(my $commands, my $ask)    or die $!;
pipe(my $answer,   my $answers) or die $!;
my $profile = `mktemp -d` =~ s/\n//r;
my $browser = fork // die $!;
if (!$browser)
{
    my @to = map { POSIX::dup(fileno $_) } ($commands, $answers), ($commands, $answers); # above 4
    POSIX::dup2($to[2], 3), POSIX::dup2($to[3], 4);
    open STDERR, '>', "$folder/chromium.log" or die $!;
    exec 'chromium', qw(--headless --no-sandbox --disable-gpu --disable-background-networking --no-first-run --remote-debugging-pipe),
        "--user-data-dir=$profile"
        or die "chromium: $!";
}
close $_ for $commands, $answers;
END
{
    local $?;
    if ($browser) { kill 'TERM', $browser; waitpid $browser, 0; system 'rm', '-rf', $profile; }
}

my ($asked, $session, %requests, $is_loaded) = (0);
sub receive
{
    local $/ = "\0";
    my $message = decode_json(<$answer> =~ s/\0//r);
    my ($event, $what) = ($message->{method} // '', $message->{params});
    $requests{ $what->{requestId} } = $what->{request}{url} if $event eq 'Network.requestWillBeSent';
    delete $requests{ $what->{requestId} } if $event eq 'Network.loadingFailed' && ($what->{blockedReason} // '') eq 'csp';
    $is_loaded = 1 if $event eq 'Page.loadEventFired';
    return $message;
}

sub ask
{
    my ($method, %parameters) = @_;
    $asked++;
    syswrite $ask, encode_json({ id => $asked, method => $method, params => \%parameters, $session ? (sessionId => $session) : () }) . "\0";
    while (1)
    {
        my $message = receive();
        next if ($message->{id} // 0) != $asked;
        die "$method: $message->{error}{message}" if $message->{error};
        return $message->{result};
    }
}

sub value { return ask('Runtime.evaluate', expression => $_[0], returnByValue => JSON::PP::true)->{result}{value}; }
my $target = ask('Target.createTarget', url => 'about:blank')->{targetId};
$session = ask('Target.attachToTarget', targetId => $target, flatten => JSON::PP::true)->{sessionId};
ask("$_.enable") for qw(Page Network Runtime);

# Opens a page; what it asked for besides itself, and its title.
sub open_page
{
    my ($file, $width, $scheme) = @_;
    ask('Emulation.setDeviceMetricsOverride', width => $width, height => 900, deviceScaleFactor => 1, mobile => JSON::PP::false);
    ask('Emulation.setEmulatedMedia', features => [ { name => 'prefers-color-scheme', value => $scheme } ]);
    %requests = (), $is_loaded = 0;
    ask('Page.navigate', url => "file://$file");
    receive() while !$is_loaded;
    return join ' ', (grep { !/^(?:data:image\/svg\+xml;base64,|file:\/\/\Q$file\E$)/ } sort values %requests), value('document.title');
}

my $title = 'What database ' . ($ENV{PGDATABASE} // getpwuid $<) . ' publishes';
for my $case ([ 1400, 'light' ], [ 1400, 'dark' ], [ 360, 'light' ], [ 360, 'dark' ])
{
    my ($width, $scheme) = @$case;
    my $name = "$width pixels, $scheme";
    is(open_page("$folder/page.html", $width, $scheme), $title, "$name: it asks for nothing, and runs nothing");
    is(value('document.querySelectorAll("section").length'), $counters + 1, 'a section for each counter and the budget');
    is(value('document.querySelectorAll("script, iframe, object, link, style ~ style, section style, img:not([src^=data])").length'), 0,
        'no element that is not its own');
    is(value('[...document.images].filter(i => !i.complete || i.naturalWidth < 400).length'), 0, 'every chart is drawn');
    is(value('document.images.length'), $counters, 'of every counter');
    cmp_ok(value('document.documentElement.scrollWidth'), '<=', $width, 'no wider than the window');
    is(value('[...document.querySelectorAll("h1, h2, h3, h4, p, li, .wide")].filter(e => e.getBoundingClientRect().right > innerWidth
        || !e.closest(".wide") && e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.slice(0, 40)).join("|")'), '',
        'nor is a part of it');
    is(value('getComputedStyle(document.body).color'), $scheme eq 'dark' ? 'rgb(255, 255, 255)' : 'rgb(0, 0, 0)', 'the text');
    is(value('getComputedStyle(document.images[0]).filter') ne 'none' ? 'dark' : 'light', $scheme, 'the charts');
    for my $place ([ 'top', 0 ], [ 'middle', 'document.querySelectorAll("section")[3].offsetTop' ])
    {
        value("window.scrollTo(0, $place->[1])");
        open my $file, '>:raw', "$folder/$width-$scheme-$place->[0].png" or die $!;
        print $file decode_base64(ask('Page.captureScreenshot', format => 'png')->{data});
        close $file or die $!;
    }
}

# The checks see what they look for: the page with its names as they are, and without its policy.
open my $file, '<:raw', "$folder/page.html" or die $!;
my $page = do { local $/; <$file> };
sub opened
{
    open my $file, '>:raw', "$folder/broken.html" or die $!;
    print $file $_[0];
    close $file or die $!;
    return open_page("$folder/broken.html", 360, 'light');
}
my $unescaped = $page =~ s/&lt;/</gr =~ s/&gt;/>/gr =~ s/&quot;/"/gr;
like(opened($unescaped), qr/^$title$/, 'names that are not escaped do nothing under the policy of the page');
like(opened($unescaped =~ s/<meta http-equiv.*?>//r), qr/192\.0\.2\.1.* script$/, 'and without it are seen');
opened($page =~ s/overflow-wrap: anywhere//r =~ s/\.wide \{[^}]*\}//r);
cmp_ok(value('document.documentElement.scrollWidth'), '>', 360, 'a page that is too wide is seen');
done_testing();
