-- What a project wants to know of its subscribers. The values are in audience.subscribers.custom_fields by key,
-- typed: strings, numbers, booleans, arrays of strings; dates as texts whose order is that of time.
create table audience.custom_fields (
  id uuid primary key,
  environment_id bigint not null,
  key text collate "C" not null check (key ~ '^[a-z][a-z0-9_]{0,63}$'),
  type text not null check (type in ('TEXT', 'LONG_TEXT', 'NUMBER', 'DECIMAL', 'BOOLEAN', 'DATE', 'DATETIME', 'EMAIL',
    'URL', 'PHONE', 'SELECT', 'MULTI_SELECT')),
  display_name text not null,
  description text,
  is_required boolean not null,
  default_value text,
  -- [{"value": …, "label": …}]: json keeps what was given, in its order
  options json not null default '[]',
  status text not null check (status in ('ACTIVE', 'ARCHIVED')),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  archived_at timestamptz check ((archived_at is null) = (status = 'ACTIVE')),
  unique (environment_id, key)
);
-- read with every subscriber, and nearly always empty
create index custom_fields_archived on audience.custom_fields (environment_id, key) where status = 'ARCHIVED';
call platform.protect('audience.custom_fields', 'select, insert, update');

-- Equality and options of all fields of all projects, by containment: custom_fields @> '{"plan": "pro"}'. Read
-- through audience.scoped_subscribers: row-level security hides it. Ranges are read from the rows, unless an operator
-- indexes one field of one project: docs/custom-fields.md has the plans.
create index subscribers_of_custom_value on audience.subscribers using gin (custom_fields jsonb_path_ops);
