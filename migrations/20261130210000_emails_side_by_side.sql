-- Messages reserve e-mails one at a time: far from the plan's limit they do so side by side, each with a row of its own.
alter table billing.email_settlements add column reserved bigint not null default 0 check (reserved >= 0);
comment on table billing.email_settlements is 'What came while another transaction had locked the tenant''s row of email_usage: settlements, so that sending never waits for a campaign that is being queued, and reservations of messages, which are made side by side. The next transaction that locks the row adds them to it. A settlement only ever frees e-mails: not to count it yet cannot pass the limit.';
comment on column billing.email_settlements.reserved is 'Reserved beside that row: counts at once.';

create or replace function billing.fold_settlements(tenant bigint, period timestamptz, now_used bigint, now_released bigint)
returns void language plpgsql set search_path = pg_catalog as $$
begin
  with waiting as (
    delete from billing.email_settlements s where s.tenant_id = tenant and s.period_start = period
    returning s.reserved, s.used, s.released
  ), settled as (
    select coalesce(sum(w.reserved), 0)::bigint as reserved, coalesce(sum(w.used), 0)::bigint + now_used as used,
      coalesce(sum(w.released), 0)::bigint + now_released as released
    from waiting w
  )
  update billing.email_usage u
  set reserved = greatest(0, u.reserved + s.reserved - s.used - s.released), used = u.used + s.used
  from settled s
  where u.tenant_id = tenant and u.period_start = period and s.reserved + s.used + s.released > 0;
end $$;

create or replace function billing.reserve_emails(tenant bigint, period timestamptz, emails bigint, quota bigint, out granted boolean, out committed bigint)
returns record language plpgsql set search_path = pg_catalog as $$
begin
  -- waits for those that reserve side by side, whose rows it sees then
  perform pg_advisory_xact_lock(hashtextextended('emails of tenant ' || tenant, 0));
  insert into billing.email_usage (tenant_id, period_start) values (tenant, period) on conflict do nothing;
  perform from billing.email_usage u where u.tenant_id = tenant and u.period_start = period for update;
  perform billing.fold_settlements(tenant, period, 0, 0);
  update billing.email_usage u set reserved = u.reserved + emails
  where u.tenant_id = tenant and u.period_start = period and (quota is null or u.reserved + u.used + emails <= quota);
  granted := found;
  select u.reserved + u.used into committed from billing.email_usage u where u.tenant_id = tenant and u.period_start = period;
end $$;

create function billing.demand_emails(tenant bigint, period timestamptz, emails bigint, quota bigint, room bigint)
returns void language plpgsql set search_path = pg_catalog as $$
declare
  is_far boolean := quota is null;
  is_granted boolean;
begin
  if not is_far and quota > room then
    begin
      perform pg_advisory_xact_lock_shared(hashtextextended('emails of tenant ' || tenant, 0));
      select coalesce((
          select u.reserved + u.used from billing.email_usage u where u.tenant_id = tenant and u.period_start = period
        ), 0) + coalesce((
          select sum(s.reserved - s.released) from billing.email_settlements s where s.tenant_id = tenant and s.period_start = period
        ), 0) + emails + room <= quota into is_far;
      -- what is undone with this block is the lock
      if not is_far then raise exception using errcode = 'MW001'; end if;
    exception when sqlstate 'MW001' then null;
    end;
  end if;
  if is_far then
    if not exists (select 1 from billing.email_usage u where u.tenant_id = tenant and u.period_start = period) then
      insert into billing.email_usage (tenant_id, period_start) values (tenant, period) on conflict do nothing;
    end if;
    insert into billing.email_settlements (tenant_id, period_start, reserved, used, released) values (tenant, period, emails, 0, 0);
    return;
  end if;
  select r.granted into is_granted from billing.reserve_emails(tenant, period, emails, quota) r;
  if not is_granted then
    raise exception using errcode = 'MW002', message = 'The plan has too few e-mails left.';
  end if;
end $$;
comment on function billing.demand_emails(bigint, timestamptz, bigint, bigint, bigint) is 'Reserves all of `emails`, or raises MW002 where `quota` (null = unlimited) has no room for them. Further than `room` from it, which is more than all transactions reserve that there can be at once, nobody waits: each adds a row, under a lock that is shared, and given back before one waits to have it alone.';
revoke all on function billing.demand_emails from public;
grant execute on function billing.demand_emails to mailwright_app, mailwright_system;
