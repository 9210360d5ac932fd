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

# The servers' files are in memory where there is plenty (8 GB): elsewhere it takes longer to make and to delete so many.
room=$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)
place=${TMPDIR:-/tmp}
if [ "${room:-0}" -gt 8000000 ]; then place=/dev/shm; fi
work=$(mktemp -d)
servers=$(mktemp -d -p "$place")
trap 'rm -rf "$work" "$servers"' EXIT
cp -r t data ../tools ../demo "$work"

as_user=()
if [ "$(id -u)" -eq 0 ]; then
	chown -R postgres: "$work" "$servers"
	as_user=(runuser -u postgres --)
fi
cd "$work"

# Messages, order and times do not depend on the machine: servers take these from who makes them.
export LANG=C.UTF-8 LC_ALL=C.UTF-8 TZ=UTC

# Most servers begin as a copy of one: initdb takes seconds.
bindir=$("$pg_config" --bindir)
mkdir bin
cat >bin/initdb <<-SCRIPT
	#!/bin/sh
	if [ "\$*" = "-D \$2 -A trust -N" ] && mkdir -p "\$2"; then exec cp -a "$servers/initialized/." "\$2"; fi
	exec "$bindir/initdb" "\$@"
SCRIPT
chmod 755 bin/initdb
"${as_user[@]}" "$bindir/initdb" -D "$servers/initialized" -A trust -N >/dev/null

"${as_user[@]}" env \
	PATH="$work/bin:$bindir:$PATH" \
	INITDB_TEMPLATE="$servers/initialized" \
	PERL5LIB="$pgxs_test/perl" \
	PG_REGRESS="$pgxs_test/regress/pg_regress" \
	PG_TEST_TIMEOUT_DEFAULT="${PG_TEST_TIMEOUT_DEFAULT:-1800}" \
	TESTDIR="$servers" TESTDATADIR="$servers/tmp_check" TESTLOGDIR="$work/log" \
	prove -j "${PROVE_JOBS:-$(($(nproc) + 1))}" "$@" ${PROVE_TESTS:-$(ls -S t/*.pl)}
! grep -r 'TRAP: ' . "$servers" >&2 # of a server with assertions
