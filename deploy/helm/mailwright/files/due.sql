select
  (
    select count(*) from (
      select 1 from messaging.campaigns c
      join messaging.deliveries d on d.environment_id = c.environment_id and d.source_id = c.id
      where c.status = 'SENDING' and d.kind = 'CAMPAIGN' and d.finished_at is null and d.next_attempt_at <= now()
      limit 1000000
    ) campaigns
  ) + (
    select count(*) from (
      select 1 from messaging.deliveries d
      where d.kind = 'AUTOMATION' and d.finished_at is null and d.next_attempt_at <= now() limit 1000000
    ) automations
  ) + (
    select count(*) from (
      select 1 from messaging.deliveries d
      where d.kind in ('OPT_IN', 'TEST') and d.finished_at is null and d.next_attempt_at <= now() limit 1000000
    ) singles
  ) + (
    select count(*) from (
      select 1 from messaging.automations a
      join messaging.automation_versions v on v.environment_id = a.environment_id and v.automation_id = a.id
      join messaging.automation_runs r on r.environment_id = v.environment_id and r.version_id = v.id
      where a.status = 'ACTIVE' and r.is_calling = false and r.wake_at <= now()
      limit 1000000
    ) steps
  )
