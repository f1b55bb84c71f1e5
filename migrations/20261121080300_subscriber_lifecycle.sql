-- What a subscriber did outside of mail, by the client's own names: for segments and automations.
-- Partitioned by the month in which it happened, since rules ask for windows of time. What is reported
-- long after the fact goes to the default partition.
create table audience.subscriber_events (
  id uuid not null,
  occurred_at timestamptz not null,
  environment_id bigint not null,
  subscriber_id uuid not null references audience.subscribers on delete cascade,
  name text collate "C" not null,
  properties jsonb not null,
  created_at timestamptz not null,
  primary key (id, occurred_at)
) partition by range (occurred_at);
-- one person's events of a name in a window; also what the cascade of an erasure goes by
create index subscriber_events_of_subscriber on audience.subscriber_events (subscriber_id, name, occurred_at);
-- everybody's events of a name in a window
create index subscriber_events_named on audience.subscriber_events (environment_id, name, occurred_at) include (subscriber_id);
call platform.protect('audience.subscriber_events', 'select, insert');

-- Suppressions of addresses that were erased. The digest is keyed (HMAC), so that the table alone tells
-- neither the address nor whether one that is guessed is in it.
create table audience.erased_suppressions (
  environment_id bigint not null,
  address_digest bytea not null,
  reason text not null check (reason in ('GLOBAL_UNSUBSCRIBE', 'SPAM_COMPLAINT', 'HARD_BOUNCE')),
  suppressed_at timestamptz not null,
  erased_at timestamptz not null,
  primary key (environment_id, address_digest)
);
call platform.protect('audience.erased_suppressions', 'select, insert, delete');

-- A deleted topic is gone for everybody; its row stays for the consent record and for reports of what was sent.
alter table audience.topics add column deleted_at timestamptz;

-- The order in which the changes of one subscriber happened: they are written under the subscriber's lock,
-- while the clocks of two machines may disagree.
create sequence audience.consent_ledger_position;
grant usage on sequence audience.consent_ledger_position to mailwright_app, mailwright_system;
alter table audience.consent_ledger
  add column position bigint not null default nextval('audience.consent_ledger_position');

-- Append-only for everybody but the owner.
revoke update, delete on audience.consent_ledger from mailwright_system;

-- The one change that the record knows: what it tells of a person goes when the person was erased. That a
-- consent to a topic was given and taken back, when and by which way, stays without telling whose it was.
create function audience.depersonalise_ledger(erased_subscriber uuid) returns void
  language plpgsql security definer set search_path = pg_catalog as $$
begin
  if exists (select from audience.subscribers b where b.id = erased_subscriber) then
    raise exception 'The subscriber is not erased.';
  end if;
  update audience.consent_ledger l
  set source_url = null, ip_address = null, user_agent = null, consent_text = null
  where l.environment_id = platform.environment_id() and l.subscriber_id = erased_subscriber;
end $$;
revoke all on function audience.depersonalise_ledger from public;
grant execute on function audience.depersonalise_ledger to mailwright_app;

-- A row of an import that waits for the worker, of a person who is erased meanwhile.
grant update (email_key, cells, fault) on audience.import_rows to mailwright_app;

-- How many subscribers the tenant of the scope has in the live environments of all its projects, which a
-- plan counts together. By definer's rights, since a scope shows the rows of one environment.
create function audience.live_subscribers_of_tenant() returns bigint
  language sql stable security definer set search_path = pg_catalog as $$
  select count(*)
  from access.projects p
  join access.project_environments e on e.project_id = p.id and e.environment = 'LIVE'
  join audience.subscribers b on b.environment_id = e.id
  where p.tenant_id = platform.tenant_id()
$$;
revoke all on function audience.live_subscribers_of_tenant from public;
grant execute on function audience.live_subscribers_of_tenant to mailwright_app;

-- All that mail knows of one person: for erasure and for what is held about somebody.
create index deliveries_of_subscriber on messaging.deliveries (environment_id, subscriber_id) where subscriber_id is not null;
create index deliveries_of_tests on messaging.deliveries (environment_id) where kind = 'TEST';
create index delivery_events_of_subscriber on messaging.delivery_events (environment_id, subscriber_id)
  where subscriber_id is not null;
grant update (subscriber_id) on messaging.delivery_events to mailwright_app;

do $$
declare month date;
begin
  for month in select generate_series(date_trunc('month', now()), date_trunc('month', now()) + interval '2 months', interval '1 month') loop
    perform platform.ensure_month('audience.subscriber_events', month);
  end loop;
end $$;
create table audience.subscriber_events_default partition of audience.subscriber_events default;
