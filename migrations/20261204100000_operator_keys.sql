create table access.operator_keys (
  id uuid primary key,
  name text not null,
  key_hash bytea not null unique,
  last_four text not null,
  scopes text[] not null,
  allowed_networks text[] not null default '{}',
  last_used_at timestamptz,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz
);
comment on table access.operator_keys is 'Keys of the operator''s API. The key itself is shown once and not kept.';
comment on column access.operator_keys.allowed_networks is 'CIDR; a request from elsewhere is refused. Empty: from anywhere.';
comment on column access.operator_keys.last_used_at is 'Written once a minute at most, for all keys together.';

alter table access.operator_keys enable row level security;
create policy system_rows on access.operator_keys to mailwright_system using (true) with check (true);
grant select, insert, update on access.operator_keys to mailwright_system;
