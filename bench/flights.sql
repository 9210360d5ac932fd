-- Real flights in order of departure. The variable file names a CSV: departure,delay,origin.
SET client_min_messages = warning;
CREATE UNLOGGED TABLE flights (id bigint GENERATED ALWAYS AS IDENTITY, departure timestamp, delay integer, origin text);
COPY flights (departure, delay, origin) FROM :'file' WITH (FORMAT csv, HEADER);
CREATE INDEX flights_in_order ON flights (id) INCLUDE (delay);
VACUUM (FREEZE, ANALYZE) flights;
