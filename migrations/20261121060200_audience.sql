create schema audience;
grant usage on schema audience to mailwright_app, mailwright_system;

create table audience.topics (
  id uuid primary key,
  environment_id bigint not null,
  topic_key text not null,
  name text not null,
  description text,
  status text not null check (status in ('ACTIVE', 'INACTIVE', 'ARCHIVED')),
  priority text check (priority in ('URGENT', 'HIGH', 'MEDIUM', 'LOW')),
  icon text,
  double_opt_in_enabled boolean not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (environment_id, topic_key)
);
create index topics_newest on audience.topics (environment_id, created_at desc, id desc);

-- The columns that prefixes are searched in collate "C", and are searched by range: under row-level security
-- LIKE and lower() may not use an index (they are not leakproof), comparisons of stored text may.
create table audience.subscribers (
  id uuid primary key,
  environment_id bigint not null,
  subscriber_key text not null,
  email text not null,
  -- lower-cased, the domain as A-labels: what two spellings of one mailbox share
  email_key text collate "C" not null,
  first_name text,
  first_name_key text collate "C" generated always as (lower(first_name)) stored,
  last_name text,
  last_name_key text collate "C" generated always as (lower(last_name)) stored,
  phone text,
  source text not null check (source in ('API', 'IMPORT', 'FORM', 'MANUAL')),
  -- by audience.derived_status, never written by a client
  status text not null check (status in ('SUPPRESSED', 'COMPLAINED', 'BOUNCED', 'ACTIVE', 'PENDING_CONFIRMATION', 'UNSUBSCRIBED')),
  custom_fields jsonb not null default '{}',
  paused_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (environment_id, email_key),
  unique (environment_id, subscriber_key)
);
create index subscribers_newest on audience.subscribers (environment_id, created_at desc, id desc);
create index subscribers_of_status on audience.subscribers (environment_id, status, created_at desc, id desc);
create index subscribers_changed on audience.subscribers (environment_id, updated_at);
create index subscribers_by_first_name on audience.subscribers (environment_id, first_name_key) where first_name_key is not null;
create index subscribers_by_last_name on audience.subscribers (environment_id, last_name_key) where last_name_key is not null;
-- the order in which a campaign's audience is walked
create index subscribers_in_order on audience.subscribers (environment_id, id);

create table audience.suppressions (
  environment_id bigint not null,
  email_key text collate "C" not null,
  email text not null,
  reason text not null check (reason in ('GLOBAL_UNSUBSCRIBE', 'SPAM_COMPLAINT', 'HARD_BOUNCE')),
  suppressed_at timestamptz not null,
  primary key (environment_id, email_key)
);
create index suppressions_newest on audience.suppressions (environment_id, suppressed_at desc, email_key desc);
create index suppressions_of_reason on audience.suppressions (environment_id, reason, suppressed_at desc, email_key desc);

create table audience.consents (
  subscriber_id uuid not null references audience.subscribers on delete cascade,
  topic_id uuid not null references audience.topics,
  environment_id bigint not null,
  status text not null check (status in ('PENDING_CONFIRMATION', 'SUBSCRIBED', 'UNSUBSCRIBED', 'EXPIRED')),
  granted_at timestamptz,
  confirmed_at timestamptz,
  revoked_at timestamptz,
  token_expires_at timestamptz,
  -- since when mail may be sent: what a campaign's frozen audience is cut by
  subscribed_at timestamptz,
  primary key (subscriber_id, topic_id)
);
create index consents_of_topic on audience.consents (environment_id, topic_id, status, subscriber_id) include (subscribed_at);
create index consents_to_expire on audience.consents (token_expires_at) where status = 'PENDING_CONFIRMATION';

-- What a regulator is shown: every change of a consent, append-only (no UPDATE or DELETE for the app).
create table audience.consent_ledger (
  id uuid not null,
  occurred_at timestamptz not null,
  environment_id bigint not null,
  subscriber_id uuid not null,
  topic_id uuid not null,
  from_status text,
  to_status text not null,
  actor text not null check (actor in ('API_KEY', 'SUBSCRIBER_PAGE', 'IMPORT', 'ONE_CLICK', 'COMPLAINT', 'BOUNCE', 'OPERATOR', 'EXPIRY')),
  actor_id text,
  source text,
  source_url text,
  ip_address text,
  user_agent text,
  consent_text text,
  form_version text,
  message_id text,
  primary key (id, occurred_at)
) partition by range (occurred_at);
create index consent_ledger_of_subscriber on audience.consent_ledger (environment_id, subscriber_id, occurred_at);

-- One request to confirm: the topics of one grant that wait for the owner of the address.
create table audience.confirmations (
  id uuid primary key,
  environment_id bigint not null,
  subscriber_id uuid not null references audience.subscribers on delete cascade,
  topic_ids uuid[] not null,
  -- asked for again, which is limited by the minute and the day
  is_repeat boolean not null,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index confirmations_of_subscriber on audience.confirmations (subscriber_id, created_at);

call platform.protect('audience.topics', 'select, insert, update');
call platform.protect('audience.subscribers', 'select, insert, update, delete');
call platform.protect('audience.suppressions', 'select, insert, update, delete');
call platform.protect('audience.consents', 'select, insert, update, delete');
call platform.protect('audience.consent_ledger', 'select, insert');
call platform.protect('audience.confirmations', 'select, insert, update, delete');

-- Subscriber.status by the rule of precedence: suppression's reason first, then the best consent.
create function audience.derived_status(wanted_environment bigint, wanted_key text, wanted_subscriber uuid) returns text
  language sql stable as $$
  select coalesce(
    (select case s.reason when 'GLOBAL_UNSUBSCRIBE' then 'SUPPRESSED' when 'SPAM_COMPLAINT' then 'COMPLAINED' else 'BOUNCED' end
     from audience.suppressions s where s.environment_id = wanted_environment and s.email_key = wanted_key),
    (select case when bool_or(c.status = 'SUBSCRIBED') then 'ACTIVE'
       when bool_or(c.status = 'PENDING_CONFIRMATION') then 'PENDING_CONFIRMATION' else 'UNSUBSCRIBED' end
     from audience.consents c where c.subscriber_id = wanted_subscriber))
$$;
