-- Numbers of automations by node. Programs of version 0.2.0 that still run write without them, which `check:automations` then finds.
lock table messaging.automation_runs, messaging.automation_steps, messaging.deliveries, messaging.delivery_events,
  messaging.delivery_engagement in share row exclusive mode;

alter table messaging.delivery_engagement alter column campaign_id drop not null;
comment on column messaging.delivery_engagement.campaign_id is 'Null: a mail of an automation.';

create table messaging.automation_hours (
  version_id bigint not null,
  place smallint not null,
  hour timestamptz not null,
  writer smallint not null,
  environment_id bigint not null,
  entered bigint not null default 0,
  departed bigint not null default 0,
  sent bigint not null default 0,
  delivered bigint not null default 0,
  hard_bounced bigint not null default 0,
  soft_bounced bigint not null default 0,
  opened bigint not null default 0,
  unique_opens bigint not null default 0,
  clicked bigint not null default 0,
  unique_clicks bigint not null default 0,
  unsubscribed bigint not null default 0,
  complained bigint not null default 0
) with (fillfactor = 50);
comment on table messaging.automation_hours is
  'What came of the nodes of automations and of their mails, of all time and by the hour (UTC), counted in the transaction that '
  'writes what is counted; by writer as in campaign_counters.';
comment on column messaging.automation_hours.hour is
  'Its beginning; -infinity: of all time, which a report reads, whatever number of hours there is.';
comment on column messaging.automation_hours.place is 'Of the node in the version''s list, which begins with 0.';
comment on column messaging.automation_hours.entered is 'Runs that came to the node. Counted of all time only, as departed is.';
comment on column messaging.automation_hours.departed is
  'Runs that went on from it, or ended at it: the rest of those that entered are at it.';
comment on column messaging.automation_hours.delivered is
  'By the hour of sending: a mail that bounces later is taken from it. Bounces have the hour of their report.';
comment on column messaging.automation_hours.unique_opens is 'By the hour in which a mail''s first was recorded; unique_clicks too.';
create index automation_hours_of_environment on messaging.automation_hours (environment_id, hour);
alter table messaging.automation_hours add primary key (version_id, hour, place, writer, environment_id);
call platform.protect('messaging.automation_hours', 'select, insert, update');

create table messaging.automation_link_counters (
  version_id bigint not null,
  place smallint not null,
  url_hash uuid not null,
  writer smallint not null,
  environment_id bigint not null,
  link_number int not null,
  clicked bigint not null default 0,
  unique_clicks bigint not null default 0,
  url text not null,
  primary key (version_id, place, url_hash, writer, environment_id)
) with (fillfactor = 50);
comment on table messaging.automation_link_counters is
  'Clicks of people by address and node, whose mails have another link set each day. All of a node''s links add up to its own clicks.';
comment on column messaging.automation_link_counters.url_hash is 'MD5 of the address, which may be too long for a key.';
comment on column messaging.automation_link_counters.link_number is 'The place of the link in one of the mails.';
call platform.protect('messaging.automation_link_counters', 'select, insert, update');

-- What the rows that are kept say of the time before.
insert into messaging.automation_hours as c (version_id, place, hour, writer, environment_id, entered, departed)
select version_id, place, '-infinity', 0, environment_id, count(*), count(*) filter (where not is_there)
from (
  select r.version_id, s.position as place, r.environment_id, r.wake_at is not null and r.position = s.position as is_there
  from messaging.automation_steps s
  join messaging.automation_runs r on r.id = s.run_id and r.environment_id = s.environment_id
  union all
  select r.version_id, r.position, r.environment_id, r.wake_at is not null
  from messaging.automation_runs r
  where not exists (
    select 1 from messaging.automation_steps s where s.run_id = r.id and s.position = r.position
      and s.entered_on = (r.entered_at at time zone 'UTC')::date and s.environment_id = r.environment_id
  )
) s
group by version_id, place, environment_id
on conflict (version_id, place, hour, writer, environment_id) do update
set entered = c.entered + excluded.entered, departed = c.departed + excluded.departed;

insert into messaging.automation_hours as c (version_id, place, hour, writer, environment_id, sent, delivered)
select r.version_id, messaging.place_of_step(d.source_id), date_trunc('hour', d.sent_at, 'UTC'), 0, d.environment_id, count(*),
  count(*) filter (where d.bounced_at is null)
from messaging.deliveries d
join messaging.automation_runs r on r.id = messaging.run_of_step(d.source_id) and r.environment_id = d.environment_id
where d.kind = 'AUTOMATION' and d.state = 'SENT'
group by 1, 2, 3, d.environment_id
on conflict (version_id, place, hour, writer, environment_id) do update
set sent = c.sent + excluded.sent, delivered = c.delivered + excluded.delivered;

update messaging.delivery_events e set link_set = s.id
from messaging.deliveries d
join messaging.automation_runs r on r.id = messaging.run_of_step(d.source_id) and r.environment_id = d.environment_id
join messaging.link_sets s on s.version_id = r.version_id and s.environment_id = d.environment_id and s.queued_on = d.queued_on
  and s.place = messaging.place_of_step(d.source_id)
where e.campaign_id is null and e.type = 'CLICKED' and e.link_number is not null and d.id = e.delivery_id
  and d.environment_id = e.environment_id and d.kind = 'AUTOMATION' and s.urls[e.link_number] = e.url;

insert into messaging.delivery_engagement (delivery_id, queued_on, environment_id, opens, clicks, first_opened_at, first_clicked_at,
  clicked_links)
select d.id, d.queued_on, d.environment_id, count(*), count(*) filter (where e.type = 'CLICKED'), min(e.occurred_at),
  min(e.occurred_at) filter (where e.type = 'CLICKED'),
  array_agg(distinct e.link_set * 65536 + e.link_number) filter (where e.link_set is not null)
from messaging.delivery_events e
join messaging.deliveries d on d.id = e.delivery_id and d.environment_id = e.environment_id
where e.campaign_id is null and d.kind = 'AUTOMATION' and e.type in ('OPENED', 'CLICKED') and e.classification = 'human'
group by d.id, d.queued_on, d.environment_id
on conflict (delivery_id, queued_on, environment_id) do nothing;

insert into messaging.automation_hours as c (version_id, place, hour, writer, environment_id, hard_bounced, soft_bounced, opened,
  unique_opens, clicked, unique_clicks, unsubscribed, complained)
select r.version_id, messaging.place_of_step(d.source_id), date_trunc('hour', e.occurred_at, 'UTC'), 0, d.environment_id,
  count(*) filter (where e.type = 'BOUNCED' and e.bounce_type = 'HARD'),
  count(*) filter (where e.type = 'BOUNCED' and e.bounce_type = 'SOFT'),
  count(*) filter (where e.is_look), count(*) filter (where e.is_look and e.look = 1),
  count(*) filter (where e.is_look and e.type = 'CLICKED'),
  count(*) filter (where e.is_look and e.type = 'CLICKED' and e.look_of_type = 1),
  count(*) filter (where e.type = 'UNSUBSCRIBED'), count(*) filter (where e.type = 'COMPLAINED')
from (
  select e.environment_id, e.delivery_id, e.type, e.bounce_type, e.occurred_at,
    e.type in ('OPENED', 'CLICKED') and e.classification = 'human' as is_look,
    row_number() over (
      partition by e.environment_id, e.delivery_id, e.type in ('OPENED', 'CLICKED') and e.classification = 'human'
      order by e.occurred_at, e.id
    ) as look,
    row_number() over (
      partition by e.environment_id, e.delivery_id, e.type, e.classification order by e.occurred_at, e.id
    ) as look_of_type
  from messaging.delivery_events e where e.campaign_id is null
) e
join messaging.deliveries d on d.id = e.delivery_id and d.environment_id = e.environment_id
join messaging.automation_runs r on r.id = messaging.run_of_step(d.source_id) and r.environment_id = d.environment_id
where d.kind = 'AUTOMATION'
group by 1, 2, 3, d.environment_id
on conflict (version_id, place, hour, writer, environment_id) do update set hard_bounced = c.hard_bounced + excluded.hard_bounced,
  soft_bounced = c.soft_bounced + excluded.soft_bounced, opened = c.opened + excluded.opened,
  unique_opens = c.unique_opens + excluded.unique_opens, clicked = c.clicked + excluded.clicked,
  unique_clicks = c.unique_clicks + excluded.unique_clicks, unsubscribed = c.unsubscribed + excluded.unsubscribed,
  complained = c.complained + excluded.complained;

insert into messaging.automation_hours as c (version_id, place, hour, writer, environment_id, sent, delivered, hard_bounced,
  soft_bounced, opened, unique_opens, clicked, unique_clicks, unsubscribed, complained)
select version_id, place, '-infinity', 0, environment_id, sum(sent), sum(delivered), sum(hard_bounced), sum(soft_bounced), sum(opened),
  sum(unique_opens), sum(clicked), sum(unique_clicks), sum(unsubscribed), sum(complained)
from messaging.automation_hours where hour > '-infinity' group by version_id, place, environment_id
on conflict (version_id, place, hour, writer, environment_id) do update set sent = excluded.sent, delivered = excluded.delivered,
  hard_bounced = excluded.hard_bounced, soft_bounced = excluded.soft_bounced, opened = excluded.opened,
  unique_opens = excluded.unique_opens, clicked = excluded.clicked, unique_clicks = excluded.unique_clicks,
  unsubscribed = excluded.unsubscribed, complained = excluded.complained;

insert into messaging.automation_link_counters (version_id, place, url_hash, writer, environment_id, link_number, clicked,
  unique_clicks, url)
select s.version_id, s.place, md5(e.url)::uuid, 0, e.environment_id, max(e.link_number), count(*),
  count(distinct (e.delivery_id, e.link_set, e.link_number)), e.url
from messaging.delivery_events e join messaging.link_sets s on s.id = e.link_set and s.environment_id = e.environment_id
where e.campaign_id is null and e.type = 'CLICKED' and e.classification = 'human' and e.url is not null
group by s.version_id, s.place, e.environment_id, e.url
on conflict (version_id, place, url_hash, writer, environment_id) do nothing;
