alter table messaging.messages add column request_key bytea, add column request_place smallint;
comment on column messaging.messages.request_key is
  'Digest of the idempotent request that it came by, and its place there: a request that is run again makes no second one.';
create unique index messages_of_request on messaging.messages (environment_id, request_key, request_place) where request_key is not null;
