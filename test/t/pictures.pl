# Pictures of counters of every kind: what tools/plot hands to gnuplot, and what gnuplot draws, against the counter's
# view; hostile names; errors. The page of tools/report, for what a role may read. And the SQL of the dashboard's
# panels, as a role that may read the counters and nothing else.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use utf8;
use Counters;
use File::Spec;
use Encode qw(decode_utf8 encode_utf8);
use MIME::Base64 ();
use PostgreSQL::Test::Utils;
use Test::More;

my $tree = "$FindBin::RealBin/..";
my $plot = "$tree/tools/plot";
plan skip_all => 'no gnuplot' if system('command -v gnuplot >/dev/null') != 0;

my $node   = new_node('pictures', conf => "autovacuum = off\nfsync = off\n");
my $folder = File::Spec->rel2abs(PostgreSQL::Test::Utils::tempdir());
delete $ENV{GNUTERM};
local @ENV{qw(PGHOST PGPORT PGDATABASE PGTZ COLUMNS LINES)} = ($node->host, $node->port, 'postgres', 'UTC', 100, 40);

sub sql { return decode_utf8($node->safe_psql('postgres', encode_utf8($_[0]))); }
sub literal { return "'" . $_[0] =~ s/'/''/gr . "'"; }

# A program of the test's own.
sub program
{
	my ($path, $text) = @_;
	open my $file, '>', $path or die $!;
	print $file $text;
	close $file or die $!;
	chmod 0755, $path or die $!;
	return;
}

sub run_program
{
	local $ENV{PGUSER} = 'reader';
	my ($out, $err) = ('', '');
	my $is_well = IPC::Run::run([ map { encode_utf8($_) } @_ ], '<', \undef, '>', \$out, '2>', \$err, init => sub { chdir $folder or die $! });
	return ($is_well, decode_utf8($out), decode_utf8($err));
}

# --- a counter of every kind --------------------------------------------------------------------------
sql(q{
	CREATE ROLE reader LOGIN;
	CREATE TABLE visits (person integer, at timestamptz, local timestamp, day date, region text, flu boolean, cents integer);
	INSERT INTO visits
	SELECT id, at, at, at, (ARRAY['south', 'north'])[1 + n % 2], n % 4 > 1, n
	FROM (SELECT id, id / 42 AS n, date_trunc('day',
		now()) - interval '40 days' + id % 42 * interval '1 day' + id / 42 % 2 * interval '12 hours' AS at
	      FROM generate_series(1, 4200) AS id) AS s;
	SELECT dp_budget_create('life', 100), dp_budget_create('years', 100, per => '365 days');
	CREATE VIEW by_at AS SELECT person, at, region, flu, cents FROM visits;
	CREATE VIEW by_local AS SELECT person, local, region, flu, cents FROM visits;
	CREATE VIEW by_day AS SELECT person, day, flu, cents FROM visits;
	SELECT dp_source_create('by_at', budget => 'years', person => 'person', at => 'at', time_zone => 'Asia/Tokyo');
	SELECT dp_source_create('by_local', budget => 'life', person => 'person', at => 'local', time_zone => 'Asia/Tokyo');
	SELECT dp_source_create('by_day', budget => 'life', person => 'person', at => 'day', time_zone => 'UTC');});
sub create
{
	my ($name, $source, $arguments) = @_;
	sql('SELECT dp_counter_create(' . literal($name) . ", source => '$source', epsilon => 2, since => current_date - 39, $arguments)");
	return;
}
create('visits_by_region', 'by_at', q{every => '1 day', per_person => 1, event => 'flu', by => 'region', groups => '{north,south}'});
create('cents', 'by_at', q{every => '12 hours', per_person => 1, sum => 'cents', upper => 100});
create('persons', 'by_at', q{every => '7 days', persons => true});
create('active', 'by_at', q{every => '1 day', active => '365 days'});
create('so_far', 'by_local', q{every => '1 day', horizon => 100, per_person => 1});
create('flu_share', 'by_local', q{every => '1 day', per_person => 1, cumulative => false, share => 'flu'});
create('mean_cents', 'by_day',
	q{every => '3 days', per_person => 1, cumulative => false, avg => 'cents', upper => 100, by => 'flu', groups => '{true,false}'});
create('amounts', 'by_local', q{every => '1 day', per_person => 1, histogram => 'cents', bins => '{0,20,40,60,80}'});
create('hidden', 'by_local',
	q{every => '1 day', per_person => 1, cumulative => false, avg => 'cents', upper => 100, by => 'region', groups => '{nowhere}'});
create('empty', 'by_day', q{every => '100 days', per_person => 1, cumulative => false});
sql('CALL dp_tick(' . literal($_) . ')') for qw(by_at by_local by_day);
sql(q{SELECT dp_event_counter_create('er', epsilon => 1.0, horizon => 10)});
sql('SELECT dp_counter_record(\'er\', 1000)'), sql(q{CALL dp_tick('er')}) for 1 .. 6;
my @counters = split /\n/, sql('SELECT counter FROM dp_counters');
sql("GRANT SELECT ON $_ TO reader") for @counters;

# --- the panels of the dashboard ----------------------------------------------------------------------
my ($is_well, $out, $err) = run_program("$tree/demo/panels", '-v');
my %number = (cents => 'sum', flu_share => 'share', mean_cents => 'avg', hidden => 'avg');
ok($is_well, 'the panels of all counters run') or diag($err);
for my $counter (grep { $_ ne 'empty' } @counters)
{
	my ($released, $groups) = split /\|/, sql("SELECT count(*), count(*) / count(DISTINCT step) FROM $counter");
	like($out, qr/^ +\Q$counter\E, all groups +$released rows$/m, "$counter: all that was released is in the panel");
	my ($rows) = $out =~ /^ +\Q$counter\E, all groups.*?\n(.*?)^   \S/ms;
	my $listed = sub { join "\n", sort map { $_ =~ /\d/ ? sprintf '%.10g', $_ : 'null' } @_ };
	is($listed->($rows =~ /"released":([^,}]+)/g),
		$listed->(split /\n/, sql('SELECT ' . ($number{$counter} // 'count') . " FROM $counter"), -1), 'every number');
	my ($last) = $out =~ /^ +\Q$counter\E, all groups.*?, last 4 periods +(\d+) rows$/ms;
	is($last, $released / $groups - ($counter eq 'active' ? 4 : 3), "$counter: changes, once four periods are over");
}
($is_well, $out) = run_program("$tree/demo/panels", '-v', 'visits_by_region');
my @panel = $out =~ /^ +north +\d+ rows\n((?: +\{.*\}\n)+)/m ? $1 =~ /"high":(\d+),"low":(\d+),"released":(-?\d+),"time":"([^"]+)"/g : ();
is(join('|', @panel), join('|', split /\n|\|/,
	sql(q{SELECT high, low, count, to_json(period)#>>'{}' FROM visits_by_region WHERE region = 'north' ORDER BY period})),
		'a panel, row by row');
for my $defect ([ 'ORDER BY \"time\"', 'ORDER BY \"tine\"' ], [ '$__timeFilter', '$__timeFiltre' ], [ ':sqlstring', ':sqlsting' ],
	[ '$__timeFilter(\"time\")', 'false' ])
{
	my ($from, $to) = @$defect;
	mkdir "$folder/broken";
	PostgreSQL::Test::Utils::system_or_bail('cp', "$tree/demo/panels", "$folder/broken");
	my $json = slurp_file("$tree/demo/dashboard.json");
	$json =~ s/\Q$from\E/$to/g or die "no $from";
	program("$folder/broken/dashboard.json", $json);
	($is_well) = run_program("$folder/broken/panels");
	ok(!$is_well, "the panels fail where SQL has $to");
}

# --- what gnuplot gets, and what it draws ---------------------------------------------------------------
mkdir "$folder/shows" or die $!;
program("$folder/shows/gnuplot", "#!/bin/sh\ncat\n");

# The words, by their variable, and the rows of each line.
sub handed_over
{
	local $ENV{PATH} = "$folder/shows:$ENV{PATH}";
	my ($is_well, $out, $err) = run_program($plot, @_);
	die "@_: $err" if !$is_well;
	my %word = map { /^(title|[xy]label|legend|name\[\d+\]) = '(.*)'$/ ? ("$1" => $2 =~ s/'\."\\047"\.'/'/gr) : () } split /\n/, $out;
	my ($block) = $out =~ /^\$data << end\n(.*?)^end$/ms or die "no data: $out";
	return (\%word, map { s/^\n+//r } grep { /\S/ } split /(?<=\n)\n\n/, $block);
}

sub texts_of { return map { s/&lt;/</gr =~ s/&amp;/&/gr } $_[0] =~ m{<text>(.*?)</text>}gs; }

# Draws to SVG: whether each line and each band has the numbers, to a hundredth of a pixel, and is in the legend.
sub is_drawn
{
	my @arguments = @_;
	my ($word, @lines) = handed_over(@arguments);
	my ($is_well, $out, $err) = run_program($plot, '-o', 'picture.svg', @arguments);
	is("$out$err", '', 'drawn: ' . encode_utf8("@arguments" =~ s/[\x01-\x1f]/?/gr));
	my $svg   = decode_utf8(slurp_file("$folder/picture.svg"));
	unlike($svg, qr/\]\]>|\x{fffe}/, 'nothing that XML does not have');
	my @bands = $svg =~ /<polygon fill = 'rgb\([^']*' fill-opacity = '0.200000' points = '([^']*)'/g;
	my @paths = grep { /M.*M/ } $svg =~ /<path stroke='(?!rgb\(136, 136, 136\))[^']*'  d='([^']*)'/g;
	is(@bands - 1, @lines, 'a band for each, and one in the legend');
	is(@paths, @lines, 'a line for each');
	my @places; # [a number, its pixel]
	for my $i (0 .. $#lines)
	{
		my @rows   = map { [split] } split /\n/, $lines[$i];
		my @points = ($paths[$i] // '') =~ /[\d.]+,([\d.]+)/g;
		splice @points, 0, 2; # the legend's
		my @corners = ($bands[$i] // '') =~ /[\d.]+,([\d.]+)/g;
		is(@points, @rows, 'a point for each release');
		is(@corners, 2 * @rows, 'and two corners of the band') or return;
		my @numbers = (map({ $_->[1] } @rows), map({ $_->[2] } @rows), map({ $_->[3] } reverse @rows));
		push @places, map { [ $numbers[$_], (@points, @corners)[$_] ] } 0 .. $#numbers;
	}
	@places = sort { $a->[0] <=> $b->[0] } @places;
	my ($least, $most) = @places[ 0, -1 ];
	my $scale = ($most->[1] - $least->[1]) / ($most->[0] - $least->[0]);
	is(scalar(grep { abs($_->[1] - $least->[1] - $scale * ($_->[0] - $least->[0])) > 0.05 } @places), 0, 'all where they belong');
	my %shown = map { $_ => 1 } texts_of($svg);
	is(join('|', grep { !$shown{$_} } values %$word, '95 % interval'), '', 'title, labels and legend');
	return;
}

my ($since, $until) = split /\|/, sql('SELECT current_date - 20, current_date - 5');
my $tokyo = q{v.period AT TIME ZONE 'Asia/Tokyo'};
for my $case (
	# a counter, options, its releases as (time, line, number, low, high), the labels of both axes
	[ 'visits_by_region', '', "SELECT $tokyo, region, count, low, high FROM visits_by_region AS v", 'events (flu), each day',
		'beginning of the day' ],
	[ 'cents', '', "SELECT $tokyo, 1, sum, low, high FROM cents AS v", 'sum of cents, each period of 12:00:00',
		'beginning of the period of 12:00:00, Asia/Tokyo' ],
	[ 'persons', '', "SELECT $tokyo, 1, count, low, high FROM persons AS v", 'persons, each week', 'beginning of the week' ],
	[ 'persons', '-l 2', qq{SELECT $tokyo + interval '7 days', 1, d.count, d.low, d.high FROM persons AS v
		JOIN dp_counter_changes('persons', 2) AS d USING (step)},
	  'persons of each period, added up, last 2 periods', 'end of the week' ],
	[ 'active', '', qq{SELECT $tokyo + interval '1 day', 1, count, low, high FROM active AS v}, 'active persons', 'end of the day' ],
	[ 'active', '-l 2', qq{SELECT $tokyo + interval '1 day', 1, d.count, d.low, d.high FROM active AS v
	  JOIN dp_counter_changes('active', 2) AS d USING (step)},
	  'change of active persons, last 2 periods', 'end of the day' ],
	[ 'so_far', '', q{SELECT period + interval '1 day', 1, count, low, high FROM so_far}, 'events so far', 'end of the day' ],
	[ 'flu_share', '', 'SELECT period, 1, share, low, high FROM flu_share', 'share of flu, each day', 'beginning of the day' ],
	[ 'mean_cents', '', 'SELECT period, flu, avg, low, high FROM mean_cents', 'average of cents, each period of 3 days',
		'beginning of the period of 3 days' ],
	[ 'amounts', '', q{SELECT period, 1, quantile, low, high FROM dp_counter_quantiles('amounts', '{0.5}')},
		'median of cents, each day', 'beginning of the day' ],
	[ 'amounts', '-l 7', q{SELECT period + interval '1 day', 1, quantile, low, high FROM dp_counter_quantiles('amounts', '{0.5}', 7)},
	  'median of cents, last 7 periods', 'end of the day' ],
	# Neither is near an end of a bin, where noise would hide an end of the interval.
	[ 'amounts', '-q 0.3,0.5', q{SELECT period, fraction, quantile, low, high FROM dp_counter_quantiles('amounts', '{0.3,0.5}')},
	  'quantiles of cents, each day', 'beginning of the day' ],
	[ 'hidden', '', 'SELECT period, region, avg, low, high FROM hidden', 'average of cents, each day', 'beginning of the day' ],
	[ 'er', '', q{SELECT released_at AT TIME ZONE 'UTC', 1, count, low, high FROM er}, 'events so far', 'released at, UTC' ],
	[ 'visits_by_region', '-l 3', qq{SELECT $tokyo + interval '1 day', region, d.count, d.low, d.high FROM visits_by_region AS v
		JOIN dp_counter_changes('visits_by_region', 3) AS d USING (step) WHERE region = group_value},
	  'events (flu), last 3 periods', 'end of the day' ],
	[ 'cents', '-l 2', qq{SELECT $tokyo + interval '12 hours', 1, d.sum, d.low, d.high FROM cents AS v
		JOIN dp_counter_changes('cents', 2) AS d USING (step)},
	  'sum of cents, last 2 periods', 'end of the period of 12:00:00, Asia/Tokyo' ],
	[ 'mean_cents', '-l 2', q{SELECT v.period + interval '3 days', flu, d.avg, d.low, d.high FROM mean_cents AS v
		JOIN dp_counter_changes('mean_cents', 2) AS d USING (step) WHERE flu::text = group_value},
	  'average of cents, last 2 periods', 'end of the period of 3 days' ],
	[ 'er', '-l 2', q{SELECT released_at AT TIME ZONE 'UTC', 1, d.count, d.low, d.high FROM er
		JOIN dp_counter_changes('er', 2) AS d USING (step)}, 'events, last 2 steps', 'released at, UTC' ],
	[ 'visits_by_region', '-g south', "SELECT $tokyo, region, count, low, high FROM visits_by_region AS v WHERE region = 'south'",
		'events (flu), each day', 'beginning of the day' ],
	[ 'so_far', "-s $since -u $until",
	  qq{SELECT * FROM (SELECT period + interval '1 day' AS ends, 1, count, low, high FROM so_far) AS v WHERE ends >= '$since'
	  	AND ends <= '$until'}, 'events so far', 'end of the day' ],
	[ 'persons', "-u $until", "SELECT * FROM (SELECT $tokyo AS begins, 1, count, low, high FROM persons AS v) AS v
		WHERE begins < '$until'", 'persons, each week', 'beginning of the week' ],
	[ 'visits_by_region', "-u $since", "SELECT * FROM (SELECT $tokyo AS begins, region, count, low, high
		FROM visits_by_region AS v) AS v WHERE begins < '$since'", 'events (flu), each day', 'beginning of the day' ],
  )
{
	my ($counter, $options, $releases, $ylabel, $xlabel) = @$case;
	my @options = split / /, $options;
	my ($word, @lines) = handed_over(@options, $counter);
	is(join("\n\n", map { s/\n$//r } @lines), sql(qq{
		SELECT string_agg(rows, E'\\n\\n' ORDER BY line) FROM (
			SELECT line, string_agg(concat_ws(' ', to_char(time, 'YYYY-MM-DD"T"HH24:MI:SS.US'), coalesce(number::text, 'NaN'), low,
				high, 'NaN'), E'\\n' ORDER BY time) AS rows
			FROM ($releases) AS r (time, line, number, low, high) GROUP BY line) AS lines}), "$counter $options: the releases");
	is(join('|', @$word{qw(title ylabel xlabel)}), "$counter|$ylabel|$xlabel", 'title and labels');
	is_drawn(@options, $counter) if $counter ne 'hidden'; # all is noise
}

# One period of a histogram: bars of its bins, which the ends of these are below.
my $first = sql(q{SELECT min(period)::date FROM amounts});
my ($word, @bars) = handed_over('-u', sql("SELECT date '$first' + 1"), 'amounts');
is(join("\n\n", @bars), sql(q{SELECT string_agg(concat_ws(' ', array_position('{0,20,40,60,80}', bin), count, low, high, 'NaN'), E'\n'
	ORDER BY bin) FROM amounts WHERE step = 1}) . "\n", 'the bins of one period');
is(join('|', @$word{qw(xlabel ylabel)}), "cents, lower ends of the bins; $first 00:00|events", 'its labels');
my @bars_drawn = run_program($plot, '-o', 'picture.svg', '-u', sql("SELECT date '$first' + 1"), 'amounts');
is_deeply(\@bars_drawn, [ 1, '', '' ], 'they are drawn');
is(join('|', grep { /^(?:0|20|40|60|80)$/ } map { s/ *<[^>]*> *//gr }
	slurp_file("$folder/picture.svg") =~ m{text-anchor="middle">\s*<text>(.*?)</text>}gs), '0|20|40|60|80', 'with the ends of the bins');

# The terminal, and the other files.
my @letters = ($is_well, $out, $err) = run_program($plot, 'visits_by_region');
ok($out =~ /A  north/ && $out =~ /B  south/ && $out =~ /\.  95 % interval/ && $out =~ /visits_by_region: events \(flu\), each day/,
	'in the terminal');
cmp_ok(() = $out =~ /B/g, '>', 20, 'with its numbers');
is(length((split /\n/, $out)[20]), 100, 'in its width');
for my $case ([ 'png', "\x89PNG" ], [ 'pdf', '%PDF' ])
{
	ok((run_program($plot, '-o', "picture.$case->[0]", 'so_far'))[0], "to $case->[0]");
	is(substr(slurp_file("$folder/picture.$case->[0]"), 0, 4), $case->[1], 'it is that');
}
{
	local $ENV{GNUTERM} = 'sixelgd';
	($is_well, $out) = run_program($plot, 'so_far');
	ok($out =~ /\eP/, 'sixels');
	local $ENV{GNUTERM} = 'x11; system("touch pwned")';
	($is_well, $out) = run_program($plot, 'so_far');
	like($out, qr/so_far: events so far/, 'characters, whatever else GNUTERM is');
}

# One release only; a column that has another name; a sum that may be negative; many groups.
sql(q{SELECT dp_event_counter_create('one', epsilon => 1.0)}), sql(q{CALL dp_tick('one')}), sql('GRANT SELECT ON one TO reader');
is_deeply([ run_program($plot, '-o', 'picture.svg', 'one') ], [ 1, '', '' ], 'one release is drawn');
sql("ALTER VIEW mean_cents RENAME COLUMN $_") for 'avg TO "low of"', 'low TO above2', 'flu TO "the "" group"', 'period TO step2';
is_drawn('mean_cents');
create('many', 'by_local', q{every => '10 days', per_person => 1, by => 'cents', cumulative => false, groups => '{} '}
	=~ s/\{\}/'{' . join(',', 0 .. 9) . '}'/er);
sql(q{CALL dp_tick('many')}), sql('GRANT SELECT ON many TO reader');
($is_well, $out, $err) = run_program($plot, 'many');
is($err, "plot: 6 of 10 groups are drawn; choose others with -g\n", 'six of ten groups');
is_drawn(map({ ('-g', $_) } 0 .. 9), 'many');

# --- names that would break out -------------------------------------------------------------------------
my @hostile = (
	q{'; system("touch pwned"); '}, q{"; system("touch pwned"); "}, '`touch pwned`', '$(touch pwned)', "\n" . q{system('touch pwned')} . "\n",
	"end\nsystem('touch pwned')", "'\nsystem('touch pwned')#", '\\', q{\\'; system('touch pwned')}, q{''}, '@band @word',
		'%s %d {/Bold x} a_b^c', '<script>a&amp;b</script>',
	"a\tb\e[31mc\x{9b}31m", 'São Paulo, 東京', '${counter:raw} $__timeFrom() :oid', '{"a",NULL}', ' ', ']]>', "a\x{fffe}b",
		'a very long name, which goes on and on and on and on',
);
sub shown { return substr($_[0] =~ s/[\x01-\x1f\x7f-\x9f\x{fffe}]|(?<=\]\])>/?/gr, 0, 40); }
my $name   = q{it's "one" `touch pwned` $(ls)\\} . "\nsystem('touch pwned')";
my $column = q{by "'; system('touch pwned')} . "\n`touch pwned`";
sub identifier { return '"' . $_[0] =~ s/"/""/gr . '"'; }
sql('CREATE VIEW hostile_dp AS SELECT person, day, region AS ' . identifier($column) . ', flu AS ' . identifier($hostile[0])
	. ', cents AS ' . identifier($hostile[1]) . ' FROM visits');
sql(q{SELECT dp_source_create('hostile_dp', budget => 'life', person => 'person', at => 'day')});
create(identifier($name), 'hostile_dp', "every => '1 day', per_person => 1, cumulative => false, event => " . literal($hostile[0])
	. ', sum => ' . literal($hostile[1])
	. ', lower => -100, upper => 100, by => ' . literal($column) . ', groups => ARRAY[' . join(', ', map { literal($_) } @hostile) . ']');
sql('CALL dp_tick(' . literal(identifier($name)) . ')'), sql('GRANT SELECT ON ' . identifier($name) . ' TO reader');
my @chosen = map { ('-g', $_) } @hostile;
($word, my @lines) = handed_over(@chosen, identifier($name));
is(@lines, @hostile, 'all hostile groups are chosen');
is(join("\n", sort map { $word->{"name[$_]"} } 1 .. @hostile), join("\n", sort map { shown($_) } @hostile), 'their names are strings');
is(join("\n", @$word{qw(title legend ylabel)}), join("\n", map { s/[\x01-\x1f]/?/gr } identifier($name), $column,
	"sum of $hostile[1] ($hostile[0]), each day"), 'so are the others');
is_drawn(@chosen, identifier($name));
($is_well, $out, $err) = run_program($plot, @chosen, identifier($name));
unlike($out, qr/[\e\x{9b}]/, 'no control characters in the terminal');
($is_well, $out, $err) = run_program("$tree/demo/panels", identifier($name));
is(-e "$folder/pwned", undef, 'nothing was executed');

# --- the page of all that a role may see ------------------------------------------------------------------
my $report = "$tree/tools/report";
sql(q{SELECT dp_budget_create('<b>', 1); ALTER VIEW "<b>" OWNER TO reader; SET ROLE reader; CALL dp_budget_spend('"<b>"', 0.3, 'all');
	SELECT dp_budget_drop('"<b>"')});
sql(q{GRANT SELECT ON years TO reader; GRANT UPDATE ON cents TO reader; REVOKE SELECT ON cents FROM reader});
sql(q{CALL dp_budget_spend('years', 1, E'<script>alert("x")</script> & \\x01', since => '2020-01-01', until => '2021-01-01')});
($is_well, $out, $err) = run_program($report, '-o', 'page.html');
ok($is_well && "$out$err" eq '', 'a page') or diag("$out$err");
my $page = decode_utf8(slurp_file("$folder/page.html"));

# Its elements are closed in order, and nothing else of it begins with < or &.
sub trouble_of
{
	my ($html) = @_;
	my (@open, @trouble);
	push @trouble, "stray: $1" while $html =~ /(&(?!amp;|lt;|gt;|quot;|nbsp;).{0,9})/gs;
	while ($html =~ m{<(/?)(!DOCTYPE html|[a-z][a-z0-9]*)((?: [a-z-]+="[^"<>]*")*)( ?/)?>|(<.{0,20})}gs)
	{
		if (defined $5) { push @trouble, "stray: $5" }
		elsif ($1) { push @trouble, "</$2> closes " . ($open[-1] // 'nothing') if (pop @open // '') ne $2 }
		elsif ($2 !~ /^(?:!DOCTYPE html|br|img|meta)$/) { push @open, $2 }
		push @trouble, "attribute: $1" if ($3 // '') =~ /(\bon\w+=|(?:href|src)="(?!#|data:image\/svg\+xml;base64,).*?")/;
	}
	return join "\n", @trouble, @open;
}
is(trouble_of($page =~ s{<style>.*?</style>}{}sr), '', 'its elements are nested, and link to nothing outside');
unlike($page, qr/<script|http:|[\x00-\x08\x0b-\x1f]/i, 'what is hostile is text');
is(trouble_of($_) eq '', '', "trouble is seen: $_") for '<p>', '<p><b></p></b>', 'a<b', 'a & b', '<p onclick="x()"></p>',
	'<a href="http://x"></a>';
sub text_of { return $_[0] =~ s/<br \/>/\n/gr =~ s/<[^>]*>//gr =~ s/&nbsp;/ /gr =~ s/&lt;/</gr =~ s/&gt;/>/gr =~ s/&quot;/"/gr
	=~ s/&amp;/&/gr; }
my %section = map { m{<h3>(.*?)</h3>}s ? (text_of($1) => $_) : () } $page =~ m{(<section .*?</section>)}gs;
my @shown = split /\x1e/, sql(q{
	SET search_path = pg_catalog; SET ROLE reader;
	SELECT string_agg(regexp_replace(name::text, '[\u0001-\u0008\u000b-\u001f]', '', 'g'), E'\x1e') FROM (
		SELECT counter FROM public.dp_counters WHERE has_table_privilege(counter, 'SELECT') UNION ALL SELECT budget
			FROM public.dp_budgets) AS s (name)});
is(join("\n", sort keys %section), join("\n", sort @shown), 'a section for each counter and budget that the role may read');
my $promise = sql(q{SELECT dp_promise('years')}) =~ s/\nCharged so far[^\n]*\K.*//sr;
like(text_of($section{'public.years'}), qr/\Q$promise\E/, 'the promise');
like($section{'public.years'}, qr{<td align="left">&lt;script&gt;alert\(&quot;x&quot;\)&lt;/script&gt; &amp; }, 'a charge');
like(text_of($section{'public.years'}), qr/What is left.*\s\Q$_\E\s/s, 'what is left of it')
	for sql(q{SELECT remaining FROM dp_budgets WHERE budget = 'years'::regclass});
like($section{'public.years'}, qr{>$_</th>}, "the ledger has $_")
	for qw(begins_from begins_before cut_at cut_by cut_from refunded_at refunded_by);
my ($dropped, $history) = map { text_of($_) } $page =~ m{<h2>(Budgets that were dropped.*?)<h2>(What was read.*?)<h2>Counters}s;
like($dropped, qr/"<b>"\s+1\s.*0\.3.*reader/s, 'a budget that the role has dropped');
like($history, qr/public\.by_at\s+public\.years\s.*SELECT\s.*\bperson,.*visits/s, 'what a source read');
unlike($history, qr/by_local|by_day/, 'of the budgets that the role may read');
my @cells = map { text_of($_) } ($section{'public.visits_by_region'} =~ m{Last release .*?</h4>.*?(<tr valign.*?</tr>)}s)[0]
	=~ m{<td.*?</td>}gs;
is(join('|', @cells[ 1, 2, 4, 6, 7 ]), sql(q{SELECT region, step, count, low, high FROM visits_by_region ORDER BY step DESC,
	period, region LIMIT 1}), 'the last numbers');
is($cells[0], sql(q{SET timezone = 'Asia/Tokyo'; SELECT max(period) FROM visits_by_region}), 'in the time zone of the source');
like($section{'public.visits_by_region'}, qr/Last release \(times in Asia\/Tokyo\)/, 'which it says');
my @rows = ($section{'public.amounts'} =~ m{Last release .*?</h4>(.*?)</table>}s)[0] =~ m{<tr valign.*?</tr>}gs;
is(join("\n", map { join '|', (map { text_of($_) } m{<td.*?</td>}gs)[ 1, 2, 4 ] } @rows),
	sql(q{SELECT bin, step, count FROM amounts WHERE step = (SELECT max(step) FROM amounts) ORDER BY bin}), 'of a histogram all bins');
my ($guarantee, $kept) = split /\|/, sql(q{SELECT guarantee, kept FROM dp_counter_plan('visits_by_region') LIMIT 1});
like(text_of($section{'public.visits_by_region'}), qr/\Q$guarantee $kept\E/, 'the guarantee');
for my $case ([ 'public.so_far', 'so_far' ], [ 'public.' . $name =~ s/"/""/gr =~ s/^/"/r =~ s/\z/"/r, identifier($name) ])
{
	my ($title, $counter) = @$case;
	my ($svg) = map { MIME::Base64::decode_base64($_) } ($section{$title} // '') =~ /base64,([^"]*)"/;
	run_program($plot, $counter, '-t', 'public.' . $counter, '-o', 'picture.svg');
	is($svg, slurp_file("$folder/picture.svg"), 'the chart is that of tools/plot');
}
is(-e "$folder/pwned", undef, 'nothing was executed');
sql('REVOKE SELECT ON years, so_far FROM reader');
my $fewer = (run_program($report, '-o', '-'))[1] // '';
ok($fewer !~ /public\.(?:years|so_far)</ && $fewer =~ /No budget that this role may read/, 'no more than the role may read');
is_deeply([ run_program($report) ], [ '', '', "report: expected -o FILE; see report --help\n" ], 'no file');
ok(!(run_program($report, '-o', 'none.html', '-d', 'nowhere'))[0] && !-e "$folder/none.html", 'no database, no page');
sql('GRANT SELECT ON so_far TO reader; REVOKE UPDATE ON cents FROM reader');

# Options after the counter, and words of one's own.
($word, @lines) = handed_over('so_far', '-t', q{it's '; "mine" `x`}, '-s', $since, '-y', 'persons $(x)', '-x', '@band');
is(join('|', @$word{qw(title ylabel xlabel)}), q{it's '; "mine" `x`|persons $(x)|@band}, 'words of one\'s own, after the counter');
is_drawn('so_far', '-t', q{it's '; "mine" `x`}, '-s', $since, '-y', 'persons $(x)', '-x', '@band');
is(complaint('-t', 'a', '--', 'so_far', '-x'), "plot: expected one counter; see plot --help\n", 'after -- only counters');

# --- errors -----------------------------------------------------------------------------------------------
sub complaint { my ($is_well, $out, $err) = run_program($plot, @_); return $is_well ? 'no error' : "$out$err"; }
like(complaint('nowhere'), qr/^ERROR:  relation "nowhere" does not exist/, 'no such counter');
is(complaint('visits'), "visits is not a counter that you may read\n", 'a table');
is(complaint('cents'), "cents is not a counter that you may read\n", 'no privilege');
is(complaint('empty'), "plot: empty has released nothing yet\n", 'nothing released');
is(complaint('-s', '2100-01-01', 'so_far'), "plot: so_far has released nothing of these groups and times\n", 'nothing in that time');
is(complaint('-g', 'nort', '-g', 'south', 'visits_by_region'),
	"visits_by_region has released nothing of some of these groups; it has north, south\n", 'a group that it does not have');
is(complaint('-g', 'north', 'so_far'), "so_far has released nothing of some of these groups; it has none\n", 'it has no groups');
is(complaint('-q', '0.5', 'so_far'), "so_far has no bins, so no quantiles\n", 'no histogram');
like(complaint('-q', '2', 'amounts'), qr/^ERROR:  fractions must be between 0 and 1, not 2/, 'a fraction');
like(complaint('-l', '0', 'so_far'), qr/^ERROR:  lag must be between 1 and 2147483647, not 0/, 'a lag');
like(complaint('-l', 'week', 'so_far'), qr/^ERROR:  invalid input syntax for type bigint: "week"/, 'no lag');
is(complaint('-o', 'picture.gif', 'so_far'), "plot: the file must end in .svg, .png or .pdf: picture.gif\n", 'a file of another kind');
# Medians that noise hides, or of which it hides an end: the band ends where nothing is known, and reaches to the edge of the
# picture where it has no end. What is alone has a bar.
mkdir "$folder/hides" or die $!;
sub draw_rows
{
	my ($is_open, @rows) = @_;
	my $words = join "\n", 'drawn = 1', 'lines = 1', 'is_average = 0', 'is_bars = 0', "is_open = $is_open", 'is_alone = 1', 'least = 2',
		'most = 9', 'ends = "0 5 10"', 'array name[1]', (map { "$_ = 'x'" } qw(title xlabel ylabel legend name[1])), '$data << end', @rows, 'end';
	program("$folder/hides/psql", "#!/bin/sh\ncat >/dev/null\ncat <<'END'\n$words\nEND\n");
	local $ENV{PATH} = "$folder/hides:$ENV{PATH}";
	return (run_program($plot, '-o', 'hides.svg', 'amounts'))[2];
}
is(draw_rows(0, '2026-01-01T00:00:00.000000 NaN NaN NaN NaN'), "plot: amounts has released no number that its noise does not hide\n",
	'no number');
is(draw_rows(1, '2026-01-01T00:00:00.000000 5 2 8 NaN', '2026-01-02T00:00:00.000000 6 NaN 9 NaN',
	'2026-01-03T00:00:00.000000 7 4 NaN NaN', '', '2026-01-06T00:00:00.000000 5 4 6 1'), '', 'gaps, and open ends');
my $hides = slurp_file("$folder/hides.svg");
my @shapes = map { [ /,([\d.]+)/g ] } $hides =~ /<polygon [^>]*fill-opacity = '0.200000' points = '([^']*)'/g;
is(@shapes, 2, 'one band, and the legend\'s');
my ($top, $bottom) = $hides =~ / d='M([\d.]+),([\d.]+) L\1,([\d.]+) L[\d.]+,\3 / ? ($2, $3) : (0, 0);
my @ends = sort { $a <=> $b } @{ $shapes[0] };
is(join(' ', @ends[ 0, -1 ]), "$top $bottom", 'it reaches to the edges');
is(() = $hides =~ /stroke='rgb\(  0, 114, 178\)'  d='M([\d.]+),[\d.]+ L\1,[\d.]+  '/g, 1, 'one bar');
is(complaint(), "plot: expected one counter; see plot --help\n", 'no counter');
like(complaint('-x'), qr/see plot --help/, 'an option that it does not have');
like(complaint('-d', 'nowhere', 'so_far'), qr/database "nowhere" does not exist/, 'no such database');
like(complaint('-d', 'template1', 'so_far'), qr/relation "so_far" does not exist/, 'another database');
{
	mkdir "$folder/few" or die $!;
	symlink `command -v $_;` =~ s/\n//r, "$folder/few/$_" for qw(env bash basename cat psql);
	local $ENV{PATH} = "$folder/few";
	is(complaint('so_far'), "plot: gnuplot is not installed (Debian: postgresql-client, gnuplot-nox)\n", 'no gnuplot');
}
my ($host, $port) = delete @ENV{qw(PGHOST PGPORT)};
($is_well) = run_program($plot, '-h', $host, '-p', $port, '-U', 'postgres', '-w', '-d', 'postgres', 'so_far');
ok($is_well, 'where psql finds it');
done_testing();
