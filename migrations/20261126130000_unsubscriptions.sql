-- What outlives a subscriber who is erased: whose the address was is known by a keyed digest alone.
create table audience.erased_addresses (
  environment_id bigint not null,
  address_digest bytea not null,
  left_topics jsonb not null,
  subscriber_id uuid,
  erased_at timestamptz not null,
  primary key (environment_id, address_digest)
);
comment on table audience.erased_addresses is
  'Addresses of erased subscribers: the topics that they had left, so that no import brings them back, and who has the address '
  'now, so that the unsubscribe links in older mails go on working. Removed when neither is needed any more.';
comment on column audience.erased_addresses.address_digest is
  'Keyed (HMAC), so that the table alone tells neither the address nor whether one that is guessed is in it.';
comment on column audience.erased_addresses.left_topics is
  'When each topic was left: {"<topic id>": "2026-11-26T12:00:00Z"}. Emptied when the address has a subscriber again, who gets '
  'these consents as UNSUBSCRIBED.';
comment on column audience.erased_addresses.subscriber_id is 'Who signed up with the address since; null while it is nobody''s.';
create index erased_addresses_oldest on audience.erased_addresses (erased_at);
call platform.protect('audience.erased_addresses', 'select, insert, update');

create table audience.unsubscriptions (
  environment_id bigint not null,
  id uuid not null,
  subscriber_id uuid not null,
  link_id text not null,
  consents jsonb not null,
  revoked_at timestamptz,
  suppressed_at timestamptz,
  happened_at timestamptz not null,
  primary key (environment_id, id),
  foreign key (subscriber_id, environment_id) references audience.subscribers on delete cascade
);
comment on table audience.unsubscriptions is
  'What readers unsubscribed from by a link of ours a short time ago, so that a mistake can be undone, once. History is in the '
  'consent ledger.';
comment on column audience.unsubscriptions.link_id is 'What the link is about: a delivery, or the subscriber.';
comment on column audience.unsubscriptions.consents is 'The consents that it took, as they were before.';
comment on column audience.unsubscriptions.revoked_at is 'Their revocation, which alone it undoes; null where there were none.';
comment on column audience.unsubscriptions.suppressed_at is
  'When it put the address on the suppression list; null where it did not.';
create index unsubscriptions_of_subscriber on audience.unsubscriptions (subscriber_id, environment_id);
create index unsubscriptions_oldest on audience.unsubscriptions (happened_at);
call platform.protect('audience.unsubscriptions', 'select, insert, delete');

create table messaging.erased_mails (
  environment_id bigint not null,
  delivery_id uuid not null,
  address_digest bytea not null,
  queued_on date not null,
  primary key (environment_id, delivery_id)
);
comment on table messaging.erased_mails is
  'To which address a recent mail of an erased subscriber went, by its keyed digest: its unsubscribe link takes off who has the '
  'address now. Kept for 60 days after the mail.';
create index erased_mails_oldest on messaging.erased_mails (queued_on);
call platform.protect('messaging.erased_mails', 'select, insert');

alter table audience.imports add column resubscribe boolean not null default false;
comment on column audience.imports.resubscribe is 'Grants topics again that the address had unsubscribed from.';
