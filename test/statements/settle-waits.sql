-- Tells the outcomes of waits.
/* settle_waits */ update messaging.automation_steps s set detail = o.detail
      from unnest($1::uuid[], $2::date[], $3::smallint[],
        $4::text[]) o(run_id, entered_on, place, detail)
      where s.environment_id = $5 and s.run_id = o.run_id and s.position = o.place and s.entered_on = o.entered_on
        and s.run_id = any($6::uuid[]) and s.entered_on = any($7::date[]);
