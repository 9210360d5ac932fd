-- A snapshot of who owns every object of the extension, who may do what with it, and how it runs: volatility,
-- parallel mark, SECURITY DEFINER, settings such as search_path. A change here is a decision; make it in this
-- file too.
BEGIN;
SET LOCAL client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS dp_counter;
RESET client_min_messages;
\ir ../upgrade/listing.sql
SELECT plan(5);

SELECT set_eq(
    $$ SELECT kind, replace(identity, (SELECT quote_ident(nspname) || '.' FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'dp_counter'), 'public.'), security
       FROM dp_listing WHERE kind = 'event trigger' OR kind !~ 'column|constraint|trigger|index' $$,
    $$ VALUES
        ('aggregate', 'public.dp_count(boolean,double precision)', 'volatile parallel restricted acl default'),
        ('aggregate', 'public.dp_count()', 'volatile parallel restricted acl default'),
        ('aggregate', 'public.dp_count(pg_catalog."any")', 'volatile parallel restricted acl default'),
        ('aggregate', 'public.dp_sum(pg_catalog."any")', 'volatile parallel restricted acl default'),
        ('aggregate', 'public.dp_median(pg_catalog."any")', 'volatile parallel restricted acl default'),
        ('aggregate', 'public.dp_quantile(pg_catalog."any")', 'volatile parallel restricted acl default'),
        ('aggregate', 'public.dp_percentile(pg_catalog."any")', 'volatile parallel restricted acl default'),
        ('aggregate', 'public.dp_running_count(boolean,double precision,integer,bigint)', 'volatile parallel restricted acl default'),
        ('function', 'dp_counter_private.face(dp_counter_private.view_name,bigint)', 'stable parallel safe strict acl default'),
        ('function', 'dp_counter_private.view_name_in(pg_catalog.cstring)', 'stable parallel safe strict acl default'),
        ('function', 'dp_counter_private.view_name_out(dp_counter_private.view_name)', 'stable parallel safe strict acl default'),
        ('type', 'dp_counter_private.view_name', 'acl default'),
        ('cast', '(dp_counter_private.view_name AS pg_catalog.oid)', 'implicit'),
        ('event trigger', 'dp_counter_dropped', 'enabled A'),
        ('event trigger', 'dp_counter_replaced', 'enabled A'),
        ('function', 'public.dp_avg(bigint,bigint,bigint,bigint)', 'immutable parallel safe acl default'),
        ('function', 'public.dp_avg_interval(bigint,bigint,bigint,bigint,double precision,bigint,bigint,double precision,integer,pg_catalog.text,bigint,bigint)', 'immutable parallel safe acl default'),
        ('function', 'public.dp_budget_create(pg_catalog.text,numeric,interval,pg_catalog.regclass,timestamp without time zone,timestamp without time zone,numeric,bigint)', 'volatile parallel unsafe acl default'),
        ('function', 'public.dp_budget_drop(pg_catalog.regclass)', 'volatile parallel unsafe acl default'),
        ('function', 'public.dp_budget_left(pg_catalog.regclass,timestamp without time zone,timestamp without time zone)', 'stable parallel restricted acl default'),
        ('function', 'public.dp_compare(bigint,double precision,double precision,bigint,bigint)', 'immutable parallel safe acl default'),
        ('function', 'dp_counter_private.dp_count_final(pg_catalog.internal)', 'volatile parallel restricted acl default'),
        ('function', 'dp_counter_private.dp_count_transition(pg_catalog.internal,boolean,double precision)', 'volatile parallel restricted acl default'),
        ('function', 'public.dp_counter_add_groups(pg_catalog.regclass,pg_catalog.text[],pg_catalog.regclass,pg_catalog.text)', 'volatile parallel unsafe acl default'),
        ('function', 'public.dp_counter_drop_groups(pg_catalog.regclass,pg_catalog.text[])', 'volatile parallel unsafe acl default'),
        ('function', 'public.dp_counter_changes(pg_catalog.regclass,bigint,timestamp without time zone,timestamp without time zone)', 'stable parallel restricted set search_path=pg_catalog, pg_temp, enable_indexscan=off acl default'),
        ('function', 'public.dp_counter_create(pg_catalog.text,pg_catalog.regclass,numeric,interval,timestamp without time zone,bigint,pg_catalog.text,integer,boolean,pg_catalog.text,pg_catalog.text,pg_catalog.text,bigint,bigint,pg_catalog.text,pg_catalog.text[],pg_catalog.regclass,pg_catalog.text,pg_catalog.text,interval,boolean,integer,pg_catalog.text,pg_catalog.regclass,pg_catalog.regclass,boolean)', 'volatile parallel unsafe acl default'),
        ('function', 'public.dp_counter_plan(pg_catalog.regclass)', 'stable parallel restricted set search_path=pg_catalog, pg_temp acl default'),
        ('function', 'public.dp_counter_drop(pg_catalog.regclass)', 'volatile parallel unsafe acl default'),
        ('function', 'public.dp_counter_end(pg_catalog.regclass)', 'volatile parallel unsafe acl default'),
        ('function', 'public.dp_counter_resume(pg_catalog.regclass)', 'volatile parallel unsafe acl default'),
        ('function', 'dp_counter_private.dp_counter_dropped()', 'volatile parallel unsafe acl default'),
        ('function', 'dp_counter_private.dp_counter_replaced()', 'volatile parallel unsafe acl default'),
        ('function', 'public.dp_counter_record()', 'volatile parallel unsafe acl default'),
        ('function', 'public.dp_counter_record(pg_catalog.regclass,integer)', 'volatile parallel unsafe acl default'),
        ('function', 'public.dp_event_counter_create(pg_catalog.text,numeric,bigint,interval,integer,pg_catalog.text)', 'volatile parallel unsafe acl default'),
        ('function', 'public.dp_interval(bigint,bigint,bigint,double precision,double precision,integer,pg_catalog.text,bigint,bigint,pg_catalog.int8range)', 'immutable parallel safe acl default'),
        ('function', 'dp_counter_private.group_name(bigint,integer)', 'stable parallel safe strict acl default'),
        ('function', 'dp_counter_private.kept_in_dumps()', 'volatile parallel unsafe acl owner=execute'),
        ('function', 'public.dp_laplace(bigint,double precision,bigint)', 'volatile parallel restricted acl default'),
        ('function', 'dp_counter_private.dp_laplace_support(pg_catalog.internal)', 'immutable parallel safe strict acl default'),
        ('function', 'public.dp_monotone(bigint)', 'immutable parallel safe acl default'),
        ('function', 'public.dp_plan(bigint,double precision,integer,pg_catalog.text,bigint)', 'immutable parallel safe acl default'),
        ('function', 'public.dp_repair()', 'volatile parallel unsafe acl default'),
        ('function', 'dp_counter_private.dp_count_mistake(bigint)', 'volatile parallel restricted acl default'),
        ('function', 'dp_counter_private.dp_count_mistake(bigint,pg_catalog."any")', 'volatile parallel restricted acl default'),
        ('function', 'public.dp_laplace(pg_catalog."any",pg_catalog."any")', 'volatile parallel restricted acl default'),
        ('function', 'public.dp_running_count(pg_catalog."any")', 'volatile parallel restricted acl default'),
        ('function', 'public.dp_running_sum(pg_catalog."any",pg_catalog."any")', 'volatile parallel restricted acl default'),
        ('function', 'public.dp_running_count(double precision,double precision,integer,pg_catalog.text,bigint)', 'volatile parallel restricted acl default'),
        ('function', 'public.dp_running_count(bit,double precision,integer,pg_catalog.text,bigint)', 'volatile parallel restricted acl default'),
        ('function', 'public.dp_running_count(boolean,double precision,integer,pg_catalog.text,bigint)', 'volatile parallel restricted acl default'),
        ('function', 'public.dp_running_count(pg_catalog.text,double precision,integer,pg_catalog.text,bigint)', 'volatile parallel restricted acl default'),
        ('function', 'dp_counter_private.dp_running_count_final(pg_catalog.internal)', 'volatile parallel restricted acl default'),
        ('function', 'dp_counter_private.dp_running_count_support(pg_catalog.internal)', 'immutable parallel safe strict acl default'),
        ('function', 'dp_counter_private.dp_running_count_transition(pg_catalog.internal,boolean,double precision,integer,bigint)', 'volatile parallel restricted acl default'),
        ('function', 'public.dp_running_sum(bigint,double precision,bigint,bigint,integer,pg_catalog.text)', 'volatile parallel restricted acl default'),
        ('function', 'public.dp_stddev(bigint,bigint,double precision,integer,pg_catalog.text,bigint,bigint)', 'immutable parallel safe acl default'),
        ('function', 'public.dp_own_window(pg_catalog.regclass,pg_catalog."any",pg_catalog."any")', 'stable parallel safe acl default'),
        ('procedure', 'public.dp_budget_spend(pg_catalog.regclass,numeric,pg_catalog.text,timestamp without time zone,timestamp without time zone)', 'volatile parallel unsafe acl default'),
        ('procedure', 'public.dp_tick(pg_catalog.regclass)', 'volatile parallel unsafe acl default'),
        ('schema', 'dp_counter_private', 'acl owner=create,usage'),
        ('sequence', 'dp_counter_private.counters_number_seq', 'acl default'),
        ('table', 'dp_counter_private.budget_entries', 'row security acl owner=delete,insert,references,select,trigger,truncate,update'),
        ('table', 'dp_counter_private.window_key', 'row security acl owner=delete,insert,references,select,trigger,truncate,update'),
        ('table', 'dp_counter_private.budgets', 'row security acl owner=delete,insert,references,select,trigger,truncate,update'),
        ('table', 'dp_counter_private.counters', 'row security acl owner=delete,insert,references,select,trigger,truncate,update'),
        ('table', 'dp_counter_private.events', 'row security fillfactor=10 acl owner=delete,insert,references,select,trigger,truncate,update'),
        ('table', 'dp_counter_private.publications', 'row security acl owner=delete,insert,references,select,trigger,truncate,update'),
        ('table', 'dp_counter_private.groups', 'row security acl owner=delete,insert,references,select,trigger,truncate,update'),
        ('table', 'dp_counter_private.streams', 'row security fillfactor=45 acl owner=delete,insert,references,select,trigger,truncate,update'),
        ('table', 'dp_counter_private.releases', 'row security acl owner=delete,insert,references,select,trigger,truncate,update'),
        ('view', 'dp_counter_private.published', 'security_barrier=true acl owner=delete,insert,references,select,trigger,truncate,update public=select'),
        ('view', 'dp_counter_private.spendings', 'security_barrier=true acl owner=delete,insert,references,select,trigger,truncate,update public=select'),
        ('function', 'public.dp_source_create(pg_catalog.regclass,pg_catalog.regclass,pg_catalog.text,pg_catalog.text,pg_catalog.text,boolean,boolean,pg_catalog.text[])', 'volatile parallel unsafe acl default'),
        ('function', 'public.dp_source_drop(pg_catalog.regclass)', 'volatile parallel unsafe acl default'),
        ('procedure', 'public.dp_source_contributions(pg_catalog.regclass,pg_catalog.text,numeric,pg_catalog.text,integer,timestamp without time zone,timestamp without time zone)', 'volatile parallel unsafe acl default'),
        ('procedure', 'public.dp_source_suggest(pg_catalog.regclass,pg_catalog.text,numeric,double precision,interval,pg_catalog.text,pg_catalog.text,pg_catalog.text,integer,integer,timestamp without time zone,timestamp without time zone)', 'volatile parallel unsafe acl default'),
        ('function', 'dp_counter_private.most_spent(timestamp without time zone[],timestamp without time zone[],timestamp without time zone[],timestamp without time zone[],numeric[],interval,timestamp without time zone,timestamp without time zone)', 'immutable parallel safe strict acl default'),
        ('function', 'dp_counter_private.next_step(bigint,bigint,interval,timestamp with time zone,pg_catalog.oid,pg_catalog.text,timestamp without time zone,interval,timestamp with time zone)', 'stable parallel safe acl default'),
        ('table', 'dp_counter_private.sources', 'row security acl owner=delete,insert,references,select,trigger,truncate,update'),
        ('table', 'dp_counter_private.source_counters', 'row security acl owner=delete,insert,references,select,trigger,truncate,update'),
        ('table', 'dp_counter_private.tallies', 'row security fillfactor=90 acl owner=delete,insert,references,select,trigger,truncate,update'),
        ('view', 'public.dp_sources', 'security_barrier=true acl owner=delete,insert,references,select,trigger,truncate,update public=select'),
        ('view', 'public.dp_budgets', 'security_barrier=true acl owner=delete,insert,references,select,trigger,truncate,update public=select'),
        ('view', 'public.dp_counters', 'security_barrier=true acl owner=delete,insert,references,select,trigger,truncate,update public=select') $$,
    'owner, privileges, volatility, parallel mark and settings of every object');
SELECT is_empty($$ SELECT identity FROM dp_listing WHERE kind ~ 'column' AND security <> 'acl default' $$, 'no column has privileges of its own');
SELECT is_empty($$ SELECT identity FROM dp_listing WHERE security ~ 'OWNED BY|not described' $$, 'all belongs to the owner of the extension, and is described here');
SELECT is_empty($$ SELECT identity FROM dp_listing WHERE security ~ 'security definer' AND security !~ 'set search_path=' $$, 'what runs with its owner''s rights pins its search_path');
SELECT is_empty($$ SELECT identity FROM dp_listing WHERE security ~ 'leakproof' $$, 'nothing is LEAKPROOF');

SELECT * FROM finish();
ROLLBACK;
