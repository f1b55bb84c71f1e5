create schema audience;
comment on schema audience is 'Subscribers: their consents, suppressions, custom fields, segments and imports.';
grant usage on schema audience to mailwright_app, mailwright_system;

create table audience.topics (
  id uuid not null,
  environment_id bigint not null,
  topic_key text not null,
  name text not null,
  description text,
  translations jsonb not null default '{}',
  icon text,
  status text not null check (status in ('ACTIVE', 'INACTIVE', 'ARCHIVED')),
  visibility text not null default 'PUBLIC' check (visibility in ('PUBLIC', 'PRIVATE')),
  priority text check (priority in ('URGENT', 'HIGH', 'MEDIUM', 'LOW')),
  double_opt_in_enabled boolean not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  unique (environment_id, topic_key)
);
comment on table audience.topics is 'What people subscribe to. A deleted topic''s row stays for the consent ledger and for reports.';
comment on column audience.topics.translations is
  'By locale: {"de": {"name": "Neuigkeiten", "description": null}}. Readers with another language get name and description.';
create index topics_newest on audience.topics (environment_id, created_at desc, id desc);
-- The primary keys of tables with indexes on the environment are made last: of indexes that seem as good to it, which these do
-- while the statistics know few rows, the planner takes the newest.
alter table audience.topics add primary key (id, environment_id);

-- The columns that prefixes are searched in collate "C", and are searched by range: under row-level security
-- LIKE and lower() may not use an index (they are not leakproof), comparisons of stored text may.
create table audience.subscribers (
  id uuid not null,
  environment_id bigint not null,
  subscriber_key text not null,
  email text not null,
  email_key text collate "C" not null,
  first_name text,
  first_name_key text collate "C" generated always as (lower(first_name)) stored,
  last_name text,
  last_name_key text collate "C" generated always as (lower(last_name)) stored,
  phone text,
  locale text,
  time_zone text,
  source text not null check (source in ('API', 'IMPORT', 'FORM', 'MANUAL')),
  status text not null check (status in ('SUPPRESSED', 'COMPLAINED', 'BOUNCED', 'ACTIVE', 'PENDING_CONFIRMATION', 'UNSUBSCRIBED')),
  custom_fields jsonb not null default '{}',
  paused_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
comment on table audience.subscribers is
  'People by their e-mail address, which is unique in an environment. Keys come from one sequence a project, which is all '
  'that makes them unique.';
comment on column audience.subscribers.email_key is
  'The address in lower case, its domain as A-labels (RFC 5890): the same for all spellings of a mailbox.';
comment on column audience.subscribers.locale is 'BCP 47, as parseLocale writes it; null: not known.';
comment on column audience.subscribers.time_zone is 'A name of the IANA database; null: not known.';
comment on column audience.subscribers.status is
  'The suppression''s reason, else the best of the consents: no client sets it.';
comment on column audience.subscribers.custom_fields is
  'Values by the field''s key: strings, numbers, booleans, arrays of strings; dates as texts that sort as time does.';
create unique index subscribers_by_address on audience.subscribers (environment_id, email_key) include (created_at, id);
-- Lists: each index holds all that a page is found by, so that only the rows on the page are read.
create index subscribers_newest on audience.subscribers (environment_id, created_at desc, id desc) include (updated_at);
create index subscribers_of_status on audience.subscribers (environment_id, status, created_at desc, id desc)
  include (updated_at);
create index subscribers_changed on audience.subscribers (environment_id, updated_at) include (created_at, id);
create index subscribers_by_first_name on audience.subscribers (environment_id, first_name_key) include (created_at, id)
  where first_name_key is not null;
create index subscribers_by_last_name on audience.subscribers (environment_id, last_name_key) include (created_at, id)
  where last_name_key is not null;
-- The order in which the recipients of a campaign are read.
create index subscribers_in_order on audience.subscribers (environment_id, id);
-- Equality and options of all fields of all projects, by containment: custom_fields @> '{"plan": "pro"}'. Read through
-- audience.scoped_subscribers: row-level security hides it. Ranges are read from the rows, unless an operator indexes one
-- field of one project: docs/custom-fields.md has the plans.
create index subscribers_of_custom_value on audience.subscribers using gin (custom_fields jsonb_path_ops);
alter table audience.subscribers add primary key (id, environment_id);

create table audience.subscriber_events (
  id uuid not null,
  environment_id bigint not null,
  subscriber_id uuid not null,
  name text collate "C" not null,
  properties jsonb not null,
  occurred_at timestamptz not null,
  created_at timestamptz not null,
  foreign key (subscriber_id, environment_id) references audience.subscribers on delete cascade
) partition by range (occurred_at);
comment on table audience.subscriber_events is
  'What subscribers did outside of mail, by the client''s own names, for segments and automations. Partitioned by the month '
  'in which it happened, since rules ask for windows of time.';
-- One person's events of a name in a window; also what the cascade of an erasure goes by.
create index subscriber_events_of_subscriber on audience.subscriber_events (subscriber_id, name, occurred_at);
-- Everybody's events of a name in a window.
create index subscriber_events_named on audience.subscriber_events (environment_id, name, occurred_at) include (subscriber_id);
alter table audience.subscriber_events add primary key (id, occurred_at, environment_id);

-- No foreign keys: the two would cost a consent a third of its time, and a share lock on the topic's row for each. Whoever
-- adds a consent holds the lock of the subscriber's row or has just made it, and whoever erases a subscriber waits for that
-- lock (the trigger remove_traces does the rest); rows of topics are never removed. `check:counters` looks for consents
-- without a subscriber or topic all the same.
create table audience.consents (
  subscriber_id uuid not null,
  topic_id uuid not null,
  environment_id bigint not null,
  status text not null check (status in ('PENDING_CONFIRMATION', 'SUBSCRIBED', 'UNSUBSCRIBED', 'EXPIRED')),
  subscriber_status text not null,
  subscriber_created_at timestamptz not null,
  granted_at timestamptz,
  confirmed_at timestamptz,
  subscribed_at timestamptz,
  revoked_at timestamptz,
  token_expires_at timestamptz
);
comment on table audience.consents is 'The present consent of each subscriber to each topic; its history is the consent ledger.';
comment on column audience.consents.subscriber_status is
  'The subscriber''s status and creation are copied here, so that any page of a topic''s subscribers is read from one index.';
comment on column audience.consents.subscribed_at is
  'Since when mail may be sent. A campaign goes to those who subscribed before its audience was frozen.';
comment on column audience.consents.token_expires_at is 'Of the last request to confirm.';
create index consents_of_topic on audience.consents (environment_id, topic_id, status, subscriber_id) include (subscribed_at);
create index consents_of_topic_newest on audience.consents
  (environment_id, topic_id, subscriber_created_at desc, subscriber_id desc) include (subscriber_status)
  where status in ('SUBSCRIBED', 'PENDING_CONFIRMATION');
create index consents_to_expire on audience.consents (token_expires_at) where status = 'PENDING_CONFIRMATION';
alter table audience.consents add primary key (subscriber_id, topic_id, environment_id);

create sequence audience.consent_ledger_position;
comment on sequence audience.consent_ledger_position is
  'The order in which the changes of one subscriber happened: they are written under the subscriber''s lock, while the '
  'clocks of two machines may disagree.';
grant usage on sequence audience.consent_ledger_position to mailwright_app, mailwright_system;

-- No primary key: nobody asks for an entry by its id, which is made for that entry alone (UUID version 7), and an index
-- costs each new subscriber some 2 µs of the 47 that an import takes.
create table audience.consent_ledger (
  id uuid not null,
  environment_id bigint not null,
  subscriber_id uuid not null,
  topic_id uuid not null,
  position bigint not null default nextval('audience.consent_ledger_position'),
  occurred_at timestamptz not null,
  from_status text,
  to_status text not null,
  actor text not null check (actor in ('API_KEY', 'SUBSCRIBER_PAGE', 'IMPORT', 'ONE_CLICK', 'COMPLAINT', 'BOUNCE', 'OPERATOR',
    'EXPIRY', 'AUTOMATION')),
  actor_id text,
  source text,
  source_url text,
  ip_address text,
  user_agent text,
  consent_text text,
  text_locale text,
  text_version int,
  form_version text,
  message_id text
) partition by range (occurred_at);
comment on table audience.consent_ledger is
  'Every change of a consent with its proof, as a regulator asks for it. Append-only; partitioned by the month of the change.';
comment on column audience.consent_ledger.text_locale is
  'The language of the opt-in mail or page on which the person agreed; text_version is the project''s version of its wording '
  '(access.project_texts), null where it was ours.';
-- By the person alone, whose id is of one environment and grows with time: entries of new subscribers are added at the end of
-- the index, where the page to add to is at hand.
create index consent_ledger_of_subscriber on audience.consent_ledger (subscriber_id, occurred_at);

create table audience.confirmations (
  id uuid not null,
  environment_id bigint not null,
  subscriber_id uuid not null,
  topic_ids uuid[] not null,
  is_repeat boolean not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (id, environment_id),
  foreign key (subscriber_id, environment_id) references audience.subscribers on delete cascade
);
comment on table audience.confirmations is
  'Requests to confirm a subscription (double opt-in): the topics of one grant that wait for the owner of the address.';
comment on column audience.confirmations.is_repeat is 'Asked for again, which is limited by the minute and the day.';
create index confirmations_of_subscriber on audience.confirmations (subscriber_id, created_at);

create table audience.suppressions (
  environment_id bigint not null,
  email_key text collate "C" not null,
  email text not null,
  reason text not null check (reason in ('GLOBAL_UNSUBSCRIBE', 'SPAM_COMPLAINT', 'HARD_BOUNCE')),
  suppressed_at timestamptz not null
);
comment on table audience.suppressions is 'Addresses that get no mail whatever their consents say, of subscribers or not.';
create index suppressions_newest on audience.suppressions (environment_id, suppressed_at desc, email_key desc);
create index suppressions_of_reason on audience.suppressions (environment_id, reason, suppressed_at desc, email_key desc);
alter table audience.suppressions add primary key (environment_id, email_key);

create table audience.erased_suppressions (
  environment_id bigint not null,
  address_digest bytea not null,
  reason text not null check (reason in ('GLOBAL_UNSUBSCRIBE', 'SPAM_COMPLAINT', 'HARD_BOUNCE')),
  suppressed_at timestamptz not null,
  erased_at timestamptz not null,
  primary key (environment_id, address_digest)
);
comment on table audience.erased_suppressions is 'Suppressions of addresses that were erased.';
comment on column audience.erased_suppressions.address_digest is
  'Keyed (HMAC), so that the table alone tells neither the address nor whether one that is guessed is in it.';

create table audience.custom_fields (
  id uuid not null,
  environment_id bigint not null,
  key text collate "C" not null check (key ~ '^[a-z][a-z0-9_]{0,63}$'),
  type text not null check (type in ('TEXT', 'LONG_TEXT', 'NUMBER', 'DECIMAL', 'BOOLEAN', 'DATE', 'DATETIME', 'EMAIL',
    'URL', 'PHONE', 'SELECT', 'MULTI_SELECT')),
  display_name text not null,
  description text,
  is_required boolean not null,
  default_value text,
  options json not null default '[]',
  status text not null check (status in ('ACTIVE', 'ARCHIVED')),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  archived_at timestamptz check ((archived_at is null) = (status = 'ACTIVE')),
  unique (environment_id, key)
);
comment on table audience.custom_fields is
  'What else a project keeps of its subscribers; the values are in audience.subscribers.custom_fields.';
comment on column audience.custom_fields.options is '[{"value": …, "label": …}]: json keeps them as they were given, in their order.';
-- Read with every subscriber, and nearly always empty.
create index custom_fields_archived on audience.custom_fields (environment_id, key) where status = 'ARCHIVED';
alter table audience.custom_fields add primary key (id, environment_id);

create table audience.segments (
  id uuid not null,
  environment_id bigint not null,
  segment_key text not null,
  name text not null,
  description text,
  type text not null check (type in ('STATIC', 'DYNAMIC')),
  status text not null check (status in ('ACTIVE', 'INACTIVE', 'ARCHIVED')),
  rules text check ((rules is null) = (type = 'STATIC')),
  condition_count int not null default 0,
  member_count bigint,
  is_due boolean not null,
  evaluated_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (environment_id, segment_key)
);
comment on table audience.segments is 'Groups of subscribers: STATIC ones are lists, DYNAMIC ones have rules.';
comment on column audience.segments.rules is 'The JSON as it was given.';
comment on column audience.segments.condition_count is 'Of these rules, without those of the segments that they name.';
comment on column audience.segments.member_count is 'Rows of segment_members; of a dynamic segment as of its last evaluation.';
comment on column audience.segments.is_due is 'The rules changed since they were last evaluated.';
create index segments_newest on audience.segments (environment_id, created_at desc, id desc);
create index segments_to_evaluate on audience.segments (evaluated_at) where type = 'DYNAMIC';
alter table audience.segments add primary key (id, environment_id);

create table audience.segment_references (
  segment_id uuid not null,
  used_segment_id uuid not null,
  environment_id bigint not null,
  foreign key (segment_id, environment_id) references audience.segments on delete cascade,
  foreign key (used_segment_id, environment_id) references audience.segments
);
comment on table audience.segment_references is 'Which segments a segment''s rules name.';
create index segment_references_of_used on audience.segment_references (used_segment_id);
create index segment_references_of_environment on audience.segment_references (environment_id);
alter table audience.segment_references add primary key (segment_id, used_segment_id, environment_id);

-- No foreign key to subscribers: it would cost more than the rows, and lock every subscriber that enters. The trigger
-- remove_traces does its work.
create table audience.segment_members (
  subscriber_id uuid not null,
  segment_id uuid not null,
  environment_id bigint not null,
  added_at timestamptz not null,
  primary key (subscriber_id, segment_id, environment_id),
  foreign key (segment_id, environment_id) references audience.segments on delete cascade
);
comment on table audience.segment_members is 'Who is in a segment; in a dynamic one as of its last evaluation.';
create index segment_members_newest on audience.segment_members (segment_id, added_at desc, subscriber_id desc);

create table audience.segment_transitions (
  position bigint generated always as identity,
  written_by xid8 not null default pg_current_xact_id(),
  environment_id bigint not null,
  segment_id uuid not null,
  subscriber_id uuid not null,
  kind text not null check (kind in ('ENTERED', 'LEFT')),
  occurred_at timestamptz not null,
  primary key (position, environment_id)
);
comment on table audience.segment_transitions is
  'Who entered and left a segment. Of a dynamic one: what differs between two evaluations, so the first one has none. Read in '
  'the order of `position`, and only what no running transaction may still precede: '
  'where position > $1 and written_by < pg_snapshot_xmin(pg_current_snapshot()) order by position.';
create index segment_transitions_of_segment on audience.segment_transitions (segment_id, position);
create index segment_transitions_oldest on audience.segment_transitions using brin (occurred_at);

create table audience.frozen_audiences (
  id uuid not null,
  environment_id bigint not null,
  frozen_at timestamptz not null,
  primary key (id, environment_id)
);
comment on table audience.frozen_audiences is
  'Audiences as they were at one moment, kept while they are expanded into deliveries. `id` is the campaign''s.';

create table audience.frozen_audience_members (
  audience_id uuid not null,
  subscriber_id uuid not null,
  environment_id bigint not null,
  primary key (audience_id, subscriber_id, environment_id),
  foreign key (audience_id, environment_id) references audience.frozen_audiences on delete cascade
);
comment on table audience.frozen_audience_members is 'Who is in a frozen audience.';

create table audience.imports (
  id uuid not null,
  environment_id bigint not null,
  status text not null check (status in ('RECEIVING', 'QUEUED', 'IN_PROGRESS', 'COMPLETED', 'FAILED')),
  on_conflict text not null check (on_conflict in ('UPSERT', 'SKIP')),
  topic_keys text[] not null,
  proof jsonb not null,
  columns text[] not null default '{}',
  definitions_digest text,
  total bigint not null default 0,
  created bigint not null default 0,
  updated bigint not null default 0,
  skipped bigint not null default 0,
  failed bigint not null default 0,
  failure_reason text,
  created_at timestamptz not null,
  completed_at timestamptz,
  primary key (id, environment_id)
);
comment on table audience.imports is 'Imports of subscribers.';
comment on column audience.imports.status is 'RECEIVING while the body comes in: the API does not show it yet.';
comment on column audience.imports.proof is 'Of the consent, as the consent ledger keeps it.';
comment on column audience.imports.columns is
  'What the cells of a row are: email, firstName, customFields.plan …; null for a column that is left out.';
comment on column audience.imports.definitions_digest is
  'Of the custom fields that the rows were checked against when they were received.';
create index imports_received on audience.imports (created_at) where status = 'RECEIVING';
create index imports_completed on audience.imports (completed_at) where completed_at is not null;

-- Logged, since the client was told 202: a crash of PostgreSQL must not lose them.
--
-- COPY does not write to a table with row-level security. So it writes to the one partition, to which the app may
-- only add rows, and the trigger refuse_foreign_rows does what a policy would. Everything else goes through the parent and
-- its policies.
create table audience.import_rows (
  import_id uuid not null,
  row_number bigint not null,
  environment_id bigint not null,
  email_key text collate "C",
  email text,
  first_name text,
  last_name text,
  phone text,
  locale text,
  time_zone text,
  custom_fields jsonb,
  cells text not null,
  fault text,
  primary key (import_id, row_number, environment_id)
) partition by list (import_id);
comment on table audience.import_rows is
  'Rows of imports that wait for the worker, which removes them chunk by chunk: a row that is here is not done. They come '
  'checked, so the worker makes new subscribers of the columns from `email` to `custom_fields` without reading one. Those hold '
  'for the custom fields as they were; when these changed, and for subscribers who are there already, it reads `cells`.';
comment on column audience.import_rows.email is 'Null where the row makes no new subscriber as it is.';
comment on column audience.import_rows.cells is 'A JSON array.';
create table audience.import_rows_staged partition of audience.import_rows default;
comment on table audience.import_rows_staged is 'All rows of audience.import_rows: what COPY writes to.';

create function audience.refuse_foreign_rows() returns trigger language plpgsql as $$
begin
  raise exception 'The row is of another environment.' using errcode = 'insufficient_privilege';
end $$;
create trigger refuse_foreign_rows before insert on audience.import_rows_staged for each row
  when (current_user = 'mailwright_app' and new.environment_id is distinct from platform.environment_id())
  execute function audience.refuse_foreign_rows();
comment on function audience.refuse_foreign_rows is 'Keeps the app, which alone adds such rows, to the environment of its scope.';

create table audience.import_errors (
  import_id uuid not null,
  row_number bigint not null,
  environment_id bigint not null,
  email text,
  email_key text collate "C",
  errors jsonb not null,
  foreign key (import_id, environment_id) references audience.imports on delete cascade
);
comment on table audience.import_errors is 'Rows of imports that were refused, and why.';
-- To erase a person from it.
create index import_errors_of_address on audience.import_errors (environment_id, email_key) where email_key is not null;
alter table audience.import_errors add primary key (import_id, row_number, environment_id);

create table audience.counters (
  environment_id bigint not null,
  kind text collate "C" not null
    check (kind in ('SUBSCRIBERS', 'CREATED', 'SUPPRESSIONS', 'SUBSCRIBED', 'PENDING_CONFIRMATION')),
  key text collate "C" not null,
  state text collate "C" not null,
  value bigint not null,
  primary key (environment_id, kind, key, state)
) with (fillfactor = 50);
comment on table audience.counters is
  'Totals of lists and topics, counted as rows are written and never by reading them all. A value is its row here and the '
  'deltas that are not folded into it yet: audience.counter_values.';
comment on column audience.counters.kind is
  'SUBSCRIBERS by status, and those CREATED on a day by status; SUPPRESSIONS by reason; consents that are SUBSCRIBED or '
  'PENDING_CONFIRMATION by topic and by the status of the subscriber.';
comment on column audience.counters.key is 'The id of the topic; the day in UTC, as 2026-11-21; else empty.';
comment on column audience.counters.state is 'The subscriber''s status, or the reason.';

create table audience.counter_deltas (
  environment_id bigint not null,
  kind text collate "C" not null,
  key text collate "C" not null,
  state text collate "C" not null,
  delta bigint not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000, vacuum_truncate = off);
comment on table audience.counter_deltas is
  'Changes of counters. Writers only add rows, so that none waits for another, and a count is exact from the moment in which '
  'a write is committed.';
create index counter_deltas_of_counter on audience.counter_deltas (environment_id, kind, key, state);

create table audience.trigger_watches (
  watcher_id uuid not null,
  environment_id bigint not null,
  kind text collate "C" not null check (kind in ('SUBSCRIBED', 'SEGMENT_ENTERED', 'SEGMENT_LEFT', 'CUSTOM_EVENT')),
  subject text collate "C" not null,
  is_open boolean not null
);
comment on table audience.trigger_watches is
  'Triggers of automations: a topic''s new subscribers, who enters or leaves a segment, an event by its name.';
comment on column audience.trigger_watches.watcher_id is 'The automation''s id.';
comment on column audience.trigger_watches.subject is 'The id of the topic or segment, or the name of the event.';
comment on column audience.trigger_watches.is_open is 'False: nothing new is written; what was written stays.';
create index trigger_watches_of_subject on audience.trigger_watches (environment_id, kind, subject) where is_open;
alter table audience.trigger_watches add primary key (watcher_id, environment_id);

create table audience.recorded_triggers (
  id bigint generated always as identity,
  environment_id bigint not null,
  watcher_id uuid not null,
  subscriber_id uuid not null,
  data jsonb,
  primary key (id, environment_id),
  foreign key (watcher_id, environment_id) references audience.trigger_watches on delete cascade
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000, vacuum_truncate = off);
comment on table audience.recorded_triggers is
  'What triggered an automation for whom: written by the statement that makes it happen, however many people it concerns. The '
  'automation takes its rows and starts the runs in one transaction.';
comment on column audience.recorded_triggers.data is 'The properties of an event.';
create index recorded_triggers_of_watcher on audience.recorded_triggers (watcher_id, id);
create index recorded_triggers_of_subscriber on audience.recorded_triggers (subscriber_id);

create table audience.subscriber_events_earlier partition of audience.subscriber_events
  for values from (minvalue) to (date_trunc('month', now()));
create table audience.consent_ledger_earlier partition of audience.consent_ledger
  for values from (minvalue) to (date_trunc('month', now()));
comment on table audience.subscriber_events_earlier is 'Events of before the first month.';
comment on table audience.consent_ledger_earlier is 'Changes of before the first month.';
select platform.ensure_months('audience.subscriber_events', (now() + interval '6 months')::date),
  platform.ensure_months('audience.consent_ledger', (now() + interval '6 months')::date);

call platform.protect('audience.topics', 'select, insert, update');
call platform.protect('audience.subscribers', 'select, insert, update, delete');
call platform.protect('audience.subscriber_events', 'select, insert');
call platform.protect('audience.consents', 'select, insert, update, delete');
call platform.protect('audience.consent_ledger', 'select, insert');
-- Append-only for everybody but the owner.
revoke update, delete on audience.consent_ledger from mailwright_system;
call platform.protect('audience.confirmations', 'select, insert, update, delete');
call platform.protect('audience.suppressions', 'select, insert, update, delete');
call platform.protect('audience.erased_suppressions', 'select, insert, delete');
call platform.protect('audience.custom_fields', 'select, insert, update');
call platform.protect('audience.segments', 'select, insert, update, delete');
call platform.protect('audience.segment_references', 'select, insert, delete');
call platform.protect('audience.segment_members', 'select, insert, delete');
call platform.protect('audience.segment_transitions', 'select, insert');
call platform.protect('audience.frozen_audiences', 'select, insert, update, delete');
call platform.protect('audience.frozen_audience_members', 'select, insert, delete');
call platform.protect('audience.imports', 'select, insert, update, delete');
call platform.protect('audience.import_rows', 'select, delete');
-- What tells of a person who is erased while the row waits for the worker.
grant update (email_key, email, first_name, last_name, phone, locale, time_zone, custom_fields, cells, fault) on audience.import_rows
  to mailwright_app;
grant insert on audience.import_rows_staged to mailwright_app;
call platform.protect('audience.import_errors', 'select, insert, delete');
call platform.protect('audience.counters', 'select');
call platform.protect('audience.counter_deltas', 'select, insert');
call platform.protect('audience.trigger_watches', 'select, insert, update, delete');
call platform.protect('audience.recorded_triggers', 'select, insert, update, delete');

-- Row-level security lets such a condition use an index only when its operator is proven not to leak, which those of texts
-- and jsonb are not. A view of another role, without a security barrier, still shows the scope's rows alone, and lets the
-- planner do as it does for that role; what could leak through it are operators of a client's own, and clients write no SQL.
create view audience.scoped_subscribers as
  select b.id, b.environment_id, b.email, b.email_key, b.first_name, b.last_name, b.phone, b.locale,
    b.time_zone, b.status, b.source, b.custom_fields, b.paused_until, b.created_at
  from audience.subscribers b where b.environment_id = (select platform.environment_id());
comment on view audience.scoped_subscribers is
  'The scope''s subscribers, for conditions on names, addresses and custom fields. Owned by mailwright_system: '
  'platform.force_policies.';
grant select on audience.scoped_subscribers to mailwright_app;

create view audience.counter_values with (security_invoker = true) as
  select environment_id, kind, key, state, value from audience.counters
  union all
  select environment_id, kind, key, state, delta from audience.counter_deltas;
comment on view audience.counter_values is 'The parts of each counter''s value; whoever reads adds them up.';
grant select on audience.counter_values to mailwright_app, mailwright_system;

create function audience.day_of(at timestamptz) returns text language sql stable parallel safe
  return to_char(at at time zone 'UTC', 'YYYY-MM-DD');

create view audience.recounted_values with (security_invoker = true) as
  select environment_id, kind collate "C" as kind, key collate "C" as key, state collate "C" as state, value
  from (
    select environment_id, 'SUBSCRIBERS' as kind, '' as key, status as state, count(*) as value
    from audience.subscribers group by environment_id, status
    union all
    select environment_id, 'CREATED', audience.day_of(created_at), status, count(*)
    from audience.subscribers group by environment_id, audience.day_of(created_at), status
    union all
    select environment_id, 'SUPPRESSIONS', '', reason, count(*)
    from audience.suppressions group by environment_id, reason
    union all
    select c.environment_id, c.status, c.topic_id::text, b.status, count(*)
    from audience.consents c join audience.subscribers b on b.id = c.subscriber_id and b.environment_id = c.environment_id
    where c.status in ('SUBSCRIBED', 'PENDING_CONFIRMATION')
    group by c.environment_id, c.status, c.topic_id, b.status
  ) n;
comment on view audience.recounted_values is 'The same by counting all rows: what the counters are checked against.';
grant select on audience.recounted_values to mailwright_system;

-- Not by definer's rights: a transaction's role goes with it to the nodes of a cluster, and its environment too.
create function audience.live_subscribers_of_tenant() returns bigint language plpgsql as $$
declare
  own text := current_setting('mailwright.environment_id');
  environment bigint;
  counted bigint;
  total bigint := 0;
begin
  for environment in select * from access.live_environments_of_tenant() loop
    execute format('set local mailwright.environment_id = %L', environment);
    select coalesce(sum(v.value), 0) into counted
    from audience.counter_values v where v.environment_id = environment and v.kind = 'SUBSCRIBERS';
    total := total + counted;
  end loop;
  execute format('set local mailwright.environment_id = %L', own);
  return total;
end $$;
comment on function audience.live_subscribers_of_tenant is
  'How many subscribers the scope''s tenant has in the live environments of all its projects, which a plan counts together. '
  'It looks into one after the other, since a scope shows the rows of one environment, and comes back.';
revoke all on function audience.live_subscribers_of_tenant from public;
grant execute on function audience.live_subscribers_of_tenant to mailwright_app;

create function audience.reserve_subscribers(wanted int, most bigint, room bigint) returns bigint
  language plpgsql as $$
declare
  limit_lock bigint := hashtextextended('subscribers of tenant ' || platform.tenant_id(), 0);
begin
  if most > room then
    begin
      perform pg_advisory_xact_lock_shared(limit_lock);
      if audience.live_subscribers_of_tenant() + room < most then return wanted; end if;
      -- what is undone with this block is the lock
      raise exception using errcode = 'MW001';
    exception when sqlstate 'MW001' then null;
    end;
  end if;
  perform pg_advisory_xact_lock(limit_lock);
  return least(wanted, greatest(0, most - audience.live_subscribers_of_tenant()));
end $$;
comment on function audience.reserve_subscribers is
  'How many of `wanted` new subscribers the caller''s transaction may make, where the tenant may have `most`; others near the '
  'limit wait until it ends. Further than `room` from it they are made side by side: their lock is shared, taken before they '
  'count, and given back before one waits to have it alone. Each step sees what was committed before it.';
revoke all on function audience.reserve_subscribers from public;
grant execute on function audience.reserve_subscribers to mailwright_app;

-- As convert_to, which PostgreSQL calls stable though its UTF8 never changes: Citus takes nothing stable of a row in a DELETE.
create function audience.utf8(value text) returns bytea language sql immutable strict parallel safe
  return convert_to(value, 'UTF8');

-- PostgreSQL 18 has it, the same on every system. Before that upper and then lower case comes close, and 17 has it at least
-- the same on every system; text-folding.ts is what 18 does, in memory.
do $do$
declare
  builtin text := case when exists (select 1 from pg_collation where collname = 'pg_c_utf8') then ' collate pg_catalog.pg_c_utf8' else '' end;
  fold text := case when to_regprocedure('pg_catalog.casefold(text)') is not null
    then format('casefold(value%s)', builtin) else format('lower(upper(value%1$s)%1$s)', builtin) end;
begin
  execute format(
    'create function audience.folded(value text) returns text language sql immutable parallel safe return %s', fold);
end $do$;
comment on function audience.folded is
  'What texts are compared by in rules: Unicode''s simple case folding, character by character (ς and σ are one letter, ß is '
  'not ss).';

-- A connection plans the statements of the triggers below once, perhaps while the tables are empty. So they look rows up by
-- an index whatever the statistics say, and never join the changed rows with each other. They run as whoever writes, so that
-- row-level security holds for them too. Each reads what was changed into variables first, and then names one environment in each
-- statement: Citus runs a trigger on the node of the rows, and finds no changed rows in a statement on another table.

create function audience.count_subscribers() returns trigger language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  moved record;
  counted record;
begin
  if tg_op = 'INSERT' then
    for counted in
      select environment_id, 'SUBSCRIBERS' as kind, '' as key, status, count(*) as delta
      from rows_after group by environment_id, status
      union all
      select environment_id, 'CREATED', audience.day_of(created_at), status, count(*)
      from rows_after group by environment_id, audience.day_of(created_at), status
    loop
      insert into audience.counter_deltas (environment_id, kind, key, state, delta)
      values (counted.environment_id, counted.kind, counted.key, counted.status, counted.delta);
    end loop;
    return null;
  end if;
  if tg_op = 'DELETE' then
    for counted in
      select environment_id, 'SUBSCRIBERS' as kind, '' as key, status, -count(*) as delta
      from rows_before group by environment_id, status
      union all
      select environment_id, 'CREATED', audience.day_of(created_at), status, -count(*)
      from rows_before group by environment_id, audience.day_of(created_at), status
    loop
      insert into audience.counter_deltas (environment_id, kind, key, state, delta)
      values (counted.environment_id, counted.kind, counted.key, counted.status, counted.delta);
    end loop;
    return null;
  end if;
  for moved in
    select environment_id, array_agg(id) as ids, array_agg(status) as statuses, array_agg(created_at) as created
    from (
      select environment_id, id, max(status) filter (where is_after) as status, max(created_at) filter (where is_after) as created_at
      from (
        select environment_id, id, status, created_at, false as is_after from rows_before
        union all
        select environment_id, id, status, created_at, true from rows_after
      ) r
      group by environment_id, id having min(status) <> max(status) or min(created_at) <> max(created_at)
    ) m
    group by environment_id
  loop
    update audience.consents c set subscriber_status = m.status, subscriber_created_at = m.created_at
    from unnest(moved.ids, moved.statuses, moved.created) as m(id, status, created_at)
    where c.environment_id = moved.environment_id and c.subscriber_id = m.id;
  end loop;
  if not found then return null; end if;
  for counted in
    select environment_id, kind, key, state, sum(sign) as delta from (
      select environment_id, 'SUBSCRIBERS' as kind, '' as key, status as state, -1 as sign from rows_before
      union all
      select environment_id, 'SUBSCRIBERS', '', status, 1 from rows_after
      union all
      select environment_id, 'CREATED', audience.day_of(created_at), status, -1 from rows_before
      union all
      select environment_id, 'CREATED', audience.day_of(created_at), status, 1 from rows_after
    ) r
    group by environment_id, kind, key, state having sum(sign) <> 0
  loop
    insert into audience.counter_deltas (environment_id, kind, key, state, delta)
    values (counted.environment_id, counted.kind, counted.key, counted.state, counted.delta);
  end loop;
  return null;
end $$;
comment on function audience.count_subscribers is
  'Writes one delta for each counter that a statement changes, however many rows it writes; copies a changed status to the '
  'subscriber''s consents.';
create trigger count_inserted after insert on audience.subscribers
  referencing new table as rows_after for each statement execute function audience.count_subscribers();
create trigger count_updated after update on audience.subscribers
  referencing old table as rows_before new table as rows_after
  for each statement execute function audience.count_subscribers();
create trigger count_deleted after delete on audience.subscribers
  referencing old table as rows_before for each statement execute function audience.count_subscribers();

create function audience.count_consents() returns trigger language plpgsql as $$
declare
  counted record;
begin
  if tg_op = 'INSERT' then
    for counted in
      select environment_id, status, topic_id::text as key, subscriber_status, count(*) as delta
      from rows_after where status in ('SUBSCRIBED', 'PENDING_CONFIRMATION')
      group by environment_id, status, topic_id, subscriber_status
    loop
      insert into audience.counter_deltas (environment_id, kind, key, state, delta)
      values (counted.environment_id, counted.status, counted.key, counted.subscriber_status, counted.delta);
    end loop;
  elsif tg_op = 'DELETE' then
    for counted in
      select environment_id, status, topic_id::text as key, subscriber_status, -count(*) as delta
      from rows_before where status in ('SUBSCRIBED', 'PENDING_CONFIRMATION')
      group by environment_id, status, topic_id, subscriber_status
    loop
      insert into audience.counter_deltas (environment_id, kind, key, state, delta)
      values (counted.environment_id, counted.status, counted.key, counted.subscriber_status, counted.delta);
    end loop;
  else
    for counted in
      select environment_id, status, topic_id::text as key, subscriber_status, sum(sign) as delta from (
        select environment_id, status, topic_id, subscriber_status, -1 as sign from rows_before
        union all
        select environment_id, status, topic_id, subscriber_status, 1 from rows_after
      ) r
      where status in ('SUBSCRIBED', 'PENDING_CONFIRMATION')
      group by environment_id, status, topic_id, subscriber_status having sum(sign) <> 0
    loop
      insert into audience.counter_deltas (environment_id, kind, key, state, delta)
      values (counted.environment_id, counted.status, counted.key, counted.subscriber_status, counted.delta);
    end loop;
  end if;
  return null;
end $$;
create trigger count_inserted after insert on audience.consents
  referencing new table as rows_after for each statement execute function audience.count_consents();
create trigger count_updated after update on audience.consents
  referencing old table as rows_before new table as rows_after
  for each statement execute function audience.count_consents();
create trigger count_deleted after delete on audience.consents
  referencing old table as rows_before for each statement execute function audience.count_consents();

create function audience.count_suppressions() returns trigger language plpgsql as $$
declare
  counted record;
begin
  if tg_op = 'INSERT' then
    for counted in select environment_id, reason, count(*) as delta from rows_after group by environment_id, reason loop
      insert into audience.counter_deltas (environment_id, kind, key, state, delta)
      values (counted.environment_id, 'SUPPRESSIONS', '', counted.reason, counted.delta);
    end loop;
  elsif tg_op = 'DELETE' then
    for counted in select environment_id, reason, -count(*) as delta from rows_before group by environment_id, reason loop
      insert into audience.counter_deltas (environment_id, kind, key, state, delta)
      values (counted.environment_id, 'SUPPRESSIONS', '', counted.reason, counted.delta);
    end loop;
  else
    for counted in
      select environment_id, reason, sum(sign) as delta from (
        select environment_id, reason, -1 as sign from rows_before
        union all
        select environment_id, reason, 1 from rows_after
      ) r
      group by environment_id, reason having sum(sign) <> 0
    loop
      insert into audience.counter_deltas (environment_id, kind, key, state, delta)
      values (counted.environment_id, 'SUPPRESSIONS', '', counted.reason, counted.delta);
    end loop;
  end if;
  return null;
end $$;
create trigger count_inserted after insert on audience.suppressions
  referencing new table as rows_after for each statement execute function audience.count_suppressions();
create trigger count_updated after update on audience.suppressions
  referencing old table as rows_before new table as rows_after
  for each statement execute function audience.count_suppressions();
create trigger count_deleted after delete on audience.suppressions
  referencing old table as rows_before for each statement execute function audience.count_suppressions();

create function audience.describe_consent() returns trigger language plpgsql set enable_seqscan = off as $$
begin
  select b.status, b.created_at into new.subscriber_status, new.subscriber_created_at
  from audience.subscribers b where b.environment_id = new.environment_id and b.id = new.subscriber_id;
  return new;
end $$;
comment on function audience.describe_consent is
  'Copies the subscriber''s status to a new consent, unless the statement brings it, as those do that add thousands. Whoever '
  'adds a consent holds the lock of the subscriber''s row, or has just made it: the status stays what it is.';
create trigger describe_consent before insert on audience.consents
  for each row when (new.subscriber_status is null) execute function audience.describe_consent();

create function audience.remove_traces() returns trigger language plpgsql set enable_seqscan = off as $$
declare
  gone record;
begin
  for gone in select environment_id, array_agg(id) as ids from erased group by environment_id loop
    delete from audience.consents where environment_id = gone.environment_id and subscriber_id = any (gone.ids);
    delete from audience.recorded_triggers where environment_id = gone.environment_id and subscriber_id = any (gone.ids);
    -- The segments before their members, as an evaluation does.
    perform from audience.segments s
    where s.environment_id = gone.environment_id and s.id in (
      select m.segment_id from audience.segment_members m
      where m.environment_id = gone.environment_id and m.subscriber_id = any (gone.ids)
    )
    order by s.id for no key update;
    with left_now as (
      delete from audience.segment_members m
      where m.environment_id = gone.environment_id and m.subscriber_id = any (gone.ids) returning m.segment_id
    )
    update audience.segments s set member_count = s.member_count - l.quantity
    from (select segment_id, count(*) as quantity from left_now group by segment_id) l
    where s.environment_id = gone.environment_id and s.id = l.segment_id;
  end loop;
  return null;
end $$;
comment on function audience.remove_traces is
  'Removes the consents of who is erased, what they had triggered, and takes them out of all segments and their counts.';
create trigger remove_traces after delete on audience.subscribers
  referencing old table as erased for each statement execute function audience.remove_traces();

create function audience.depersonalise_ledger() returns trigger language plpgsql security definer
  set search_path = pg_catalog set enable_seqscan = off as $$
declare
  gone record;
begin
  for gone in select environment_id, array_agg(id) as ids from erased group by environment_id loop
    update audience.consent_ledger
    set source_url = null, ip_address = null, user_agent = null, consent_text = null
    where environment_id = gone.environment_id and subscriber_id = any (gone.ids);
  end loop;
  return null;
end $$;
comment on function audience.depersonalise_ledger is
  'The one change of the consent ledger: it removes what tells of who is erased. That a consent to a topic was given and taken '
  'back, when and how, stays.';
create trigger depersonalise_ledger after delete on audience.subscribers
  referencing old table as erased for each statement execute function audience.depersonalise_ledger();

create function audience.record_triggers(of_environment bigint, of_kind text, of_subject text, subscribers uuid[], data jsonb[])
  returns void language plpgsql set enable_seqscan = off as $$
begin
  insert into audience.recorded_triggers (environment_id, watcher_id, subscriber_id, data)
  select w.environment_id, w.watcher_id, s.id, s.data
  from audience.trigger_watches w cross join unnest(subscribers, data) as s(id, data)
  where w.environment_id = of_environment and w.kind = of_kind and w.subject = of_subject and w.is_open;
end $$;
comment on function audience.record_triggers is
  'Triggers the automations that wait for what happened to these people. Called by the triggers below, as whoever writes.';

create function audience.record_subscribed() returns trigger language plpgsql as $$
declare
  subscribed record;
begin
  if tg_op = 'INSERT' then
    for subscribed in
      select environment_id, topic_id, array_agg(subscriber_id) as ids from rows_after where status = 'SUBSCRIBED'
      group by environment_id, topic_id
    loop
      perform audience.record_triggers(subscribed.environment_id, 'SUBSCRIBED', subscribed.topic_id::text, subscribed.ids, null);
    end loop;
  else
    for subscribed in
      select environment_id, topic_id, array_agg(subscriber_id) as ids
      -- As a set, which is sorted or hashed: a join might compare them row by row.
      from (
        select environment_id, subscriber_id, topic_id from rows_after where status = 'SUBSCRIBED'
        except
        select environment_id, subscriber_id, topic_id from rows_before where status = 'SUBSCRIBED'
      ) a
      group by environment_id, topic_id
    loop
      perform audience.record_triggers(subscribed.environment_id, 'SUBSCRIBED', subscribed.topic_id::text, subscribed.ids, null);
    end loop;
  end if;
  return null;
end $$;
comment on function audience.record_subscribed is 'Triggers the automations that wait for new subscribers of a topic.';
create trigger record_triggers_inserted after insert on audience.consents
  referencing new table as rows_after for each statement execute function audience.record_subscribed();
create trigger record_triggers_updated after update on audience.consents
  referencing old table as rows_before new table as rows_after
  for each statement execute function audience.record_subscribed();

create function audience.record_transitions() returns trigger language plpgsql as $$
declare
  moved record;
begin
  for moved in
    select environment_id, kind, segment_id, array_agg(subscriber_id) as ids from rows_after
    group by environment_id, kind, segment_id
  loop
    perform audience.record_triggers(moved.environment_id, 'SEGMENT_' || moved.kind, moved.segment_id::text, moved.ids, null);
  end loop;
  return null;
end $$;
comment on function audience.record_transitions is 'Triggers the automations that wait for who enters or leaves a segment.';
create trigger record_triggers_inserted after insert on audience.segment_transitions
  referencing new table as rows_after for each statement execute function audience.record_transitions();

create function audience.record_events() returns trigger language plpgsql as $$
declare
  happened record;
begin
  for happened in
    select environment_id, name, array_agg(subscriber_id) as ids, array_agg(properties) as data from rows_after
    group by environment_id, name
  loop
    perform audience.record_triggers(happened.environment_id, 'CUSTOM_EVENT', happened.name, happened.ids, happened.data);
  end loop;
  return null;
end $$;
comment on function audience.record_events is 'Triggers the automations that wait for an event.';
create trigger record_triggers_inserted after insert on audience.subscriber_events
  referencing new table as rows_after for each statement execute function audience.record_events();
