create schema messaging;
comment on schema messaging is 'Campaigns and automations: what is sent, to whom, and what became of it.';
grant usage on schema messaging to mailwright_app, mailwright_system;

create table messaging.campaigns (
  id uuid not null,
  environment_id bigint not null,
  campaign_key text not null,
  name text not null,
  subject text not null,
  preview_text text,
  from_name text,
  from_email text,
  reply_to text,
  content_json text,
  content_text text,
  translations jsonb not null default '{}',
  topic_ids uuid[] not null default '{}',
  segment_ids uuid[] not null default '{}',
  send_strategy text check (send_strategy in ('DRAFT', 'IMMEDIATE', 'SCHEDULED')),
  ambiguous_policy text not null default 'RESEND' check (ambiguous_policy in ('RESEND', 'HOLD')),
  status text not null check (status in ('DRAFT', 'SCHEDULED', 'QUEUED_FOR_SENDING', 'SENDING', 'PAUSED', 'SENT', 'CANCELLED', 'FAILED', 'ARCHIVED')),
  failure_reason text,
  pre_send_score int check (pre_send_score between 0 and 100),
  pre_send_status text check (pre_send_status in ('PENDING', 'PASSED', 'WARNING', 'FAILED')),
  estimated_recipient_count bigint,
  estimated_at timestamptz,
  scheduled_at timestamptz,
  scheduled_at_local text,
  queued_at timestamptz,
  audience_at timestamptz,
  expansion_cursor uuid,
  expanded_at timestamptz,
  expanded_emails bigint not null default 0,
  usage_period timestamptz,
  reserved_emails bigint not null default 0,
  closing_since timestamptz,
  retry_from timestamptz,
  retry_emails bigint not null default 0,
  completed_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  unique (environment_id, campaign_key)
);
comment on table messaging.campaigns is 'One mail to all subscribers of topics and segments.';
comment on column messaging.campaigns.ambiguous_policy is
  'What to do when a body was handed over and no reply came: send once more with the same Message-ID, or hold.';
comment on column messaging.campaigns.estimated_at is 'As of when estimated_recipient_count was counted.';
comment on column messaging.campaigns.translations is
  'By locale: subject, preview_text, content_json, content_text. Readers with another language get the campaign''s own.';
comment on column messaging.campaigns.scheduled_at_local is
  'Each recipient gets it when it is that time where they are; scheduled_at is then the first of those moments.';
comment on column messaging.campaigns.queued_at is
  'The moment of the first `send`: it names the partition of the deliveries, so that a campaign which is sent again after it '
  'failed reaches nobody twice.';
comment on column messaging.campaigns.audience_at is 'The moment of the last `send`: the audience is frozen at it.';
comment on column messaging.campaigns.expansion_cursor is
  'The last subscriber of the audience who has a delivery; expanded_at says when all had one.';
comment on column messaging.campaigns.usage_period is
  'The billing period whose e-mails are reserved for the campaign; null when they are not metered.';
comment on column messaging.campaigns.closing_since is
  'Since when the worker has to end the deliveries that are still open; null when none is.';
comment on column messaging.campaigns.retry_from is
  'The moment of `retry-failed` while its deliveries are put back; retry_emails is what is reserved for those to come.';
comment on column messaging.campaigns.deleted_at is
  'Deleted after mails went out: the API does not show it, but the links of its mails go on working.';
create index campaigns_newest on messaging.campaigns (environment_id, created_at desc, id desc);
-- What the scheduler asks for, twice a second.
create index campaigns_scheduled on messaging.campaigns (scheduled_at) where status = 'SCHEDULED';
create index campaigns_under_way on messaging.campaigns (status) where status in ('QUEUED_FOR_SENDING', 'SENDING');
-- The campaigns that a project's own average is taken from.
create index campaigns_queued on messaging.campaigns (environment_id, queued_at desc) where queued_at is not null;
-- The campaigns whose first report is due.
create index campaigns_sent on messaging.campaigns (completed_at) where status in ('SENT', 'ARCHIVED');
alter table messaging.campaigns add primary key (id, environment_id);

create table messaging.campaign_tests (
  id uuid not null,
  environment_id bigint not null,
  campaign_id uuid not null,
  emails int not null check (emails > 0),
  created_at timestamptz not null,
  foreign key (campaign_id, environment_id) references messaging.campaigns on delete cascade
);
comment on table messaging.campaign_tests is 'Requests for test mails. A delivery of the kind TEST has the id of one as source.';
create index campaign_tests_newest on messaging.campaign_tests (environment_id, created_at);
create index campaign_tests_of_campaign on messaging.campaign_tests (campaign_id);
alter table messaging.campaign_tests add primary key (id, environment_id);

create table messaging.automations (
  id uuid not null,
  number bigint generated always as identity,
  environment_id bigint not null,
  automation_key text not null,
  name text not null,
  description text,
  status text not null check (status in ('DRAFT', 'ACTIVE', 'PAUSED', 'ARCHIVED')),
  trigger_type text check (trigger_type in ('subscriber_joins_list', 'segment_entered', 'segment_left', 'custom_event', 'manual')),
  trigger_topic_id uuid,
  nodes text,
  edges text,
  node_count int,
  version_id bigint,
  is_revised boolean not null default true,
  is_closing boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  unique (environment_id, automation_key),
  unique (number, environment_id)
);
comment on table messaging.automations is 'What happens to people after something happened to them, as its author edits it.';
comment on column messaging.automations.number is 'What its runs refer to: half as long as the id.';
comment on column messaging.automations.nodes is 'The JSON as it was given.';
comment on column messaging.automations.version_id is 'The version that people enter; null before the first activation.';
comment on column messaging.automations.is_revised is 'The author has changed it since that version.';
comment on column messaging.automations.is_closing is 'Archived, and its active runs are still to be ended.';
comment on column messaging.automations.deleted_at is
  'Deleted after people went through it: the API does not show it, but the links of its mails go on working.';
create index automations_newest on messaging.automations (environment_id, created_at desc, id desc) where deleted_at is null;
create index automations_active on messaging.automations (id) where status = 'ACTIVE';
create index automations_closing on messaging.automations (id) where is_closing;
alter table messaging.automations add primary key (id, environment_id);

create table messaging.automation_versions (
  id bigint generated always as identity,
  environment_id bigint not null,
  automation_id uuid not null,
  version int not null,
  trigger_type text not null,
  trigger_topic_id uuid,
  nodes text not null,
  edges text not null,
  mail_topic_ids uuid[] not null,
  topic_ids uuid[] not null,
  segment_ids uuid[] not null,
  created_at timestamptz not null,
  primary key (id, environment_id),
  unique (automation_id, version, environment_id),
  foreign key (automation_id, environment_id) references messaging.automations on delete cascade
);
comment on table messaging.automation_versions is
  'Automations as they were activated. Never changed, so that people go on in the one that they entered.';
comment on column messaging.automation_versions.mail_topic_ids is
  'By the place of the node, which begins with 1: the topic that its mail is for; null where it sends none.';
comment on column messaging.automation_versions.topic_ids is 'The other topics that it needs; segment_ids are its segments.';

-- The order of the columns saves room for a tenth of the rows.
create table messaging.automation_runs (
  environment_id bigint not null,
  automation_number bigint not null,
  version_id bigint not null,
  wake_at timestamptz,
  entered_at timestamptz not null,
  finished_at timestamptz,
  id uuid not null,
  subscriber_id uuid,
  position smallint not null,
  attempts smallint not null default 0,
  is_waiting boolean not null default false,
  is_calling boolean not null default false,
  status text not null default 'ACTIVE' check (status in ('ACTIVE', 'COMPLETED', 'CONVERTED', 'FAILED', 'CANCELLED')),
  primary key (id, environment_id),
  check ((wake_at is null) = (status <> 'ACTIVE'))
) with (fillfactor = 90);
comment on table messaging.automation_runs is 'One person''s way through an automation. While it waits it is no more than this row.';
comment on column messaging.automation_runs.wake_at is 'When there is something to do again; null when it has ended.';
comment on column messaging.automation_runs.id is 'Its last octet is 0: messaging.step_id.';
comment on column messaging.automation_runs.subscriber_id is 'Null when the person was erased.';
comment on column messaging.automation_runs.position is 'The node that comes next, by its place in the version''s list.';
comment on column messaging.automation_runs.is_waiting is 'It has begun the delay at its node, and goes on at `wake_at`.';
comment on column messaging.automation_runs.is_calling is
  'It is at a node that calls somebody else''s server, for which no other run has to wait.';
create index automation_runs_due on messaging.automation_runs (version_id, is_calling, wake_at) where wake_at is not null;
create index automation_runs_of_subscriber on messaging.automation_runs (subscriber_id, automation_number)
  where subscriber_id is not null;
create index automation_runs_newest on messaging.automation_runs (automation_number, id);

create table messaging.automation_run_data (
  run_id uuid not null,
  environment_id bigint not null,
  data jsonb not null,
  primary key (run_id, environment_id)
);
comment on table messaging.automation_run_data is 'What a run began with: an event''s properties, or what the client said.';

create table messaging.automation_steps (
  environment_id bigint not null,
  at timestamptz not null,
  entered_on date not null,
  position smallint not null,
  run_id uuid not null,
  status text not null check (status in ('DONE', 'SKIPPED', 'FAILED')),
  detail text,
  primary key (run_id, position, entered_on, environment_id)
) partition by range (entered_on);
comment on table messaging.automation_steps is
  'Each step that a run took, once. Partitioned by the month in which the run began, which is the same for all its steps, so '
  'that the key holds across partitions.';

create table messaging.automation_counters (
  automation_number bigint not null,
  writer smallint not null,
  environment_id bigint not null,
  entered bigint not null default 0,
  completed bigint not null default 0,
  ended bigint not null default 0,
  primary key (automation_number, writer, environment_id)
) with (fillfactor = 50);
comment on table messaging.automation_counters is 'How many runs began and ended, counted by the statements that let them.';
comment on column messaging.automation_counters.writer is
  'A number of the connection''s, so that connections do not wait for each other''s commits; whoever reads adds the rows up.';
comment on column messaging.automation_counters.completed is 'Through to the end, or to a goal.';
comment on column messaging.automation_counters.ended is 'In any other way.';

create table messaging.automation_secrets (
  environment_id bigint primary key,
  project_id bigint not null,
  secret text not null
);
comment on table messaging.automation_secrets is
  'What the webhooks of an environment''s automations are signed with, once anybody asked for it.';
comment on column messaging.automation_secrets.project_id is 'The project that the secret is encrypted for.';

create table messaging.deliveries (
  id uuid not null,
  queued_on date not null,
  environment_id bigint not null,
  kind text not null check (kind in ('OPT_IN', 'CAMPAIGN', 'AUTOMATION', 'TEST')),
  source_id uuid not null,
  subscriber_id uuid,
  address text not null,
  address_key text not null,
  locale text,
  message_id text not null,
  state text not null check (state in ('PENDING', 'CLAIMED', 'SENDING', 'SENT', 'DEFERRED', 'FAILED', 'AMBIGUOUS', 'SKIPPED', 'CANCELLED')),
  reason text,
  last_error text,
  lease_token uuid,
  lease_until timestamptz,
  lease_epoch bigint,
  attempt int not null default 0,
  next_attempt_at timestamptz not null,
  due_since timestamptz,
  possible_duplicate boolean not null default false,
  sent_at timestamptz,
  bounced_at timestamptz,
  bounce_type text check (bounce_type in ('HARD', 'SOFT')),
  bounce_class text check (bounce_class in ('hard', 'mailbox', 'policy', 'sender', 'content', 'network', 'unknown')),
  relay_key text,
  provider_message_id text,
  created_at timestamptz not null,
  finished_at timestamptz,
  unique (source_id, subscriber_id, queued_on, environment_id),
  unique (source_id, address_key, queued_on, environment_id)
) partition by range (queued_on);
comment on table messaging.deliveries is
  'Mails of every kind, one row per recipient. Partitioned by the month in which the source was queued, which is the same for '
  'all its rows, so that the unique keys hold across partitions.';
comment on column messaging.deliveries.source_id is
  'What the mail belongs to: the campaign, the confirmation, the automation''s step, the request for test mails.';
comment on column messaging.deliveries.reason is 'Why it was skipped, or the class of the failure.';
comment on column messaging.deliveries.locale is
  'The recipient''s when the delivery was made: the mail is in the translation that fits it best. Null: not known.';
comment on column messaging.deliveries.lease_epoch is
  'messaging.server_epoch at the claim; null where every mark is waited for, and when nobody holds the row.';
comment on column messaging.deliveries.due_since is
  'Since when a mail is due that was made to wait: by then its 48 hours of attempts begin. Null: since it was made.';
comment on column messaging.deliveries.possible_duplicate is 'A body may have reached the next hop more than once.';
comment on column messaging.deliveries.bounce_class is
  'Why a mail came back that had been accepted: a class of the table of bounces.';
comment on column messaging.deliveries.relay_key is
  'The project''s relay that it was handed to last, or is being handed to; null: the installation''s. What may have arrived is never handed to another.';
comment on column messaging.deliveries.provider_message_id is 'What the relay called it in its reply, as its events name it.';
comment on column messaging.deliveries.finished_at is 'Set with the last state.';
-- What a campaign's claim reads, soonest first: rows that wait for a later attempt are behind, not in the way. The indexes of
-- open deliveries hang on finished_at, so that the changes before the last one are heap-only.
create index deliveries_open on messaging.deliveries (source_id, next_attempt_at, id) where finished_at is null and kind = 'CAMPAIGN';
-- Automations may have many mails at once; they are claimed apart from the few that people wait for.
create index deliveries_open_single on messaging.deliveries (next_attempt_at, id)
  where finished_at is null and kind in ('OPT_IN', 'TEST');
create index deliveries_open_automation on messaging.deliveries (next_attempt_at, id)
  where finished_at is null and kind = 'AUTOMATION';
-- The same of one environment: what goes by its own relays is claimed apart.
create index deliveries_open_of_environment on messaging.deliveries (environment_id, kind, next_attempt_at, id)
  where finished_at is null and kind in ('OPT_IN', 'TEST', 'AUTOMATION');
-- Deliveries that ended other than well, or wait after a refusal. `reason` is null for most, so that this index costs them
-- nothing.
create index deliveries_exceptional on messaging.deliveries (source_id, subscriber_id, queued_on) where reason is not null;
-- Mails are sent nearly in the order of their rows: a summary finds a window and costs next to nothing to keep.
create index deliveries_sent on messaging.deliveries using brin (sent_at);
-- All that mail knows of one person: for erasure and for what is held about somebody.
create index deliveries_of_subscriber on messaging.deliveries (environment_id, subscriber_id) where subscriber_id is not null;
create index deliveries_of_tests on messaging.deliveries (environment_id) where kind = 'TEST';
-- Events of providers that name a mail by their own id alone. Mail by the installation's relay has none.
create index deliveries_of_provider on messaging.deliveries (environment_id, provider_message_id) where provider_message_id is not null;
-- A domain is judged by the refusals of all its mails. Campaigns count theirs by the minute; of confirmations, test mails and
-- automations' mails, which no campaign counts, the deliveries themselves are read, by whoever finds a refusal among them.
-- None of these columns changes before a delivery ends.
create index deliveries_single_refused on messaging.deliveries (finished_at, environment_id)
  where kind <> 'CAMPAIGN' and (reason = 'sender' or bounce_class = 'sender');
create index deliveries_single_ended on messaging.deliveries (environment_id, finished_at) where kind <> 'CAMPAIGN' and finished_at is not null;
alter table messaging.deliveries add primary key (id, queued_on, environment_id);

create table messaging.delivery_events (
  id uuid not null,
  occurred_at timestamptz not null,
  environment_id bigint not null,
  campaign_id uuid,
  delivery_id uuid not null,
  subscriber_id uuid,
  type text not null check (type in ('OPENED', 'CLICKED', 'UNSUBSCRIBED', 'COMPLAINED', 'BOUNCED')),
  bounce_type text check (bounce_type in ('HARD', 'SOFT')),
  url text,
  link_number int,
  classification text not null default 'human' check (classification in ('human', 'proxy', 'scanner')),
  agent text
) partition by range (occurred_at);
comment on table messaging.delivery_events is
  'What subscribers and their mailboxes did with mails. Partitioned by the month in which it happened.';
comment on column messaging.delivery_events.url is 'The link of a click; link_number is its place in the set of links.';
comment on column messaging.delivery_events.agent is 'The kind of program, never the user agent itself.';
create index delivery_events_of_delivery on messaging.delivery_events (campaign_id, delivery_id, type, occurred_at);
-- Everybody's events of a type in a window. Rules ask for what people did, never for what scanners did. With that in the index's
-- condition a window is answered from the index alone, and scanners' events cost it nothing.
create index delivery_events_in_window on messaging.delivery_events (environment_id, type, occurred_at)
  include (subscriber_id, campaign_id) where classification = 'human';
create index delivery_events_of_subscriber on messaging.delivery_events (environment_id, subscriber_id)
  where subscriber_id is not null;
alter table messaging.delivery_events add primary key (id, occurred_at, environment_id);

create table messaging.delivery_engagement (
  delivery_id uuid not null,
  queued_on date not null,
  environment_id bigint not null,
  campaign_id uuid not null,
  opens int not null default 0,
  clicks int not null default 0,
  first_opened_at timestamptz,
  first_clicked_at timestamptz,
  primary key (delivery_id, queued_on, environment_id)
) partition by range (queued_on);
comment on table messaging.delivery_engagement is
  'What people (not proxies, not scanners) did with a mail; a click counts as an open. Partitioned like the deliveries.';

create table messaging.link_sets (
  id bigint generated always as identity,
  environment_id bigint not null,
  campaign_id uuid,
  version_id bigint,
  place smallint,
  queued_on date not null,
  translation text,
  urls text[] not null,
  signature bytea not null,
  created_at timestamptz not null,
  primary key (id, environment_id),
  unique (campaign_id, queued_on, signature, environment_id),
  constraint link_sets_owner check (
    (campaign_id is null) = (version_id is not null) and (version_id is null) = (place is null)
  )
);
comment on table messaging.link_sets is
  'What the tracked links of a campaign''s mails, or of a mail of an automation''s version, lead to. Never changed: a campaign '
  'that is sent again with other content gets another set, and the mails that went out before keep theirs. It outlives the '
  'campaign, since its mails do.';
comment on column messaging.link_sets.place is 'Of the node that sends the mail.';
comment on column messaging.link_sets.queued_on is 'The partition of the deliveries.';
comment on column messaging.link_sets.translation is
  'The locale of the campaign''s translation whose links these are: their numbers mean other links in another translation, so that '
  'clicks keep their address. Null: the campaign''s own content.';
comment on column messaging.link_sets.urls is 'In the order of the links'' numbers, which begin with 1.';
comment on column messaging.link_sets.signature is 'HMAC over whose set it is and where its links lead.';
create unique index link_sets_of_step on messaging.link_sets (version_id, place, queued_on, signature, environment_id)
  where version_id is not null;

create table messaging.campaign_counters (
  campaign_id uuid not null,
  writer smallint not null,
  environment_id bigint not null,
  sent bigint not null default 0,
  hard_bounced bigint not null default 0,
  soft_bounced bigint not null default 0,
  opened bigint not null default 0,
  unique_opens bigint not null default 0,
  clicked bigint not null default 0,
  unique_clicks bigint not null default 0,
  unsubscribed bigint not null default 0,
  complained bigint not null default 0,
  first_sent_at timestamptz,
  last_sent_at timestamptz,
  last_event_at timestamptz,
  primary key (campaign_id, writer, environment_id)
) with (fillfactor = 50);
comment on table messaging.campaign_counters is
  'Statistics of campaigns, counted in the transaction that writes what is counted.';
comment on column messaging.campaign_counters.writer is
  'A number that each process picks, so that processes do not wait for each other''s commits; whoever reads adds the rows up.';

create table messaging.campaign_minutes (
  campaign_id uuid not null,
  minute timestamptz not null,
  writer smallint not null,
  environment_id bigint not null,
  sent bigint not null default 0,
  delivered bigint not null default 0,
  opened bigint not null default 0,
  clicked bigint not null default 0,
  bounced bigint not null default 0,
  hard_bounced bigint not null default 0,
  hard_refused bigint not null default 0,
  complained bigint not null default 0,
  sender_refused bigint not null default 0,
  sender_bounced bigint not null default 0,
  primary key (campaign_id, minute, writer, environment_id)
) with (fillfactor = 70);
comment on table messaging.campaign_minutes is
  'The same by the minute, for timelines, and what a project''s sending is judged by.';
comment on column messaging.campaign_minutes.delivered is
  'By the minute of sending: a mail that bounces later is taken from it. Bounces and complaints have the minute of their report.';
comment on column messaging.campaign_minutes.hard_refused is
  'Addresses that the next hop itself refused: those mails were never sent.';
comment on column messaging.campaign_minutes.sender_refused is
  'Mails that the next hop refused since their sender is not accepted or cannot be authenticated; sender_bounced are those that '
  'came back for it. Both by the minute of sending: a domain is judged by them.';
create index campaign_minutes_sender_refused on messaging.campaign_minutes (minute, environment_id)
  where sender_refused + sender_bounced > 0;

create table messaging.campaign_breakdowns (
  campaign_id uuid not null,
  environment_id bigint not null,
  version text not null,
  links jsonb not null,
  providers jsonb not null,
  languages jsonb not null,
  counted_at timestamptz not null,
  milliseconds int not null,
  primary key (campaign_id, environment_id),
  foreign key (campaign_id, environment_id) references messaging.campaigns on delete cascade
);
comment on table messaging.campaign_breakdowns is
  'A campaign''s figures by link, by mailbox provider and by language, as they were last counted from the events and deliveries: reading '
  'those of a campaign of a million takes a second or two.';
comment on column messaging.campaign_breakdowns.version is
  'The state of the campaign''s counters that they belong to: what changes these figures changes a counter in the same transaction.';
comment on column messaging.campaign_breakdowns.milliseconds is 'How long counting took.';

create table messaging.breakdowns_due (
  campaign_id uuid not null,
  environment_id bigint not null,
  due_at timestamptz not null,
  earliest_at timestamptz not null,
  primary key (campaign_id, environment_id),
  foreign key (campaign_id, environment_id) references messaging.campaigns on delete cascade
);
comment on table messaging.breakdowns_due is
  'When the breakdowns of a campaign are to be counted next, of campaigns so large that no request waits for it.';
comment on column messaging.breakdowns_due.due_at is
  'Whoever looks at the report brings it forward, but not before earliest_at.';
create index breakdowns_due_next on messaging.breakdowns_due (due_at);

create table messaging.campaign_reports (
  id uuid not null,
  environment_id bigint not null,
  campaign_id uuid not null,
  version int not null check (version > 0),
  status text not null check (status in ('PENDING', 'GENERATING', 'GENERATED', 'FAILED')),
  content text,
  locale text not null,
  ai_model_id text,
  failure_reason text,
  attempt int not null default 0,
  reservation_id uuid,
  generated_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (id, environment_id),
  unique (campaign_id, version, environment_id),
  foreign key (campaign_id, environment_id) references messaging.campaigns on delete cascade
);
comment on table messaging.campaign_reports is 'Reports on campaigns in words, one row a version.';
comment on column messaging.campaign_reports.attempt is 'The attempt that is writing it: what an earlier one brings is too late.';
comment on column messaging.campaign_reports.reservation_id is 'The credits that this attempt has set aside.';

create table messaging.exports (
  id uuid not null,
  environment_id bigint not null,
  campaign_id uuid not null,
  kind text not null check (kind in ('STATISTICS', 'DELIVERIES')),
  state text not null default 'PENDING' check (state in ('PENDING', 'DONE', 'FAILED')),
  cursor text,
  parts int not null default 0,
  created_at timestamptz not null,
  finished_at timestamptz,
  taken_at timestamptz,
  primary key (id, environment_id),
  foreign key (campaign_id, environment_id) references messaging.campaigns on delete cascade
);
comment on table messaging.exports is 'Files that the worker makes and a waiting client takes.';
comment on column messaging.exports.cursor is 'The last row in the file so far; parts says how many parts that is.';
comment on column messaging.exports.taken_at is 'A client has it: the next request is for a new one.';
create index exports_open on messaging.exports (campaign_id, kind) where taken_at is null;
create index exports_oldest on messaging.exports (created_at);

create table messaging.export_parts (
  export_id uuid not null,
  part int not null,
  environment_id bigint not null,
  content text not null,
  primary key (export_id, part, environment_id),
  foreign key (export_id, environment_id) references messaging.exports on delete cascade
);
comment on table messaging.export_parts is
  'A file comes in parts, so that neither the worker nor the api ever holds a large one.';

create table messaging.sending_stops (
  environment_id bigint primary key,
  reason text not null,
  stopped_at timestamptz not null,
  resumed_at timestamptz
);
comment on table messaging.sending_stops is
  'Projects whose live sending is stopped for their bounces or complaints.';
comment on column messaging.sending_stops.resumed_at is 'What was sent before is not held against the project again.';

create table messaging.sender_stops (
  environment_id bigint primary key,
  stopped_at timestamptz not null
);
comment on table messaging.sender_stops is
  'When an environment''s sending domain was stopped last because its mails were refused for their sender. What was sent before '
  'is not held against it again.';

create table messaging.test_inbox_messages (
  id uuid not null,
  environment_id bigint not null,
  delivery_id uuid not null,
  kind text not null check (kind in ('OPT_IN', 'CAMPAIGN', 'AUTOMATION', 'TEST')),
  to_address text not null,
  to_key text not null,
  from_address text not null,
  subject text not null,
  links jsonb not null,
  raw bytea not null,
  received_at timestamptz not null
);
comment on table messaging.test_inbox_messages is 'Mails of the test environment, which go here instead of to their recipients.';
create index test_inbox_newest on messaging.test_inbox_messages (environment_id, received_at desc, id desc);
create unique index test_inbox_once on messaging.test_inbox_messages (delivery_id, environment_id);
alter table messaging.test_inbox_messages add primary key (id, environment_id);

create table messaging.mailbox_simulations (
  delivery_id uuid not null,
  environment_id bigint not null,
  behaviour text not null check (behaviour in ('bounced', 'soft-bounced', 'complained', 'opened', 'clicked', 'unsubscribed')),
  created_at timestamptz not null,
  primary key (delivery_id, environment_id)
);
comment on table messaging.mailbox_simulations is
  'What the mailbox of a simulated address is still to do with a mail of the test environment.';
create index mailbox_simulations_oldest on messaging.mailbox_simulations (created_at);

create unlogged table messaging.server_epoch (
  environment_id bigint primary key,
  epoch bigint not null
);
comment on table messaging.server_epoch is
  'The present epoch of the database server that has the rows of an environment, which ends with a crash: recovery empties an '
  'unlogged table, and so does a standby that takes over, and those are the cases in which commits can be missing that were not '
  'waited for. The marks of the sending engine are such commits. So what was claimed in an epoch that has ended may have been '
  'handed over to a mail server, although its row does not say so. The next begins with the next claim; until then every mark is '
  'waited for.';

create table messaging.automation_steps_earlier partition of messaging.automation_steps
  for values from (minvalue) to (date_trunc('month', now())::date);
create table messaging.delivery_events_earlier partition of messaging.delivery_events
  for values from (minvalue) to (date_trunc('month', now()));
create table messaging.delivery_engagement_earlier partition of messaging.delivery_engagement
  for values from (minvalue) to (date_trunc('month', now())::date);
-- A delivery is claimed, marked and ended within seconds: three versions of a row after the first. With room for them on its
-- page the first two touch no index (heap-only tuples), and the page cleans itself up. When the delivery ends, each index that
-- holds all of them gets an entry for the new version: with room it is put beside the other. Storage parameters are a
-- partition's own, and those of its indexes too; a new month takes those of the one before.
create table messaging.deliveries_earlier partition of messaging.deliveries
  for values from (minvalue) to (date_trunc('month', now())::date) with (fillfactor = 50);
alter index messaging.deliveries_earlier_pkey set (fillfactor = 50);
alter index messaging.deliveries_earlier_source_id_subscriber_id_queued_on_enviro_key set (fillfactor = 50);
alter index messaging.deliveries_earlier_source_id_address_key_queued_on_environm_key set (fillfactor = 50);
alter index messaging.deliveries_earlier_environment_id_subscriber_id_idx set (fillfactor = 50);
comment on table messaging.automation_steps_earlier is 'Steps of runs that began before the first month.';
comment on table messaging.delivery_events_earlier is 'Events of before the first month.';
comment on table messaging.delivery_engagement_earlier is 'Of mails that were queued before the first month.';
comment on table messaging.deliveries_earlier is 'Mails that were queued before the first month.';
select platform.ensure_months('messaging.automation_steps', (now() + interval '6 months')::date),
  platform.ensure_months('messaging.delivery_events', (now() + interval '6 months')::date),
  platform.ensure_months('messaging.delivery_engagement', (now() + interval '6 months')::date),
  platform.ensure_months('messaging.deliveries', (now() + interval '6 months')::date);

call platform.protect('messaging.campaigns', 'select, insert, update, delete');
call platform.protect('messaging.campaign_tests', 'select, insert, delete');
call platform.protect('messaging.automations', 'select, insert, update, delete');
call platform.protect('messaging.automation_versions', 'select, insert, delete');
call platform.protect('messaging.automation_runs', 'select, insert, update');
call platform.protect('messaging.automation_run_data', 'select, insert, delete');
call platform.protect('messaging.automation_steps', 'select, insert');
call platform.protect('messaging.automation_counters', 'select, insert, update');
call platform.protect('messaging.automation_secrets', 'select, insert, update');
call platform.protect('messaging.deliveries', 'select, insert, update');
call platform.protect('messaging.delivery_events', 'select, insert');
-- An erasure empties it.
grant update (subscriber_id) on messaging.delivery_events to mailwright_app;
call platform.protect('messaging.delivery_engagement', 'select');
call platform.protect('messaging.link_sets', 'select, insert');
call platform.protect('messaging.campaign_counters', 'select, insert, update');
call platform.protect('messaging.campaign_minutes', 'select, insert, update');
call platform.protect('messaging.campaign_breakdowns', 'select, insert, update, delete');
call platform.protect('messaging.breakdowns_due', 'select, insert, update, delete');
call platform.protect('messaging.campaign_reports', 'select, insert, update, delete');
call platform.protect('messaging.exports', 'select, insert, update, delete');
call platform.protect('messaging.export_parts', 'select, insert, delete');
call platform.protect('messaging.sending_stops', 'select, insert, update');
call platform.protect('messaging.sender_stops', 'select');
call platform.protect('messaging.test_inbox_messages', 'select, insert, delete');
call platform.protect('messaging.mailbox_simulations', 'select, insert, delete');
call platform.protect('messaging.server_epoch', 'select, insert');

create function messaging.new_run_id() returns uuid language sql volatile parallel safe return
  encode(set_byte(uuid_send(platform.new_id()), 15, 0), 'hex')::uuid;
create function messaging.step_id(run uuid, place int) returns uuid language sql immutable strict parallel safe return
  encode(set_byte(uuid_send(run), 15, place + 1), 'hex')::uuid;
create function messaging.run_of_step(step uuid) returns uuid language sql immutable strict parallel safe return
  encode(set_byte(uuid_send(step), 15, 0), 'hex')::uuid;
create function messaging.place_of_step(step uuid) returns int language sql immutable strict parallel safe return
  get_byte(uuid_send(step), 15) - 1;
comment on function messaging.new_run_id is 'The id of a run, which leaves its last octet to its steps.';
comment on function messaging.step_id is
  'The run''s id with the place of the node, which begins with 1, in its last octet. So a mail''s `source_id` is unique for the '
  'run and the node, and leads to both without a table.';

-- A connection plans the statements of a trigger once, by as few rows as there were at the first times: nested loops would
-- compare each row before a change with all rows after it, when a statement changes thousands.
create function messaging.count_runs() returns trigger language plpgsql set enable_nestloop = off as $$
declare
  counted record;
begin
  if tg_op = 'INSERT' then
    for counted in
      select automation_number, environment_id, count(*) as entered
      from rows_after group by automation_number, environment_id order by automation_number
    loop
      insert into messaging.automation_counters as c (automation_number, writer, environment_id, entered)
      values (counted.automation_number, pg_backend_pid() % 32, counted.environment_id, counted.entered)
      on conflict (automation_number, writer, environment_id) do update set entered = c.entered + excluded.entered;
    end loop;
  else
    for counted in
      select a.automation_number, a.environment_id,
        count(*) filter (where a.status in ('COMPLETED', 'CONVERTED')) as completed,
        count(*) filter (where a.status not in ('COMPLETED', 'CONVERTED')) as ended
      from rows_after a join rows_before b on b.id = a.id
      where b.status = 'ACTIVE' and a.status <> 'ACTIVE'
      group by a.automation_number, a.environment_id order by a.automation_number
    loop
      insert into messaging.automation_counters as c (automation_number, writer, environment_id, completed, ended)
      values (counted.automation_number, pg_backend_pid() % 32, counted.environment_id, counted.completed, counted.ended)
      on conflict (automation_number, writer, environment_id) do update
      set completed = c.completed + excluded.completed, ended = c.ended + excluded.ended;
    end loop;
  end if;
  return null;
end $$;
create trigger count_inserted after insert on messaging.automation_runs
  referencing new table as rows_after for each statement execute function messaging.count_runs();
create trigger count_updated after update on messaging.automation_runs
  referencing old table as rows_before new table as rows_after
  for each statement execute function messaging.count_runs();
