-- Cursors: FETCH in portions, MOVE, and going back.

CREATE TEMP TABLE visits (t integer, flu boolean);
INSERT INTO visits SELECT t, t % 2 = 0 FROM generate_series(1, 10) t;

BEGIN;
DECLARE c NO SCROLL CURSOR FOR SELECT t, dp_running_count(flu, 1e9) OVER (ORDER BY t) FROM visits;
FETCH 3 FROM c;
FETCH NEXT FROM c;
MOVE 2 FROM c;
FETCH FORWARD ALL FROM c;
FETCH NEXT FROM c;
CLOSE c;

-- closed half-way, with the partition open
DECLARE c CURSOR FOR SELECT t, dp_running_count(flu, 1e9, horizon => 10) OVER (ORDER BY t) FROM visits;
FETCH 2 FROM c;
CLOSE c;
DECLARE c CURSOR FOR SELECT t, dp_running_count(flu, 1e9, 3, 10) OVER (ORDER BY t) FROM visits;
FETCH 2 FROM c;
CLOSE c;

-- two at once do not disturb each other
DECLARE a CURSOR FOR SELECT dp_running_count(flu, 1e9, 3, 10) OVER (ORDER BY t) FROM visits;
DECLARE b CURSOR FOR SELECT dp_running_count(NOT flu, 1e9, 4, 'plain', 20) OVER (ORDER BY t) FROM visits;
FETCH 4 FROM a;
FETCH 3 FROM b;
FETCH 2 FROM a;
FETCH 2 FROM b;
CLOSE ALL;

-- A count is not computed backwards.
DECLARE c NO SCROLL CURSOR FOR SELECT t, dp_running_count(flu, 1e9) OVER (ORDER BY t) FROM visits;
FETCH 3 FROM c;
SAVEPOINT s;
\set VERBOSITY sqlstate
FETCH PRIOR FROM c;
\set VERBOSITY default
ROLLBACK TO s;
ROLLBACK;

-- A SCROLL cursor keeps what it released: it shows the same releases again, and none anew.
DO $$
DECLARE
    c SCROLL CURSOR FOR SELECT dp_running_count(flu, 1e-9) OVER (ORDER BY t) AS n FROM visits;
    a SCROLL CURSOR FOR SELECT dp_running_count(flu, 1e-9, 3, 10) OVER (ORDER BY t) AS n FROM visits;
    n bigint;
    forth bigint[] := '{}';
    back bigint[] := '{}';
    again bigint[] := '{}';
BEGIN
    OPEN c;
    FOR i IN 1..10 LOOP FETCH NEXT FROM c INTO n; forth := forth || n; END LOOP;
    FETCH NEXT FROM c INTO n;
    FOR i IN 1..10 LOOP FETCH PRIOR FROM c INTO n; back := n || back; END LOOP;
    FOR i IN 1..10 LOOP FETCH ABSOLUTE i FROM c INTO n; again := again || n; END LOOP;
    CLOSE c;
    RAISE NOTICE 'window: back %, again %', back = forth, again = forth;
    OPEN a;
    forth := '{}';
    again := '{}';
    FOR i IN 1..10 LOOP FETCH NEXT FROM a INTO n; forth := forth || n; END LOOP;
    FETCH FIRST FROM a INTO n;
    again := again || n;
    FOR i IN 2..10 LOOP FETCH RELATIVE 1 FROM a INTO n; again := again || n; END LOOP;
    CLOSE a;
    RAISE NOTICE 'aggregate: again %', again = forth;
END $$;

-- dp_laplace is computed with its row: one that a cursor comes back to is released again, and those of WITH HOLD at COMMIT
-- from the first on. With MATERIALIZED they are kept.
CREATE FUNCTION pg_temp.seen_again(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    c refcursor;
    n bigint;
    forth bigint[] := '{}';
    again bigint[] := '{}';
BEGIN
    OPEN c SCROLL FOR EXECUTE query;
    FOR i IN 1..10 LOOP FETCH NEXT FROM c INTO n; forth := forth || n; END LOOP;
    FETCH FIRST FROM c INTO n;
    again := again || n;
    FOR i IN 2..10 LOOP FETCH NEXT FROM c INTO n; again := again || n; END LOOP;
    CLOSE c;
    RETURN again = forth;
END $$;
SELECT pg_temp.seen_again('SELECT dp_laplace(t, 1e-9, 1) AS n FROM visits') AS the_same,
       pg_temp.seen_again('WITH r AS MATERIALIZED (SELECT dp_laplace(t, 1e-9, 1) AS n FROM visits) TABLE r') AS the_same_materialized;
CREATE TEMP TABLE fetched (n bigint);
BEGIN;
DECLARE held SCROLL CURSOR WITH HOLD FOR SELECT dp_laplace(t, 1e-9, 1) AS n FROM visits;
DO $$
DECLARE
    c refcursor := 'held';
    n bigint;
BEGIN
    FETCH NEXT FROM c INTO n;
    INSERT INTO fetched VALUES (n);
END $$;
COMMIT;
BEGIN;
DO $$
DECLARE
    c refcursor := 'held';
    n bigint;
BEGIN
    FETCH FIRST FROM c INTO n;
    INSERT INTO fetched VALUES (n);
END $$;
COMMIT;
SELECT count(DISTINCT n) AS releases FROM fetched;
CLOSE held;

-- WITH HOLD: the releases are kept beyond the transaction
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT t, dp_running_count(flu, 1e9) OVER (ORDER BY t) FROM visits;
FETCH 2 FROM held;
COMMIT;
FETCH 2 FROM held;
CLOSE held;

-- a cursor in a subtransaction that is rolled back
BEGIN;
SAVEPOINT s;
DECLARE c CURSOR FOR SELECT t, dp_running_count(flu, 1e9) OVER (ORDER BY t) FROM visits;
FETCH 2 FROM c;
ROLLBACK TO s;
SELECT max(n) FROM (SELECT dp_running_count(flu, 1e9) OVER (ORDER BY t) AS n FROM visits) s;
ROLLBACK;

-- a loop in PL/pgSQL reads in portions, left half-way
DO $$
DECLARE
    n bigint;
BEGIN
    FOR n IN SELECT dp_running_count(i % 2 = 0, 1e9) OVER (ORDER BY i) FROM generate_series(1, 1000) i LOOP
        EXIT WHEN n = 100;
    END LOOP;
    RAISE NOTICE 'left at %', n;
END $$;
