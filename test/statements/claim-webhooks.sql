-- Leases due webhooks of one environment.
/* claim_webhooks */ with due as (
          select d.id from webhooks.deliveries d
          join webhooks.events e on e.id = d.event_id and e.environment_id = $1
          where d.environment_id = $2 and d.id = any($3::uuid[])
            and d.finished_at is null and d.next_attempt_at <= platform.now() and e.sequence is not null
          for update of d skip locked
        ), claimed as (
          update webhooks.deliveries d set attempts = d.attempts + 1, next_attempt_at = platform.now() + $4::float8 * interval '1 millisecond'
          from due where d.environment_id = $5 and d.id = due.id returning d.*
        )
        select c.id, c.endpoint_id, c.environment_id, p.project_id, e.id as event_id, e.sequence, e.type, e.data,
          e.occurred_at, e.traceparent, p.url, p.secret, c.attempts as attempt,
          case when p.previous_secret_until > platform.now() then p.previous_secret end as previous_secret
        from claimed c
        join webhooks.events e on e.id = c.event_id and e.environment_id = $6
        join webhooks.endpoints p on p.id = c.endpoint_id and p.environment_id = $7;
