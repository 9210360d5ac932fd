# pg_cron as it is by default: each job is a connection, here to the server's socket.
exec test/with_server -c "shared_preload_libraries = 'pg_cron'" -c "cron.host = ''" \
	perl test/schedulers/pg_cron.pl
