-- Roles without login: a connection takes them with SET ROLE, so one DATABASE_URL is enough. A role belongs to the
-- server, so another database of it may have made it before, or be making it now.
do $$
declare
  wanted text;
begin
  foreach wanted in array array['mailwright_app', 'mailwright_system', 'mailwright_owner'] loop
    begin
      if not exists (select 1 from pg_roles where rolname = wanted) then
        execute format('create role %I nologin', wanted);
      end if;
    exception when duplicate_object or unique_violation then null;
    end;
  end loop;
  execute format('grant mailwright_app, mailwright_system, mailwright_owner to %I', current_user);
  -- The owner may become our roles, and has none of their rights before it did. Before 16 a membership has no say in that.
  if current_setting('server_version_num')::int >= 160000 and not (select rolsuper from pg_roles where rolname = current_user) then
    execute format('grant mailwright_app, mailwright_system to %I with inherit false, set true', current_user);
  end if;
end $$;

-- The migrator has made the table before it applies this file.
alter table public.schema_migrations add column digest text;
comment on column public.schema_migrations.digest is 'SHA-256 of the file, in hex: a change of an applied file is refused.';

create schema platform;
comment on schema platform is 'What all contexts build on: the scope of row-level security, events and jobs, rate limits, idempotency.';
grant usage on schema platform to mailwright_app, mailwright_system;

create table platform.outbox (
  id uuid primary key,
  environment_id bigint,
  event_name text not null,
  payload jsonb not null,
  created_at timestamptz not null default now()
);
comment on table platform.outbox is
  'Events, each written in the transaction in which it happened. The relay turns each into one inbox row per handler '
  'and removes it.';

create table platform.inbox (
  id bigint generated always as identity primary key,
  environment_id bigint,
  event_id uuid not null,
  handler text not null,
  queue text not null,
  payload jsonb not null,
  state text not null default 'PENDING' check (state in ('PENDING', 'DONE', 'CANCELLED', 'FAILED')),
  run_at timestamptz not null,
  enqueued_at timestamptz,
  attempts int not null default 0,
  failures int not null default 0,
  lease_token uuid,
  lease_until timestamptz,
  last_error text,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  unique (event_id, handler)
) with (fillfactor = 70);
comment on table platform.inbox is
  'Jobs: one row per event and handler. The queue holds only the id. The handler finishes the row in its own '
  'transaction, so a repeated job finds nothing to do.';
create index inbox_open on platform.inbox (run_at) where finished_at is null;
create index inbox_finished on platform.inbox (finished_at) where finished_at is not null;

create table platform.schedule (
  name text primary key,
  last_run_at timestamptz not null
);
comment on table platform.schedule is
  'Periodic tasks, which every worker offers to run and one does: each at most once per interval.';

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
comment on table platform.idempotency_keys is 'Requests with an Idempotency-Key, and the responses that a repetition gets again.';
comment on column platform.idempotency_keys.status is 'The response''s; null while the first request is being processed.';
comment on column platform.idempotency_keys.locked_until is 'Until when the first request alone may be processed.';
create index idempotency_keys_expiry on platform.idempotency_keys (expires_at);

create unlogged table platform.rate_limit_windows (
  key text primary key,
  hits int not null,
  window_ends_at timestamptz not null
) with (fillfactor = 50);
comment on table platform.rate_limit_windows is
  'Fixed windows of the rate limits. Unlogged: a crash may lose a minute''s counts.';

create function platform.environment_id() returns bigint language sql stable parallel safe
  return nullif(current_setting('mailwright.environment_id', true), '')::bigint;
create function platform.project_id() returns bigint language sql stable parallel safe
  return nullif(current_setting('mailwright.project_id', true), '')::bigint;
create function platform.tenant_id() returns bigint language sql stable parallel safe
  return nullif(current_setting('mailwright.tenant_id', true), '')::bigint;
comment on function platform.environment_id is 'The project environment of the transaction''s scope; null without one.';
comment on function platform.project_id is 'The project of the transaction''s scope; null without one.';
comment on function platform.tenant_id is 'The tenant of the transaction''s scope; null without one.';

create function platform.is_owner_at_work() returns boolean language sql stable parallel safe
  return current_setting('search_path') = 'pg_catalog' or coalesce(current_setting('mailwright.owner', true), '') = 'on';
comment on function platform.is_owner_at_work is
  'Whether the owner of the tables sees rows: in functions with definer''s rights, each of which answers one question '
  '(they and nothing else run with pg_catalog as their whole search path), and where a session says '
  '`set mailwright.owner = ''on''`, as migrations do. Foreign keys are checked past row-level security.';

-- `is true`, since a policy keeps rows away and must not find them: as a plain comparison it offers each look-up by id the
-- index on the environment, which costs the same by the statistics of a small table, and reads the whole environment. A
-- subquery, since the setting is read once then, and not for each row.
create procedure platform.protect(target regclass, app_privileges text) language plpgsql as $$
begin
  execute format('alter table %s enable row level security', target);
  execute format(
    'create policy app_rows on %s to mailwright_app using ((environment_id = (select platform.environment_id())) is true) '
    'with check (environment_id = (select platform.environment_id()))', target);
  execute format('create policy system_rows on %s to mailwright_system using (true) with check (true)', target);
  execute format('grant %s on %s to mailwright_app', app_privileges, target);
  execute format('grant select, insert, update, delete on %s to mailwright_system', target);
end $$;
comment on procedure platform.protect is
  'Puts a table under row-level security: the app has the named privileges on the rows of its environment, the system '
  'all on all rows.';

create procedure platform.force_policies() language plpgsql as $$
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
end $$;
comment on procedure platform.force_policies is
  'Holds the owner of the tables to row-level security too; superusers alone still pass. Called after each migration, for '
  'the tables that it made, and by each `migrate`, since a dump may be restored without its owners.';
revoke all on procedure platform.force_policies from public;

call platform.protect('platform.inbox', 'select, update');
call platform.protect('platform.idempotency_keys', 'select, insert, update, delete');

alter table platform.outbox enable row level security;
create policy app_writes on platform.outbox for insert to mailwright_app
  with check (environment_id = platform.environment_id());
create policy system_rows on platform.outbox to mailwright_system using (true) with check (true);
grant insert on platform.outbox to mailwright_app;
-- UPDATE, since the relay locks the rows that it takes.
grant select, insert, update, delete on platform.outbox to mailwright_system;

alter table platform.schedule enable row level security;
create policy system_rows on platform.schedule to mailwright_system using (true) with check (true);
grant select, insert, update on platform.schedule to mailwright_system;

alter table platform.rate_limit_windows enable row level security;
create policy system_rows on platform.rate_limit_windows to mailwright_system using (true) with check (true);
grant select, delete on platform.rate_limit_windows to mailwright_system;

-- When the statement came to the server, since a transaction may have begun long before; in milliseconds, so that what a
-- program has read is what is written.
-- Not in SQL, which the planner puts in its place: Citus takes no `coalesce` of what is not immutable in an UPDATE.
create function platform.now() returns timestamptz language plpgsql stable parallel safe cost 5 as $$
begin
  return date_trunc('milliseconds',
    coalesce(nullif(current_setting('mailwright.now', true), '')::timestamptz, statement_timestamp()));
end $$;
comment on function platform.now is
  'The time that all processes share: leases, due times, windows. A test says what time it is by `mailwright.now`.';
grant execute on function platform.now to mailwright_app, mailwright_system;

-- PostgreSQL's own from 18 on, before that the same by hand.
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
comment on function platform.new_id is
  'A UUID of version 7 for a row that SQL makes (RFC 9562 §5.7: 48 bits of milliseconds, version and variant, the rest '
  'random).';

-- The latest month is the model: its columns, checks, indexes and storage parameters. CREATE TABLE … PARTITION OF locks the
-- whole table against everybody, and so does ATTACH PARTITION beside a default partition. So a month is made as a table of
-- its own and attached, which neither readers nor writers notice. Foreign keys and triggers come with the attaching, and
-- nothing is validated, since the table is empty. If the lock is not free at once it gives up: those who came later would
-- wait behind. Without a default partition, DETACH … CONCURRENTLY works too.
create function platform.ensure_month(parent regclass, month date) returns void
  language plpgsql security definer set search_path = pg_catalog set lock_timeout = '250ms' as $$
declare
  first date := date_trunc('month', month)::date;
  name text := format('%I.%I',
    (select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = parent),
    (select c.relname from pg_class c where c.oid = parent) || to_char(first, '_YYYYMM'));
  model oid;
  settings text;
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
    execute format('alter table %s attach partition %s for values from (%L) to (%L)',
      parent, name, first, (first + interval '1 month')::date);
  end if;
end $$;
comment on function platform.ensure_month is
  'Makes the partition of a month unless it is there. Runs as the owner, since only the owner may create it.';
revoke all on function platform.ensure_month from public;
grant execute on function platform.ensure_month to mailwright_system;

create function platform.ensure_months(parent regclass, until date) returns void
  language plpgsql security definer set search_path = pg_catalog as $$
declare
  earliest text := (
    select substring(pg_get_expr(c.relpartbound, c.oid) from 'FROM \(MINVALUE\) TO \(''(\d{4}-\d\d-\d\d)')
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = parent and pg_get_expr(c.relpartbound, c.oid) like '%MINVALUE%');
begin
  perform platform.ensure_month(parent, month::date)
  from generate_series(earliest::date, until, interval '1 month') month;
end $$;
comment on function platform.ensure_months is
  'Makes the partitions of all months from the end of `…_earlier` up to that of `until`, those included that were detached and '
  'moved away. A worker calls it every hour.';
revoke all on function platform.ensure_months from public;
grant execute on function platform.ensure_months to mailwright_system;

-- Hits that come while another of the same key is being counted are counted together: each would wait for the lock on
-- the window's row.
create function platform.hit_rate_limits(limit_key text, window_seconds int, times int, out hits int,
    out window_ends_at timestamptz)
  language sql security definer set search_path = pg_catalog set synchronous_commit = off as $$
  insert into platform.rate_limit_windows as w (key, hits, window_ends_at)
  values (limit_key, times, clock_timestamp() + make_interval(secs => window_seconds))
  on conflict (key) do update set
    hits = case when w.window_ends_at <= clock_timestamp() then times else w.hits + times end,
    window_ends_at = case when w.window_ends_at <= clock_timestamp()
      then clock_timestamp() + make_interval(secs => window_seconds) else w.window_ends_at end
  returning w.hits, w.window_ends_at
$$;
comment on function platform.hit_rate_limits is
  'Counts hits and tells how many the running window has. Called before anyone is authenticated, hence by definer''s rights on '
  'a table that the app cannot read.';
revoke all on function platform.hit_rate_limits from public;
grant execute on function platform.hit_rate_limits to mailwright_app;
