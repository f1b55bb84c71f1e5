create schema retired;
comment on schema retired is
  'Partitions that were let go: detached, written to the archive if there is one, then dropped. Empty but for that.';
grant usage on schema retired to mailwright_system;

create table platform.retention_horizons (
  kind text not null check (kind in ('DELIVERIES', 'STEPS', 'EVENTS')),
  environment_id bigint,
  kept_from date not null,
  unique nulls not distinct (kind, environment_id)
);
comment on table platform.retention_horizons is
  'From which day (UTC) on rows are kept. Those of before are let go: nobody reads them any more, whether they are removed yet or '
  'not. It only moves forward.';
comment on column platform.retention_horizons.kind is
  'DELIVERIES with their engagement, by the day on which the source was queued; STEPS of automations, by the day on which the '
  'run began; EVENTS of mails and of subscribers, by their day.';
comment on column platform.retention_horizons.environment_id is 'Null: of all environments.';
alter table platform.retention_horizons enable row level security;
create policy system_rows on platform.retention_horizons to mailwright_system using (true) with check (true);
grant select, insert, update on platform.retention_horizons to mailwright_system;

create function platform.kept_from(of_kind text, of_environment bigint) returns date
  language sql stable security definer set search_path = pg_catalog as $$
  select coalesce(max(h.kept_from), '-infinity') from platform.retention_horizons h
  where h.kind = of_kind and (h.environment_id is null or h.environment_id = of_environment)
$$;
comment on function platform.kept_from is
  'From which day on an environment''s rows of a kind are kept. By definer''s rights, since the installation''s own horizons are '
  'of no environment.';
revoke all on function platform.kept_from from public;
grant execute on function platform.kept_from to mailwright_app, mailwright_system;

-- DETACH … CONCURRENTLY is for the owner alone and cannot be called from a function. So it is detached in the plain way, which
-- locks the whole table against everybody for the moment in which the catalogue changes. If the lock is not free at once it
-- gives up: those who came later would wait behind.
create function platform.retire_oldest(parent regclass) returns boolean language plpgsql security definer
  set search_path = pg_catalog set lock_timeout = '250ms' set timezone = 'UTC' set datestyle = 'ISO'
  set enable_seqscan = off as $$
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
end $$;
comment on function platform.retire_oldest is
  'Detaches the oldest month of a table, if all of it is let go, and puts it into the schema `retired`; `…_earlier` reaches up to '
  'its end from then on. What has come late into `…_earlier` goes before it in the same way. False when there is nothing to '
  'do, or something waits in `retired`. Runs as the owner, since only the owner may detach.';
revoke all on function platform.retire_oldest from public;
grant execute on function platform.retire_oldest to mailwright_system;

create function platform.drop_retired(retired_name text) returns void language plpgsql security definer
  set search_path = pg_catalog set lock_timeout = '250ms' as $$
begin
  execute format('drop table retired.%I', retired_name);
end $$;
comment on function platform.drop_retired is 'Drops a table of the schema `retired`, and no other. Runs as the owner.';
revoke all on function platform.drop_retired from public;
grant execute on function platform.drop_retired to mailwright_system;

alter table messaging.delivery_engagement add column unsubscribed_at timestamptz, add column complained_at timestamptz;
comment on column messaging.delivery_engagement.unsubscribed_at is
  'Set when the event is let go, complained_at as well: that a mail was answered is counted once.';

create table messaging.settled_figures (
  campaign_id uuid not null,
  environment_id bigint not null,
  links jsonb,
  providers jsonb,
  languages jsonb,
  domains jsonb,
  primary key (campaign_id, environment_id),
  foreign key (campaign_id, environment_id) references messaging.campaigns on delete cascade
);
comment on table messaging.settled_figures is
  'What was counted of a campaign for the last time, before what it was counted from was let go.';
comment on column messaging.settled_figures.links is 'People by link, from its clicks; null while those are kept.';
comment on column messaging.settled_figures.providers is
  'Mails by provider, from its deliveries, as languages and domains are; null while those are kept.';
call platform.protect('messaging.settled_figures', 'select');

create table access.project_retention (
  project_id bigint primary key references access.projects on delete cascade,
  deliveries_days int check (deliveries_days >= 60),
  events_days int check (events_days >= 30)
);
comment on table access.project_retention is
  'For how many days a project''s rows are kept, where that is shorter than for the installation. Null: no shorter.';
alter table access.project_retention enable row level security;
create policy system_rows on access.project_retention to mailwright_system using (true) with check (true);
grant select, insert, update on access.project_retention to mailwright_system;

-- By which an environment's old events are found that are not of people; those have delivery_events_in_window.
create index delivery_events_of_programs on messaging.delivery_events (environment_id, occurred_at) where classification <> 'human';
