alter table billing.invoices
  add balance_cents bigint not null default 0,
  add credited_cents bigint not null default 0 check (credited_cents >= 0);
comment on column billing.invoices.balance_cents is
  'The customer''s balance at the provider that was applied: below zero is credit, which leaves less to pay.';
comment on column billing.invoices.credited_cents is 'Taken back by credit notes of the provider.';

alter table billing.stripe_events add stray_tenant_id bigint;
comment on column billing.stripe_events.stray_tenant_id is
  'The tenant whose customer it is about, where Mailwright does not know the subscription: somebody pays for it twice, perhaps.';
