-- Groups of subscribers: STATIC ones are lists, DYNAMIC ones have rules.

-- How texts are compared: by Unicode's simple case folding, character by character (ς and σ are one letter, ß is
-- not ss). PostgreSQL 18 has it, the same on every system. Before that upper and then lower case comes close, and
-- 17 has it at least the same on every system; text-folding.ts is what 18 does, in memory.
do $do$
declare
  builtin text := case when exists (select from pg_collation where collname = 'pg_c_utf8') then ' collate pg_catalog.pg_c_utf8' else '' end;
  fold text := case when to_regprocedure('pg_catalog.casefold(text)') is not null
    then format('casefold(value%s)', builtin) else format('lower(upper(value%1$s)%1$s)', builtin) end;
begin
  execute format(
    'create function audience.folded(value text) returns text language sql immutable parallel safe return %s', fold);
end $do$;

-- The scope's subscribers for conditions on names, addresses and custom fields. Row-level security lets such a
-- condition use an index only when its operator is proven not to leak, which those of texts and jsonb are not.
-- A view of the owner's, without a security barrier, still shows the scope's rows alone, and lets the planner do
-- as it does for the owner; what could leak through it are operators of a client's own, and clients write no SQL.
create view audience.scoped_subscribers as
  select b.id, b.environment_id, b.email, b.email_key, b.first_name, b.last_name, b.phone, b.status, b.source,
    b.custom_fields, b.paused_until, b.created_at
  from audience.subscribers b where b.environment_id = (select platform.environment_id());
grant select on audience.scoped_subscribers to mailwright_app;

create table audience.segments (
  id uuid primary key,
  environment_id bigint not null,
  segment_key text not null,
  name text not null,
  description text,
  type text not null check (type in ('STATIC', 'DYNAMIC')),
  status text not null check (status in ('ACTIVE', 'INACTIVE', 'ARCHIVED')),
  -- the JSON as it was given
  rules text check ((rules is null) = (type = 'STATIC')),
  -- conditions of the rules themselves, without those of the segments that they name
  condition_count int not null default 0,
  -- rows of segment_members; of a dynamic one as of its last evaluation
  member_count bigint,
  evaluated_at timestamptz,
  -- the rules changed since they were last evaluated
  is_due boolean not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (environment_id, segment_key)
);
create index segments_newest on audience.segments (environment_id, created_at desc, id desc);
create index segments_to_evaluate on audience.segments (evaluated_at) where type = 'DYNAMIC';

-- Which segments a segment's rules name.
create table audience.segment_references (
  segment_id uuid not null references audience.segments on delete cascade,
  used_segment_id uuid not null references audience.segments,
  environment_id bigint not null,
  primary key (segment_id, used_segment_id)
);
create index segment_references_of_used on audience.segment_references (used_segment_id);
create index segment_references_of_environment on audience.segment_references (environment_id);

-- No foreign key to subscribers: it would cost more than the rows, and lock every subscriber that enters.
-- The trigger below does its work.
create table audience.segment_members (
  subscriber_id uuid not null,
  segment_id uuid not null references audience.segments on delete cascade,
  environment_id bigint not null,
  added_at timestamptz not null,
  primary key (subscriber_id, segment_id)
);
create index segment_members_newest on audience.segment_members (segment_id, added_at desc, subscriber_id desc);

-- Who entered and left, for what waits for it. Of a dynamic segment: what differs between two evaluations, so the
-- first one has none. Read in the order of `position`, and only what no running transaction may still precede:
--   where position > $1 and written_by < pg_snapshot_xmin(pg_current_snapshot()) order by position
create table audience.segment_transitions (
  position bigint generated always as identity primary key,
  written_by xid8 not null default pg_current_xact_id(),
  environment_id bigint not null,
  segment_id uuid not null,
  subscriber_id uuid not null,
  kind text not null check (kind in ('ENTERED', 'LEFT')),
  occurred_at timestamptz not null
);
create index segment_transitions_of_segment on audience.segment_transitions (segment_id, position);
create index segment_transitions_oldest on audience.segment_transitions using brin (occurred_at);

-- An audience as it was at one moment, kept while it is walked. `id` is its walker's: the campaign's.
create table audience.frozen_audiences (
  id uuid primary key,
  environment_id bigint not null,
  frozen_at timestamptz not null
);
create table audience.frozen_audience_members (
  audience_id uuid not null references audience.frozen_audiences on delete cascade,
  subscriber_id uuid not null,
  environment_id bigint not null,
  primary key (audience_id, subscriber_id)
);

call platform.protect('audience.segments', 'select, insert, update, delete');
call platform.protect('audience.segment_references', 'select, insert, delete');
call platform.protect('audience.segment_members', 'select, insert, delete');
call platform.protect('audience.segment_transitions', 'select, insert');
call platform.protect('audience.frozen_audiences', 'select, insert, update, delete');
call platform.protect('audience.frozen_audience_members', 'select, insert, delete');

-- Whoever is erased is in no segment any more, nor counted in one.
create function audience.leave_segments() returns trigger language plpgsql as $$
begin
  -- The segments before their members, as an evaluation does.
  perform from audience.segments s
  where s.id in (select m.segment_id from audience.segment_members m join erased e on m.subscriber_id = e.id)
  order by s.id for no key update;
  with gone as (
    delete from audience.segment_members m using erased e where m.subscriber_id = e.id returning m.segment_id
  )
  update audience.segments s set member_count = s.member_count - g.quantity
  from (select segment_id, count(*) as quantity from gone group by segment_id) g
  where s.id = g.segment_id;
  return null;
end $$;
create trigger leave_segments after delete on audience.subscribers
  referencing old table as erased for each statement execute function audience.leave_segments();

-- What people did with mail, with what rules ask for: opens and clicks, and the link of a click.
alter table messaging.delivery_events
  add column url text,
  drop constraint delivery_events_type_check,
  add constraint delivery_events_type_check
    check (type in ('OPENED', 'CLICKED', 'UNSUBSCRIBED', 'COMPLAINED', 'BOUNCED'));
-- everybody's events of a type in a window
create index delivery_events_in_window on messaging.delivery_events (environment_id, type, occurred_at)
  include (subscriber_id, campaign_id);
-- Mails are sent nearly in the order of their rows: a summary finds a window and costs next to nothing to keep.
create index deliveries_sent on messaging.deliveries using brin (sent_at);
