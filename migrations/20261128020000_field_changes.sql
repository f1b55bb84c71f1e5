-- No primary key: nobody asks for a change by its id. Old rows come first and together: the worker finds them by the range of
-- their pages.
create table audience.field_changes (
  id uuid not null,
  environment_id bigint not null,
  subscriber_id uuid not null,
  occurred_at timestamptz not null,
  actor text not null check (actor in ('API_KEY', 'SUBSCRIBER_PAGE', 'IMPORT', 'ONE_CLICK', 'COMPLAINT', 'BOUNCE', 'OPERATOR', 'EXPIRY',
    'AUTOMATION')),
  actor_id text,
  changes jsonb not null
);
comment on table audience.field_changes is
  'Changes of subscribers'' fields, for their activity: none is written when a subscriber is created. Kept for a year at most, and '
  'no longer than events; an erasure removes those of the person.';
comment on column audience.field_changes.actor_id is 'As in the consent ledger, whose actors these are.';
comment on column audience.field_changes.changes is
  'By the path of the field: {"customFields.plan": {"from": "free", "to": "pro"}}.';
create index field_changes_of_subscriber on audience.field_changes (subscriber_id, occurred_at);
create index field_changes_oldest on audience.field_changes using brin (occurred_at);

call platform.protect('audience.field_changes', 'select, insert, delete');

create or replace function audience.remove_traces() returns trigger language plpgsql set enable_seqscan = off as $$
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
end $$;
comment on function audience.remove_traces is
  'Removes the consents of who is erased, changes of their fields, what they had triggered, and takes them out of all segments and '
  'their counts.';
