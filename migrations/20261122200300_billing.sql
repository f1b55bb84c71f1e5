create schema billing;
comment on schema billing is 'Plans, subscriptions, invoices, and what tenants use: e-mails, campaigns, AI credits.';
grant usage on schema billing to mailwright_app, mailwright_system;

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
comment on table billing.plan_versions is
  'Plans. A version never changes: another price or limit is another version, and a subscription keeps the one that it was '
  'made with.';
comment on column billing.plan_versions.content is 'The plan as migrations/seeds/billing.plans.json had it.';
comment on column billing.plan_versions.retired_at is 'Null: the version is on offer.';
create unique index plan_versions_on_offer on billing.plan_versions (tier) where retired_at is null;

create table billing.plan_variants (
  id bigint generated always as identity primary key,
  plan_version_id bigint not null references billing.plan_versions,
  ai_credits int not null check (ai_credits >= 0),
  unique (plan_version_id, ai_credits)
);
comment on table billing.plan_variants is 'The numbers of AI credits a month that a plan is sold with.';

create table billing.plan_prices (
  plan_variant_id bigint not null references billing.plan_variants,
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  monthly_cents bigint not null check (monthly_cents >= 0),
  yearly_cents bigint not null check (yearly_cents >= 0),
  primary key (plan_variant_id, currency)
);
comment on table billing.plan_prices is 'In minor units of the currency (ISO 4217), for one month and for one year.';

create table billing.subscriptions (
  id bigint generated always as identity primary key,
  tenant_id bigint not null unique,
  status text not null check (status in ('TRIALING', 'ACTIVE', 'PAST_DUE', 'RESTRICTED', 'CANCELLED', 'EXPIRED')),
  plan_tier text not null check (plan_tier in ('FREE', 'STANDARD', 'PRO')),
  plan_version_id bigint references billing.plan_versions,
  ai_credits int check (ai_credits >= 0),
  billing_interval text not null check (billing_interval in ('MONTHLY', 'YEARLY')),
  currency text not null default 'USD' check (currency ~ '^[A-Z]{3}$'),
  pending_plan_tier text check (pending_plan_tier in ('FREE', 'STANDARD', 'PRO')),
  pending_plan_version_id bigint references billing.plan_versions,
  pending_ai_credits int check (pending_ai_credits >= 0),
  pending_billing_interval text check (pending_billing_interval in ('MONTHLY', 'YEARLY')),
  pending_currency text check (pending_currency ~ '^[A-Z]{3}$'),
  anchored_at timestamptz not null,
  current_period_start timestamptz,
  current_period_end timestamptz,
  trial_ends_at timestamptz,
  past_due_since timestamptz,
  restricted_since timestamptz,
  cancel_at_period_end boolean not null default false,
  cancelled_at timestamptz,
  cancellation_reason text,
  ended_at timestamptz,
  next_due_at timestamptz not null default '-infinity',
  announced_month timestamptz,
  announced_credits int,
  buyer_name text,
  buyer_address text,
  buyer_tax_id text,
  provider text not null default 'MANUAL' check (provider in ('MANUAL', 'STRIPE')),
  external_customer_id text,
  external_id text unique,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check ((current_period_start is null) = (current_period_end is null)),
  check (current_period_end > current_period_start),
  check (num_nulls(pending_plan_tier, pending_plan_version_id, pending_ai_credits, pending_billing_interval,
    pending_currency) in (0, 5))
);
comment on table billing.subscriptions is 'A tenant''s subscription to a plan: one row, whatever it goes through.';
comment on column billing.subscriptions.ai_credits is 'A month; null: as many as the plan is sold with at least.';
comment on column billing.subscriptions.pending_plan_tier is 'The pending columns are what begins with the next period.';
comment on column billing.subscriptions.anchored_at is 'Periods are anniversaries of this moment, in UTC.';
comment on column billing.subscriptions.next_due_at is
  'When time alone changes it next; whoever makes a row by hand leaves that to the worker.';
comment on column billing.subscriptions.announced_month is
  'The start of the month whose AI credits were published as an event last; announced_credits says how many.';
comment on column billing.subscriptions.buyer_name is 'To whom invoices are made out; null: to the tenant by its name.';
create index subscriptions_due on billing.subscriptions (next_due_at);

create table billing.invoice_numbers (
  tenant_id bigint not null,
  year int not null,
  last_number int not null check (last_number > 0),
  primary key (tenant_id, year)
);
comment on table billing.invoice_numbers is
  'The last invoice number of a tenant''s year. The row is locked until the invoice is committed, so that numbers have no gaps.';

create table billing.invoices (
  id bigint generated always as identity primary key,
  public_id uuid not null unique,
  tenant_id bigint not null,
  subscription_id bigint not null references billing.subscriptions,
  external_id text unique,
  status text not null check (status in ('DRAFT', 'OPEN', 'PAID', 'UNCOLLECTIBLE', 'VOID')),
  billing_reason text not null
    check (billing_reason in ('subscription_create', 'subscription_cycle', 'subscription_update', 'credits_purchase')),
  number_year int,
  number int,
  invoice_number text unique,
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  subtotal_cents bigint not null,
  tax_rate_bp int not null check (tax_rate_bp between 0 and 10000),
  tax_cents bigint not null,
  amount_cents bigint not null check (amount_cents = subtotal_cents + tax_cents),
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
comment on table billing.invoices is 'Money is in minor units of the currency. Seller and buyer are as they were when it was issued.';
comment on column billing.invoices.public_id is 'What signed links name.';
comment on column billing.invoices.tax_rate_bp is 'Hundredths of a percent: 2300 is 23 %.';
create index invoices_of_tenant on billing.invoices (tenant_id, created_at desc, id desc);
create index invoices_unpaid on billing.invoices (subscription_id, due_at) where status = 'OPEN';

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
comment on table billing.invoice_lines is 'What an invoice charges for.';

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
comment on table billing.stripe_events is
  'Events of Stripe, each once: that something happened to an object. The worker asks Stripe for the object''s state, so the '
  'order in which events come does not matter.';
create index stripe_events_open on billing.stripe_events (retry_at) where processed_at is null;
create index stripe_events_processed on billing.stripe_events (processed_at) where processed_at is not null;

create table billing.stripe_cancellations (
  external_id text primary key,
  tenant_id bigint not null,
  requested_at timestamptz not null,
  attempts int not null default 0,
  retry_at timestamptz not null default '-infinity',
  last_error text
);
comment on table billing.stripe_cancellations is
  'Subscriptions that expired here and are to be cancelled at Stripe, which would renew them and send invoices for ever. A row '
  'is written with the change of state and removed when Stripe has done it.';

create table billing.email_usage (
  tenant_id bigint not null,
  period_start timestamptz not null,
  reserved bigint not null default 0 check (reserved >= 0),
  used bigint not null default 0 check (used >= 0),
  primary key (tenant_id, period_start)
) with (fillfactor = 50);
comment on table billing.email_usage is
  'E-mails of one tenant in one period; reserved + used never passes the plan''s limit.';
comment on column billing.email_usage.reserved is 'Promised to queued campaigns and not settled yet.';
comment on column billing.email_usage.used is 'Sent.';

create table billing.email_settlements (
  id bigint generated always as identity primary key,
  tenant_id bigint not null,
  period_start timestamptz not null,
  used bigint not null check (used >= 0),
  released bigint not null check (released >= 0)
);
comment on table billing.email_settlements is
  'Settlements that came while another transaction had locked the tenant''s row of email_usage, so that sending never waits for '
  'a campaign that is being queued. The next transaction that locks the row adds them to it. A settlement only ever frees '
  'e-mails: not to count it yet cannot pass the limit.';
create index email_settlements_of_period on billing.email_settlements (tenant_id, period_start);

create table billing.campaign_usage (
  tenant_id bigint not null,
  period_start timestamptz not null,
  campaigns int not null check (campaigns > 0),
  primary key (tenant_id, period_start)
) with (fillfactor = 50);
comment on table billing.campaign_usage is
  'Campaigns that were made in the live environments of one tenant in one of its months.';

create table billing.credit_accounts (
  tenant_id bigint primary key,
  balance bigint not null default 0,
  monthly bigint not null default 0,
  monthly_until timestamptz,
  month_start timestamptz,
  month_credits bigint not null default 0,
  transactions bigint not null default 0,
  short_of bigint,
  depleted_at timestamptz,
  updated_at timestamptz,
  constraint credits_never_negative check (monthly >= 0 and balance >= monthly)
) with (fillfactor = 50);
comment on table billing.credit_accounts is
  'AI credits of a tenant: the sum of its ledger, billing.credit_transactions, kept by the ledger''s trigger and by nothing '
  'else. Its row is what writers of one tenant lock.';
comment on column billing.credit_accounts.monthly is
  'Of the balance: what came with the month and lapses at `monthly_until`. It is used first.';
comment on column billing.credit_accounts.month_start is
  'The month whose credits were granted last; month_credits says how many.';
comment on column billing.credit_accounts.transactions is 'How many rows the ledger has of this tenant: the number of the last one.';
comment on column billing.credit_accounts.short_of is
  'The credits that a consumer was refused last, and in depleted_at since when there are too few; null when there are enough.';
create index credit_accounts_lapsing on billing.credit_accounts (monthly_until) where monthly > 0;

create table billing.credit_transactions (
  id uuid primary key,
  tenant_id bigint not null,
  sequence bigint not null,
  type text not null check (type in ('GRANT', 'PURCHASE', 'CONSUMPTION', 'REFUND', 'ADJUSTMENT', 'EXPIRATION')),
  amount bigint not null check (amount <> 0),
  monthly bigint not null,
  balance_after bigint not null check (balance_after >= 0),
  reference_id uuid,
  description text,
  once_key text,
  created_at timestamptz not null,
  unique (tenant_id, sequence),
  check (case when type in ('CONSUMPTION', 'EXPIRATION') then amount < 0 when type = 'ADJUSTMENT' then true else amount > 0 end)
);
comment on table billing.credit_transactions is 'The ledger of AI credits, which is the truth. Append-only.';
comment on column billing.credit_transactions.sequence is '1, 2, 3 … for each tenant, without a gap.';
comment on column billing.credit_transactions.monthly is 'How much of the amount belongs to the monthly credits.';
comment on column billing.credit_transactions.once_key is 'What may happen once only, such as an invoice''s purchase.';
create unique index credit_transactions_once on billing.credit_transactions (tenant_id, once_key) where once_key is not null;
-- What a month used.
create index credit_transactions_use on billing.credit_transactions (tenant_id, created_at) include (type, amount)
  where type in ('CONSUMPTION', 'REFUND');

create table billing.credit_reservations (
  id uuid primary key,
  tenant_id bigint not null,
  credits bigint not null check (credits > 0),
  monthly bigint not null check (monthly between 0 and credits),
  monthly_until timestamptz,
  reference_id uuid not null,
  expires_at timestamptz not null
);
comment on table billing.credit_reservations is
  'Credits set aside for work under way. They left the balance when they were reserved; what the work does not use comes back. '
  'A reservation that nobody settles (its worker died) comes back when it expires.';
comment on column billing.credit_reservations.monthly_until is 'The end of the month that the monthly ones belong to.';
create index credit_reservations_expiry on billing.credit_reservations (expires_at);

do $$
declare
  target regclass;
begin
  foreach target in array array['billing.subscriptions', 'billing.invoice_numbers', 'billing.invoices', 'billing.invoice_lines',
    'billing.stripe_events', 'billing.stripe_cancellations', 'billing.email_usage', 'billing.email_settlements',
    'billing.campaign_usage', 'billing.credit_accounts', 'billing.credit_transactions', 'billing.credit_reservations']::regclass[]
  loop
    execute format('alter table %s enable row level security', target);
    execute format('create policy system_rows on %s to mailwright_system using (true) with check (true)', target);
  end loop;
  foreach target in array array['billing.subscriptions', 'billing.invoices', 'billing.invoice_lines']::regclass[] loop
    execute format(
      'create policy app_rows on %s for select to mailwright_app using (tenant_id = platform.tenant_id())', target);
  end loop;
  foreach target in array array['billing.email_usage', 'billing.email_settlements', 'billing.campaign_usage',
    'billing.credit_accounts', 'billing.credit_transactions', 'billing.credit_reservations']::regclass[]
  loop
    execute format('create policy app_rows on %s to mailwright_app using (tenant_id = platform.tenant_id()) '
      'with check (tenant_id = platform.tenant_id())', target);
  end loop;
end $$;
-- The same for every tenant, so without row-level security.
grant select on billing.plan_versions, billing.plan_variants, billing.plan_prices to mailwright_app, mailwright_system;
grant select on billing.subscriptions, billing.invoices, billing.invoice_lines to mailwright_app;
grant select, insert, update on billing.subscriptions, billing.invoice_numbers, billing.invoices to mailwright_system;
grant select, insert on billing.invoice_lines to mailwright_system;
grant select, insert, update, delete on billing.stripe_events, billing.stripe_cancellations to mailwright_system;
grant select, insert, update on billing.email_usage, billing.campaign_usage, billing.credit_accounts
  to mailwright_app, mailwright_system;
grant select, insert, delete on billing.email_settlements to mailwright_app, mailwright_system;
grant select, insert on billing.credit_transactions to mailwright_app, mailwright_system;
-- UPDATE, since a row is locked before it is settled.
grant select, insert, update, delete on billing.credit_reservations to mailwright_app, mailwright_system;

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
    continue when exists (select 1 from billing.plan_versions v
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
    -- Subscriptions that are older than the plan were made with what is now its first version.
    if next_version = 1 then
      update billing.subscriptions s set plan_version_id = version_id
      where s.plan_tier = plan ->> 'tier' and s.plan_version_id is null;
    end if;
  end loop;
end $$;
comment on function billing.seed_plans is
  'Makes the catalogue''s file what is on offer: a plan that changed becomes a new version, one that did not stays.';
revoke all on function billing.seed_plans from public;

create function billing.plan_version_of(tier text, version_id bigint) returns bigint
  language sql stable parallel safe set search_path = pg_catalog as $$
  select coalesce(
    (select v.id from billing.plan_versions v where v.id = version_id and v.tier = plan_version_of.tier),
    (select v.id from billing.plan_versions v where v.tier = plan_version_of.tier and v.retired_at is null))
$$;
comment on function billing.plan_version_of is
  'The plan version whose limits hold for a subscription: its own, else the one that is on offer.';
revoke all on function billing.plan_version_of from public;
grant execute on function billing.plan_version_of to mailwright_app, mailwright_system;

create function billing.receive_stripe_event(event_id text, event_type text, object_id text, occurred_at timestamptz)
  returns boolean language plpgsql security definer set search_path = pg_catalog as $$
begin
  insert into billing.stripe_events (id, type, object_id, occurred_at)
  values (event_id, event_type, object_id, occurred_at) on conflict do nothing;
  return found;
end $$;
comment on function billing.receive_stripe_event is
  'Keeps an event of Stripe''s; true when it was not there yet. By definer''s rights, since Stripe''s request belongs to no tenant.';
revoke all on function billing.receive_stripe_event from public;
grant execute on function billing.receive_stripe_event to mailwright_app, mailwright_system;

create function billing.fold_settlements(tenant bigint, period timestamptz, now_used bigint, now_released bigint)
  returns void language plpgsql set search_path = pg_catalog as $$
begin
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
  where u.tenant_id = tenant and u.period_start = period and s.used + s.released > 0;
end $$;
comment on function billing.fold_settlements is
  'Adds what was settled, waiting rows included, to a row of email_usage that the caller has locked.';

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
comment on function billing.reserve_emails is
  'Reserves all of `emails` if `quota` (null = unlimited) has room for them, or none. The row stays locked until the '
  'transaction ends: that is what keeps parallel reservations within the limit.';

create function billing.settle_emails(tenant bigint, period timestamptz, used bigint, released bigint)
  returns void language plpgsql set search_path = pg_catalog as $$
begin
  perform from billing.email_usage u where u.tenant_id = tenant and u.period_start = period for update skip locked;
  if not found then
    insert into billing.email_settlements (tenant_id, period_start, used, released) values (tenant, period, used, released);
  -- Nearly always there is nothing to fold: nobody else settles at the same moment.
  elsif exists (select 1 from billing.email_settlements s where s.tenant_id = tenant and s.period_start = period) then
    perform billing.fold_settlements(tenant, period, used, released);
  else
    update billing.email_usage u
    set reserved = greatest(0, u.reserved - settle_emails.used - settle_emails.released), used = u.used + settle_emails.used
    where u.tenant_id = tenant and u.period_start = period and settle_emails.used + settle_emails.released > 0;
  end if;
end $$;
comment on function billing.settle_emails is 'Settles reserved e-mails; waits for nobody.';
revoke all on function billing.fold_settlements, billing.reserve_emails, billing.settle_emails from public;
grant execute on function billing.fold_settlements, billing.reserve_emails, billing.settle_emails
  to mailwright_app, mailwright_system;

create function billing.expire_monthly_credits(tenant bigint, credits bigint, at timestamptz) returns void
  language plpgsql set search_path = pg_catalog as $$
begin
  if credits > 0 then
    insert into billing.credit_transactions (id, tenant_id, type, amount, monthly, description, created_at)
    values (platform.new_id(), tenant, 'EXPIRATION', -credits, -credits, 'Monthly credits that were not used', at);
  end if;
end $$;
comment on function billing.expire_monthly_credits is 'Ends what was not used of monthly credits.';

create function billing.lock_credits(tenant bigint, at timestamptz) returns billing.credit_accounts
  language plpgsql set search_path = pg_catalog as $$
declare account billing.credit_accounts;
begin
  insert into billing.credit_accounts (tenant_id) values (tenant) on conflict do nothing;
  select * into account from billing.credit_accounts a where a.tenant_id = tenant for update;
  if account.monthly > 0 and account.monthly_until <= at then
    perform billing.expire_monthly_credits(tenant, account.monthly, at);
    select * into account from billing.credit_accounts a where a.tenant_id = tenant;
  end if;
  return account;
end $$;
comment on function billing.lock_credits is
  'Locks a tenant''s account until the transaction ends, and ends the monthly credits if their month is over.';

create function billing.grant_monthly_credits(tenant bigint, credits bigint, started timestamptz, ends timestamptz,
  at timestamptz) returns bigint language plpgsql set search_path = pg_catalog as $$
declare
  account billing.credit_accounts := billing.lock_credits(tenant, at);
  missing bigint;
begin
  if ends <= at or account.month_start > started then
    return 0;
  end if;
  if account.month_start is distinct from started then
    perform billing.expire_monthly_credits(tenant, account.monthly, at);
    missing := credits;
  else
    missing := greatest(0, credits - account.month_credits);
  end if;
  update billing.credit_accounts a set month_start = started, monthly_until = ends,
    month_credits = case when a.month_start = started then greatest(a.month_credits, credits) else credits end
  where a.tenant_id = tenant;
  if missing > 0 then
    insert into billing.credit_transactions (id, tenant_id, type, amount, monthly, description, created_at)
    values (platform.new_id(), tenant, 'GRANT', missing, missing, 'Monthly credits', at);
  end if;
  return missing;
end $$;
comment on function billing.grant_monthly_credits is
  'Brings the monthly credits of one month up to `credits`. With the first ones, what the month before left lapses.';

create function billing.reserve_credits(reservation uuid, tenant bigint, credits bigint, reference uuid, about text,
  most_requests bigint, month_start timestamptz, at timestamptz, expires timestamptz,
  out outcome text, out newly_depleted boolean) language plpgsql set search_path = pg_catalog as $$
declare
  account billing.credit_accounts := billing.lock_credits(tenant, at);
  taken_monthly bigint;
begin
  newly_depleted := false;
  if account.balance < credits then
    outcome := 'credits';
    newly_depleted := account.depleted_at is null;
    update billing.credit_accounts a set short_of = credits, depleted_at = coalesce(a.depleted_at, at) where a.tenant_id = tenant;
  elsif most_requests <= (select count(*) from billing.credit_transactions t
      where t.tenant_id = tenant and t.type = 'CONSUMPTION' and t.created_at >= month_start) then
    outcome := 'requests';
  else
    outcome := 'reserved';
    insert into billing.credit_transactions (id, tenant_id, type, amount, reference_id, description, created_at)
    values (platform.new_id(), tenant, 'CONSUMPTION', -credits, reference, about, at)
    returning -monthly into taken_monthly;
    insert into billing.credit_reservations (id, tenant_id, credits, monthly, monthly_until, reference_id, expires_at)
    values (reservation, tenant, credits, taken_monthly, account.monthly_until, reference, expires);
  end if;
end $$;
comment on function billing.reserve_credits is
  'Sets all of `credits` aside, or none. `most_requests` (null = unlimited) bounds how often credits are consumed since '
  '`month_start`. `newly_depleted` is true for the first refusal for want of credits.';

create function billing.settle_credits(reservation uuid, tenant bigint, cost bigint, about text, at timestamptz,
  out settled boolean, out newly_depleted boolean) language plpgsql set search_path = pg_catalog as $$
declare
  account billing.credit_accounts := billing.lock_credits(tenant, at);
  held billing.credit_reservations;
  unused bigint;
  unused_monthly bigint;
begin
  delete from billing.credit_reservations r where r.id = reservation and r.tenant_id = tenant returning * into held;
  settled := found;
  newly_depleted := false;
  if not settled then
    return;
  end if;
  unused := held.credits - least(cost, held.credits);
  unused_monthly := greatest(0, held.monthly - least(cost, held.credits));
  if unused > 0 then
    insert into billing.credit_transactions (id, tenant_id, type, amount, monthly, reference_id, description, created_at)
    values (platform.new_id(), tenant, 'REFUND', unused, unused_monthly, held.reference_id, about, at);
  end if;
  if held.monthly_until is distinct from account.monthly_until or held.monthly_until <= at then
    perform billing.expire_monthly_credits(tenant, unused_monthly, at);
  end if;
  update billing.credit_accounts a set depleted_at = at where a.tenant_id = tenant and a.balance = 0 and a.depleted_at is null;
  newly_depleted := found;
end $$;
comment on function billing.settle_credits is
  'Ends a reservation: what it cost (at most what was set aside) stays consumed, the rest comes back, and if it was of a month '
  'that is over, lapses at once. `settled` is false when the reservation has ended before.';

create function billing.book_credits() returns trigger language plpgsql set search_path = pg_catalog as $$
declare account billing.credit_accounts;
begin
  insert into billing.credit_accounts (tenant_id) values (new.tenant_id) on conflict do nothing;
  select * into account from billing.credit_accounts a where a.tenant_id = new.tenant_id for update;
  new.monthly := coalesce(new.monthly, case when new.amount < 0 then -least(-new.amount, account.monthly) else 0 end);
  new.sequence := account.transactions + 1;
  new.balance_after := account.balance + new.amount;
  update billing.credit_accounts a set balance = new.balance_after, monthly = a.monthly + new.monthly,
    transactions = new.sequence, updated_at = new.created_at,
    short_of = case when new.balance_after < coalesce(a.short_of, 1) then a.short_of end,
    depleted_at = case when new.balance_after < coalesce(a.short_of, 1) then a.depleted_at end
  where a.tenant_id = new.tenant_id;
  return new;
end $$;
comment on function billing.book_credits is
  'Numbers a new row of the ledger, says what the balance is after it, and changes the account with it.';
create trigger book before insert on billing.credit_transactions for each row execute function billing.book_credits();

create function billing.refuse_ledger_change() returns trigger language plpgsql as $$
begin
  raise exception 'The credit ledger is only ever added to.' using errcode = 'insufficient_privilege';
end $$;
create trigger append_only before update or delete on billing.credit_transactions
  for each row execute function billing.refuse_ledger_change();
create trigger never_emptied before truncate on billing.credit_transactions
  for each statement execute function billing.refuse_ledger_change();
create trigger follows_the_ledger before update of balance, monthly, transactions on billing.credit_accounts
  for each row when (pg_trigger_depth() = 0) execute function billing.refuse_ledger_change();

revoke all on function billing.book_credits, billing.refuse_ledger_change, billing.lock_credits, billing.expire_monthly_credits,
  billing.grant_monthly_credits, billing.reserve_credits, billing.settle_credits from public;
grant execute on function billing.book_credits, billing.refuse_ledger_change, billing.lock_credits, billing.expire_monthly_credits,
  billing.grant_monthly_credits, billing.reserve_credits, billing.settle_credits to mailwright_app, mailwright_system;
