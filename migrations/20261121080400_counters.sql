-- What lists and topics show as totals, counted as rows are written and never by reading them all: a value is
-- its row here and the deltas that are not folded into it yet. Writers only add deltas, so that none waits for
-- another, and a count is exact from the moment in which a write is committed.
create table audience.counters (
  environment_id bigint not null,
  -- SUBSCRIBERS by status, and those CREATED on a day by status; SUPPRESSIONS by reason; consents that are
  -- SUBSCRIBED or PENDING_CONFIRMATION by topic and by the status of the subscriber
  kind text collate "C" not null
    check (kind in ('SUBSCRIBERS', 'CREATED', 'SUPPRESSIONS', 'SUBSCRIBED', 'PENDING_CONFIRMATION')),
  -- the id of the topic; the day in UTC, as 2026-11-21; else empty
  key text collate "C" not null,
  -- the subscriber's status, or the reason
  state text collate "C" not null,
  value bigint not null,
  primary key (environment_id, kind, key, state)
) with (fillfactor = 50);

create table audience.counter_deltas (
  environment_id bigint not null,
  kind text collate "C" not null,
  key text collate "C" not null,
  state text collate "C" not null,
  delta bigint not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000, vacuum_truncate = off);
create index counter_deltas_of_counter on audience.counter_deltas (environment_id, kind, key, state);

call platform.protect('audience.counters', 'select');
call platform.protect('audience.counter_deltas', 'select, insert');

create view audience.counter_values with (security_invoker = true) as
  select environment_id, kind, key, state, value from audience.counters
  union all
  select environment_id, kind, key, state, delta from audience.counter_deltas;
grant select on audience.counter_values to mailwright_app, mailwright_system;

-- What a topic's subscribers are counted and listed by, kept with each consent: any page of them is read from one
-- index alone.
alter table audience.consents add column subscriber_status text, add column subscriber_created_at timestamptz;
update audience.consents c set subscriber_status = b.status, subscriber_created_at = b.created_at
from audience.subscribers b where b.id = c.subscriber_id;
alter table audience.consents alter column subscriber_status set not null, alter column subscriber_created_at set not null;
create index consents_of_topic_newest on audience.consents
  (environment_id, topic_id, subscriber_created_at desc, subscriber_id desc) include (subscriber_status)
  where status in ('SUBSCRIBED', 'PENDING_CONFIRMATION');

-- The statements of the triggers below are planned once a connection, perhaps while the tables are empty. So they
-- look rows up by an index whatever the statistics say, and never join the changed rows with each other.

-- Whoever adds a consent holds the lock of the subscriber's row, or has just made it: the status stays what it is.
create function audience.describe_consent() returns trigger language plpgsql set enable_seqscan = off as $$
begin
  select b.status, b.created_at into new.subscriber_status, new.subscriber_created_at
  from audience.subscribers b where b.id = new.subscriber_id;
  return new;
end $$;
create trigger describe_consent before insert on audience.consents
  for each row execute function audience.describe_consent();

create function audience.day_of(at timestamptz) returns text language sql stable parallel safe
  return to_char(at at time zone 'UTC', 'YYYY-MM-DD');

-- The same by counting: what the counters begin with and are checked against.
create view audience.recounted_values with (security_invoker = true) as
  select environment_id, kind collate "C" as kind, key collate "C" as key, state collate "C" as state, value
  from (
    select environment_id, 'SUBSCRIBERS' as kind, '' as key, status as state, count(*) as value
    from audience.subscribers group by environment_id, status
    union all
    select environment_id, 'CREATED', audience.day_of(created_at), status, count(*)
    from audience.subscribers group by environment_id, audience.day_of(created_at), status
    union all
    select environment_id, 'SUPPRESSIONS', '', reason, count(*)
    from audience.suppressions group by environment_id, reason
    union all
    select c.environment_id, c.status, c.topic_id::text, b.status, count(*)
    from audience.consents c join audience.subscribers b on b.id = c.subscriber_id
    where c.status in ('SUBSCRIBED', 'PENDING_CONFIRMATION')
    group by c.environment_id, c.status, c.topic_id, b.status
  ) n;
grant select on audience.recounted_values to mailwright_system;

-- One delta for each counter that a statement changes, however many rows it writes. The triggers run as whoever
-- writes, so that row-level security holds for them too.

create function audience.count_subscribers() returns trigger language plpgsql set enable_seqscan = off as $$
declare moved uuid[];
begin
  if tg_op = 'INSERT' then
    insert into audience.counter_deltas (environment_id, kind, key, state, delta)
    select environment_id, 'SUBSCRIBERS', '', status, count(*) from rows_after group by environment_id, status
    union all
    select environment_id, 'CREATED', audience.day_of(created_at), status, count(*)
    from rows_after group by environment_id, audience.day_of(created_at), status;
  elsif tg_op = 'DELETE' then
    insert into audience.counter_deltas (environment_id, kind, key, state, delta)
    select environment_id, 'SUBSCRIBERS', '', status, -count(*) from rows_before group by environment_id, status
    union all
    select environment_id, 'CREATED', audience.day_of(created_at), status, -count(*)
    from rows_before group by environment_id, audience.day_of(created_at), status;
  else
    moved := array(
      select id
      from (select id, status, created_at from rows_before union all select id, status, created_at from rows_after) r
      group by id having min(status) <> max(status) or min(created_at) <> max(created_at)
    );
    if moved = '{}' then return null; end if;
    insert into audience.counter_deltas (environment_id, kind, key, state, delta)
    select environment_id, kind, key, state, sum(sign) from (
      select environment_id, 'SUBSCRIBERS' as kind, '' as key, status as state, -1 as sign from rows_before
      union all
      select environment_id, 'SUBSCRIBERS', '', status, 1 from rows_after
      union all
      select environment_id, 'CREATED', audience.day_of(created_at), status, -1 from rows_before
      union all
      select environment_id, 'CREATED', audience.day_of(created_at), status, 1 from rows_after
    ) r
    group by environment_id, kind, key, state having sum(sign) <> 0;
    update audience.consents c
    set (subscriber_status, subscriber_created_at) =
      (select b.status, b.created_at from audience.subscribers b where b.id = c.subscriber_id)
    where c.subscriber_id = any (moved);
  end if;
  return null;
end $$;
create trigger count_inserted after insert on audience.subscribers
  referencing new table as rows_after for each statement execute function audience.count_subscribers();
create trigger count_updated after update on audience.subscribers
  referencing old table as rows_before new table as rows_after
  for each statement execute function audience.count_subscribers();
create trigger count_deleted after delete on audience.subscribers
  referencing old table as rows_before for each statement execute function audience.count_subscribers();

create function audience.count_consents() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into audience.counter_deltas (environment_id, kind, key, state, delta)
    select environment_id, status, topic_id::text, subscriber_status, count(*)
    from rows_after where status in ('SUBSCRIBED', 'PENDING_CONFIRMATION')
    group by environment_id, status, topic_id, subscriber_status;
  elsif tg_op = 'DELETE' then
    insert into audience.counter_deltas (environment_id, kind, key, state, delta)
    select environment_id, status, topic_id::text, subscriber_status, -count(*)
    from rows_before where status in ('SUBSCRIBED', 'PENDING_CONFIRMATION')
    group by environment_id, status, topic_id, subscriber_status;
  else
    insert into audience.counter_deltas (environment_id, kind, key, state, delta)
    select environment_id, status, topic_id::text, subscriber_status, sum(sign) from (
      select environment_id, status, topic_id, subscriber_status, -1 as sign from rows_before
      union all
      select environment_id, status, topic_id, subscriber_status, 1 from rows_after
    ) r
    where status in ('SUBSCRIBED', 'PENDING_CONFIRMATION')
    group by environment_id, status, topic_id, subscriber_status having sum(sign) <> 0;
  end if;
  return null;
end $$;
create trigger count_inserted after insert on audience.consents
  referencing new table as rows_after for each statement execute function audience.count_consents();
create trigger count_updated after update on audience.consents
  referencing old table as rows_before new table as rows_after
  for each statement execute function audience.count_consents();
create trigger count_deleted after delete on audience.consents
  referencing old table as rows_before for each statement execute function audience.count_consents();

create function audience.count_suppressions() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into audience.counter_deltas (environment_id, kind, key, state, delta)
    select environment_id, 'SUPPRESSIONS', '', reason, count(*) from rows_after group by environment_id, reason;
  elsif tg_op = 'DELETE' then
    insert into audience.counter_deltas (environment_id, kind, key, state, delta)
    select environment_id, 'SUPPRESSIONS', '', reason, -count(*) from rows_before group by environment_id, reason;
  else
    insert into audience.counter_deltas (environment_id, kind, key, state, delta)
    select environment_id, 'SUPPRESSIONS', '', reason, sum(sign) from (
      select environment_id, reason, -1 as sign from rows_before
      union all
      select environment_id, reason, 1 from rows_after
    ) r
    group by environment_id, reason having sum(sign) <> 0;
  end if;
  return null;
end $$;
create trigger count_inserted after insert on audience.suppressions
  referencing new table as rows_after for each statement execute function audience.count_suppressions();
create trigger count_updated after update on audience.suppressions
  referencing old table as rows_before new table as rows_after
  for each statement execute function audience.count_suppressions();
create trigger count_deleted after delete on audience.suppressions
  referencing old table as rows_before for each statement execute function audience.count_suppressions();

insert into audience.counters (environment_id, kind, key, state, value)
select environment_id, kind, key, state, value from audience.recounted_values;

-- Adds up to `most` deltas to their counters and removes them; returns how many. Two that run at once take
-- different deltas, and their counters in one order.
create function audience.fold_counters(most int) returns bigint language sql as $$
  with taken as (
    delete from audience.counter_deltas
    where ctid = any (array(select ctid from audience.counter_deltas limit most for update skip locked))
    returning environment_id, kind, key, state, delta
  ), folded as (
    insert into audience.counters as c (environment_id, kind, key, state, value)
    select environment_id, kind, key, state, sum(delta) from taken
    group by environment_id, kind, key, state having sum(delta) <> 0
    order by environment_id, kind, key, state
    on conflict (environment_id, kind, key, state) do update set value = c.value + excluded.value
  )
  select count(*) from taken
$$;
revoke all on function audience.fold_counters from public;
grant execute on function audience.fold_counters to mailwright_system;

-- Adds what is missing to each counter, by recounting in the same moment; returns how many were wrong.
create function audience.repair_counters() returns bigint language sql as $$
  with corrections as (
    insert into audience.counter_deltas (environment_id, kind, key, state, delta)
    select environment_id, kind, key, state, sum(n.difference) from (
      select environment_id, kind, key, state, value as difference from audience.recounted_values
      union all
      select environment_id, kind, key, state, -value from audience.counter_values
    ) n
    group by environment_id, kind, key, state having sum(n.difference) <> 0
    returning 1
  )
  select count(*) from corrections
$$;
revoke all on function audience.repair_counters from public;
grant execute on function audience.repair_counters to mailwright_system;

-- A plan counts the subscribers of all projects together.
create or replace function audience.live_subscribers_of_tenant() returns bigint
  language sql stable security definer set search_path = pg_catalog as $$
  select coalesce(sum(v.value), 0)::bigint
  from access.projects p
  join access.project_environments e on e.project_id = p.id and e.environment = 'LIVE'
  join audience.counter_values v on v.environment_id = e.id and v.kind = 'SUBSCRIBERS'
  where p.tenant_id = platform.tenant_id()
$$;

-- The indexes of lists hold all that a page is found by, so that only the rows on it are read.
drop index audience.subscribers_newest, audience.subscribers_of_status, audience.subscribers_changed,
  audience.subscribers_by_first_name, audience.subscribers_by_last_name;
create index subscribers_newest on audience.subscribers (environment_id, created_at desc, id desc) include (updated_at);
create index subscribers_of_status on audience.subscribers (environment_id, status, created_at desc, id desc)
  include (updated_at);
create index subscribers_changed on audience.subscribers (environment_id, updated_at) include (created_at, id);
create index subscribers_by_first_name on audience.subscribers (environment_id, first_name_key) include (created_at, id)
  where first_name_key is not null;
create index subscribers_by_last_name on audience.subscribers (environment_id, last_name_key) include (created_at, id)
  where last_name_key is not null;
create unique index subscribers_by_address on audience.subscribers (environment_id, email_key) include (created_at, id);
alter table audience.subscribers drop constraint subscribers_environment_id_email_key_key;
