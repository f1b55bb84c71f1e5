-- Ids that clients give to people, beside the address: they stay when the address changes. Programs of version 0.2.0 know
-- nothing of them and go on.
alter table audience.subscribers add column external_id text collate "C";
comment on column audience.subscribers.external_id is 'The client''s own id of the person, unique in an environment; null: none.';
create unique index subscribers_by_external_id on audience.subscribers (environment_id, external_id) where external_id is not null;

alter table audience.import_rows add column external_id text collate "C";
grant update (external_id) on audience.import_rows to mailwright_app;

-- Made anew, since it belongs to another role: platform.force_policies hands it on.
drop view audience.scoped_subscribers;
create view audience.scoped_subscribers as
  select b.id, b.environment_id, b.email, b.email_key, b.external_id, b.first_name, b.last_name, b.phone, b.locale,
    b.time_zone, b.status, b.source, b.custom_fields, b.paused_until, b.created_at
  from audience.subscribers b where b.environment_id = (select platform.environment_id());
comment on view audience.scoped_subscribers is
  'The scope''s subscribers, for conditions on names, addresses and custom fields. Owned by mailwright_system: '
  'platform.force_policies.';
grant select on audience.scoped_subscribers to mailwright_app;
