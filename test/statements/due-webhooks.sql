-- Finds due webhooks of all projects, those of endpoints with the fewest posts in flight first.
/* due_webhooks */ select c.id, p.environment_id
        from webhooks.endpoints p
        left join unnest($1::uuid[], $2::int[]) b(endpoint_id, posts) on b.endpoint_id = p.id
        cross join lateral (
          select d.id, d.next_attempt_at, coalesce(b.posts, 0) + row_number() over (order by d.next_attempt_at) as place
          from webhooks.deliveries d
          where d.endpoint_id = p.id and d.environment_id = p.environment_id and d.state = 'PENDING'
            and d.next_attempt_at <= platform.now()
          order by d.next_attempt_at limit greatest(0, $3::int - coalesce(b.posts, 0))
        ) c
        order by c.place, c.next_attempt_at limit 1;
