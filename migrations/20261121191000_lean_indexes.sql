-- An index costs each new subscriber some 2 µs of the 47 that an import takes for one. These were not worth it.

-- The keys come from one sequence a project and are never looked for: nothing but that sequence was checked.
alter table audience.subscribers drop constraint subscribers_environment_id_subscriber_key_key;

-- Nobody asks for an entry of the record by its id, which is made for that entry alone (UUID version 7).
alter table audience.consent_ledger drop constraint consent_ledger_pkey;
-- Entries are found by the person alone, whose id is of one environment and grows with time: those of new subscribers
-- are added at the end of the index, where the page to add to is at hand.
drop index audience.consent_ledger_of_subscriber;
create index consent_ledger_of_subscriber on audience.consent_ledger (subscriber_id, occurred_at);

-- How many of `wanted` new subscribers the caller's transaction may make, where the tenant may have `most`; others near
-- the limit wait until it ends. Further than `room` from it they are made side by side: their lock is shared, taken before
-- they count, and given back before one waits to have it alone. Each step sees what was committed before it.
create function audience.reserve_subscribers(wanted int, most bigint, room bigint) returns bigint
  language plpgsql as $$
declare
  limit_lock bigint := hashtextextended('subscribers of tenant ' || platform.tenant_id(), 0);
begin
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
revoke all on function audience.reserve_subscribers from public;
grant execute on function audience.reserve_subscribers to mailwright_app;
