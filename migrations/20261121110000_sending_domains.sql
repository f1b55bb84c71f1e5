-- Sending domains: what a customer's DNS must say, what it said, and the keys that its mail is signed with.
create schema deliverability;
grant usage on schema deliverability to mailwright_app, mailwright_system;

create table deliverability.sending_domains (
  id bigint generated always as identity primary key,
  environment_id bigint not null unique,
  project_id bigint not null,
  tenant_id bigint not null,
  -- lower-case A-labels (RFC 5890)
  domain_name text not null,
  domain_type text not null check (domain_type in ('CUSTOM', 'SYSTEM')),
  status text not null check (status in
    ('PENDING_VERIFICATION', 'ACTIVE', 'VERIFICATION_FAILED', 'DEGRADED', 'SUSPENDED', 'BLOCKED', 'EXPIRED')),
  sending_allowed boolean not null,
  return_path_host text not null,
  -- a PATCH begins a new one: a check that began before it says nothing about it
  revision int not null default 1,
  health_score int check (health_score between 0 and 100),
  suspension_reason text,
  verification_attempts int not null default 0,
  checks_started_at timestamptz not null,
  last_checked_at timestamptz,
  -- null: not until someone asks
  next_check_at timestamptz,
  verified_at timestamptz,
  expires_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null
) with (fillfactor = 80);
create index sending_domains_due on deliverability.sending_domains (next_check_at) where next_check_at is not null;
create index sending_domains_named on deliverability.sending_domains (domain_name);
call platform.protect('deliverability.sending_domains', 'select, insert, update, delete');

-- NEXT is published but does not sign yet; RETIRED signs no more, but mail on its way may still be verified with it.
create table deliverability.dkim_keys (
  id bigint generated always as identity primary key,
  environment_id bigint not null,
  domain_id bigint not null references deliverability.sending_domains on delete cascade,
  selector text not null,
  algorithm text not null check (algorithm in ('rsa-sha256', 'ed25519-sha256')),
  -- base64, as it stands in p=
  public_key text not null,
  -- PKCS #8 PEM, encrypted with the master key
  private_key_box text not null,
  state text not null check (state in ('NEXT', 'ACTIVE', 'RETIRED')),
  created_at timestamptz not null,
  retired_at timestamptz,
  unique (domain_id, selector)
);
create index dkim_keys_of_environment on deliverability.dkim_keys (environment_id);
create index dkim_keys_retired on deliverability.dkim_keys (retired_at) where retired_at is not null;
call platform.protect('deliverability.dkim_keys', 'select, insert, update, delete');

create table deliverability.dns_records (
  id bigint generated always as identity primary key,
  environment_id bigint not null,
  domain_id bigint not null references deliverability.sending_domains on delete cascade,
  dkim_key_id bigint references deliverability.dkim_keys on delete cascade,
  purpose text not null check (purpose in ('OWNERSHIP', 'DKIM', 'SPF', 'MX', 'DMARC')),
  record_type text not null check (record_type in ('TXT', 'CNAME', 'MX')),
  host text not null,
  expected_value text not null,
  actual_value text,
  status text not null default 'PENDING' check (status in ('PENDING', 'VERIFIED', 'FAILED')),
  failure_reason text,
  -- what could be better about a record that is right
  note text,
  -- definite failures without a success between them, and when the first of them was
  failures int not null default 0,
  failing_since timestamptz,
  last_checked_at timestamptz
) with (fillfactor = 80);
create index dns_records_of_domain on deliverability.dns_records (domain_id);
call platform.protect('deliverability.dns_records', 'select, insert, update, delete');

-- A check that was asked for, by a client who waits for it or by the schedule.
create table deliverability.domain_checks (
  id uuid primary key,
  environment_id bigint not null,
  domain_id bigint not null references deliverability.sending_domains on delete cascade,
  asked_by text not null check (asked_by in ('CLIENT', 'SCHEDULE')),
  state text not null default 'PENDING' check (state in ('PENDING', 'DONE')),
  created_at timestamptz not null
);
create index domain_checks_of_domain on deliverability.domain_checks (domain_id);
create index domain_checks_created on deliverability.domain_checks (created_at);
call platform.protect('deliverability.domain_checks', 'select, insert, update');

-- Whether a verified domain of another tenant has the name: the app sees only its own environment's rows. Locks the
-- name until the transaction ends, so that of two tenants who are verified at once the second one is told.
create function deliverability.is_verified_elsewhere(wanted text) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('sending domain ' || wanted, 0));
  return exists (
    select from deliverability.sending_domains d
    where d.domain_name = wanted and d.tenant_id <> platform.tenant_id()
      and d.verified_at is not null and d.status <> 'EXPIRED'
  );
end $$;
revoke all on function deliverability.is_verified_elsewhere from public;
grant execute on function deliverability.is_verified_elsewhere to mailwright_app;
