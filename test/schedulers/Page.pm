# What docs/operations.md tells its reader to do, for tests that do it.
package Page;
use strict;
use warnings;
use Exporter qw(import);
our @EXPORT_OK = qw(snippet);

open my $page, '<', 'docs/operations.md' or die "docs/operations.md: $!";
my $text = do { local $/; <$page> };

# The only code block in the language that matches the pattern.
sub snippet
{
	my ($language, $pattern) = @_;
	my @found = grep { /$pattern/ } $text =~ /^```\Q$language\E\n(.*?)^```/gms;
	die @found . " blocks of $language in docs/operations.md match $pattern\n" if @found != 1;
	return $found[0];
}

1;
