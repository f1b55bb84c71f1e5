-- Imports of subscribers: what was sent, the rows that wait for the worker, and what was wrong with some.

-- One call for the keys of a whole chunk: access.next_key looks the project up for each.
create function access.next_subscriber_keys(quantity int) returns setof text
  language plpgsql volatile security definer set search_path = pg_catalog as $$
declare
  project bigint := platform.project_id();
  numbers regclass := format('access.%I', 'key_subscriber_' || project)::regclass;
  project_key text := (select p.project_key from access.projects p where p.id = project);
begin
  return query select project_key || '-' || nextval(numbers)::text from generate_series(1, quantity);
end $$;
revoke all on function access.next_subscriber_keys from public;
grant execute on function access.next_subscriber_keys to mailwright_app;

create table audience.imports (
  id uuid primary key,
  environment_id bigint not null,
  -- RECEIVING while the body arrives: nobody is told of it yet
  status text not null check (status in ('RECEIVING', 'QUEUED', 'IN_PROGRESS', 'COMPLETED', 'FAILED')),
  on_conflict text not null check (on_conflict in ('UPSERT', 'SKIP')),
  topic_keys text[] not null,
  -- as the consent record keeps it
  proof jsonb not null,
  -- what the cells of a row are: email, firstName, customFields.plan …; null for a column that is left out
  columns text[] not null default '{}',
  total bigint not null default 0,
  created bigint not null default 0,
  updated bigint not null default 0,
  skipped bigint not null default 0,
  failed bigint not null default 0,
  failure_reason text,
  created_at timestamptz not null,
  completed_at timestamptz
);
create index imports_received on audience.imports (created_at) where status = 'RECEIVING';
create index imports_completed on audience.imports (completed_at) where completed_at is not null;

-- Rows between the request and the worker, which removes them chunk by chunk: a row that is here is not done.
-- Logged, since the client was told
-- 202: a crash of PostgreSQL must not lose them.
--
-- COPY does not write to a table with row-level security. So it writes to the one partition, to which the app may
-- only add rows, and not name their environment: that is the default, the session's own. Everything else goes
-- through the parent and its policies.
create table audience.import_rows (
  import_id uuid not null,
  row_number bigint not null,
  environment_id bigint not null default platform.environment_id(),
  email_key text collate "C",
  -- a JSON array
  cells text not null,
  fault text,
  primary key (import_id, row_number)
) partition by list (import_id);
create table audience.import_rows_staged partition of audience.import_rows default;

create table audience.import_errors (
  import_id uuid not null references audience.imports on delete cascade,
  row_number bigint not null,
  environment_id bigint not null,
  email text,
  email_key text collate "C",
  errors jsonb not null,
  primary key (import_id, row_number)
);
-- to erase a person from it
create index import_errors_of_address on audience.import_errors (environment_id, email_key) where email_key is not null;

call platform.protect('audience.imports', 'select, insert, update, delete');
call platform.protect('audience.import_rows', 'select, delete');
call platform.protect('audience.import_errors', 'select, insert, delete');
grant insert (import_id, row_number, email_key, cells, fault) on audience.import_rows_staged to mailwright_app;
