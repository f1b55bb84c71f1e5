select
  (
    select count(*) from (
      select from messaging.campaigns c
      cross join lateral (
        select from messaging.deliveries d
        where d.source_id = c.id and d.kind = 'CAMPAIGN' and d.finished_at is null and d.next_attempt_at <= now()
        limit 1000000
      ) mails
      where c.status = 'SENDING' limit 1000000
    ) campaigns
  ) + (
    select count(*) from (
      select from messaging.deliveries d
      where d.kind = 'AUTOMATION' and d.finished_at is null and d.next_attempt_at <= now() limit 1000000
    ) automations
  ) + (
    select count(*) from (
      select from messaging.deliveries d
      where d.kind in ('OPT_IN', 'TEST') and d.finished_at is null and d.next_attempt_at <= now() limit 1000000
    ) singles
  ) + (
    select count(*) from (
      select from messaging.automations a join messaging.automation_versions v on v.automation_id = a.id
      cross join lateral (
        select from messaging.automation_runs r
        where r.version_id = v.id and r.is_calling = false and r.wake_at <= now() limit 1000000
      ) runs
      where a.status = 'ACTIVE' limit 1000000
    ) steps
  )
