-- Leases a job to a worker.
/* lease_job */ with leased as (
        update platform.jobs set lease_token = $1, lease_until = platform.now() + $2::float8 * interval '1 millisecond', attempts = attempts + 1
        where id = $3 and finished_at is null and run_at <= platform.now() and (lease_until is null or lease_until <= platform.now())
        returning name, payload, failures, traceparent, environment_id
      )
      select l.name as job_name, l.payload, l.failures, l.traceparent, e.*
      from leased l cross join lateral access.find_environment(l.environment_id) e;
