-- Lets people wait for an event, once they are locked.
/* begin_waiting */ insert into audience.waiters (wait_id, subscriber_id, waiter_id, environment_id, since)
      select $1, g.subscriber_id, g.id, $2, coalesce(g.since, platform.now())
      from unnest($3::uuid[], $4::uuid[], $5::timestamptz[])
        g(subscriber_id, id, since)
      where exists (
        select 1 from audience.subscribers b
        where b.environment_id = $6 and b.id = g.subscriber_id offset 0
      )
      returning waiter_id;
