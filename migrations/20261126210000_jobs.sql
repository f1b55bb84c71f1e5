-- One table of jobs, written where the work arises: there is no event in between any more.
-- In the order in which running programs take them.
lock table platform.outbox, platform.inbox in access exclusive mode;
alter table platform.inbox rename to jobs;
alter table platform.jobs rename column handler to name;
alter table platform.jobs drop column event_id;
alter table platform.jobs rename constraint inbox_pkey to jobs_pkey;
alter table platform.jobs rename constraint inbox_state_check to jobs_state_check;
alter sequence platform.inbox_id_seq rename to jobs_id_seq;
alter index platform.inbox_open rename to jobs_open;
alter index platform.inbox_finished rename to jobs_finished;
grant insert on platform.jobs to mailwright_app;
comment on table platform.jobs is
  'Jobs, each written in the transaction that has something to do. The queue holds only the id. A handler ends the row in '
  'its own transaction, so a repeated job finds nothing to do.';
comment on column platform.jobs.environment_id is
  'Never null; not declared so, since the table stays whole on the coordinator of a Citus cluster.';
comment on column platform.jobs.name is 'Type of the job, `campaigns.expand`: the worker has one handler of each.';
comment on column platform.jobs.payload is 'Ids; no address, content or secret.';
comment on column platform.jobs.run_at is 'Due from then on: set anew by a retry or a snooze.';
comment on column platform.jobs.enqueued_at is 'Last offered to the queue, which may lose it.';
comment on column platform.jobs.attempts is 'Leases taken; part of the id in the queue.';
comment on column platform.jobs.failures is 'Tries that ended badly since the last good one.';
comment on column platform.jobs.last_error is 'Latest failure; in a cancelled job the reason.';
comment on column platform.jobs.lease_token is 'Claim of the worker that holds the job: writes under another one change nothing.';
comment on column platform.jobs.lease_until is 'From then on any worker may take the job.';

-- The worker knows no older names. Jobs that ended say `last_error`, and are kept under the names of those that follow.
update platform.jobs j set name = n.name from (values
  ('check-domain', 'sending_domains.check'),
  ('check-tracking-host', 'tracking_hosts.check'),
  ('close-campaign', 'campaigns.close'),
  ('count-breakdown', 'campaigns.count_breakdown'),
  ('erase-mail', 'erasures.finish'),
  ('erase-webhook-events', 'erasures.finish'),
  ('evaluate-segment', 'segments.evaluate'),
  ('expand-campaign', 'campaigns.expand'),
  ('export-deliveries', 'exports.deliveries'),
  ('export-report', 'exports.report'),
  ('find-reported-messages', 'bounces.find_messages'),
  ('grant-monthly-credits', 'credits.grant_month'),
  ('import-subscribers', 'imports.run'),
  ('record-bounces', 'bounces.record'),
  ('record-complaint', 'bounces.complaint'),
  ('remove-topic-consents', 'topics.remove_consents'),
  ('retry-failed-deliveries', 'campaigns.retry_failed'),
  ('send-confirmation-mail', 'confirmations.queue_mails'),
  ('send-confirmation-mails', 'confirmations.queue_mails'),
  ('unsubscribe-by-mail', 'bounces.unsubscribe'),
  ('warn-of-depleted-credits', 'credits.warn_of_depletion'),
  ('write-campaign-report', 'reports.write')
) as n (handler, name) where j.name = n.handler;

-- Programs of version 0.2.0 go on while they are replaced: what they write to the outbox becomes a job at once, and their
-- inbox is empty, by which their workers lose their leases and take none. The version after this one drops both.
create function platform.enqueue_event() returns trigger language plpgsql as $$
declare
  job record;
begin
  -- Not as one statement: on Citus row-level security does not check what an INSERT on the coordinator selects.
  select n.name, n.queue into job from (values
    ('access.tracking_host_check_requested.v1', 'tracking_hosts.check', 'dns'),
    ('audience.confirmation_requested.v1', 'confirmations.queue_mails', 'mail'),
    ('audience.confirmations_requested.v1', 'confirmations.queue_mails', 'mail'),
    ('audience.import_queued.v1', 'imports.run', 'imports'),
    ('audience.segment_due.v1', 'segments.evaluate', 'segments'),
    ('audience.subscriber_erased.v1', 'erasures.finish', 'erasures'),
    ('audience.topic_deleted.v1', 'topics.remove_consents', 'erasures'),
    ('billing.credits_depleted.v1', 'credits.warn_of_depletion', 'billing'),
    ('billing.subscription_period_started.v1', 'credits.grant_month', 'billing'),
    ('deliverability.bounces_reported.v1', 'bounces.record', 'bounces'),
    ('deliverability.complaint_reported.v1', 'bounces.complaint', 'bounces'),
    ('deliverability.domain_verification_requested.v1', 'sending_domains.check', 'dns'),
    ('deliverability.messages_reported.v1', 'bounces.find_messages', 'bounces'),
    ('deliverability.unsubscribe_mailed.v1', 'bounces.unsubscribe', 'bounces'),
    ('messaging.campaign_breakdown_due.v1', 'campaigns.count_breakdown', 'reports'),
    ('messaging.campaign_queued.v1', 'campaigns.expand', 'campaigns'),
    ('messaging.campaign_report_requested.v1', 'reports.write', 'reports'),
    ('messaging.campaign_retried.v1', 'campaigns.retry_failed', 'campaigns'),
    ('messaging.campaign_stopped.v1', 'campaigns.close', 'campaigns'),
    ('messaging.deliveries_export_requested.v1', 'exports.deliveries', 'exports'),
    ('messaging.report_export_requested.v1', 'exports.report', 'exports')
  ) as n (event, name, queue) where n.event = new.event_name;
  if found then
    insert into platform.jobs (environment_id, name, queue, payload, run_at)
    values (new.environment_id, job.name, job.queue, new.payload, platform.now());
  end if;
  return null;
end $$;
comment on function platform.enqueue_event is 'Writes the job of an event of version 0.2.0 instead of the event.';
create trigger enqueue_event before insert on platform.outbox for each row execute function platform.enqueue_event();
with waiting as (delete from platform.outbox returning *) insert into platform.outbox select * from waiting;
comment on table platform.outbox is
  'Empty: takes events of programs of version 0.2.0 that are being replaced, of which a trigger makes jobs.';

create view platform.inbox with (security_invoker = true) as
  select id, environment_id, null::uuid as event_id, name as handler, queue, payload, state, run_at, enqueued_at, attempts,
    failures, lease_token, lease_until, last_error, created_at, finished_at
  from platform.jobs where false;
grant select, update on platform.inbox to mailwright_system;
comment on view platform.inbox is 'Empty: workers of version 0.2.0 that are being replaced see that they have lost their leases.';
