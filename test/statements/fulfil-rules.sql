-- Notes for whom rules hold that they wait for.
/* fulfil_rules */ with fulfilled as (
            insert into audience.fulfilled_waiters (environment_id, waiter_id, wait_id)
            select $1, p.waiter_id, $2
            from audience.waiters p join audience.scoped_subscribers b on b.id = p.subscriber_id
            where p.environment_id = $3 and p.wait_id = $4 and b.environment_id = $5
              and (audience.folded(b.first_name) = $6::text)
            returning id
          )
          select count(*) as count from fulfilled;
