-- Figures by the hour. Programs of version 0.2.0 that still run send mails and write events without them, which
-- `check:statistics` then finds.
lock table messaging.deliveries, messaging.delivery_events, messaging.delivery_engagement in share row exclusive mode;

create table messaging.mail_hours (
  environment_id bigint not null,
  hour timestamptz not null,
  campaign_id uuid not null,
  relay_key text not null default '',
  provider text not null,
  writer smallint not null,
  sent int not null default 0,
  delivered int not null default 0,
  opened int not null default 0,
  unique_opens int not null default 0,
  clicked int not null default 0,
  unique_clicks int not null default 0,
  hard_bounced int not null default 0,
  soft_bounced int not null default 0,
  unsubscribed int not null default 0,
  complained int not null default 0,
  primary key (environment_id, hour, campaign_id, relay_key, provider, writer)
) with (fillfactor = 70);
comment on table messaging.mail_hours is
  'Statistics over campaigns and time, counted in the transaction that writes what is counted; by writer as in campaign_counters.';
comment on column messaging.mail_hours.hour is
  'The hour (UTC) of sending for sent and delivered, from which a mail that bounces later is taken; of the first open or click of '
  'a mail for unique_opens and unique_clicks; else of the event.';
comment on column messaging.mail_hours.campaign_id is 'Zeros: all automations, whose nodes are in automation_hours.';
comment on column messaging.mail_hours.relay_key is 'The project''s relay that took the mail; empty: the installation''s.';
comment on column messaging.mail_hours.provider is 'The mailbox provider by the domain of the address; other: no large one.';
call platform.protect('messaging.mail_hours', 'select, insert, update');

-- Of mails and events that are kept.
with providers(provider, domains) as (values
  ('google', 'gmail.com googlemail.com'),
  ('microsoft', 'outlook.com outlook.de outlook.fr outlook.it outlook.es outlook.at outlook.be outlook.dk outlook.ie outlook.pt outlook.sk outlook.cz outlook.jp outlook.co.th hotmail.com hotmail.de hotmail.fr hotmail.it hotmail.es hotmail.be hotmail.nl hotmail.se hotmail.no hotmail.dk hotmail.fi hotmail.ch hotmail.co.uk hotmail.com.br live.com live.de live.fr live.it live.at live.be live.nl live.se live.no live.dk live.ie live.co.uk live.com.au live.ca live.cn msn.com passport.com windowslive.com'),
  ('yahoo', 'yahoo.com yahoo.de yahoo.fr yahoo.it yahoo.es yahoo.ie yahoo.ca yahoo.in yahoo.co.uk yahoo.co.in yahoo.co.id yahoo.com.br yahoo.com.mx yahoo.com.ar ymail.com rocketmail.com aol.com aol.de aol.co.uk aim.com netscape.net verizon.net att.net sbcglobal.net bellsouth.net frontier.com sky.com'),
  ('apple', 'icloud.com me.com mac.com'),
  ('united-internet', 'gmx.de gmx.net gmx.at gmx.ch gmx.com gmx.org web.de mail.com email.de 1und1.de'),
  ('t-online', 't-online.de magenta.de'),
  ('freenet', 'freenet.de'),
  ('orange', 'orange.fr wanadoo.fr'),
  ('la-poste', 'laposte.net'),
  ('free', 'free.fr'),
  ('sfr', 'sfr.fr neuf.fr cegetel.net numericable.fr'),
  ('libero', 'libero.it iol.it virgilio.it inwind.it'),
  ('comcast', 'comcast.net xfinity.com'),
  ('wp', 'wp.pl o2.pl'),
  ('seznam', 'seznam.cz email.cz'),
  ('mail-ru', 'mail.ru inbox.ru list.ru bk.ru internet.ru'),
  ('yandex', 'yandex.ru yandex.com ya.ru'),
  ('proton', 'proton.me protonmail.com pm.me'),
  ('qq', 'qq.com foxmail.com'),
  ('netease', '163.com 126.com yeah.net')
), names as materialized (
  select jsonb_object_agg(domain, provider) as of_domains from providers cross join lateral string_to_table(domains, ' ') domain
), mails as (
  select d.id, d.queued_on, d.environment_id, case when d.kind = 'CAMPAIGN' then d.source_id else '00000000-0000-0000-0000-000000000000' end as campaign_id,
    coalesce(d.relay_key, '') as relay_key, d.sent_at, d.bounced_at, d.bounce_type,
    coalesce(n.of_domains ->> split_part(d.address_key, '@', 2), 'other') as provider
  from messaging.deliveries d cross join names n
  where d.kind in ('CAMPAIGN', 'AUTOMATION') and d.state = 'SENT'
), seen as (
  select m.*, g.first_opened_at, g.first_clicked_at from mails m join messaging.delivery_engagement g
    on g.delivery_id = m.id and g.queued_on = m.queued_on and g.environment_id = m.environment_id
), happened as (
  select environment_id, sent_at as at, campaign_id, relay_key, provider, 1 as sent, (bounced_at is null)::int as delivered, 0 as opened,
    0 as unique_opens, 0 as clicked, 0 as unique_clicks, 0 as hard_bounced, 0 as soft_bounced, 0 as unsubscribed, 0 as complained
  from mails
  union all
  select environment_id, first_opened_at, campaign_id, relay_key, provider, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0
  from seen where first_opened_at is not null
  union all
  select environment_id, first_clicked_at, campaign_id, relay_key, provider, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0
  from seen where first_clicked_at is not null
  union all
  select e.environment_id, e.occurred_at, m.campaign_id, m.relay_key, m.provider, 0, 0, (e.type in ('OPENED', 'CLICKED'))::int, 0,
    (e.type = 'CLICKED')::int, 0, (e.type = 'BOUNCED' and e.bounce_type = 'HARD')::int,
    (e.type = 'BOUNCED' and e.bounce_type = 'SOFT')::int, (e.type = 'UNSUBSCRIBED')::int, (e.type = 'COMPLAINED')::int
  from messaging.delivery_events e join mails m on m.id = e.delivery_id and m.environment_id = e.environment_id
  where e.classification = 'human'
)
insert into messaging.mail_hours (environment_id, hour, campaign_id, relay_key, provider, writer, sent, delivered, opened, unique_opens,
  clicked, unique_clicks, hard_bounced, soft_bounced, unsubscribed, complained)
select environment_id, date_trunc('hour', at, 'UTC'), campaign_id, relay_key, provider, 0, sum(sent), sum(delivered), sum(opened),
  sum(unique_opens), sum(clicked), sum(unique_clicks), sum(hard_bounced), sum(soft_bounced), sum(unsubscribed), sum(complained)
from happened group by 1, 2, 3, 4, 5;
