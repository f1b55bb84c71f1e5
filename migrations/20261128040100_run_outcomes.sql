-- How runs ended, by their status.
lock table messaging.automation_runs in share row exclusive mode;

alter table messaging.automation_counters add column converted bigint not null default 0, add column failed bigint not null default 0;
comment on column messaging.automation_counters.converted is 'The part of completed that reached a goal.';
comment on column messaging.automation_counters.failed is 'The part of ended whose step failed.';

insert into messaging.automation_counters as c (automation_number, writer, environment_id, converted, failed)
select automation_number, 0, environment_id, count(*) filter (where status = 'CONVERTED'), count(*) filter (where status = 'FAILED')
from messaging.automation_runs where status in ('CONVERTED', 'FAILED') group by automation_number, environment_id
on conflict (automation_number, writer, environment_id) do update set converted = excluded.converted, failed = excluded.failed;

create or replace function messaging.count_runs() returns trigger language plpgsql set enable_nestloop = off as $$
declare
  counted record;
begin
  if tg_op = 'INSERT' then
    for counted in
      select automation_number, environment_id, count(*) as entered
      from rows_after group by automation_number, environment_id order by automation_number
    loop
      insert into messaging.automation_counters as c (automation_number, writer, environment_id, entered)
      values (counted.automation_number, pg_backend_pid() % 32, counted.environment_id, counted.entered)
      on conflict (automation_number, writer, environment_id) do update set entered = c.entered + excluded.entered;
    end loop;
  else
    for counted in
      select a.automation_number, a.environment_id,
        count(*) filter (where a.status in ('COMPLETED', 'CONVERTED')) as completed,
        count(*) filter (where a.status = 'CONVERTED') as converted,
        count(*) filter (where a.status not in ('COMPLETED', 'CONVERTED')) as ended,
        count(*) filter (where a.status = 'FAILED') as failed
      from rows_after a join rows_before b on b.id = a.id
      where b.status = 'ACTIVE' and a.status <> 'ACTIVE'
      group by a.automation_number, a.environment_id order by a.automation_number
    loop
      insert into messaging.automation_counters as c (automation_number, writer, environment_id, completed, converted, ended, failed)
      values (counted.automation_number, pg_backend_pid() % 32, counted.environment_id, counted.completed, counted.converted,
        counted.ended, counted.failed)
      on conflict (automation_number, writer, environment_id) do update
      set completed = c.completed + excluded.completed, converted = c.converted + excluded.converted,
        ended = c.ended + excluded.ended, failed = c.failed + excluded.failed;
    end loop;
  end if;
  return null;
end $$;
