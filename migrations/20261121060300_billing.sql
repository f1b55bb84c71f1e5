create schema billing;
grant usage on schema billing to mailwright_app, mailwright_system;

create table billing.subscriptions (
  id bigint generated always as identity primary key,
  tenant_id bigint not null unique,
  plan_tier text not null check (plan_tier in ('FREE', 'STANDARD', 'PRO')),
  status text not null check (status in ('TRIALING', 'ACTIVE', 'PAST_DUE', 'RESTRICTED', 'CANCELLED', 'EXPIRED')),
  billing_interval text not null check (billing_interval in ('MONTHLY', 'YEARLY')),
  -- periods are anniversaries of this moment, in UTC
  anchored_at timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
alter table billing.subscriptions enable row level security;
create policy app_rows on billing.subscriptions for select to mailwright_app using (tenant_id = (select platform.tenant_id()));
create policy system_rows on billing.subscriptions to mailwright_system using (true) with check (true);
grant select on billing.subscriptions to mailwright_app;
grant select, insert, update on billing.subscriptions to mailwright_system;

-- E-mails of one tenant in one period. `reserved` counts what is promised to queued campaigns and not
-- settled yet, `used` what was sent; reserved + used never passes the plan's limit.
create table billing.email_usage (
  tenant_id bigint not null,
  period_start timestamptz not null,
  reserved bigint not null default 0 check (reserved >= 0),
  used bigint not null default 0 check (used >= 0),
  primary key (tenant_id, period_start)
) with (fillfactor = 50);
alter table billing.email_usage enable row level security;
create policy app_rows on billing.email_usage to mailwright_app
  using (tenant_id = (select platform.tenant_id())) with check (tenant_id = (select platform.tenant_id()));
create policy system_rows on billing.email_usage to mailwright_system using (true) with check (true);
grant select, insert, update on billing.email_usage to mailwright_app, mailwright_system;

-- Settlements that came while another transaction held the tenant's row of email_usage. They are added to
-- it by the next one that has it, so that sending never waits for a campaign that is being queued. A
-- settlement only ever frees e-mails: not to count it yet cannot pass the limit.
create table billing.email_settlements (
  id bigint generated always as identity primary key,
  tenant_id bigint not null,
  period_start timestamptz not null,
  used bigint not null check (used >= 0),
  released bigint not null check (released >= 0)
);
create index email_settlements_of_period on billing.email_settlements (tenant_id, period_start);
alter table billing.email_settlements enable row level security;
create policy app_rows on billing.email_settlements to mailwright_app
  using (tenant_id = (select platform.tenant_id())) with check (tenant_id = (select platform.tenant_id()));
create policy system_rows on billing.email_settlements to mailwright_system using (true) with check (true);
grant select, insert, delete on billing.email_settlements to mailwright_app, mailwright_system;

-- Adds what was settled, waiting rows included, to a row of email_usage that the caller has locked.
create function billing.fold_settlements(tenant bigint, period timestamptz, now_used bigint, now_released bigint)
  returns void language sql set search_path = pg_catalog as $$
  with waiting as (
    delete from billing.email_settlements s where s.tenant_id = tenant and s.period_start = period
    returning s.used, s.released
  ), settled as (
    select coalesce(sum(w.used), 0)::bigint + now_used as used, coalesce(sum(w.released), 0)::bigint + now_released as released
    from waiting w
  )
  update billing.email_usage u
  set reserved = greatest(0, u.reserved - s.used - s.released), used = u.used + s.used
  from settled s
  where u.tenant_id = tenant and u.period_start = period and s.used + s.released > 0
$$;

-- Reserves all of `emails` if `quota` (null = unlimited) has room for them, or none. The row stays locked
-- until the transaction ends: that is what keeps parallel reservations within the limit.
create function billing.reserve_emails(tenant bigint, period timestamptz, emails bigint, quota bigint,
  out granted boolean, out committed bigint) language plpgsql set search_path = pg_catalog as $$
begin
  insert into billing.email_usage (tenant_id, period_start) values (tenant, period) on conflict do nothing;
  perform from billing.email_usage u where u.tenant_id = tenant and u.period_start = period for update;
  perform billing.fold_settlements(tenant, period, 0, 0);
  update billing.email_usage u set reserved = u.reserved + emails
  where u.tenant_id = tenant and u.period_start = period and (quota is null or u.reserved + u.used + emails <= quota);
  granted := found;
  select u.reserved + u.used into committed from billing.email_usage u where u.tenant_id = tenant and u.period_start = period;
end $$;

-- Settles reserved e-mails; waits for nobody.
create function billing.settle_emails(tenant bigint, period timestamptz, used bigint, released bigint)
  returns void language plpgsql set search_path = pg_catalog as $$
begin
  perform from billing.email_usage u where u.tenant_id = tenant and u.period_start = period for update skip locked;
  if found then
    perform billing.fold_settlements(tenant, period, used, released);
  else
    insert into billing.email_settlements (tenant_id, period_start, used, released) values (tenant, period, used, released);
  end if;
end $$;
revoke all on function billing.fold_settlements, billing.reserve_emails, billing.settle_emails from public;
grant execute on function billing.fold_settlements, billing.reserve_emails, billing.settle_emails
  to mailwright_app, mailwright_system;
