create function platform.traceparent() returns text language sql stable parallel safe
  return nullif(current_setting('mailwright.traceparent', true), '');
comment on function platform.traceparent is 'The span that the transaction is a part of (W3C Trace Context); null where nothing is traced.';

-- In two steps, so that no row is written anew.
alter table platform.jobs add column traceparent text;
alter table platform.jobs alter column traceparent set default platform.traceparent();
comment on column platform.jobs.traceparent is 'The span that asked for the job, which its run is a part of.';

alter table messaging.deliveries add column traceparent text;
alter table messaging.deliveries alter column traceparent set default platform.traceparent();
comment on column messaging.deliveries.traceparent is 'The span that queued the mail.';

alter table webhooks.events add column traceparent text;
comment on column webhooks.events.traceparent is 'The span in which the event happened: its posts are parts of it.';
