-- A delivery is claimed, marked and ended within seconds: three versions of a row after the first. With room for them on
-- its page the first two touch no index (heap-only tuples), and the page cleans itself up; without, each writes an entry
-- in five indexes. Storage parameters are a partition's own, so a new month takes those of its table's default partition.
create or replace function platform.ensure_month(parent regclass, month date) returns void
  language plpgsql security definer set search_path = pg_catalog as $$
declare
  first date := date_trunc('month', month)::date;
  name text := format('%I.%I',
    (select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = parent),
    (select c.relname from pg_class c where c.oid = parent) || to_char(first, '_YYYYMM'));
  settings text;
begin
  if not exists (select from pg_partitioned_table where partrelid = parent) then
    raise exception '% is not partitioned', parent;
  end if;
  if to_regclass(name) is null then
    select array_to_string(d.reloptions, ', ') into settings
      from pg_partitioned_table p join pg_class d on d.oid = p.partdefid where p.partrelid = parent;
    execute format('create table if not exists %s partition of %s for values from (%L) to (%L) %s',
      name, parent, first, (first + interval '1 month')::date, 'with (' || settings || ')');
  end if;
end $$;

do $$
declare partition regclass;
begin
  for partition in select inhrelid::regclass from pg_inherits where inhparent = 'messaging.deliveries'::regclass loop
    execute format('alter table %s set (fillfactor = 50)', partition);
  end loop;
end $$;
