-- A policy keeps the rows of other environments away; rows are found by what the statement itself says. As a plain
-- comparison the policy offered each look-up by id a second index, that of the environment, which costs the same by the
-- statistics of a small table: now and then it was taken, and the whole environment read for one row. `is true` cannot
-- be asked of an index.
do $$
declare
  policy record;
begin
  for policy in
    select c.oid::regclass as target from pg_policy p join pg_class c on c.oid = p.polrelid
    where p.polname = 'app_rows' and pg_get_expr(p.polqual, p.polrelid) like '(environment_id = ( SELECT platform.environment_id()%'
  loop
    execute format(
      'alter policy app_rows on %s using ((environment_id = (select platform.environment_id())) is true)', policy.target);
  end loop;
end $$;

create or replace procedure platform.protect(target regclass, app_privileges text) language plpgsql as $$
begin
  execute format('alter table %s enable row level security', target);
  execute format(
    'create policy app_rows on %s to mailwright_app using ((environment_id = (select platform.environment_id())) is true) '
    'with check (environment_id = (select platform.environment_id()))', target);
  execute format('create policy system_rows on %s to mailwright_system using (true) with check (true)', target);
  execute format('grant %s on %s to mailwright_app', app_privileges, target);
  execute format('grant select, insert, update, delete on %s to mailwright_system', target);
end $$;

-- It is asked for each of many, by a plan that the connection keeps: of a table of one page it read all, still when there
-- were more.
alter function audience.derived_status(bigint, text, uuid) set enable_seqscan = off;
