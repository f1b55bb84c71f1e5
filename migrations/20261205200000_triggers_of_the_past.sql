alter table audience.trigger_watches add column open_since timestamptz;
comment on column audience.trigger_watches.open_since is
  'When the automation was activated last; null where that was before this column.';

drop function audience.record_triggers(bigint, text, text, uuid[], jsonb[]);
create function audience.record_triggers(
  of_environment bigint, of_kind text, of_subject text, subscribers uuid[], data jsonb[], times timestamptz[] default null
) returns void language plpgsql set enable_seqscan = off as $$
begin
  insert into audience.recorded_triggers (environment_id, watcher_id, subscriber_id, data)
  select w.environment_id, w.watcher_id, s.id, s.data
  from audience.trigger_watches w cross join unnest(subscribers, data, times) as s(id, data, at)
  where w.environment_id = of_environment and w.kind = of_kind and w.subject = of_subject and w.is_open
    and (w.conditions is null or s.data @@ w.conditions)
    -- The clocks of those who report may be behind.
    and (s.at is null or w.open_since is null or s.at >= w.open_since - interval '5 minutes');
end $$;
comment on function audience.record_triggers is
  'Triggers the automations that wait for what happened to these people. A time is given where it is before that of the report: what '
  'happened before an automation was activated triggers nothing. Called by the triggers of the tables, as whoever writes.';

create or replace function audience.record_events() returns trigger language plpgsql as $$
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
end $$;

create or replace function audience.record_subscribed() returns trigger language plpgsql as $$
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
end $$;
comment on function audience.record_subscribed is
  'Triggers the automations that wait for new subscribers of a topic. Who undoes an unsubscription is none.';
