alter table audience.subscriber_events add column unique_id text collate "C";
comment on column audience.subscriber_events.unique_id is 'The client''s own id of it, by which a repetition is known for 30 days.';

create table audience.event_unique_ids (
  unique_id text collate "C" not null,
  environment_id bigint not null,
  event_id uuid not null,
  recorded_at timestamptz not null
);
comment on table audience.event_unique_ids is
  'Clients'' own ids of events, each with the event that it was first reported for. Kept for 30 days, during which the same one '
  'counts once; an erasure removes those of the person''s events.';
-- Old ones come first and together: the worker finds them by a scan of its beginning.
create index event_unique_ids_old on audience.event_unique_ids (recorded_at);
alter table audience.event_unique_ids add primary key (unique_id, environment_id);

call platform.protect('audience.event_unique_ids', 'select, insert, update, delete');
