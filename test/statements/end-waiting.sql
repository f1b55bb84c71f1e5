-- Lets people wait no longer.
/* end_waiting */ delete from audience.waiters p
      using unnest($1::uuid[], $2::uuid[]) g(subscriber_id, id)
      where p.environment_id = $3 and p.wait_id = $4 and p.subscriber_id = g.subscriber_id
        and p.waiter_id = g.id;
