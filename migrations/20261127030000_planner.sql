-- For the planner an environment has a quarter of the rows, or as many as the largest has. As one of average size, among many
-- small ones, an index that begins with the environment would seem better than the key by which a row is looked up. Citus
-- takes no such option of a table that is spread already, and plans for the values.
do $do$
declare
  name regclass;
begin
  if exists (select from pg_extension where extname = 'citus') then
    return;
  end if;
  for name in
    select unnest(array['audience.subscribers', 'audience.consents']::regclass[])
    union all
    select inhrelid::regclass from pg_inherits
    where inhparent = any(array['messaging.deliveries', 'messaging.delivery_events', 'messaging.delivery_engagement']::regclass[])
  loop
    execute format('alter table %s alter column environment_id set (n_distinct = 4)', name);
  end loop;
end $do$;

-- As before, and columns have what the planner is told of the model's.
create or replace function platform.ensure_month(parent regclass, month date) returns void
  language plpgsql security definer set search_path = pg_catalog set lock_timeout = '250ms' as $$
declare
  first date := date_trunc('month', month)::date;
  name text := format('%I.%I',
    (select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = parent),
    (select c.relname from pg_class c where c.oid = parent) || to_char(first, '_YYYYMM'));
  model oid;
  settings text;
  hint text;
begin
  select c.oid, array_to_string(c.reloptions, ', ') into model, settings
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = parent and pg_get_expr(c.relpartbound, c.oid) <> 'DEFAULT'
  order by c.relname ~ '_\d{6}$' desc, c.relname desc limit 1;
  if model is null then
    raise exception '% has no partition to go by', parent;
  end if;
  if to_regclass(name) is null then
    execute format('create table %s (like %s including all) %s', name, model::regclass, 'with (' || settings || ')');
    for hint in
      select format('alter table %s alter column %I set (%s)', name, a.attname, array_to_string(a.attoptions, ', '))
      from pg_attribute a where a.attrelid = model and a.attoptions is not null
    loop
      execute hint;
    end loop;
    execute format('alter table %s attach partition %s for values from (%L) to (%L)',
      parent, name, first, (first + interval '1 month')::date);
  end if;
end $$;
