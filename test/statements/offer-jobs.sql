-- Marks due jobs as offered to the queue.
/* offer_jobs */ update platform.jobs set enqueued_at = platform.now() where id in (
        select id from platform.jobs
        where finished_at is null and run_at <= platform.now() and (lease_until is null or lease_until <= platform.now())
          and (enqueued_at is null or enqueued_at < run_at or enqueued_at <= platform.now() + $1::float8 * interval '1 millisecond')
        order by run_at limit 10 for update skip locked
      ) returning id, name, queue, attempts;
