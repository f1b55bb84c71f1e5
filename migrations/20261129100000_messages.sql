create table messaging.messages (
  id uuid not null,
  environment_id bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  queued_on date not null,
  status text not null check (status in
    ('SCHEDULED', 'QUEUED', 'SENT', 'DELIVERED', 'BOUNCED', 'COMPLAINED', 'FAILED', 'EXPIRED', 'SUPPRESSED', 'CANCELLED')),
  to_email text not null,
  to_digest bytea,
  copy_digests bytea[],
  subject text,
  purpose text not null,
  topic_id uuid,
  tags text[] not null default '{}',
  metadata jsonb not null default '{}',
  locale text,
  keep text not null check (keep in ('CONTENT', 'NOTHING')),
  ambiguous text not null check (ambiguous in ('RESEND', 'HOLD')),
  scheduled_at timestamptz,
  expires_at timestamptz,
  sent_at timestamptz,
  delivered_at timestamptz,
  finished_at timestamptz,
  relay_key text,
  failure_reason text,
  content jsonb,
  sealed_content text,
  primary key (id, environment_id)
);
comment on table messaging.messages is 'Mails to one person each, as programs ask for them; their deliveries are the recipients, copies included.';
comment on column messaging.messages.to_digest is 'Keyed digest of the address in `to_email`, by which it is found and erased; null once erased.';
comment on column messaging.messages.copy_digests is 'The same of those who get copies.';
comment on column messaging.messages.queued_on is 'The partition of its deliveries.';
comment on column messaging.messages.status is 'Of the delivery to `to_email`; the copies have their own.';
comment on column messaging.messages.subject is 'As it was written. Null: gone, since nothing of it is kept.';
comment on column messaging.messages.content is 'What the mail is made of; null where it is sealed, or kept no longer.';
comment on column messaging.messages.sealed_content is 'The same, encrypted, of a message that keeps nothing; null once it has ended.';
create index messages_in_order on messaging.messages (environment_id, created_at, id);
create index messages_of_status on messaging.messages (environment_id, status, created_at, id);
create index messages_to on messaging.messages (environment_id, to_digest, created_at, id);
create index messages_copied on messaging.messages using gin (copy_digests) where copy_digests is not null;
create index messages_with_content on messaging.messages (finished_at) where content is not null;
call platform.protect('messaging.messages', 'select, insert, update');

create table messaging.message_tags (
  environment_id bigint not null,
  tag text collate "C" not null,
  created_at timestamptz not null,
  message_id uuid not null,
  primary key (environment_id, tag, created_at, message_id)
);
comment on table messaging.message_tags is 'Messages by tag, in the order of their list.';
call platform.protect('messaging.message_tags', 'select, insert');

alter table messaging.deliveries drop constraint deliveries_kind_check;
alter table messaging.deliveries add constraint deliveries_kind_check check (kind in ('OPT_IN', 'CAMPAIGN', 'AUTOMATION', 'TEST', 'MESSAGE'));
alter table messaging.test_inbox_messages drop constraint test_inbox_messages_kind_check;
alter table messaging.test_inbox_messages add constraint test_inbox_messages_kind_check
  check (kind in ('OPT_IN', 'CAMPAIGN', 'AUTOMATION', 'TEST', 'MESSAGE'));
create index deliveries_open_message on messaging.deliveries (next_attempt_at, id) where single_ended_at is null and kind = 'MESSAGE';
create index deliveries_open_message_of_environment on messaging.deliveries (environment_id, next_attempt_at, id)
  where single_ended_at is null and kind = 'MESSAGE';
