-- Automations: what happens to people after something happened to them.

-- What somebody waits for: a topic's new subscribers, who enters or leaves a segment, an event by its name. Each
-- thing that happens becomes a row for each that waits for it, in the statement that makes it happen, however many
-- people it concerns. The waiter takes its rows and does what it does with them in one transaction.
create table audience.signal_watches (
  -- the waiter's own id
  watcher_id uuid primary key,
  environment_id bigint not null,
  kind text collate "C" not null check (kind in ('SUBSCRIBED', 'SEGMENT_ENTERED', 'SEGMENT_LEFT', 'CUSTOM_EVENT')),
  -- the id of the topic or segment, or the name of the event
  subject text collate "C" not null,
  -- false: nothing new is noted; what was noted stays
  is_open boolean not null
);
create index signal_watches_of_subject on audience.signal_watches (environment_id, kind, subject) where is_open;

create table audience.signals (
  id bigint generated always as identity primary key,
  environment_id bigint not null,
  watcher_id uuid not null references audience.signal_watches on delete cascade,
  subscriber_id uuid not null,
  -- the properties of an event
  data jsonb
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000, vacuum_truncate = off);
create index signals_of_watcher on audience.signals (watcher_id, id);
create index signals_of_subscriber on audience.signals (subscriber_id);
call platform.protect('audience.signal_watches', 'select, insert, update, delete');
call platform.protect('audience.signals', 'select, insert, update, delete');

create function audience.signal_subscribed() returns trigger language plpgsql set enable_seqscan = off as $$
begin
  if not exists (select from audience.signal_watches where kind = 'SUBSCRIBED' and is_open) then return null; end if;
  if tg_op = 'INSERT' then
    insert into audience.signals (environment_id, watcher_id, subscriber_id)
    select a.environment_id, w.watcher_id, a.subscriber_id
    from rows_after a
    join audience.signal_watches w on w.environment_id = a.environment_id and w.kind = 'SUBSCRIBED'
      and w.subject = a.topic_id::text and w.is_open
    where a.status = 'SUBSCRIBED';
  else
    insert into audience.signals (environment_id, watcher_id, subscriber_id)
    select a.environment_id, w.watcher_id, a.subscriber_id
    from rows_after a
    join rows_before b on b.subscriber_id = a.subscriber_id and b.topic_id = a.topic_id and b.status <> 'SUBSCRIBED'
    join audience.signal_watches w on w.environment_id = a.environment_id and w.kind = 'SUBSCRIBED'
      and w.subject = a.topic_id::text and w.is_open
    where a.status = 'SUBSCRIBED';
  end if;
  if found then perform pg_notify('mailwright_signals', ''); end if;
  return null;
end $$;
create trigger signal_inserted after insert on audience.consents
  referencing new table as rows_after for each statement execute function audience.signal_subscribed();
create trigger signal_updated after update on audience.consents
  referencing old table as rows_before new table as rows_after
  for each statement execute function audience.signal_subscribed();

create function audience.signal_transitions() returns trigger language plpgsql set enable_seqscan = off as $$
begin
  insert into audience.signals (environment_id, watcher_id, subscriber_id)
  select a.environment_id, w.watcher_id, a.subscriber_id
  from rows_after a
  join audience.signal_watches w on w.environment_id = a.environment_id and w.kind = 'SEGMENT_' || a.kind
    and w.subject = a.segment_id::text and w.is_open;
  if found then perform pg_notify('mailwright_signals', ''); end if;
  return null;
end $$;
create trigger signal_inserted after insert on audience.segment_transitions
  referencing new table as rows_after for each statement execute function audience.signal_transitions();

create function audience.signal_events() returns trigger language plpgsql set enable_seqscan = off as $$
begin
  insert into audience.signals (environment_id, watcher_id, subscriber_id, data)
  select a.environment_id, w.watcher_id, a.subscriber_id, a.properties
  from rows_after a
  join audience.signal_watches w on w.environment_id = a.environment_id and w.kind = 'CUSTOM_EVENT'
    and w.subject = a.name and w.is_open;
  if found then perform pg_notify('mailwright_signals', ''); end if;
  return null;
end $$;
create trigger signal_inserted after insert on audience.subscriber_events
  referencing new table as rows_after for each statement execute function audience.signal_events();

-- Nothing is told of people who were erased.
create function audience.drop_signals() returns trigger language plpgsql as $$
begin
  delete from audience.signals s using erased e where s.subscriber_id = e.id;
  return null;
end $$;
create trigger drop_signals after delete on audience.subscribers
  referencing old table as erased for each statement execute function audience.drop_signals();

-- An automation changes its own record of consents, and its double opt-in follows the topic.
alter table audience.consent_ledger
  drop constraint consent_ledger_actor_check,
  add constraint consent_ledger_actor_check check (actor in ('API_KEY', 'SUBSCRIBER_PAGE', 'IMPORT', 'ONE_CLICK', 'COMPLAINT',
    'BOUNCE', 'OPERATOR', 'EXPIRY', 'AUTOMATION'));

create table messaging.automations (
  id uuid primary key,
  -- what the rows of its runs refer to: half as long as the id
  number bigint generated always as identity unique,
  environment_id bigint not null,
  automation_key text not null,
  name text not null,
  description text,
  status text not null check (status in ('DRAFT', 'ACTIVE', 'PAUSED', 'ARCHIVED')),
  trigger_type text check (trigger_type in ('subscriber_joins_list', 'segment_entered', 'segment_left', 'custom_event', 'manual')),
  trigger_topic_id uuid,
  -- the JSON as it was given
  nodes text,
  edges text,
  node_count int,
  -- what people enter; null before the first activation
  version_id bigint,
  -- the author has changed what the version says
  is_revised boolean not null default true,
  -- archived, and the people inside are still to be sent off
  is_closing boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- Deleted after people went through it: it is shown to nobody, but what the links of its mails lead to must go on.
  deleted_at timestamptz,
  unique (environment_id, automation_key)
);
create index automations_newest on messaging.automations (environment_id, created_at desc, id desc) where deleted_at is null;
create index automations_active on messaging.automations (id) where status = 'ACTIVE';
create index automations_closing on messaging.automations (id) where is_closing;

-- What an automation does, as it was activated: never changed, so that people go on in the one that they entered.
create table messaging.automation_versions (
  id bigint generated always as identity primary key,
  environment_id bigint not null,
  automation_id uuid not null references messaging.automations on delete cascade,
  version int not null,
  trigger_type text not null,
  trigger_topic_id uuid,
  nodes text not null,
  edges text not null,
  -- by the place of the node, which begins with 1: the topic that its mail is for; null where it sends none
  mail_topic_ids uuid[] not null,
  -- what it needs besides
  topic_ids uuid[] not null,
  segment_ids uuid[] not null,
  created_at timestamptz not null,
  unique (automation_id, version)
);

-- One person's way through an automation. At rest it is no more than this row. The order of the columns saves
-- room for a tenth of the rows.
create table messaging.automation_runs (
  environment_id bigint not null,
  automation_number bigint not null,
  version_id bigint not null,
  -- when there is something to do again; null when it has ended
  wake_at timestamptz,
  entered_at timestamptz not null,
  finished_at timestamptz,
  -- its last octet is 0, see messaging.step_id
  id uuid primary key,
  -- null when the person was erased
  subscriber_id uuid,
  -- the node where it stands, by its place in the version's list
  position smallint not null,
  attempts smallint not null default 0,
  -- it came to the delay where it stands before; it goes on at `wake_at`
  is_waiting boolean not null default false,
  -- it stands at a node that calls somebody else, for whom nobody else has to wait
  is_calling boolean not null default false,
  status text not null default 'ACTIVE' check (status in ('ACTIVE', 'COMPLETED', 'CONVERTED', 'FAILED', 'CANCELLED')),
  check ((wake_at is null) = (status <> 'ACTIVE'))
) with (fillfactor = 90);
create index automation_runs_due on messaging.automation_runs (version_id, is_calling, wake_at) where wake_at is not null;
create index automation_runs_of_subscriber on messaging.automation_runs (subscriber_id, automation_number)
  where subscriber_id is not null;
create index automation_runs_newest on messaging.automation_runs (automation_number, id);

-- What came with the person: an event's properties, or what the client said.
create table messaging.automation_run_data (
  run_id uuid primary key,
  environment_id bigint not null,
  data jsonb not null
);

-- Each step that was taken, once. Partitioned by the month in which the run began, which is the same for all its
-- steps, so that the key holds across partitions.
create table messaging.automation_steps (
  environment_id bigint not null,
  at timestamptz not null,
  entered_on date not null,
  position smallint not null,
  run_id uuid not null,
  status text not null check (status in ('DONE', 'SKIPPED', 'FAILED')),
  detail text,
  primary key (run_id, position, entered_on)
) partition by range (entered_on);

-- How many went in and out, counted by the statements that let them. `writer` is a number that a connection picks, so
-- that connections do not wait for each other's commits; who reads adds them up.
create table messaging.automation_counters (
  automation_number bigint not null,
  writer smallint not null,
  environment_id bigint not null,
  entered bigint not null default 0,
  -- through to the end, or to a goal
  completed bigint not null default 0,
  -- in any other way
  ended bigint not null default 0,
  primary key (automation_number, writer)
) with (fillfactor = 50);

call platform.protect('messaging.automations', 'select, insert, update, delete');
call platform.protect('messaging.automation_versions', 'select, insert, delete');
call platform.protect('messaging.automation_runs', 'select, insert, update');
call platform.protect('messaging.automation_run_data', 'select, insert, delete');
call platform.protect('messaging.automation_steps', 'select, insert');
call platform.protect('messaging.automation_counters', 'select, insert, update');

create function messaging.count_runs() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into messaging.automation_counters as c (automation_number, writer, environment_id, entered)
    select automation_number, pg_backend_pid() % 32, environment_id, count(*)
    from rows_after group by automation_number, environment_id order by automation_number
    on conflict (automation_number, writer) do update set entered = c.entered + excluded.entered;
  else
    insert into messaging.automation_counters as c (automation_number, writer, environment_id, completed, ended)
    select a.automation_number, pg_backend_pid() % 32, a.environment_id,
      count(*) filter (where a.status in ('COMPLETED', 'CONVERTED')),
      count(*) filter (where a.status not in ('COMPLETED', 'CONVERTED'))
    from rows_after a join rows_before b on b.id = a.id
    where b.status = 'ACTIVE' and a.status <> 'ACTIVE'
    group by a.automation_number, a.environment_id order by a.automation_number
    on conflict (automation_number, writer) do update
    set completed = c.completed + excluded.completed, ended = c.ended + excluded.ended;
  end if;
  return null;
end $$;
create trigger count_inserted after insert on messaging.automation_runs
  referencing new table as rows_after for each statement execute function messaging.count_runs();
create trigger count_updated after update on messaging.automation_runs
  referencing old table as rows_before new table as rows_after
  for each statement execute function messaging.count_runs();

-- The id of a run leaves its last octet to its steps: a step's id is the run's with the place of the node, which begins
-- with 1. So a mail's `source_id` is unique for the run and the node, and leads to both without a table.
create function messaging.new_run_id() returns uuid language sql volatile parallel safe return
  encode(set_byte(uuid_send(platform.new_id()), 15, 0), 'hex')::uuid;
create function messaging.step_id(run uuid, place int) returns uuid language sql immutable strict parallel safe return
  encode(set_byte(uuid_send(run), 15, place + 1), 'hex')::uuid;
create function messaging.run_of_step(step uuid) returns uuid language sql immutable strict parallel safe return
  encode(set_byte(uuid_send(step), 15, 0), 'hex')::uuid;
create function messaging.place_of_step(step uuid) returns int language sql immutable strict parallel safe return
  get_byte(uuid_send(step), 15) - 1;

-- Automations may have many mails at once; they are claimed apart from the few that people wait for.
drop index messaging.deliveries_open_single;
create index deliveries_open_single on messaging.deliveries (next_attempt_at, id)
  where finished_at is null and kind in ('OPT_IN', 'TEST');
create index deliveries_open_automation on messaging.deliveries (next_attempt_at, id)
  where finished_at is null and kind = 'AUTOMATION';

do $$
declare month date;
begin
  for month in select generate_series(date_trunc('month', now()), date_trunc('month', now()) + interval '2 months', interval '1 month') loop
    perform platform.ensure_month('messaging.automation_steps', month);
  end loop;
end $$;
create table messaging.automation_steps_default partition of messaging.automation_steps default;
