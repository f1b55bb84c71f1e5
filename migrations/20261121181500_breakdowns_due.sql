-- When the figures of a campaign by link and provider are to be counted next, of campaigns of which nobody should wait
-- for it. Whoever looks brings the time forward, but not before `earliest_at`.
create table messaging.breakdowns_due (
  campaign_id uuid primary key references messaging.campaigns on delete cascade,
  environment_id bigint not null,
  due_at timestamptz not null,
  earliest_at timestamptz not null
);
call platform.protect('messaging.breakdowns_due', 'select, insert, update, delete');
create index breakdowns_due_next on messaging.breakdowns_due (due_at);
