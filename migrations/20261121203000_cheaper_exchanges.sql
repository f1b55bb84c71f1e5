-- What an exchange of the sending engine costs.

-- When a delivery ends it leaves the index of those that are open, and each of its other indexes gets an entry for the new version
-- of its row. In pages that were packed when the rows were written that meant to look for entries to throw away, or
-- a split, for nearly each; with room it means to put one beside the other. Storage parameters are a partition's own, and those of
-- its indexes too, so a new month takes those of its table's default partition.
create or replace function platform.ensure_month(parent regclass, month date) returns void
  language plpgsql security definer set search_path = pg_catalog as $$
declare
  first date := date_trunc('month', month)::date;
  name text := format('%I.%I',
    (select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = parent),
    (select c.relname from pg_class c where c.oid = parent) || to_char(first, '_YYYYMM'));
  model oid := (select p.partdefid from pg_partitioned_table p where p.partrelid = parent);
  settings text;
  index regclass;
begin
  if model is null then
    raise exception '% is not partitioned', parent;
  end if;
  if to_regclass(name) is null then
    select array_to_string(d.reloptions, ', ') into settings from pg_class d where d.oid = model;
    execute format('create table if not exists %s partition of %s for values from (%L) to (%L) %s',
      name, parent, first, (first + interval '1 month')::date, 'with (' || settings || ')');
    for index, settings in
      select mine.indexrelid, array_to_string(c.reloptions, ', ')
      from pg_index mine join pg_inherits i on i.inhrelid = mine.indexrelid
        join pg_inherits j on j.inhparent = i.inhparent
        join pg_index other on other.indexrelid = j.inhrelid and other.indrelid = model
        join pg_class c on c.oid = other.indexrelid
      where mine.indrelid = name::regclass and c.reloptions is not null
    loop
      execute format('alter index %s set (%s)', index, settings);
    end loop;
  end if;
end $$;

-- Those that have an entry for each delivery, whatever becomes of it.
do $$
declare index regclass;
begin
  for index in
    select i.indexrelid from pg_inherits p join pg_index i on i.indrelid = p.inhrelid
      join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
    where p.inhparent = 'messaging.deliveries'::regclass and a.amname = 'btree'
      and (i.indpred is null or pg_get_expr(i.indpred, i.indrelid) = '(subscriber_id IS NOT NULL)')
  loop
    execute format('alter index %s set (fillfactor = 50)', index);
  end loop;
end $$;

-- Nearly always there is nothing to fold: nobody else settles at the same moment.
create or replace function billing.settle_emails(tenant bigint, period timestamptz, used bigint, released bigint)
  returns void language plpgsql set search_path = pg_catalog as $$
begin
  perform from billing.email_usage u where u.tenant_id = tenant and u.period_start = period for update skip locked;
  if not found then
    insert into billing.email_settlements (tenant_id, period_start, used, released) values (tenant, period, used, released);
  elsif exists (select from billing.email_settlements s where s.tenant_id = tenant and s.period_start = period) then
    perform billing.fold_settlements(tenant, period, used, released);
  else
    update billing.email_usage u
    set reserved = greatest(0, u.reserved - settle_emails.used - settle_emails.released), used = u.used + settle_emails.used
    where u.tenant_id = tenant and u.period_start = period and settle_emails.used + settle_emails.released > 0;
  end if;
end $$;
