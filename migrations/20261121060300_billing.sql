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
