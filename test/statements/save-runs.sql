-- Saves the moves and steps of a batch of runs.
/* save_runs */ with logged as (
        insert into messaging.automation_steps (environment_id, at, entered_on, position, run_id, status, detail)
        select $1, $2, s.entered_on, s.place, s.run_id, s.status, s.detail
        from unnest($3::date[], $4::smallint[], $5::uuid[],
          $6::text[], $7::text[]) s(entered_on, place, run_id, status, detail)
        returning run_id
      )
      update messaging.automation_runs r set position = m.position, wake_at = m.wake_at, is_waiting = m.is_waiting,
        is_calling = m.is_calling, status = m.status, attempts = 0,
        finished_at = case when m.wake_at is null then $8::timestamptz end
      from unnest($9::uuid[], $10::smallint[], $11::timestamptz[],
        $12::boolean[], $13::boolean[], $14::text[])
        m(id, position, wake_at, is_waiting, is_calling, status)
      where r.id = any($15::uuid[]) and r.id = m.id and r.environment_id = $16;
