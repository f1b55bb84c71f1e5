alter table access.api_keys
  add column allowed_networks text[] not null default '{}',
  add column created_by uuid,
  add column replaced_by uuid,
  add column last_used_at timestamptz,
  add column updated_at timestamptz not null default now();
update access.api_keys set updated_at = coalesce(revoked_at, created_at);
comment on column access.api_keys.allowed_networks is 'CIDR; a request from elsewhere is refused. Empty: from anywhere.';
comment on column access.api_keys.created_by is 'The key that asked for it; null: the operator.';
comment on column access.api_keys.replaced_by is 'The key that was made of it by rotation; it ends at expires_at.';
comment on column access.api_keys.last_used_at is 'Written once a minute at most, for all keys together.';

create policy app_additions on access.api_keys for insert to mailwright_app
  with check (environment_id = platform.environment_id());
create policy app_changes on access.api_keys for update to mailwright_app
  using (environment_id = platform.environment_id()) with check (environment_id = platform.environment_id());
grant insert (id, environment_id, name, key_hash, prefix, last_four, scopes, rate_limit_per_minute, allowed_networks, created_by,
  replaced_by, created_at, updated_at, expires_at, revoked_at, last_used_at) on access.api_keys to mailwright_app;
-- What a key may do and its text are never changed.
grant update (name, rate_limit_per_minute, allowed_networks, replaced_by, updated_at, expires_at, revoked_at)
  on access.api_keys to mailwright_app;

drop function access.find_api_key(bytea);
create function access.find_api_key(wanted_hash bytea)
  returns table (key_id uuid, key_hash bytea, tenant_id bigint, project_id bigint, environment_id bigint,
    environment text, scopes text[], rate_limit_per_minute int, allowed_networks text[], expires_at timestamptz,
    revoked_at timestamptz)
  language sql stable security definer set search_path = pg_catalog as $$
  select k.id, k.key_hash, p.tenant_id, p.id, e.id, e.environment, k.scopes, k.rate_limit_per_minute, k.allowed_networks,
    k.expires_at, k.revoked_at
  from access.api_keys k
  join access.project_environments e on e.id = k.environment_id
  join access.projects p on p.id = e.project_id
  where k.key_hash = wanted_hash
$$;
comment on function access.find_api_key is
  'The key of a request, and the tenant, project and environment that it acts for. Called before there is a scope, hence by '
  'definer''s rights and only with the exact hash.';
revoke all on function access.find_api_key from public;
grant execute on function access.find_api_key to mailwright_app, mailwright_system;
