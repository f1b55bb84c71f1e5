-- Events are numbered by whoever tells of them, after they are committed. Programs of version 0.2.0 post them without a number.
alter table webhooks.events add column sequence bigint;
comment on column webhooks.events.sequence is
  'Its place among the events of the environment, without gaps. Null until somebody tells of it: only what is committed is numbered, '
  'under the lock of webhooks.sequences, so that nothing comes later with a smaller number.';

create table webhooks.sequences (
  environment_id bigint primary key,
  last bigint not null
);
comment on table webhooks.sequences is
  'The number of the last event of an environment. Locked by whoever numbers events, never by whoever publishes them.';
call platform.protect('webhooks.sequences', 'select, insert, update');

update webhooks.events e set sequence = n.sequence
from (
  select id, environment_id, row_number() over (partition by environment_id order by occurred_at, id) as sequence from webhooks.events
) n
where e.id = n.id and e.environment_id = n.environment_id;
insert into webhooks.sequences (environment_id, last)
select environment_id, max(sequence) from webhooks.events group by environment_id
on conflict (environment_id) do nothing;

create unique index events_in_sequence on webhooks.events (environment_id, sequence) where sequence is not null;
create index events_of_type on webhooks.events (environment_id, type, sequence) where sequence is not null;
create index events_unnumbered on webhooks.events (environment_id, occurred_at, id) where sequence is null;
