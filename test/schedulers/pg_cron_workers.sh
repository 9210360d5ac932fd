# pg_cron with jobs in background workers.
exec test/with_server -c "shared_preload_libraries = 'pg_cron'" \
	-c 'cron.use_background_workers = on' perl test/schedulers/pg_cron.pl
