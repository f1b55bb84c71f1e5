create table audience.waits (
  id uuid not null,
  environment_id bigint not null,
  event_name text collate "C",
  conditions jsonpath,
  rules text,
  evaluated_at timestamptz,
  check ((event_name is null) <> (rules is null))
);
comment on table audience.waits is
  'What steps of automations wait for: an event of the waiting person, or rules that come to hold for them.';
comment on column audience.waits.conditions is 'A predicate on the properties of the event, which must be true; null: any event of the name.';
comment on column audience.waits.evaluated_at is 'When the rules were last asked about all who wait; null: never.';
create index waits_for_event on audience.waits (environment_id, event_name) where event_name is not null;
alter table audience.waits add primary key (id, environment_id);

create table audience.waiters (
  wait_id uuid not null,
  subscriber_id uuid not null,
  waiter_id uuid not null,
  environment_id bigint not null,
  since timestamptz not null,
  primary key (wait_id, subscriber_id, waiter_id, environment_id)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
comment on table audience.waiters is
  'Who waits for it. Rows are added with the subscribers'' rows locked, so that an event is either before or after.';
comment on column audience.waiters.waiter_id is 'The run of the automation.';

create table audience.fulfilled_waiters (
  id bigint generated always as identity,
  environment_id bigint not null,
  waiter_id uuid not null,
  wait_id uuid not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000, vacuum_truncate = off);
comment on table audience.fulfilled_waiters is
  'For whom it happened: only added to, by the statement that records the event, so that no event waits for the work on runs. The '
  'automations take the rows, and the same one may be there twice.';
create index fulfilled_waiters_of_waiter on audience.fulfilled_waiters (environment_id, waiter_id);
alter table audience.fulfilled_waiters add primary key (environment_id, id);

call platform.protect('audience.waits', 'select, insert, update, delete');
call platform.protect('audience.waiters', 'select, insert, delete');
-- UPDATE, since the worker locks the rows that it takes.
call platform.protect('audience.fulfilled_waiters', 'select, insert, update, delete');

create function audience.fulfil_waits(
  of_environment bigint, of_name text, subscribers uuid[], data jsonb[], times timestamptz[]
) returns void language plpgsql set enable_seqscan = off as $$
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
end $$;
comment on function audience.fulfil_waits is
  'Notes for whom an event is what they wait for. A time is given where it is before that of the report: an event of the past '
  'counts for nobody who waits since.';

create or replace function audience.record_events() returns trigger language plpgsql as $$
declare
  happened record;
begin
  for happened in
    select environment_id, name, array_agg(subscriber_id) as ids, array_agg(properties) as data,
      array_agg(case when occurred_at < created_at then occurred_at end) as times
    from rows_after group by environment_id, name
  loop
    perform audience.record_triggers(happened.environment_id, 'CUSTOM_EVENT', happened.name, happened.ids, happened.data);
    perform audience.fulfil_waits(happened.environment_id, happened.name, happened.ids, happened.data, happened.times);
  end loop;
  return null;
end $$;
comment on function audience.record_events is 'Triggers the automations that an event begins, and those that wait for it.';

create function audience.remove_waiters() returns trigger language plpgsql set enable_seqscan = off as $$
declare
  gone record;
begin
  for gone in select environment_id, array_agg(id) as ids from erased group by environment_id loop
    delete from audience.waiters p using audience.waits w
    where p.environment_id = gone.environment_id and w.environment_id = gone.environment_id and p.wait_id = w.id
      and p.subscriber_id = any (gone.ids);
  end loop;
  return null;
end $$;
comment on function audience.remove_waiters is 'Lets nobody wait who is erased.';
create trigger remove_waiters after delete on audience.subscribers
  referencing old table as erased for each statement execute function audience.remove_waiters();

alter table messaging.automation_versions add column wait_ids uuid[] not null default '{}';
comment on column messaging.automation_versions.wait_ids is
  'By the place of the node, which begins with 1: the id of what it waits for; null where it waits for nothing, or only for a time.';
alter table messaging.automation_runs add column has_happened boolean not null default false;
comment on column messaging.automation_runs.has_happened is 'What it waits for at its node has happened.';
-- The outcome of a wait is told when it is over.
grant update (detail) on messaging.automation_steps to mailwright_app;
