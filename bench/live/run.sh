#!/usr/bin/env bash
# Measures live counters on a running server: PGHOST, PGPORT, PGUSER and PGDATABASE say which.
#   bench/live/run.sh [SECONDS per pgbench run, default 20] [TICKS of the bloat test, default 10000]
# Makes and drops the schema dp_bench. Prints the figures that issue 4 asks for. Wants an idle machine.
set -euo pipefail

seconds=${1:-20}
ticks=${2:-10000}
clients=${CLIENTS:-8}
rounds=${ROUNDS:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sql() { psql -X -q -A -t -v ON_ERROR_STOP=1 -c "$1"; }

sql "CREATE EXTENSION IF NOT EXISTS dp_counter"
sql "DROP SCHEMA IF EXISTS dp_bench CASCADE" 2>/dev/null
psql -X -q -v ON_ERROR_STOP=1 <<'SQL' >/dev/null
CREATE SCHEMA dp_bench;
SET search_path = dp_bench, public;
CREATE TABLE plain (id bigint, diagnosis text, at timestamptz);
CREATE TABLE private (LIKE plain);
CREATE TABLE counted (LIKE plain);
SELECT dp_counter_create('dp_bench.releases', 1.0, 1000000);
CREATE TRIGGER count AFTER INSERT ON private FOR EACH ROW EXECUTE FUNCTION dp_counter_record('releases');
CREATE TABLE total (n bigint);
INSERT INTO total VALUES (0);
CREATE FUNCTION count_up() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN UPDATE dp_bench.total SET n = n + 1; RETURN NULL; END $$;
CREATE TRIGGER count AFTER INSERT ON counted FOR EACH ROW EXECUTE FUNCTION count_up();
SQL

# Inserts per second into a table, one row a transaction.
inserts_per_second() {
	echo "INSERT INTO dp_bench.$1 VALUES (:client_id, 'flu', now());" >"$work/insert.sql"
	pgbench -n -M prepared -c "$clients" -j 2 -T "$seconds" -f "$work/insert.sql" 2>/dev/null |
		awk '/^tps/ { print $3 }'
	sql "TRUNCATE dp_bench.$1"
}

echo "server: $(sql 'SELECT version()')"
echo "settings: $(sql "SELECT string_agg(name || ' = ' || setting, ', ' ORDER BY name) FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'shared_buffers', 'autovacuum_naptime')"), $clients clients, $seconds s a run"
echo
printf '%-8s %12s %12s %12s %8s %8s\n' round "no trigger" "dp_counter" "UPDATE" "ratio" "times"
for round in $(seq "$rounds"); do
	a=$(inserts_per_second plain)
	b=$(inserts_per_second private)
	c=$(inserts_per_second counted)
	awk -v r="$round" -v a="$a" -v b="$b" -v c="$c" \
		'BEGIN { printf "%-8d %12.0f %12.0f %12.0f %8.2f %8.2f\n", r, a, b, c, b / a, b / c }'
done
echo "(ratio: dp_counter to no trigger, aim 0.7; times: dp_counter to a trigger that updates one row)"

# On a machine that others use as well: both in one run, transaction by transaction.
echo
echo "mean latency in ms in a mixed run, no trigger and dp_counter:"
for table in plain private; do echo "INSERT INTO dp_bench.$table VALUES (:client_id, 'flu', now());" >"$work/$table.sql"; done
pgbench -n -M prepared -c "$clients" -j 2 -T "$seconds" -f "$work/plain.sql" -f "$work/private.sql" 2>/dev/null |
	awk '/^ - latency average/ { print $5 }' | paste -sd' '

# A tick with 100,000 pending events, each from a transaction of its own, and one bulk load.
echo
sql "CALL dp_counter_tick('dp_bench.releases')" >/dev/null
echo "SELECT dp_counter_record('dp_bench.releases');" >"$work/record.sql"
PGOPTIONS='-c synchronous_commit=off' pgbench -n -M prepared -c 4 -t 25000 -f "$work/record.sql" >/dev/null 2>&1
psql -X -q -A -t <<'SQL'
\timing on
\echo a tick with 100,000 pending events of 100,000 transactions, then one with none:
CALL dp_counter_tick('dp_bench.releases');
CALL dp_counter_tick('dp_bench.releases');
\echo bulk load of 1,000,000 rows without a trigger and with one FOR EACH ROW:
INSERT INTO dp_bench.plain SELECT i, 'flu', now() FROM generate_series(1, 1000000) AS i;
INSERT INTO dp_bench.private SELECT i, 'flu', now() FROM generate_series(1, 1000000) AS i;
\echo the same FOR EACH STATEMENT:
DROP TRIGGER count ON dp_bench.private;
CREATE TRIGGER count AFTER INSERT ON dp_bench.private REFERENCING NEW TABLE AS new FOR EACH STATEMENT EXECUTE FUNCTION dp_counter_record('releases');
INSERT INTO dp_bench.private SELECT i, 'flu', now() FROM generate_series(1, 1000000) AS i;
\echo a tick with these:
CALL dp_counter_tick('dp_bench.releases');
\timing off
SQL

# Bloat: many ticks beside recorders.
echo
echo "$ticks ticks, 4 clients recording meanwhile: kilobytes of the extension's tables"
sizes() {
	sql "SELECT relname || ' ' || pg_total_relation_size(oid) / 1024 FROM pg_class WHERE oid IN ('dp_counter_private.counters'::regclass, 'dp_counter_private.events'::regclass) ORDER BY 1" | paste -sd' '
}
PGOPTIONS='-c synchronous_commit=off' pgbench -n -M prepared -c 4 -T 100000 -f "$work/record.sql" >/dev/null 2>&1 &
recorders=$!
echo "CALL dp_counter_tick('dp_bench.releases');" >"$work/tick.sql"
echo "after 0: $(sizes)"
start=$(date +%s.%N)
for part in 1 2 3 4; do
	pgbench -n -c 1 -t $((ticks / 4)) -f "$work/tick.sql" >/dev/null 2>&1
	echo "after $((ticks / 4 * part)): $(sizes)"
done
awk -v s="$start" -v e="$(date +%s.%N)" -v n="$ticks" 'BEGIN { printf "%.2f ms a tick under this load\n", (e - s) * 1000 / n }'
kill "$recorders" && wait "$recorders" 2>/dev/null || true
echo "events counted: $(sql "SELECT sum(total) FROM dp_counter_private.events WHERE releases = 'dp_bench.releases'::regclass")"
sql "DROP SCHEMA dp_bench CASCADE" 2>/dev/null
