-- Saves the moves and steps of a batch of runs.
/* save_runs */ with logged as (
        insert into messaging.automation_steps (environment_id, at, entered_on, position, run_id, status, detail)
        select $1, $2, s.entered_on, s.place, s.run_id, s.status, s.detail
        from unnest($3::date[], $4::smallint[], $5::uuid[],
          $6::text[], $7::text[]) s(entered_on, place, run_id, status, detail)
        returning run_id
      ), counted as (
        insert into messaging.automation_hours as h (version_id, place, hour, writer, environment_id, "entered", "departed")
    select version_id, place, hour, $8::smallint, environment_id, sum("entered"), sum("departed")
    from (select c.*, '-infinity'::timestamptz as hour from (select $9::bigint as version_id, n.place, $10::bigint as environment_id, n.entered, n.departed
          from unnest($11::smallint[], $12::int[], $13::int[])
            n(place, entered, departed)) c) v group by version_id, place, hour, environment_id order by version_id, place, hour
    on conflict (version_id, place, hour, writer, environment_id) do update set "entered" = h."entered" + excluded."entered", "departed" = h."departed" + excluded."departed" returning 1
      )
      update messaging.automation_runs r set position = m.position, wake_at = m.wake_at, is_waiting = m.is_waiting,
        is_calling = m.is_calling, has_happened = false, status = m.status, attempts = 0,
        finished_at = case when m.wake_at is null then $14::timestamptz end
      from unnest($15::uuid[], $16::smallint[], $17::timestamptz[],
        $18::boolean[], $19::boolean[], $20::text[])
        m(id, position, wake_at, is_waiting, is_calling, status)
      where r.id = any($21::uuid[]) and r.id = m.id and r.environment_id = $22;
