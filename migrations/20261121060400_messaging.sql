create schema messaging;
grant usage on schema messaging to mailwright_app, mailwright_system;

create table messaging.campaigns (
  id uuid primary key,
  environment_id bigint not null,
  campaign_key text not null,
  name text not null,
  subject text not null,
  preview_text text,
  content_json text,
  content_text text,
  from_email text,
  from_name text,
  topic_ids uuid[] not null default '{}',
  segment_ids uuid[] not null default '{}',
  send_strategy text check (send_strategy in ('DRAFT', 'IMMEDIATE', 'SCHEDULED')),
  scheduled_at timestamptz,
  status text not null check (status in ('DRAFT', 'SCHEDULED', 'QUEUED_FOR_SENDING', 'SENDING', 'PAUSED', 'SENT', 'CANCELLED', 'FAILED', 'ARCHIVED')),
  failure_reason text,
  -- what to do when a body was handed over and no reply came: send once more with the same Message-ID, or hold
  ambiguous_policy text not null default 'RESEND' check (ambiguous_policy in ('RESEND', 'HOLD')),
  estimated_recipient_count bigint,
  pre_send_score int check (pre_send_score between 0 and 100),
  pre_send_status text check (pre_send_status in ('PENDING', 'PASSED', 'WARNING', 'FAILED')),
  -- the moment of `send`: the audience is frozen at it
  queued_at timestamptz,
  -- how far the expansion has come, and when it was done
  expansion_cursor uuid,
  expanded_at timestamptz,
  -- the billing period whose e-mails are reserved for this campaign, and how many; null when not metered
  usage_period timestamptz,
  reserved_emails bigint not null default 0,
  expanded_emails bigint not null default 0,
  completed_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (environment_id, campaign_key)
);
create index campaigns_newest on messaging.campaigns (environment_id, created_at desc, id desc);
create index campaigns_under_way on messaging.campaigns (status) where status in ('QUEUED_FOR_SENDING', 'SENDING');

-- One row per recipient and mail, of every kind. `source_id` is what the mail belongs to: the campaign,
-- the confirmation, the automation's step. Partitioned by the month in which the source was queued, which
-- is the same for all its rows, so that the unique keys hold across partitions.
create table messaging.deliveries (
  id uuid not null,
  queued_on date not null,
  environment_id bigint not null,
  kind text not null check (kind in ('OPT_IN', 'CAMPAIGN', 'AUTOMATION', 'TEST')),
  source_id uuid not null,
  subscriber_id uuid,
  address text not null,
  address_key text not null,
  message_id text not null,
  state text not null check (state in ('PENDING', 'CLAIMED', 'SENDING', 'SENT', 'DEFERRED', 'FAILED', 'AMBIGUOUS', 'SKIPPED', 'CANCELLED')),
  -- why it was skipped, or the class of the failure
  reason text,
  lease_token uuid,
  lease_until timestamptz,
  attempt int not null default 0,
  next_attempt_at timestamptz not null,
  -- a body may have reached the next hop more than once
  possible_duplicate boolean not null default false,
  last_error text,
  sent_at timestamptz,
  bounced_at timestamptz,
  created_at timestamptz not null,
  -- set with the terminal state. The claim's index hangs on it, so that the moves before stay HOT
  finished_at timestamptz,
  primary key (id, queued_on),
  unique (source_id, subscriber_id, queued_on),
  unique (source_id, address_key, queued_on)
) partition by range (queued_on);
-- What a campaign's claim reads, soonest first: rows that wait for a later try are behind, not in the way.
create index deliveries_open on messaging.deliveries (source_id, next_attempt_at, id) where finished_at is null and kind = 'CAMPAIGN';
create index deliveries_open_single on messaging.deliveries (next_attempt_at, id) where finished_at is null and kind <> 'CAMPAIGN';

-- What a subscriber did with a mail. Statistics are counted from it.
create table messaging.delivery_events (
  id uuid not null,
  occurred_at timestamptz not null,
  environment_id bigint not null,
  campaign_id uuid,
  delivery_id uuid not null,
  subscriber_id uuid,
  type text not null check (type in ('UNSUBSCRIBED', 'COMPLAINED', 'BOUNCED')),
  primary key (id, occurred_at)
) partition by range (occurred_at);
create unique index delivery_events_once on messaging.delivery_events (campaign_id, delivery_id, type, occurred_at);
create index delivery_events_of_campaign on messaging.delivery_events (campaign_id, type);

create table messaging.test_inbox_messages (
  id uuid primary key,
  environment_id bigint not null,
  delivery_id uuid not null,
  kind text not null check (kind in ('OPT_IN', 'CAMPAIGN', 'AUTOMATION', 'TEST')),
  to_address text not null,
  to_key text not null,
  from_address text not null,
  subject text not null,
  links jsonb not null,
  raw bytea not null,
  received_at timestamptz not null
);
create index test_inbox_newest on messaging.test_inbox_messages (environment_id, received_at desc, id desc);
create unique index test_inbox_once on messaging.test_inbox_messages (delivery_id);

-- A file that the worker makes and a waiting client takes.
create table messaging.exports (
  id uuid primary key,
  environment_id bigint not null,
  campaign_id uuid not null references messaging.campaigns on delete cascade,
  kind text not null check (kind in ('STATISTICS', 'DELIVERIES')),
  state text not null default 'PENDING' check (state in ('PENDING', 'DONE', 'FAILED')),
  created_at timestamptz not null,
  finished_at timestamptz,
  -- a client has it: the next request is for a new one
  taken_at timestamptz
);
create index exports_open on messaging.exports (campaign_id, kind) where taken_at is null;
-- A file comes in parts, so that neither the worker nor the api ever holds a large one.
create table messaging.export_parts (
  export_id uuid not null references messaging.exports on delete cascade,
  part int not null,
  environment_id bigint not null,
  content text not null,
  primary key (export_id, part)
);
create index exports_oldest on messaging.exports (created_at);

call platform.protect('messaging.campaigns', 'select, insert, update, delete');
call platform.protect('messaging.deliveries', 'select, insert, update');
call platform.protect('messaging.delivery_events', 'select, insert');
call platform.protect('messaging.test_inbox_messages', 'select, insert, delete');
call platform.protect('messaging.exports', 'select, insert, update, delete');
call platform.protect('messaging.export_parts', 'select, insert, delete');

do $$
declare month date;
begin
  for month in select generate_series(date_trunc('month', now()), date_trunc('month', now()) + interval '2 months', interval '1 month') loop
    perform platform.ensure_month('messaging.deliveries', month);
    perform platform.ensure_month('messaging.delivery_events', month);
    perform platform.ensure_month('audience.consent_ledger', month);
  end loop;
end $$;
create table messaging.deliveries_default partition of messaging.deliveries default;
create table messaging.delivery_events_default partition of messaging.delivery_events default;
create table audience.consent_ledger_default partition of audience.consent_ledger default;
