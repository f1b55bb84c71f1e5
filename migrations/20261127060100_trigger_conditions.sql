alter table audience.trigger_watches add column conditions jsonpath;
comment on column audience.trigger_watches.conditions is
  'A predicate on the properties of an event, which must be true; null: any event of the name.';

create or replace function audience.record_triggers(
  of_environment bigint, of_kind text, of_subject text, subscribers uuid[], data jsonb[]
) returns void language plpgsql set enable_seqscan = off as $$
begin
  insert into audience.recorded_triggers (environment_id, watcher_id, subscriber_id, data)
  select w.environment_id, w.watcher_id, s.id, s.data
  from audience.trigger_watches w cross join unnest(subscribers, data) as s(id, data)
  where w.environment_id = of_environment and w.kind = of_kind and w.subject = of_subject and w.is_open
    and (w.conditions is null or s.data @@ w.conditions);
end $$;
