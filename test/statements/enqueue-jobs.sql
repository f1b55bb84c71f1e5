-- Writes jobs beside the rows that they are about.
/* enqueue_jobs */ insert into platform.jobs (environment_id, name, queue, payload, run_at)
    select $1, j.name, j.queue, j.payload, coalesce(j.run_at, platform.now())
    from jsonb_to_recordset($2::jsonb) as j(name text, queue text, payload jsonb, run_at timestamptz)
    returning id;
