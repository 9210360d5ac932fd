-- Planner ---------------------------------------------------------------------------------------
--
-- IMMUTABLE: results depend only on the arguments, which are public, and the choice of a plan is
-- deterministic. (A later version may choose better plans: rebuild indexes and generated columns
-- over these functions after an upgrade, as for any extension.) Not STRICT where NULL means
-- "choose".

CREATE FUNCTION dp_plan(
    horizon bigint,
    epsilon double precision,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL,
    sensitivity bigint DEFAULT 1,
    OUT mechanism pg_catalog.text,
    OUT height integer,
    OUT radices integer[],
    OUT scale double precision,
    OUT mse double precision,
    OUT rmse double precision,
    OUT max_stddev double precision,
    OUT state_bytes bigint,
    OUT first_step bigint,
    OUT last_step bigint
)
RETURNS SETOF record
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 ROWS 1
AS 'MODULE_PATHNAME', 'dp_plan';

COMMENT ON FUNCTION dp_plan(bigint, double precision, integer, pg_catalog.text, bigint)
IS 'Returns the mechanism, the parameters and the errors of dp_running_count for a horizon '
   'and epsilon, without reading data. Where k or mechanism is NULL, the least mean squared '
   'error decides. With a NULL horizon it returns a row for each epoch: each step is in one '
   'epoch, which has all of epsilon, and the errors include the noise carried over from earlier '
   'epochs.';

CREATE FUNCTION dp_compare(
    horizon bigint,
    epsilon double precision,
    delta double precision DEFAULT NULL,
    sensitivity bigint DEFAULT 1,
    contributions bigint DEFAULT 1,
    OUT mechanism pg_catalog.text,
    OUT k integer,
    OUT guarantee pg_catalog.text,
    OUT mse double precision,
    OUT rmse double precision,
    OUT max_stddev double precision,
    OUT ratio double precision
)
RETURNS SETOF record
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10000 ROWS 12
AS 'MODULE_PATHNAME', 'dp_compare';

COMMENT ON FUNCTION dp_compare(bigint, double precision, double precision, bigint, bigint)
IS 'Returns the errors of this extension''s mechanisms and of the literature''s, least mean '
   'squared error first; ratio is that to the best. With delta it adds the Gaussian mechanisms, '
   'whose guarantee (approximate) is weaker. Only these gain from contributions: the number of '
   'steps over which the change of one unit (sensitivity) is spread.';

CREATE FUNCTION dp_stddev(
    step bigint,
    horizon bigint,
    epsilon double precision,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL,
    sensitivity bigint DEFAULT 1,
    since_step bigint DEFAULT 0
) RETURNS double precision
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'dp_stddev';

COMMENT ON FUNCTION dp_stddev(
    bigint, bigint, double precision, integer, pg_catalog.text, bigint, bigint)
IS 'Returns the standard deviation of the release after step rows, or of its difference to the '
   'release after since_step rows. It reads no data. It is exact for trees, and for hat up to '
   '4,096 steps, beyond that to 0.1 % above; the rounding of hat counts as a variance of 1/12 '
   'each, too much for a difference of few steps at a large epsilon. With mechanism laplace it is '
   'that of the sum of step - since_step numbers, each released once (dp_count, dp_laplace, a '
   'counter that is not cumulative), and with box that of these periods of a counter with '
   'mechanism box, with bins that of the widest bin of a histogram with k bins in so many periods; '
   'horizon is ignored.';

CREATE FUNCTION dp_interval(
    released bigint,
    step bigint,
    horizon bigint,
    epsilon double precision,
    confidence double precision DEFAULT 0.95,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL,
    sensitivity bigint DEFAULT 1,
    since_step bigint DEFAULT 0,
    within pg_catalog.int8range DEFAULT NULL
) RETURNS pg_catalog.int8range
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'dp_interval';

COMMENT ON FUNCTION dp_interval(
    bigint, bigint, bigint, double precision, double precision, integer, pg_catalog.text, bigint,
    bigint, pg_catalog.int8range)
IS 'Returns an interval that holds the truth with probability confidence: around a release after '
   'step rows, or around its difference to the release after since_step rows. It is the shortest '
   'symmetric one, or one wider by 1 at each end. It is computed from the exact distribution of '
   'the noise and reads no data; its ends are moved into within, where the truth is for certain. '
   'With mechanism laplace, released is the sum of step - since_step numbers, each released once '
   '(dp_count, dp_laplace, a counter that is not cumulative), and with box that of these periods '
   'of a counter with mechanism box, with bins that of a bin in a histogram with k bins; horizon '
   'is ignored.';

CREATE FUNCTION dp_avg(
    above bigint,
    below bigint,
    lower bigint DEFAULT 0,
    upper bigint DEFAULT 1
) RETURNS double precision
LANGUAGE c IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_avg';

COMMENT ON FUNCTION dp_avg(bigint, bigint, bigint, bigint)
IS 'Returns the average of values between lower and upper, from releases of the sum of value - '
   'lower (above) and of the sum of upper - value (below). With lower 0 and upper 1 it is a share, '
   'from the numbers of yes and of no. NULL where the releases together are not positive. It '
   'reads no data.';

CREATE FUNCTION dp_avg_interval(
    above bigint,
    below bigint,
    step bigint,
    horizon bigint,
    epsilon double precision,
    lower bigint DEFAULT 0,
    upper bigint DEFAULT 1,
    confidence double precision DEFAULT 0.95,
    k integer DEFAULT NULL,
    mechanism pg_catalog.text DEFAULT NULL,
    sensitivity bigint DEFAULT NULL,
    since_step bigint DEFAULT 0
) RETURNS pg_catalog.numrange
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100
AS 'MODULE_PATHNAME', 'dp_avg_interval';

COMMENT ON FUNCTION dp_avg_interval(
    bigint, bigint, bigint, bigint, double precision, bigint, bigint, double precision, integer,
    pg_catalog.text, bigint, bigint)
IS 'Returns an interval that holds, with probability confidence, the true average of what the two '
   'releases count. Both are of one step, horizon, epsilon, k, mechanism and sensitivity, '
   'which is upper - lower if NULL. It is computed from the exact distribution of the noise and '
   'reads no data; where the releases together are not positive it is all from lower to upper.';

