-- Writes events and their deliveries to endpoints that listen: events given by the program.
/* publish_events */ with told as materialized (
        select e.* from (
      select platform.new_id() as id, e.type, e.subscriber_id, e.data, null::text as traceparent
      from jsonb_to_recordset($1::jsonb) as e(type text, subscriber_id uuid, data jsonb)
    ) e
        where exists (select 1 from webhooks.endpoints p where p.environment_id = $2 and p.status = 'ENABLED'
      and (p.event_types = '{}' or p.event_types && array[e.type, split_part(e.type, '.', 1) || '.*']))
      ), event as (
        insert into webhooks.events (id, environment_id, type, subscriber_id, data, occurred_at, traceparent)
        select id, $3, type, subscriber_id, data, $4, coalesce(traceparent, platform.traceparent()) from told
        on conflict (id, environment_id) do nothing returning id, type
      ), delivery as (
        insert into webhooks.deliveries (id, environment_id, endpoint_id, event_id, event_type, next_attempt_at, created_at)
        select platform.new_id(), $5, p.id, e.id, e.type, $6, $7
        from event e join webhooks.endpoints p on p.environment_id = $8 and p.status = 'ENABLED'
      and (p.event_types = '{}' or p.event_types && array[e.type, split_part(e.type, '.', 1) || '.*'])
        returning id
      )
      select count(*) as deliveries from delivery;
