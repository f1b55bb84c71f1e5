create unlogged table platform.request_log (
  environment_id bigint not null,
  id uuid not null,
  answered_at timestamptz(3) not null,
  method text not null,
  route text,
  status integer not null,
  request_id text not null,
  key_id uuid not null,
  ms integer not null,
  primary key (environment_id, answered_at, id)
);
comment on table platform.request_log is 'Requests of keys in the last 24 hours, for `GET /requests`. A crash of the server empties it.';
comment on column platform.request_log.route is 'The path with the names of its parameters; null for a path that does not exist.';
create index request_log_of_request on platform.request_log (environment_id, request_id);
create index request_log_of_status on platform.request_log (environment_id, status, answered_at, id) where status >= 400;
-- Rows come in the order of time: whole ranges of pages are old, or not.
create index request_log_old on platform.request_log using brin (answered_at);
call platform.protect('platform.request_log', 'select');
revoke update on platform.request_log from mailwright_system;
