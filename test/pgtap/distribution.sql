-- Through SQL: the noise of a single node is discrete Laplace, P(z) proportional to exp(-|z|/scale)
-- on the integers, of the right scale; so is that of dp_count and dp_laplace. A sensitivity multiplies it.
--
-- False alarms: the number of draws in each bin is binomial. The test holds its Kullback-Leibler
-- distance from the expected share against 32/draws: Chernoff's bound gives each bin a probability
-- below 2 exp(-32) = 2.6e-14 of failing for a right build; there are fewer than 500.
BEGIN;
SET LOCAL client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS dp_counter;
RESET client_min_messages;
SELECT plan(40);

CREATE TEMP TABLE draws (source text, scale float8, z bigint);
CREATE TEMP TABLE counts (source text, scale float8, z bigint, times bigint);
CREATE FUNCTION pg_temp.clipped(z bigint, width bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
    $$ SELECT greatest(-12, least(12, CASE WHEN z >= 0 THEN (z + width / 2) / width ELSE -((-z + width / 2) / width) END)) $$;

-- the probability that z >= m, for m >= 1; and that of a bin of this width around 0, width, 2 width,
-- ..., the outer ones open
CREATE FUNCTION pg_temp.tail(m bigint, scale float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    $$ SELECT exp(-m / scale) / (1 + exp(-1 / scale)) $$;
CREATE FUNCTION pg_temp.share(bin bigint, width bigint, scale float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN bin = 0 THEN 1 - 2 * pg_temp.tail((width + 1) / 2, scale)
        WHEN abs(bin) = 12 THEN pg_temp.tail(12 * width - width / 2, scale)
        ELSE pg_temp.tail(abs(bin) * width - width / 2, scale) - pg_temp.tail((abs(bin) + 1) * width - width / 2, scale)
    END
$$;
-- the worst of 25 bins: draws * distance / 32, where 1 is the limit
CREATE FUNCTION pg_temp.misfit(wanted text, supposed float8) RETURNS float8 LANGUAGE sql AS $$
    WITH w AS (SELECT greatest(1, 2 * floor(supposed / 6)::bigint + 1) AS width),
         bins AS (SELECT pg_temp.clipped(z, width) AS bin, sum(times) AS n FROM counts, w WHERE source = wanted GROUP BY 1),
         shares AS (SELECT b, coalesce(n, 0)::float8 / sum(n) OVER () AS f, pg_temp.share(b, width, supposed) AS p,
             (sum(n) OVER ())::float8 AS draws
                    FROM w, generate_series(-12, 12) b LEFT JOIN bins ON bin = b)
    SELECT max(draws * ((CASE WHEN f > 0 THEN f * ln(f / p) ELSE 0 END) + (CASE WHEN f < 1 THEN (1 - f) * ln((1 - f) / (1 - p))
        ELSE 0 END))) / 32 FROM shares
$$;
SELECT ok((SELECT bool_and(abs(total - 1) < 1e-9)
           FROM (SELECT sum(pg_temp.share(b, width, scale)) AS total
                 FROM generate_series(-12, 12) b, (VALUES (1, 0.5), (1, 1), (1, 5), (3, 10), (35, 100)) v (width, scale) GROUP BY width,
                     scale) s),
          'the shares of all bins add up to 1');

-- one number, in groups, for a few scales; epsilon is a double, not a round decimal
DO $$
DECLARE
    epsilon float8;
BEGIN
    FOREACH epsilon IN ARRAY ARRAY[3, 1, 0.3, 0.01] LOOP
        INSERT INTO draws SELECT 'dp_count, epsilon ' || epsilon, 1 / epsilon, dp_count(false, epsilon) FROM generate_series(1, 100000) g
            GROUP BY g;
    END LOOP;
END $$;
-- a large scale: its bins are wide
INSERT INTO draws SELECT 'dp_count, epsilon 1e-07', 1e7, dp_count(false, 1e-7) FROM generate_series(1, 100000) g GROUP BY g;
-- over a partition, over no row at all
INSERT INTO draws SELECT 'dp_count OVER', 1, dp_count(false, 1) OVER (PARTITION BY g) FROM generate_series(1, 100000) g;
INSERT INTO draws SELECT 'dp_count of no row', 1, (SELECT dp_count(true, 1) FROM generate_series(1, 0) WHERE g > 0)
    FROM generate_series(1, 50000) g;
-- of true bits: around the true count
INSERT INTO draws SELECT 'dp_count of true bits', 1, dp_count(true, 1) - 3 FROM generate_series(1, 100000) g, generate_series(1, 3) t
    GROUP BY g;
-- the first release of a running count is one node, of scale h/epsilon
INSERT INTO draws SELECT 'window, h = 4', 4, dp_running_count(false, 1, 3, 'subtraction', 40) OVER (PARTITION BY g)
    FROM generate_series(1, 100000) g;
INSERT INTO draws SELECT 'window, h = 2, epsilon 0.5', 4, dp_running_count(true, 0.5, 19, 'plain', 100) OVER (PARTITION BY g) - 1
    FROM generate_series(1, 100000) g;
INSERT INTO draws SELECT 'aggregate OVER, h = 4', 4, dp_running_count(false, 1, 3, 40) OVER (PARTITION BY g)
    FROM generate_series(1, 100000) g;
INSERT INTO draws SELECT 'GROUP BY, h = 4', 4, dp_running_count(false, 1, 3, 40) FROM generate_series(1, 100000) g GROUP BY g;
-- h of a height: 62 levels
INSERT INTO draws SELECT 'window, h = 62', 62, dp_running_count(false, 1, 2, 'plain', 4611686018427387903) OVER (PARTITION BY g)
    FROM generate_series(1, 100000) g;

-- a sensitivity multiplies the scale: of one number, of a node of a running sum, in a window and over GROUP BY
INSERT INTO draws SELECT 'dp_laplace', 1, dp_laplace(g, 1, 1) - g FROM generate_series(1, 100000) g;
INSERT INTO draws SELECT 'dp_laplace, sensitivity 7, epsilon 2', 3.5, dp_laplace(NULL, 2, 7) FROM generate_series(1, 100000) g;
INSERT INTO draws SELECT 'dp_laplace, sensitivity 1000', 1000, dp_laplace(n, 1, 1000) - 2
    FROM (SELECT g, count(*) AS n FROM generate_series(1, 100000) g, generate_series(1, 2) t GROUP BY g) s;
INSERT INTO draws SELECT 'dp_running_sum, h = 4, sensitivity 5', 20,
    dp_running_sum(17, 1, 5, 40, 3, 'subtraction') OVER (PARTITION BY g) - 17 FROM generate_series(1, 100000) g;
INSERT INTO draws SELECT 'dp_running_sum, h = 2, sensitivity 3, epsilon 2', 3,
    dp_running_sum(NULL, 2, 3, 100, 19, 'plain') OVER (PARTITION BY g) FROM generate_series(1, 100000) g;
INSERT INTO draws SELECT 'dp_running_sum of one row, sensitivity 6', 6, dp_running_sum(count(*), 1, 6) OVER (PARTITION BY g
    ORDER BY g) - 1 FROM generate_series(1, 100000) g GROUP BY g;

-- rounded continuous noise, to compare with
INSERT INTO draws SELECT 'rounded', 1, round((-ln(1 - random()) * sign(random() - 0.5))::numeric) FROM generate_series(1, 100000) g;
INSERT INTO counts SELECT source, scale, z, count(*) FROM draws GROUP BY source, scale, z;
CREATE INDEX ON counts (source);
CREATE TEMP TABLE sources AS SELECT DISTINCT source, scale FROM counts WHERE source <> 'rounded';

SELECT cmp_ok(pg_temp.misfit(source, scale), '<', 1::float8, source || ': discrete Laplace of scale ' || round(scale::numeric, 3))
FROM sources ORDER BY source COLLATE "C";

-- Power: a scale that is a fifth off is found out in every one of them.
SELECT cmp_ok(pg_temp.misfit(source, 1.2 * scale), '>', 1::float8, 'power: ' || source || ' is not of scale '
    || round((1.2 * scale)::numeric, 3))
FROM sources ORDER BY source COLLATE "C";
-- Power: rounded continuous noise is not discrete Laplace noise.
SELECT cmp_ok(pg_temp.misfit('rounded', 1), '>', 1::float8, 'power: rounded continuous noise is found out');

SELECT * FROM finish();
ROLLBACK;
