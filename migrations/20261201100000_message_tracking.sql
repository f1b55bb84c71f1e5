alter table messaging.messages add column track_opens boolean not null default false, add column track_clicks boolean not null default false;
comment on column messaging.messages.track_opens is 'The mail to `to_email` has a pixel; copies never do.';

alter table messaging.link_sets
  add column message_id uuid,
  drop constraint link_sets_owner,
  add constraint link_sets_owner check (num_nonnulls(campaign_id, version_id, message_id) = 1 and (version_id is null) = (place is null));
create unique index link_sets_of_message on messaging.link_sets (message_id, queued_on, signature, environment_id) where message_id is not null;
create index link_sets_of_messages_oldest on messaging.link_sets (created_at) where message_id is not null;
comment on column messaging.link_sets.message_id is 'Of a message, whose links may be made of its data: they are erased with it.';
grant delete on messaging.link_sets to mailwright_app;
