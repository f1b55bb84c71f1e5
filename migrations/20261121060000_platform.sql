-- Roles, row-level security's helpers, and the tables of libs/platform.
--
-- mailwright_app     requests and jobs of one project environment; sees only that environment's rows
-- mailwright_system  workers' and operators' work across environments
-- Both are roles without login: a connection takes them with SET ROLE, so one DATABASE_URL is enough.

do $$
begin
  if not exists (select from pg_roles where rolname = 'mailwright_app') then
    create role mailwright_app nologin;
  end if;
  if not exists (select from pg_roles where rolname = 'mailwright_system') then
    create role mailwright_system nologin;
  end if;
exception when duplicate_object or unique_violation then null; -- another database of this server was faster
end $$;
do $$
begin
  execute format('grant mailwright_app, mailwright_system to %I', current_user);
end $$;

create schema platform;
grant usage on schema platform to mailwright_app, mailwright_system;

create function platform.environment_id() returns bigint language sql stable parallel safe
  return nullif(current_setting('mailwright.environment_id', true), '')::bigint;
create function platform.project_id() returns bigint language sql stable parallel safe
  return nullif(current_setting('mailwright.project_id', true), '')::bigint;
create function platform.tenant_id() returns bigint language sql stable parallel safe
  return nullif(current_setting('mailwright.tenant_id', true), '')::bigint;

-- A UUID of version 7 for rows that SQL makes: PostgreSQL's own from 18 on, before that the same by hand
-- (RFC 9562 §5.7: 48 bits of milliseconds, version and variant, the rest random).
do $do$
begin
  if to_regprocedure('pg_catalog.uuidv7()') is not null then
    execute 'create function platform.new_id() returns uuid language sql volatile parallel safe return uuidv7()';
  else
    execute $body$
      create function platform.new_id() returns uuid language sql volatile parallel safe return
        encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
          placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
          52, 1), 53, 1), 'hex')::uuid
    $body$;
  end if;
end $do$;

-- One call a table: row-level security by environment for the app, everything for the system.
create procedure platform.protect(target regclass, app_privileges text) language plpgsql as $$
begin
  execute format('alter table %s enable row level security', target);
  execute format(
    'create policy app_rows on %s to mailwright_app using (environment_id = (select platform.environment_id())) '
    'with check (environment_id = (select platform.environment_id()))', target);
  execute format('create policy system_rows on %s to mailwright_system using (true) with check (true)', target);
  execute format('grant %s on %s to mailwright_app', app_privileges, target);
  execute format('grant select, insert, update, delete on %s to mailwright_system', target);
end $$;

-- Monthly partitions of a table that is partitioned by a date or a time. Runs as the owner, since only
-- the owner may create them; the worker calls it every day.
create function platform.ensure_month(parent regclass, month date) returns void
  language plpgsql security definer set search_path = pg_catalog as $$
declare
  first date := date_trunc('month', month)::date;
  partition text := format('%I.%I',
    (select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = parent),
    (select c.relname from pg_class c where c.oid = parent) || to_char(first, '_YYYYMM'));
begin
  if not exists (select from pg_partitioned_table where partrelid = parent) then
    raise exception '% is not partitioned', parent;
  end if;
  if to_regclass(partition) is null then
    execute format('create table if not exists %s partition of %s for values from (%L) to (%L)',
      partition, parent, first, (first + interval '1 month')::date);
  end if;
end $$;
revoke all on function platform.ensure_month from public;
grant execute on function platform.ensure_month to mailwright_system;

-- What happened, written in the transaction in which it happened. The relay turns each row into one
-- inbox row per handler and removes it.
create table platform.outbox (
  id uuid primary key,
  environment_id bigint,
  event_name text not null,
  payload jsonb not null,
  created_at timestamptz not null default now()
);
alter table platform.outbox enable row level security;
create policy app_writes on platform.outbox for insert to mailwright_app
  with check (environment_id = (select platform.environment_id()));
create policy system_rows on platform.outbox to mailwright_system using (true) with check (true);
grant insert on platform.outbox to mailwright_app;
-- UPDATE, since the relay locks the rows that it takes.
grant select, insert, update, delete on platform.outbox to mailwright_system;
create function platform.announce_outbox() returns trigger language plpgsql as $$
begin
  perform pg_notify('mailwright_outbox', '');
  return null;
end $$;
create trigger announce after insert on platform.outbox for each statement execute function platform.announce_outbox();

-- What is to be handled: one row per (event, handler). The queue holds only its id. The handler finishes
-- it in its own transaction, so that a repeated job finds nothing to do.
create table platform.inbox (
  id bigint generated always as identity primary key,
  event_id uuid not null,
  handler text not null,
  queue text not null,
  environment_id bigint,
  payload jsonb not null,
  run_at timestamptz not null,
  attempts int not null default 0,
  failures int not null default 0,
  enqueued_at timestamptz,
  lease_token uuid,
  lease_until timestamptz,
  last_error text,
  state text not null default 'PENDING' check (state in ('PENDING', 'DONE', 'CANCELLED', 'FAILED')),
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  unique (event_id, handler)
) with (fillfactor = 70);
create index inbox_open on platform.inbox (run_at) where finished_at is null;
create index inbox_finished on platform.inbox (finished_at) where finished_at is not null;
alter table platform.inbox enable row level security;
create policy app_rows on platform.inbox to mailwright_app
  using (environment_id = (select platform.environment_id()))
  with check (environment_id = (select platform.environment_id()));
create policy system_rows on platform.inbox to mailwright_system using (true) with check (true);
grant select, update on platform.inbox to mailwright_app;
grant select, insert, update, delete on platform.inbox to mailwright_system;

-- Work that every worker offers to do and one does: each name at most once per interval.
create table platform.schedule (
  name text primary key,
  last_run_at timestamptz not null
);
alter table platform.schedule enable row level security;
create policy system_rows on platform.schedule to mailwright_system using (true) with check (true);
grant select, insert, update on platform.schedule to mailwright_system;

create table platform.idempotency_keys (
  environment_id bigint not null,
  api_key_id uuid not null,
  method text not null,
  path text not null,
  key text not null,
  body_hash bytea not null,
  status int,
  headers jsonb,
  body text,
  locked_until timestamptz not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (environment_id, api_key_id, method, path, key)
);
create index idempotency_keys_expiry on platform.idempotency_keys (expires_at);
call platform.protect('platform.idempotency_keys', 'select, insert, update, delete');

-- Fixed windows of the rate limit. Unlogged: a crash may forget a minute's counts, never a row of the truth.
create unlogged table platform.rate_limit_windows (
  key text primary key,
  hits int not null,
  window_ends_at timestamptz not null
) with (fillfactor = 50);
alter table platform.rate_limit_windows enable row level security;
create policy system_rows on platform.rate_limit_windows to mailwright_system using (true) with check (true);
grant select, delete on platform.rate_limit_windows to mailwright_system;

-- Counts one hit and tells how many the running window has. Callable before anyone is authenticated,
-- hence by definer's rights on a table that the app cannot read.
create function platform.hit_rate_limit(limit_key text, window_seconds int, out hits int, out window_ends_at timestamptz)
  language sql security definer set search_path = pg_catalog set synchronous_commit = off as $$
  insert into platform.rate_limit_windows as w (key, hits, window_ends_at)
  values (limit_key, 1, clock_timestamp() + make_interval(secs => window_seconds))
  on conflict (key) do update set
    hits = case when w.window_ends_at <= clock_timestamp() then 1 else w.hits + 1 end,
    window_ends_at = case when w.window_ends_at <= clock_timestamp()
      then clock_timestamp() + make_interval(secs => window_seconds) else w.window_ends_at end
  returning w.hits, w.window_ends_at
$$;
revoke all on function platform.hit_rate_limit from public;
grant execute on function platform.hit_rate_limit to mailwright_app;
