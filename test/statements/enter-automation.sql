-- Lets subscribers in: one whom a client names.
/* enter_automation */ with noted as (
        select 1::bigint as id, $1::uuid as subscriber_id, $2::jsonb as data
      ), entering as materialized (
        select messaging.new_run_id() as run_id, n.subscriber_id, n.data
        from (
          select distinct on (n.subscriber_id) n.subscriber_id, n.data from noted n
          where exists (
      select 1 from audience.subscribers b where b.id = n.subscriber_id and b.environment_id = $3
    ) and n.subscriber_id not in (
            select r.subscriber_id from messaging.automation_runs r
            where r.subscriber_id = any(array(select subscriber_id from noted))
              and r.environment_id = $4 and r.automation_number = $5 and true
          ) order by n.subscriber_id, n.id
        ) n
      ), entered as (
        insert into messaging.automation_runs (environment_id, automation_number, version_id, wake_at, entered_at, id,
          subscriber_id, position, is_waiting)
        select $6, $7, $8, $9, $10, run_id, subscriber_id, $11,
          $12
        from entering returning id
      ), logged as (
        insert into messaging.automation_steps (environment_id, at, entered_on, position, run_id, status, detail)
        select $13, $14, ($15::timestamptz at time zone 'UTC')::date, s.place, e.run_id, 'DONE', s.detail
        from entering e cross join unnest($16::smallint[],
          $17::text[]) s(place, detail) returning run_id
      ), counted as (
        insert into messaging.automation_hours as h (version_id, place, hour, writer, environment_id, "entered", "departed")
    select version_id, place, hour, $18::smallint, environment_id, sum("entered"), sum("departed")
    from (select c.*, '-infinity'::timestamptz as hour from (select $19::bigint as version_id, p.place, $20::bigint as environment_id, e.n as entered, e.n * (p.place <> $21)::int as departed
          from (select count(*) as n from entering) e cross join unnest($22::smallint[]) p(place) where e.n > 0) c) v group by version_id, place, hour, environment_id order by version_id, place, hour
    on conflict (version_id, place, hour, writer, environment_id) do update set "entered" = h."entered" + excluded."entered", "departed" = h."departed" + excluded."departed" returning 1
      ), kept as (
        insert into messaging.automation_run_data (run_id, environment_id, data)
        select run_id, $23, data from entering where data is not null and data <> '{}' returning run_id
      )
      select (select count(*) from noted) as taken,
        (select array_agg(run_id) from (select run_id from entering limit 1) e) as ids;
