-- What a report's page shows of a campaign by link and by mailbox provider, as it was last counted from the events and
-- deliveries: reading those of a campaign of a million takes a second or two. `version` tells which state of the campaign's counters
-- it belongs to, since whatever changes these figures changes a counter in the same transaction.
create table messaging.campaign_breakdowns (
  campaign_id uuid primary key references messaging.campaigns on delete cascade,
  environment_id bigint not null,
  version text not null,
  links jsonb not null,
  providers jsonb not null,
  counted_at timestamptz not null,
  -- how long it took
  milliseconds int not null
);
call platform.protect('messaging.campaign_breakdowns', 'select, insert, update, delete');
