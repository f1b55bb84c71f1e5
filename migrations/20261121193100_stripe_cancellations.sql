-- Subscriptions that expired here and are to be cancelled at Stripe, which would renew them and send invoices for ever. A
-- row is written with the change of state and goes when Stripe has done it.
create table billing.stripe_cancellations (
  external_id text primary key,
  tenant_id bigint not null,
  requested_at timestamptz not null,
  attempts int not null default 0,
  retry_at timestamptz not null default '-infinity',
  last_error text
);
alter table billing.stripe_cancellations enable row level security;
create policy system_rows on billing.stripe_cancellations to mailwright_system using (true) with check (true);
grant select, insert, update, delete on billing.stripe_cancellations to mailwright_system;

insert into billing.stripe_cancellations (external_id, tenant_id, requested_at)
select external_id, tenant_id, now() from billing.subscriptions
where provider = 'STRIPE' and status = 'EXPIRED' and external_id is not null;
