create table messaging.message_events (
  environment_id bigint not null,
  message_id uuid not null,
  occurred_at timestamptz not null,
  id uuid not null,
  type text not null check (type in ('ATTEMPTED', 'SENT', 'DELIVERED', 'BOUNCED', 'COMPLAINED', 'OPENED', 'CLICKED',
    'FAILED', 'EXPIRED', 'SUPPRESSED', 'CANCELLED')),
  reply text,
  reason text,
  relay_key text,
  classification text not null default 'human' check (classification in ('human', 'proxy', 'scanner')),
  agent text,
  url text,
  link_number integer,
  primary key (environment_id, message_id, occurred_at, id)
);
comment on table messaging.message_events is 'What became of the mail of a message to `to_email`; that it was queued is when the message was created.';
comment on column messaging.message_events.reply is 'Of the mail server, or why there was none: as the delivery''s last_error.';
comment on column messaging.message_events.reason is 'The class of a bounce, or why nothing was sent.';
create index message_events_oldest on messaging.message_events (occurred_at);
call platform.protect('messaging.message_events', 'select, insert, update');
