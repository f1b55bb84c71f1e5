create schema access;
comment on schema access is 'Who uses the installation: tenants, their projects, and API keys.';
grant usage on schema access to mailwright_app, mailwright_system;

create table access.tenants (
  id bigint generated always as identity primary key,
  tenant_key text not null unique check (tenant_key ~ '^[A-Z][A-Z0-9]{1,15}$'),
  name text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
comment on table access.tenants is 'Customers of the installation: who has a plan and is billed.';

create table access.projects (
  id bigint generated always as identity primary key,
  tenant_id bigint not null references access.tenants,
  project_key text not null check (project_key ~ '^[A-Z][A-Z0-9]{1,7}$'),
  name text not null,
  description text,
  sender_name text not null,
  default_from_email text,
  postal_address text not null,
  reply_to text,
  default_locale text not null default 'en',
  time_zone text not null default 'UTC',
  logo_url text,
  color text check (color ~ '^#[0-9a-f]{6}$'),
  tracking_host text unique,
  ai_segment_suggestions_enabled boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (tenant_id, project_key)
);
comment on table access.projects is 'A tenant''s products or brands: each has its own subscribers and sends under its own name.';
comment on column access.projects.default_locale is 'Of readers whose own language is not known, or not shipped: BCP 47.';
comment on column access.projects.time_zone is 'Of subscribers whose own is not known: a name of the IANA database.';
comment on column access.projects.color is 'Of buttons and links in opt-in mails and pages; null: ours.';
comment on column access.projects.tracking_host is
  'The customer''s host that links, pixels and pages of its mails shall use; null: PUBLIC_URL''s.';

create table access.project_texts (
  project_id bigint not null references access.projects,
  locale text not null,
  version int not null check (version > 0),
  texts jsonb not null,
  created_at timestamptz not null,
  primary key (project_id, locale, version)
);
comment on table access.project_texts is
  'A project''s own wording of opt-in mails, footers and pages, a row for each time it was set: the last one holds, and consent '
  'records name the version that the person read.';
comment on column access.project_texts.texts is 'ICU messages by key; a key that is not there has our text.';

create table access.project_environments (
  id bigint generated always as identity primary key,
  project_id bigint not null references access.projects,
  environment text not null check (environment in ('LIVE', 'TEST')),
  unique (project_id, environment)
);
comment on table access.project_environments is
  'The live and the test environment of each project. `environment_id` is what rows of other schemas belong to: it keeps '
  'tenants, projects and environments apart.';

create table access.api_keys (
  id uuid primary key,
  environment_id bigint not null references access.project_environments,
  name text not null,
  key_hash bytea not null unique,
  prefix text not null,
  last_four text not null,
  scopes text[] not null,
  rate_limit_per_minute int check (rate_limit_per_minute > 0),
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz
);
comment on table access.api_keys is 'Keys of the API. The key itself is shown once and not kept.';
comment on column access.api_keys.rate_limit_per_minute is 'Null: the installation''s.';
create index api_keys_of_environment on access.api_keys (environment_id, created_at desc);

alter table access.tenants enable row level security;
create policy app_rows on access.tenants for select to mailwright_app using (id = platform.tenant_id());
create policy system_rows on access.tenants to mailwright_system using (true) with check (true);
alter table access.projects enable row level security;
create policy app_rows on access.projects for select to mailwright_app using (id = platform.project_id());
create policy app_changes on access.projects for update to mailwright_app
  using (id = platform.project_id()) with check (id = platform.project_id());
create policy system_rows on access.projects to mailwright_system using (true) with check (true);
alter table access.project_texts enable row level security;
create policy app_rows on access.project_texts to mailwright_app
  using (project_id = platform.project_id()) with check (project_id = platform.project_id());
create policy system_rows on access.project_texts to mailwright_system using (true) with check (true);
grant select, insert on access.project_texts to mailwright_app, mailwright_system;
alter table access.project_environments enable row level security;
create policy app_rows on access.project_environments for select to mailwright_app
  using (id = platform.environment_id());
create policy system_rows on access.project_environments to mailwright_system using (true) with check (true);
alter table access.api_keys enable row level security;
create policy app_rows on access.api_keys for select to mailwright_app
  using ((environment_id = (select platform.environment_id())) is true);
create policy system_rows on access.api_keys to mailwright_system using (true) with check (true);
grant select on access.tenants, access.projects, access.project_environments, access.api_keys to mailwright_app;
grant update (name, description, sender_name, default_from_email, postal_address, reply_to, default_locale, time_zone, logo_url,
  color, tracking_host, updated_at) on access.projects to mailwright_app;
grant select, insert, update on access.tenants, access.projects, access.project_environments, access.api_keys
  to mailwright_system;

create function access.find_api_key(wanted_hash bytea)
  returns table (key_id uuid, key_hash bytea, tenant_id bigint, project_id bigint, environment_id bigint,
    environment text, scopes text[], rate_limit_per_minute int, expires_at timestamptz, revoked_at timestamptz)
  language sql stable security definer set search_path = pg_catalog as $$
  select k.id, k.key_hash, p.tenant_id, p.id, e.id, e.environment, k.scopes, k.rate_limit_per_minute, k.expires_at, k.revoked_at
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

create function access.find_environment(wanted bigint)
  returns table (tenant_id bigint, project_id bigint, environment_id bigint, environment text)
  language sql stable security definer set search_path = pg_catalog as $$
  select p.tenant_id, p.id, e.id, e.environment
  from access.project_environments e join access.projects p on p.id = e.project_id
  where e.id = wanted
$$;
comment on function access.find_environment is
  'The project and tenant of an environment. A signed token carries only the environment''s id.';
revoke all on function access.find_environment from public;
grant execute on function access.find_environment to mailwright_app, mailwright_system;

create function access.live_environments_of_tenant() returns setof bigint
  language sql stable security definer set search_path = pg_catalog as $$
  select e.id from access.projects p
  join access.project_environments e on e.project_id = p.id and e.environment = 'LIVE'
  where p.tenant_id = platform.tenant_id()
$$;
comment on function access.live_environments_of_tenant is
  'The live environments of all projects of the scope''s tenant. By definer''s rights: a scope sees only its own project''s row.';
revoke all on function access.live_environments_of_tenant from public;
grant execute on function access.live_environments_of_tenant to mailwright_app;

create function access.projects_of_tenant() returns bigint
  language sql stable security definer set search_path = pg_catalog as $$
  select count(*) from access.projects p where p.tenant_id = platform.tenant_id()
$$;
comment on function access.projects_of_tenant is
  'How many projects the scope''s tenant has. By definer''s rights: a scope sees only its own project''s row.';
revoke all on function access.projects_of_tenant from public;
grant execute on function access.projects_of_tenant to mailwright_app;

create function access.next_key(kind text) returns text
  language plpgsql volatile security definer set search_path = pg_catalog as $$
declare
  project bigint := platform.project_id();
  number bigint := nextval(format('access.%I', 'key_' || kind || '_' || project)::regclass);
  project_key text := (select p.project_key from access.projects p where p.id = project);
begin
  return project_key || '-' || case when kind = 'campaign' and number < 1000 then lpad(number::text, 3, '0') else number::text end;
end $$;
comment on function access.next_key is
  'The next key of a kind for the scope''s project, such as APIT-12; a campaign''s number has at least three digits.';
revoke all on function access.next_key from public;
grant execute on function access.next_key to mailwright_app;

create function access.next_subscriber_keys(quantity int) returns setof text
  language plpgsql volatile security definer set search_path = pg_catalog as $$
declare
  project bigint := platform.project_id();
  numbers regclass := format('access.%I', 'key_subscriber_' || project)::regclass;
  project_key text := (select p.project_key from access.projects p where p.id = project);
begin
  return query select project_key || '-' || nextval(numbers)::text from generate_series(1, quantity);
end $$;
comment on function access.next_subscriber_keys is
  'The next keys of many subscribers in one call: access.next_key looks the project up for each.';
revoke all on function access.next_subscriber_keys from public;
grant execute on function access.next_subscriber_keys to mailwright_app;

create function access.create_key_sequences() returns trigger
  language plpgsql security definer set search_path = pg_catalog as $$
declare kind text;
begin
  foreach kind in array array['subscriber', 'topic', 'campaign', 'segment', 'automation', 'relay'] loop
    execute format('create sequence access.%I', 'key_' || kind || '_' || new.id);
  end loop;
  return null;
end $$;
comment on function access.create_key_sequences is
  'Makes the sequences that number a new project''s keys, one a kind, shared by its two environments. Sequences, since a '
  'counter''s row would make a project''s writers wait for each other.';
create trigger create_key_sequences after insert on access.projects
  for each row execute function access.create_key_sequences();
