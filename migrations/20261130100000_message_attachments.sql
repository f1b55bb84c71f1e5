create table messaging.message_attachments (
  environment_id bigint not null,
  message_id uuid not null,
  position smallint not null,
  part smallint not null,
  created_at timestamptz not null,
  sealed bytea not null,
  primary key (environment_id, message_id, position, part)
);
comment on table messaging.message_attachments is 'Files of messages that wait for their mails to be sent: gone once those of all recipients have ended.';
comment on column messaging.message_attachments.part is 'Files are kept in parts of equal size, so that neither api nor worker holds one twice.';
comment on column messaging.message_attachments.sealed is 'Encrypted with the key of the message.';
alter table messaging.message_attachments alter column sealed set storage external;
create index message_attachments_by_age on messaging.message_attachments (created_at);
call platform.protect('messaging.message_attachments', 'select, insert, delete');

alter table messaging.messages add column attachments_key text, add column attached_bytes integer not null default 0;
comment on column messaging.messages.attachments_key is 'Key of its files, itself sealed; null where it has none, or has them no longer.';
comment on column messaging.messages.attached_bytes is 'Size of its files together.';
