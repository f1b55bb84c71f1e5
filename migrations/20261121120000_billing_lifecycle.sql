-- What is on offer. A version never changes: another price or limit is another version, and a subscription keeps
-- the one it was made with. `content` is the plan as the catalogue's file had it.
create table billing.plan_versions (
  id bigint generated always as identity primary key,
  tier text not null check (tier in ('FREE', 'STANDARD', 'PRO')),
  version int not null check (version > 0),
  name text not null,
  description text not null,
  limits jsonb not null,
  content jsonb not null,
  created_at timestamptz not null default now(),
  retired_at timestamptz,
  unique (tier, version)
);
create unique index plan_versions_on_offer on billing.plan_versions (tier) where retired_at is null;

-- A plan is sold with different numbers of AI credits a month.
create table billing.plan_variants (
  id bigint generated always as identity primary key,
  plan_version_id bigint not null references billing.plan_versions,
  ai_credits int not null check (ai_credits >= 0),
  unique (plan_version_id, ai_credits)
);

-- In minor units of the currency (ISO 4217), for one month and for one year.
create table billing.plan_prices (
  plan_variant_id bigint not null references billing.plan_variants,
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  monthly_cents bigint not null check (monthly_cents >= 0),
  yearly_cents bigint not null check (yearly_cents >= 0),
  primary key (plan_variant_id, currency)
);
-- The same for every tenant.
grant select on billing.plan_versions, billing.plan_variants, billing.plan_prices to mailwright_app, mailwright_system;

alter table billing.subscriptions
  add column plan_version_id bigint references billing.plan_versions,
  -- a month; null: as many as the plan is sold with at least
  add column ai_credits int check (ai_credits >= 0),
  add column currency text not null default 'USD' check (currency ~ '^[A-Z]{3}$'),
  add column current_period_start timestamptz,
  add column current_period_end timestamptz,
  add column trial_ends_at timestamptz,
  add column pending_plan_version_id bigint references billing.plan_versions,
  add column pending_currency text check (pending_currency ~ '^[A-Z]{3}$'),
  add column pending_plan_tier text check (pending_plan_tier in ('FREE', 'STANDARD', 'PRO')),
  add column pending_ai_credits int check (pending_ai_credits >= 0),
  add column pending_billing_interval text check (pending_billing_interval in ('MONTHLY', 'YEARLY')),
  add column cancel_at_period_end boolean not null default false,
  add column cancelled_at timestamptz,
  add column cancellation_reason text,
  add column past_due_since timestamptz,
  add column restricted_since timestamptz,
  add column ended_at timestamptz,
  -- to whom invoices are made out; null: to the tenant by its name
  add column buyer_name text,
  add column buyer_address text,
  add column buyer_tax_id text,
  add column provider text not null default 'MANUAL' check (provider in ('MANUAL', 'STRIPE')),
  add column external_customer_id text,
  add column external_id text unique,
  -- the start of the month whose AI credits were announced last, and how many they were
  add column announced_month timestamptz,
  add column announced_credits int,
  -- when time alone changes it next; whoever makes a row by hand leaves that to the worker
  add column next_due_at timestamptz not null default '-infinity',
  add check ((current_period_start is null) = (current_period_end is null)),
  add check (current_period_end > current_period_start),
  add check (num_nulls(pending_plan_tier, pending_plan_version_id, pending_ai_credits, pending_billing_interval,
    pending_currency) in (0, 5));
create index subscriptions_due on billing.subscriptions (next_due_at);

-- The last invoice number of a tenant's year. The row is locked until the invoice is committed: that is what keeps
-- the numbers without gaps.
create table billing.invoice_numbers (
  tenant_id bigint not null,
  year int not null,
  last_number int not null check (last_number > 0),
  primary key (tenant_id, year)
);
alter table billing.invoice_numbers enable row level security;
create policy system_rows on billing.invoice_numbers to mailwright_system using (true) with check (true);
grant select, insert, update on billing.invoice_numbers to mailwright_system;

-- Money is in minor units; amount = subtotal + tax. Seller and buyer are as they were when it was issued.
create table billing.invoices (
  id bigint generated always as identity primary key,
  -- what signed links name
  public_id uuid not null unique,
  tenant_id bigint not null,
  subscription_id bigint not null references billing.subscriptions,
  external_id text unique,
  status text not null check (status in ('DRAFT', 'OPEN', 'PAID', 'UNCOLLECTIBLE', 'VOID')),
  billing_reason text not null
    check (billing_reason in ('subscription_create', 'subscription_cycle', 'subscription_update', 'credits_purchase')),
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  subtotal_cents bigint not null,
  -- hundredths of a percent: 2300 is 23 %
  tax_rate_bp int not null check (tax_rate_bp between 0 and 10000),
  tax_cents bigint not null,
  amount_cents bigint not null check (amount_cents = subtotal_cents + tax_cents),
  number_year int,
  number int,
  invoice_number text unique,
  seller jsonb not null,
  buyer jsonb not null,
  issued_at timestamptz,
  due_at timestamptz,
  paid_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (tenant_id, number_year, number),
  check (status = 'DRAFT' or (number is not null and number_year is not null and invoice_number is not null
    and issued_at is not null and due_at is not null)),
  check ((status = 'PAID') = (paid_at is not null))
);
create index invoices_of_tenant on billing.invoices (tenant_id, created_at desc, id desc);
create index invoices_unpaid on billing.invoices (subscription_id, due_at) where status = 'OPEN';
alter table billing.invoices enable row level security;
create policy app_rows on billing.invoices for select to mailwright_app using (tenant_id = (select platform.tenant_id()));
create policy system_rows on billing.invoices to mailwright_system using (true) with check (true);
grant select on billing.invoices to mailwright_app;
grant select, insert, update on billing.invoices to mailwright_system;

create table billing.invoice_lines (
  invoice_id bigint not null references billing.invoices,
  position int not null check (position > 0),
  tenant_id bigint not null,
  description text not null,
  amount_cents bigint not null,
  period_start timestamptz not null,
  period_end timestamptz not null,
  primary key (invoice_id, position)
);
alter table billing.invoice_lines enable row level security;
create policy app_rows on billing.invoice_lines for select to mailwright_app
  using (tenant_id = (select platform.tenant_id()));
create policy system_rows on billing.invoice_lines to mailwright_system using (true) with check (true);
grant select on billing.invoice_lines to mailwright_app;
grant select, insert on billing.invoice_lines to mailwright_system;

-- Campaigns that were made in the live environments of one tenant in one of its months.
create table billing.campaign_usage (
  tenant_id bigint not null,
  period_start timestamptz not null,
  campaigns int not null check (campaigns > 0),
  primary key (tenant_id, period_start)
) with (fillfactor = 50);
alter table billing.campaign_usage enable row level security;
create policy app_rows on billing.campaign_usage to mailwright_app
  using (tenant_id = (select platform.tenant_id())) with check (tenant_id = (select platform.tenant_id()));
create policy system_rows on billing.campaign_usage to mailwright_system using (true) with check (true);
grant select, insert, update on billing.campaign_usage to mailwright_app, mailwright_system;
-- What was made before it was counted, of the month that runs.
insert into billing.campaign_usage (tenant_id, period_start, campaigns)
select s.tenant_id, month.begun, count(*)
from billing.subscriptions s
cross join lateral (
  select max(m.begun) as begun
  from (select (s.anchored_at at time zone 'UTC' + make_interval(months => n)) at time zone 'UTC' as begun
    from generate_series(0, 1200) n) m
  where m.begun <= now()
) month
join access.projects p on p.tenant_id = s.tenant_id
join access.project_environments e on e.project_id = p.id and e.environment = 'LIVE'
join messaging.campaigns c on c.environment_id = e.id and c.created_at >= month.begun
group by s.tenant_id, month.begun;

-- What Stripe told us of, once an event. Only that something happened to which object: the worker asks Stripe for
-- its state, so that the order in which events come does not matter.
create table billing.stripe_events (
  id text primary key,
  type text not null,
  object_id text not null,
  occurred_at timestamptz not null,
  received_at timestamptz not null default now(),
  attempts int not null default 0,
  retry_at timestamptz not null default '-infinity',
  last_error text,
  processed_at timestamptz
);
create index stripe_events_open on billing.stripe_events (retry_at) where processed_at is null;
create index stripe_events_processed on billing.stripe_events (processed_at) where processed_at is not null;
alter table billing.stripe_events enable row level security;
create policy system_rows on billing.stripe_events to mailwright_system using (true) with check (true);
grant select, insert, update, delete on billing.stripe_events to mailwright_system;

-- Puts an event of Stripe's into its table; true when it was not there yet. By definer's rights, since Stripe's
-- request belongs to no tenant.
create function billing.receive_stripe_event(event_id text, event_type text, object_id text, occurred_at timestamptz)
  returns boolean language plpgsql security definer set search_path = pg_catalog as $$
begin
  insert into billing.stripe_events (id, type, object_id, occurred_at)
  values (event_id, event_type, object_id, occurred_at) on conflict do nothing;
  return found;
end $$;
revoke all on function billing.receive_stripe_event from public;
grant execute on function billing.receive_stripe_event to mailwright_app, mailwright_system;

-- Makes the catalogue's file what is on offer: a plan that changed becomes a new version, one that did not stays.
create function billing.seed_plans(catalogue jsonb) returns void
  language plpgsql set search_path = pg_catalog as $$
declare
  plan jsonb;
  variant jsonb;
  version_id bigint;
  variant_id bigint;
  next_version int;
begin
  for plan in select * from jsonb_array_elements(catalogue -> 'plans') loop
    continue when exists (select from billing.plan_versions v
      where v.tier = plan ->> 'tier' and v.retired_at is null and v.content = plan);
    update billing.plan_versions v set retired_at = now() where v.tier = plan ->> 'tier' and v.retired_at is null;
    next_version := coalesce((select max(v.version) from billing.plan_versions v where v.tier = plan ->> 'tier'), 0) + 1;
    insert into billing.plan_versions (tier, version, name, description, limits, content)
    values (plan ->> 'tier', next_version, plan ->> 'name', plan ->> 'description', plan -> 'limits', plan)
    returning id into version_id;
    for variant in select * from jsonb_array_elements(plan -> 'variants') loop
      insert into billing.plan_variants (plan_version_id, ai_credits)
      values (version_id, (variant ->> 'aiCredits')::int) returning id into variant_id;
      insert into billing.plan_prices (plan_variant_id, currency, monthly_cents, yearly_cents)
      select variant_id, p.key, (p.value ->> 'monthly')::bigint, (p.value ->> 'yearly')::bigint
      from jsonb_each(variant -> 'prices') p;
    end loop;
    -- Subscriptions from before there were versions were made with what is now the first.
    if next_version = 1 then
      update billing.subscriptions s set plan_version_id = version_id
      where s.plan_tier = plan ->> 'tier' and s.plan_version_id is null;
    end if;
  end loop;
end $$;
revoke all on function billing.seed_plans from public;

-- The limits of a subscription: those of its own version, else of the one that is on offer.
create function billing.plan_version_of(tier text, version_id bigint) returns bigint
  language sql stable parallel safe set search_path = pg_catalog as $$
  select coalesce(
    (select v.id from billing.plan_versions v where v.id = version_id and v.tier = plan_version_of.tier),
    (select v.id from billing.plan_versions v where v.tier = plan_version_of.tier and v.retired_at is null))
$$;
revoke all on function billing.plan_version_of from public;
grant execute on function billing.plan_version_of to mailwright_app, mailwright_system;

-- How many projects the tenant in scope has. By definer's rights: a scope sees only its own project's row.
create function access.projects_of_tenant() returns bigint
  language sql stable security definer set search_path = pg_catalog as $$
  select count(*) from access.projects p where p.tenant_id = platform.tenant_id()
$$;
revoke all on function access.projects_of_tenant from public;
grant execute on function access.projects_of_tenant to mailwright_app;
