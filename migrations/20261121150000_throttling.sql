-- Limits of destinations (mailbox providers, or domains), shared by all workers of the installation: mailbox providers
-- judge by the addresses that mail leaves from, which all projects share. So these rows belong to no environment.

-- What may still be sent now. Unlogged: a crash may forget the last second, never a row of the truth.
create unlogged table deliverability.destination_budgets (
  destination text primary key,
  mails double precision not null,
  refilled_at timestamptz not null
) with (fillfactor = 50);

-- Up to when mails that wait for a destination are spread: each line (a campaign, the automations) has its own.
create unlogged table deliverability.destination_lines (
  line text not null,
  destination text not null,
  ends_at timestamptz not null,
  primary key (line, destination)
) with (fillfactor = 50);
create index destination_lines_ended on deliverability.destination_lines (ends_at);

-- Destinations that have refused mail for our reputation.
create table deliverability.slowed_destinations (
  destination text primary key,
  slowed_at timestamptz not null,
  slow_until timestamptz not null
);

alter table deliverability.destination_budgets enable row level security;
alter table deliverability.destination_lines enable row level security;
alter table deliverability.slowed_destinations enable row level security;
create policy system_rows on deliverability.destination_budgets to mailwright_system using (true) with check (true);
create policy system_rows on deliverability.destination_lines to mailwright_system using (true) with check (true);
create policy system_rows on deliverability.slowed_destinations to mailwright_system using (true) with check (true);
grant select, delete on deliverability.destination_budgets, deliverability.destination_lines,
  deliverability.slowed_destinations to mailwright_system;

-- When the `place`-th mail of a line may go that begins at `start`: one a minute while the destination is slowed, then
-- `rate` a second; without a rate all at once.
create function deliverability.line_place(start timestamptz, place int, rate double precision, slow_until timestamptz)
  returns timestamptz language sql immutable set search_path = pg_catalog as $$
  select case
    when place <= s.slow then start + place * interval '1 minute'
    else greatest(start, slow_until) + make_interval(secs => coalesce((place - s.slow) / rate, 0))
  end
  from (select coalesce(greatest(floor(extract(epoch from slow_until - start) / 60), 0), 0)::int as slow) s
$$;

-- Takes mails for destinations out of their budgets, all of a batch at once. `requests` are {destination, wanted, rate,
-- burst, kept}: `rate` mails a second, null where only a slow-down limits; `kept` of the burst are left for others. A
-- destination that is not in the answer has no limit now. `places` are the moments at which to ask again for the others.
-- Callable by the app, which sees none of the rows; nothing is lost when a crash undoes it.
create function deliverability.take_budgets(line_name text, requests jsonb, at timestamptz)
  returns table (destination text, granted int, places timestamptz[], slow_until timestamptz)
  language plpgsql volatile security definer set search_path = pg_catalog set synchronous_commit = off as $$
#variable_conflict use_column
begin
  if not exists (
    select from jsonb_to_recordset(requests) as r(destination text, rate double precision)
    where r.rate is not null
      or exists (select from deliverability.slowed_destinations s where s.destination = r.destination and s.slow_until > at)
  ) then
    return;
  end if;
  insert into deliverability.destination_budgets (destination, mails, refilled_at)
  select r.destination, case when s.destination is null then r.burst else 1 end, at
  from jsonb_to_recordset(requests) as r(destination text, rate double precision, burst double precision)
  left join deliverability.slowed_destinations s on s.destination = r.destination and s.slow_until > at
  where (r.rate is not null or s.destination is not null)
    and not exists (select from deliverability.destination_budgets b where b.destination = r.destination)
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
revoke all on function deliverability.take_budgets from public;
grant execute on function deliverability.take_budgets to mailwright_app;

-- Slows a destination down; true when it was not slow before. All workers are told.
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
  perform pg_notify('mailwright_slow_downs', jsonb_build_object('destination', slowed, 'until', until)::text);
  return true;
end $$;
revoke all on function deliverability.slow_destination from public;
grant execute on function deliverability.slow_destination to mailwright_app, mailwright_system;

-- Mails of campaigns that a new domain has begun on a day of its warm-up, counted from its verification.
create table deliverability.warm_up_days (
  environment_id bigint not null,
  domain_id bigint not null references deliverability.sending_domains on delete cascade,
  starts_at timestamptz not null,
  mails int not null check (mails >= 0),
  primary key (domain_id, starts_at)
) with (fillfactor = 50);
create index warm_up_days_of_environment on deliverability.warm_up_days (environment_id);
call platform.protect('deliverability.warm_up_days', 'select, insert, update');

-- Since when a mail is due, for those that were made to wait: by then its 48 hours of tries begin. Null: since it was made.
alter table messaging.deliveries add column due_since timestamptz;
