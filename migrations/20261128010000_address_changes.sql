-- The consent record says by which change of address a consent passed to another one. Programs of version 0.2.0 know nothing of it
-- and go on.
alter table audience.consent_ledger add column address_change jsonb;
comment on column audience.consent_ledger.address_change is
  'Null unless the person changed address: {"from", "to", "emailConfirmed": {"source", "confirmedAt"} or null}, for each of the consents; '
  'without the addresses once the person is erased.';

create or replace function audience.depersonalise_ledger() returns trigger
  language plpgsql security definer set search_path = pg_catalog set enable_seqscan = off as $$
declare
  gone record;
begin
  for gone in select environment_id, array_agg(id) as ids from erased group by environment_id loop
    update audience.consent_ledger
    set source_url = null, ip_address = null, user_agent = null, consent_text = null,
      address_change = address_change - '{from,to}'::text[]
    where environment_id = gone.environment_id and subscriber_id = any (gone.ids);
  end loop;
  return null;
end $$;

comment on table audience.erased_addresses is
  'Addresses that lost their subscriber, who was erased or has another one: the topics that they had left, so that no import brings '
  'them back, and who has the address now, so that the unsubscribe links in mails of erased people go on working. Removed when neither '
  'is needed any more.';
comment on column audience.erased_addresses.erased_at is 'When the subscriber was erased, or left the address.';
