-- A connection plans the statements of a trigger once, by as few rows as there were at the first times. Rows before and
-- after a change were then compared each with all others, when a statement changed thousands.
alter function messaging.count_runs() set enable_nestloop = off;

create or replace function audience.signal_subscribed() returns trigger language plpgsql set enable_seqscan = off as $$
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
    -- As a set, which is sorted or hashed: a join might compare them row by row.
    from (
      select environment_id, subscriber_id, topic_id from rows_after where status = 'SUBSCRIBED'
      except
      select environment_id, subscriber_id, topic_id from rows_before where status = 'SUBSCRIBED'
    ) a
    join audience.signal_watches w on w.environment_id = a.environment_id and w.kind = 'SUBSCRIBED'
      and w.subject = a.topic_id::text and w.is_open;
  end if;
  if found then perform pg_notify('mailwright_signals', ''); end if;
  return null;
end $$;

-- Planned for tables of one page, these read all of them for each who is erased.
alter function audience.leave_segments() set enable_seqscan = off;
alter function audience.drop_signals() set enable_seqscan = off;
