# A throw-away PostgreSQL for measurements: start_cluster, stop_cluster. Source this file.
# Needs bindir (of the server to measure) and work (a folder of our own).

# A server refuses to run as root; root becomes postgres.
as_server_user() {
	if [ "$(id -u)" -eq 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}

# The settings are part of the figures: report.pl prints them.
cluster_settings() {
	cat <<-'CONF'
		shared_buffers = 3GB
		effective_cache_size = 4GB
		maintenance_work_mem = 1GB
		jit = off
		max_parallel_workers_per_gather = 0
		max_parallel_maintenance_workers = 0
		autovacuum = off
		fsync = off
		synchronous_commit = off
		max_wal_size = 8GB
		wal_level = minimal
		max_wal_senders = 0
		checkpoint_timeout = 1h
		random_page_cost = 1.0
		track_activities = off
		listen_addresses = ''
		lc_messages = 'C'
	CONF
}

start_cluster() {
	export PGHOST=$work/socket PGPORT=${PGPORT:-6543} PGUSER=postgres PGDATABASE=postgres
	mkdir -p "$PGHOST"
	if [ "$(id -u)" -eq 0 ]; then chown -R postgres: "$work"; fi
	as_server_user "$bindir/initdb" -D "$work/data" -U postgres -A trust --no-sync -E UTF8 --no-locale \
		>"$work/initdb.log" 2>&1
	cluster_settings >>"$work/data/postgresql.conf"
	as_server_user "$bindir/pg_ctl" -D "$work/data" -l "$work/server.log" -w -s \
		-o "-p $PGPORT -k $PGHOST" start
}

stop_cluster() {
	if [ -f "$work/data/postmaster.pid" ]; then
		as_server_user "$bindir/pg_ctl" -D "$work/data" -m immediate -s stop || true
	fi
	rm -rf "$work"
}
