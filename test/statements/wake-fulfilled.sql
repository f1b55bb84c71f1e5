-- Wakes the runs for which happened what they wait for.
/* wake_fulfilled */ with taken as (
      delete from audience.fulfilled_waiters f
      where f.environment_id = $1 and f.id = any(array(
        select id from audience.fulfilled_waiters where environment_id = $2
        order by id limit 10000 for update skip locked
      ))
      returning f.wait_id, f.waiter_id
        ), fulfilled as (
          select r.id as waiter_id, r.subscriber_id, t.wait_id from taken t
          join messaging.automation_runs r on r.id = t.waiter_id
          cross join lateral (
            select v.wait_ids from messaging.automation_versions v
            where v.environment_id = $3 and v.id = r.version_id offset 0
          ) v
          where r.environment_id = $4 and r.id = any(array(select waiter_id from taken))
            and r.is_waiting and r.wake_at is not null and v.wait_ids[r.position + 1] = t.wait_id
          order by r.id for update of r
        ), woken as (
          update messaging.automation_runs r set wake_at = platform.now(), has_happened = true
          where r.environment_id = $5 and r.id = any(array(select waiter_id from fulfilled))
          returning r.id
        ), gone as (
      delete from audience.waiters where environment_id = $6 and ctid = any(array(
        select p.ctid from fulfilled f cross join lateral (
          select p.ctid from audience.waiters p
          where p.environment_id = $7 and p.wait_id = f.wait_id and p.subscriber_id = f.subscriber_id
            and p.waiter_id = f.waiter_id offset 0
        ) p
      ))
     returning waiter_id
        )
        select (select count(*) from taken) as taken, (select count(*) from woken) as woken, (select count(*) from gone) as gone;
