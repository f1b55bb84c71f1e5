-- What the tracked links of a campaign's mails lead to, in the order of their numbers, which begin with 1. A set
-- is never changed: a campaign that is sent again with other content gets another one, and the mails that went
-- out before keep theirs. It outlives the campaign, since its mails do.
create table messaging.link_sets (
  id bigint generated always as identity primary key,
  environment_id bigint not null,
  campaign_id uuid not null,
  -- the partition of the deliveries
  queued_on date not null,
  urls text[] not null,
  -- HMAC over whose set it is and where its links lead
  signature bytea not null,
  created_at timestamptz not null,
  unique (campaign_id, queued_on, signature)
);
call platform.protect('messaging.link_sets', 'select, insert');

-- Opens and clicks join what the table has.
alter table messaging.delivery_events
  drop constraint delivery_events_type_check,
  add constraint delivery_events_type_check check (type in ('OPENED', 'CLICKED', 'UNSUBSCRIBED', 'COMPLAINED', 'BOUNCED')),
  add column link_number int,
  add column classification text not null default 'human' check (classification in ('human', 'proxy', 'scanner')),
  -- the kind of program, never the user agent itself
  add column agent text,
  add column bounce_type text check (bounce_type in ('HARD', 'SOFT'));
-- Two clicks of one mail may fall into one millisecond, and counts are no longer made from the rows.
drop index messaging.delivery_events_once;
drop index messaging.delivery_events_of_campaign;
create index delivery_events_of_delivery on messaging.delivery_events (campaign_id, delivery_id, type, occurred_at);

alter table messaging.deliveries add column bounce_type text check (bounce_type in ('HARD', 'SOFT'));

-- What people (not proxies, not scanners) did with a mail; a click counts as an open.
create table messaging.delivery_engagement (
  delivery_id uuid not null,
  queued_on date not null,
  environment_id bigint not null,
  campaign_id uuid not null,
  opens int not null default 0,
  clicks int not null default 0,
  first_opened_at timestamptz,
  first_clicked_at timestamptz,
  primary key (delivery_id, queued_on)
) partition by range (queued_on);
call platform.protect('messaging.delivery_engagement', 'select');
do $$
declare month date;
begin
  for month in select generate_series(date_trunc('month', now()), date_trunc('month', now()) + interval '2 months', interval '1 month') loop
    perform platform.ensure_month('messaging.delivery_engagement', month);
  end loop;
end $$;
create table messaging.delivery_engagement_default partition of messaging.delivery_engagement default;

-- Rolled up in the transaction that writes what is counted. `writer` is a number that each process picks, so
-- that processes do not wait for each other's commits; who reads adds them up.
create table messaging.campaign_counters (
  campaign_id uuid not null,
  writer smallint not null,
  environment_id bigint not null,
  sent bigint not null default 0,
  hard_bounced bigint not null default 0,
  soft_bounced bigint not null default 0,
  opened bigint not null default 0,
  unique_opens bigint not null default 0,
  clicked bigint not null default 0,
  unique_clicks bigint not null default 0,
  unsubscribed bigint not null default 0,
  complained bigint not null default 0,
  first_sent_at timestamptz,
  last_sent_at timestamptz,
  last_event_at timestamptz,
  primary key (campaign_id, writer)
) with (fillfactor = 50);
call platform.protect('messaging.campaign_counters', 'select, insert, update');

-- The same by the minute, for timelines. `delivered` is told of the minute of sending: a mail that bounces later
-- is taken from it.
create table messaging.campaign_minutes (
  campaign_id uuid not null,
  minute timestamptz not null,
  writer smallint not null,
  environment_id bigint not null,
  sent bigint not null default 0,
  delivered bigint not null default 0,
  opened bigint not null default 0,
  clicked bigint not null default 0,
  bounced bigint not null default 0,
  primary key (campaign_id, minute, writer)
) with (fillfactor = 70);
call platform.protect('messaging.campaign_minutes', 'select, insert, update');

-- the campaigns that a project's own average is taken from
create index campaigns_queued on messaging.campaigns (environment_id, queued_at desc) where queued_at is not null;

-- What the mailbox of a simulated address is still to do with a mail of the test environment.
create table messaging.mailbox_simulations (
  delivery_id uuid primary key,
  environment_id bigint not null,
  behaviour text not null check (behaviour in ('bounced', 'soft-bounced', 'complained', 'opened', 'clicked', 'unsubscribed')),
  created_at timestamptz not null
);
create index mailbox_simulations_oldest on messaging.mailbox_simulations (created_at);
call platform.protect('messaging.mailbox_simulations', 'select, insert, delete');

-- How far a file of many parts has come: the last row in it, and whether that is all.
alter table messaging.exports add column cursor text, add column parts int not null default 0;

insert into messaging.campaign_counters (campaign_id, writer, environment_id, sent, first_sent_at, last_sent_at)
select source_id, 0, environment_id, count(*), min(sent_at), max(sent_at)
from messaging.deliveries where kind = 'CAMPAIGN' and state = 'SENT' group by source_id, environment_id;
insert into messaging.campaign_minutes (campaign_id, minute, writer, environment_id, sent, delivered)
select source_id, date_trunc('minute', sent_at), 0, environment_id, count(*), count(*)
from messaging.deliveries where kind = 'CAMPAIGN' and state = 'SENT' group by source_id, date_trunc('minute', sent_at), environment_id;
insert into messaging.campaign_counters as c (campaign_id, writer, environment_id, unsubscribed, last_event_at)
select campaign_id, 0, environment_id, count(*), max(occurred_at)
from messaging.delivery_events where type = 'UNSUBSCRIBED' and campaign_id is not null group by campaign_id, environment_id
on conflict (campaign_id, writer) do update set unsubscribed = excluded.unsubscribed, last_event_at = excluded.last_event_at;
