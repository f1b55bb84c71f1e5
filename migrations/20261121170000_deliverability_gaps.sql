-- Mails that were refused since their sender is not accepted or cannot be authenticated, at the minute in which they were
-- sent: by the next hop itself (those were never sent), and those that came back for it. A domain is judged by them.
alter table messaging.campaign_minutes
  add column sender_refused bigint not null default 0,
  add column sender_bounced bigint not null default 0;
create index campaign_minutes_sender_refused on messaging.campaign_minutes (minute, environment_id)
  where sender_refused + sender_bounced > 0;

-- When an environment's sending domain was stopped last for such refusals. What was sent before is not held against it again.
create table messaging.sender_stops (
  environment_id bigint primary key,
  stopped_at timestamptz not null
);
call platform.protect('messaging.sender_stops', 'select');

-- Reports, of which each is about another mail, that a destination does not trust us. They belong to no environment, like
-- the limits of destinations.
create table deliverability.distrust_reports (
  delivery_id uuid primary key,
  destination text not null,
  reported_at timestamptz not null
);
create index distrust_reports_of_destination on deliverability.distrust_reports (destination, reported_at);
create index distrust_reports_oldest on deliverability.distrust_reports (reported_at);
alter table deliverability.distrust_reports enable row level security;
create policy system_rows on deliverability.distrust_reports to mailwright_system using (true) with check (true);
grant select, delete on deliverability.distrust_reports to mailwright_system;

-- Up to when destinations are slowed down, for who is about to send to them. Callable by the app, which sees no rows.
create function deliverability.slowed_now(at timestamptz) returns table (destination text, slow_until timestamptz)
  language sql stable security definer set search_path = pg_catalog as $$
  select s.destination, s.slow_until from deliverability.slowed_destinations s where s.slow_until > at
$$;
revoke all on function deliverability.slowed_now from public;
grant execute on function deliverability.slowed_now to mailwright_app;

-- Notes a report that came to the return path of a mail. Slows the destination down when there are `enough` since `since`;
-- true when it was not slow before. Whoever got a mail can send a report on it: a single one must not slow all mail to
-- their mailbox provider down.
create function deliverability.report_distrust(
  of_delivery uuid, distrusting text, at timestamptz, since timestamptz, enough int, until timestamptz
) returns boolean language plpgsql volatile security definer set search_path = pg_catalog as $$
declare
  reports int;
begin
  insert into deliverability.distrust_reports (delivery_id, destination, reported_at) values (of_delivery, distrusting, at)
  on conflict (delivery_id) do nothing;
  select count(*) into reports from (
    select from deliverability.distrust_reports r
    where r.destination = distrusting and r.reported_at > since limit enough
  ) r;
  return reports >= enough and deliverability.slow_destination(distrusting, at, until);
end $$;
revoke all on function deliverability.report_distrust from public;
grant execute on function deliverability.report_distrust to mailwright_app;
