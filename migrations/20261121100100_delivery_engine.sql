-- The present era of this database server: it ends with a crash. Recovery empties an unlogged table, and so does a
-- standby that takes over, and those are the cases in which commits can be missing that were not waited for. The
-- marks of a sender are such commits. So what was claimed in an era that has ended may have been on a wire, although
-- its row does not say so.
create unlogged table messaging.server_era (
  only_one boolean primary key default true check (only_one),
  era bigint not null
);
grant select, insert on messaging.server_era to mailwright_app, mailwright_system;

create function messaging.current_era() returns bigint language plpgsql volatile set search_path = pg_catalog as $$
declare
  current bigint;
begin
  select e.era into current from messaging.server_era e;
  if not found then
    insert into messaging.server_era (era) values ((extract(epoch from clock_timestamp()) * 1000000)::bigint)
    on conflict do nothing;
    select e.era into current from messaging.server_era e;
  end if;
  return current;
end $$;
revoke all on function messaging.current_era from public;
grant execute on function messaging.current_era to mailwright_app, mailwright_system;

-- The era of the claim; null where every mark is waited for, and when nobody holds the row.
alter table messaging.deliveries add column lease_era bigint;
