create table messaging.data_exports (
  id uuid not null,
  environment_id bigint not null,
  what text not null check (what in ('SUBSCRIBERS', 'CONSENTS', 'SUPPRESSIONS', 'EVENTS', 'DELIVERIES')),
  format text not null check (format in ('CSV', 'NDJSON')),
  segment_id uuid,
  segment_key text,
  is_masked boolean not null,
  status text not null default 'QUEUED' check (status in ('QUEUED', 'IN_PROGRESS', 'COMPLETED', 'FAILED')),
  run uuid,
  parts int not null default 0,
  rows bigint not null default 0,
  failure_reason text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  expires_at timestamptz,
  primary key (id, environment_id)
);
comment on table messaging.data_exports is 'Files with a project''s data, which clients ask for and take for an hour.';
comment on column messaging.data_exports.is_masked is 'Addresses are masked: the key that asked may not read subscribers.';
comment on column messaging.data_exports.run is
  'The run that writes it; null before the first. A killed worker''s file begins anew, under another run.';
comment on column messaging.data_exports.rows is 'Rows in its parts so far.';
create index data_exports_newest on messaging.data_exports (environment_id, created_at);
create index data_exports_oldest on messaging.data_exports (created_at);

create table messaging.data_export_parts (
  export_id uuid not null,
  environment_id bigint not null,
  run uuid not null,
  part int not null,
  content text not null,
  primary key (export_id, run, part, environment_id),
  foreign key (export_id, environment_id) references messaging.data_exports on delete cascade
);
comment on table messaging.data_export_parts is
  'A file comes in parts, so that neither the worker nor the api ever holds a large one. Removed when the file expires.';

call platform.protect('messaging.data_exports', 'select, insert, update, delete');
call platform.protect('messaging.data_export_parts', 'select, insert, delete');
