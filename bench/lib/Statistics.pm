# Order statistics: what a noisy machine leaves us.
package Statistics;

use strict;
use warnings;

# The quantile p of a list, between neighbours in proportion.
sub quantile
{
    my ($p, @values) = @_;
    @values = sort { $a <=> $b } @values;
    my $position = $p * $#values;
    my $below    = int $position;
    return $values[$below] if $below == $#values;
    return $values[$below] + ($position - $below) * ($values[ $below + 1 ] - $values[$below]);
}

# Median, lower and upper quartile.
sub summary
{
    my (@values) = @_;
    return { map { ($_->[0] => quantile($_->[1], @values)) } ['median', 0.5], ['low', 0.25], ['high', 0.75] };
}

1;
