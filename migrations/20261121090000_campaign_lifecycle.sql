alter table messaging.campaigns
  -- The moment of the last `send`: the audience is frozen at it. `queued_at` stays the first one's: it names the
  -- partition of the deliveries, so that a campaign which is sent again after it failed reaches nobody twice.
  add column audience_at timestamptz,
  -- since when the worker has to end the deliveries that are still open; null when none is
  add column closing_since timestamptz,
  -- the moment of `retry-failed` while its deliveries are put back, and the e-mails set aside for those to come
  add column retry_from timestamptz,
  add column retry_emails bigint not null default 0,
  -- Deleted after mails went out: it is shown to nobody, but what their links lead to must go on working.
  add column deleted_at timestamptz;
update messaging.campaigns set audience_at = queued_at;

-- what the scheduler asks for, twice a second
create index campaigns_scheduled on messaging.campaigns (scheduled_at) where status = 'SCHEDULED';

-- Deliveries that ended other than well, or wait after a refusal. `reason` is null on the way that most go, so
-- that this index costs them nothing.
create index deliveries_exceptional on messaging.deliveries (source_id, subscriber_id, queued_on) where reason is not null;

-- One request for test mails. A delivery of the kind TEST has its id as source.
create table messaging.campaign_tests (
  id uuid primary key,
  environment_id bigint not null,
  campaign_id uuid not null references messaging.campaigns on delete cascade,
  emails int not null check (emails > 0),
  created_at timestamptz not null
);
create index campaign_tests_newest on messaging.campaign_tests (environment_id, created_at);
create index campaign_tests_of_campaign on messaging.campaign_tests (campaign_id);
call platform.protect('messaging.campaign_tests', 'select, insert, delete');
