-- dp_running_count over bit(1) instead of boolean

CREATE TEMP TABLE visits (t integer, flu bit(1));
INSERT INTO visits SELECT t, (CASE WHEN t % 3 = 0 THEN B'1' ELSE B'0' END) FROM generate_series(1, 9) t;
INSERT INTO visits VALUES (10, NULL);

SELECT t, flu, dp_running_count(flu, 1e9) OVER (ORDER BY t) FROM visits ORDER BY t;

SELECT t,
       dp_running_count(flu, 1e9, 3, 'plain') OVER w AS plain,
       dp_running_count(flu, 1e9, 4, 'subtraction', 10) OVER w AS told,
       dp_running_count(flu, 1e9, horizon => 1000) OVER w AS far
FROM visits
WINDOW w AS (ORDER BY t)
ORDER BY t;

-- what is a bit(1) in all but name: literals, casts, varying bit strings, substrings, stored out of line
SELECT dp_running_count(B'1', 1e9) OVER () AS literal,
       dp_running_count(1::bit, 1e9) OVER () AS number,
       dp_running_count(B'1'::bit varying, 1e9) OVER () AS varying,
       dp_running_count(substring(B'0110' FROM 2 FOR 1), 1e9) OVER () AS part,
       dp_running_count(X'8'::bit(1), 1e9) OVER () AS hexadecimal,
       dp_running_count(~B'1', 1e9) OVER () AS complement;

CREATE TEMP TABLE strings (t integer, long bit varying);
INSERT INTO strings SELECT t, repeat('01', 20000)::bit varying FROM generate_series(1, 4) t;
SELECT t, dp_running_count(substring(long FROM t FOR 1), 1e9) OVER (ORDER BY t) FROM strings ORDER BY t;

-- A bit string of another length is an error, never a guess.
SELECT dp_running_count(B'10', 1e9) OVER ();
\echo SQLSTATE :LAST_ERROR_SQLSTATE
SELECT dp_running_count(B'', 1e9) OVER ();
SELECT dp_running_count(long, 1e9) OVER (ORDER BY t) FROM strings;
SELECT dp_running_count(b, 1e9) OVER (ORDER BY t)
FROM (VALUES (1, B'1'), (2, B'0'), (3, B'01'::bit varying)) v (t, b);

-- PostgreSQL has no implicit cast from other types; the count has none either.
\set VERBOSITY sqlstate
SELECT dp_running_count(1, 1e9) OVER ();
SELECT dp_running_count('1'::text, 1e9) OVER ();
SELECT dp_running_count(bytea '\x01', 1e9) OVER ();
-- a bare literal could be either type: PostgreSQL takes it for text, which is told the way out
SELECT dp_running_count('1', 1e9) OVER ();
SELECT dp_running_count(NULL, 1e9) OVER ();
\set VERBOSITY default
SELECT dp_running_count(boolean '1', 1e9) OVER (), dp_running_count(NULL::boolean, 1e9) OVER (),
       dp_running_count(bit '1', 1e9) OVER (), dp_running_count(NULL::bit, 1e9) OVER ();
