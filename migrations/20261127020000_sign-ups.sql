-- A plan without a limit is asked nothing, so that the limit can be part of the statement.
create or replace function audience.reserve_subscribers(wanted int, most bigint, room bigint) returns bigint
  language plpgsql as $$
declare
  limit_lock bigint := hashtextextended('subscribers of tenant ' || platform.tenant_id(), 0);
begin
  if most = -1 then return wanted; end if;
  if most > room then
    begin
      perform pg_advisory_xact_lock_shared(limit_lock);
      if audience.live_subscribers_of_tenant() + room < most then return wanted; end if;
      -- what is undone with this block is the lock
      raise exception using errcode = 'MW001';
    exception when sqlstate 'MW001' then null;
    end;
  end if;
  perform pg_advisory_xact_lock(limit_lock);
  return least(wanted, greatest(0, most - audience.live_subscribers_of_tenant()));
end $$;
