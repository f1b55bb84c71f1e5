-- Clicks by link. Programs of version 0.2.0 that still run write clicks without them, which `check:statistics` then finds.
lock table messaging.delivery_events, messaging.delivery_engagement in share row exclusive mode;

alter table messaging.delivery_events add column link_set bigint;
comment on column messaging.delivery_events.link_set is
  'The set in which the link_number of a click counts.';

alter table messaging.delivery_engagement add column clicked_links bigint[];
comment on column messaging.delivery_engagement.clicked_links is
  'The links that people followed in the mail, each once: link_set * 65536 + link_number.';

create table messaging.link_counters (
  campaign_id uuid not null,
  link_set bigint not null,
  link_number int not null,
  writer smallint not null,
  environment_id bigint not null,
  clicked bigint not null default 0,
  unique_clicks bigint not null default 0,
  primary key (campaign_id, link_set, link_number, writer, environment_id)
) with (fillfactor = 50);
comment on table messaging.link_counters is
  'Clicks of people by link, counted in the transaction that writes them; by writer as in campaign_counters. All clicks of a '
  'campaign''s links add up to its own.';
call platform.protect('messaging.link_counters', 'select, insert, update');

-- A campaign whose content changed between two sends has several sets: which one an older click belonged to was not kept.
update messaging.delivery_events e set link_set = s.id
from messaging.link_sets s
where e.type = 'CLICKED' and e.link_number is not null and e.campaign_id is not null
  and s.campaign_id = e.campaign_id and s.environment_id = e.environment_id
  and (s.translation is null) = (e.url is null) and (e.url is null or s.urls[e.link_number] = e.url);

insert into messaging.link_counters (campaign_id, link_set, link_number, writer, environment_id, clicked, unique_clicks)
select campaign_id, link_set, link_number, 0, environment_id, count(*), count(distinct delivery_id)
from messaging.delivery_events
where type = 'CLICKED' and classification = 'human' and link_set is not null
group by campaign_id, link_set, link_number, environment_id
on conflict (campaign_id, link_set, link_number, writer, environment_id) do nothing;

update messaging.delivery_engagement g set clicked_links = f.links
from (
  select delivery_id, environment_id, array_agg(distinct link_set * 65536 + link_number) as links
  from messaging.delivery_events
  where type = 'CLICKED' and classification = 'human' and link_set is not null
  group by delivery_id, environment_id
) f
where g.delivery_id = f.delivery_id and g.environment_id = f.environment_id;

-- Of campaigns whose events were let go there is the number of mails by link; how often each was clicked is not known.
insert into messaging.link_counters (campaign_id, link_set, link_number, writer, environment_id, clicked, unique_clicks)
select s.campaign_id, s.id, u.number, 0, s.environment_id, max((l.link ->> 'clickers')::bigint), max((l.link ->> 'clickers')::bigint)
from messaging.settled_figures f
cross join lateral jsonb_array_elements(f.links) l(link)
join messaging.link_sets s on s.campaign_id = f.campaign_id and s.environment_id = f.environment_id
cross join lateral unnest(s.urls) with ordinality u(url, number)
where u.url = l.link ->> 'url' and (l.link ->> 'clickers')::bigint > 0 and s.id = (
  select min(o.id) from messaging.link_sets o
  where o.campaign_id = f.campaign_id and o.environment_id = f.environment_id and o.urls @> array[l.link ->> 'url']
)
group by s.campaign_id, s.id, u.number, s.environment_id
on conflict (campaign_id, link_set, link_number, writer, environment_id) do update
set clicked = greatest(link_counters.clicked, excluded.clicked),
  unique_clicks = greatest(link_counters.unique_clicks, excluded.unique_clicks);
comment on column messaging.settled_figures.links is 'Of version 0.2.0; link_counters has them.';
