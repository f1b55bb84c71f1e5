create schema deliverability;
comment on schema deliverability is
  'Sending domains, bounces and complaints, and how fast mail may go to each destination (a mailbox provider, or a domain).';
grant usage on schema deliverability to mailwright_app, mailwright_system;

create table deliverability.sending_domains (
  id bigint generated always as identity,
  tenant_id bigint not null,
  project_id bigint not null,
  environment_id bigint not null unique,
  domain_name text not null,
  domain_type text not null check (domain_type in ('CUSTOM', 'SYSTEM')),
  return_path_host text not null,
  status text not null check (status in
    ('PENDING_VERIFICATION', 'ACTIVE', 'VERIFICATION_FAILED', 'DEGRADED', 'SUSPENDED', 'BLOCKED', 'EXPIRED')),
  sending_allowed boolean not null,
  suspension_reason text,
  health_score int check (health_score between 0 and 100),
  revision int not null default 1,
  verification_attempts int not null default 0,
  primary key (id, environment_id),
  checks_started_at timestamptz not null,
  last_checked_at timestamptz,
  next_check_at timestamptz,
  verified_at timestamptz,
  expires_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null
) with (fillfactor = 80);
comment on table deliverability.sending_domains is 'The domain that an environment sends from.';
comment on column deliverability.sending_domains.domain_name is 'Lower-case A-labels (RFC 5890).';
comment on column deliverability.sending_domains.revision is
  'A PATCH begins a new one: a check that began before it says nothing about it.';
comment on column deliverability.sending_domains.next_check_at is 'Null: not until someone asks.';
create index sending_domains_due on deliverability.sending_domains (next_check_at) where next_check_at is not null;
create index sending_domains_named on deliverability.sending_domains (domain_name);

create table deliverability.dkim_keys (
  id bigint generated always as identity,
  environment_id bigint not null,
  domain_id bigint not null,
  selector text not null,
  algorithm text not null check (algorithm in ('rsa-sha256', 'ed25519-sha256')),
  public_key text not null,
  private_key_box text not null,
  state text not null check (state in ('NEXT', 'ACTIVE', 'RETIRED')),
  created_at timestamptz not null,
  retired_at timestamptz,
  unique (domain_id, selector, environment_id),
  foreign key (domain_id, environment_id) references deliverability.sending_domains on delete cascade
);
comment on table deliverability.dkim_keys is 'The keys that a domain''s mail is signed with.';
comment on column deliverability.dkim_keys.public_key is 'Base64, as it stands in p=.';
comment on column deliverability.dkim_keys.private_key_box is 'PKCS #8 PEM, encrypted with the master key.';
comment on column deliverability.dkim_keys.state is
  'NEXT is published but does not sign yet; RETIRED signs no more, but mail on its way may still be verified with it.';
create index dkim_keys_of_environment on deliverability.dkim_keys (environment_id);
create index dkim_keys_retired on deliverability.dkim_keys (retired_at) where retired_at is not null;
alter table deliverability.dkim_keys add primary key (id, environment_id);

create table deliverability.dns_records (
  id bigint generated always as identity,
  environment_id bigint not null,
  domain_id bigint not null,
  dkim_key_id bigint,
  purpose text not null check (purpose in ('OWNERSHIP', 'DKIM', 'SPF', 'MX', 'DMARC')),
  record_type text not null check (record_type in ('TXT', 'CNAME', 'MX')),
  host text not null,
  expected_value text not null,
  actual_value text,
  status text not null default 'PENDING' check (status in ('PENDING', 'VERIFIED', 'FAILED')),
  failure_reason text,
  note text,
  failures int not null default 0,
  failing_since timestamptz,
  last_checked_at timestamptz,
  primary key (id, environment_id),
  foreign key (domain_id, environment_id) references deliverability.sending_domains on delete cascade,
  foreign key (dkim_key_id, environment_id) references deliverability.dkim_keys on delete cascade
) with (fillfactor = 80);
comment on table deliverability.dns_records is 'What a customer''s DNS must say, and what it said.';
comment on column deliverability.dns_records.note is 'What could be better about a record that is right.';
comment on column deliverability.dns_records.failures is
  'Definite failures without a success between them; failing_since is when the first of them was.';
create index dns_records_of_domain on deliverability.dns_records (domain_id);

create table deliverability.domain_checks (
  id uuid not null,
  environment_id bigint not null,
  domain_id bigint not null,
  asked_by text not null check (asked_by in ('CLIENT', 'SCHEDULE')),
  state text not null default 'PENDING' check (state in ('PENDING', 'DONE')),
  created_at timestamptz not null,
  primary key (id, environment_id),
  foreign key (domain_id, environment_id) references deliverability.sending_domains on delete cascade
);
comment on table deliverability.domain_checks is 'Checks that were asked for, by a client who waits for it or by the schedule.';
create index domain_checks_of_domain on deliverability.domain_checks (domain_id);
create index domain_checks_created on deliverability.domain_checks (created_at);

create table deliverability.warm_up_days (
  environment_id bigint not null,
  domain_id bigint not null,
  starts_at timestamptz not null,
  mails int not null check (mails >= 0),
  foreign key (domain_id, environment_id) references deliverability.sending_domains on delete cascade
) with (fillfactor = 50);
comment on table deliverability.warm_up_days is
  'Mails of campaigns that a new domain has begun on a day of its warm-up, counted from its verification.';
create index warm_up_days_of_environment on deliverability.warm_up_days (environment_id);
alter table deliverability.warm_up_days add primary key (domain_id, starts_at, environment_id);

create table deliverability.tracking_hosts (
  project_id bigint not null,
  named_in bigint not null,
  host text not null,
  status text not null check (status in ('PENDING', 'VERIFIED', 'FAILED')),
  last_error text,
  failures int not null default 0,
  failing_since timestamptz,
  checks_started_at timestamptz not null,
  checked_at timestamptz,
  verified_at timestamptz,
  next_check_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (project_id, host)
) with (fillfactor = 80);
comment on table deliverability.tracking_hosts is
  'Hosts of customers for links, pixels and pages, and whether they point here: the one that a project names now, and those that '
  'it named before, for the mails that were sent with them.';
comment on column deliverability.tracking_hosts.named_in is 'The environment in which the host was named: its checks run there.';
comment on column deliverability.tracking_hosts.host is 'Lower-case A-labels (RFC 5890).';
comment on column deliverability.tracking_hosts.failures is
  'Definite failures without a success between them; failing_since is when the first of them was.';
comment on column deliverability.tracking_hosts.verified_at is 'When it was first seen to point here; null: never.';
comment on column deliverability.tracking_hosts.next_check_at is 'Null: not until someone asks.';
create index tracking_hosts_due on deliverability.tracking_hosts (next_check_at) where next_check_at is not null;
create index tracking_hosts_verified on deliverability.tracking_hosts (host) where verified_at is not null;

create table deliverability.reports (
  delivery_id uuid not null,
  kind text not null check (kind in ('BOUNCE', 'COMPLAINT')),
  environment_id bigint not null,
  bounce_class text check (bounce_class in ('hard', 'mailbox', 'policy', 'sender', 'content', 'network', 'unknown')),
  basic_code int,
  enhanced_code text,
  excerpt text,
  names_message boolean,
  reported_at timestamptz not null,
  primary key (delivery_id, kind, environment_id),
  check ((kind = 'BOUNCE') = (bounce_class is not null))
);
comment on table deliverability.reports is
  'Bounces and complaints that came to a mail''s return path: the facts that were read, never the mail itself. The first report '
  'of a kind counts; more of the same change nothing.';
comment on column deliverability.reports.basic_code is 'Of the refusal, as enhanced_code; null where the report names none.';
comment on column deliverability.reports.excerpt is 'The refusal''s words without addresses.';
comment on column deliverability.reports.names_message is
  'Whether the message that it returns is the delivery''s; null when it returns none.';
create index reports_oldest on deliverability.reports (reported_at);

create table deliverability.distrust_reports (
  delivery_id uuid primary key,
  destination text not null,
  reported_at timestamptz not null
);
comment on table deliverability.distrust_reports is
  'Reports, of which each is about another mail, that a destination does not trust us.';
create index distrust_reports_of_destination on deliverability.distrust_reports (destination, reported_at);
create index distrust_reports_oldest on deliverability.distrust_reports (reported_at);

create table deliverability.slowed_destinations (
  destination text primary key,
  slowed_at timestamptz not null,
  slow_until timestamptz not null
);
comment on table deliverability.slowed_destinations is 'Destinations that have refused mail for our reputation.';

create unlogged table deliverability.destination_budgets (
  destination text primary key,
  mails double precision not null,
  refilled_at timestamptz not null
) with (fillfactor = 50);
comment on table deliverability.destination_budgets is
  'Token buckets: the mails that may be sent to a destination now. Unlogged: a crash may lose the last second.';

create unlogged table deliverability.destination_lines (
  line text not null,
  destination text not null,
  ends_at timestamptz not null,
  primary key (line, destination)
) with (fillfactor = 50);
comment on table deliverability.destination_lines is
  'Up to when mails that wait for a destination are spread: each line (a campaign, the automations) has its own.';
create index destination_lines_ended on deliverability.destination_lines (ends_at);

create table deliverability.relays (
  environment_id bigint not null,
  id uuid not null,
  project_id bigint not null,
  relay_key text not null,
  name text not null,
  kind text not null check (kind in ('SMTP', 'SES', 'POSTMARK', 'SENDGRID', 'MAILGUN', 'BREVO')),
  host text not null,
  port int not null check (port between 1 and 65535),
  tls text not null check (tls in ('IMPLICIT', 'REQUIRED', 'OPPORTUNISTIC')),
  username text,
  password_box text,
  options jsonb not null,
  streams text[] not null
    check (streams <@ array['OPT_IN', 'CAMPAIGN', 'AUTOMATION', 'TRANSACTIONAL', 'TEST'] and cardinality(streams) > 0),
  priority int not null check (priority >= 1),
  weight int not null check (weight between 1 and 100),
  connections int not null check (connections >= 1),
  rate_per_second double precision check (rate_per_second > 0),
  rate_until timestamptz,
  signing text not null check (signing in ('OWN', 'RELAY')),
  status text not null check (status in ('ACTIVE', 'PAUSED', 'FAILING')),
  failures int not null default 0,
  retry_at timestamptz,
  last_error text,
  last_used_at timestamptz,
  feedback_id uuid not null,
  feedback_key_box text,
  last_feedback_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (environment_id, id),
  unique (environment_id, relay_key),
  unique (environment_id, feedback_id),
  check ((username is null) = (password_box is null))
) with (fillfactor = 80);
-- Workers look for those that are to be tried again.
create index relays_failing on deliverability.relays (retry_at) where status = 'FAILING';
comment on table deliverability.relays is
  'Where live mail of an environment is handed over. One without a relay that takes a stream uses the installation''s.';
comment on column deliverability.relays.password_box is 'Encrypted with the master key, as feedback_key_box.';
comment on column deliverability.relays.options is 'What only some kinds take: configurationSet, messageStream, region, domain.';
comment on column deliverability.relays.priority is '1 is tried first; weight shares mail among those of the same priority.';
comment on column deliverability.relays.rate_until is
  'Until when its rate is given out: workers take places of it a second at a time.';
comment on column deliverability.relays.signing is 'OWN: with the sending domain''s keys. RELAY: the relay signs, and we do not.';
comment on column deliverability.relays.retry_at is
  'Of a FAILING relay: when one mail finds out whether it works again. `failures` in a row make the pause longer.';
comment on column deliverability.relays.feedback_id is 'In the token of its feedback address; another one makes a new address.';
comment on column deliverability.relays.feedback_key_box is 'With which the provider''s events are proved.';

create table deliverability.feedback_tokens (
  relay_id uuid not null,
  token text not null,
  environment_id bigint not null,
  good_until timestamptz not null,
  primary key (relay_id, token, environment_id)
);
comment on table deliverability.feedback_tokens is
  'What a provider whose signature does not cover its events gave each of its posts: a second post with the same is a replay. '
  'Kept until its age alone refuses it.';
create index feedback_tokens_oldest on deliverability.feedback_tokens (good_until);

call platform.protect('deliverability.feedback_tokens', 'select, insert');
call platform.protect('deliverability.relays', 'select, insert, update, delete');
call platform.protect('deliverability.sending_domains', 'select, insert, update, delete');
call platform.protect('deliverability.dkim_keys', 'select, insert, update, delete');
call platform.protect('deliverability.dns_records', 'select, insert, update, delete');
call platform.protect('deliverability.domain_checks', 'select, insert, update');
call platform.protect('deliverability.warm_up_days', 'select, insert, update');
call platform.protect('deliverability.reports', 'select, insert');
-- Both environments of a project share its host.
alter table deliverability.tracking_hosts enable row level security;
create policy app_rows on deliverability.tracking_hosts to mailwright_app
  using (project_id = platform.project_id()) with check (project_id = platform.project_id());
create policy system_rows on deliverability.tracking_hosts to mailwright_system using (true) with check (true);
grant select, insert, update, delete on deliverability.tracking_hosts to mailwright_app, mailwright_system;
-- Mailbox providers judge by the addresses that mail leaves from, which all projects share. So the rows of destinations belong to
-- no environment, and the app, which sees none of them, asks by functions.
alter table deliverability.distrust_reports enable row level security;
create policy system_rows on deliverability.distrust_reports to mailwright_system using (true) with check (true);
alter table deliverability.slowed_destinations enable row level security;
create policy system_rows on deliverability.slowed_destinations to mailwright_system using (true) with check (true);
alter table deliverability.destination_budgets enable row level security;
create policy system_rows on deliverability.destination_budgets to mailwright_system using (true) with check (true);
alter table deliverability.destination_lines enable row level security;
create policy system_rows on deliverability.destination_lines to mailwright_system using (true) with check (true);
grant select, delete on deliverability.distrust_reports, deliverability.slowed_destinations, deliverability.destination_budgets,
  deliverability.destination_lines to mailwright_system;

create function deliverability.find_tracking_host(wanted text)
  returns table (environment_ids bigint[], is_verified boolean)
  language sql stable security definer set search_path = pg_catalog as $$
  select array(select e.id from access.project_environments e where e.project_id = h.project_id), h.status = 'VERIFIED'
  from deliverability.tracking_hosts h join access.projects p on p.id = h.project_id
  where h.host = wanted and h.verified_at is not null
  order by (p.tracking_host = h.host) desc nulls last, h.verified_at desc limit 1
$$;
comment on function deliverability.find_tracking_host is
  'Whose a host is that points here or did: of several projects that named it, the one that names it now. A request by that host '
  'has no scope yet.';
revoke all on function deliverability.find_tracking_host from public;
grant execute on function deliverability.find_tracking_host to mailwright_app;

create function deliverability.line_place(start timestamptz, place int, rate double precision, slow_until timestamptz)
  returns timestamptz language sql immutable set search_path = pg_catalog as $$
  select case
    when place <= s.slow then start + place * interval '1 minute'
    else greatest(start, slow_until) + make_interval(secs => coalesce((place - s.slow) / rate, 0))
  end
  from (select coalesce(greatest(floor(extract(epoch from slow_until - start) / 60), 0), 0)::int as slow) s
$$;
comment on function deliverability.line_place is
  'When the `place`-th mail of a line may go that begins at `start`: one a minute while the destination is slowed, then `rate` a '
  'second; without a rate all at once.';

create function deliverability.take_budgets(line_name text, requests jsonb, at timestamptz)
  returns table (destination text, granted int, places timestamptz[], slow_until timestamptz)
  language plpgsql volatile security definer set search_path = pg_catalog set synchronous_commit = off as $$
#variable_conflict use_column
begin
  if not exists (
    select 1 from jsonb_to_recordset(requests) as r(destination text, rate double precision)
    where r.rate is not null
      or exists (select 1 from deliverability.slowed_destinations s where s.destination = r.destination and s.slow_until > at)
  ) then
    return;
  end if;
  insert into deliverability.destination_budgets (destination, mails, refilled_at)
  select r.destination, case when s.destination is null then r.burst else 1 end, at
  from jsonb_to_recordset(requests) as r(destination text, rate double precision, burst double precision)
  left join deliverability.slowed_destinations s on s.destination = r.destination and s.slow_until > at
  where (r.rate is not null or s.destination is not null)
    and not exists (select 1 from deliverability.destination_budgets b where b.destination = r.destination)
  order by r.destination
  on conflict do nothing;
  -- The statement after this one sees what those had written that were waited for.
  perform from deliverability.destination_budgets b
  where b.destination in (select r.destination from jsonb_to_recordset(requests) as r(destination text))
  order by b.destination for update;
  return query
  with asked as (
    select r.destination, r.wanted, r.rate as usual_rate, s.slow_until,
      case when s.destination is null then r.rate else 1 / 60.0::double precision end as rate,
      case when s.destination is null then r.burst else 1 end as burst,
      case when s.destination is null then r.kept else 0 end as kept
    from jsonb_to_recordset(requests)
      as r(destination text, wanted int, rate double precision, burst double precision, kept double precision)
    left join deliverability.slowed_destinations s on s.destination = r.destination and s.slow_until > at
    where r.rate is not null or s.destination is not null
  ), filled as (
    select a.*, greatest(b.refilled_at, at) as refilled_at, least(a.burst,
        b.mails + greatest(extract(epoch from at - b.refilled_at), 0)::double precision * a.rate) as mails
    from asked a join deliverability.destination_budgets b on b.destination = a.destination
  ), counted as materialized (
    -- The little more makes up for what rounding takes.
    select f.*, greatest(least(f.wanted, floor(f.mails - f.kept + 0.000001)::int), 0) as granted from filled f
  ), paid as (
    update deliverability.destination_budgets b set mails = c.mails - c.granted, refilled_at = c.refilled_at
    from counted c where b.destination = c.destination
  ), waiting as materialized (
    select c.*, c.wanted - c.granted as more, greatest(l.ends_at, at) as starts_at
    from counted c
    left join deliverability.destination_lines l on l.line = line_name and l.destination = c.destination
    where c.wanted > c.granted
  ), lined_up as (
    insert into deliverability.destination_lines as l (line, destination, ends_at)
    select line_name, w.destination, deliverability.line_place(w.starts_at, w.more, w.usual_rate, w.slow_until)
    from waiting w
    on conflict (line, destination) do update set ends_at = excluded.ends_at
  )
  select c.destination, c.granted, array(
      select deliverability.line_place(w.starts_at, n, w.usual_rate, w.slow_until)
      from waiting w cross join generate_series(1, w.more) n
      where w.destination = c.destination order by n
    ), c.slow_until
  from counted c;
end $$;
comment on function deliverability.take_budgets is
  'Takes mails for destinations out of their budgets, all of a batch at once. `requests` are {destination, wanted, rate, burst, '
  'kept}: `rate` mails a second, null where only a slow-down limits; `kept` of the burst are left for others. A destination that '
  'is not in the answer has no limit now. `places` are the moments at which to ask again for the others. Nothing is lost when a '
  'crash undoes it.';
revoke all on function deliverability.take_budgets from public;
grant execute on function deliverability.take_budgets to mailwright_app;

create function deliverability.slow_destination(slowed text, at timestamptz, until timestamptz) returns boolean
  language plpgsql volatile security definer set search_path = pg_catalog as $$
declare
  was_slow boolean;
begin
  select s.slow_until > at into was_slow from deliverability.slowed_destinations s
  where s.destination = slowed for update;
  insert into deliverability.slowed_destinations as s (destination, slowed_at, slow_until) values (slowed, at, until)
  on conflict (destination) do update set slow_until = greatest(s.slow_until, excluded.slow_until),
    slowed_at = case when s.slow_until > at then s.slowed_at else at end;
  if was_slow then
    return false;
  end if;
  insert into deliverability.destination_budgets (destination, mails, refilled_at) values (slowed, 0, at)
  on conflict (destination) do update set mails = 0, refilled_at = excluded.refilled_at;
  return true;
end $$;
comment on function deliverability.slow_destination is
  'Slows a destination down; true when it was not slow before.';
revoke all on function deliverability.slow_destination from public;
grant execute on function deliverability.slow_destination to mailwright_app, mailwright_system;

create function deliverability.slowed_now(at timestamptz) returns table (destination text, slow_until timestamptz)
  language sql stable security definer set search_path = pg_catalog as $$
  select s.destination, s.slow_until from deliverability.slowed_destinations s where s.slow_until > at
$$;
comment on function deliverability.slowed_now is
  'Up to when destinations are slowed down, for who is about to send to them.';
revoke all on function deliverability.slowed_now from public;
grant execute on function deliverability.slowed_now to mailwright_app;

create function deliverability.report_distrust(
  of_delivery uuid, distrusting text, at timestamptz, since timestamptz, enough int, until timestamptz
) returns boolean language plpgsql volatile security definer set search_path = pg_catalog as $$
declare
  reports int;
begin
  insert into deliverability.distrust_reports (delivery_id, destination, reported_at) values (of_delivery, distrusting, at)
  on conflict (delivery_id) do nothing;
  select count(*) into reports from (
    select 1 from deliverability.distrust_reports r
    where r.destination = distrusting and r.reported_at > since limit enough
  ) r;
  return reports >= enough and deliverability.slow_destination(distrusting, at, until);
end $$;
comment on function deliverability.report_distrust is
  'Keeps a report that came to the return path of a mail. Slows the destination down when there are `enough` since `since`; true '
  'when it was not slow before. Whoever got a mail can send a report on it: a single one must not slow all mail to their mailbox '
  'provider down.';
revoke all on function deliverability.report_distrust from public;
grant execute on function deliverability.report_distrust to mailwright_app;
