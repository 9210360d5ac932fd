# psycopg 2 and 3, the extended protocol, PgBouncer, cron's line.
exec test/with_server perl test/schedulers/drivers.pl
