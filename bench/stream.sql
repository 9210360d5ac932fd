-- The streams that are measured: every row in the index in order, so that no query sorts and the
-- heap is not visited. A third of the bits are set.
SET client_min_messages = warning;
CREATE UNLOGGED TABLE stream (t bigint, b boolean, b1 bit(1), p100 integer, p10 integer);
INSERT INTO stream
SELECT t, b, CASE WHEN b THEN B'1' ELSE B'0' END, (t - 1) / 100, (t - 1) / 10
FROM (SELECT t, hashint8(t) % 3 = 0 AS b FROM generate_series(1, :rows::bigint) AS t) AS bits;
CREATE INDEX stream_boolean ON stream (t) INCLUDE (b);
CREATE INDEX stream_bit ON stream (t) INCLUDE (b1);
CREATE INDEX stream_of_100 ON stream (p100, t) INCLUDE (b);
CREATE INDEX stream_of_10 ON stream (p10, t) INCLUDE (b);
VACUUM (FREEZE, ANALYZE) stream;
