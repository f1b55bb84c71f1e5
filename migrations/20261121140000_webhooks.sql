-- Webhooks: the endpoints of a project environment, what they are told, and how that went.
create schema webhooks;
grant usage on schema webhooks to mailwright_app, mailwright_system;

create table webhooks.endpoints (
  id uuid primary key,
  environment_id bigint not null,
  -- the secret is sealed for it
  project_id bigint not null,
  url text not null,
  description text,
  -- which events it is told; empty = all
  event_types text[] not null default '{}',
  -- encrypted; the previous one signs beside it until its end, so that a receiver can change over
  secret text not null,
  previous_secret text,
  previous_secret_until timestamptz,
  status text not null check (status in ('ENABLED', 'DISABLED')),
  disabled_reason text,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index endpoints_of_environment on webhooks.endpoints (environment_id, id);
call platform.protect('webhooks.endpoints', 'select, insert, update, delete');

create table webhooks.events (
  id uuid primary key,
  environment_id bigint not null,
  type text not null,
  subscriber_id uuid,
  -- null once the person was erased
  data jsonb,
  occurred_at timestamptz not null
);
create index events_of_subscriber on webhooks.events (environment_id, subscriber_id) where subscriber_id is not null;
create index events_oldest on webhooks.events (occurred_at);
call platform.protect('webhooks.events', 'select, insert, update');

create table webhooks.deliveries (
  id uuid primary key,
  environment_id bigint not null,
  endpoint_id uuid not null references webhooks.endpoints on delete cascade,
  event_id uuid not null references webhooks.events on delete cascade,
  state text not null default 'PENDING' check (state in ('PENDING', 'DELIVERED', 'FAILED')),
  attempts int not null default 0,
  next_attempt_at timestamptz not null,
  last_status int,
  last_error text,
  created_at timestamptz not null,
  -- set with the last state: the index of open ones hangs on it
  finished_at timestamptz
) with (fillfactor = 70);
create index deliveries_open on webhooks.deliveries (next_attempt_at) where finished_at is null;
create index deliveries_of_endpoint on webhooks.deliveries (endpoint_id, created_at desc, id desc);
create index deliveries_of_event on webhooks.deliveries (event_id);
call platform.protect('webhooks.deliveries', 'select, insert, update');

create table webhooks.attempts (
  delivery_id uuid not null references webhooks.deliveries on delete cascade,
  environment_id bigint not null,
  attempt int not null,
  at timestamptz not null,
  duration_ms int not null,
  status int,
  error text,
  primary key (delivery_id, attempt)
);
call platform.protect('webhooks.attempts', 'select');

-- Who listens, for every process to know without a look at each event.
create function webhooks.listeners() returns table (environment_id bigint, event_types text[])
  language sql stable security definer set search_path = pg_catalog as $$
  select e.environment_id, e.event_types from webhooks.endpoints e where e.status = 'ENABLED'
$$;
revoke all on function webhooks.listeners from public;
grant execute on function webhooks.listeners to mailwright_app, mailwright_system;
