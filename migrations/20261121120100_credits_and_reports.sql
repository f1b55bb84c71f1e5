-- AI credits of a tenant. The ledger is the truth and is only ever added to; the account is the sum of it, kept by
-- the ledger's own trigger and by nothing else, and is what writers of one tenant take turns on.
create table billing.credit_accounts (
  tenant_id bigint primary key,
  balance bigint not null default 0,
  -- of the balance: what came with the month and lapses at `monthly_until`. It is used first
  monthly bigint not null default 0,
  monthly_until timestamptz,
  -- the month whose credits were granted last, and how many
  month_start timestamptz,
  month_credits bigint not null default 0,
  -- how many rows the ledger has of this tenant: the number of the last one
  transactions bigint not null default 0,
  -- the credits that a consumer was refused last, and since when there are too few; null when there are enough
  short_of bigint,
  depleted_at timestamptz,
  updated_at timestamptz,
  constraint credits_never_negative check (monthly >= 0 and balance >= monthly)
) with (fillfactor = 50);
create index credit_accounts_lapsing on billing.credit_accounts (monthly_until) where monthly > 0;

create table billing.credit_transactions (
  id uuid primary key,
  tenant_id bigint not null,
  -- 1, 2, 3 … without a gap
  sequence bigint not null,
  type text not null check (type in ('GRANT', 'PURCHASE', 'CONSUMPTION', 'REFUND', 'ADJUSTMENT', 'EXPIRATION')),
  amount bigint not null check (amount <> 0),
  -- how much of the amount belongs to the monthly credits
  monthly bigint not null,
  balance_after bigint not null check (balance_after >= 0),
  reference_id uuid,
  description text,
  -- what may happen once only, such as an invoice's purchase
  once_key text,
  created_at timestamptz not null,
  unique (tenant_id, sequence),
  check (case when type in ('CONSUMPTION', 'EXPIRATION') then amount < 0 when type = 'ADJUSTMENT' then true else amount > 0 end)
);
create unique index credit_transactions_once on billing.credit_transactions (tenant_id, once_key) where once_key is not null;
-- what a month used
create index credit_transactions_use on billing.credit_transactions (tenant_id, created_at) include (type, amount)
  where type in ('CONSUMPTION', 'REFUND');

-- Credits set aside for work that is under way. They left the balance when they were reserved; what the work does
-- not use comes back. One that nobody settles (its worker died) comes back when it runs out.
create table billing.credit_reservations (
  id uuid primary key,
  tenant_id bigint not null,
  credits bigint not null check (credits > 0),
  monthly bigint not null check (monthly between 0 and credits),
  -- the month that the monthly ones belong to
  monthly_until timestamptz,
  reference_id uuid not null,
  expires_at timestamptz not null
);
create index credit_reservations_expiry on billing.credit_reservations (expires_at);

do $$
declare target regclass;
begin
  foreach target in array array['billing.credit_accounts', 'billing.credit_transactions', 'billing.credit_reservations']::regclass[] loop
    execute format('alter table %s enable row level security', target);
    execute format('create policy app_rows on %s to mailwright_app using (tenant_id = (select platform.tenant_id())) '
      'with check (tenant_id = (select platform.tenant_id()))', target);
    execute format('create policy system_rows on %s to mailwright_system using (true) with check (true)', target);
  end loop;
end $$;
grant select, insert, update on billing.credit_accounts to mailwright_app, mailwright_system;
grant select, insert on billing.credit_transactions to mailwright_app, mailwright_system;
-- UPDATE, since a row is locked before it is settled.
grant select, insert, update, delete on billing.credit_reservations to mailwright_app, mailwright_system;

-- Numbers a new row of the ledger, says what the balance is after it, and moves the account with it.
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

-- Takes the turn on a tenant's account until the transaction ends, and ends the monthly credits if their month is over.
create function billing.lock_credits(tenant bigint, at timestamptz) returns billing.credit_accounts
  language plpgsql set search_path = pg_catalog as $$
declare account billing.credit_accounts;
begin
  insert into billing.credit_accounts (tenant_id) values (tenant) on conflict do nothing;
  select * into account from billing.credit_accounts a where a.tenant_id = tenant for update;
  if account.monthly > 0 and account.monthly_until <= at then
    perform billing.expire_monthly_credits(account, at);
    select * into account from billing.credit_accounts a where a.tenant_id = tenant;
  end if;
  return account;
end $$;

create function billing.expire_monthly_credits(account billing.credit_accounts, at timestamptz) returns void
  language sql set search_path = pg_catalog as $$
  insert into billing.credit_transactions (id, tenant_id, type, amount, monthly, description, created_at)
  select platform.new_id(), account.tenant_id, 'EXPIRATION', -account.monthly, -account.monthly, 'Monthly credits that were not used', at
  where account.monthly > 0
$$;

-- Brings the monthly credits of one month up to `credits`. With the first ones, what the month before left lapses.
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
    perform billing.expire_monthly_credits(account, at);
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

-- Sets all of `credits` aside, or none. `most_requests` (null = unlimited) bounds how often credits are consumed since
-- `month_start`. `newly_depleted` is true for the refusal with which too few credits begin to be there.
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

-- Ends a reservation: what it cost (at most what was set aside) stays consumed, the rest comes back, and if it was of a
-- month that is over, lapses at once. `settled` is false when the reservation has ended before.
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
  if unused_monthly > 0 and (held.monthly_until is distinct from account.monthly_until or held.monthly_until <= at) then
    insert into billing.credit_transactions (id, tenant_id, type, amount, monthly, description, created_at)
    values (platform.new_id(), tenant, 'EXPIRATION', -unused_monthly, -unused_monthly, 'Monthly credits that were not used', at);
  end if;
  update billing.credit_accounts a set depleted_at = at where a.tenant_id = tenant and a.balance = 0 and a.depleted_at is null;
  newly_depleted := found;
end $$;

revoke all on function billing.book_credits, billing.refuse_ledger_change, billing.lock_credits, billing.expire_monthly_credits,
  billing.grant_monthly_credits, billing.reserve_credits, billing.settle_credits from public;
grant execute on function billing.book_credits, billing.refuse_ledger_change, billing.lock_credits, billing.expire_monthly_credits,
  billing.grant_monthly_credits, billing.reserve_credits, billing.settle_credits to mailwright_app, mailwright_system;

-- The reports on campaigns in words, one row a version.
create table messaging.campaign_reports (
  id uuid primary key,
  environment_id bigint not null,
  campaign_id uuid not null references messaging.campaigns on delete cascade,
  version int not null check (version > 0),
  status text not null check (status in ('PENDING', 'GENERATING', 'GENERATED', 'FAILED')),
  content text,
  locale text not null,
  ai_model_id text,
  failure_reason text,
  -- which try is writing it: what an earlier one brings is too late
  attempt int not null default 0,
  -- the credits that this try has set aside
  reservation_id uuid,
  generated_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (campaign_id, version)
);
call platform.protect('messaging.campaign_reports', 'select, insert, update, delete');
-- the campaigns whose first report is due
create index campaigns_sent on messaging.campaigns (completed_at) where status = 'SENT';
