-- A new month no longer waits behind a reader. CREATE TABLE … PARTITION OF locks the whole table against everybody, and so
-- does ATTACH PARTITION with the default partition. So a month is made as a table of its own and attached, which neither
-- readers nor writers notice, and there is no default partition: rows of before the first month have `…_earlier`, and
-- months are made long before they are needed. Without a default partition, DETACH … CONCURRENTLY works too.

-- The month before it is the model: its columns, checks, indexes and storage parameters. Foreign keys and triggers come
-- with the attaching, and nothing is validated, since the table is empty. Who cannot get a lock at once gives up: those
-- who came later would wait behind.
create or replace function platform.ensure_month(parent regclass, month date) returns void
  language plpgsql security definer set search_path = pg_catalog set lock_timeout = '250ms' as $$
declare
  first date := date_trunc('month', month)::date;
  name text := format('%I.%I',
    (select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = parent),
    (select c.relname from pg_class c where c.oid = parent) || to_char(first, '_YYYYMM'));
  model oid;
  settings text;
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
    execute format('alter table %s attach partition %s for values from (%L) to (%L)',
      parent, name, first, (first + interval '1 month')::date);
  end if;
end $$;

-- All months from the first one up to that of `until`, those included that were detached and moved away.
create function platform.ensure_months(parent regclass, until date) returns void
  language plpgsql security definer set search_path = pg_catalog as $$
declare
  earliest text := (
    select substring(pg_get_expr(c.relpartbound, c.oid) from 'FROM \(MINVALUE\) TO \(''(\d{4}-\d\d-\d\d)')
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = parent and pg_get_expr(c.relpartbound, c.oid) like '%MINVALUE%');
begin
  perform platform.ensure_month(parent, month::date)
  from generate_series(earliest::date, until, interval '1 month') month;
end $$;
revoke all on function platform.ensure_months from public;
grant execute on function platform.ensure_months to mailwright_system;

-- The default partition becomes `…_earlier`; what it holds of later months moves to these.
do $$
declare
  parent regclass;
  old regclass;
  earlier text;
  key name;
  first date;
begin
  -- Where row-level security holds for the owner too.
  perform set_config('mailwright.owner', 'on', true);
  for parent, old, earlier, key, first in
    select p.partrelid, p.partdefid, format('%I.%I', n.nspname, c.relname || '_earlier'), a.attname,
      (select min(to_date(right(m.relname, 6), 'YYYYMM')) from pg_inherits i join pg_class m on m.oid = i.inhrelid
       where i.inhparent = p.partrelid and m.relname ~ '_\d{6}$')
    from pg_partitioned_table p join pg_class c on c.oid = p.partrelid join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attnum = p.partattrs[0]
    where p.partstrat = 'r' and n.nspname in ('messaging', 'audience') and p.partdefid <> 0
  loop
    execute format('alter table %s detach partition %s', parent, old);
    execute format('alter table %s rename to %I', old, split_part(earlier, '.', 2));
    execute format('create temporary table later on commit drop as select * from %s where %I >= %L', earlier, key, first);
    execute format('delete from %s where %I >= %L', earlier, key, first);
    execute format('alter table %s attach partition %s for values from (minvalue) to (%L)', parent, earlier, first);
    execute format('select platform.ensure_months(%L, greatest((select max(%I)::date from later), (now() + interval ''6 months'')::date))',
      parent, key);
    execute format('alter table %s disable trigger user', parent);
    execute format('insert into %s select * from later', parent);
    execute format('alter table %s enable trigger user', parent);
    drop table later;
  end loop;
end $$;
