create schema if not exists deliverability;
grant usage on schema deliverability to mailwright_app, mailwright_system;

-- What came back of a mail to its return path: the facts that were read, never the mail itself. The first report of a
-- kind counts; more of the same change nothing.
create table deliverability.reports (
  delivery_id uuid not null,
  kind text not null check (kind in ('BOUNCE', 'COMPLAINT')),
  environment_id bigint not null,
  bounce_class text check (bounce_class in ('hard', 'mailbox', 'policy', 'sender', 'content', 'network', 'unknown')),
  -- of the refusal; null where the report names none
  basic_code int,
  enhanced_code text,
  -- the refusal's words without addresses
  excerpt text,
  -- whether the message that it returns is the delivery's; null when it returns none
  names_message boolean,
  reported_at timestamptz not null,
  primary key (delivery_id, kind),
  check ((kind = 'BOUNCE') = (bounce_class is not null))
);
create index reports_oldest on deliverability.reports (reported_at);
call platform.protect('deliverability.reports', 'select, insert');

-- Why a mail came back that had been accepted: a class of the bounce table.
alter table messaging.deliveries add column bounce_class text
  check (bounce_class in ('hard', 'mailbox', 'policy', 'sender', 'content', 'network', 'unknown'));

-- What a project's sending is judged by, at the minute in which it was heard of. `hard_refused` are addresses that the
-- next hop itself refused: those mails were never sent.
alter table messaging.campaign_minutes
  add column hard_bounced bigint not null default 0,
  add column hard_refused bigint not null default 0,
  add column complained bigint not null default 0;

-- A row as long as a project's live sending is stopped for its bounces or complaints. What was sent before it was
-- resumed is not held against it again.
create table messaging.sending_stops (
  environment_id bigint primary key,
  reason text not null,
  stopped_at timestamptz not null,
  resumed_at timestamptz
);
call platform.protect('messaging.sending_stops', 'select, insert, update');
