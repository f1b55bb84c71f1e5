create schema platform;
grant usage on schema platform to mailwright_app;
grant usage on schema platform to mailwright_system;
comment on schema platform is 'What all contexts build on: the scope of row-level security, events and jobs, rate limits, idempotency.';

create table platform.audit_checkpoints (
  environment_id bigint not null,
  sequence bigint not null,
  hash bytea not null,
  removed_at timestamp(3) with time zone not null,
  constraint audit_checkpoints_pkey PRIMARY KEY (environment_id, sequence)
);
alter table platform.audit_checkpoints enable row level security;
alter table platform.audit_checkpoints force row level security;
create policy app_rows on platform.audit_checkpoints for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on platform.audit_checkpoints for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on platform.audit_checkpoints for all to mailwright_system using (true) with check (true);
grant select on platform.audit_checkpoints to mailwright_app;
grant insert, select on platform.audit_checkpoints to mailwright_system;
comment on table platform.audit_checkpoints is 'The last row of an audit log that was removed for its age, each time: the chain goes on from there.';

create table platform.audit_inbox (
  environment_id bigint not null,
  occurred_at timestamp(3) with time zone not null,
  id uuid not null,
  entry jsonb not null,
  constraint audit_inbox_pkey PRIMARY KEY (environment_id, occurred_at, id)
);
alter table platform.audit_inbox enable row level security;
alter table platform.audit_inbox force row level security;
create policy app_rows on platform.audit_inbox for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on platform.audit_inbox for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on platform.audit_inbox for all to mailwright_system using (true) with check (true);
grant insert, select on platform.audit_inbox to mailwright_app;
grant delete, insert, select on platform.audit_inbox to mailwright_system;
comment on table platform.audit_inbox is 'Entries of the audit log that were written with what they tell of, and wait for their place in the chain.';

create table platform.audit_log (
  environment_id bigint not null,
  sequence bigint not null,
  id uuid not null,
  occurred_at timestamp(3) with time zone not null,
  actor_type text not null,
  key_id uuid,
  key_name text,
  network text,
  request_id text,
  action text not null,
  target_type text not null,
  target_id text,
  items integer,
  outcome text not null,
  problem text,
  before jsonb,
  after jsonb,
  previous_hash bytea not null,
  hash bytea not null,
  constraint audit_log_pkey PRIMARY KEY (environment_id, sequence),
  constraint audit_log_actor_type_check CHECK ((actor_type = ANY (ARRAY['KEY'::text, 'OPERATOR'::text, 'SYSTEM'::text]))),
  constraint audit_log_outcome_check CHECK ((outcome = ANY (ARRAY['SUCCEEDED'::text, 'REFUSED'::text, 'FAILED'::text, 'REPLAYED'::text])))
);
CREATE INDEX audit_log_in_order ON platform.audit_log USING btree (environment_id, occurred_at, sequence);
CREATE INDEX audit_log_of_action ON platform.audit_log USING btree (environment_id, action, occurred_at, sequence);
CREATE INDEX audit_log_of_key ON platform.audit_log USING btree (environment_id, key_id, occurred_at, sequence);
CREATE INDEX audit_log_of_outcome ON platform.audit_log USING btree (environment_id, outcome, occurred_at, sequence);
CREATE INDEX audit_log_of_request ON platform.audit_log USING btree (environment_id, request_id);
CREATE INDEX audit_log_of_target ON platform.audit_log USING btree (environment_id, target_id, occurred_at, sequence);
CREATE TRIGGER keep_audit_log BEFORE DELETE ON platform.audit_log FOR EACH ROW EXECUTE FUNCTION platform.keep_audit_log();
alter table platform.audit_log enable row level security;
alter table platform.audit_log force row level security;
create policy app_rows on platform.audit_log for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on platform.audit_log for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on platform.audit_log for all to mailwright_system using (true) with check (true);
grant select on platform.audit_log to mailwright_app;
grant delete, insert, select on platform.audit_log to mailwright_system;
comment on table platform.audit_log is 'Requests that change something, or would have: rows are added at the end of the environment''s chain and never changed.';
comment on column platform.audit_log.sequence is 'Number in the environment, from 1 without gaps.';
comment on column platform.audit_log.key_name is 'Name of the key when the row was chained.';
comment on column platform.audit_log.hash is 'SHA-256 of the row as `GET /audit-log/export` shows it, without this one, with that of the row before in `previous_hash`.';

create table platform.idempotency_keys (
  environment_id bigint not null,
  api_key_id uuid not null,
  method text not null,
  path text not null,
  key text not null,
  body_hash bytea not null,
  status integer,
  headers jsonb,
  body text,
  locked_until timestamp with time zone not null,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  constraint idempotency_keys_pkey PRIMARY KEY (environment_id, api_key_id, method, path, key)
);
CREATE INDEX idempotency_keys_expiry ON platform.idempotency_keys USING btree (expires_at);
alter table platform.idempotency_keys enable row level security;
alter table platform.idempotency_keys force row level security;
create policy app_rows on platform.idempotency_keys for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on platform.idempotency_keys for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on platform.idempotency_keys for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on platform.idempotency_keys to mailwright_app;
grant delete, insert, select, update on platform.idempotency_keys to mailwright_system;
comment on table platform.idempotency_keys is 'Requests with an Idempotency-Key, and the responses that a repetition gets again.';
comment on column platform.idempotency_keys.status is 'The response''s; null while the first request is being processed.';
comment on column platform.idempotency_keys.locked_until is 'Until when the first request alone may be processed.';

create table platform.jobs (
  id bigint not null generated always as identity,
  environment_id bigint,
  name text not null,
  queue text not null,
  payload jsonb not null,
  state text not null default 'PENDING'::text,
  run_at timestamp with time zone not null,
  enqueued_at timestamp with time zone,
  attempts integer not null default 0,
  failures integer not null default 0,
  lease_token uuid,
  lease_until timestamp with time zone,
  last_error text,
  created_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  traceparent text default platform.traceparent(),
  constraint jobs_pkey PRIMARY KEY (id),
  constraint jobs_state_check CHECK ((state = ANY (ARRAY['PENDING'::text, 'DONE'::text, 'CANCELLED'::text, 'FAILED'::text])))
) with (fillfactor=70);
CREATE INDEX jobs_finished ON platform.jobs USING btree (finished_at) WHERE (finished_at IS NOT NULL);
CREATE INDEX jobs_open ON platform.jobs USING btree (run_at) WHERE (finished_at IS NULL);
alter table platform.jobs enable row level security;
alter table platform.jobs force row level security;
create policy app_rows on platform.jobs for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on platform.jobs for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on platform.jobs for all to mailwright_system using (true) with check (true);
grant insert, select, update on platform.jobs to mailwright_app;
grant delete, insert, select, update on platform.jobs to mailwright_system;
comment on table platform.jobs is 'Jobs, each written in the transaction that has something to do. The queue holds only the id. A handler ends the row in its own transaction, so a repeated job finds nothing to do.';
comment on column platform.jobs.environment_id is 'Never null; not declared so, since the table stays whole on the coordinator of a Citus cluster.';
comment on column platform.jobs.name is 'Type of the job, `campaigns.expand`: the worker has one handler of each.';
comment on column platform.jobs.payload is 'Ids; no address, content or secret.';
comment on column platform.jobs.run_at is 'Due from then on: set anew by a retry or a snooze.';
comment on column platform.jobs.enqueued_at is 'Last offered to the queue, which may lose it.';
comment on column platform.jobs.attempts is 'Leases taken; part of the id in the queue.';
comment on column platform.jobs.failures is 'Tries that ended badly since the last good one.';
comment on column platform.jobs.lease_token is 'Claim of the worker that holds the job: writes under another one change nothing.';
comment on column platform.jobs.lease_until is 'From then on any worker may take the job.';
comment on column platform.jobs.last_error is 'Latest failure; in a cancelled job the reason.';
comment on column platform.jobs.traceparent is 'The span that asked for the job, which its run is a part of.';

create table platform.outbox (
  id uuid not null,
  environment_id bigint,
  event_name text not null,
  payload jsonb not null,
  created_at timestamp with time zone not null default now(),
  constraint outbox_pkey PRIMARY KEY (id)
);
CREATE TRIGGER enqueue_event BEFORE INSERT ON platform.outbox FOR EACH ROW EXECUTE FUNCTION platform.enqueue_event();
alter table platform.outbox enable row level security;
alter table platform.outbox force row level security;
create policy app_writes on platform.outbox for insert to mailwright_app with check ((environment_id = platform.environment_id()));
create policy owner_rows on platform.outbox for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on platform.outbox for all to mailwright_system using (true) with check (true);
grant insert on platform.outbox to mailwright_app;
grant delete, insert, select, update on platform.outbox to mailwright_system;
comment on table platform.outbox is 'Empty: takes events of programs of version 0.2.0 that are being replaced, of which a trigger makes jobs.';

create unlogged table platform.rate_limit_windows (
  key text not null,
  hits integer not null,
  window_ends_at timestamp with time zone not null,
  constraint rate_limit_windows_pkey PRIMARY KEY (key)
) with (fillfactor=50);
alter table platform.rate_limit_windows enable row level security;
alter table platform.rate_limit_windows force row level security;
create policy owner_rows on platform.rate_limit_windows for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on platform.rate_limit_windows for all to mailwright_system using (true) with check (true);
grant delete, select on platform.rate_limit_windows to mailwright_system;
comment on table platform.rate_limit_windows is 'Fixed windows of the rate limits. Unlogged: a crash may lose a minute''s counts.';

create unlogged table platform.request_log (
  environment_id bigint not null,
  id uuid not null,
  answered_at timestamp(3) with time zone not null,
  method text not null,
  route text,
  status integer not null,
  request_id text not null,
  key_id uuid not null,
  ms integer not null,
  constraint request_log_pkey PRIMARY KEY (environment_id, answered_at, id)
);
CREATE INDEX request_log_of_request ON platform.request_log USING btree (environment_id, request_id);
CREATE INDEX request_log_of_status ON platform.request_log USING btree (environment_id, status, answered_at, id) WHERE (status >= 400);
CREATE INDEX request_log_old ON platform.request_log USING brin (answered_at);
alter table platform.request_log enable row level security;
alter table platform.request_log force row level security;
create policy app_rows on platform.request_log for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on platform.request_log for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on platform.request_log for all to mailwright_system using (true) with check (true);
grant select on platform.request_log to mailwright_app;
grant delete, insert, select on platform.request_log to mailwright_system;
comment on table platform.request_log is 'Requests of keys in the last 24 hours, for `GET /requests`. A crash of the server empties it.';
comment on column platform.request_log.route is 'The path with the names of its parameters; null for a path that does not exist.';

create table platform.retention_horizons (
  kind text not null,
  environment_id bigint,
  kept_from date not null,
  constraint retention_horizons_kind_check CHECK ((kind = ANY (ARRAY['DELIVERIES'::text, 'STEPS'::text, 'EVENTS'::text]))),
  constraint retention_horizons_kind_environment_id_key UNIQUE NULLS NOT DISTINCT (kind, environment_id)
);
alter table platform.retention_horizons enable row level security;
alter table platform.retention_horizons force row level security;
create policy owner_rows on platform.retention_horizons for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on platform.retention_horizons for all to mailwright_system using (true) with check (true);
grant insert, select, update on platform.retention_horizons to mailwright_system;
comment on table platform.retention_horizons is 'From which day (UTC) on rows are kept. Those of before are let go: nobody reads them any more, whether they are removed yet or not. It only moves forward.';
comment on column platform.retention_horizons.kind is 'DELIVERIES with their engagement, by the day on which the source was queued; STEPS of automations, by the day on which the run began; EVENTS of mails and of subscribers, by their day.';
comment on column platform.retention_horizons.environment_id is 'Null: of all environments.';

create table platform.schedule (
  name text not null,
  last_run_at timestamp with time zone not null,
  constraint schedule_pkey PRIMARY KEY (name)
);
alter table platform.schedule enable row level security;
alter table platform.schedule force row level security;
create policy owner_rows on platform.schedule for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on platform.schedule for all to mailwright_system using (true) with check (true);
grant insert, select, update on platform.schedule to mailwright_system;
comment on table platform.schedule is 'Periodic tasks, which every worker offers to run and one does: each at most once per interval.';

create view platform.inbox with (security_invoker=true) as
 SELECT id,
    environment_id,
    NULL::uuid AS event_id,
    name AS handler,
    queue,
    payload,
    state,
    run_at,
    enqueued_at,
    attempts,
    failures,
    lease_token,
    lease_until,
    last_error,
    created_at,
    finished_at
   FROM platform.jobs
  WHERE false;
grant select, update on platform.inbox to mailwright_system;
comment on view platform.inbox is 'Empty: workers of version 0.2.0 that are being replaced see that they have lost their leases.';

CREATE OR REPLACE FUNCTION platform.drop_retired(retired_name text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog'
 SET lock_timeout TO '250ms'
AS $function$
begin
  execute format('drop table retired.%I', retired_name);
end $function$;
-- called by mailwright_system
comment on function platform.drop_retired(text) is 'Drops a table of the schema `retired`, and no other. Runs as the owner.';

CREATE OR REPLACE FUNCTION platform.enqueue_event()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  job record;
begin
  -- Not as one statement: on Citus row-level security does not check what an INSERT on the coordinator selects.
  select n.name, n.queue into job from (values
    ('access.tracking_host_check_requested.v1', 'tracking_hosts.check', 'dns'),
    ('audience.confirmation_requested.v1', 'confirmations.queue_mails', 'mail'),
    ('audience.confirmations_requested.v1', 'confirmations.queue_mails', 'mail'),
    ('audience.import_queued.v1', 'imports.run', 'imports'),
    ('audience.segment_due.v1', 'segments.evaluate', 'segments'),
    ('audience.subscriber_erased.v1', 'erasures.finish', 'erasures'),
    ('audience.topic_deleted.v1', 'topics.remove_consents', 'erasures'),
    ('billing.credits_depleted.v1', 'credits.warn_of_depletion', 'billing'),
    ('billing.subscription_period_started.v1', 'credits.grant_month', 'billing'),
    ('deliverability.bounces_reported.v1', 'bounces.record', 'bounces'),
    ('deliverability.complaint_reported.v1', 'bounces.complaint', 'bounces'),
    ('deliverability.domain_verification_requested.v1', 'sending_domains.check', 'dns'),
    ('deliverability.messages_reported.v1', 'bounces.find_messages', 'bounces'),
    ('deliverability.unsubscribe_mailed.v1', 'bounces.unsubscribe', 'bounces'),
    ('messaging.campaign_breakdown_due.v1', 'campaigns.count_breakdown', 'reports'),
    ('messaging.campaign_queued.v1', 'campaigns.expand', 'campaigns'),
    ('messaging.campaign_report_requested.v1', 'reports.write', 'reports'),
    ('messaging.campaign_retried.v1', 'campaigns.retry_failed', 'campaigns'),
    ('messaging.campaign_stopped.v1', 'campaigns.close', 'campaigns'),
    ('messaging.deliveries_export_requested.v1', 'exports.deliveries', 'exports'),
    ('messaging.report_export_requested.v1', 'exports.report', 'exports')
  ) as n (event, name, queue) where n.event = new.event_name;
  if found then
    insert into platform.jobs (environment_id, name, queue, payload, run_at)
    values (new.environment_id, job.name, job.queue, new.payload, platform.now());
  end if;
  return null;
end $function$;
-- called by public
comment on function platform.enqueue_event() is 'Writes the job of an event of version 0.2.0 instead of the event.';

CREATE OR REPLACE FUNCTION platform.ensure_month(parent regclass, month date)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog'
 SET lock_timeout TO '250ms'
AS $function$
declare
  first date := date_trunc('month', month)::date;
  name text := format('%I.%I',
    (select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = parent),
    (select c.relname from pg_class c where c.oid = parent) || to_char(first, '_YYYYMM'));
  model oid;
  settings text;
  hint text;
begin
  select c.oid, array_to_string(c.reloptions, ', ') into model, settings
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = parent and pg_get_expr(c.relpartbound, c.oid) <> 'DEFAULT'
  order by c.relname ~ '_\d{6}$' desc, c.relname desc limit 1;
  if model is null then
    raise exception '% has no partition to go by', parent;
  end if;
  if to_regclass(name) is null then
    execute format('create table %s (like %s including all) %s', name, model::regclass, 'with (' || settings || ')');
    for hint in
      select format('alter table %s alter column %I set (%s)', name, a.attname, array_to_string(a.attoptions, ', '))
      from pg_attribute a where a.attrelid = model and a.attoptions is not null
    loop
      execute hint;
    end loop;
    execute format('alter table %s attach partition %s for values from (%L) to (%L)',
      parent, name, first, (first + interval '1 month')::date);
  end if;
end $function$;
-- called by mailwright_system
comment on function platform.ensure_month(regclass,date) is 'Makes the partition of a month unless it is there. Runs as the owner, since only the owner may create it.';

CREATE OR REPLACE FUNCTION platform.ensure_months(parent regclass, until date)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog'
AS $function$
declare
  earliest text := (
    select substring(pg_get_expr(c.relpartbound, c.oid) from 'FROM \(MINVALUE\) TO \(''(\d{4}-\d\d-\d\d)')
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = parent and pg_get_expr(c.relpartbound, c.oid) like '%MINVALUE%');
begin
  perform platform.ensure_month(parent, month::date)
  from generate_series(earliest::date, until, interval '1 month') month;
end $function$;
-- called by mailwright_system
comment on function platform.ensure_months(regclass,date) is 'Makes the partitions of all months from the end of `…_earlier` up to that of `until`, those included that were detached and moved away. A worker calls it every hour.';

CREATE OR REPLACE FUNCTION platform.environment_id()
 RETURNS bigint
 LANGUAGE sql
 STABLE PARALLEL SAFE
RETURN (NULLIF(current_setting('mailwright.environment_id'::text, true), ''::text))::bigint;
-- called by public
comment on function platform.environment_id() is 'The project environment of the transaction''s scope; null without one.';

CREATE OR REPLACE PROCEDURE platform.force_policies()
 LANGUAGE plpgsql
AS $procedure$
declare
  schema_owner oid := (select nspowner from pg_namespace where nspname = 'platform');
  target regclass;
begin
  for target in
    select c.oid from pg_class c
    where c.relowner = schema_owner and c.relrowsecurity and c.relkind in ('r', 'p') and not c.relforcerowsecurity
  loop
    execute format('alter table %s force row level security', target);
    execute format('create policy owner_rows on %s to mailwright_owner using (platform.is_owner_at_work()) '
      'with check (platform.is_owner_at_work())', target);
  end loop;
  -- Its rows are those of its own condition. As the owner's it would be asked by a policy, under which no condition on
  -- texts may use an index; mailwright_system's policies are `true`, which is none. Who changes it drops it and makes it
  -- anew.
  if (select relowner from pg_class where oid = to_regclass('audience.scoped_subscribers')) <> 'mailwright_system'::regrole then
    grant create on schema audience to mailwright_system;
    alter view audience.scoped_subscribers owner to mailwright_system;
    revoke create on schema audience from mailwright_system;
  end if;
end $procedure$;
comment on procedure platform.force_policies() is 'Holds the owner of the tables to row-level security too; superusers alone still pass. Called after each migration, for the tables that it made, and by each `migrate`, since a dump may be restored without its owners.';

CREATE OR REPLACE FUNCTION platform.hit_rate_limits(limit_key text, window_seconds integer, times integer, OUT hits integer, OUT window_ends_at timestamp with time zone)
 RETURNS record
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog'
 SET synchronous_commit TO 'off'
AS $function$
  insert into platform.rate_limit_windows as w (key, hits, window_ends_at)
  values (limit_key, times, clock_timestamp() + make_interval(secs => window_seconds))
  on conflict (key) do update set
    hits = case when w.window_ends_at <= clock_timestamp() then times else w.hits + times end,
    window_ends_at = case when w.window_ends_at <= clock_timestamp()
      then clock_timestamp() + make_interval(secs => window_seconds) else w.window_ends_at end
  returning w.hits, w.window_ends_at
$function$;
-- called by mailwright_app
comment on function platform.hit_rate_limits(text,integer,integer) is 'Counts hits and tells how many the running window has. Called before anyone is authenticated, hence by definer''s rights on a table that the app cannot read.';

CREATE OR REPLACE FUNCTION platform.is_owner_at_work()
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL SAFE
RETURN ((current_setting('search_path'::text) = 'pg_catalog'::text) OR (COALESCE(current_setting('mailwright.owner'::text, true), ''::text) = 'on'::text));
-- called by public
comment on function platform.is_owner_at_work() is 'Whether the owner of the tables sees rows: in functions with definer''s rights, each of which answers one question (they and nothing else run with pg_catalog as their whole search path), and where a session says `set mailwright.owner = ''on''`, as migrations do. Foreign keys are checked past row-level security.';

CREATE OR REPLACE FUNCTION platform.keep_audit_log()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if old.occurred_at > now() - interval '13 months' then
    raise exception 'Rows of the audit log are kept for 13 months.' using errcode = 'insufficient_privilege';
  end if;
  return old;
end $function$;
-- called by public
comment on function platform.keep_audit_log() is 'Refuses to remove young rows of the audit log, whoever asks.';

CREATE OR REPLACE FUNCTION platform.kept_from(of_kind text, of_environment bigint)
 RETURNS date
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog'
AS $function$
  select coalesce(max(h.kept_from), '-infinity') from platform.retention_horizons h
  where h.kind = of_kind and (h.environment_id is null or h.environment_id = of_environment)
$function$;
-- called by mailwright_app, mailwright_system
comment on function platform.kept_from(text,bigint) is 'From which day on an environment''s rows of a kind are kept. By definer''s rights, since the installation''s own horizons are of no environment.';

CREATE OR REPLACE FUNCTION platform.new_id()
 RETURNS uuid
 LANGUAGE sql
 PARALLEL SAFE
RETURN uuidv7();
-- called by public
comment on function platform.new_id() is 'A UUID of version 7 for a row that SQL makes (RFC 9562 §5.7: 48 bits of milliseconds, version and variant, the rest random).';

CREATE OR REPLACE FUNCTION platform.now()
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE PARALLEL SAFE COST 5
AS $function$
begin
  return date_trunc('milliseconds',
    coalesce(nullif(current_setting('mailwright.now', true), '')::timestamptz, statement_timestamp()));
end $function$;
-- called by public, mailwright_app, mailwright_system
comment on function platform.now() is 'The time that all processes share: leases, due times, windows. A test says what time it is by `mailwright.now`.';

CREATE OR REPLACE FUNCTION platform.project_id()
 RETURNS bigint
 LANGUAGE sql
 STABLE PARALLEL SAFE
RETURN (NULLIF(current_setting('mailwright.project_id'::text, true), ''::text))::bigint;
-- called by public
comment on function platform.project_id() is 'The project of the transaction''s scope; null without one.';

CREATE OR REPLACE PROCEDURE platform.protect(IN target regclass, IN app_privileges text)
 LANGUAGE plpgsql
AS $procedure$
begin
  execute format('alter table %s enable row level security', target);
  execute format(
    'create policy app_rows on %s to mailwright_app using ((environment_id = (select platform.environment_id())) is true) '
    'with check (environment_id = (select platform.environment_id()))', target);
  execute format('create policy system_rows on %s to mailwright_system using (true) with check (true)', target);
  execute format('grant %s on %s to mailwright_app', app_privileges, target);
  execute format('grant select, insert, update, delete on %s to mailwright_system', target);
end $procedure$;
-- called by public
comment on procedure platform.protect(regclass,text) is 'Puts a table under row-level security: the app has the named privileges on the rows of its environment, the system all on all rows.';

CREATE OR REPLACE FUNCTION platform.retire_oldest(parent regclass)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog'
 SET lock_timeout TO '250ms'
 SET "TimeZone" TO 'UTC'
 SET "DateStyle" TO 'ISO'
 SET enable_seqscan TO 'off'
AS $function$
declare
  parent_name text := (select relname from pg_class where oid = parent);
  parent_schema text := (select relnamespace::regnamespace::text from pg_class where oid = parent);
  kept_from date := (
    select h.kept_from from platform.retention_horizons h
    where h.environment_id is null and h.kind = case parent_schema || '.' || parent_name
      when 'messaging.deliveries' then 'DELIVERIES' when 'messaging.delivery_engagement' then 'DELIVERIES'
      when 'messaging.automation_steps' then 'STEPS'
      when 'messaging.delivery_events' then 'EVENTS' when 'audience.subscriber_events' then 'EVENTS' end);
  earlier regclass;
  month regclass;
  target regclass;
  starts date;
  ends date;
  has_rows boolean;
  is_open boolean;
  retired_name text;
begin
  perform pg_advisory_xact_lock(hashtextextended('retire ' || parent, 0));
  -- One at a time: the next goes when the one before is archived.
  if kept_from is null or exists (
    select 1 from pg_class c
    where c.relnamespace = 'retired'::regnamespace and c.relkind = 'r' and starts_with(c.relname, parent_name || '_')
  ) then
    return false;
  end if;
  select c.oid, substring(pg_get_expr(c.relpartbound, c.oid) from 'TO \(''(\d{4}-\d\d-\d\d)')::date into earlier, starts
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = parent and pg_get_expr(c.relpartbound, c.oid) like '%MINVALUE%';
  select c.oid, substring(pg_get_expr(c.relpartbound, c.oid) from 'TO \(''(\d{4}-\d\d-\d\d)')::date into month, ends
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = parent
    and substring(pg_get_expr(c.relpartbound, c.oid) from 'FROM \(''(\d{4}-\d\d-\d\d)')::date = starts;
  if month is null or ends is null or ends > kept_from then
    return false;
  end if;
  execute format('lock table only %s in access exclusive mode', parent);
  execute format('select exists (select 1 from %s)', earlier) into has_rows;
  target := case when has_rows then earlier else month end;
  if not has_rows then
    execute format('select exists (select 1 from %s)', month) into has_rows;
  end if;
  if has_rows and parent_name = 'deliveries' then
    -- By the indexes of open deliveries: nothing is read here, while everybody waits.
    execute format('select exists (select 1 from %1$s where finished_at is null and kind = ''CAMPAIGN'')
      or exists (select 1 from %1$s where finished_at is null and kind in (''OPT_IN'', ''TEST''))
      or exists (select 1 from %1$s where finished_at is null and kind = ''AUTOMATION'')', target) into is_open;
    if is_open then
      raise exception 'Deliveries of % are open.', target;
    end if;
  end if;
  retired_name := (select c.relname from pg_class c where c.oid = target) || to_char(clock_timestamp(), '"_"YYYYMMDDHH24MISSMS');
  execute format('alter table %s detach partition %s', parent, target);
  if target = month then
    execute format('alter table %s detach partition %s', parent, earlier);
    execute format('alter table %s attach partition %s for values from (minvalue) to (%L)', parent, earlier, ends);
  end if;
  if has_rows then
    execute format('comment on table %s is %L', target, jsonb_build_object('table', parent_schema || '.' || parent_name,
      'from', case when target = month then starts end, 'to', case when target = month then ends else starts end));
    execute format('grant select on %s to mailwright_system', target);
    execute format('alter table %s rename to %I', target, retired_name);
    execute format('alter table %I.%I set schema retired', parent_schema, retired_name);
  else
    execute format('drop table %s', target);
  end if;
  if target = earlier then
    execute format('create table %I.%I (like retired.%I including all) %s', parent_schema, parent_name || '_earlier', retired_name,
      (select 'with (' || array_to_string(c.reloptions, ', ') || ')' from pg_class c where c.oid = target));
    execute format('alter table %s attach partition %I.%I for values from (minvalue) to (%L)',
      parent, parent_schema, parent_name || '_earlier', starts);
  end if;
  return true;
end $function$;
-- called by mailwright_system
comment on function platform.retire_oldest(regclass) is 'Detaches the oldest month of a table, if all of it is let go, and puts it into the schema `retired`; `…_earlier` reaches up to its end from then on. What has come late into `…_earlier` goes before it in the same way. False when there is nothing to do, or something waits in `retired`. Runs as the owner, since only the owner may detach.';

CREATE OR REPLACE FUNCTION platform.tenant_id()
 RETURNS bigint
 LANGUAGE sql
 STABLE PARALLEL SAFE
RETURN (NULLIF(current_setting('mailwright.tenant_id'::text, true), ''::text))::bigint;
-- called by public
comment on function platform.tenant_id() is 'The tenant of the transaction''s scope; null without one.';

CREATE OR REPLACE FUNCTION platform.traceparent()
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
RETURN NULLIF(current_setting('mailwright.traceparent'::text, true), ''::text);
-- called by public
comment on function platform.traceparent() is 'The span that the transaction is a part of (W3C Trace Context); null where nothing is traced.';

create schema retired;
grant usage on schema retired to mailwright_system;
comment on schema retired is 'Partitions that were let go: detached, written to the archive if there is one, then dropped. Empty but for that.';

create schema access;
grant usage on schema access to mailwright_app;
grant usage on schema access to mailwright_system;
comment on schema access is 'Who uses the installation: tenants, their projects, and API keys.';

create table access.api_keys (
  id uuid not null,
  environment_id bigint not null,
  name text not null,
  key_hash bytea not null,
  prefix text not null,
  last_four text not null,
  scopes text[] not null,
  rate_limit_per_minute integer,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  allowed_networks text[] not null default '{}'::text[],
  created_by uuid,
  replaced_by uuid,
  last_used_at timestamp with time zone,
  updated_at timestamp with time zone not null default now(),
  constraint api_keys_pkey PRIMARY KEY (id),
  constraint api_keys_rate_limit_per_minute_check CHECK ((rate_limit_per_minute > 0)),
  constraint api_keys_environment_id_fkey FOREIGN KEY (environment_id) REFERENCES access.project_environments(id),
  constraint api_keys_key_hash_key UNIQUE (key_hash)
);
CREATE INDEX api_keys_of_environment ON access.api_keys USING btree (environment_id, created_at DESC);
alter table access.api_keys enable row level security;
alter table access.api_keys force row level security;
create policy app_additions on access.api_keys for insert to mailwright_app with check ((environment_id = platform.environment_id()));
create policy app_changes on access.api_keys for update to mailwright_app using ((environment_id = platform.environment_id())) with check ((environment_id = platform.environment_id()));
create policy app_rows on access.api_keys for select to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE));
create policy owner_rows on access.api_keys for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on access.api_keys for all to mailwright_system using (true) with check (true);
grant select on access.api_keys to mailwright_app;
grant insert, select, update on access.api_keys to mailwright_system;
grant insert (allowed_networks, created_at, created_by, environment_id, expires_at, id, key_hash, last_four, last_used_at, name, prefix, rate_limit_per_minute, replaced_by, revoked_at, scopes, updated_at) on access.api_keys to mailwright_app;
grant update (allowed_networks, expires_at, name, rate_limit_per_minute, replaced_by, revoked_at, updated_at) on access.api_keys to mailwright_app;
comment on table access.api_keys is 'Keys of the API. The key itself is shown once and not kept.';
comment on column access.api_keys.rate_limit_per_minute is 'Null: the installation''s.';
comment on column access.api_keys.allowed_networks is 'CIDR; a request from elsewhere is refused. Empty: from anywhere.';
comment on column access.api_keys.created_by is 'The key that asked for it; null: the operator.';
comment on column access.api_keys.replaced_by is 'The key that was made of it by rotation; it ends at expires_at.';
comment on column access.api_keys.last_used_at is 'Written once a minute at most, for all keys together.';

create table access.operator_keys (
  id uuid not null,
  name text not null,
  key_hash bytea not null,
  last_four text not null,
  scopes text[] not null,
  allowed_networks text[] not null default '{}'::text[],
  last_used_at timestamp with time zone,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  constraint operator_keys_pkey PRIMARY KEY (id),
  constraint operator_keys_key_hash_key UNIQUE (key_hash)
);
alter table access.operator_keys enable row level security;
alter table access.operator_keys force row level security;
create policy owner_rows on access.operator_keys for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on access.operator_keys for all to mailwright_system using (true) with check (true);
grant insert, select, update on access.operator_keys to mailwright_system;
comment on table access.operator_keys is 'Keys of the operator''s API. The key itself is shown once and not kept.';
comment on column access.operator_keys.allowed_networks is 'CIDR; a request from elsewhere is refused. Empty: from anywhere.';
comment on column access.operator_keys.last_used_at is 'Written once a minute at most, for all keys together.';

create table access.project_environments (
  id bigint not null generated always as identity,
  project_id bigint not null,
  environment text not null,
  constraint project_environments_pkey PRIMARY KEY (id),
  constraint project_environments_environment_check CHECK ((environment = ANY (ARRAY['LIVE'::text, 'TEST'::text]))),
  constraint project_environments_project_id_fkey FOREIGN KEY (project_id) REFERENCES access.projects(id),
  constraint project_environments_project_id_environment_key UNIQUE (project_id, environment)
);
alter table access.project_environments enable row level security;
alter table access.project_environments force row level security;
create policy app_rows on access.project_environments for select to mailwright_app using ((id = platform.environment_id()));
create policy owner_rows on access.project_environments for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on access.project_environments for all to mailwright_system using (true) with check (true);
grant select on access.project_environments to mailwright_app;
grant insert, select, update on access.project_environments to mailwright_system;
comment on table access.project_environments is 'The live and the test environment of each project. `environment_id` is what rows of other schemas belong to: it keeps tenants, projects and environments apart.';

create table access.project_retention (
  project_id bigint not null,
  deliveries_days integer,
  events_days integer,
  constraint project_retention_pkey PRIMARY KEY (project_id),
  constraint project_retention_deliveries_days_check CHECK ((deliveries_days >= 60)),
  constraint project_retention_events_days_check CHECK ((events_days >= 30)),
  constraint project_retention_project_id_fkey FOREIGN KEY (project_id) REFERENCES access.projects(id) ON DELETE CASCADE
);
alter table access.project_retention enable row level security;
alter table access.project_retention force row level security;
create policy owner_rows on access.project_retention for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on access.project_retention for all to mailwright_system using (true) with check (true);
grant insert, select, update on access.project_retention to mailwright_system;
comment on table access.project_retention is 'For how many days a project''s rows are kept, where that is shorter than for the installation. Null: no shorter.';

create table access.project_texts (
  project_id bigint not null,
  locale text not null,
  version integer not null,
  texts jsonb not null,
  created_at timestamp with time zone not null,
  constraint project_texts_pkey PRIMARY KEY (project_id, locale, version),
  constraint project_texts_version_check CHECK ((version > 0)),
  constraint project_texts_project_id_fkey FOREIGN KEY (project_id) REFERENCES access.projects(id)
);
alter table access.project_texts enable row level security;
alter table access.project_texts force row level security;
create policy app_rows on access.project_texts for all to mailwright_app using ((project_id = platform.project_id())) with check ((project_id = platform.project_id()));
create policy owner_rows on access.project_texts for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on access.project_texts for all to mailwright_system using (true) with check (true);
grant insert, select on access.project_texts to mailwright_app;
grant insert, select on access.project_texts to mailwright_system;
comment on table access.project_texts is 'A project''s own wording of opt-in mails, footers and pages, a row for each time it was set: the last one holds, and consent records name the version that the person read.';
comment on column access.project_texts.texts is 'ICU messages by key; a key that is not there has our text.';

create table access.projects (
  id bigint not null generated always as identity,
  tenant_id bigint not null,
  project_key text not null,
  name text not null,
  description text,
  sender_name text not null,
  default_from_email text,
  postal_address text not null,
  reply_to text,
  default_locale text not null default 'en'::text,
  time_zone text not null default 'UTC'::text,
  logo_url text,
  color text,
  tracking_host text,
  ai_segment_suggestions_enabled boolean not null default false,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  privacy_url text,
  contact_email text,
  constraint projects_pkey PRIMARY KEY (id),
  constraint projects_color_check CHECK ((color ~ '^#[0-9a-f]{6}$'::text)),
  constraint projects_privacy_url_check CHECK ((privacy_url ~ '^https://'::text)),
  constraint projects_project_key_check CHECK ((project_key ~ '^[A-Z][A-Z0-9]{1,7}$'::text)),
  constraint projects_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES access.tenants(id),
  constraint projects_tenant_id_project_key_key UNIQUE (tenant_id, project_key),
  constraint projects_tracking_host_key UNIQUE (tracking_host)
);
CREATE TRIGGER create_key_sequences AFTER INSERT ON access.projects FOR EACH ROW EXECUTE FUNCTION access.create_key_sequences();
alter table access.projects enable row level security;
alter table access.projects force row level security;
create policy app_changes on access.projects for update to mailwright_app using ((id = platform.project_id())) with check ((id = platform.project_id()));
create policy app_rows on access.projects for select to mailwright_app using ((id = platform.project_id()));
create policy owner_rows on access.projects for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on access.projects for all to mailwright_system using (true) with check (true);
grant select on access.projects to mailwright_app;
grant insert, select, update on access.projects to mailwright_system;
grant update (color, contact_email, default_from_email, default_locale, description, logo_url, name, postal_address, privacy_url, reply_to, sender_name, time_zone, tracking_host, updated_at) on access.projects to mailwright_app;
comment on table access.projects is 'A tenant''s products or brands: each has its own subscribers and sends under its own name.';
comment on column access.projects.default_locale is 'Of readers whose own language is not known, or not shipped: BCP 47.';
comment on column access.projects.time_zone is 'Of subscribers whose own is not known: a name of the IANA database.';
comment on column access.projects.color is 'Of buttons and links in opt-in mails and pages; null: ours.';
comment on column access.projects.tracking_host is 'The customer''s host that links, pixels and pages of its mails shall use; null: PUBLIC_URL''s.';
comment on column access.projects.privacy_url is 'The https address of the sender''s privacy policy, linked from opt-in mails, pages and footers.';
comment on column access.projects.contact_email is 'The address that readers may write to about their data; named beside the privacy policy.';

create table access.tenants (
  id bigint not null generated always as identity,
  tenant_key text not null,
  name text not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint tenants_pkey PRIMARY KEY (id),
  constraint tenants_tenant_key_check CHECK ((tenant_key ~ '^[A-Z][A-Z0-9]{1,15}$'::text)),
  constraint tenants_tenant_key_key UNIQUE (tenant_key)
);
alter table access.tenants enable row level security;
alter table access.tenants force row level security;
create policy app_rows on access.tenants for select to mailwright_app using ((id = platform.tenant_id()));
create policy owner_rows on access.tenants for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on access.tenants for all to mailwright_system using (true) with check (true);
grant select on access.tenants to mailwright_app;
grant insert, select, update on access.tenants to mailwright_system;
comment on table access.tenants is 'Customers of the installation: who has a plan and is billed.';

CREATE OR REPLACE FUNCTION access.create_key_sequences()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog'
AS $function$
declare kind text;
begin
  foreach kind in array array['subscriber', 'topic', 'campaign', 'segment', 'automation', 'relay', 'template'] loop
    execute format('create sequence access.%I', 'key_' || kind || '_' || new.id);
  end loop;
  return null;
end $function$;
-- called by public
comment on function access.create_key_sequences() is 'Makes the sequences that number a new project''s keys, one a kind, shared by its two environments. Sequences, since a counter''s row would make a project''s writers wait for each other.';

CREATE OR REPLACE FUNCTION access.find_api_key(wanted_hash bytea)
 RETURNS TABLE(key_id uuid, key_hash bytea, tenant_id bigint, project_id bigint, environment_id bigint, environment text, scopes text[], rate_limit_per_minute integer, allowed_networks text[], expires_at timestamp with time zone, revoked_at timestamp with time zone)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog'
AS $function$
  select k.id, k.key_hash, p.tenant_id, p.id, e.id, e.environment, k.scopes, k.rate_limit_per_minute, k.allowed_networks,
    k.expires_at, k.revoked_at
  from access.api_keys k
  join access.project_environments e on e.id = k.environment_id
  join access.projects p on p.id = e.project_id
  where k.key_hash = wanted_hash
$function$;
-- called by mailwright_app, mailwright_system
comment on function access.find_api_key(bytea) is 'The key of a request, and the tenant, project and environment that it acts for. Called before there is a scope, hence by definer''s rights and only with the exact hash.';

CREATE OR REPLACE FUNCTION access.find_environment(wanted bigint)
 RETURNS TABLE(tenant_id bigint, project_id bigint, environment_id bigint, environment text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog'
AS $function$
  select p.tenant_id, p.id, e.id, e.environment
  from access.project_environments e join access.projects p on p.id = e.project_id
  where e.id = wanted
$function$;
-- called by mailwright_app, mailwright_system
comment on function access.find_environment(bigint) is 'The project and tenant of an environment. A signed token carries only the environment''s id.';

CREATE OR REPLACE FUNCTION access.next_key(kind text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog'
AS $function$
declare
  project bigint := platform.project_id();
  number bigint := nextval(format('access.%I', 'key_' || kind || '_' || project)::regclass);
  project_key text := (select p.project_key from access.projects p where p.id = project);
begin
  return project_key || '-' || case when kind = 'campaign' and number < 1000 then lpad(number::text, 3, '0') else number::text end;
end $function$;
-- called by mailwright_app
comment on function access.next_key(text) is 'The next key of a kind for the scope''s project, such as APIT-12; a campaign''s number has at least three digits.';

CREATE OR REPLACE FUNCTION access.next_subscriber_numbers(quantity integer, OUT project_key text, OUT numbers bigint[])
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog'
AS $function$
declare
  project bigint := platform.project_id();
  sequence regclass := format('access.%I', 'key_subscriber_' || project)::regclass;
begin
  select p.project_key into project_key from access.projects p where p.id = project;
  numbers := array(select nextval(sequence) from generate_series(1, quantity));
end $function$;
-- called by mailwright_app
comment on function access.next_subscriber_numbers(integer) is 'The numbers of the next keys of many subscribers in one call: access.next_key looks the project up for each.';

CREATE OR REPLACE FUNCTION access.projects_of_tenant()
 RETURNS bigint
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog'
AS $function$
  select count(*) from access.projects p where p.tenant_id = platform.tenant_id()
$function$;
-- called by mailwright_app
comment on function access.projects_of_tenant() is 'How many projects the scope''s tenant has. By definer''s rights: a scope sees only its own project''s row.';

create schema audience;
grant usage on schema audience to mailwright_app;
grant usage on schema audience to mailwright_system;
create sequence audience.consent_ledger_position;
grant usage on sequence audience.consent_ledger_position to mailwright_app;
grant usage on sequence audience.consent_ledger_position to mailwright_system;
comment on schema audience is 'Subscribers: their consents, suppressions, custom fields, segments and imports.';
comment on sequence audience.consent_ledger_position is 'The order in which the changes of one subscriber happened: they are written under the subscriber''s lock, while the clocks of two machines may disagree.';

create table audience.confirmations (
  id uuid not null,
  environment_id bigint not null,
  subscriber_id uuid not null,
  topic_ids uuid[] not null,
  is_repeat boolean not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  constraint confirmations_pkey PRIMARY KEY (id, environment_id),
  constraint confirmations_subscriber_id_environment_id_fkey FOREIGN KEY (subscriber_id, environment_id) REFERENCES audience.subscribers(id, environment_id) ON DELETE CASCADE
);
CREATE INDEX confirmations_of_subscriber ON audience.confirmations USING btree (subscriber_id, created_at);
alter table audience.confirmations enable row level security;
alter table audience.confirmations force row level security;
create policy app_rows on audience.confirmations for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.confirmations for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.confirmations for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on audience.confirmations to mailwright_app;
grant delete, insert, select, update on audience.confirmations to mailwright_system;
comment on table audience.confirmations is 'Requests to confirm a subscription (double opt-in): the topics of one grant that wait for the owner of the address.';
comment on column audience.confirmations.is_repeat is 'Asked for again, which is limited by the minute and the day.';

create table audience.consent_ledger (
  id uuid not null,
  environment_id bigint not null,
  subscriber_id uuid not null,
  topic_id uuid not null,
  "position" bigint not null default nextval('audience.consent_ledger_position'::regclass),
  occurred_at timestamp with time zone not null,
  from_status text,
  to_status text not null,
  actor text not null,
  actor_id text,
  source text,
  source_url text,
  ip_address text,
  user_agent text,
  consent_text text,
  text_locale text,
  text_version integer,
  form_version text,
  message_id text,
  address_change jsonb,
  constraint consent_ledger_actor_check CHECK ((actor = ANY (ARRAY['API_KEY'::text, 'SUBSCRIBER_PAGE'::text, 'IMPORT'::text, 'ONE_CLICK'::text, 'COMPLAINT'::text, 'BOUNCE'::text, 'OPERATOR'::text, 'EXPIRY'::text, 'AUTOMATION'::text])))
) partition by range (occurred_at);
CREATE INDEX consent_ledger_of_subscriber ON ONLY audience.consent_ledger USING btree (subscriber_id, occurred_at);
alter table audience.consent_ledger enable row level security;
alter table audience.consent_ledger force row level security;
create policy app_rows on audience.consent_ledger for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.consent_ledger for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.consent_ledger for all to mailwright_system using (true) with check (true);
grant insert, select on audience.consent_ledger to mailwright_app;
grant insert, select on audience.consent_ledger to mailwright_system;
comment on table audience.consent_ledger is 'Every change of a consent with its proof, as a regulator asks for it. Append-only; partitioned by the month of the change.';
comment on column audience.consent_ledger.text_locale is 'The language of the opt-in mail or page on which the person agreed; text_version is the project''s version of its wording (access.project_texts), null where it was ours.';
comment on column audience.consent_ledger.address_change is 'Null unless the person changed address: {"from", "to", "emailConfirmed": {"source", "confirmedAt"} or null}, for each of the consents; without the addresses once the person is erased.';

create table audience.consents (
  subscriber_id uuid not null,
  topic_id uuid not null,
  environment_id bigint not null,
  status text not null,
  subscriber_status text not null,
  subscriber_created_at timestamp with time zone not null,
  granted_at timestamp with time zone,
  confirmed_at timestamp with time zone,
  subscribed_at timestamp with time zone,
  revoked_at timestamp with time zone,
  token_expires_at timestamp with time zone,
  constraint consents_pkey PRIMARY KEY (subscriber_id, topic_id, environment_id),
  constraint consents_status_check CHECK ((status = ANY (ARRAY['PENDING_CONFIRMATION'::text, 'SUBSCRIBED'::text, 'UNSUBSCRIBED'::text, 'EXPIRED'::text])))
);
CREATE INDEX consents_of_topic ON audience.consents USING btree (environment_id, topic_id, status, subscriber_id) INCLUDE (subscribed_at);
CREATE INDEX consents_of_topic_newest ON audience.consents USING btree (environment_id, topic_id, subscriber_created_at, subscriber_id) INCLUDE (subscriber_status) WHERE (status = ANY (ARRAY['SUBSCRIBED'::text, 'PENDING_CONFIRMATION'::text]));
CREATE INDEX consents_to_expire ON audience.consents USING btree (token_expires_at) WHERE (status = 'PENDING_CONFIRMATION'::text);
CREATE TRIGGER count_deleted AFTER DELETE ON audience.consents REFERENCING OLD TABLE AS rows_before FOR EACH STATEMENT EXECUTE FUNCTION audience.count_consents();
CREATE TRIGGER count_inserted AFTER INSERT ON audience.consents REFERENCING NEW TABLE AS rows_after FOR EACH STATEMENT EXECUTE FUNCTION audience.count_consents();
CREATE TRIGGER count_updated AFTER UPDATE ON audience.consents REFERENCING OLD TABLE AS rows_before NEW TABLE AS rows_after FOR EACH STATEMENT EXECUTE FUNCTION audience.count_consents();
CREATE TRIGGER describe_consent BEFORE INSERT ON audience.consents FOR EACH ROW WHEN ((new.subscriber_status IS NULL)) EXECUTE FUNCTION audience.describe_consent();
CREATE TRIGGER record_triggers_inserted AFTER INSERT ON audience.consents REFERENCING NEW TABLE AS rows_after FOR EACH STATEMENT EXECUTE FUNCTION audience.record_subscribed();
CREATE TRIGGER record_triggers_updated AFTER UPDATE ON audience.consents REFERENCING OLD TABLE AS rows_before NEW TABLE AS rows_after FOR EACH STATEMENT EXECUTE FUNCTION audience.record_subscribed();
alter table audience.consents enable row level security;
alter table audience.consents force row level security;
create policy app_rows on audience.consents for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.consents for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.consents for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on audience.consents to mailwright_app;
grant delete, insert, select, update on audience.consents to mailwright_system;
comment on table audience.consents is 'The present consent of each subscriber to each topic; its history is the consent ledger.';
comment on column audience.consents.subscriber_status is 'The subscriber''s status and creation are copied here, so that any page of a topic''s subscribers is read from one index.';
comment on column audience.consents.subscribed_at is 'Since when mail may be sent. A campaign goes to those who subscribed before its audience was frozen.';
comment on column audience.consents.token_expires_at is 'Of the last request to confirm.';

create table audience.counter_deltas (
  environment_id bigint not null,
  kind text collate "C" not null,
  key text collate "C" not null,
  state text collate "C" not null,
  delta bigint not null,
  created_at timestamp with time zone
) with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_insert_threshold=-1, autovacuum_analyze_scale_factor=0, autovacuum_analyze_threshold=50000, vacuum_truncate=off);
CREATE INDEX counter_deltas_of_counter ON audience.counter_deltas USING btree (environment_id, kind, key, state);
alter table audience.counter_deltas enable row level security;
alter table audience.counter_deltas force row level security;
create policy app_rows on audience.counter_deltas for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.counter_deltas for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.counter_deltas for all to mailwright_system using (true) with check (true);
grant insert, select on audience.counter_deltas to mailwright_app;
grant delete, insert, select, update on audience.counter_deltas to mailwright_system;
comment on table audience.counter_deltas is 'Changes of counters. Writers only add rows, so that none waits for another, and a count is exact from the moment in which a write is committed.';
comment on column audience.counter_deltas.created_at is 'When the subscribers were created whom the change adds or removes, to the microsecond; null in all other changes.';

create table audience.counters (
  environment_id bigint not null,
  kind text collate "C" not null,
  key text collate "C" not null,
  state text collate "C" not null,
  value bigint not null,
  constraint counters_pkey PRIMARY KEY (environment_id, kind, key, state),
  constraint counters_kind_check CHECK ((kind = ANY (ARRAY['SUBSCRIBERS'::text, 'CREATED'::text, 'SUPPRESSIONS'::text, 'SUBSCRIBED'::text, 'PENDING_CONFIRMATION'::text])))
) with (fillfactor=50);
alter table audience.counters enable row level security;
alter table audience.counters force row level security;
create policy app_rows on audience.counters for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.counters for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.counters for all to mailwright_system using (true) with check (true);
grant select on audience.counters to mailwright_app;
grant delete, insert, select, update on audience.counters to mailwright_system;
comment on table audience.counters is 'Totals of lists and topics, counted as rows are written and never by reading them all. A value is its row here and the deltas that are not folded into it yet: audience.counter_values.';
comment on column audience.counters.kind is 'SUBSCRIBERS by status, and those CREATED on a day by status; SUPPRESSIONS by reason; consents that are SUBSCRIBED or PENDING_CONFIRMATION by topic and by the status of the subscriber.';
comment on column audience.counters.key is 'The id of the topic; the day in UTC, as 2026-11-21; else empty.';
comment on column audience.counters.state is 'The subscriber''s status, or the reason.';

create table audience.custom_fields (
  id uuid not null,
  environment_id bigint not null,
  key text collate "C" not null,
  type text not null,
  display_name text not null,
  description text,
  is_required boolean not null,
  default_value text,
  options json not null default '[]'::json,
  status text not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  archived_at timestamp with time zone,
  constraint custom_fields_pkey PRIMARY KEY (id, environment_id),
  constraint custom_fields_check CHECK (((archived_at IS NULL) = (status = 'ACTIVE'::text))),
  constraint custom_fields_key_check CHECK ((key ~ '^[a-z][a-z0-9_]{0,63}$'::text)),
  constraint custom_fields_status_check CHECK ((status = ANY (ARRAY['ACTIVE'::text, 'ARCHIVED'::text]))),
  constraint custom_fields_type_check CHECK ((type = ANY (ARRAY['TEXT'::text, 'LONG_TEXT'::text, 'NUMBER'::text, 'DECIMAL'::text, 'BOOLEAN'::text, 'DATE'::text, 'DATETIME'::text, 'EMAIL'::text, 'URL'::text, 'PHONE'::text, 'SELECT'::text, 'MULTI_SELECT'::text]))),
  constraint custom_fields_environment_id_key_key UNIQUE (environment_id, key)
);
CREATE INDEX custom_fields_archived ON audience.custom_fields USING btree (environment_id, key) WHERE (status = 'ARCHIVED'::text);
alter table audience.custom_fields enable row level security;
alter table audience.custom_fields force row level security;
create policy app_rows on audience.custom_fields for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.custom_fields for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.custom_fields for all to mailwright_system using (true) with check (true);
grant insert, select, update on audience.custom_fields to mailwright_app;
grant delete, insert, select, update on audience.custom_fields to mailwright_system;
comment on table audience.custom_fields is 'What else a project keeps of its subscribers; the values are in audience.subscribers.custom_fields.';
comment on column audience.custom_fields.options is '[{"value": …, "label": …}]: json keeps them as they were given, in their order.';

create table audience.erased_addresses (
  environment_id bigint not null,
  address_digest bytea not null,
  left_topics jsonb not null,
  subscriber_id uuid,
  erased_at timestamp with time zone not null,
  constraint erased_addresses_pkey PRIMARY KEY (environment_id, address_digest)
);
CREATE INDEX erased_addresses_oldest ON audience.erased_addresses USING btree (erased_at);
alter table audience.erased_addresses enable row level security;
alter table audience.erased_addresses force row level security;
create policy app_rows on audience.erased_addresses for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.erased_addresses for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.erased_addresses for all to mailwright_system using (true) with check (true);
grant insert, select, update on audience.erased_addresses to mailwright_app;
grant delete, insert, select, update on audience.erased_addresses to mailwright_system;
comment on table audience.erased_addresses is 'Addresses that lost their subscriber, who was erased or has another one: the topics that they had left, so that no import brings them back, and who has the address now, so that the unsubscribe links in mails of erased people go on working. Removed when neither is needed any more.';
comment on column audience.erased_addresses.address_digest is 'Keyed (HMAC), so that the table alone tells neither the address nor whether one that is guessed is in it.';
comment on column audience.erased_addresses.left_topics is 'When each topic was left: {"<topic id>": "2026-11-26T12:00:00Z"}. Emptied when the address has a subscriber again, who gets these consents as UNSUBSCRIBED.';
comment on column audience.erased_addresses.subscriber_id is 'Who signed up with the address since; null while it is nobody''s.';
comment on column audience.erased_addresses.erased_at is 'When the subscriber was erased, or left the address.';

create table audience.erased_suppressions (
  environment_id bigint not null,
  address_digest bytea not null,
  reason text not null,
  suppressed_at timestamp with time zone not null,
  erased_at timestamp with time zone not null,
  streams text not null default 'MARKETING'::text,
  constraint erased_suppressions_pkey PRIMARY KEY (environment_id, address_digest),
  constraint erased_suppressions_reason_check CHECK ((reason = ANY (ARRAY['GLOBAL_UNSUBSCRIBE'::text, 'SPAM_COMPLAINT'::text, 'HARD_BOUNCE'::text, 'BLOCKED'::text]))),
  constraint erased_suppressions_streams_check CHECK ((streams = ANY (ARRAY['ALL'::text, 'MARKETING'::text])))
);
alter table audience.erased_suppressions enable row level security;
alter table audience.erased_suppressions force row level security;
create policy app_rows on audience.erased_suppressions for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.erased_suppressions for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.erased_suppressions for all to mailwright_system using (true) with check (true);
grant delete, insert, select on audience.erased_suppressions to mailwright_app;
grant delete, insert, select, update on audience.erased_suppressions to mailwright_system;
grant update (streams) on audience.erased_suppressions to mailwright_app;
comment on table audience.erased_suppressions is 'Suppressions of addresses that were erased.';
comment on column audience.erased_suppressions.address_digest is 'Keyed (HMAC), so that the table alone tells neither the address nor whether one that is guessed is in it.';
comment on column audience.erased_suppressions.streams is 'As in audience.suppressions.';

create table audience.event_unique_ids (
  unique_id text collate "C" not null,
  environment_id bigint not null,
  event_id uuid not null,
  recorded_at timestamp with time zone not null,
  constraint event_unique_ids_pkey PRIMARY KEY (unique_id, environment_id)
);
CREATE INDEX event_unique_ids_old ON audience.event_unique_ids USING btree (recorded_at);
alter table audience.event_unique_ids enable row level security;
alter table audience.event_unique_ids force row level security;
create policy app_rows on audience.event_unique_ids for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.event_unique_ids for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.event_unique_ids for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on audience.event_unique_ids to mailwright_app;
grant delete, insert, select, update on audience.event_unique_ids to mailwright_system;
comment on table audience.event_unique_ids is 'Clients'' own ids of events, each with the event that it was first reported for. Kept for 30 days, during which the same one counts once; an erasure removes those of the person''s events.';

create table audience.field_changes (
  id uuid not null,
  environment_id bigint not null,
  subscriber_id uuid not null,
  occurred_at timestamp with time zone not null,
  actor text not null,
  actor_id text,
  changes jsonb not null,
  constraint field_changes_actor_check CHECK ((actor = ANY (ARRAY['API_KEY'::text, 'SUBSCRIBER_PAGE'::text, 'IMPORT'::text, 'ONE_CLICK'::text, 'COMPLAINT'::text, 'BOUNCE'::text, 'OPERATOR'::text, 'EXPIRY'::text, 'AUTOMATION'::text])))
);
CREATE INDEX field_changes_of_subscriber ON audience.field_changes USING btree (subscriber_id, occurred_at);
CREATE INDEX field_changes_oldest ON audience.field_changes USING brin (occurred_at);
alter table audience.field_changes enable row level security;
alter table audience.field_changes force row level security;
create policy app_rows on audience.field_changes for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.field_changes for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.field_changes for all to mailwright_system using (true) with check (true);
grant delete, insert, select on audience.field_changes to mailwright_app;
grant delete, insert, select, update on audience.field_changes to mailwright_system;
comment on table audience.field_changes is 'Changes of subscribers'' fields, for their activity: none is written when a subscriber is created. Kept for a year at most, and no longer than events; an erasure removes those of the person.';
comment on column audience.field_changes.actor_id is 'As in the consent ledger, whose actors these are.';
comment on column audience.field_changes.changes is 'By the path of the field: {"customFields.plan": {"from": "free", "to": "pro"}}.';

create table audience.frozen_audience_members (
  audience_id uuid not null,
  subscriber_id uuid not null,
  environment_id bigint not null,
  constraint frozen_audience_members_pkey PRIMARY KEY (audience_id, subscriber_id, environment_id),
  constraint frozen_audience_members_audience_id_environment_id_fkey FOREIGN KEY (audience_id, environment_id) REFERENCES audience.frozen_audiences(id, environment_id) ON DELETE CASCADE
);
alter table audience.frozen_audience_members enable row level security;
alter table audience.frozen_audience_members force row level security;
create policy app_rows on audience.frozen_audience_members for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.frozen_audience_members for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.frozen_audience_members for all to mailwright_system using (true) with check (true);
grant delete, insert, select on audience.frozen_audience_members to mailwright_app;
grant delete, insert, select, update on audience.frozen_audience_members to mailwright_system;
comment on table audience.frozen_audience_members is 'Who is in a frozen audience.';

create table audience.frozen_audiences (
  id uuid not null,
  environment_id bigint not null,
  frozen_at timestamp with time zone not null,
  constraint frozen_audiences_pkey PRIMARY KEY (id, environment_id)
);
alter table audience.frozen_audiences enable row level security;
alter table audience.frozen_audiences force row level security;
create policy app_rows on audience.frozen_audiences for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.frozen_audiences for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.frozen_audiences for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on audience.frozen_audiences to mailwright_app;
grant delete, insert, select, update on audience.frozen_audiences to mailwright_system;
comment on table audience.frozen_audiences is 'Audiences as they were at one moment, kept while they are expanded into deliveries. `id` is the campaign''s.';

create table audience.fulfilled_waiters (
  id bigint not null generated always as identity,
  environment_id bigint not null,
  waiter_id uuid not null,
  wait_id uuid not null,
  constraint fulfilled_waiters_pkey PRIMARY KEY (environment_id, id)
) with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_insert_threshold=-1, autovacuum_analyze_scale_factor=0, autovacuum_analyze_threshold=50000, vacuum_truncate=off);
CREATE INDEX fulfilled_waiters_of_waiter ON audience.fulfilled_waiters USING btree (environment_id, waiter_id);
alter table audience.fulfilled_waiters enable row level security;
alter table audience.fulfilled_waiters force row level security;
create policy app_rows on audience.fulfilled_waiters for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.fulfilled_waiters for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.fulfilled_waiters for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on audience.fulfilled_waiters to mailwright_app;
grant delete, insert, select, update on audience.fulfilled_waiters to mailwright_system;
comment on table audience.fulfilled_waiters is 'For whom it happened: only added to, by the statement that records the event, so that no event waits for the work on runs. The automations take the rows, and the same one may be there twice.';

create table audience.import_errors (
  import_id uuid not null,
  row_number bigint not null,
  environment_id bigint not null,
  email text,
  email_key text collate "C",
  errors jsonb not null,
  line bigint,
  constraint import_errors_pkey PRIMARY KEY (import_id, row_number, environment_id),
  constraint import_errors_import_id_environment_id_fkey FOREIGN KEY (import_id, environment_id) REFERENCES audience.imports(id, environment_id) ON DELETE CASCADE
);
CREATE INDEX import_errors_of_address ON audience.import_errors USING btree (environment_id, email_key) WHERE (email_key IS NOT NULL);
alter table audience.import_errors enable row level security;
alter table audience.import_errors force row level security;
create policy app_rows on audience.import_errors for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.import_errors for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.import_errors for all to mailwright_system using (true) with check (true);
grant delete, insert, select on audience.import_errors to mailwright_app;
grant delete, insert, select, update on audience.import_errors to mailwright_system;
comment on table audience.import_errors is 'Rows of imports that were refused, and why.';
comment on column audience.import_errors.email is 'Null unless the row has a valid address: in a cell that is none, such as one of two addresses, no erasure would find its owner.';
comment on column audience.import_errors.line is 'As in import_rows.';

create table audience.import_rows (
  import_id uuid not null,
  row_number bigint not null,
  environment_id bigint not null,
  email_key text collate "C",
  email text,
  first_name text,
  last_name text,
  phone text,
  locale text,
  time_zone text,
  custom_fields jsonb,
  cells text not null,
  fault text,
  line bigint,
  external_id text collate "C",
  constraint import_rows_pkey PRIMARY KEY (import_id, row_number, environment_id)
) partition by list (import_id);
alter table audience.import_rows enable row level security;
alter table audience.import_rows force row level security;
create policy app_rows on audience.import_rows for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.import_rows for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.import_rows for all to mailwright_system using (true) with check (true);
grant delete, select on audience.import_rows to mailwright_app;
grant delete, insert, select, update on audience.import_rows to mailwright_system;
grant update (cells, custom_fields, email, email_key, external_id, fault, first_name, last_name, locale, phone, time_zone) on audience.import_rows to mailwright_app;
comment on table audience.import_rows is 'Rows of imports that wait for the worker, which removes them chunk by chunk: a row that is here is not done. They come checked, so the worker makes new subscribers of the columns from `email` to `custom_fields` without reading one. Those hold for the custom fields as they were; when these changed, and for subscribers who are there already, it reads `cells`.';
comment on column audience.import_rows.email is 'Null where the row makes no new subscriber as it is.';
comment on column audience.import_rows.cells is 'A JSON array.';
comment on column audience.import_rows.line is 'The line of the file in which the row begins, counted from 1; null for a row of a list.';

create table audience.imports (
  id uuid not null,
  environment_id bigint not null,
  status text not null,
  on_conflict text not null,
  topic_keys text[] not null,
  proof jsonb not null,
  columns text[] not null default '{}'::text[],
  definitions_digest text,
  total bigint not null default 0,
  created bigint not null default 0,
  updated bigint not null default 0,
  skipped bigint not null default 0,
  failed bigint not null default 0,
  failure_reason text,
  created_at timestamp with time zone not null,
  completed_at timestamp with time zone,
  resubscribe boolean not null default false,
  suppression_reason text,
  constraint imports_pkey PRIMARY KEY (id, environment_id),
  constraint imports_on_conflict_check CHECK ((on_conflict = ANY (ARRAY['UPSERT'::text, 'SKIP'::text]))),
  constraint imports_status_check CHECK ((status = ANY (ARRAY['RECEIVING'::text, 'QUEUED'::text, 'IN_PROGRESS'::text, 'COMPLETED'::text, 'FAILED'::text])))
);
CREATE INDEX imports_completed ON audience.imports USING btree (completed_at) WHERE (completed_at IS NOT NULL);
CREATE INDEX imports_received ON audience.imports USING btree (created_at) WHERE (status = 'RECEIVING'::text);
alter table audience.imports enable row level security;
alter table audience.imports force row level security;
create policy app_rows on audience.imports for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.imports for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.imports for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on audience.imports to mailwright_app;
grant delete, insert, select, update on audience.imports to mailwright_system;
comment on table audience.imports is 'Imports of subscribers.';
comment on column audience.imports.status is 'RECEIVING while the body comes in: the API does not show it yet.';
comment on column audience.imports.proof is 'Of the consent, as the consent ledger keeps it.';
comment on column audience.imports.columns is 'What the cells of a row are: email, firstName, customFields.plan …; null for a column that is left out.';
comment on column audience.imports.definitions_digest is 'Of the custom fields that the rows were checked against when they were received.';
comment on column audience.imports.resubscribe is 'Grants topics again that the address had unsubscribed from.';

create table audience.list_marks (
  environment_id bigint not null,
  until timestamp with time zone not null,
  subscribers bigint not null,
  constraint list_marks_pkey PRIMARY KEY (environment_id, until)
);
alter table audience.list_marks enable row level security;
alter table audience.list_marks force row level security;
create policy app_rows on audience.list_marks for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.list_marks for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.list_marks for all to mailwright_system using (true) with check (true);
grant select on audience.list_marks to mailwright_app;
grant delete, insert, select, update on audience.list_marks to mailwright_system;
comment on table audience.list_marks is 'Subscribers created up to a moment and after the mark before, about 2 500 each, without those in deltas that are not folded yet. Who was created in one moment is at one mark. Only the youngest mark moves.';

create table audience.recorded_triggers (
  id bigint not null generated always as identity,
  environment_id bigint not null,
  watcher_id uuid not null,
  subscriber_id uuid not null,
  data jsonb,
  constraint recorded_triggers_pkey PRIMARY KEY (id, environment_id),
  constraint recorded_triggers_watcher_id_environment_id_fkey FOREIGN KEY (watcher_id, environment_id) REFERENCES audience.trigger_watches(watcher_id, environment_id) ON DELETE CASCADE
) with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_insert_threshold=-1, autovacuum_analyze_scale_factor=0, autovacuum_analyze_threshold=50000, vacuum_truncate=off);
CREATE INDEX recorded_triggers_of_subscriber ON audience.recorded_triggers USING btree (subscriber_id);
CREATE INDEX recorded_triggers_of_watcher ON audience.recorded_triggers USING btree (watcher_id, id);
alter table audience.recorded_triggers enable row level security;
alter table audience.recorded_triggers force row level security;
create policy app_rows on audience.recorded_triggers for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.recorded_triggers for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.recorded_triggers for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on audience.recorded_triggers to mailwright_app;
grant delete, insert, select, update on audience.recorded_triggers to mailwright_system;
comment on table audience.recorded_triggers is 'What triggered an automation for whom: written by the statement that makes it happen, however many people it concerns. The automation takes its rows and starts the runs in one transaction.';
comment on column audience.recorded_triggers.data is 'The properties of an event.';

create table audience.segment_members (
  subscriber_id uuid not null,
  segment_id uuid not null,
  environment_id bigint not null,
  added_at timestamp with time zone not null,
  constraint segment_members_pkey PRIMARY KEY (subscriber_id, segment_id, environment_id),
  constraint segment_members_segment_id_environment_id_fkey FOREIGN KEY (segment_id, environment_id) REFERENCES audience.segments(id, environment_id) ON DELETE CASCADE
);
CREATE INDEX segment_members_newest ON audience.segment_members USING btree (segment_id, added_at DESC, subscriber_id DESC);
alter table audience.segment_members enable row level security;
alter table audience.segment_members force row level security;
create policy app_rows on audience.segment_members for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.segment_members for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.segment_members for all to mailwright_system using (true) with check (true);
grant delete, insert, select on audience.segment_members to mailwright_app;
grant delete, insert, select, update on audience.segment_members to mailwright_system;
comment on table audience.segment_members is 'Who is in a segment; in a dynamic one as of its last evaluation.';

create table audience.segment_references (
  segment_id uuid not null,
  used_segment_id uuid not null,
  environment_id bigint not null,
  constraint segment_references_pkey PRIMARY KEY (segment_id, used_segment_id, environment_id),
  constraint segment_references_segment_id_environment_id_fkey FOREIGN KEY (segment_id, environment_id) REFERENCES audience.segments(id, environment_id) ON DELETE CASCADE,
  constraint segment_references_used_segment_id_environment_id_fkey FOREIGN KEY (used_segment_id, environment_id) REFERENCES audience.segments(id, environment_id)
);
CREATE INDEX segment_references_of_environment ON audience.segment_references USING btree (environment_id);
CREATE INDEX segment_references_of_used ON audience.segment_references USING btree (used_segment_id);
alter table audience.segment_references enable row level security;
alter table audience.segment_references force row level security;
create policy app_rows on audience.segment_references for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.segment_references for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.segment_references for all to mailwright_system using (true) with check (true);
grant delete, insert, select on audience.segment_references to mailwright_app;
grant delete, insert, select, update on audience.segment_references to mailwright_system;
comment on table audience.segment_references is 'Which segments a segment''s rules name.';

create table audience.segment_transitions (
  "position" bigint not null generated always as identity,
  written_by xid8 not null default pg_current_xact_id(),
  environment_id bigint not null,
  segment_id uuid not null,
  subscriber_id uuid not null,
  kind text not null,
  occurred_at timestamp with time zone not null,
  constraint segment_transitions_pkey PRIMARY KEY ("position", environment_id),
  constraint segment_transitions_kind_check CHECK ((kind = ANY (ARRAY['ENTERED'::text, 'LEFT'::text])))
);
CREATE INDEX segment_transitions_of_segment ON audience.segment_transitions USING btree (segment_id, "position");
CREATE INDEX segment_transitions_oldest ON audience.segment_transitions USING brin (occurred_at);
CREATE TRIGGER record_triggers_inserted AFTER INSERT ON audience.segment_transitions REFERENCING NEW TABLE AS rows_after FOR EACH STATEMENT EXECUTE FUNCTION audience.record_transitions();
alter table audience.segment_transitions enable row level security;
alter table audience.segment_transitions force row level security;
create policy app_rows on audience.segment_transitions for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.segment_transitions for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.segment_transitions for all to mailwright_system using (true) with check (true);
grant insert, select on audience.segment_transitions to mailwright_app;
grant delete, insert, select, update on audience.segment_transitions to mailwright_system;
comment on table audience.segment_transitions is 'Who entered and left a segment. Of a dynamic one: what differs between two evaluations, so the first one has none. Read in the order of `position`, and only what no running transaction may still precede: where position > $1 and written_by < pg_snapshot_xmin(pg_current_snapshot()) order by position.';

create table audience.segments (
  id uuid not null,
  environment_id bigint not null,
  segment_key text not null,
  name text not null,
  description text,
  type text not null,
  status text not null,
  rules text,
  condition_count integer not null default 0,
  member_count bigint,
  is_due boolean not null,
  evaluated_at timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint segments_pkey PRIMARY KEY (id, environment_id),
  constraint segments_check CHECK (((rules IS NULL) = (type = 'STATIC'::text))),
  constraint segments_status_check CHECK ((status = ANY (ARRAY['ACTIVE'::text, 'INACTIVE'::text, 'ARCHIVED'::text]))),
  constraint segments_type_check CHECK ((type = ANY (ARRAY['STATIC'::text, 'DYNAMIC'::text]))),
  constraint segments_environment_id_segment_key_key UNIQUE (environment_id, segment_key)
);
CREATE INDEX segments_newest ON audience.segments USING btree (environment_id, created_at DESC, id DESC);
CREATE INDEX segments_to_evaluate ON audience.segments USING btree (evaluated_at) WHERE (type = 'DYNAMIC'::text);
alter table audience.segments enable row level security;
alter table audience.segments force row level security;
create policy app_rows on audience.segments for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.segments for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.segments for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on audience.segments to mailwright_app;
grant delete, insert, select, update on audience.segments to mailwright_system;
comment on table audience.segments is 'Groups of subscribers: STATIC ones are lists, DYNAMIC ones have rules.';
comment on column audience.segments.rules is 'The JSON as it was given.';
comment on column audience.segments.condition_count is 'Of these rules, without those of the segments that they name.';
comment on column audience.segments.member_count is 'Rows of segment_members; of a dynamic segment as of its last evaluation.';
comment on column audience.segments.is_due is 'The rules changed since they were last evaluated.';

create table audience.subscriber_events (
  id uuid not null,
  environment_id bigint not null,
  subscriber_id uuid not null,
  name text collate "C" not null,
  properties jsonb not null,
  occurred_at timestamp with time zone not null,
  created_at timestamp with time zone not null,
  unique_id text collate "C",
  constraint subscriber_events_pkey PRIMARY KEY (id, occurred_at, environment_id),
  constraint subscriber_events_subscriber_id_environment_id_fkey FOREIGN KEY (subscriber_id, environment_id) REFERENCES audience.subscribers(id, environment_id) ON DELETE CASCADE
) partition by range (occurred_at);
CREATE INDEX subscriber_events_named ON ONLY audience.subscriber_events USING btree (environment_id, name, occurred_at) INCLUDE (subscriber_id);
CREATE INDEX subscriber_events_of_subscriber ON ONLY audience.subscriber_events USING btree (environment_id, subscriber_id, name, occurred_at);
CREATE TRIGGER record_triggers_inserted AFTER INSERT ON audience.subscriber_events REFERENCING NEW TABLE AS rows_after FOR EACH STATEMENT EXECUTE FUNCTION audience.record_events();
alter table audience.subscriber_events enable row level security;
alter table audience.subscriber_events force row level security;
create policy app_rows on audience.subscriber_events for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.subscriber_events for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.subscriber_events for all to mailwright_system using (true) with check (true);
grant insert, select on audience.subscriber_events to mailwright_app;
grant delete, insert, select, update on audience.subscriber_events to mailwright_system;
comment on table audience.subscriber_events is 'What subscribers did outside of mail, by the client''s own names, for segments and automations. Partitioned by the month in which it happened, since rules ask for windows of time.';
comment on column audience.subscriber_events.unique_id is 'The client''s own id of it, by which a repetition is known for 30 days.';

create table audience.subscribers (
  id uuid not null,
  environment_id bigint not null,
  subscriber_key text not null,
  email text not null,
  email_key text collate "C" not null,
  first_name text,
  first_name_key text collate "C" generated always as (lower(first_name)) stored,
  last_name text,
  last_name_key text collate "C" generated always as (lower(last_name)) stored,
  phone text,
  locale text,
  time_zone text,
  source text not null,
  status text not null,
  custom_fields jsonb not null default '{}'::jsonb,
  paused_until timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  external_id text collate "C",
  metadata jsonb not null default '{}'::jsonb,
  constraint subscribers_pkey PRIMARY KEY (id, environment_id),
  constraint subscribers_source_check CHECK ((source = ANY (ARRAY['API'::text, 'IMPORT'::text, 'FORM'::text, 'MANUAL'::text]))),
  constraint subscribers_status_check CHECK ((status = ANY (ARRAY['SUPPRESSED'::text, 'COMPLAINED'::text, 'BOUNCED'::text, 'ACTIVE'::text, 'PENDING_CONFIRMATION'::text, 'UNSUBSCRIBED'::text])))
);
CREATE UNIQUE INDEX subscribers_by_address ON audience.subscribers USING btree (environment_id, email_key) INCLUDE (created_at, id);
CREATE UNIQUE INDEX subscribers_by_external_id ON audience.subscribers USING btree (environment_id, external_id) WHERE (external_id IS NOT NULL);
CREATE INDEX subscribers_by_first_name ON audience.subscribers USING btree (environment_id, first_name_key) INCLUDE (created_at, id) WHERE (first_name_key IS NOT NULL);
CREATE INDEX subscribers_by_key ON audience.subscribers USING btree (subscriber_key text_pattern_ops, environment_id);
CREATE INDEX subscribers_by_last_name ON audience.subscribers USING btree (environment_id, last_name_key) INCLUDE (created_at, id) WHERE (last_name_key IS NOT NULL);
CREATE INDEX subscribers_changed ON audience.subscribers USING btree (environment_id, updated_at) INCLUDE (created_at, id);
CREATE INDEX subscribers_in_order ON audience.subscribers USING btree (environment_id, id);
CREATE INDEX subscribers_newest ON audience.subscribers USING btree (environment_id, created_at, id) INCLUDE (updated_at);
CREATE INDEX subscribers_of_custom_value ON audience.subscribers USING gin (custom_fields jsonb_path_ops);
CREATE INDEX subscribers_of_status ON audience.subscribers USING btree (environment_id, status, created_at, id) INCLUDE (updated_at);
CREATE TRIGGER count_deleted AFTER DELETE ON audience.subscribers REFERENCING OLD TABLE AS rows_before FOR EACH STATEMENT EXECUTE FUNCTION audience.count_subscribers();
CREATE TRIGGER count_inserted AFTER INSERT ON audience.subscribers REFERENCING NEW TABLE AS rows_after FOR EACH STATEMENT EXECUTE FUNCTION audience.count_subscribers();
CREATE TRIGGER count_updated AFTER UPDATE ON audience.subscribers REFERENCING OLD TABLE AS rows_before NEW TABLE AS rows_after FOR EACH STATEMENT EXECUTE FUNCTION audience.count_subscribers();
CREATE TRIGGER depersonalise_ledger AFTER DELETE ON audience.subscribers REFERENCING OLD TABLE AS erased FOR EACH STATEMENT EXECUTE FUNCTION audience.depersonalise_ledger();
CREATE TRIGGER remove_traces AFTER DELETE ON audience.subscribers REFERENCING OLD TABLE AS erased FOR EACH STATEMENT EXECUTE FUNCTION audience.remove_traces();
CREATE TRIGGER remove_waiters AFTER DELETE ON audience.subscribers REFERENCING OLD TABLE AS erased FOR EACH STATEMENT EXECUTE FUNCTION audience.remove_waiters();
alter table audience.subscribers enable row level security;
alter table audience.subscribers force row level security;
create policy app_rows on audience.subscribers for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.subscribers for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.subscribers for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on audience.subscribers to mailwright_app;
grant delete, insert, select, update on audience.subscribers to mailwright_system;
comment on table audience.subscribers is 'People by their e-mail address, which is unique in an environment. Keys come from one sequence a project, which is all that makes them unique.';
comment on column audience.subscribers.email_key is 'The address in lower case, its domain as A-labels (RFC 5890): the same for all spellings of a mailbox.';
comment on column audience.subscribers.locale is 'BCP 47, as parseLocale writes it; null: not known.';
comment on column audience.subscribers.time_zone is 'A name of the IANA database; null: not known.';
comment on column audience.subscribers.status is 'The suppression''s reason, else the best of the consents: no client sets it.';
comment on column audience.subscribers.custom_fields is 'Values by the field''s key: strings, numbers, booleans, arrays of strings; dates as texts that sort as time does.';
comment on column audience.subscribers.external_id is 'The client''s own id of the person, unique in an environment; null: none.';
comment on column audience.subscribers.metadata is 'Strings of the client by key, at most 20.';

create table audience.suppressions (
  environment_id bigint not null,
  email_key text collate "C" not null,
  email text not null,
  reason text not null,
  suppressed_at timestamp with time zone not null,
  streams text not null default 'MARKETING'::text,
  constraint suppressions_pkey PRIMARY KEY (environment_id, email_key),
  constraint suppressions_reason_check CHECK ((reason = ANY (ARRAY['GLOBAL_UNSUBSCRIBE'::text, 'SPAM_COMPLAINT'::text, 'HARD_BOUNCE'::text, 'BLOCKED'::text]))),
  constraint suppressions_streams_check CHECK ((streams = ANY (ARRAY['ALL'::text, 'MARKETING'::text])))
);
CREATE INDEX suppressions_newest ON audience.suppressions USING btree (environment_id, suppressed_at DESC, email_key DESC);
CREATE INDEX suppressions_of_reason ON audience.suppressions USING btree (environment_id, reason, suppressed_at DESC, email_key DESC);
CREATE TRIGGER count_deleted AFTER DELETE ON audience.suppressions REFERENCING OLD TABLE AS rows_before FOR EACH STATEMENT EXECUTE FUNCTION audience.count_suppressions();
CREATE TRIGGER count_inserted AFTER INSERT ON audience.suppressions REFERENCING NEW TABLE AS rows_after FOR EACH STATEMENT EXECUTE FUNCTION audience.count_suppressions();
CREATE TRIGGER count_updated AFTER UPDATE ON audience.suppressions REFERENCING OLD TABLE AS rows_before NEW TABLE AS rows_after FOR EACH STATEMENT EXECUTE FUNCTION audience.count_suppressions();
alter table audience.suppressions enable row level security;
alter table audience.suppressions force row level security;
create policy app_rows on audience.suppressions for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.suppressions for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.suppressions for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on audience.suppressions to mailwright_app;
grant delete, insert, select, update on audience.suppressions to mailwright_system;
comment on table audience.suppressions is 'Addresses that get no mail, or no marketing, whatever their consents say, of subscribers or not.';
comment on column audience.suppressions.streams is 'MARKETING: campaigns, automations and confirmations are barred; ALL: messages to one person, too. Only ever widened.';

create table audience.topics (
  id uuid not null,
  environment_id bigint not null,
  topic_key text not null,
  name text not null,
  description text,
  translations jsonb not null default '{}'::jsonb,
  icon text,
  status text not null,
  visibility text not null default 'PUBLIC'::text,
  priority text,
  double_opt_in_enabled boolean not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  deleted_at timestamp with time zone,
  metadata jsonb not null default '{}'::jsonb,
  opt_in_template_key text,
  constraint topics_pkey PRIMARY KEY (id, environment_id),
  constraint topics_priority_check CHECK ((priority = ANY (ARRAY['URGENT'::text, 'HIGH'::text, 'MEDIUM'::text, 'LOW'::text]))),
  constraint topics_status_check CHECK ((status = ANY (ARRAY['ACTIVE'::text, 'INACTIVE'::text, 'ARCHIVED'::text]))),
  constraint topics_visibility_check CHECK ((visibility = ANY (ARRAY['PUBLIC'::text, 'PRIVATE'::text]))),
  constraint topics_environment_id_topic_key_key UNIQUE (environment_id, topic_key)
);
CREATE INDEX topics_newest ON audience.topics USING btree (environment_id, created_at DESC, id DESC);
alter table audience.topics enable row level security;
alter table audience.topics force row level security;
create policy app_rows on audience.topics for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.topics for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.topics for all to mailwright_system using (true) with check (true);
grant insert, select, update on audience.topics to mailwright_app;
grant delete, insert, select, update on audience.topics to mailwright_system;
comment on table audience.topics is 'What people subscribe to. A deleted topic''s row stays for the consent ledger and for reports.';
comment on column audience.topics.translations is 'By locale: {"de": {"name": "Neuigkeiten", "description": null}}. Readers with another language get name and description.';
comment on column audience.topics.metadata is 'Strings of the client by key, at most 20.';

create table audience.trigger_watches (
  watcher_id uuid not null,
  environment_id bigint not null,
  kind text collate "C" not null,
  subject text collate "C" not null,
  is_open boolean not null,
  conditions jsonpath,
  open_since timestamp with time zone,
  constraint trigger_watches_pkey PRIMARY KEY (watcher_id, environment_id),
  constraint trigger_watches_kind_check CHECK ((kind = ANY (ARRAY['SUBSCRIBED'::text, 'SEGMENT_ENTERED'::text, 'SEGMENT_LEFT'::text, 'CUSTOM_EVENT'::text])))
);
CREATE INDEX trigger_watches_of_subject ON audience.trigger_watches USING btree (environment_id, kind, subject) WHERE is_open;
alter table audience.trigger_watches enable row level security;
alter table audience.trigger_watches force row level security;
create policy app_rows on audience.trigger_watches for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.trigger_watches for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.trigger_watches for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on audience.trigger_watches to mailwright_app;
grant delete, insert, select, update on audience.trigger_watches to mailwright_system;
comment on table audience.trigger_watches is 'Triggers of automations: a topic''s new subscribers, who enters or leaves a segment, an event by its name.';
comment on column audience.trigger_watches.watcher_id is 'The automation''s id.';
comment on column audience.trigger_watches.subject is 'The id of the topic or segment, or the name of the event.';
comment on column audience.trigger_watches.is_open is 'False: nothing new is written; what was written stays.';
comment on column audience.trigger_watches.conditions is 'A predicate on the properties of an event, which must be true; null: any event of the name.';
comment on column audience.trigger_watches.open_since is 'When the automation was activated last; null where that was before this column.';

create table audience.unsubscriptions (
  environment_id bigint not null,
  id uuid not null,
  subscriber_id uuid not null,
  link_id text not null,
  consents jsonb not null,
  revoked_at timestamp with time zone,
  suppressed_at timestamp with time zone,
  happened_at timestamp with time zone not null,
  constraint unsubscriptions_pkey PRIMARY KEY (environment_id, id),
  constraint unsubscriptions_subscriber_id_environment_id_fkey FOREIGN KEY (subscriber_id, environment_id) REFERENCES audience.subscribers(id, environment_id) ON DELETE CASCADE
);
CREATE INDEX unsubscriptions_of_subscriber ON audience.unsubscriptions USING btree (subscriber_id, environment_id);
CREATE INDEX unsubscriptions_oldest ON audience.unsubscriptions USING btree (happened_at);
alter table audience.unsubscriptions enable row level security;
alter table audience.unsubscriptions force row level security;
create policy app_rows on audience.unsubscriptions for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.unsubscriptions for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.unsubscriptions for all to mailwright_system using (true) with check (true);
grant delete, insert, select on audience.unsubscriptions to mailwright_app;
grant delete, insert, select, update on audience.unsubscriptions to mailwright_system;
comment on table audience.unsubscriptions is 'What readers unsubscribed from by a link of ours a short time ago, so that a mistake can be undone, once. History is in the consent ledger.';
comment on column audience.unsubscriptions.link_id is 'What the link is about: a delivery, or the subscriber.';
comment on column audience.unsubscriptions.consents is 'The consents that it took, as they were before.';
comment on column audience.unsubscriptions.revoked_at is 'Their revocation, which alone it undoes; null where there were none.';
comment on column audience.unsubscriptions.suppressed_at is 'When it put the address on the suppression list; null where it did not.';

create table audience.waiters (
  wait_id uuid not null,
  subscriber_id uuid not null,
  waiter_id uuid not null,
  environment_id bigint not null,
  since timestamp with time zone not null,
  constraint waiters_pkey PRIMARY KEY (wait_id, subscriber_id, waiter_id, environment_id)
) with (autovacuum_vacuum_scale_factor=0.02, autovacuum_analyze_scale_factor=0.02);
alter table audience.waiters enable row level security;
alter table audience.waiters force row level security;
create policy app_rows on audience.waiters for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.waiters for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.waiters for all to mailwright_system using (true) with check (true);
grant delete, insert, select on audience.waiters to mailwright_app;
grant delete, insert, select, update on audience.waiters to mailwright_system;
comment on table audience.waiters is 'Who waits for it. Rows are added with the subscribers'' rows locked, so that an event is either before or after.';
comment on column audience.waiters.waiter_id is 'The run of the automation.';

create table audience.waits (
  id uuid not null,
  environment_id bigint not null,
  event_name text collate "C",
  conditions jsonpath,
  rules text,
  evaluated_at timestamp with time zone,
  constraint waits_pkey PRIMARY KEY (id, environment_id),
  constraint waits_check CHECK (((event_name IS NULL) <> (rules IS NULL)))
);
CREATE INDEX waits_for_event ON audience.waits USING btree (environment_id, event_name) WHERE (event_name IS NOT NULL);
alter table audience.waits enable row level security;
alter table audience.waits force row level security;
create policy app_rows on audience.waits for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on audience.waits for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on audience.waits for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on audience.waits to mailwright_app;
grant delete, insert, select, update on audience.waits to mailwright_system;
comment on table audience.waits is 'What steps of automations wait for: an event of the waiting person, or rules that come to hold for them.';
comment on column audience.waits.conditions is 'A predicate on the properties of the event, which must be true; null: any event of the name.';
comment on column audience.waits.evaluated_at is 'When the rules were last asked about all who wait; null: never.';

create view audience.counter_values with (security_invoker=true) as
 SELECT counters.environment_id,
    counters.kind,
    counters.key,
    counters.state,
    counters.value
   FROM audience.counters
UNION ALL
 SELECT counter_deltas.environment_id,
    counter_deltas.kind,
    counter_deltas.key,
    counter_deltas.state,
    counter_deltas.delta AS value
   FROM audience.counter_deltas;
grant select on audience.counter_values to mailwright_app;
grant select on audience.counter_values to mailwright_system;
comment on view audience.counter_values is 'The parts of each counter''s value; whoever reads adds them up.';

create view audience.recounted_values with (security_invoker=true) as
 SELECT environment_id,
    (kind COLLATE "C") AS kind,
    (key COLLATE "C") AS key,
    (state COLLATE "C") AS state,
    value
   FROM ( SELECT subscribers.environment_id,
            'SUBSCRIBERS'::text AS kind,
            ''::text AS key,
            subscribers.status AS state,
            count(*) AS value
           FROM audience.subscribers
          GROUP BY subscribers.environment_id, subscribers.status
        UNION ALL
         SELECT subscribers.environment_id,
            'CREATED'::text,
            audience.day_of(subscribers.created_at) AS day_of,
            subscribers.status,
            count(*) AS count
           FROM audience.subscribers
          GROUP BY subscribers.environment_id, (audience.day_of(subscribers.created_at)), subscribers.status
        UNION ALL
         SELECT suppressions.environment_id,
            'SUPPRESSIONS'::text,
            ''::text,
            suppressions.reason,
            count(*) AS count
           FROM audience.suppressions
          GROUP BY suppressions.environment_id, suppressions.reason
        UNION ALL
         SELECT c.environment_id,
            c.status,
            (c.topic_id)::text AS topic_id,
            b.status,
            count(*) AS count
           FROM (audience.consents c
             JOIN audience.subscribers b ON (((b.id = c.subscriber_id) AND (b.environment_id = c.environment_id))))
          WHERE (c.status = ANY (ARRAY['SUBSCRIBED'::text, 'PENDING_CONFIRMATION'::text]))
          GROUP BY c.environment_id, c.status, c.topic_id, b.status) n;
grant select on audience.recounted_values to mailwright_system;
comment on view audience.recounted_values is 'The same by counting all rows: what the counters are checked against.';

create view audience.scoped_subscribers as
 SELECT id,
    environment_id,
    email,
    email_key,
    external_id,
    first_name,
    last_name,
    phone,
    locale,
    time_zone,
    status,
    source,
    custom_fields,
    paused_until,
    created_at
   FROM audience.subscribers b
  WHERE (environment_id = ( SELECT platform.environment_id() AS environment_id));
alter view audience.scoped_subscribers owner to mailwright_system;
grant select on audience.scoped_subscribers to mailwright_app;
comment on view audience.scoped_subscribers is 'The scope''s subscribers, for conditions on names, addresses and custom fields. Owned by mailwright_system: platform.force_policies.';

CREATE OR REPLACE FUNCTION audience.count_consents()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  counted record;
begin
  if tg_op = 'INSERT' then
    for counted in
      select environment_id, status, topic_id::text as key, subscriber_status, count(*) as delta
      from rows_after where status in ('SUBSCRIBED', 'PENDING_CONFIRMATION')
      group by environment_id, status, topic_id, subscriber_status
    loop
      insert into audience.counter_deltas (environment_id, kind, key, state, delta)
      values (counted.environment_id, counted.status, counted.key, counted.subscriber_status, counted.delta);
    end loop;
  elsif tg_op = 'DELETE' then
    for counted in
      select environment_id, status, topic_id::text as key, subscriber_status, -count(*) as delta
      from rows_before where status in ('SUBSCRIBED', 'PENDING_CONFIRMATION')
      group by environment_id, status, topic_id, subscriber_status
    loop
      insert into audience.counter_deltas (environment_id, kind, key, state, delta)
      values (counted.environment_id, counted.status, counted.key, counted.subscriber_status, counted.delta);
    end loop;
  else
    for counted in
      select environment_id, status, topic_id::text as key, subscriber_status, sum(sign) as delta from (
        select environment_id, status, topic_id, subscriber_status, -1 as sign from rows_before
        union all
        select environment_id, status, topic_id, subscriber_status, 1 from rows_after
      ) r
      where status in ('SUBSCRIBED', 'PENDING_CONFIRMATION')
      group by environment_id, status, topic_id, subscriber_status having sum(sign) <> 0
    loop
      insert into audience.counter_deltas (environment_id, kind, key, state, delta)
      values (counted.environment_id, counted.status, counted.key, counted.subscriber_status, counted.delta);
    end loop;
  end if;
  return null;
end $function$;
-- called by public

CREATE OR REPLACE FUNCTION audience.count_subscribers()
 RETURNS trigger
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
declare
  moved record;
  counted record;
begin
  if tg_op = 'INSERT' then
    for counted in
      select environment_id, 'SUBSCRIBERS' as kind, '' as key, status, count(*) as delta, null::timestamptz as created_at
      from rows_after group by environment_id, status
      union all
      select environment_id, 'CREATED', audience.day_of(created_at), status, count(*), created_at
      from rows_after group by environment_id, created_at, status
    loop
      insert into audience.counter_deltas (environment_id, kind, key, state, delta, created_at)
      values (counted.environment_id, counted.kind, counted.key, counted.status, counted.delta, counted.created_at);
    end loop;
    return null;
  end if;
  if tg_op = 'DELETE' then
    for counted in
      select environment_id, 'SUBSCRIBERS' as kind, '' as key, status, -count(*) as delta, null::timestamptz as created_at
      from rows_before group by environment_id, status
      union all
      select environment_id, 'CREATED', audience.day_of(created_at), status, -count(*), created_at
      from rows_before group by environment_id, created_at, status
    loop
      insert into audience.counter_deltas (environment_id, kind, key, state, delta, created_at)
      values (counted.environment_id, counted.kind, counted.key, counted.status, counted.delta, counted.created_at);
    end loop;
    return null;
  end if;
  for moved in
    select environment_id, array_agg(id) as ids, array_agg(status) as statuses, array_agg(created_at) as created
    from (
      select environment_id, id, max(status) filter (where is_after) as status, max(created_at) filter (where is_after) as created_at
      from (
        select environment_id, id, status, created_at, false as is_after from rows_before
        union all
        select environment_id, id, status, created_at, true from rows_after
      ) r
      group by environment_id, id having min(status) <> max(status) or min(created_at) <> max(created_at)
    ) m
    group by environment_id
  loop
    if cardinality(moved.ids) = 1 then
      -- Through a subselect: a node of Citus crashes on an element of an array in SET.
      update audience.consents c set subscriber_status = m.status, subscriber_created_at = m.created_at
      from (select moved.statuses[1] as status, moved.created[1] as created_at) m
      where c.environment_id = moved.environment_id and c.subscriber_id = moved.ids[1]
        and (c.subscriber_status, c.subscriber_created_at) is distinct from (m.status, m.created_at);
    else
      update audience.consents c set subscriber_status = m.status, subscriber_created_at = m.created_at
      from unnest(moved.ids, moved.statuses, moved.created) as m(id, status, created_at)
      where c.environment_id = moved.environment_id and c.subscriber_id = m.id;
    end if;
  end loop;
  if not found then return null; end if;
  for counted in
    with changed as (
      select environment_id, status, created_at, sign, min(created_at) over person <> max(created_at) over person as is_moved
      from (
        select environment_id, id, status, created_at, -1 as sign from rows_before
        union all
        select environment_id, id, status, created_at, 1 from rows_after
      ) r
      window person as (partition by environment_id, id)
    )
    select environment_id, kind, key, state, created_at, sum(sign) as delta from (
      select environment_id, 'SUBSCRIBERS' as kind, '' as key, status as state, null::timestamptz as created_at, sign from changed
      union all
      select environment_id, 'CREATED', audience.day_of(created_at), status, case when is_moved then created_at end, sign from changed
    ) r
    group by environment_id, kind, key, state, created_at having sum(sign) <> 0
  loop
    insert into audience.counter_deltas (environment_id, kind, key, state, delta, created_at)
    values (counted.environment_id, counted.kind, counted.key, counted.state, counted.delta, counted.created_at);
  end loop;
  return null;
end $function$;
-- called by public
comment on function audience.count_subscribers() is 'Writes one delta for each counter that a statement changes, however many rows it writes; copies a changed status to the subscriber''s consents.';

CREATE OR REPLACE FUNCTION audience.count_suppressions()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  counted record;
begin
  if tg_op = 'INSERT' then
    for counted in select environment_id, reason, count(*) as delta from rows_after group by environment_id, reason loop
      insert into audience.counter_deltas (environment_id, kind, key, state, delta)
      values (counted.environment_id, 'SUPPRESSIONS', '', counted.reason, counted.delta);
    end loop;
  elsif tg_op = 'DELETE' then
    for counted in select environment_id, reason, -count(*) as delta from rows_before group by environment_id, reason loop
      insert into audience.counter_deltas (environment_id, kind, key, state, delta)
      values (counted.environment_id, 'SUPPRESSIONS', '', counted.reason, counted.delta);
    end loop;
  else
    for counted in
      select environment_id, reason, sum(sign) as delta from (
        select environment_id, reason, -1 as sign from rows_before
        union all
        select environment_id, reason, 1 from rows_after
      ) r
      group by environment_id, reason having sum(sign) <> 0
    loop
      insert into audience.counter_deltas (environment_id, kind, key, state, delta)
      values (counted.environment_id, 'SUPPRESSIONS', '', counted.reason, counted.delta);
    end loop;
  end if;
  return null;
end $function$;
-- called by public

CREATE OR REPLACE FUNCTION audience.day_of(at timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
RETURN to_char((at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD'::text);
-- called by public

CREATE OR REPLACE FUNCTION audience.depersonalise_ledger()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog'
 SET enable_seqscan TO 'off'
AS $function$
declare
  gone record;
begin
  for gone in select environment_id, array_agg(id) as ids from erased group by environment_id loop
    update audience.consent_ledger
    set source_url = null, ip_address = null, user_agent = null, consent_text = null,
      address_change = address_change - '{from,to}'::text[]
    where environment_id = gone.environment_id and subscriber_id = any (gone.ids);
  end loop;
  return null;
end $function$;
-- called by public
comment on function audience.depersonalise_ledger() is 'The one change of the consent ledger: it removes what tells of who is erased. That a consent to a topic was given and taken back, when and how, stays.';

CREATE OR REPLACE FUNCTION audience.describe_consent()
 RETURNS trigger
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
begin
  select b.status, b.created_at into new.subscriber_status, new.subscriber_created_at
  from audience.subscribers b where b.environment_id = new.environment_id and b.id = new.subscriber_id;
  return new;
end $function$;
-- called by public
comment on function audience.describe_consent() is 'Copies the subscriber''s status to a new consent, unless the statement brings it, as those do that add thousands. Whoever adds a consent holds the lock of the subscriber''s row, or has just made it: the status stays what it is.';

CREATE OR REPLACE FUNCTION audience.folded(value text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN casefold((value COLLATE pg_c_utf8));
-- called by public
comment on function audience.folded(text) is 'What texts are compared by in rules: Unicode''s simple case folding, character by character (ς and σ are one letter, ß is not ss).';

CREATE OR REPLACE FUNCTION audience.fulfil_waits(of_environment bigint, of_name text, subscribers uuid[], data jsonb[], times timestamp with time zone[])
 RETURNS void
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
declare
  fulfilled record;
begin
  select array_agg(p.waiter_id) as waiter_ids, array_agg(w.id) as wait_ids into fulfilled
  from audience.waits w cross join unnest(subscribers, data, times) as e(subscriber_id, data, at)
  -- One look at an index for each event, however many wait.
  cross join lateral (
    select p.waiter_id, p.since from audience.waiters p
    where p.environment_id = of_environment and p.wait_id = w.id and p.subscriber_id = e.subscriber_id offset 0
  ) p
  where w.environment_id = of_environment and w.event_name = of_name and (w.conditions is null or e.data @@ w.conditions)
    and (e.at is null or e.at >= p.since);
  if fulfilled.wait_ids is null then return; end if;
  insert into audience.fulfilled_waiters (environment_id, waiter_id, wait_id)
  select w.environment_id, f.waiter_id, w.id
  from audience.waits w cross join unnest(fulfilled.waiter_ids, fulfilled.wait_ids) as f(waiter_id, wait_id)
  where w.environment_id = of_environment and w.id = f.wait_id;
end $function$;
-- called by public
comment on function audience.fulfil_waits(bigint,text,uuid[],jsonb[],timestamp with time zone[]) is 'Notes for whom an event is what they wait for. A time is given where it is before that of the report: an event of the past counts for nobody who waits since.';

CREATE OR REPLACE FUNCTION audience.live_subscribers_of_tenant()
 RETURNS bigint
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog'
AS $function$
  select coalesce(sum(v.value), 0)::bigint
  from access.projects p
  join access.project_environments e on e.project_id = p.id and e.environment = 'LIVE'
  join audience.counter_values v on v.environment_id = e.id and v.kind = 'SUBSCRIBERS'
  where p.tenant_id = platform.tenant_id()
$function$;
-- called by mailwright_app
comment on function audience.live_subscribers_of_tenant() is 'How many subscribers the scope''s tenant has in the live environments of all its projects, which a plan counts together. By definer''s rights, since a scope shows the rows of one environment.';

CREATE OR REPLACE FUNCTION audience.record_events()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  happened record;
begin
  for happened in
    select environment_id, name, array_agg(subscriber_id) as ids, array_agg(properties) as data,
      array_agg(case when occurred_at < created_at then occurred_at end) as times
    from rows_after group by environment_id, name
  loop
    perform audience.record_triggers(
      happened.environment_id, 'CUSTOM_EVENT', happened.name, happened.ids, happened.data, happened.times
    );
    perform audience.fulfil_waits(happened.environment_id, happened.name, happened.ids, happened.data, happened.times);
  end loop;
  return null;
end $function$;
-- called by public
comment on function audience.record_events() is 'Triggers the automations that an event begins, and those that wait for it.';

CREATE OR REPLACE FUNCTION audience.record_subscribed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  subscribed record;
begin
  if tg_op = 'INSERT' then
    for subscribed in
      select environment_id, topic_id, array_agg(subscriber_id) as ids from rows_after where status = 'SUBSCRIBED'
      group by environment_id, topic_id
    loop
      perform audience.record_triggers(subscribed.environment_id, 'SUBSCRIBED', subscribed.topic_id::text, subscribed.ids, null);
    end loop;
  else
    for subscribed in
      select environment_id, topic_id, array_agg(subscriber_id) as ids
      -- As sets, which are sorted or hashed: a join might compare them row by row.
      from (
        select environment_id, subscriber_id, topic_id from (
          select environment_id, subscriber_id, topic_id, granted_at from rows_after where status = 'SUBSCRIBED'
          except
          -- Undone: a consent that is given anew has another time.
          select environment_id, subscriber_id, topic_id, granted_at from rows_before
          where status = 'UNSUBSCRIBED' and granted_at is not null
        ) given
        except
        select environment_id, subscriber_id, topic_id from rows_before where status = 'SUBSCRIBED'
      ) a
      group by environment_id, topic_id
    loop
      perform audience.record_triggers(subscribed.environment_id, 'SUBSCRIBED', subscribed.topic_id::text, subscribed.ids, null);
    end loop;
  end if;
  return null;
end $function$;
-- called by public
comment on function audience.record_subscribed() is 'Triggers the automations that wait for new subscribers of a topic. Who undoes an unsubscription is none.';

CREATE OR REPLACE FUNCTION audience.record_transitions()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  moved record;
begin
  for moved in
    select environment_id, kind, segment_id, array_agg(subscriber_id) as ids from rows_after
    group by environment_id, kind, segment_id
  loop
    perform audience.record_triggers(moved.environment_id, 'SEGMENT_' || moved.kind, moved.segment_id::text, moved.ids, null);
  end loop;
  return null;
end $function$;
-- called by public
comment on function audience.record_transitions() is 'Triggers the automations that wait for who enters or leaves a segment.';

CREATE OR REPLACE FUNCTION audience.record_triggers(of_environment bigint, of_kind text, of_subject text, subscribers uuid[], data jsonb[], times timestamp with time zone[] DEFAULT NULL::timestamp with time zone[])
 RETURNS void
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
begin
  insert into audience.recorded_triggers (environment_id, watcher_id, subscriber_id, data)
  select w.environment_id, w.watcher_id, s.id, s.data
  from audience.trigger_watches w cross join unnest(subscribers, data, times) as s(id, data, at)
  where w.environment_id = of_environment and w.kind = of_kind and w.subject = of_subject and w.is_open
    and (w.conditions is null or s.data @@ w.conditions)
    -- The clocks of those who report may be behind.
    and (s.at is null or w.open_since is null or s.at >= w.open_since - interval '5 minutes');
end $function$;
-- called by public
comment on function audience.record_triggers(bigint,text,text,uuid[],jsonb[],timestamp with time zone[]) is 'Triggers the automations that wait for what happened to these people. A time is given where it is before that of the report: what happened before an automation was activated triggers nothing. Called by the triggers of the tables, as whoever writes.';

CREATE OR REPLACE FUNCTION audience.refuse_foreign_rows()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'The row is of another environment.' using errcode = 'insufficient_privilege';
end $function$;
-- called by public
comment on function audience.refuse_foreign_rows() is 'Keeps the app, which alone adds such rows, to the environment of its scope.';

CREATE OR REPLACE FUNCTION audience.remove_traces()
 RETURNS trigger
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
declare
  gone record;
begin
  for gone in select environment_id, array_agg(id) as ids from erased group by environment_id loop
    delete from audience.consents where environment_id = gone.environment_id and subscriber_id = any (gone.ids);
    delete from audience.recorded_triggers where environment_id = gone.environment_id and subscriber_id = any (gone.ids);
    delete from audience.field_changes where environment_id = gone.environment_id and subscriber_id = any (gone.ids);
    -- The segments before their members, as an evaluation does.
    perform from audience.segments s
    where s.environment_id = gone.environment_id and s.id in (
      select m.segment_id from audience.segment_members m
      where m.environment_id = gone.environment_id and m.subscriber_id = any (gone.ids)
    )
    order by s.id for no key update;
    with left_now as (
      delete from audience.segment_members m
      where m.environment_id = gone.environment_id and m.subscriber_id = any (gone.ids) returning m.segment_id
    )
    update audience.segments s set member_count = s.member_count - l.quantity
    from (select segment_id, count(*) as quantity from left_now group by segment_id) l
    where s.environment_id = gone.environment_id and s.id = l.segment_id;
  end loop;
  return null;
end $function$;
-- called by public
comment on function audience.remove_traces() is 'Removes the consents of who is erased, changes of their fields, what they had triggered, and takes them out of all segments and their counts.';

CREATE OR REPLACE FUNCTION audience.remove_waiters()
 RETURNS trigger
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
declare
  gone record;
begin
  for gone in select environment_id, array_agg(id) as ids from erased group by environment_id loop
    delete from audience.waiters p using audience.waits w
    where p.environment_id = gone.environment_id and w.environment_id = gone.environment_id and p.wait_id = w.id
      and p.subscriber_id = any (gone.ids);
  end loop;
  return null;
end $function$;
-- called by public
comment on function audience.remove_waiters() is 'Lets nobody wait who is erased.';

CREATE OR REPLACE FUNCTION audience.reserve_subscribers(wanted integer, most bigint, room bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
declare
  limit_lock bigint := hashtextextended('subscribers of tenant ' || platform.tenant_id(), 0);
begin
  if most = -1 then return wanted; end if;
  if most > room then
    begin
      perform pg_advisory_xact_lock_shared(limit_lock);
      if audience.live_subscribers_of_tenant() + room < most then return wanted; end if;
      -- what is undone with this block is the lock
      raise exception using errcode = 'MW001';
    exception when sqlstate 'MW001' then null;
    end;
  end if;
  perform pg_advisory_xact_lock(limit_lock);
  return least(wanted, greatest(0, most - audience.live_subscribers_of_tenant()));
end $function$;
-- called by mailwright_app
comment on function audience.reserve_subscribers(integer,bigint,bigint) is 'How many of `wanted` new subscribers the caller''s transaction may make, where the tenant may have `most`; others near the limit wait until it ends. Further than `room` from it they are made side by side: their lock is shared, taken before they count, and given back before one waits to have it alone. Each step sees what was committed before it.';

CREATE OR REPLACE FUNCTION audience.utf8(value text)
 RETURNS bytea
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN convert_to(value, 'UTF8'::name);
-- called by public

create schema billing;
grant usage on schema billing to mailwright_app;
grant usage on schema billing to mailwright_system;
comment on schema billing is 'Plans, subscriptions, invoices, and what tenants use: e-mails, campaigns, AI credits.';

create table billing.campaign_usage (
  tenant_id bigint not null,
  period_start timestamp with time zone not null,
  campaigns integer not null,
  constraint campaign_usage_pkey PRIMARY KEY (tenant_id, period_start),
  constraint campaign_usage_campaigns_check CHECK ((campaigns > 0))
) with (fillfactor=50);
alter table billing.campaign_usage enable row level security;
alter table billing.campaign_usage force row level security;
create policy app_rows on billing.campaign_usage for all to mailwright_app using ((tenant_id = platform.tenant_id())) with check ((tenant_id = platform.tenant_id()));
create policy owner_rows on billing.campaign_usage for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on billing.campaign_usage for all to mailwright_system using (true) with check (true);
grant insert, select, update on billing.campaign_usage to mailwright_app;
grant insert, select, update on billing.campaign_usage to mailwright_system;
comment on table billing.campaign_usage is 'Campaigns that were made in the live environments of one tenant in one of its months.';

create table billing.credit_accounts (
  tenant_id bigint not null,
  balance bigint not null default 0,
  monthly bigint not null default 0,
  monthly_until timestamp with time zone,
  month_start timestamp with time zone,
  month_credits bigint not null default 0,
  transactions bigint not null default 0,
  short_of bigint,
  depleted_at timestamp with time zone,
  updated_at timestamp with time zone,
  constraint credit_accounts_pkey PRIMARY KEY (tenant_id),
  constraint credits_never_negative CHECK (((monthly >= 0) AND (balance >= monthly)))
) with (fillfactor=50);
CREATE INDEX credit_accounts_lapsing ON billing.credit_accounts USING btree (monthly_until) WHERE (monthly > 0);
CREATE TRIGGER follows_the_ledger BEFORE UPDATE OF balance, monthly, transactions ON billing.credit_accounts FOR EACH ROW WHEN ((pg_trigger_depth() = 0)) EXECUTE FUNCTION billing.refuse_ledger_change();
alter table billing.credit_accounts enable row level security;
alter table billing.credit_accounts force row level security;
create policy app_rows on billing.credit_accounts for all to mailwright_app using ((tenant_id = platform.tenant_id())) with check ((tenant_id = platform.tenant_id()));
create policy owner_rows on billing.credit_accounts for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on billing.credit_accounts for all to mailwright_system using (true) with check (true);
grant insert, select, update on billing.credit_accounts to mailwright_app;
grant insert, select, update on billing.credit_accounts to mailwright_system;
comment on table billing.credit_accounts is 'AI credits of a tenant: the sum of its ledger, billing.credit_transactions, kept by the ledger''s trigger and by nothing else. Its row is what writers of one tenant lock.';
comment on column billing.credit_accounts.monthly is 'Of the balance: what came with the month and lapses at `monthly_until`. It is used first.';
comment on column billing.credit_accounts.month_start is 'The month whose credits were granted last; month_credits says how many.';
comment on column billing.credit_accounts.transactions is 'How many rows the ledger has of this tenant: the number of the last one.';
comment on column billing.credit_accounts.short_of is 'The credits that a consumer was refused last, and in depleted_at since when there are too few; null when there are enough.';

create table billing.credit_reservations (
  id uuid not null,
  tenant_id bigint not null,
  credits bigint not null,
  monthly bigint not null,
  monthly_until timestamp with time zone,
  reference_id uuid not null,
  expires_at timestamp with time zone not null,
  constraint credit_reservations_pkey PRIMARY KEY (id),
  constraint credit_reservations_check CHECK (((monthly >= 0) AND (monthly <= credits))),
  constraint credit_reservations_credits_check CHECK ((credits > 0))
);
CREATE INDEX credit_reservations_expiry ON billing.credit_reservations USING btree (expires_at);
alter table billing.credit_reservations enable row level security;
alter table billing.credit_reservations force row level security;
create policy app_rows on billing.credit_reservations for all to mailwright_app using ((tenant_id = platform.tenant_id())) with check ((tenant_id = platform.tenant_id()));
create policy owner_rows on billing.credit_reservations for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on billing.credit_reservations for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on billing.credit_reservations to mailwright_app;
grant delete, insert, select, update on billing.credit_reservations to mailwright_system;
comment on table billing.credit_reservations is 'Credits set aside for work under way. They left the balance when they were reserved; what the work does not use comes back. A reservation that nobody settles (its worker died) comes back when it expires.';
comment on column billing.credit_reservations.monthly_until is 'The end of the month that the monthly ones belong to.';

create table billing.credit_transactions (
  id uuid not null,
  tenant_id bigint not null,
  sequence bigint not null,
  type text not null,
  amount bigint not null,
  monthly bigint not null,
  balance_after bigint not null,
  reference_id uuid,
  description text,
  once_key text,
  created_at timestamp with time zone not null,
  constraint credit_transactions_pkey PRIMARY KEY (id),
  constraint credit_transactions_amount_check CHECK ((amount <> 0)),
  constraint credit_transactions_balance_after_check CHECK ((balance_after >= 0)),
  constraint credit_transactions_check CHECK (
CASE
    WHEN (type = ANY (ARRAY['CONSUMPTION'::text, 'EXPIRATION'::text])) THEN (amount < 0)
    WHEN (type = 'ADJUSTMENT'::text) THEN true
    ELSE (amount > 0)
END),
  constraint credit_transactions_type_check CHECK ((type = ANY (ARRAY['GRANT'::text, 'PURCHASE'::text, 'CONSUMPTION'::text, 'REFUND'::text, 'ADJUSTMENT'::text, 'EXPIRATION'::text]))),
  constraint credit_transactions_tenant_id_sequence_key UNIQUE (tenant_id, sequence)
);
CREATE UNIQUE INDEX credit_transactions_once ON billing.credit_transactions USING btree (tenant_id, once_key) WHERE (once_key IS NOT NULL);
CREATE INDEX credit_transactions_use ON billing.credit_transactions USING btree (tenant_id, created_at) INCLUDE (type, amount) WHERE (type = ANY (ARRAY['CONSUMPTION'::text, 'REFUND'::text]));
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON billing.credit_transactions FOR EACH ROW EXECUTE FUNCTION billing.refuse_ledger_change();
CREATE TRIGGER book BEFORE INSERT ON billing.credit_transactions FOR EACH ROW EXECUTE FUNCTION billing.book_credits();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON billing.credit_transactions FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_ledger_change();
alter table billing.credit_transactions enable row level security;
alter table billing.credit_transactions force row level security;
create policy app_rows on billing.credit_transactions for all to mailwright_app using ((tenant_id = platform.tenant_id())) with check ((tenant_id = platform.tenant_id()));
create policy owner_rows on billing.credit_transactions for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on billing.credit_transactions for all to mailwright_system using (true) with check (true);
grant insert, select on billing.credit_transactions to mailwright_app;
grant insert, select on billing.credit_transactions to mailwright_system;
comment on table billing.credit_transactions is 'The ledger of AI credits, which is the truth. Append-only.';
comment on column billing.credit_transactions.sequence is '1, 2, 3 … for each tenant, without a gap.';
comment on column billing.credit_transactions.monthly is 'How much of the amount belongs to the monthly credits.';
comment on column billing.credit_transactions.once_key is 'What may happen once only, such as an invoice''s purchase.';

create table billing.email_settlements (
  id bigint not null generated always as identity,
  tenant_id bigint not null,
  period_start timestamp with time zone not null,
  used bigint not null,
  released bigint not null,
  reserved bigint not null default 0,
  constraint email_settlements_pkey PRIMARY KEY (id),
  constraint email_settlements_released_check CHECK ((released >= 0)),
  constraint email_settlements_reserved_check CHECK ((reserved >= 0)),
  constraint email_settlements_used_check CHECK ((used >= 0))
);
CREATE INDEX email_settlements_of_period ON billing.email_settlements USING btree (tenant_id, period_start);
alter table billing.email_settlements enable row level security;
alter table billing.email_settlements force row level security;
create policy app_rows on billing.email_settlements for all to mailwright_app using ((tenant_id = platform.tenant_id())) with check ((tenant_id = platform.tenant_id()));
create policy owner_rows on billing.email_settlements for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on billing.email_settlements for all to mailwright_system using (true) with check (true);
grant delete, insert, select on billing.email_settlements to mailwright_app;
grant delete, insert, select on billing.email_settlements to mailwright_system;
comment on table billing.email_settlements is 'What came while another transaction had locked the tenant''s row of email_usage: settlements, so that sending never waits for a campaign that is being queued, and reservations of messages, which are made side by side. The next transaction that locks the row adds them to it. A settlement only ever frees e-mails: not to count it yet cannot pass the limit.';
comment on column billing.email_settlements.reserved is 'Reserved beside that row: counts at once.';

create table billing.email_usage (
  tenant_id bigint not null,
  period_start timestamp with time zone not null,
  reserved bigint not null default 0,
  used bigint not null default 0,
  constraint email_usage_pkey PRIMARY KEY (tenant_id, period_start),
  constraint email_usage_reserved_check CHECK ((reserved >= 0)),
  constraint email_usage_used_check CHECK ((used >= 0))
) with (fillfactor=50);
alter table billing.email_usage enable row level security;
alter table billing.email_usage force row level security;
create policy app_rows on billing.email_usage for all to mailwright_app using ((tenant_id = platform.tenant_id())) with check ((tenant_id = platform.tenant_id()));
create policy owner_rows on billing.email_usage for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on billing.email_usage for all to mailwright_system using (true) with check (true);
grant insert, select, update on billing.email_usage to mailwright_app;
grant insert, select, update on billing.email_usage to mailwright_system;
comment on table billing.email_usage is 'E-mails of one tenant in one period; reserved + used never passes the plan''s limit.';
comment on column billing.email_usage.reserved is 'Promised to queued campaigns and not settled yet.';
comment on column billing.email_usage.used is 'Sent.';

create table billing.invoice_lines (
  invoice_id bigint not null,
  "position" integer not null,
  tenant_id bigint not null,
  description text not null,
  amount_cents bigint not null,
  period_start timestamp with time zone not null,
  period_end timestamp with time zone not null,
  constraint invoice_lines_pkey PRIMARY KEY (invoice_id, "position"),
  constraint invoice_lines_position_check CHECK (("position" > 0)),
  constraint invoice_lines_invoice_id_fkey FOREIGN KEY (invoice_id) REFERENCES billing.invoices(id)
);
alter table billing.invoice_lines enable row level security;
alter table billing.invoice_lines force row level security;
create policy app_rows on billing.invoice_lines for select to mailwright_app using ((tenant_id = platform.tenant_id()));
create policy owner_rows on billing.invoice_lines for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on billing.invoice_lines for all to mailwright_system using (true) with check (true);
grant select on billing.invoice_lines to mailwright_app;
grant insert, select on billing.invoice_lines to mailwright_system;
comment on table billing.invoice_lines is 'What an invoice charges for.';

create table billing.invoice_numbers (
  tenant_id bigint not null,
  year integer not null,
  last_number integer not null,
  constraint invoice_numbers_pkey PRIMARY KEY (tenant_id, year),
  constraint invoice_numbers_last_number_check CHECK ((last_number > 0))
);
alter table billing.invoice_numbers enable row level security;
alter table billing.invoice_numbers force row level security;
create policy owner_rows on billing.invoice_numbers for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on billing.invoice_numbers for all to mailwright_system using (true) with check (true);
grant insert, select, update on billing.invoice_numbers to mailwright_system;
comment on table billing.invoice_numbers is 'The last invoice number of a tenant''s year. The row is locked until the invoice is committed, so that numbers have no gaps.';

create table billing.invoices (
  id bigint not null generated always as identity,
  public_id uuid not null,
  tenant_id bigint not null,
  subscription_id bigint not null,
  external_id text,
  status text not null,
  billing_reason text not null,
  number_year integer,
  number integer,
  invoice_number text,
  currency text not null,
  subtotal_cents bigint not null,
  tax_rate_bp integer not null,
  tax_cents bigint not null,
  amount_cents bigint not null,
  seller jsonb not null,
  buyer jsonb not null,
  issued_at timestamp with time zone,
  due_at timestamp with time zone,
  paid_at timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  balance_cents bigint not null default 0,
  credited_cents bigint not null default 0,
  constraint invoices_pkey PRIMARY KEY (id),
  constraint invoices_billing_reason_check CHECK ((billing_reason = ANY (ARRAY['subscription_create'::text, 'subscription_cycle'::text, 'subscription_update'::text, 'credits_purchase'::text]))),
  constraint invoices_check CHECK ((amount_cents = (subtotal_cents + tax_cents))),
  constraint invoices_check1 CHECK (((status = 'DRAFT'::text) OR ((number IS NOT NULL) AND (number_year IS NOT NULL) AND (invoice_number IS NOT NULL) AND (issued_at IS NOT NULL) AND (due_at IS NOT NULL)))),
  constraint invoices_check2 CHECK (((status = 'PAID'::text) = (paid_at IS NOT NULL))),
  constraint invoices_credited_cents_check CHECK ((credited_cents >= 0)),
  constraint invoices_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text)),
  constraint invoices_status_check CHECK ((status = ANY (ARRAY['DRAFT'::text, 'OPEN'::text, 'PAID'::text, 'UNCOLLECTIBLE'::text, 'VOID'::text]))),
  constraint invoices_tax_rate_bp_check CHECK (((tax_rate_bp >= 0) AND (tax_rate_bp <= 10000))),
  constraint invoices_subscription_id_fkey FOREIGN KEY (subscription_id) REFERENCES billing.subscriptions(id),
  constraint invoices_external_id_key UNIQUE (external_id),
  constraint invoices_invoice_number_key UNIQUE (invoice_number),
  constraint invoices_public_id_key UNIQUE (public_id),
  constraint invoices_tenant_id_number_year_number_key UNIQUE (tenant_id, number_year, number)
);
CREATE INDEX invoices_of_tenant ON billing.invoices USING btree (tenant_id, created_at DESC, id DESC);
CREATE INDEX invoices_unpaid ON billing.invoices USING btree (subscription_id, due_at) WHERE (status = 'OPEN'::text);
alter table billing.invoices enable row level security;
alter table billing.invoices force row level security;
create policy app_rows on billing.invoices for select to mailwright_app using ((tenant_id = platform.tenant_id()));
create policy owner_rows on billing.invoices for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on billing.invoices for all to mailwright_system using (true) with check (true);
grant select on billing.invoices to mailwright_app;
grant insert, select, update on billing.invoices to mailwright_system;
comment on table billing.invoices is 'Money is in minor units of the currency. Seller and buyer are as they were when it was issued.';
comment on column billing.invoices.public_id is 'What signed links name.';
comment on column billing.invoices.tax_rate_bp is 'Hundredths of a percent: 2300 is 23 %.';
comment on column billing.invoices.balance_cents is 'The customer''s balance at the provider that was applied: below zero is credit, which leaves less to pay.';
comment on column billing.invoices.credited_cents is 'Taken back by credit notes of the provider.';

create table billing.plan_prices (
  plan_variant_id bigint not null,
  currency text not null,
  monthly_cents bigint not null,
  yearly_cents bigint not null,
  constraint plan_prices_pkey PRIMARY KEY (plan_variant_id, currency),
  constraint plan_prices_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text)),
  constraint plan_prices_monthly_cents_check CHECK ((monthly_cents >= 0)),
  constraint plan_prices_yearly_cents_check CHECK ((yearly_cents >= 0)),
  constraint plan_prices_plan_variant_id_fkey FOREIGN KEY (plan_variant_id) REFERENCES billing.plan_variants(id)
);
grant select on billing.plan_prices to mailwright_app;
grant select on billing.plan_prices to mailwright_system;
comment on table billing.plan_prices is 'In minor units of the currency (ISO 4217), for one month and for one year.';

create table billing.plan_variants (
  id bigint not null generated always as identity,
  plan_version_id bigint not null,
  ai_credits integer not null,
  constraint plan_variants_pkey PRIMARY KEY (id),
  constraint plan_variants_ai_credits_check CHECK ((ai_credits >= 0)),
  constraint plan_variants_plan_version_id_fkey FOREIGN KEY (plan_version_id) REFERENCES billing.plan_versions(id),
  constraint plan_variants_plan_version_id_ai_credits_key UNIQUE (plan_version_id, ai_credits)
);
grant select on billing.plan_variants to mailwright_app;
grant select on billing.plan_variants to mailwright_system;
comment on table billing.plan_variants is 'The numbers of AI credits a month that a plan is sold with.';

create table billing.plan_versions (
  id bigint not null generated always as identity,
  tier text not null,
  version integer not null,
  name text not null,
  description text not null,
  limits jsonb not null,
  content jsonb not null,
  created_at timestamp with time zone not null default now(),
  retired_at timestamp with time zone,
  constraint plan_versions_pkey PRIMARY KEY (id),
  constraint plan_versions_tier_check CHECK ((tier = ANY (ARRAY['FREE'::text, 'STANDARD'::text, 'PRO'::text]))),
  constraint plan_versions_version_check CHECK ((version > 0)),
  constraint plan_versions_tier_version_key UNIQUE (tier, version)
);
CREATE UNIQUE INDEX plan_versions_on_offer ON billing.plan_versions USING btree (tier) WHERE (retired_at IS NULL);
grant select on billing.plan_versions to mailwright_app;
grant select on billing.plan_versions to mailwright_system;
comment on table billing.plan_versions is 'Plans. A version never changes: another price or limit is another version, and a subscription keeps the one that it was made with.';
comment on column billing.plan_versions.content is 'The plan as migrations/seeds/billing.plans.json had it.';
comment on column billing.plan_versions.retired_at is 'Null: the version is on offer.';

create table billing.stripe_cancellations (
  external_id text not null,
  tenant_id bigint not null,
  requested_at timestamp with time zone not null,
  attempts integer not null default 0,
  retry_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
  last_error text,
  constraint stripe_cancellations_pkey PRIMARY KEY (external_id)
);
alter table billing.stripe_cancellations enable row level security;
alter table billing.stripe_cancellations force row level security;
create policy owner_rows on billing.stripe_cancellations for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on billing.stripe_cancellations for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on billing.stripe_cancellations to mailwright_system;
comment on table billing.stripe_cancellations is 'Subscriptions that expired here and are to be cancelled at Stripe, which would renew them and send invoices for ever. A row is written with the change of state and removed when Stripe has done it.';

create table billing.stripe_events (
  id text not null,
  type text not null,
  object_id text not null,
  occurred_at timestamp with time zone not null,
  received_at timestamp with time zone not null default now(),
  attempts integer not null default 0,
  retry_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
  last_error text,
  processed_at timestamp with time zone,
  stray_tenant_id bigint,
  constraint stripe_events_pkey PRIMARY KEY (id)
);
CREATE INDEX stripe_events_open ON billing.stripe_events USING btree (retry_at) WHERE (processed_at IS NULL);
CREATE INDEX stripe_events_processed ON billing.stripe_events USING btree (processed_at) WHERE (processed_at IS NOT NULL);
alter table billing.stripe_events enable row level security;
alter table billing.stripe_events force row level security;
create policy owner_rows on billing.stripe_events for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on billing.stripe_events for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on billing.stripe_events to mailwright_system;
comment on table billing.stripe_events is 'Events of Stripe, each once: that something happened to an object. The worker asks Stripe for the object''s state, so the order in which events come does not matter.';
comment on column billing.stripe_events.stray_tenant_id is 'The tenant whose customer it is about, where Mailwright does not know the subscription: somebody pays for it twice, perhaps.';

create table billing.subscriptions (
  id bigint not null generated always as identity,
  tenant_id bigint not null,
  status text not null,
  plan_tier text not null,
  plan_version_id bigint,
  ai_credits integer,
  billing_interval text not null,
  currency text not null default 'USD'::text,
  pending_plan_tier text,
  pending_plan_version_id bigint,
  pending_ai_credits integer,
  pending_billing_interval text,
  pending_currency text,
  anchored_at timestamp with time zone not null,
  current_period_start timestamp with time zone,
  current_period_end timestamp with time zone,
  trial_ends_at timestamp with time zone,
  past_due_since timestamp with time zone,
  restricted_since timestamp with time zone,
  cancel_at_period_end boolean not null default false,
  cancelled_at timestamp with time zone,
  cancellation_reason text,
  ended_at timestamp with time zone,
  next_due_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
  announced_month timestamp with time zone,
  announced_credits integer,
  buyer_name text,
  buyer_address text,
  buyer_tax_id text,
  provider text not null default 'MANUAL'::text,
  external_customer_id text,
  external_id text,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint subscriptions_pkey PRIMARY KEY (id),
  constraint subscriptions_ai_credits_check CHECK ((ai_credits >= 0)),
  constraint subscriptions_billing_interval_check CHECK ((billing_interval = ANY (ARRAY['MONTHLY'::text, 'YEARLY'::text]))),
  constraint subscriptions_check CHECK (((current_period_start IS NULL) = (current_period_end IS NULL))),
  constraint subscriptions_check1 CHECK ((current_period_end > current_period_start)),
  constraint subscriptions_check2 CHECK ((num_nulls(pending_plan_tier, pending_plan_version_id, pending_ai_credits, pending_billing_interval, pending_currency) = ANY (ARRAY[0, 5]))),
  constraint subscriptions_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text)),
  constraint subscriptions_pending_ai_credits_check CHECK ((pending_ai_credits >= 0)),
  constraint subscriptions_pending_billing_interval_check CHECK ((pending_billing_interval = ANY (ARRAY['MONTHLY'::text, 'YEARLY'::text]))),
  constraint subscriptions_pending_currency_check CHECK ((pending_currency ~ '^[A-Z]{3}$'::text)),
  constraint subscriptions_pending_plan_tier_check CHECK ((pending_plan_tier = ANY (ARRAY['FREE'::text, 'STANDARD'::text, 'PRO'::text]))),
  constraint subscriptions_plan_tier_check CHECK ((plan_tier = ANY (ARRAY['FREE'::text, 'STANDARD'::text, 'PRO'::text]))),
  constraint subscriptions_provider_check CHECK ((provider = ANY (ARRAY['MANUAL'::text, 'STRIPE'::text]))),
  constraint subscriptions_status_check CHECK ((status = ANY (ARRAY['TRIALING'::text, 'ACTIVE'::text, 'PAST_DUE'::text, 'RESTRICTED'::text, 'CANCELLED'::text, 'EXPIRED'::text]))),
  constraint subscriptions_pending_plan_version_id_fkey FOREIGN KEY (pending_plan_version_id) REFERENCES billing.plan_versions(id),
  constraint subscriptions_plan_version_id_fkey FOREIGN KEY (plan_version_id) REFERENCES billing.plan_versions(id),
  constraint subscriptions_external_id_key UNIQUE (external_id),
  constraint subscriptions_tenant_id_key UNIQUE (tenant_id)
);
CREATE INDEX subscriptions_due ON billing.subscriptions USING btree (next_due_at);
alter table billing.subscriptions enable row level security;
alter table billing.subscriptions force row level security;
create policy app_rows on billing.subscriptions for select to mailwright_app using ((tenant_id = platform.tenant_id()));
create policy owner_rows on billing.subscriptions for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on billing.subscriptions for all to mailwright_system using (true) with check (true);
grant select on billing.subscriptions to mailwright_app;
grant insert, select, update on billing.subscriptions to mailwright_system;
comment on table billing.subscriptions is 'A tenant''s subscription to a plan: one row, whatever it goes through.';
comment on column billing.subscriptions.ai_credits is 'A month; null: as many as the plan is sold with at least.';
comment on column billing.subscriptions.pending_plan_tier is 'The pending columns are what begins with the next period.';
comment on column billing.subscriptions.anchored_at is 'Periods are anniversaries of this moment, in UTC.';
comment on column billing.subscriptions.next_due_at is 'When time alone changes it next; whoever makes a row by hand leaves that to the worker.';
comment on column billing.subscriptions.announced_month is 'The start of the month whose AI credits were published as an event last; announced_credits says how many.';
comment on column billing.subscriptions.buyer_name is 'To whom invoices are made out; null: to the tenant by its name.';

CREATE OR REPLACE FUNCTION billing.book_credits()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
AS $function$
declare account billing.credit_accounts;
begin
  insert into billing.credit_accounts (tenant_id) values (new.tenant_id) on conflict do nothing;
  select * into account from billing.credit_accounts a where a.tenant_id = new.tenant_id for update;
  new.monthly := coalesce(new.monthly, case when new.amount < 0 then -least(-new.amount, account.monthly) else 0 end);
  new.sequence := account.transactions + 1;
  new.balance_after := account.balance + new.amount;
  update billing.credit_accounts a set balance = new.balance_after, monthly = a.monthly + new.monthly,
    transactions = new.sequence, updated_at = new.created_at,
    short_of = case when new.balance_after < coalesce(a.short_of, 1) then a.short_of end,
    depleted_at = case when new.balance_after < coalesce(a.short_of, 1) then a.depleted_at end
  where a.tenant_id = new.tenant_id;
  return new;
end $function$;
-- called by mailwright_app, mailwright_system
comment on function billing.book_credits() is 'Numbers a new row of the ledger, says what the balance is after it, and changes the account with it.';

CREATE OR REPLACE FUNCTION billing.demand_emails(tenant bigint, period timestamp with time zone, emails bigint, quota bigint, room bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
AS $function$
declare
  is_far boolean := quota is null;
  is_granted boolean;
begin
  if not is_far and quota > room then
    begin
      perform pg_advisory_xact_lock_shared(hashtextextended('emails of tenant ' || tenant, 0));
      select coalesce((
          select u.reserved + u.used from billing.email_usage u where u.tenant_id = tenant and u.period_start = period
        ), 0) + coalesce((
          select sum(s.reserved - s.released) from billing.email_settlements s where s.tenant_id = tenant and s.period_start = period
        ), 0) + emails + room <= quota into is_far;
      -- what is undone with this block is the lock
      if not is_far then raise exception using errcode = 'MW001'; end if;
    exception when sqlstate 'MW001' then null;
    end;
  end if;
  if is_far then
    if not exists (select 1 from billing.email_usage u where u.tenant_id = tenant and u.period_start = period) then
      insert into billing.email_usage (tenant_id, period_start) values (tenant, period) on conflict do nothing;
    end if;
    insert into billing.email_settlements (tenant_id, period_start, reserved, used, released) values (tenant, period, emails, 0, 0);
    return;
  end if;
  select r.granted into is_granted from billing.reserve_emails(tenant, period, emails, quota) r;
  if not is_granted then
    raise exception using errcode = 'MW002', message = 'The plan has too few e-mails left.';
  end if;
end $function$;
-- called by mailwright_app, mailwright_system
comment on function billing.demand_emails(bigint,timestamp with time zone,bigint,bigint,bigint) is 'Reserves all of `emails`, or raises MW002 where `quota` (null = unlimited) has no room for them. Further than `room` from it, which is more than all transactions reserve that there can be at once, nobody waits: each adds a row, under a lock that is shared, and given back before one waits to have it alone.';

CREATE OR REPLACE FUNCTION billing.expire_monthly_credits(tenant bigint, credits bigint, at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
AS $function$
begin
  if credits > 0 then
    insert into billing.credit_transactions (id, tenant_id, type, amount, monthly, description, created_at)
    values (platform.new_id(), tenant, 'EXPIRATION', -credits, -credits, 'Monthly credits that were not used', at);
  end if;
end $function$;
-- called by mailwright_app, mailwright_system
comment on function billing.expire_monthly_credits(bigint,bigint,timestamp with time zone) is 'Ends what was not used of monthly credits.';

CREATE OR REPLACE FUNCTION billing.fold_settlements(tenant bigint, period timestamp with time zone, now_used bigint, now_released bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
AS $function$
begin
  with waiting as (
    delete from billing.email_settlements s where s.tenant_id = tenant and s.period_start = period
    returning s.reserved, s.used, s.released
  ), settled as (
    select coalesce(sum(w.reserved), 0)::bigint as reserved, coalesce(sum(w.used), 0)::bigint + now_used as used,
      coalesce(sum(w.released), 0)::bigint + now_released as released
    from waiting w
  )
  update billing.email_usage u
  set reserved = greatest(0, u.reserved + s.reserved - s.used - s.released), used = u.used + s.used
  from settled s
  where u.tenant_id = tenant and u.period_start = period and s.reserved + s.used + s.released > 0;
end $function$;
-- called by mailwright_app, mailwright_system
comment on function billing.fold_settlements(bigint,timestamp with time zone,bigint,bigint) is 'Adds what was settled, waiting rows included, to a row of email_usage that the caller has locked.';

CREATE OR REPLACE FUNCTION billing.grant_monthly_credits(tenant bigint, credits bigint, started timestamp with time zone, ends timestamp with time zone, at timestamp with time zone)
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
AS $function$
declare
  account billing.credit_accounts := billing.lock_credits(tenant, at);
  missing bigint;
begin
  if ends <= at or account.month_start > started then
    return 0;
  end if;
  if account.month_start is distinct from started then
    perform billing.expire_monthly_credits(tenant, account.monthly, at);
    missing := credits;
  else
    missing := greatest(0, credits - account.month_credits);
  end if;
  update billing.credit_accounts a set month_start = started, monthly_until = ends,
    month_credits = case when a.month_start = started then greatest(a.month_credits, credits) else credits end
  where a.tenant_id = tenant;
  if missing > 0 then
    insert into billing.credit_transactions (id, tenant_id, type, amount, monthly, description, created_at)
    values (platform.new_id(), tenant, 'GRANT', missing, missing, 'Monthly credits', at);
  end if;
  return missing;
end $function$;
-- called by mailwright_app, mailwright_system
comment on function billing.grant_monthly_credits(bigint,bigint,timestamp with time zone,timestamp with time zone,timestamp with time zone) is 'Brings the monthly credits of one month up to `credits`. With the first ones, what the month before left lapses.';

CREATE OR REPLACE FUNCTION billing.lock_credits(tenant bigint, at timestamp with time zone)
 RETURNS billing.credit_accounts
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
AS $function$
declare account billing.credit_accounts;
begin
  insert into billing.credit_accounts (tenant_id) values (tenant) on conflict do nothing;
  select * into account from billing.credit_accounts a where a.tenant_id = tenant for update;
  if account.monthly > 0 and account.monthly_until <= at then
    perform billing.expire_monthly_credits(tenant, account.monthly, at);
    select * into account from billing.credit_accounts a where a.tenant_id = tenant;
  end if;
  return account;
end $function$;
-- called by mailwright_app, mailwright_system
comment on function billing.lock_credits(bigint,timestamp with time zone) is 'Locks a tenant''s account until the transaction ends, and ends the monthly credits if their month is over.';

CREATE OR REPLACE FUNCTION billing.plan_version_of(tier text, version_id bigint)
 RETURNS bigint
 LANGUAGE sql
 STABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog'
AS $function$
  select coalesce(
    (select v.id from billing.plan_versions v where v.id = version_id and v.tier = plan_version_of.tier),
    (select v.id from billing.plan_versions v where v.tier = plan_version_of.tier and v.retired_at is null))
$function$;
-- called by mailwright_app, mailwright_system
comment on function billing.plan_version_of(text,bigint) is 'The plan version whose limits hold for a subscription: its own, else the one that is on offer.';

CREATE OR REPLACE FUNCTION billing.receive_stripe_event(event_id text, event_type text, object_id text, occurred_at timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog'
AS $function$
begin
  insert into billing.stripe_events (id, type, object_id, occurred_at)
  values (event_id, event_type, object_id, occurred_at) on conflict do nothing;
  return found;
end $function$;
-- called by mailwright_app, mailwright_system
comment on function billing.receive_stripe_event(text,text,text,timestamp with time zone) is 'Keeps an event of Stripe''s; true when it was not there yet. By definer''s rights, since Stripe''s request belongs to no tenant.';

CREATE OR REPLACE FUNCTION billing.refuse_ledger_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'The credit ledger is only ever added to.' using errcode = 'insufficient_privilege';
end $function$;
-- called by mailwright_app, mailwright_system

CREATE OR REPLACE FUNCTION billing.reserve_credits(reservation uuid, tenant bigint, credits bigint, reference uuid, about text, most_requests bigint, month_start timestamp with time zone, at timestamp with time zone, expires timestamp with time zone, OUT outcome text, OUT newly_depleted boolean)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
AS $function$
declare
  account billing.credit_accounts := billing.lock_credits(tenant, at);
  taken_monthly bigint;
begin
  newly_depleted := false;
  if account.balance < credits then
    outcome := 'credits';
    newly_depleted := account.depleted_at is null;
    update billing.credit_accounts a set short_of = credits, depleted_at = coalesce(a.depleted_at, at) where a.tenant_id = tenant;
  elsif most_requests <= (select count(*) from billing.credit_transactions t
      where t.tenant_id = tenant and t.type = 'CONSUMPTION' and t.created_at >= month_start) then
    outcome := 'requests';
  else
    outcome := 'reserved';
    insert into billing.credit_transactions (id, tenant_id, type, amount, reference_id, description, created_at)
    values (platform.new_id(), tenant, 'CONSUMPTION', -credits, reference, about, at)
    returning -monthly into taken_monthly;
    insert into billing.credit_reservations (id, tenant_id, credits, monthly, monthly_until, reference_id, expires_at)
    values (reservation, tenant, credits, taken_monthly, account.monthly_until, reference, expires);
  end if;
end $function$;
-- called by mailwright_app, mailwright_system
comment on function billing.reserve_credits(uuid,bigint,bigint,uuid,text,bigint,timestamp with time zone,timestamp with time zone,timestamp with time zone) is 'Sets all of `credits` aside, or none. `most_requests` (null = unlimited) bounds how often credits are consumed since `month_start`. `newly_depleted` is true for the first refusal for want of credits.';

CREATE OR REPLACE FUNCTION billing.reserve_emails(tenant bigint, period timestamp with time zone, emails bigint, quota bigint, OUT granted boolean, OUT committed bigint)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
AS $function$
begin
  -- waits for those that reserve side by side, whose rows it sees then
  perform pg_advisory_xact_lock(hashtextextended('emails of tenant ' || tenant, 0));
  insert into billing.email_usage (tenant_id, period_start) values (tenant, period) on conflict do nothing;
  perform from billing.email_usage u where u.tenant_id = tenant and u.period_start = period for update;
  perform billing.fold_settlements(tenant, period, 0, 0);
  update billing.email_usage u set reserved = u.reserved + emails
  where u.tenant_id = tenant and u.period_start = period and (quota is null or u.reserved + u.used + emails <= quota);
  granted := found;
  select u.reserved + u.used into committed from billing.email_usage u where u.tenant_id = tenant and u.period_start = period;
end $function$;
-- called by mailwright_app, mailwright_system
comment on function billing.reserve_emails(bigint,timestamp with time zone,bigint,bigint) is 'Reserves all of `emails` if `quota` (null = unlimited) has room for them, or none. The row stays locked until the transaction ends: that is what keeps parallel reservations within the limit.';

CREATE OR REPLACE FUNCTION billing.seed_plans(catalogue jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
AS $function$
declare
  plan jsonb;
  variant jsonb;
  version_id bigint;
  variant_id bigint;
  next_version int;
begin
  for plan in select * from jsonb_array_elements(catalogue -> 'plans') loop
    continue when exists (select 1 from billing.plan_versions v
      where v.tier = plan ->> 'tier' and v.retired_at is null and v.content = plan);
    update billing.plan_versions v set retired_at = now() where v.tier = plan ->> 'tier' and v.retired_at is null;
    next_version := coalesce((select max(v.version) from billing.plan_versions v where v.tier = plan ->> 'tier'), 0) + 1;
    insert into billing.plan_versions (tier, version, name, description, limits, content)
    values (plan ->> 'tier', next_version, plan ->> 'name', plan ->> 'description', plan -> 'limits', plan)
    returning id into version_id;
    for variant in select * from jsonb_array_elements(plan -> 'variants') loop
      insert into billing.plan_variants (plan_version_id, ai_credits)
      values (version_id, (variant ->> 'aiCredits')::int) returning id into variant_id;
      insert into billing.plan_prices (plan_variant_id, currency, monthly_cents, yearly_cents)
      select variant_id, p.key, (p.value ->> 'monthly')::bigint, (p.value ->> 'yearly')::bigint
      from jsonb_each(variant -> 'prices') p;
    end loop;
    -- Subscriptions that are older than the plan were made with what is now its first version.
    if next_version = 1 then
      update billing.subscriptions s set plan_version_id = version_id
      where s.plan_tier = plan ->> 'tier' and s.plan_version_id is null;
    end if;
  end loop;
end $function$;
comment on function billing.seed_plans(jsonb) is 'Makes the catalogue''s file what is on offer: a plan that changed becomes a new version, one that did not stays.';

CREATE OR REPLACE FUNCTION billing.settle_credits(reservation uuid, tenant bigint, cost bigint, about text, at timestamp with time zone, OUT settled boolean, OUT newly_depleted boolean)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
AS $function$
declare
  account billing.credit_accounts := billing.lock_credits(tenant, at);
  held billing.credit_reservations;
  unused bigint;
  unused_monthly bigint;
begin
  delete from billing.credit_reservations r where r.id = reservation and r.tenant_id = tenant returning * into held;
  settled := found;
  newly_depleted := false;
  if not settled then
    return;
  end if;
  unused := held.credits - least(cost, held.credits);
  unused_monthly := greatest(0, held.monthly - least(cost, held.credits));
  if unused > 0 then
    insert into billing.credit_transactions (id, tenant_id, type, amount, monthly, reference_id, description, created_at)
    values (platform.new_id(), tenant, 'REFUND', unused, unused_monthly, held.reference_id, about, at);
  end if;
  if held.monthly_until is distinct from account.monthly_until or held.monthly_until <= at then
    perform billing.expire_monthly_credits(tenant, unused_monthly, at);
  end if;
  update billing.credit_accounts a set depleted_at = at where a.tenant_id = tenant and a.balance = 0 and a.depleted_at is null;
  newly_depleted := found;
end $function$;
-- called by mailwright_app, mailwright_system
comment on function billing.settle_credits(uuid,bigint,bigint,text,timestamp with time zone) is 'Ends a reservation: what it cost (at most what was set aside) stays consumed, the rest comes back, and if it was of a month that is over, lapses at once. `settled` is false when the reservation has ended before.';

CREATE OR REPLACE FUNCTION billing.settle_emails(tenant bigint, period timestamp with time zone, used bigint, released bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
AS $function$
begin
  perform from billing.email_usage u where u.tenant_id = tenant and u.period_start = period for update skip locked;
  if not found then
    insert into billing.email_settlements (tenant_id, period_start, used, released) values (tenant, period, used, released);
  -- Nearly always there is nothing to fold: nobody else settles at the same moment.
  elsif exists (select 1 from billing.email_settlements s where s.tenant_id = tenant and s.period_start = period) then
    perform billing.fold_settlements(tenant, period, used, released);
  else
    update billing.email_usage u
    set reserved = greatest(0, u.reserved - settle_emails.used - settle_emails.released), used = u.used + settle_emails.used
    where u.tenant_id = tenant and u.period_start = period and settle_emails.used + settle_emails.released > 0;
  end if;
end $function$;
-- called by mailwright_app, mailwright_system
comment on function billing.settle_emails(bigint,timestamp with time zone,bigint,bigint) is 'Settles reserved e-mails; waits for nobody.';

create schema messaging;
grant usage on schema messaging to mailwright_app;
grant usage on schema messaging to mailwright_system;
comment on schema messaging is 'Campaigns and automations: what is sent, to whom, and what became of it.';

create table messaging.automation_counters (
  automation_number bigint not null,
  writer smallint not null,
  environment_id bigint not null,
  entered bigint not null default 0,
  completed bigint not null default 0,
  ended bigint not null default 0,
  converted bigint not null default 0,
  failed bigint not null default 0,
  constraint automation_counters_pkey PRIMARY KEY (automation_number, writer, environment_id)
) with (fillfactor=50);
alter table messaging.automation_counters enable row level security;
alter table messaging.automation_counters force row level security;
create policy app_rows on messaging.automation_counters for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.automation_counters for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.automation_counters for all to mailwright_system using (true) with check (true);
grant insert, select, update on messaging.automation_counters to mailwright_app;
grant delete, insert, select, update on messaging.automation_counters to mailwright_system;
comment on table messaging.automation_counters is 'How many runs began and ended, counted by the statements that let them.';
comment on column messaging.automation_counters.writer is 'A number of the connection''s, so that connections do not wait for each other''s commits; whoever reads adds the rows up.';
comment on column messaging.automation_counters.completed is 'Through to the end, or to a goal.';
comment on column messaging.automation_counters.ended is 'In any other way.';
comment on column messaging.automation_counters.converted is 'The part of completed that reached a goal.';
comment on column messaging.automation_counters.failed is 'The part of ended whose step failed.';

create table messaging.automation_hours (
  version_id bigint not null,
  place smallint not null,
  hour timestamp with time zone not null,
  writer smallint not null,
  environment_id bigint not null,
  entered bigint not null default 0,
  departed bigint not null default 0,
  sent bigint not null default 0,
  delivered bigint not null default 0,
  hard_bounced bigint not null default 0,
  soft_bounced bigint not null default 0,
  opened bigint not null default 0,
  unique_opens bigint not null default 0,
  clicked bigint not null default 0,
  unique_clicks bigint not null default 0,
  unsubscribed bigint not null default 0,
  complained bigint not null default 0,
  constraint automation_hours_pkey PRIMARY KEY (version_id, hour, place, writer, environment_id)
) with (fillfactor=50);
CREATE INDEX automation_hours_of_environment ON messaging.automation_hours USING btree (environment_id, hour);
alter table messaging.automation_hours enable row level security;
alter table messaging.automation_hours force row level security;
create policy app_rows on messaging.automation_hours for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.automation_hours for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.automation_hours for all to mailwright_system using (true) with check (true);
grant insert, select, update on messaging.automation_hours to mailwright_app;
grant delete, insert, select, update on messaging.automation_hours to mailwright_system;
comment on table messaging.automation_hours is 'What came of the nodes of automations and of their mails, of all time and by the hour (UTC), counted in the transaction that writes what is counted; by writer as in campaign_counters.';
comment on column messaging.automation_hours.place is 'Of the node in the version''s list, which begins with 0.';
comment on column messaging.automation_hours.hour is 'Its beginning; -infinity: of all time, which a report reads, whatever number of hours there is.';
comment on column messaging.automation_hours.entered is 'Runs that came to the node. Counted of all time only, as departed is.';
comment on column messaging.automation_hours.departed is 'Runs that went on from it, or ended at it: the rest of those that entered are at it.';
comment on column messaging.automation_hours.delivered is 'By the hour of sending: a mail that bounces later is taken from it. Bounces have the hour of their report.';
comment on column messaging.automation_hours.unique_opens is 'By the hour in which a mail''s first was recorded; unique_clicks too.';

create table messaging.automation_link_counters (
  version_id bigint not null,
  place smallint not null,
  url_hash uuid not null,
  writer smallint not null,
  environment_id bigint not null,
  link_number integer not null,
  clicked bigint not null default 0,
  unique_clicks bigint not null default 0,
  url text not null,
  constraint automation_link_counters_pkey PRIMARY KEY (version_id, place, url_hash, writer, environment_id)
) with (fillfactor=50);
alter table messaging.automation_link_counters enable row level security;
alter table messaging.automation_link_counters force row level security;
create policy app_rows on messaging.automation_link_counters for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.automation_link_counters for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.automation_link_counters for all to mailwright_system using (true) with check (true);
grant insert, select, update on messaging.automation_link_counters to mailwright_app;
grant delete, insert, select, update on messaging.automation_link_counters to mailwright_system;
comment on table messaging.automation_link_counters is 'Clicks of people by address and node, whose mails have another link set each day. All of a node''s links add up to its own clicks.';
comment on column messaging.automation_link_counters.url_hash is 'MD5 of the address, which may be too long for a key.';
comment on column messaging.automation_link_counters.link_number is 'The place of the link in one of the mails.';

create table messaging.automation_run_data (
  run_id uuid not null,
  environment_id bigint not null,
  data jsonb not null,
  constraint automation_run_data_pkey PRIMARY KEY (run_id, environment_id)
);
alter table messaging.automation_run_data enable row level security;
alter table messaging.automation_run_data force row level security;
create policy app_rows on messaging.automation_run_data for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.automation_run_data for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.automation_run_data for all to mailwright_system using (true) with check (true);
grant delete, insert, select on messaging.automation_run_data to mailwright_app;
grant delete, insert, select, update on messaging.automation_run_data to mailwright_system;
comment on table messaging.automation_run_data is 'What a run began with: an event''s properties, or what the client said.';

create table messaging.automation_runs (
  environment_id bigint not null,
  automation_number bigint not null,
  version_id bigint not null,
  wake_at timestamp with time zone,
  entered_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  id uuid not null,
  subscriber_id uuid,
  "position" smallint not null,
  attempts smallint not null default 0,
  is_waiting boolean not null default false,
  is_calling boolean not null default false,
  status text not null default 'ACTIVE'::text,
  has_happened boolean not null default false,
  constraint automation_runs_pkey PRIMARY KEY (id, environment_id),
  constraint automation_runs_check CHECK (((wake_at IS NULL) = (status <> 'ACTIVE'::text))),
  constraint automation_runs_status_check CHECK ((status = ANY (ARRAY['ACTIVE'::text, 'COMPLETED'::text, 'CONVERTED'::text, 'FAILED'::text, 'CANCELLED'::text])))
) with (fillfactor=90);
CREATE INDEX automation_runs_due ON messaging.automation_runs USING btree (version_id, is_calling, wake_at) WHERE (wake_at IS NOT NULL);
CREATE INDEX automation_runs_newest ON messaging.automation_runs USING btree (automation_number, id);
CREATE INDEX automation_runs_of_subscriber ON messaging.automation_runs USING btree (subscriber_id, automation_number) WHERE (subscriber_id IS NOT NULL);
CREATE TRIGGER count_inserted AFTER INSERT ON messaging.automation_runs REFERENCING NEW TABLE AS rows_after FOR EACH STATEMENT EXECUTE FUNCTION messaging.count_runs();
CREATE TRIGGER count_updated AFTER UPDATE ON messaging.automation_runs REFERENCING OLD TABLE AS rows_before NEW TABLE AS rows_after FOR EACH STATEMENT EXECUTE FUNCTION messaging.count_runs();
alter table messaging.automation_runs enable row level security;
alter table messaging.automation_runs force row level security;
create policy app_rows on messaging.automation_runs for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.automation_runs for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.automation_runs for all to mailwright_system using (true) with check (true);
grant insert, select, update on messaging.automation_runs to mailwright_app;
grant delete, insert, select, update on messaging.automation_runs to mailwright_system;
comment on table messaging.automation_runs is 'One person''s way through an automation. While it waits it is no more than this row.';
comment on column messaging.automation_runs.wake_at is 'When there is something to do again; null when it has ended.';
comment on column messaging.automation_runs.id is 'Its last octet is 0: messaging.step_id.';
comment on column messaging.automation_runs.subscriber_id is 'Null when the person was erased.';
comment on column messaging.automation_runs.position is 'The node that comes next, by its place in the version''s list.';
comment on column messaging.automation_runs.is_waiting is 'It has begun the delay at its node, and goes on at `wake_at`.';
comment on column messaging.automation_runs.is_calling is 'It is at a node that calls somebody else''s server, for which no other run has to wait.';
comment on column messaging.automation_runs.has_happened is 'What it waits for at its node has happened.';

create table messaging.automation_secrets (
  environment_id bigint not null,
  project_id bigint not null,
  secret text not null,
  constraint automation_secrets_pkey PRIMARY KEY (environment_id)
);
alter table messaging.automation_secrets enable row level security;
alter table messaging.automation_secrets force row level security;
create policy app_rows on messaging.automation_secrets for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.automation_secrets for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.automation_secrets for all to mailwright_system using (true) with check (true);
grant insert, select, update on messaging.automation_secrets to mailwright_app;
grant delete, insert, select, update on messaging.automation_secrets to mailwright_system;
comment on table messaging.automation_secrets is 'What the webhooks of an environment''s automations are signed with, once anybody asked for it.';
comment on column messaging.automation_secrets.project_id is 'The project that the secret is encrypted for.';

create table messaging.automation_steps (
  environment_id bigint not null,
  at timestamp with time zone not null,
  entered_on date not null,
  "position" smallint not null,
  run_id uuid not null,
  status text not null,
  detail text,
  constraint automation_steps_pkey PRIMARY KEY (run_id, "position", entered_on, environment_id),
  constraint automation_steps_status_check CHECK ((status = ANY (ARRAY['DONE'::text, 'SKIPPED'::text, 'FAILED'::text])))
) partition by range (entered_on);
alter table messaging.automation_steps enable row level security;
alter table messaging.automation_steps force row level security;
create policy app_rows on messaging.automation_steps for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.automation_steps for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.automation_steps for all to mailwright_system using (true) with check (true);
grant insert, select on messaging.automation_steps to mailwright_app;
grant delete, insert, select, update on messaging.automation_steps to mailwright_system;
grant update (detail) on messaging.automation_steps to mailwright_app;
comment on table messaging.automation_steps is 'Each step that a run took, once. Partitioned by the month in which the run began, which is the same for all its steps, so that the key holds across partitions.';

create table messaging.automation_versions (
  id bigint not null generated always as identity,
  environment_id bigint not null,
  automation_id uuid not null,
  version integer not null,
  trigger_type text not null,
  trigger_topic_id uuid,
  nodes text not null,
  edges text not null,
  mail_topic_ids uuid[] not null,
  topic_ids uuid[] not null,
  segment_ids uuid[] not null,
  created_at timestamp with time zone not null,
  wait_ids uuid[] not null default '{}'::uuid[],
  mail_template_ids uuid[] not null default '{}'::uuid[],
  constraint automation_versions_pkey PRIMARY KEY (id, environment_id),
  constraint automation_versions_automation_id_environment_id_fkey FOREIGN KEY (automation_id, environment_id) REFERENCES messaging.automations(id, environment_id) ON DELETE CASCADE,
  constraint automation_versions_automation_id_version_environment_id_key UNIQUE (automation_id, version, environment_id)
);
CREATE TRIGGER note_media_of_new AFTER INSERT ON messaging.automation_versions FOR EACH ROW EXECUTE FUNCTION messaging.note_media('automation-version', 'automation_id', 'nodes');
alter table messaging.automation_versions enable row level security;
alter table messaging.automation_versions force row level security;
create policy app_rows on messaging.automation_versions for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.automation_versions for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.automation_versions for all to mailwright_system using (true) with check (true);
grant delete, insert, select on messaging.automation_versions to mailwright_app;
grant delete, insert, select, update on messaging.automation_versions to mailwright_system;
comment on table messaging.automation_versions is 'Automations as they were activated. Never changed, so that people go on in the one that they entered.';
comment on column messaging.automation_versions.mail_topic_ids is 'By the place of the node, which begins with 1: the topic that its mail is for; null where it sends none.';
comment on column messaging.automation_versions.topic_ids is 'The other topics that it needs; segment_ids are its segments.';
comment on column messaging.automation_versions.wait_ids is 'By the place of the node, which begins with 1: the id of what it waits for; null where it waits for nothing, or only for a time.';
comment on column messaging.automation_versions.mail_template_ids is 'Templates of the mails by the place of the node; null for another step.';

create table messaging.automations (
  id uuid not null,
  number bigint not null generated always as identity,
  environment_id bigint not null,
  automation_key text not null,
  name text not null,
  description text,
  status text not null,
  trigger_type text,
  trigger_topic_id uuid,
  nodes text,
  edges text,
  node_count integer,
  version_id bigint,
  is_revised boolean not null default true,
  is_closing boolean not null default false,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  deleted_at timestamp with time zone,
  metadata jsonb not null default '{}'::jsonb,
  constraint automations_pkey PRIMARY KEY (id, environment_id),
  constraint automations_status_check CHECK ((status = ANY (ARRAY['DRAFT'::text, 'ACTIVE'::text, 'PAUSED'::text, 'ARCHIVED'::text]))),
  constraint automations_trigger_type_check CHECK ((trigger_type = ANY (ARRAY['subscriber_joins_list'::text, 'segment_entered'::text, 'segment_left'::text, 'custom_event'::text, 'manual'::text]))),
  constraint automations_environment_id_automation_key_key UNIQUE (environment_id, automation_key),
  constraint automations_number_environment_id_key UNIQUE (number, environment_id)
);
CREATE INDEX automations_active ON messaging.automations USING btree (id) WHERE (status = 'ACTIVE'::text);
CREATE INDEX automations_closing ON messaging.automations USING btree (id) WHERE is_closing;
CREATE INDEX automations_newest ON messaging.automations USING btree (environment_id, created_at DESC, id DESC) WHERE (deleted_at IS NULL);
CREATE TRIGGER note_media_of_changed AFTER UPDATE OF nodes, deleted_at ON messaging.automations FOR EACH ROW EXECUTE FUNCTION messaging.note_media('automation', 'id', 'nodes');
CREATE TRIGGER note_media_of_new AFTER INSERT OR DELETE ON messaging.automations FOR EACH ROW EXECUTE FUNCTION messaging.note_media('automation', 'id', 'nodes');
alter table messaging.automations enable row level security;
alter table messaging.automations force row level security;
create policy app_rows on messaging.automations for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.automations for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.automations for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on messaging.automations to mailwright_app;
grant delete, insert, select, update on messaging.automations to mailwright_system;
comment on table messaging.automations is 'What happens to people after something happened to them, as its author edits it.';
comment on column messaging.automations.number is 'What its runs refer to: half as long as the id.';
comment on column messaging.automations.nodes is 'The JSON as it was given.';
comment on column messaging.automations.version_id is 'The version that people enter; null before the first activation.';
comment on column messaging.automations.is_revised is 'The author has changed it since that version.';
comment on column messaging.automations.is_closing is 'Archived, and its active runs are still to be ended.';
comment on column messaging.automations.deleted_at is 'Deleted after people went through it: the API does not show it, but the links of its mails go on working.';
comment on column messaging.automations.metadata is 'Strings of the client by key, at most 20.';

create table messaging.breakdowns_due (
  campaign_id uuid not null,
  environment_id bigint not null,
  due_at timestamp with time zone not null,
  earliest_at timestamp with time zone not null,
  constraint breakdowns_due_pkey PRIMARY KEY (campaign_id, environment_id),
  constraint breakdowns_due_campaign_id_environment_id_fkey FOREIGN KEY (campaign_id, environment_id) REFERENCES messaging.campaigns(id, environment_id) ON DELETE CASCADE
);
CREATE INDEX breakdowns_due_next ON messaging.breakdowns_due USING btree (due_at);
alter table messaging.breakdowns_due enable row level security;
alter table messaging.breakdowns_due force row level security;
create policy app_rows on messaging.breakdowns_due for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.breakdowns_due for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.breakdowns_due for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on messaging.breakdowns_due to mailwright_app;
grant delete, insert, select, update on messaging.breakdowns_due to mailwright_system;
comment on table messaging.breakdowns_due is 'When the breakdowns of a campaign are to be counted next, of campaigns so large that no request waits for it.';
comment on column messaging.breakdowns_due.due_at is 'Whoever looks at the report brings it forward, but not before earliest_at.';

create table messaging.campaign_breakdowns (
  campaign_id uuid not null,
  environment_id bigint not null,
  version text not null,
  links jsonb not null,
  providers jsonb not null,
  languages jsonb not null,
  counted_at timestamp with time zone not null,
  milliseconds integer not null,
  variants jsonb not null default '[]'::jsonb,
  constraint campaign_breakdowns_pkey PRIMARY KEY (campaign_id, environment_id),
  constraint campaign_breakdowns_campaign_id_environment_id_fkey FOREIGN KEY (campaign_id, environment_id) REFERENCES messaging.campaigns(id, environment_id) ON DELETE CASCADE
);
alter table messaging.campaign_breakdowns enable row level security;
alter table messaging.campaign_breakdowns force row level security;
create policy app_rows on messaging.campaign_breakdowns for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.campaign_breakdowns for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.campaign_breakdowns for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on messaging.campaign_breakdowns to mailwright_app;
grant delete, insert, select, update on messaging.campaign_breakdowns to mailwright_system;
comment on table messaging.campaign_breakdowns is 'A campaign''s figures by link, by mailbox provider and by language, as they were last counted from the events and deliveries: reading those of a campaign of a million takes a second or two.';
comment on column messaging.campaign_breakdowns.version is 'The state of the campaign''s counters that they belong to: what changes these figures changes a counter in the same transaction.';
comment on column messaging.campaign_breakdowns.milliseconds is 'How long counting took.';

create table messaging.campaign_counters (
  campaign_id uuid not null,
  writer smallint not null,
  environment_id bigint not null,
  sent bigint not null default 0,
  hard_bounced bigint not null default 0,
  soft_bounced bigint not null default 0,
  opened bigint not null default 0,
  unique_opens bigint not null default 0,
  clicked bigint not null default 0,
  unique_clicks bigint not null default 0,
  unsubscribed bigint not null default 0,
  complained bigint not null default 0,
  first_sent_at timestamp with time zone,
  last_sent_at timestamp with time zone,
  last_event_at timestamp with time zone,
  constraint campaign_counters_pkey PRIMARY KEY (campaign_id, writer, environment_id)
) with (fillfactor=50);
alter table messaging.campaign_counters enable row level security;
alter table messaging.campaign_counters force row level security;
create policy app_rows on messaging.campaign_counters for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.campaign_counters for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.campaign_counters for all to mailwright_system using (true) with check (true);
grant insert, select, update on messaging.campaign_counters to mailwright_app;
grant delete, insert, select, update on messaging.campaign_counters to mailwright_system;
comment on table messaging.campaign_counters is 'Statistics of campaigns, counted in the transaction that writes what is counted.';
comment on column messaging.campaign_counters.writer is 'A number that each process picks, so that processes do not wait for each other''s commits; whoever reads adds the rows up.';

create table messaging.campaign_minutes (
  campaign_id uuid not null,
  minute timestamp with time zone not null,
  writer smallint not null,
  environment_id bigint not null,
  sent bigint not null default 0,
  delivered bigint not null default 0,
  opened bigint not null default 0,
  clicked bigint not null default 0,
  bounced bigint not null default 0,
  hard_bounced bigint not null default 0,
  hard_refused bigint not null default 0,
  complained bigint not null default 0,
  sender_refused bigint not null default 0,
  sender_bounced bigint not null default 0,
  constraint campaign_minutes_pkey PRIMARY KEY (campaign_id, minute, writer, environment_id)
) with (fillfactor=70);
CREATE INDEX campaign_minutes_sender_refused ON messaging.campaign_minutes USING btree (minute, environment_id) WHERE ((sender_refused + sender_bounced) > 0);
alter table messaging.campaign_minutes enable row level security;
alter table messaging.campaign_minutes force row level security;
create policy app_rows on messaging.campaign_minutes for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.campaign_minutes for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.campaign_minutes for all to mailwright_system using (true) with check (true);
grant insert, select, update on messaging.campaign_minutes to mailwright_app;
grant delete, insert, select, update on messaging.campaign_minutes to mailwright_system;
comment on table messaging.campaign_minutes is 'The same by the minute, for timelines, and what a project''s sending is judged by.';
comment on column messaging.campaign_minutes.delivered is 'By the minute of sending: a mail that bounces later is taken from it. Bounces and complaints have the minute of their report.';
comment on column messaging.campaign_minutes.hard_refused is 'Addresses that the next hop itself refused: those mails were never sent.';
comment on column messaging.campaign_minutes.sender_refused is 'Mails that the next hop refused since their sender is not accepted or cannot be authenticated; sender_bounced are those that came back for it. Both by the minute of sending: a domain is judged by them.';

create table messaging.campaign_reports (
  id uuid not null,
  environment_id bigint not null,
  campaign_id uuid not null,
  version integer not null,
  status text not null,
  content text,
  locale text not null,
  ai_model_id text,
  failure_reason text,
  attempt integer not null default 0,
  reservation_id uuid,
  generated_at timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint campaign_reports_pkey PRIMARY KEY (id, environment_id),
  constraint campaign_reports_status_check CHECK ((status = ANY (ARRAY['PENDING'::text, 'GENERATING'::text, 'GENERATED'::text, 'FAILED'::text]))),
  constraint campaign_reports_version_check CHECK ((version > 0)),
  constraint campaign_reports_campaign_id_environment_id_fkey FOREIGN KEY (campaign_id, environment_id) REFERENCES messaging.campaigns(id, environment_id) ON DELETE CASCADE,
  constraint campaign_reports_campaign_id_version_environment_id_key UNIQUE (campaign_id, version, environment_id)
);
alter table messaging.campaign_reports enable row level security;
alter table messaging.campaign_reports force row level security;
create policy app_rows on messaging.campaign_reports for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.campaign_reports for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.campaign_reports for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on messaging.campaign_reports to mailwright_app;
grant delete, insert, select, update on messaging.campaign_reports to mailwright_system;
comment on table messaging.campaign_reports is 'Reports on campaigns in words, one row a version.';
comment on column messaging.campaign_reports.attempt is 'The attempt that is writing it: what an earlier one brings is too late.';
comment on column messaging.campaign_reports.reservation_id is 'The credits that this attempt has set aside.';

create table messaging.campaign_tests (
  id uuid not null,
  environment_id bigint not null,
  campaign_id uuid not null,
  emails integer not null,
  created_at timestamp with time zone not null,
  constraint campaign_tests_pkey PRIMARY KEY (id, environment_id),
  constraint campaign_tests_emails_check CHECK ((emails > 0)),
  constraint campaign_tests_campaign_id_environment_id_fkey FOREIGN KEY (campaign_id, environment_id) REFERENCES messaging.campaigns(id, environment_id) ON DELETE CASCADE
);
CREATE INDEX campaign_tests_newest ON messaging.campaign_tests USING btree (environment_id, created_at);
CREATE INDEX campaign_tests_of_campaign ON messaging.campaign_tests USING btree (campaign_id);
alter table messaging.campaign_tests enable row level security;
alter table messaging.campaign_tests force row level security;
create policy app_rows on messaging.campaign_tests for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.campaign_tests for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.campaign_tests for all to mailwright_system using (true) with check (true);
grant delete, insert, select on messaging.campaign_tests to mailwright_app;
grant delete, insert, select, update on messaging.campaign_tests to mailwright_system;
comment on table messaging.campaign_tests is 'Requests for test mails. A delivery of the kind TEST has the id of one as source.';

create table messaging.campaigns (
  id uuid not null,
  environment_id bigint not null,
  campaign_key text not null,
  name text not null,
  subject text,
  preview_text text,
  from_name text,
  from_email text,
  reply_to text,
  content_json text,
  content_text text,
  translations jsonb not null default '{}'::jsonb,
  topic_ids uuid[] not null default '{}'::uuid[],
  segment_ids uuid[] not null default '{}'::uuid[],
  send_strategy text,
  ambiguous_policy text not null default 'RESEND'::text,
  status text not null,
  failure_reason text,
  pre_send_score integer,
  pre_send_status text,
  estimated_recipient_count bigint,
  estimated_at timestamp with time zone,
  scheduled_at timestamp with time zone,
  scheduled_at_local text,
  queued_at timestamp with time zone,
  audience_at timestamp with time zone,
  expansion_cursor uuid,
  expanded_at timestamp with time zone,
  expanded_emails bigint not null default 0,
  usage_period timestamp with time zone,
  reserved_emails bigint not null default 0,
  closing_since timestamp with time zone,
  front_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
  front_id uuid not null default '00000000-0000-0000-0000-000000000000'::uuid,
  retry_from timestamp with time zone,
  retry_emails bigint not null default 0,
  completed_at timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  deleted_at timestamp with time zone,
  metadata jsonb not null default '{}'::jsonb,
  resend_of text,
  template_key text collate "C",
  template_version integer,
  template_content_id uuid,
  variants jsonb not null default '[]'::jsonb,
  test jsonb,
  test_phase text,
  winning_variant smallint,
  test_undecided_at timestamp with time zone,
  test_result jsonb,
  is_version_kept boolean not null default false,
  constraint campaigns_pkey PRIMARY KEY (id, environment_id),
  constraint campaigns_ambiguous_policy_check CHECK ((ambiguous_policy = ANY (ARRAY['RESEND'::text, 'HOLD'::text]))),
  constraint campaigns_decided CHECK ((((test_phase = 'DECIDED'::text) IS TRUE) = (winning_variant IS NOT NULL))),
  constraint campaigns_pre_send_score_check CHECK (((pre_send_score >= 0) AND (pre_send_score <= 100))),
  constraint campaigns_pre_send_status_check CHECK ((pre_send_status = ANY (ARRAY['PENDING'::text, 'PASSED'::text, 'WARNING'::text, 'FAILED'::text]))),
  constraint campaigns_send_strategy_check CHECK ((send_strategy = ANY (ARRAY['DRAFT'::text, 'IMMEDIATE'::text, 'SCHEDULED'::text]))),
  constraint campaigns_status_check CHECK ((status = ANY (ARRAY['DRAFT'::text, 'SCHEDULED'::text, 'QUEUED_FOR_SENDING'::text, 'SENDING'::text, 'PAUSED'::text, 'SENT'::text, 'CANCELLED'::text, 'FAILED'::text, 'ARCHIVED'::text]))),
  constraint campaigns_test_phase_check CHECK ((test_phase = ANY (ARRAY['TESTING'::text, 'DECIDED'::text]))),
  constraint campaigns_environment_id_campaign_key_key UNIQUE (environment_id, campaign_key)
);
CREATE INDEX campaigns_newest ON messaging.campaigns USING btree (environment_id, created_at DESC, id DESC);
CREATE INDEX campaigns_of_template ON messaging.campaigns USING btree (environment_id, template_key) WHERE (template_key IS NOT NULL);
CREATE INDEX campaigns_queued ON messaging.campaigns USING btree (environment_id, queued_at DESC) WHERE (queued_at IS NOT NULL);
CREATE INDEX campaigns_scheduled ON messaging.campaigns USING btree (scheduled_at) WHERE (status = 'SCHEDULED'::text);
CREATE INDEX campaigns_sent ON messaging.campaigns USING btree (completed_at) WHERE (status = ANY (ARRAY['SENT'::text, 'ARCHIVED'::text]));
CREATE INDEX campaigns_under_way ON messaging.campaigns USING btree (status) WHERE (status = ANY (ARRAY['QUEUED_FOR_SENDING'::text, 'SENDING'::text]));
CREATE TRIGGER note_media_of_changed AFTER UPDATE OF content_json, translations, variants, deleted_at ON messaging.campaigns FOR EACH ROW EXECUTE FUNCTION messaging.note_media('campaign', 'id', 'content_json', 'translations', 'variants');
CREATE TRIGGER note_media_of_new AFTER INSERT OR DELETE ON messaging.campaigns FOR EACH ROW EXECUTE FUNCTION messaging.note_media('campaign', 'id', 'content_json', 'translations', 'variants');
alter table messaging.campaigns enable row level security;
alter table messaging.campaigns force row level security;
create policy app_rows on messaging.campaigns for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.campaigns for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.campaigns for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on messaging.campaigns to mailwright_app;
grant delete, insert, select, update on messaging.campaigns to mailwright_system;
comment on table messaging.campaigns is 'One mail to all subscribers of topics and segments.';
comment on column messaging.campaigns.subject is 'Null: none yet, with which nothing is sent.';
comment on column messaging.campaigns.translations is 'By locale: subject, preview_text, content_json, content_text. Readers with another language get the campaign''s own.';
comment on column messaging.campaigns.ambiguous_policy is 'What to do when a body was handed over and no reply came: send once more with the same Message-ID, or hold.';
comment on column messaging.campaigns.estimated_at is 'As of when estimated_recipient_count was counted.';
comment on column messaging.campaigns.scheduled_at_local is 'Each recipient gets it when it is that time where they are; scheduled_at is then the first of those moments.';
comment on column messaging.campaigns.queued_at is 'The moment of the first `send`: it names the partition of the deliveries, so that a campaign which is sent again after it failed reaches nobody twice.';
comment on column messaging.campaigns.audience_at is 'The moment of the last `send`: the audience is frozen at it.';
comment on column messaging.campaigns.expansion_cursor is 'The last subscriber of the audience who has a delivery; expanded_at says when all had one.';
comment on column messaging.campaigns.usage_period is 'The billing period whose e-mails are reserved for the campaign; null when they are not metered.';
comment on column messaging.campaigns.closing_since is 'Since when the worker has to end the deliveries that are still open; null when none is.';
comment on column messaging.campaigns.front_at is 'With front_id: none of its deliveries before this place, by next_attempt_at and id, is open. Whoever opens one, or moves one back, locks the campaign before and moves this back too.';
comment on column messaging.campaigns.retry_from is 'The moment of `retry-failed` while its deliveries are put back; retry_emails is what is reserved for those to come.';
comment on column messaging.campaigns.deleted_at is 'Deleted after mails went out: the API does not show it, but the links of its mails go on working.';
comment on column messaging.campaigns.metadata is 'Strings of the client by key, at most 20.';
comment on column messaging.campaigns.resend_of is 'Key of a sent campaign: the audience is those who got it and did not open it. That row is never deleted.';
comment on column messaging.campaigns.template_key is 'The template whose content it has in place of its own, also once that is deleted.';
comment on column messaging.campaigns.template_version is 'Null: the one in use.';
comment on column messaging.campaigns.template_content_id is 'What it keeps from the moment that it is scheduled or sent. A change of the template makes another.';
comment on column messaging.campaigns.variants is 'Contents of an A/B test, the first is number 1; what one leaves out is the campaign''s own.';
comment on column messaging.campaigns.test_undecided_at is 'When the test came to no result, and a choice was asked for.';
comment on column messaging.campaigns.test_result is 'The counts by which the winner was chosen, as they were then.';
comment on column messaging.campaigns.is_version_kept is 'It keeps a version of its template that nobody named: a draft again, it goes by the one in use.';

create table messaging.data_export_parts (
  export_id uuid not null,
  environment_id bigint not null,
  run uuid not null,
  part integer not null,
  content text not null,
  constraint data_export_parts_pkey PRIMARY KEY (export_id, run, part, environment_id),
  constraint data_export_parts_export_id_environment_id_fkey FOREIGN KEY (export_id, environment_id) REFERENCES messaging.data_exports(id, environment_id) ON DELETE CASCADE
);
alter table messaging.data_export_parts enable row level security;
alter table messaging.data_export_parts force row level security;
create policy app_rows on messaging.data_export_parts for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.data_export_parts for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.data_export_parts for all to mailwright_system using (true) with check (true);
grant delete, insert, select on messaging.data_export_parts to mailwright_app;
grant delete, insert, select, update on messaging.data_export_parts to mailwright_system;
comment on table messaging.data_export_parts is 'A file comes in parts, so that neither the worker nor the api ever holds a large one. Removed when the file expires.';

create table messaging.data_exports (
  id uuid not null,
  environment_id bigint not null,
  what text not null,
  format text not null,
  segment_id uuid,
  segment_key text,
  is_masked boolean not null,
  status text not null default 'QUEUED'::text,
  run uuid,
  parts integer not null default 0,
  rows bigint not null default 0,
  failure_reason text,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  expires_at timestamp with time zone,
  constraint data_exports_pkey PRIMARY KEY (id, environment_id),
  constraint data_exports_format_check CHECK ((format = ANY (ARRAY['CSV'::text, 'NDJSON'::text]))),
  constraint data_exports_status_check CHECK ((status = ANY (ARRAY['QUEUED'::text, 'IN_PROGRESS'::text, 'COMPLETED'::text, 'FAILED'::text]))),
  constraint data_exports_what_check CHECK ((what = ANY (ARRAY['SUBSCRIBERS'::text, 'CONSENTS'::text, 'SUPPRESSIONS'::text, 'EVENTS'::text, 'DELIVERIES'::text])))
);
CREATE INDEX data_exports_newest ON messaging.data_exports USING btree (environment_id, created_at);
CREATE INDEX data_exports_oldest ON messaging.data_exports USING btree (created_at);
alter table messaging.data_exports enable row level security;
alter table messaging.data_exports force row level security;
create policy app_rows on messaging.data_exports for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.data_exports for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.data_exports for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on messaging.data_exports to mailwright_app;
grant delete, insert, select, update on messaging.data_exports to mailwright_system;
comment on table messaging.data_exports is 'Files with a project''s data, which clients ask for and take for an hour.';
comment on column messaging.data_exports.is_masked is 'Addresses are masked: the key that asked may not read subscribers.';
comment on column messaging.data_exports.run is 'The run that writes it; null before the first. A killed worker''s file begins anew, under another run.';
comment on column messaging.data_exports.rows is 'Rows in its parts so far.';

create table messaging.deliveries (
  id uuid not null,
  source_id uuid not null,
  subscriber_id uuid,
  environment_id bigint not null,
  created_at timestamp with time zone not null,
  next_attempt_at timestamp with time zone not null,
  queued_on date not null,
  possible_duplicate boolean not null default false,
  kind text not null,
  address text not null,
  address_key text not null,
  locale text,
  message_id text not null,
  state text not null,
  attempt integer not null default 0,
  lease_until timestamp with time zone,
  lease_token uuid,
  lease_epoch bigint,
  sent_at timestamp with time zone,
  finished_at timestamp with time zone,
  single_ended_at timestamp with time zone generated always as (
CASE
    WHEN (kind <> 'CAMPAIGN'::text) THEN finished_at
    ELSE NULL::timestamp with time zone
END) stored,
  due_since timestamp with time zone,
  reason text,
  last_error text,
  relay_key text,
  provider_message_id text,
  bounced_at timestamp with time zone,
  bounce_type text,
  bounce_class text,
  variant smallint,
  traceparent text default platform.traceparent(),
  constraint deliveries_pkey PRIMARY KEY (id, queued_on, environment_id),
  constraint deliveries_bounce_class_check CHECK ((bounce_class = ANY (ARRAY['hard'::text, 'mailbox'::text, 'policy'::text, 'sender'::text, 'content'::text, 'network'::text, 'unknown'::text]))),
  constraint deliveries_bounce_type_check CHECK ((bounce_type = ANY (ARRAY['HARD'::text, 'SOFT'::text]))),
  constraint deliveries_kind_check CHECK ((kind = ANY (ARRAY['OPT_IN'::text, 'CAMPAIGN'::text, 'AUTOMATION'::text, 'TEST'::text, 'MESSAGE'::text]))),
  constraint deliveries_state_check CHECK ((state = ANY (ARRAY['PENDING'::text, 'CLAIMED'::text, 'SENDING'::text, 'SENT'::text, 'DEFERRED'::text, 'FAILED'::text, 'AMBIGUOUS'::text, 'SKIPPED'::text, 'CANCELLED'::text]))),
  constraint deliveries_source_id_subscriber_id_queued_on_environment_id_key UNIQUE (source_id, subscriber_id, queued_on, environment_id)
) partition by range (queued_on);
CREATE INDEX deliveries_exceptional ON ONLY messaging.deliveries USING btree (source_id, subscriber_id, queued_on) WHERE (reason IS NOT NULL);
CREATE INDEX deliveries_in_order ON ONLY messaging.deliveries USING btree (source_id, next_attempt_at, id) WHERE (kind = 'CAMPAIGN'::text);
CREATE INDEX deliveries_of_address ON ONLY messaging.deliveries USING btree (source_id, address_key, id);
CREATE INDEX deliveries_of_provider ON ONLY messaging.deliveries USING btree (environment_id, provider_message_id) WHERE (provider_message_id IS NOT NULL);
CREATE INDEX deliveries_of_subscriber ON ONLY messaging.deliveries USING btree (environment_id, subscriber_id) WHERE (subscriber_id IS NOT NULL);
CREATE INDEX deliveries_of_tests ON ONLY messaging.deliveries USING btree (environment_id) WHERE (kind = 'TEST'::text);
CREATE INDEX deliveries_open_automation ON ONLY messaging.deliveries USING btree (next_attempt_at, id) WHERE ((single_ended_at IS NULL) AND (kind = 'AUTOMATION'::text));
CREATE INDEX deliveries_open_message ON ONLY messaging.deliveries USING btree (next_attempt_at, id) WHERE ((single_ended_at IS NULL) AND (kind = 'MESSAGE'::text));
CREATE INDEX deliveries_open_message_of_environment ON ONLY messaging.deliveries USING btree (environment_id, next_attempt_at, id) WHERE ((single_ended_at IS NULL) AND (kind = 'MESSAGE'::text));
CREATE INDEX deliveries_open_of_environment ON ONLY messaging.deliveries USING btree (environment_id, kind, next_attempt_at, id) WHERE ((single_ended_at IS NULL) AND (kind = ANY (ARRAY['OPT_IN'::text, 'TEST'::text, 'AUTOMATION'::text])));
CREATE INDEX deliveries_open_single ON ONLY messaging.deliveries USING btree (next_attempt_at, id) WHERE ((single_ended_at IS NULL) AND (kind = ANY (ARRAY['OPT_IN'::text, 'TEST'::text])));
CREATE INDEX deliveries_sent ON ONLY messaging.deliveries USING brin (sent_at);
CREATE INDEX deliveries_single_ended ON ONLY messaging.deliveries USING btree (environment_id, single_ended_at) WHERE ((kind <> 'CAMPAIGN'::text) AND (single_ended_at IS NOT NULL));
CREATE INDEX deliveries_single_refused ON ONLY messaging.deliveries USING btree (single_ended_at, environment_id) WHERE ((kind <> 'CAMPAIGN'::text) AND ((reason = 'sender'::text) OR (bounce_class = 'sender'::text)));
alter table messaging.deliveries enable row level security;
alter table messaging.deliveries force row level security;
create policy app_rows on messaging.deliveries for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.deliveries for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.deliveries for all to mailwright_system using (true) with check (true);
grant insert, select, update on messaging.deliveries to mailwright_app;
grant delete, insert, select, update on messaging.deliveries to mailwright_system;
comment on table messaging.deliveries is 'Mails of every kind, one row per recipient. Partitioned by the month in which the source was queued, which is the same for all its rows, so that the unique keys hold across partitions.';
comment on column messaging.deliveries.source_id is 'What the mail belongs to: the campaign, the confirmation, the automation''s step, the request for test mails.';
comment on column messaging.deliveries.possible_duplicate is 'A body may have reached the next hop more than once.';
comment on column messaging.deliveries.locale is 'The recipient''s when the delivery was made: the mail is in the translation that fits it best. Null: not known.';
comment on column messaging.deliveries.lease_epoch is 'messaging.server_epoch at the claim; null where every mark is waited for, and when nobody holds the row.';
comment on column messaging.deliveries.finished_at is 'Set with the last state.';
comment on column messaging.deliveries.single_ended_at is 'The same of a mail that is no campaign''s, for its indexes: one that hangs on finished_at would get an entry for each mail of a campaign.';
comment on column messaging.deliveries.due_since is 'Since when a mail is due that was made to wait: by then its 48 hours of attempts begin. Null: since it was made.';
comment on column messaging.deliveries.reason is 'Why it was skipped, or the class of the failure.';
comment on column messaging.deliveries.relay_key is 'The project''s relay that it was handed to last, or is being handed to; null: the installation''s. What may have arrived is never handed to another.';
comment on column messaging.deliveries.provider_message_id is 'What the relay called it in its reply, as its events name it.';
comment on column messaging.deliveries.bounce_class is 'Why a mail came back that had been accepted: a class of the table of bounces.';
comment on column messaging.deliveries.variant is 'Number of the campaign''s variant; null without variants, and for the rest, who get the winner: until then next_attempt_at is infinity.';
comment on column messaging.deliveries.traceparent is 'The span that queued the mail.';

create table messaging.delivery_engagement (
  delivery_id uuid not null,
  queued_on date not null,
  environment_id bigint not null,
  campaign_id uuid,
  opens integer not null default 0,
  clicks integer not null default 0,
  first_opened_at timestamp with time zone,
  first_clicked_at timestamp with time zone,
  unsubscribed_at timestamp with time zone,
  complained_at timestamp with time zone,
  clicked_links bigint[],
  constraint delivery_engagement_pkey PRIMARY KEY (delivery_id, queued_on, environment_id)
) partition by range (queued_on);
alter table messaging.delivery_engagement enable row level security;
alter table messaging.delivery_engagement force row level security;
create policy app_rows on messaging.delivery_engagement for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.delivery_engagement for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.delivery_engagement for all to mailwright_system using (true) with check (true);
grant select on messaging.delivery_engagement to mailwright_app;
grant delete, insert, select, update on messaging.delivery_engagement to mailwright_system;
comment on table messaging.delivery_engagement is 'What people (not proxies, not scanners) did with a mail; a click counts as an open. Partitioned like the deliveries.';
comment on column messaging.delivery_engagement.campaign_id is 'Null: a mail of an automation.';
comment on column messaging.delivery_engagement.unsubscribed_at is 'Set when the event is let go, complained_at as well: that a mail was answered is counted once.';
comment on column messaging.delivery_engagement.clicked_links is 'The links that people followed in the mail, each once: link_set * 65536 + link_number.';

create table messaging.delivery_events (
  id uuid not null,
  occurred_at timestamp with time zone not null,
  environment_id bigint not null,
  campaign_id uuid,
  delivery_id uuid not null,
  subscriber_id uuid,
  type text not null,
  bounce_type text,
  url text,
  link_number integer,
  classification text not null default 'human'::text,
  agent text,
  link_set bigint,
  constraint delivery_events_pkey PRIMARY KEY (id, occurred_at, environment_id),
  constraint delivery_events_bounce_type_check CHECK ((bounce_type = ANY (ARRAY['HARD'::text, 'SOFT'::text]))),
  constraint delivery_events_classification_check CHECK ((classification = ANY (ARRAY['human'::text, 'proxy'::text, 'scanner'::text]))),
  constraint delivery_events_type_check CHECK ((type = ANY (ARRAY['OPENED'::text, 'CLICKED'::text, 'UNSUBSCRIBED'::text, 'COMPLAINED'::text, 'BOUNCED'::text])))
) partition by range (occurred_at);
CREATE INDEX delivery_events_in_window ON ONLY messaging.delivery_events USING btree (environment_id, type, occurred_at) INCLUDE (subscriber_id, campaign_id) WHERE (classification = 'human'::text);
CREATE INDEX delivery_events_of_delivery ON ONLY messaging.delivery_events USING btree (campaign_id, delivery_id, type, occurred_at);
CREATE INDEX delivery_events_of_programs ON ONLY messaging.delivery_events USING btree (environment_id, occurred_at) WHERE (classification <> 'human'::text);
CREATE INDEX delivery_events_of_subscriber ON ONLY messaging.delivery_events USING btree (environment_id, subscriber_id) WHERE (subscriber_id IS NOT NULL);
alter table messaging.delivery_events enable row level security;
alter table messaging.delivery_events force row level security;
create policy app_rows on messaging.delivery_events for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.delivery_events for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.delivery_events for all to mailwright_system using (true) with check (true);
grant insert, select on messaging.delivery_events to mailwright_app;
grant delete, insert, select, update on messaging.delivery_events to mailwright_system;
grant update (subscriber_id) on messaging.delivery_events to mailwright_app;
comment on table messaging.delivery_events is 'What subscribers and their mailboxes did with mails. Partitioned by the month in which it happened.';
comment on column messaging.delivery_events.url is 'The link of a click; link_number is its place in the set of links.';
comment on column messaging.delivery_events.agent is 'The kind of program, never the user agent itself.';
comment on column messaging.delivery_events.link_set is 'The set in which the link_number of a click counts.';

create table messaging.erased_mails (
  environment_id bigint not null,
  delivery_id uuid not null,
  address_digest bytea not null,
  queued_on date not null,
  constraint erased_mails_pkey PRIMARY KEY (environment_id, delivery_id)
);
CREATE INDEX erased_mails_oldest ON messaging.erased_mails USING btree (queued_on);
alter table messaging.erased_mails enable row level security;
alter table messaging.erased_mails force row level security;
create policy app_rows on messaging.erased_mails for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.erased_mails for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.erased_mails for all to mailwright_system using (true) with check (true);
grant insert, select on messaging.erased_mails to mailwright_app;
grant delete, insert, select, update on messaging.erased_mails to mailwright_system;
comment on table messaging.erased_mails is 'To which address a recent mail of an erased subscriber went, by its keyed digest: its unsubscribe link takes off who has the address now. Kept for 60 days after the mail.';

create table messaging.export_parts (
  export_id uuid not null,
  part integer not null,
  environment_id bigint not null,
  content text not null,
  constraint export_parts_pkey PRIMARY KEY (export_id, part, environment_id),
  constraint export_parts_export_id_environment_id_fkey FOREIGN KEY (export_id, environment_id) REFERENCES messaging.exports(id, environment_id) ON DELETE CASCADE
);
alter table messaging.export_parts enable row level security;
alter table messaging.export_parts force row level security;
create policy app_rows on messaging.export_parts for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.export_parts for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.export_parts for all to mailwright_system using (true) with check (true);
grant delete, insert, select on messaging.export_parts to mailwright_app;
grant delete, insert, select, update on messaging.export_parts to mailwright_system;
comment on table messaging.export_parts is 'A file comes in parts, so that neither the worker nor the api ever holds a large one.';

create table messaging.exports (
  id uuid not null,
  environment_id bigint not null,
  campaign_id uuid not null,
  kind text not null,
  state text not null default 'PENDING'::text,
  cursor text,
  parts integer not null default 0,
  created_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  taken_at timestamp with time zone,
  is_masked boolean not null default false,
  constraint exports_pkey PRIMARY KEY (id, environment_id),
  constraint exports_kind_check CHECK ((kind = ANY (ARRAY['STATISTICS'::text, 'DELIVERIES'::text]))),
  constraint exports_state_check CHECK ((state = ANY (ARRAY['PENDING'::text, 'DONE'::text, 'FAILED'::text]))),
  constraint exports_campaign_id_environment_id_fkey FOREIGN KEY (campaign_id, environment_id) REFERENCES messaging.campaigns(id, environment_id) ON DELETE CASCADE
);
CREATE INDEX exports_oldest ON messaging.exports USING btree (created_at);
CREATE INDEX exports_open ON messaging.exports USING btree (campaign_id, kind) WHERE (taken_at IS NULL);
alter table messaging.exports enable row level security;
alter table messaging.exports force row level security;
create policy app_rows on messaging.exports for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.exports for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.exports for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on messaging.exports to mailwright_app;
grant delete, insert, select, update on messaging.exports to mailwright_system;
comment on table messaging.exports is 'Files that the worker makes and a waiting client takes.';
comment on column messaging.exports.cursor is 'The last row in the file so far; parts says how many parts that is.';
comment on column messaging.exports.taken_at is 'A client has it: the next request is for a new one.';
comment on column messaging.exports.is_masked is 'Addresses in the file are masked: the key may not see subscribers.';

create table messaging.link_counters (
  campaign_id uuid not null,
  link_set bigint not null,
  link_number integer not null,
  writer smallint not null,
  environment_id bigint not null,
  clicked bigint not null default 0,
  unique_clicks bigint not null default 0,
  constraint link_counters_pkey PRIMARY KEY (campaign_id, link_set, link_number, writer, environment_id)
) with (fillfactor=50);
alter table messaging.link_counters enable row level security;
alter table messaging.link_counters force row level security;
create policy app_rows on messaging.link_counters for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.link_counters for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.link_counters for all to mailwright_system using (true) with check (true);
grant insert, select, update on messaging.link_counters to mailwright_app;
grant delete, insert, select, update on messaging.link_counters to mailwright_system;
comment on table messaging.link_counters is 'Clicks of people by link, counted in the transaction that writes them; by writer as in campaign_counters. All clicks of a campaign''s links add up to its own.';

create table messaging.link_sets (
  id bigint not null generated always as identity,
  environment_id bigint not null,
  campaign_id uuid,
  version_id bigint,
  place smallint,
  queued_on date not null,
  translation text,
  urls text[] not null,
  signature bytea not null,
  created_at timestamp with time zone not null,
  message_id uuid,
  constraint link_sets_pkey PRIMARY KEY (id, environment_id),
  constraint link_sets_owner CHECK (((num_nonnulls(campaign_id, version_id, message_id) = 1) AND ((version_id IS NULL) = (place IS NULL)))),
  constraint link_sets_campaign_id_queued_on_signature_environment_id_key UNIQUE (campaign_id, queued_on, signature, environment_id)
);
CREATE UNIQUE INDEX link_sets_of_message ON messaging.link_sets USING btree (message_id, queued_on, signature, environment_id) WHERE (message_id IS NOT NULL);
CREATE INDEX link_sets_of_messages_oldest ON messaging.link_sets USING btree (created_at) WHERE (message_id IS NOT NULL);
CREATE UNIQUE INDEX link_sets_of_step ON messaging.link_sets USING btree (version_id, place, queued_on, signature, environment_id) WHERE (version_id IS NOT NULL);
alter table messaging.link_sets enable row level security;
alter table messaging.link_sets force row level security;
create policy app_rows on messaging.link_sets for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.link_sets for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.link_sets for all to mailwright_system using (true) with check (true);
grant delete, insert, select on messaging.link_sets to mailwright_app;
grant delete, insert, select, update on messaging.link_sets to mailwright_system;
comment on table messaging.link_sets is 'What the tracked links of a campaign''s mails, or of a mail of an automation''s version, lead to. Never changed: a campaign that is sent again with other content gets another set, and the mails that went out before keep theirs. It outlives the campaign, since its mails do.';
comment on column messaging.link_sets.place is 'Of the node that sends the mail.';
comment on column messaging.link_sets.queued_on is 'The partition of the deliveries.';
comment on column messaging.link_sets.translation is 'The locale of the campaign''s translation whose links these are: their numbers mean other links in another translation, so that clicks keep their address. Null: the campaign''s own content.';
comment on column messaging.link_sets.urls is 'In the order of the links'' numbers, which begin with 1.';
comment on column messaging.link_sets.signature is 'HMAC over whose set it is and where its links lead.';
comment on column messaging.link_sets.message_id is 'Of a message, whose links may be made of its data: they are erased with it.';

create table messaging.mail_hours (
  environment_id bigint not null,
  hour timestamp with time zone not null,
  campaign_id uuid not null,
  relay_key text not null default ''::text,
  provider text not null,
  writer smallint not null,
  sent integer not null default 0,
  delivered integer not null default 0,
  opened integer not null default 0,
  unique_opens integer not null default 0,
  clicked integer not null default 0,
  unique_clicks integer not null default 0,
  hard_bounced integer not null default 0,
  soft_bounced integer not null default 0,
  unsubscribed integer not null default 0,
  complained integer not null default 0,
  constraint mail_hours_pkey PRIMARY KEY (environment_id, hour, campaign_id, relay_key, provider, writer)
) with (fillfactor=70);
alter table messaging.mail_hours enable row level security;
alter table messaging.mail_hours force row level security;
create policy app_rows on messaging.mail_hours for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.mail_hours for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.mail_hours for all to mailwright_system using (true) with check (true);
grant insert, select, update on messaging.mail_hours to mailwright_app;
grant delete, insert, select, update on messaging.mail_hours to mailwright_system;
comment on table messaging.mail_hours is 'Statistics over campaigns and time, counted in the transaction that writes what is counted; by writer as in campaign_counters.';
comment on column messaging.mail_hours.hour is 'The hour (UTC) of sending for sent and delivered, from which a mail that bounces later is taken; of the first open or click of a mail for unique_opens and unique_clicks; else of the event.';
comment on column messaging.mail_hours.campaign_id is 'Zeros: all automations, whose nodes are in automation_hours.';
comment on column messaging.mail_hours.relay_key is 'The project''s relay that took the mail; empty: the installation''s.';
comment on column messaging.mail_hours.provider is 'The mailbox provider by the domain of the address; other: no large one.';

create table messaging.mailbox_simulations (
  delivery_id uuid not null,
  environment_id bigint not null,
  behaviour text not null,
  created_at timestamp with time zone not null,
  constraint mailbox_simulations_pkey PRIMARY KEY (delivery_id, environment_id),
  constraint mailbox_simulations_behaviour_check CHECK ((behaviour = ANY (ARRAY['bounced'::text, 'soft-bounced'::text, 'complained'::text, 'opened'::text, 'clicked'::text, 'unsubscribed'::text])))
);
CREATE INDEX mailbox_simulations_oldest ON messaging.mailbox_simulations USING btree (created_at);
alter table messaging.mailbox_simulations enable row level security;
alter table messaging.mailbox_simulations force row level security;
create policy app_rows on messaging.mailbox_simulations for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.mailbox_simulations for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.mailbox_simulations for all to mailwright_system using (true) with check (true);
grant delete, insert, select on messaging.mailbox_simulations to mailwright_app;
grant delete, insert, select, update on messaging.mailbox_simulations to mailwright_system;
comment on table messaging.mailbox_simulations is 'What the mailbox of a simulated address is still to do with a mail of the test environment.';

create table messaging.media (
  id uuid not null,
  environment_id bigint not null,
  name text not null,
  filename text,
  content_type text not null,
  width integer not null,
  height integer not null,
  bytes integer not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  shown_on date,
  constraint media_pkey PRIMARY KEY (id, environment_id),
  constraint media_content_type_check CHECK ((content_type = ANY (ARRAY['image/png'::text, 'image/jpeg'::text, 'image/gif'::text, 'image/webp'::text])))
);
CREATE INDEX media_in_order ON messaging.media USING btree (environment_id, created_at, id);
CREATE UNIQUE INDEX media_name ON messaging.media USING btree (environment_id, name);
alter table messaging.media enable row level security;
alter table messaging.media force row level security;
create policy app_rows on messaging.media for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.media for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.media for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on messaging.media to mailwright_app;
grant delete, insert, select, update on messaging.media to mailwright_system;
comment on table messaging.media is 'Images that mails show by their URL. Their bytes are on disk or in S3, written before the row is.';
comment on column messaging.media.name is 'Random, in the URL; it begins with the environment''s id in base 36.';
comment on column messaging.media.shown_on is 'Day of the last mail that is known to show it, as far as no content that names it is kept.';

create table messaging.media_removals (
  environment_id bigint not null,
  name text not null,
  due_at timestamp with time zone not null,
  constraint media_removals_pkey PRIMARY KEY (environment_id, name)
);
CREATE INDEX media_removals_due ON messaging.media_removals USING btree (due_at);
alter table messaging.media_removals enable row level security;
alter table messaging.media_removals force row level security;
create policy app_rows on messaging.media_removals for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.media_removals for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.media_removals for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on messaging.media_removals to mailwright_app;
grant delete, insert, select, update on messaging.media_removals to mailwright_system;
comment on table messaging.media_removals is 'Files to be removed from the storage: of images that were deleted, and of uploads that have not ended when they are due.';

create table messaging.media_usage (
  environment_id bigint not null,
  bytes bigint not null,
  constraint media_usage_pkey PRIMARY KEY (environment_id)
);
alter table messaging.media_usage enable row level security;
alter table messaging.media_usage force row level security;
create policy app_rows on messaging.media_usage for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.media_usage for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.media_usage for all to mailwright_system using (true) with check (true);
grant insert, select, update on messaging.media_usage to mailwright_app;
grant delete, insert, select, update on messaging.media_usage to mailwright_system;
comment on table messaging.media_usage is 'Size of an environment''s images together, which its quota bounds.';

create table messaging.media_uses (
  media_id uuid not null,
  kind text not null,
  user_id uuid not null,
  environment_id bigint not null,
  constraint media_uses_pkey PRIMARY KEY (media_id, kind, user_id, environment_id),
  constraint media_uses_kind_check CHECK ((kind = ANY (ARRAY['campaign'::text, 'automation'::text, 'automation-version'::text, 'template'::text, 'template-version'::text]))),
  constraint media_uses_media_id_environment_id_fkey FOREIGN KEY (media_id, environment_id) REFERENCES messaging.media(id, environment_id) ON DELETE CASCADE
);
CREATE INDEX media_uses_of_user ON messaging.media_uses USING btree (environment_id, user_id);
alter table messaging.media_uses enable row level security;
alter table messaging.media_uses force row level security;
create policy app_rows on messaging.media_uses for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.media_uses for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.media_uses for all to mailwright_system using (true) with check (true);
grant delete, insert, select on messaging.media_uses to mailwright_app;
grant delete, insert, select, update on messaging.media_uses to mailwright_system;
comment on table messaging.media_uses is 'Content that names an image; written by the triggers `note_media`.';

create table messaging.message_attachments (
  environment_id bigint not null,
  message_id uuid not null,
  "position" smallint not null,
  part smallint not null,
  created_at timestamp with time zone not null,
  sealed bytea not null,
  constraint message_attachments_pkey PRIMARY KEY (environment_id, message_id, "position", part)
);
CREATE INDEX message_attachments_by_age ON messaging.message_attachments USING btree (created_at);
alter table messaging.message_attachments enable row level security;
alter table messaging.message_attachments force row level security;
create policy app_rows on messaging.message_attachments for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.message_attachments for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.message_attachments for all to mailwright_system using (true) with check (true);
grant delete, insert, select on messaging.message_attachments to mailwright_app;
grant delete, insert, select, update on messaging.message_attachments to mailwright_system;
comment on table messaging.message_attachments is 'Files of messages that wait for their mails to be sent: gone once those of all recipients have ended.';
comment on column messaging.message_attachments.part is 'Files are kept in parts of equal size, so that neither api nor worker holds one twice.';
comment on column messaging.message_attachments.sealed is 'Encrypted with the key of the message.';

create table messaging.message_copies (
  environment_id bigint not null,
  digest bytea not null,
  created_at timestamp with time zone not null,
  message_id uuid not null,
  constraint message_copies_pkey PRIMARY KEY (environment_id, digest, created_at, message_id)
);
alter table messaging.message_copies enable row level security;
alter table messaging.message_copies force row level security;
create policy app_rows on messaging.message_copies for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.message_copies for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.message_copies for all to mailwright_system using (true) with check (true);
grant delete, insert, select on messaging.message_copies to mailwright_app;
grant delete, insert, select, update on messaging.message_copies to mailwright_system;
comment on table messaging.message_copies is 'Messages by those who get copies of them.';
comment on column messaging.message_copies.digest is 'As the to_digest of a message.';

create table messaging.message_events (
  environment_id bigint not null,
  message_id uuid not null,
  occurred_at timestamp with time zone not null,
  id uuid not null,
  type text not null,
  reply text,
  reason text,
  relay_key text,
  classification text not null default 'human'::text,
  agent text,
  url text,
  link_number integer,
  constraint message_events_pkey PRIMARY KEY (environment_id, message_id, occurred_at, id),
  constraint message_events_classification_check CHECK ((classification = ANY (ARRAY['human'::text, 'proxy'::text, 'scanner'::text]))),
  constraint message_events_type_check CHECK ((type = ANY (ARRAY['ATTEMPTED'::text, 'SENT'::text, 'DELIVERED'::text, 'BOUNCED'::text, 'COMPLAINED'::text, 'OPENED'::text, 'CLICKED'::text, 'FAILED'::text, 'EXPIRED'::text, 'SUPPRESSED'::text, 'CANCELLED'::text])))
);
CREATE INDEX message_events_against ON messaging.message_events USING btree (environment_id, occurred_at) WHERE (type = ANY (ARRAY['BOUNCED'::text, 'COMPLAINED'::text]));
CREATE INDEX message_events_in_window ON messaging.message_events USING btree (environment_id, type, occurred_at);
CREATE INDEX message_events_oldest ON messaging.message_events USING btree (occurred_at);
alter table messaging.message_events enable row level security;
alter table messaging.message_events force row level security;
create policy app_rows on messaging.message_events for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.message_events for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.message_events for all to mailwright_system using (true) with check (true);
grant insert, select, update on messaging.message_events to mailwright_app;
grant delete, insert, select, update on messaging.message_events to mailwright_system;
comment on table messaging.message_events is 'What became of the mail of a message to `to_email`; that it was queued is when the message was created.';
comment on column messaging.message_events.reply is 'Of the mail server, or why there was none: as the delivery''s last_error.';
comment on column messaging.message_events.reason is 'The class of a bounce, or why nothing was sent.';

create table messaging.message_tags (
  environment_id bigint not null,
  tag text collate "C" not null,
  created_at timestamp with time zone not null,
  message_id uuid not null,
  constraint message_tags_pkey PRIMARY KEY (environment_id, tag, created_at, message_id)
);
alter table messaging.message_tags enable row level security;
alter table messaging.message_tags force row level security;
create policy app_rows on messaging.message_tags for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.message_tags for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.message_tags for all to mailwright_system using (true) with check (true);
grant insert, select on messaging.message_tags to mailwright_app;
grant delete, insert, select, update on messaging.message_tags to mailwright_system;
comment on table messaging.message_tags is 'Messages by tag, in the order of their list.';

create table messaging.messages (
  id uuid not null,
  environment_id bigint not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  queued_on date not null,
  status text not null,
  to_email text not null,
  to_digest bytea,
  subject text,
  purpose text not null,
  topic_id uuid,
  tags text[] not null default '{}'::text[],
  metadata jsonb not null default '{}'::jsonb,
  locale text,
  keep text not null,
  ambiguous text not null,
  scheduled_at timestamp with time zone,
  expires_at timestamp with time zone,
  sent_at timestamp with time zone,
  delivered_at timestamp with time zone,
  finished_at timestamp with time zone,
  relay_key text,
  failure_reason text,
  content jsonb,
  sealed_content text,
  attachments_key text,
  attached_bytes integer not null default 0,
  usage_period timestamp with time zone,
  topic_key text,
  request_key bytea,
  request_place smallint,
  track_opens boolean not null default false,
  track_clicks boolean not null default false,
  template_content_id uuid,
  template_key text collate "C",
  template_version integer,
  constraint messages_pkey PRIMARY KEY (id, environment_id),
  constraint messages_ambiguous_check CHECK ((ambiguous = ANY (ARRAY['RESEND'::text, 'HOLD'::text]))),
  constraint messages_keep_check CHECK ((keep = ANY (ARRAY['CONTENT'::text, 'NOTHING'::text]))),
  constraint messages_status_check CHECK ((status = ANY (ARRAY['SCHEDULED'::text, 'QUEUED'::text, 'SENT'::text, 'DELIVERED'::text, 'BOUNCED'::text, 'COMPLAINED'::text, 'FAILED'::text, 'EXPIRED'::text, 'SUPPRESSED'::text, 'CANCELLED'::text])))
);
CREATE INDEX messages_in_order ON messaging.messages USING btree (environment_id, created_at, id);
CREATE UNIQUE INDEX messages_of_request ON messaging.messages USING btree (environment_id, request_key, request_place) WHERE (request_key IS NOT NULL);
CREATE INDEX messages_of_status ON messaging.messages USING btree (environment_id, status, created_at, id);
CREATE INDEX messages_of_template ON messaging.messages USING btree (environment_id, template_key, created_at, id) WHERE (template_key IS NOT NULL);
CREATE INDEX messages_to ON messaging.messages USING btree (environment_id, to_digest, created_at, id);
CREATE INDEX messages_with_content ON messaging.messages USING btree (finished_at) WHERE (content IS NOT NULL);
alter table messaging.messages enable row level security;
alter table messaging.messages force row level security;
create policy app_rows on messaging.messages for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.messages for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.messages for all to mailwright_system using (true) with check (true);
grant insert, select, update on messaging.messages to mailwright_app;
grant delete, insert, select, update on messaging.messages to mailwright_system;
comment on table messaging.messages is 'Mails to one person each, as programs ask for them; their deliveries are the recipients, copies included.';
comment on column messaging.messages.queued_on is 'The partition of its deliveries.';
comment on column messaging.messages.status is 'Of the delivery to `to_email`; the copies have their own.';
comment on column messaging.messages.to_digest is 'Keyed digest of the address in `to_email`, by which it is found and erased; null once erased.';
comment on column messaging.messages.subject is 'As it was written. Null: gone, since nothing of it is kept.';
comment on column messaging.messages.topic_id is 'Of a notification: mail that its reader may leave. Null for mail that needs no consent.';
comment on column messaging.messages.content is 'What the mail is made of; null where it is sealed, or kept no longer.';
comment on column messaging.messages.sealed_content is 'The same, encrypted, of a message that keeps nothing; null once it has ended.';
comment on column messaging.messages.attachments_key is 'Key of its files, itself sealed; null where it has none, or has them no longer.';
comment on column messaging.messages.attached_bytes is 'Size of its files together.';
comment on column messaging.messages.usage_period is 'The billing period whose e-mails are reserved for it; null when they are not metered, or were counted as it was accepted.';
comment on column messaging.messages.topic_key is 'The key of the topic, also once that is deleted.';
comment on column messaging.messages.request_key is 'Digest of the idempotent request that it came by, and its place there: a request that is run again makes no second one.';
comment on column messaging.messages.track_opens is 'The mail to `to_email` has a pixel; copies never do.';
comment on column messaging.messages.template_content_id is 'What its subject and content are, in its locale; null where they are its own. A change of the template makes another.';
comment on column messaging.messages.template_key is 'The key of the template, also once that is deleted.';

create table messaging.sender_stops (
  environment_id bigint not null,
  stopped_at timestamp with time zone not null,
  constraint sender_stops_pkey PRIMARY KEY (environment_id)
);
alter table messaging.sender_stops enable row level security;
alter table messaging.sender_stops force row level security;
create policy app_rows on messaging.sender_stops for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.sender_stops for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.sender_stops for all to mailwright_system using (true) with check (true);
grant select on messaging.sender_stops to mailwright_app;
grant delete, insert, select, update on messaging.sender_stops to mailwright_system;
comment on table messaging.sender_stops is 'When an environment''s sending domain was stopped last because its mails were refused for their sender. What was sent before is not held against it again.';

create table messaging.sending_stops (
  environment_id bigint not null,
  reason text not null,
  stopped_at timestamp with time zone not null,
  resumed_at timestamp with time zone,
  stream text not null default 'MARKETING'::text,
  constraint sending_stops_pkey PRIMARY KEY (environment_id, stream),
  constraint sending_stops_stream_check CHECK ((stream = ANY (ARRAY['MARKETING'::text, 'TRANSACTIONAL'::text])))
);
alter table messaging.sending_stops enable row level security;
alter table messaging.sending_stops force row level security;
create policy app_rows on messaging.sending_stops for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.sending_stops for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.sending_stops for all to mailwright_system using (true) with check (true);
grant insert, select, update on messaging.sending_stops to mailwright_app;
grant delete, insert, select, update on messaging.sending_stops to mailwright_system;
comment on table messaging.sending_stops is 'Projects whose live campaigns, or whose live messages, are stopped for their bounces or complaints.';
comment on column messaging.sending_stops.resumed_at is 'What was sent before is not held against the project again.';
comment on column messaging.sending_stops.stream is 'TRANSACTIONAL: its messages; MARKETING: its campaigns.';

create unlogged table messaging.server_epoch (
  environment_id bigint not null,
  epoch bigint not null,
  constraint server_epoch_pkey PRIMARY KEY (environment_id)
);
alter table messaging.server_epoch enable row level security;
alter table messaging.server_epoch force row level security;
create policy app_rows on messaging.server_epoch for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.server_epoch for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.server_epoch for all to mailwright_system using (true) with check (true);
grant insert, select on messaging.server_epoch to mailwright_app;
grant delete, insert, select, update on messaging.server_epoch to mailwright_system;
comment on table messaging.server_epoch is 'The present epoch of the database server that has the rows of an environment, which ends with a crash: recovery empties an unlogged table, and so does a standby that takes over, and those are the cases in which commits can be missing that were not waited for. The marks of the sending engine are such commits. So what was claimed in an epoch that has ended may have been handed over to a mail server, although its row does not say so. The next begins with the next claim; until then every mark is waited for.';

create table messaging.settled_figures (
  campaign_id uuid not null,
  environment_id bigint not null,
  links jsonb,
  providers jsonb,
  languages jsonb,
  domains jsonb,
  variants jsonb,
  constraint settled_figures_pkey PRIMARY KEY (campaign_id, environment_id),
  constraint settled_figures_campaign_id_environment_id_fkey FOREIGN KEY (campaign_id, environment_id) REFERENCES messaging.campaigns(id, environment_id) ON DELETE CASCADE
);
alter table messaging.settled_figures enable row level security;
alter table messaging.settled_figures force row level security;
create policy app_rows on messaging.settled_figures for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.settled_figures for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.settled_figures for all to mailwright_system using (true) with check (true);
grant select on messaging.settled_figures to mailwright_app;
grant delete, insert, select, update on messaging.settled_figures to mailwright_system;
comment on table messaging.settled_figures is 'What was counted of a campaign for the last time, before what it was counted from was let go.';
comment on column messaging.settled_figures.links is 'Of version 0.2.0; link_counters has them.';
comment on column messaging.settled_figures.providers is 'Mails by provider, from its deliveries, as languages and domains are; null while those are kept.';

create table messaging.template_contents (
  id uuid not null,
  environment_id bigint not null,
  template_id uuid not null,
  version integer not null,
  content jsonb not null,
  created_at timestamp with time zone not null,
  constraint template_contents_pkey PRIMARY KEY (id, environment_id)
);
CREATE INDEX template_contents_of_template ON messaging.template_contents USING btree (environment_id, template_id, created_at, id);
CREATE INDEX template_contents_of_version ON messaging.template_contents USING btree (environment_id, template_id, version, created_at, id);
alter table messaging.template_contents enable row level security;
alter table messaging.template_contents force row level security;
create policy app_rows on messaging.template_contents for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.template_contents for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.template_contents for all to mailwright_system using (true) with check (true);
grant insert, select on messaging.template_contents to mailwright_app;
grant delete, insert, select, update on messaging.template_contents to mailwright_system;
comment on table messaging.template_contents is 'Versions with the layout and partials of a moment put in: mails refer to them. Never changed, and kept when the template is deleted.';

create table messaging.template_uses (
  environment_id bigint not null,
  used_id uuid not null,
  template_id uuid not null,
  constraint template_uses_pkey PRIMARY KEY (environment_id, used_id, template_id),
  constraint template_uses_template_id_environment_id_fkey FOREIGN KEY (template_id, environment_id) REFERENCES messaging.templates(id, environment_id),
  constraint template_uses_used_id_environment_id_fkey FOREIGN KEY (used_id, environment_id) REFERENCES messaging.templates(id, environment_id)
);
CREATE INDEX template_uses_of_template ON messaging.template_uses USING btree (environment_id, template_id);
alter table messaging.template_uses enable row level security;
alter table messaging.template_uses force row level security;
create policy app_rows on messaging.template_uses for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.template_uses for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.template_uses for all to mailwright_system using (true) with check (true);
grant delete, insert, select on messaging.template_uses to mailwright_app;
grant delete, insert, select, update on messaging.template_uses to mailwright_system;
comment on table messaging.template_uses is 'Layouts and partials that the published templates name themselves.';

create table messaging.template_versions (
  id uuid not null,
  environment_id bigint not null,
  template_id uuid not null,
  version integer not null,
  content jsonb not null,
  created_at timestamp with time zone not null,
  constraint template_versions_pkey PRIMARY KEY (id, environment_id),
  constraint template_versions_template_id_environment_id_fkey FOREIGN KEY (template_id, environment_id) REFERENCES messaging.templates(id, environment_id),
  constraint template_versions_environment_id_template_id_version_key UNIQUE (environment_id, template_id, version)
);
CREATE INDEX template_versions_in_order ON messaging.template_versions USING btree (environment_id, template_id, created_at, id);
CREATE TRIGGER note_media_of_new AFTER INSERT OR DELETE ON messaging.template_versions FOR EACH ROW EXECUTE FUNCTION messaging.note_media('template-version', 'id', 'content');
alter table messaging.template_versions enable row level security;
alter table messaging.template_versions force row level security;
create policy app_rows on messaging.template_versions for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.template_versions for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.template_versions for all to mailwright_system using (true) with check (true);
grant delete, insert, select on messaging.template_versions to mailwright_app;
grant delete, insert, select, update on messaging.template_versions to mailwright_system;
comment on table messaging.template_versions is 'Templates as they were published, and as their authors wrote them. Never changed.';

create table messaging.templates (
  id uuid not null,
  environment_id bigint not null,
  template_key text not null,
  alias text collate "C",
  name text not null,
  kind text not null,
  metadata jsonb not null default '{}'::jsonb,
  draft jsonb not null,
  draft_version integer,
  published_version integer,
  last_version integer not null default 0,
  content_id uuid,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint templates_pkey PRIMARY KEY (id, environment_id),
  constraint templates_kind_check CHECK ((kind = ANY (ARRAY['CAMPAIGN'::text, 'MESSAGE'::text, 'PARTIAL'::text, 'OPT_IN'::text]))),
  constraint templates_environment_id_alias_key UNIQUE (environment_id, alias),
  constraint templates_environment_id_template_key_key UNIQUE (environment_id, template_key)
);
CREATE INDEX templates_in_order ON messaging.templates USING btree (environment_id, created_at, id);
CREATE INDEX templates_of_kind ON messaging.templates USING btree (environment_id, kind, created_at, id);
CREATE TRIGGER note_media_of_changed AFTER UPDATE OF draft ON messaging.templates FOR EACH ROW EXECUTE FUNCTION messaging.note_media('template', 'id', 'draft');
CREATE TRIGGER note_media_of_new AFTER INSERT OR DELETE ON messaging.templates FOR EACH ROW EXECUTE FUNCTION messaging.note_media('template', 'id', 'draft');
alter table messaging.templates enable row level security;
alter table messaging.templates force row level security;
create policy app_rows on messaging.templates for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.templates for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.templates for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on messaging.templates to mailwright_app;
grant delete, insert, select, update on messaging.templates to mailwright_system;
comment on table messaging.templates is 'Content that mails are made of, by name: a draft, and versions of which one is in use.';
comment on column messaging.templates.draft_version is 'The number that the draft would get; null where it is what is in use.';
comment on column messaging.templates.content_id is 'The content in use, with layout and partials put in; null where none is, and of a PARTIAL.';

create table messaging.test_inbox_messages (
  id uuid not null,
  environment_id bigint not null,
  delivery_id uuid not null,
  kind text not null,
  to_address text not null,
  to_key text not null,
  from_address text not null,
  subject text not null,
  links jsonb not null,
  raw bytea not null,
  received_at timestamp with time zone not null,
  constraint test_inbox_messages_pkey PRIMARY KEY (id, environment_id),
  constraint test_inbox_messages_kind_check CHECK ((kind = ANY (ARRAY['OPT_IN'::text, 'CAMPAIGN'::text, 'AUTOMATION'::text, 'TEST'::text, 'MESSAGE'::text])))
);
CREATE INDEX test_inbox_age ON messaging.test_inbox_messages USING btree (received_at, environment_id);
CREATE INDEX test_inbox_newest ON messaging.test_inbox_messages USING btree (environment_id, received_at DESC, id DESC);
CREATE INDEX test_inbox_of_kind ON messaging.test_inbox_messages USING btree (environment_id, kind, received_at DESC, id DESC);
CREATE UNIQUE INDEX test_inbox_once ON messaging.test_inbox_messages USING btree (delivery_id, environment_id);
CREATE INDEX test_inbox_to ON messaging.test_inbox_messages USING btree (environment_id, to_key, received_at DESC, id DESC);
alter table messaging.test_inbox_messages enable row level security;
alter table messaging.test_inbox_messages force row level security;
create policy app_rows on messaging.test_inbox_messages for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on messaging.test_inbox_messages for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on messaging.test_inbox_messages for all to mailwright_system using (true) with check (true);
grant delete, insert, select on messaging.test_inbox_messages to mailwright_app;
grant delete, insert, select, update on messaging.test_inbox_messages to mailwright_system;
comment on table messaging.test_inbox_messages is 'Mails of the test environment, which go here instead of to their recipients.';

CREATE OR REPLACE FUNCTION messaging.count_runs()
 RETURNS trigger
 LANGUAGE plpgsql
 SET enable_nestloop TO 'off'
AS $function$
declare
  counted record;
begin
  if tg_op = 'INSERT' then
    for counted in
      select automation_number, environment_id, count(*) as entered
      from rows_after group by automation_number, environment_id order by automation_number
    loop
      insert into messaging.automation_counters as c (automation_number, writer, environment_id, entered)
      values (counted.automation_number, pg_backend_pid() % 32, counted.environment_id, counted.entered)
      on conflict (automation_number, writer, environment_id) do update set entered = c.entered + excluded.entered;
    end loop;
  else
    for counted in
      select a.automation_number, a.environment_id,
        count(*) filter (where a.status in ('COMPLETED', 'CONVERTED')) as completed,
        count(*) filter (where a.status = 'CONVERTED') as converted,
        count(*) filter (where a.status not in ('COMPLETED', 'CONVERTED')) as ended,
        count(*) filter (where a.status = 'FAILED') as failed
      from rows_after a join rows_before b on b.id = a.id
      where b.status = 'ACTIVE' and a.status <> 'ACTIVE'
      group by a.automation_number, a.environment_id order by a.automation_number
    loop
      insert into messaging.automation_counters as c (automation_number, writer, environment_id, completed, converted, ended, failed)
      values (counted.automation_number, pg_backend_pid() % 32, counted.environment_id, counted.completed, counted.converted,
        counted.ended, counted.failed)
      on conflict (automation_number, writer, environment_id) do update
      set completed = c.completed + excluded.completed, converted = c.converted + excluded.converted,
        ended = c.ended + excluded.ended, failed = c.failed + excluded.failed;
    end loop;
  end if;
  return null;
end $function$;
-- called by public

CREATE OR REPLACE FUNCTION messaging.new_run_id()
 RETURNS uuid
 LANGUAGE sql
 PARALLEL SAFE
RETURN (encode(set_byte(uuid_send(platform.new_id()), 15, 0), 'hex'::text))::uuid;
-- called by public
comment on function messaging.new_run_id() is 'The id of a run, which leaves its last octet to its steps.';

CREATE OR REPLACE FUNCTION messaging.note_media()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  content jsonb := case tg_op when 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
  environment bigint := content ->> 'environment_id';
  owner uuid := content ->> tg_argv[1];
  is_deleted boolean := tg_op = 'DELETE' or content ->> 'deleted_at' is not null;
  today date := (platform.now() at time zone 'UTC')::date;
  written text := '';
  names text[];
  dropped uuid[];
begin
  for i in 2 .. tg_nargs - 1 loop
    exit when is_deleted;
    written := concat_ws(' ', written, content ->> tg_argv[i]);
  end loop;
  names := array(select distinct m[1] from regexp_matches(written, '\m([0-9a-z]{1,13}-[0-9a-f]{32})\M', 'g') m);
  with gone as (
    delete from messaging.media_uses u
    where u.environment_id = environment and u.user_id = owner and (u.kind = tg_argv[0] or is_deleted)
    returning u.media_id
  ) select array_agg(g.media_id) into dropped from gone g;
  if cardinality(names) > 0 then
    -- Locked: an image that is being deleted is no longer there, or is kept until this is committed.
    insert into messaging.media_uses (media_id, kind, user_id, environment_id)
    select m.id, tg_argv[0], owner, environment from messaging.media m
    where m.environment_id = environment and m.name = any(names) for key share
    on conflict (media_id, kind, user_id, environment_id) do nothing;
  end if;
  if dropped is not null and content ->> 'status' is distinct from 'DRAFT' then
    -- Mails may have shown it until now.
    update messaging.media m set shown_on = greatest(m.shown_on, today)
    where m.environment_id = environment and m.id = any(dropped);
  end if;
  return null;
end $function$;
-- called by public
comment on function messaging.note_media() is 'Keeps `media_uses` of a content that is written or deleted.';

CREATE OR REPLACE FUNCTION messaging.place_of_step(step uuid)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN (get_byte(uuid_send(step), 15) - 1);
-- called by public

CREATE OR REPLACE FUNCTION messaging.run_of_step(step uuid)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN (encode(set_byte(uuid_send(step), 15, 0), 'hex'::text))::uuid;
-- called by public

CREATE OR REPLACE FUNCTION messaging.step_id(run uuid, place integer)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN (encode(set_byte(uuid_send(run), 15, (place + 1)), 'hex'::text))::uuid;
-- called by public
comment on function messaging.step_id(uuid,integer) is 'The run''s id with the place of the node, which begins with 1, in its last octet. So a mail''s `source_id` is unique for the run and the node, and leads to both without a table.';

create schema deliverability;
grant usage on schema deliverability to mailwright_app;
grant usage on schema deliverability to mailwright_system;
comment on schema deliverability is 'Sending domains, bounces and complaints, and how fast mail may go to each destination (a mailbox provider, or a domain).';

create unlogged table deliverability.destination_budgets (
  destination text not null,
  mails double precision not null,
  refilled_at timestamp with time zone not null,
  constraint destination_budgets_pkey PRIMARY KEY (destination)
) with (fillfactor=50);
alter table deliverability.destination_budgets enable row level security;
alter table deliverability.destination_budgets force row level security;
create policy owner_rows on deliverability.destination_budgets for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on deliverability.destination_budgets for all to mailwright_system using (true) with check (true);
grant delete, select on deliverability.destination_budgets to mailwright_system;
comment on table deliverability.destination_budgets is 'Token buckets: the mails that may be sent to a destination now. Unlogged: a crash may lose the last second.';

create unlogged table deliverability.destination_lines (
  line text not null,
  destination text not null,
  ends_at timestamp with time zone not null,
  constraint destination_lines_pkey PRIMARY KEY (line, destination)
) with (fillfactor=50);
CREATE INDEX destination_lines_ended ON deliverability.destination_lines USING btree (ends_at);
alter table deliverability.destination_lines enable row level security;
alter table deliverability.destination_lines force row level security;
create policy owner_rows on deliverability.destination_lines for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on deliverability.destination_lines for all to mailwright_system using (true) with check (true);
grant delete, select on deliverability.destination_lines to mailwright_system;
comment on table deliverability.destination_lines is 'Up to when mails that wait for a destination are spread: each line (a campaign, the automations) has its own.';

create table deliverability.distrust_reports (
  delivery_id uuid not null,
  destination text not null,
  reported_at timestamp with time zone not null,
  constraint distrust_reports_pkey PRIMARY KEY (delivery_id)
);
CREATE INDEX distrust_reports_of_destination ON deliverability.distrust_reports USING btree (destination, reported_at);
CREATE INDEX distrust_reports_oldest ON deliverability.distrust_reports USING btree (reported_at);
alter table deliverability.distrust_reports enable row level security;
alter table deliverability.distrust_reports force row level security;
create policy owner_rows on deliverability.distrust_reports for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on deliverability.distrust_reports for all to mailwright_system using (true) with check (true);
grant delete, select on deliverability.distrust_reports to mailwright_system;
comment on table deliverability.distrust_reports is 'Reports, of which each is about another mail, that a destination does not trust us.';

create table deliverability.dkim_keys (
  id bigint not null generated always as identity,
  environment_id bigint not null,
  domain_id bigint not null,
  selector text not null,
  algorithm text not null,
  public_key text not null,
  private_key_box text not null,
  state text not null,
  created_at timestamp with time zone not null,
  retired_at timestamp with time zone,
  constraint dkim_keys_pkey PRIMARY KEY (id, environment_id),
  constraint dkim_keys_algorithm_check CHECK ((algorithm = ANY (ARRAY['rsa-sha256'::text, 'ed25519-sha256'::text]))),
  constraint dkim_keys_state_check CHECK ((state = ANY (ARRAY['NEXT'::text, 'ACTIVE'::text, 'RETIRED'::text]))),
  constraint dkim_keys_domain_id_environment_id_fkey FOREIGN KEY (domain_id, environment_id) REFERENCES deliverability.sending_domains(id, environment_id) ON DELETE CASCADE,
  constraint dkim_keys_domain_id_selector_environment_id_key UNIQUE (domain_id, selector, environment_id)
);
CREATE INDEX dkim_keys_of_environment ON deliverability.dkim_keys USING btree (environment_id);
CREATE INDEX dkim_keys_retired ON deliverability.dkim_keys USING btree (retired_at) WHERE (retired_at IS NOT NULL);
alter table deliverability.dkim_keys enable row level security;
alter table deliverability.dkim_keys force row level security;
create policy app_rows on deliverability.dkim_keys for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on deliverability.dkim_keys for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on deliverability.dkim_keys for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on deliverability.dkim_keys to mailwright_app;
grant delete, insert, select, update on deliverability.dkim_keys to mailwright_system;
comment on table deliverability.dkim_keys is 'The keys that a domain''s mail is signed with.';
comment on column deliverability.dkim_keys.public_key is 'Base64, as it stands in p=.';
comment on column deliverability.dkim_keys.private_key_box is 'PKCS #8 PEM, encrypted with the master key.';
comment on column deliverability.dkim_keys.state is 'NEXT is published but does not sign yet; RETIRED signs no more, but mail on its way may still be verified with it.';

create table deliverability.dns_records (
  id bigint not null generated always as identity,
  environment_id bigint not null,
  domain_id bigint not null,
  dkim_key_id bigint,
  purpose text not null,
  record_type text not null,
  host text not null,
  expected_value text not null,
  actual_value text,
  status text not null default 'PENDING'::text,
  failure_reason text,
  note text,
  failures integer not null default 0,
  failing_since timestamp with time zone,
  last_checked_at timestamp with time zone,
  previous_value text,
  constraint dns_records_pkey PRIMARY KEY (id, environment_id),
  constraint dns_records_purpose_check CHECK ((purpose = ANY (ARRAY['OWNERSHIP'::text, 'DKIM'::text, 'SPF'::text, 'MX'::text, 'DMARC'::text]))),
  constraint dns_records_record_type_check CHECK ((record_type = ANY (ARRAY['TXT'::text, 'CNAME'::text, 'MX'::text]))),
  constraint dns_records_status_check CHECK ((status = ANY (ARRAY['PENDING'::text, 'VERIFIED'::text, 'FAILED'::text]))),
  constraint dns_records_dkim_key_id_environment_id_fkey FOREIGN KEY (dkim_key_id, environment_id) REFERENCES deliverability.dkim_keys(id, environment_id) ON DELETE CASCADE,
  constraint dns_records_domain_id_environment_id_fkey FOREIGN KEY (domain_id, environment_id) REFERENCES deliverability.sending_domains(id, environment_id) ON DELETE CASCADE
) with (fillfactor=80);
CREATE INDEX dns_records_of_domain ON deliverability.dns_records USING btree (domain_id);
alter table deliverability.dns_records enable row level security;
alter table deliverability.dns_records force row level security;
create policy app_rows on deliverability.dns_records for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on deliverability.dns_records for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on deliverability.dns_records for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on deliverability.dns_records to mailwright_app;
grant delete, insert, select, update on deliverability.dns_records to mailwright_system;
comment on table deliverability.dns_records is 'What a customer''s DNS must say, and what it said.';
comment on column deliverability.dns_records.note is 'What could be better about a record that is right.';
comment on column deliverability.dns_records.failures is 'Definite failures without a success between them; failing_since is when the first of them was.';
comment on column deliverability.dns_records.previous_value is 'Expected before BOUNCE_HOST or SPF_INCLUDE changed; null once the new value was found.';

create table deliverability.domain_checks (
  id uuid not null,
  environment_id bigint not null,
  domain_id bigint not null,
  asked_by text not null,
  state text not null default 'PENDING'::text,
  created_at timestamp with time zone not null,
  constraint domain_checks_pkey PRIMARY KEY (id, environment_id),
  constraint domain_checks_asked_by_check CHECK ((asked_by = ANY (ARRAY['CLIENT'::text, 'SCHEDULE'::text]))),
  constraint domain_checks_state_check CHECK ((state = ANY (ARRAY['PENDING'::text, 'DONE'::text]))),
  constraint domain_checks_domain_id_environment_id_fkey FOREIGN KEY (domain_id, environment_id) REFERENCES deliverability.sending_domains(id, environment_id) ON DELETE CASCADE
);
CREATE INDEX domain_checks_created ON deliverability.domain_checks USING btree (created_at);
CREATE INDEX domain_checks_of_domain ON deliverability.domain_checks USING btree (domain_id);
alter table deliverability.domain_checks enable row level security;
alter table deliverability.domain_checks force row level security;
create policy app_rows on deliverability.domain_checks for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on deliverability.domain_checks for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on deliverability.domain_checks for all to mailwright_system using (true) with check (true);
grant insert, select, update on deliverability.domain_checks to mailwright_app;
grant delete, insert, select, update on deliverability.domain_checks to mailwright_system;
comment on table deliverability.domain_checks is 'Checks that were asked for, by a client who waits for it or by the schedule.';

create table deliverability.feedback_tokens (
  relay_id uuid not null,
  token text not null,
  environment_id bigint not null,
  good_until timestamp with time zone not null,
  constraint feedback_tokens_pkey PRIMARY KEY (relay_id, token, environment_id)
);
CREATE INDEX feedback_tokens_oldest ON deliverability.feedback_tokens USING btree (good_until);
alter table deliverability.feedback_tokens enable row level security;
alter table deliverability.feedback_tokens force row level security;
create policy app_rows on deliverability.feedback_tokens for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on deliverability.feedback_tokens for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on deliverability.feedback_tokens for all to mailwright_system using (true) with check (true);
grant insert, select on deliverability.feedback_tokens to mailwright_app;
grant delete, insert, select, update on deliverability.feedback_tokens to mailwright_system;
comment on table deliverability.feedback_tokens is 'What a provider whose signature does not cover its events gave each of its posts: a second post with the same is a replay. Kept until its age alone refuses it.';

create table deliverability.relays (
  environment_id bigint not null,
  id uuid not null,
  project_id bigint not null,
  relay_key text not null,
  name text not null,
  kind text not null,
  host text not null,
  port integer not null,
  tls text not null,
  username text,
  password_box text,
  options jsonb not null,
  streams text[] not null,
  priority integer not null,
  weight integer not null,
  connections integer not null,
  rate_per_second double precision,
  rate_until timestamp with time zone,
  signing text not null,
  status text not null,
  failures integer not null default 0,
  retry_at timestamp with time zone,
  last_error text,
  last_used_at timestamp with time zone,
  feedback_id uuid not null,
  feedback_key_box text,
  last_feedback_at timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint relays_pkey PRIMARY KEY (environment_id, id),
  constraint relays_check CHECK (((username IS NULL) = (password_box IS NULL))),
  constraint relays_connections_check CHECK ((connections >= 1)),
  constraint relays_kind_check CHECK ((kind = ANY (ARRAY['SMTP'::text, 'SES'::text, 'POSTMARK'::text, 'SENDGRID'::text, 'MAILGUN'::text, 'BREVO'::text]))),
  constraint relays_port_check CHECK (((port >= 1) AND (port <= 65535))),
  constraint relays_priority_check CHECK ((priority >= 1)),
  constraint relays_rate_per_second_check CHECK ((rate_per_second > (0)::double precision)),
  constraint relays_signing_check CHECK ((signing = ANY (ARRAY['OWN'::text, 'RELAY'::text]))),
  constraint relays_status_check CHECK ((status = ANY (ARRAY['ACTIVE'::text, 'PAUSED'::text, 'FAILING'::text]))),
  constraint relays_streams_check CHECK (((streams <@ ARRAY['OPT_IN'::text, 'CAMPAIGN'::text, 'AUTOMATION'::text, 'TRANSACTIONAL'::text, 'TEST'::text]) AND (cardinality(streams) > 0))),
  constraint relays_tls_check CHECK ((tls = ANY (ARRAY['IMPLICIT'::text, 'REQUIRED'::text, 'OPPORTUNISTIC'::text]))),
  constraint relays_weight_check CHECK (((weight >= 1) AND (weight <= 100))),
  constraint relays_environment_id_feedback_id_key UNIQUE (environment_id, feedback_id),
  constraint relays_environment_id_relay_key_key UNIQUE (environment_id, relay_key)
) with (fillfactor=80);
CREATE INDEX relays_failing ON deliverability.relays USING btree (retry_at) WHERE (status = 'FAILING'::text);
alter table deliverability.relays enable row level security;
alter table deliverability.relays force row level security;
create policy app_rows on deliverability.relays for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on deliverability.relays for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on deliverability.relays for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on deliverability.relays to mailwright_app;
grant delete, insert, select, update on deliverability.relays to mailwright_system;
comment on table deliverability.relays is 'Where live mail of an environment is handed over. One without a relay that takes a stream uses the installation''s.';
comment on column deliverability.relays.password_box is 'Encrypted with the master key, as feedback_key_box.';
comment on column deliverability.relays.options is 'What only some kinds take: configurationSet, messageStream, region, domain.';
comment on column deliverability.relays.priority is '1 is tried first; weight shares mail among those of the same priority.';
comment on column deliverability.relays.rate_until is 'Until when its rate is given out: workers take places of it a second at a time.';
comment on column deliverability.relays.signing is 'OWN: with the sending domain''s keys. RELAY: the relay signs, and we do not.';
comment on column deliverability.relays.retry_at is 'Of a FAILING relay: when one mail finds out whether it works again. `failures` in a row make the pause longer.';
comment on column deliverability.relays.feedback_id is 'In the token of its feedback address; another one makes a new address.';
comment on column deliverability.relays.feedback_key_box is 'With which the provider''s events are proved.';

create table deliverability.reports (
  delivery_id uuid not null,
  kind text not null,
  environment_id bigint not null,
  bounce_class text,
  basic_code integer,
  enhanced_code text,
  excerpt text,
  names_message boolean,
  reported_at timestamp with time zone not null,
  constraint reports_pkey PRIMARY KEY (delivery_id, kind, environment_id),
  constraint reports_bounce_class_check CHECK ((bounce_class = ANY (ARRAY['hard'::text, 'mailbox'::text, 'policy'::text, 'sender'::text, 'content'::text, 'network'::text, 'unknown'::text]))),
  constraint reports_check CHECK (((kind = 'BOUNCE'::text) = (bounce_class IS NOT NULL))),
  constraint reports_kind_check CHECK ((kind = ANY (ARRAY['BOUNCE'::text, 'COMPLAINT'::text])))
);
CREATE INDEX reports_oldest ON deliverability.reports USING btree (reported_at);
alter table deliverability.reports enable row level security;
alter table deliverability.reports force row level security;
create policy app_rows on deliverability.reports for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on deliverability.reports for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on deliverability.reports for all to mailwright_system using (true) with check (true);
grant insert, select on deliverability.reports to mailwright_app;
grant delete, insert, select, update on deliverability.reports to mailwright_system;
comment on table deliverability.reports is 'Bounces and complaints that came to a mail''s return path: the facts that were read, never the mail itself. The first report of a kind counts; more of the same change nothing.';
comment on column deliverability.reports.basic_code is 'Of the refusal, as enhanced_code; null where the report names none.';
comment on column deliverability.reports.excerpt is 'The refusal''s words without addresses.';
comment on column deliverability.reports.names_message is 'Whether the message that it returns is the delivery''s; null when it returns none.';

create table deliverability.sending_domains (
  id bigint not null generated always as identity,
  tenant_id bigint not null,
  project_id bigint not null,
  environment_id bigint not null,
  domain_name text not null,
  domain_type text not null,
  return_path_host text not null,
  status text not null,
  sending_allowed boolean not null,
  suspension_reason text,
  health_score integer,
  revision integer not null default 1,
  verification_attempts integer not null default 0,
  checks_started_at timestamp with time zone not null,
  last_checked_at timestamp with time zone,
  next_check_at timestamp with time zone,
  verified_at timestamp with time zone,
  expires_at timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint sending_domains_pkey PRIMARY KEY (id, environment_id),
  constraint sending_domains_domain_type_check CHECK ((domain_type = ANY (ARRAY['CUSTOM'::text, 'SYSTEM'::text]))),
  constraint sending_domains_health_score_check CHECK (((health_score >= 0) AND (health_score <= 100))),
  constraint sending_domains_status_check CHECK ((status = ANY (ARRAY['PENDING_VERIFICATION'::text, 'ACTIVE'::text, 'VERIFICATION_FAILED'::text, 'DEGRADED'::text, 'SUSPENDED'::text, 'BLOCKED'::text, 'EXPIRED'::text]))),
  constraint sending_domains_environment_id_key UNIQUE (environment_id)
) with (fillfactor=80);
CREATE INDEX sending_domains_due ON deliverability.sending_domains USING btree (next_check_at) WHERE (next_check_at IS NOT NULL);
CREATE INDEX sending_domains_named ON deliverability.sending_domains USING btree (domain_name);
alter table deliverability.sending_domains enable row level security;
alter table deliverability.sending_domains force row level security;
create policy app_rows on deliverability.sending_domains for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on deliverability.sending_domains for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on deliverability.sending_domains for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on deliverability.sending_domains to mailwright_app;
grant delete, insert, select, update on deliverability.sending_domains to mailwright_system;
comment on table deliverability.sending_domains is 'The domain that an environment sends from.';
comment on column deliverability.sending_domains.domain_name is 'Lower-case A-labels (RFC 5890).';
comment on column deliverability.sending_domains.revision is 'A PATCH begins a new one: a check that began before it says nothing about it.';
comment on column deliverability.sending_domains.next_check_at is 'Null: not until someone asks.';

create table deliverability.slowed_destinations (
  destination text not null,
  slowed_at timestamp with time zone not null,
  slow_until timestamp with time zone not null,
  constraint slowed_destinations_pkey PRIMARY KEY (destination)
);
alter table deliverability.slowed_destinations enable row level security;
alter table deliverability.slowed_destinations force row level security;
create policy owner_rows on deliverability.slowed_destinations for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on deliverability.slowed_destinations for all to mailwright_system using (true) with check (true);
grant delete, select on deliverability.slowed_destinations to mailwright_system;
comment on table deliverability.slowed_destinations is 'Destinations that have refused mail for our reputation.';

create table deliverability.tracking_hosts (
  project_id bigint not null,
  named_in bigint not null,
  host text not null,
  status text not null,
  last_error text,
  failures integer not null default 0,
  failing_since timestamp with time zone,
  checks_started_at timestamp with time zone not null,
  checked_at timestamp with time zone,
  verified_at timestamp with time zone,
  next_check_at timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint tracking_hosts_pkey PRIMARY KEY (project_id, host),
  constraint tracking_hosts_status_check CHECK ((status = ANY (ARRAY['PENDING'::text, 'VERIFIED'::text, 'FAILED'::text])))
) with (fillfactor=80);
CREATE INDEX tracking_hosts_due ON deliverability.tracking_hosts USING btree (next_check_at) WHERE (next_check_at IS NOT NULL);
CREATE INDEX tracking_hosts_verified ON deliverability.tracking_hosts USING btree (host) WHERE (verified_at IS NOT NULL);
alter table deliverability.tracking_hosts enable row level security;
alter table deliverability.tracking_hosts force row level security;
create policy app_rows on deliverability.tracking_hosts for all to mailwright_app using ((project_id = platform.project_id())) with check ((project_id = platform.project_id()));
create policy owner_rows on deliverability.tracking_hosts for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on deliverability.tracking_hosts for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on deliverability.tracking_hosts to mailwright_app;
grant delete, insert, select, update on deliverability.tracking_hosts to mailwright_system;
comment on table deliverability.tracking_hosts is 'Hosts of customers for links, pixels and pages, and whether they point here: the one that a project names now, and those that it named before, for the mails that were sent with them.';
comment on column deliverability.tracking_hosts.named_in is 'The environment in which the host was named: its checks run there.';
comment on column deliverability.tracking_hosts.host is 'Lower-case A-labels (RFC 5890).';
comment on column deliverability.tracking_hosts.failures is 'Definite failures without a success between them; failing_since is when the first of them was.';
comment on column deliverability.tracking_hosts.verified_at is 'When it was first seen to point here; null: never.';
comment on column deliverability.tracking_hosts.next_check_at is 'Null: not until someone asks.';

create table deliverability.warm_up_days (
  environment_id bigint not null,
  domain_id bigint not null,
  starts_at timestamp with time zone not null,
  mails integer not null,
  constraint warm_up_days_pkey PRIMARY KEY (domain_id, starts_at, environment_id),
  constraint warm_up_days_mails_check CHECK ((mails >= 0)),
  constraint warm_up_days_domain_id_environment_id_fkey FOREIGN KEY (domain_id, environment_id) REFERENCES deliverability.sending_domains(id, environment_id) ON DELETE CASCADE
) with (fillfactor=50);
CREATE INDEX warm_up_days_of_environment ON deliverability.warm_up_days USING btree (environment_id);
alter table deliverability.warm_up_days enable row level security;
alter table deliverability.warm_up_days force row level security;
create policy app_rows on deliverability.warm_up_days for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on deliverability.warm_up_days for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on deliverability.warm_up_days for all to mailwright_system using (true) with check (true);
grant insert, select, update on deliverability.warm_up_days to mailwright_app;
grant delete, insert, select, update on deliverability.warm_up_days to mailwright_system;
comment on table deliverability.warm_up_days is 'Mails of campaigns that a new domain has begun on a day of its warm-up, counted from its verification.';

CREATE OR REPLACE FUNCTION deliverability.find_tracking_host(wanted text)
 RETURNS TABLE(environment_ids bigint[], is_verified boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog'
AS $function$
  select array(select e.id from access.project_environments e where e.project_id = h.project_id), h.status = 'VERIFIED'
  from deliverability.tracking_hosts h join access.projects p on p.id = h.project_id
  where h.host = wanted and h.verified_at is not null
  order by (p.tracking_host = h.host) desc nulls last, h.verified_at desc limit 1
$function$;
-- called by mailwright_app
comment on function deliverability.find_tracking_host(text) is 'Whose a host is that points here or did: of several projects that named it, the one that names it now. A request by that host has no scope yet.';

CREATE OR REPLACE FUNCTION deliverability.line_place(start timestamp with time zone, place integer, rate double precision, slow_until timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog'
AS $function$
  select case
    when place <= s.slow then start + place * interval '1 minute'
    else greatest(start, slow_until) + make_interval(secs => coalesce((place - s.slow) / rate, 0))
  end
  from (select coalesce(greatest(floor(extract(epoch from slow_until - start) / 60), 0), 0)::int as slow) s
$function$;
-- called by public
comment on function deliverability.line_place(timestamp with time zone,integer,double precision,timestamp with time zone) is 'When the `place`-th mail of a line may go that begins at `start`: one a minute while the destination is slowed, then `rate` a second; without a rate all at once.';

CREATE OR REPLACE FUNCTION deliverability.report_distrust(of_delivery uuid, distrusting text, at timestamp with time zone, since timestamp with time zone, enough integer, until timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog'
AS $function$
declare
  reports int;
begin
  insert into deliverability.distrust_reports (delivery_id, destination, reported_at) values (of_delivery, distrusting, at)
  on conflict (delivery_id) do nothing;
  select count(*) into reports from (
    select 1 from deliverability.distrust_reports r
    where r.destination = distrusting and r.reported_at > since limit enough
  ) r;
  return reports >= enough and deliverability.slow_destination(distrusting, at, until);
end $function$;
-- called by mailwright_app
comment on function deliverability.report_distrust(uuid,text,timestamp with time zone,timestamp with time zone,integer,timestamp with time zone) is 'Keeps a report that came to the return path of a mail. Slows the destination down when there are `enough` since `since`; true when it was not slow before. Whoever got a mail can send a report on it: a single one must not slow all mail to their mailbox provider down.';

CREATE OR REPLACE FUNCTION deliverability.slow_destination(slowed text, at timestamp with time zone, until timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog'
AS $function$
declare
  was_slow boolean;
begin
  select s.slow_until > at into was_slow from deliverability.slowed_destinations s
  where s.destination = slowed for update;
  insert into deliverability.slowed_destinations as s (destination, slowed_at, slow_until) values (slowed, at, until)
  on conflict (destination) do update set slow_until = greatest(s.slow_until, excluded.slow_until),
    slowed_at = case when s.slow_until > at then s.slowed_at else at end;
  if was_slow then
    return false;
  end if;
  insert into deliverability.destination_budgets (destination, mails, refilled_at) values (slowed, 0, at)
  on conflict (destination) do update set mails = 0, refilled_at = excluded.refilled_at;
  return true;
end $function$;
-- called by mailwright_app, mailwright_system
comment on function deliverability.slow_destination(text,timestamp with time zone,timestamp with time zone) is 'Slows a destination down; true when it was not slow before.';

CREATE OR REPLACE FUNCTION deliverability.slowed_now(at timestamp with time zone)
 RETURNS TABLE(destination text, slow_until timestamp with time zone)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog'
AS $function$
  select s.destination, s.slow_until from deliverability.slowed_destinations s where s.slow_until > at
$function$;
-- called by mailwright_app
comment on function deliverability.slowed_now(timestamp with time zone) is 'Up to when destinations are slowed down, for who is about to send to them.';

CREATE OR REPLACE FUNCTION deliverability.take_budgets(line_name text, requests jsonb, at timestamp with time zone)
 RETURNS TABLE(destination text, granted integer, places timestamp with time zone[], slow_until timestamp with time zone)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog'
 SET synchronous_commit TO 'off'
AS $function$
#variable_conflict use_column
begin
  if not exists (
    select 1 from jsonb_to_recordset(requests) as r(destination text, rate double precision)
    where r.rate is not null
      or exists (select 1 from deliverability.slowed_destinations s where s.destination = r.destination and s.slow_until > at)
  ) then
    return;
  end if;
  insert into deliverability.destination_budgets (destination, mails, refilled_at)
  select r.destination, case when s.destination is null then r.burst else 1 end, at
  from jsonb_to_recordset(requests) as r(destination text, rate double precision, burst double precision)
  left join deliverability.slowed_destinations s on s.destination = r.destination and s.slow_until > at
  where (r.rate is not null or s.destination is not null)
    and not exists (select 1 from deliverability.destination_budgets b where b.destination = r.destination)
  order by r.destination
  on conflict do nothing;
  -- The statement after this one sees what those had written that were waited for.
  perform from deliverability.destination_budgets b
  where b.destination in (select r.destination from jsonb_to_recordset(requests) as r(destination text))
  order by b.destination for update;
  return query
  with asked as (
    select r.destination, r.wanted, r.rate as usual_rate, s.slow_until,
      case when s.destination is null then r.rate else 1 / 60.0::double precision end as rate,
      case when s.destination is null then r.burst else 1 end as burst,
      case when s.destination is null then r.kept else 0 end as kept
    from jsonb_to_recordset(requests)
      as r(destination text, wanted int, rate double precision, burst double precision, kept double precision)
    left join deliverability.slowed_destinations s on s.destination = r.destination and s.slow_until > at
    where r.rate is not null or s.destination is not null
  ), filled as (
    select a.*, greatest(b.refilled_at, at) as refilled_at, least(a.burst,
        b.mails + greatest(extract(epoch from at - b.refilled_at), 0)::double precision * a.rate) as mails
    from asked a join deliverability.destination_budgets b on b.destination = a.destination
  ), counted as materialized (
    -- The little more makes up for what rounding takes.
    select f.*, greatest(least(f.wanted, floor(f.mails - f.kept + 0.000001)::int), 0) as granted from filled f
  ), paid as (
    update deliverability.destination_budgets b set mails = c.mails - c.granted, refilled_at = c.refilled_at
    from counted c where b.destination = c.destination
  ), waiting as materialized (
    select c.*, c.wanted - c.granted as more, greatest(l.ends_at, at) as starts_at
    from counted c
    left join deliverability.destination_lines l on l.line = line_name and l.destination = c.destination
    where c.wanted > c.granted
  ), lined_up as (
    insert into deliverability.destination_lines as l (line, destination, ends_at)
    select line_name, w.destination, deliverability.line_place(w.starts_at, w.more, w.usual_rate, w.slow_until)
    from waiting w
    on conflict (line, destination) do update set ends_at = excluded.ends_at
  )
  select c.destination, c.granted, array(
      select deliverability.line_place(w.starts_at, n, w.usual_rate, w.slow_until)
      from waiting w cross join generate_series(1, w.more) n
      where w.destination = c.destination order by n
    ), c.slow_until
  from counted c;
end $function$;
-- called by mailwright_app
comment on function deliverability.take_budgets(text,jsonb,timestamp with time zone) is 'Takes mails for destinations out of their budgets, all of a batch at once. `requests` are {destination, wanted, rate, burst, kept}: `rate` mails a second, null where only a slow-down limits; `kept` of the burst are left for others. A destination that is not in the answer has no limit now. `places` are the moments at which to ask again for the others. Nothing is lost when a crash undoes it.';

create schema webhooks;
grant usage on schema webhooks to mailwright_app;
grant usage on schema webhooks to mailwright_system;
comment on schema webhooks is 'Webhook endpoints of project environments, the events that are posted to them, and how that went.';

create table webhooks.attempts (
  delivery_id uuid not null,
  environment_id bigint not null,
  attempt integer not null,
  at timestamp with time zone not null,
  duration_ms integer not null,
  status integer,
  error text,
  constraint attempts_pkey PRIMARY KEY (delivery_id, attempt, environment_id),
  constraint attempts_delivery_id_environment_id_fkey FOREIGN KEY (delivery_id, environment_id) REFERENCES webhooks.deliveries(id, environment_id) ON DELETE CASCADE
);
alter table webhooks.attempts enable row level security;
alter table webhooks.attempts force row level security;
create policy app_rows on webhooks.attempts for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on webhooks.attempts for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on webhooks.attempts for all to mailwright_system using (true) with check (true);
grant select on webhooks.attempts to mailwright_app;
grant delete, insert, select, update on webhooks.attempts to mailwright_system;
grant update (error) on webhooks.attempts to mailwright_app;
comment on table webhooks.attempts is 'The requests that a delivery took.';

create table webhooks.deliveries (
  id uuid not null,
  environment_id bigint not null,
  endpoint_id uuid not null,
  event_id uuid not null,
  state text not null default 'PENDING'::text,
  attempts integer not null default 0,
  next_attempt_at timestamp with time zone not null,
  last_status integer,
  last_error text,
  created_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  event_type text,
  constraint deliveries_pkey PRIMARY KEY (id, environment_id),
  constraint deliveries_state_check CHECK ((state = ANY (ARRAY['PENDING'::text, 'DELIVERED'::text, 'FAILED'::text]))),
  constraint deliveries_endpoint_id_environment_id_fkey FOREIGN KEY (endpoint_id, environment_id) REFERENCES webhooks.endpoints(id, environment_id) ON DELETE CASCADE,
  constraint deliveries_event_id_environment_id_fkey FOREIGN KEY (event_id, environment_id) REFERENCES webhooks.events(id, environment_id) ON DELETE CASCADE
) with (fillfactor=70);
CREATE INDEX deliveries_failed_of_endpoint ON webhooks.deliveries USING btree (endpoint_id, created_at DESC, id DESC) WHERE (state = 'FAILED'::text);
CREATE INDEX deliveries_of_endpoint ON webhooks.deliveries USING btree (endpoint_id, created_at DESC, id DESC);
CREATE INDEX deliveries_of_event ON webhooks.deliveries USING btree (event_id);
CREATE INDEX deliveries_of_type ON webhooks.deliveries USING btree (endpoint_id, event_type, created_at DESC, id DESC);
CREATE INDEX deliveries_open ON webhooks.deliveries USING btree (next_attempt_at) WHERE (finished_at IS NULL);
CREATE INDEX deliveries_open_of_endpoint ON webhooks.deliveries USING btree (endpoint_id, next_attempt_at) WHERE (state = 'PENDING'::text);
alter table webhooks.deliveries enable row level security;
alter table webhooks.deliveries force row level security;
create policy app_rows on webhooks.deliveries for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on webhooks.deliveries for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on webhooks.deliveries for all to mailwright_system using (true) with check (true);
grant insert, select, update on webhooks.deliveries to mailwright_app;
grant delete, insert, select, update on webhooks.deliveries to mailwright_system;
comment on table webhooks.deliveries is 'One event to one endpoint.';
comment on column webhooks.deliveries.finished_at is 'Set with the last state.';
comment on column webhooks.deliveries.event_type is 'Type of its event; null where a program of the version before wrote it, until the row is let go.';

create table webhooks.endpoints (
  id uuid not null,
  environment_id bigint not null,
  project_id bigint not null,
  url text not null,
  description text,
  event_types text[] not null default '{}'::text[],
  secret text not null,
  previous_secret text,
  previous_secret_until timestamp with time zone,
  status text not null,
  disabled_reason text,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint endpoints_pkey PRIMARY KEY (id, environment_id),
  constraint endpoints_status_check CHECK ((status = ANY (ARRAY['ENABLED'::text, 'DISABLED'::text])))
);
CREATE INDEX endpoints_of_environment ON webhooks.endpoints USING btree (environment_id, id);
alter table webhooks.endpoints enable row level security;
alter table webhooks.endpoints force row level security;
create policy app_rows on webhooks.endpoints for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on webhooks.endpoints for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on webhooks.endpoints for all to mailwright_system using (true) with check (true);
grant delete, insert, select, update on webhooks.endpoints to mailwright_app;
grant delete, insert, select, update on webhooks.endpoints to mailwright_system;
comment on table webhooks.endpoints is 'URLs that events are posted to.';
comment on column webhooks.endpoints.project_id is 'The project that the secret is encrypted for.';
comment on column webhooks.endpoints.event_types is 'The types of events that are posted to it; empty = all.';
comment on column webhooks.endpoints.secret is 'Encrypted. The previous one signs beside it until its end, so that a receiver can change over.';

create table webhooks.events (
  id uuid not null,
  environment_id bigint not null,
  type text not null,
  subscriber_id uuid,
  data jsonb,
  occurred_at timestamp with time zone not null,
  sequence bigint,
  traceparent text,
  constraint events_pkey PRIMARY KEY (id, environment_id)
);
CREATE UNIQUE INDEX events_in_sequence ON webhooks.events USING btree (environment_id, sequence) WHERE (sequence IS NOT NULL);
CREATE INDEX events_of_message ON webhooks.events USING btree (environment_id, ((data ->> 'messageId'::text))) WHERE starts_with(type, 'message.'::text);
CREATE INDEX events_of_subscriber ON webhooks.events USING btree (environment_id, subscriber_id, sequence) WHERE (subscriber_id IS NOT NULL);
CREATE INDEX events_of_type ON webhooks.events USING btree (environment_id, type, sequence) WHERE (sequence IS NOT NULL);
CREATE INDEX events_oldest ON webhooks.events USING btree (occurred_at);
CREATE INDEX events_unnumbered ON webhooks.events USING btree (environment_id, occurred_at, id) WHERE (sequence IS NULL);
alter table webhooks.events enable row level security;
alter table webhooks.events force row level security;
create policy app_rows on webhooks.events for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on webhooks.events for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on webhooks.events for all to mailwright_system using (true) with check (true);
grant insert, select, update on webhooks.events to mailwright_app;
grant delete, insert, select, update on webhooks.events to mailwright_system;
comment on table webhooks.events is 'Events that are posted to endpoints.';
comment on column webhooks.events.data is 'Null once the person was erased.';
comment on column webhooks.events.sequence is 'Its place among the events of the environment, without gaps. Null until somebody tells of it: only what is committed is numbered, under the lock of webhooks.sequences, so that nothing comes later with a smaller number.';
comment on column webhooks.events.traceparent is 'The span in which the event happened: its posts are parts of it.';

create table webhooks.sequences (
  environment_id bigint not null,
  last bigint not null,
  constraint sequences_pkey PRIMARY KEY (environment_id)
);
alter table webhooks.sequences enable row level security;
alter table webhooks.sequences force row level security;
create policy app_rows on webhooks.sequences for all to mailwright_app using (((environment_id = ( SELECT platform.environment_id() AS environment_id)) IS TRUE)) with check ((environment_id = ( SELECT platform.environment_id() AS environment_id)));
create policy owner_rows on webhooks.sequences for all to mailwright_owner using (platform.is_owner_at_work()) with check (platform.is_owner_at_work());
create policy system_rows on webhooks.sequences for all to mailwright_system using (true) with check (true);
grant insert, select, update on webhooks.sequences to mailwright_app;
grant delete, insert, select, update on webhooks.sequences to mailwright_system;
comment on table webhooks.sequences is 'The number of the last event of an environment. Locked by whoever numbers events, never by whoever publishes them.';
