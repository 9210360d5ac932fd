-- Loads the flights, for queries that anybody writes: here a row is protected, one flight.
\set epsilon 1.0

CREATE TABLE flights (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    departure timestamp NOT NULL,
    delay     integer NOT NULL,
    origin    text NOT NULL
);
\copy flights (departure, delay, origin) FROM 'test/data/flights.csv' WITH (FORMAT csv, HEADER)
ANALYZE flights;

SELECT to_char(count(*), 'FM999,999') AS flights,
       count(*) AS flights_count,
       count(DISTINCT origin) AS airports,
       to_char(min(departure), 'FMDay FMDD FMMonth YYYY') AS first_day,
       to_char(max(departure), 'FMDay FMDD FMMonth YYYY') AS last_day
FROM flights \gset

\echo
\echo
\echo
\echo 'Queries:' :flights 'flights from' :airports 'airports,' :first_day 'to' :last_day
\echo 'The secret of each flight: was it more than 15 minutes late?'
