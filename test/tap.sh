#!/usr/bin/env bash
# Runs the Perl TAP tests (test/t/*.pl, or those of $PROVE_TESTS, "t/marks.pl") with prove. Their servers refuse to run as
# root, so root becomes postgres; and as that account may see neither this folder nor write to it, the tests run on a
# copy. A test that hangs ends itself (t/Counters.pm): PostgreSQL's timers are for half an hour, since some of them run
# for a whole session. One more than there are processors run at once, since tests wait for clocks and for servers that
# start; the largest first, which take longest, so that none of them is left alone at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

pg_config=${PG_CONFIG:-pg_config}
pgxs_test=$(dirname "$("$pg_config" --pgxs)")/../test

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r t data ../tools ../demo "$work"

as_user=()
if [ "$(id -u)" -eq 0 ]; then
	chown -R postgres: "$work"
	as_user=(runuser -u postgres --)
fi
cd "$work"

# Most servers begin as a copy of one: initdb takes seconds.
bindir=$("$pg_config" --bindir)
mkdir bin
cat >bin/initdb <<-SCRIPT
	#!/bin/sh
	if [ "\$*" = "-D \$2 -A trust -N" ] && mkdir -p "\$2"; then exec cp -a "$work/initialized/." "\$2"; fi
	exec "$bindir/initdb" "\$@"
SCRIPT
chmod 755 bin/initdb
"${as_user[@]}" "$bindir/initdb" -D initialized -A trust -N >/dev/null

"${as_user[@]}" env \
	PATH="$work/bin:$bindir:$PATH" \
	INITDB_TEMPLATE="$work/initialized" \
	PERL5LIB="$pgxs_test/perl" \
	PG_REGRESS="$pgxs_test/regress/pg_regress" \
	LANG="${LANG:-C.UTF-8}" \
	PG_TEST_TIMEOUT_DEFAULT="${PG_TEST_TIMEOUT_DEFAULT:-1800}" \
	TESTDATADIR="$work/tmp_check" TESTLOGDIR="$work/log" \
	prove -j "${PROVE_JOBS:-$(($(nproc) + 1))}" "$@" ${PROVE_TESTS:-$(ls -S t/*.pl)}
! grep -r 'TRAP: ' . >&2 # of a server with assertions
