# What counters under a renewing budget count, computed by plain SQL: own windows, the order, the bound, the warm-up. Only the two
# keys (of the windows, of a counter's tallies) are read from the extension's tables.
package Renewal;

use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw($renewal_sql);

# oracle.counters has a row for each counter that is computed: its columns in table `rows`, and its declaration. CALL oracle.close
# (name, n) closes steps up to n, by the counter's grace, and computes them; oracle.differences(name) compares.
our $renewal_sql = <<'SQL';
CREATE SCHEMA oracle;
-- A person as bytes.
CREATE FUNCTION oracle.plain(bigint) RETURNS bytea LANGUAGE sql IMMUTABLE AS 'SELECT int8send($1)';
CREATE FUNCTION oracle.plain(text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$ SELECT convert_to($1, 'UTF8') $$;
CREATE FUNCTION oracle.plain(uuid) RETURNS bytea LANGUAGE sql IMMUTABLE AS 'SELECT uuid_send($1)';
-- A time as the integer that is stored, and the day of it.
CREATE FUNCTION oracle.face(timestamp) RETURNS bigint LANGUAGE sql IMMUTABLE AS
	$$ SELECT (extract(epoch FROM $1 - timestamp '2000-01-01') * 1000000)::bigint $$;
CREATE FUNCTION oracle.face(timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$ SELECT oracle.face($1 AT TIME ZONE 'UTC') $$;
CREATE FUNCTION oracle.face(date) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT oracle.face($1::timestamp)';
CREATE FUNCTION oracle.day(timestamp) RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT $1::date - date '2000-01-01' $$;
CREATE FUNCTION oracle.day(timestamptz) RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT oracle.day($1 AT TIME ZONE 'UTC') $$;
CREATE FUNCTION oracle.day(date) RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT oracle.day($1::timestamp) $$;
-- The first eight bytes as an unsigned number.
CREATE FUNCTION oracle.number(bytea) RETURNS numeric LANGUAGE sql IMMUTABLE AS
	$$ SELECT n + (n < 0)::int * 18446744073709551616
		FROM (SELECT ('x' || encode(substr($1, 1, 8), 'hex'))::bit(64)::bigint::numeric AS n) AS signed $$;
CREATE FUNCTION oracle.phase(person bytea, per integer) RETURNS integer LANGUAGE sql STABLE AS
	$$ SELECT mod(oracle.number(sha256((SELECT key FROM dp_counter_private.window_key) || person)), per)::int $$;
CREATE FUNCTION oracle.window_of(day integer, phase integer, per integer) RETURNS integer LANGUAGE sql IMMUTABLE AS
	$$ SELECT floor((day - phase) / per::double precision)::int $$;

CREATE TABLE oracle.counters (
	name text PRIMARY KEY, person text, at text, zone text, per integer, -- days; NULL: a person's life
	measure text, event text, value text, lower bigint, upper bigint, place text, groups text[], per_person bigint,
	every interval, since timestamp, cumulative boolean, steps integer DEFAULT 0);
CREATE TABLE oracle.tallies (name text, person bytea, own_window integer, used bigint, PRIMARY KEY (name, person, own_window));
CREATE TABLE oracle.cells (name text, step integer, number integer, total numeric, rest numeric, PRIMARY KEY (name, step, number));

-- Where step n ends, on the column's face.
CREATE FUNCTION oracle.boundary(c oracle.counters, n integer) RETURNS timestamp LANGUAGE plpgsql STABLE AS $$
BEGIN
	IF c.at <> 'instant' THEN RETURN c.since + n * c.every; END IF;
	RETURN (SELECT max((c.since + m * c.every) AT TIME ZONE c.zone) AT TIME ZONE 'UTC' FROM generate_series(least(n, 0), n) AS m);
END $$;

-- One tick. Steps below 1 are the warm-up.
CREATE PROCEDURE oracle.compute(counter text, last integer) LANGUAGE plpgsql SET TimeZone = 'UTC' AS $$
DECLARE
	c oracle.counters := (SELECT k FROM oracle.counters AS k WHERE k.name = counter);
	key bytea := (SELECT s.key FROM dp_counter_private.source_counters AS s
		WHERE number = (SELECT n.number FROM dp_counter_private.counters AS n WHERE n.counter = compute.counter::regclass));
	type text := CASE c.at WHEN 'instant' THEN 'timestamptz' WHEN 'day' THEN 'date' ELSE 'timestamp' END;
	low timestamp := oracle.boundary(c, 0) - c.per * interval '1 day';
	first integer := c.steps + 1;
	starts timestamp[];
BEGIN
	IF c.steps = 0 AND c.per IS NOT NULL AND c.per_person IS NOT NULL THEN
		WHILE oracle.boundary(c, first - 1) > low LOOP first := first - 1; END LOOP;
	END IF;
	starts := ARRAY(SELECT CASE WHEN n < 0 THEN greatest(low, oracle.boundary(c, n)) ELSE oracle.boundary(c, n) END
		FROM generate_series(first - 1, last) AS n ORDER BY n);
	EXECUTE format($query$
		WITH events AS (
			SELECT oracle.plain(%1$s) AS person, oracle.face(%2$s) AS face, oracle.day(%2$s) AS day, %3$s AS number, %4$s AS value,
			       $8 - 1 + width_bucket(%2$s, $9::%5$s[]) AS step
			FROM rows WHERE %2$s >= $9[1]::%5$s AND %2$s < $9[cardinality($9)]::%5$s AND %1$s IS NOT NULL AND %6$s
		), numbered AS (
			SELECT *, row_number() OVER (PARTITION BY person, face, number, value) - 1 AS copy FROM events
				WHERE number IS NOT NULL AND value IS NOT NULL
		), phases AS MATERIALIZED (
			SELECT person, CASE WHEN $2 IS NOT NULL THEN oracle.phase(person, $2) END AS phase FROM (SELECT DISTINCT person FROM numbered) AS persons
		), digested AS (
			SELECT *, coalesce(oracle.window_of(day, phase, $2), 0) AS own_window,
			       substr(sha256($1 || int8send(face) || int8send(number) || int8send(value) || int8send(copy) || person), 1, 8) AS digest
			FROM numbered JOIN phases USING (person)
		), once AS ( -- the first event of a person in a period
			SELECT *, row_number() OVER (PARTITION BY person, CASE WHEN $4 IS NOT NULL THEN own_window END, step
			                             ORDER BY face, digest, number, value, copy) AS place FROM digested
		), ordered AS (
			SELECT *, row_number() OVER (PARTITION BY person, own_window ORDER BY face, digest, number, value, copy) AS n
			FROM once WHERE place = 1 OR $5 <> 'persons'
		), counted AS (
			SELECT o.* FROM ordered AS o LEFT JOIN oracle.tallies AS t ON t.name = $3 AND t.person = o.person AND t.own_window = o.own_window
			WHERE $4 IS NULL OR o.n + coalesce(t.used, 0) <= $4
		), tallied AS (
			INSERT INTO oracle.tallies SELECT $3, person, own_window, count(*) FROM counted WHERE $4 IS NOT NULL GROUP BY person, own_window
			ON CONFLICT (name, person, own_window) DO UPDATE SET used = tallies.used + excluded.used
		)
		INSERT INTO oracle.cells SELECT $3, s, g, coalesce(sum(e.value - $11), 0), coalesce(sum($12 - e.value), 0)
		FROM generate_series(greatest($8, 1), $10) AS s CROSS JOIN generate_series(1, $6) AS g
		     LEFT JOIN counted AS e ON e.step = s AND e.number = g GROUP BY s, g $query$,
		c.person, c.at, CASE WHEN c.place IS NULL THEN '1' ELSE format('array_position($7, %s::text)', c.place) END,
		CASE WHEN c.value IS NULL THEN '1::bigint' WHEN c.measure = 'share' THEN c.value || '::int::bigint'
		     ELSE format('CASE WHEN %1$s IS NOT NULL THEN least(greatest(%1$s, %2$s), %3$s) END', c.value, c.lower, c.upper) END,
		type, coalesce(c.event, 'true'))
		USING key, c.per, counter, c.per_person, c.measure, coalesce(cardinality(c.groups), 1), c.groups, first, starts, last,
		      CASE c.measure WHEN 'avg' THEN c.lower ELSE 0 END, CASE c.measure WHEN 'avg' THEN c.upper WHEN 'share' THEN 1 END;
	UPDATE oracle.counters AS k SET steps = last WHERE k.name = counter;
END $$;

CREATE PROCEDURE oracle.tick(counter text, last integer) LANGUAGE plpgsql AS $$
BEGIN
	UPDATE dp_counter_private.source_counters AS s SET "grace" = now() AT TIME ZONE c.zone - (c.since + last * c.every)
	FROM oracle.counters AS c WHERE c.name = tick.counter AND s.number = (SELECT n.number FROM dp_counter_private.counters AS n
		WHERE n.counter = tick.counter::regclass);
	COMMIT;
	CALL dp_tick(counter::regclass);
END $$;

CREATE PROCEDURE oracle.close(counter text, last integer) LANGUAGE plpgsql AS $$
BEGIN
	CALL oracle.tick(counter, last);
	CALL oracle.compute(counter, last);
END $$;

-- What a counter released: of an average two numbers. Group numbers count from 1.
CREATE FUNCTION oracle.released(counter text) RETURNS TABLE (step integer, number integer, count numeric, rest numeric)
	LANGUAGE plpgsql AS $$
DECLARE
	c oracle.counters := (SELECT k FROM oracle.counters AS k WHERE k.name = counter);
BEGIN
	RETURN QUERY EXECUTE format('SELECT step::int, %s, %s FROM %I',
		CASE WHEN c.place IS NULL THEN '1' ELSE format('array_position($1, %s::text)', c.place) END,
		CASE c.measure WHEN 'avg' THEN 'above::numeric, below::numeric' WHEN 'share' THEN 'above::numeric, below::numeric'
			WHEN 'sum' THEN 'sum::numeric, 0.0' ELSE 'count::numeric, 0.0' END,
		counter) USING c.groups;
END $$;
CREATE FUNCTION oracle.differences(counter text) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*)
	FROM (SELECT step, number, CASE WHEN c.cumulative THEN sum(total) OVER so_far ELSE total END AS count,
		CASE WHEN c.cumulative THEN sum(rest) OVER so_far ELSE rest END AS rest
	      FROM oracle.cells JOIN oracle.counters AS c USING (name) WHERE name = counter
	      WINDOW so_far AS (PARTITION BY number ORDER BY step)) AS truth
	FULL JOIN oracle.released(counter) AS released USING (step, number)
		WHERE (truth.count, truth.rest) IS DISTINCT FROM (released.count, released.rest) $$;
SQL

1;
