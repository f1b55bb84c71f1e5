alter table webhooks.deliveries add column event_type text;
comment on column webhooks.deliveries.event_type is
  'Type of its event; null where a program of the version before wrote it, until the row is let go.';
update webhooks.deliveries d set event_type = e.type from webhooks.events e
where e.id = d.event_id and e.environment_id = d.environment_id;
create index deliveries_of_type on webhooks.deliveries (endpoint_id, event_type, created_at desc, id desc);
