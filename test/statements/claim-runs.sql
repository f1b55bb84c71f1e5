-- Locks runs of a version that are due.
/* claim_runs */ select id, subscriber_id, position, is_waiting, has_happened, wake_at as due_at,
        (entered_at at time zone 'UTC')::date as entered_on
      from messaging.automation_runs
      where environment_id = $1 and version_id = $2 and is_calling = false and wake_at <= platform.now()
      order by wake_at limit 1000 for update skip locked;
