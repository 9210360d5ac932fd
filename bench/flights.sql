-- Real flights in order of departure, where the file is there: each line departure,delay,origin.
CREATE UNLOGGED TABLE flights (id bigint GENERATED ALWAYS AS IDENTITY, departure timestamp, delay integer, origin text);
COPY flights (departure, delay, origin) FROM STDIN WITH (FORMAT csv, HEADER);
CREATE INDEX flights_in_order ON flights (id) INCLUDE (delay);
VACUUM (FREEZE, ANALYZE) flights;
