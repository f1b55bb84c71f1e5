create schema webhooks;
comment on schema webhooks is 'Webhook endpoints of project environments, the events that are posted to them, and how that went.';
grant usage on schema webhooks to mailwright_app, mailwright_system;

create table webhooks.endpoints (
  id uuid not null,
  environment_id bigint not null,
  project_id bigint not null,
  url text not null,
  description text,
  event_types text[] not null default '{}',
  secret text not null,
  previous_secret text,
  previous_secret_until timestamptz,
  status text not null check (status in ('ENABLED', 'DISABLED')),
  disabled_reason text,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
comment on table webhooks.endpoints is 'URLs that events are posted to.';
comment on column webhooks.endpoints.project_id is 'The project that the secret is encrypted for.';
comment on column webhooks.endpoints.event_types is 'The types of events that are posted to it; empty = all.';
comment on column webhooks.endpoints.secret is
  'Encrypted. The previous one signs beside it until its end, so that a receiver can change over.';
create index endpoints_of_environment on webhooks.endpoints (environment_id, id);
alter table webhooks.endpoints add primary key (id, environment_id);

create table webhooks.events (
  id uuid not null,
  environment_id bigint not null,
  type text not null,
  subscriber_id uuid,
  data jsonb,
  occurred_at timestamptz not null
);
comment on table webhooks.events is 'Events that are posted to endpoints.';
comment on column webhooks.events.data is 'Null once the person was erased.';
create index events_of_subscriber on webhooks.events (environment_id, subscriber_id) where subscriber_id is not null;
create index events_oldest on webhooks.events (occurred_at);
alter table webhooks.events add primary key (id, environment_id);

create table webhooks.deliveries (
  id uuid not null,
  environment_id bigint not null,
  endpoint_id uuid not null,
  event_id uuid not null,
  state text not null default 'PENDING' check (state in ('PENDING', 'DELIVERED', 'FAILED')),
  attempts int not null default 0,
  next_attempt_at timestamptz not null,
  last_status int,
  last_error text,
  created_at timestamptz not null,
  finished_at timestamptz,
  primary key (id, environment_id),
  foreign key (endpoint_id, environment_id) references webhooks.endpoints on delete cascade,
  foreign key (event_id, environment_id) references webhooks.events on delete cascade
) with (fillfactor = 70);
comment on table webhooks.deliveries is 'One event to one endpoint.';
comment on column webhooks.deliveries.finished_at is 'Set with the last state.';
create index deliveries_open on webhooks.deliveries (next_attempt_at) where finished_at is null;
-- The next posts are looked up endpoint by endpoint, so that one with many keeps no other waiting. Its condition is on `state`,
-- not on `finished_at`, for the planner would take deliveries_open instead where one endpoint has most of what waits, and read
-- it as a whole for each endpoint that has nothing.
create index deliveries_open_of_endpoint on webhooks.deliveries (endpoint_id, next_attempt_at) where state = 'PENDING';
create index deliveries_of_endpoint on webhooks.deliveries (endpoint_id, created_at desc, id desc);
create index deliveries_of_event on webhooks.deliveries (event_id);

create table webhooks.attempts (
  delivery_id uuid not null,
  environment_id bigint not null,
  attempt int not null,
  at timestamptz not null,
  duration_ms int not null,
  status int,
  error text,
  primary key (delivery_id, attempt, environment_id),
  foreign key (delivery_id, environment_id) references webhooks.deliveries on delete cascade
);
comment on table webhooks.attempts is 'The requests that a delivery took.';

call platform.protect('webhooks.endpoints', 'select, insert, update, delete');
call platform.protect('webhooks.events', 'select, insert, update');
call platform.protect('webhooks.deliveries', 'select, insert, update');
call platform.protect('webhooks.attempts', 'select');
-- What a receiver answered may repeat whom the event was about: an erasure empties it.
grant update (error) on webhooks.attempts to mailwright_app;
