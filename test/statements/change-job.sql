-- Ends a job that its worker still holds: done.
/* change_job */ update platform.jobs set state = $1, finished_at = platform.now(), lease_token = null, lease_until = null where id = $2 and lease_token = $3;
