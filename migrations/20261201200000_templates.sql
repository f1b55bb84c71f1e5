create or replace function access.create_key_sequences() returns trigger
  language plpgsql security definer set search_path = pg_catalog as $$
declare kind text;
begin
  foreach kind in array array['subscriber', 'topic', 'campaign', 'segment', 'automation', 'relay', 'template'] loop
    execute format('create sequence access.%I', 'key_' || kind || '_' || new.id);
  end loop;
  return null;
end $$;
do $$
declare project bigint;
begin
  for project in select id from access.projects loop
    execute format('create sequence access.%I', 'key_template_' || project);
  end loop;
end $$;

create table messaging.templates (
  id uuid not null,
  environment_id bigint not null,
  template_key text not null,
  alias text collate "C",
  name text not null,
  kind text not null check (kind in ('CAMPAIGN', 'MESSAGE', 'PARTIAL', 'OPT_IN')),
  metadata jsonb not null default '{}',
  draft jsonb not null,
  draft_version int,
  published_version int,
  last_version int not null default 0,
  content_id uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (id, environment_id),
  unique (environment_id, template_key),
  unique (environment_id, alias)
);
comment on table messaging.templates is 'Content that mails are made of, by name: a draft, and versions of which one is in use.';
comment on column messaging.templates.draft_version is 'The number that the draft would get; null where it is what is in use.';
comment on column messaging.templates.content_id is 'The content in use, with layout and partials put in; null where none is, and of a PARTIAL.';
create index templates_in_order on messaging.templates (environment_id, created_at, id);
create index templates_of_kind on messaging.templates (environment_id, kind, created_at, id);
call platform.protect('messaging.templates', 'select, insert, update, delete');

create table messaging.template_versions (
  id uuid not null,
  environment_id bigint not null,
  template_id uuid not null,
  version int not null,
  content jsonb not null,
  created_at timestamptz not null,
  primary key (id, environment_id),
  unique (environment_id, template_id, version),
  foreign key (template_id, environment_id) references messaging.templates (id, environment_id)
);
comment on table messaging.template_versions is 'Templates as they were published, and as their authors wrote them. Never changed.';
create index template_versions_in_order on messaging.template_versions (environment_id, template_id, created_at, id);
call platform.protect('messaging.template_versions', 'select, insert, delete');

create table messaging.template_contents (
  id uuid not null,
  environment_id bigint not null,
  template_id uuid not null,
  version int not null,
  content jsonb not null,
  created_at timestamptz not null,
  primary key (id, environment_id)
);
comment on table messaging.template_contents is
  'Versions with the layout and partials of a moment put in: mails refer to them. Never changed, and kept when the template is deleted.';
create index template_contents_of_template on messaging.template_contents (environment_id, template_id, created_at, id);
create index template_contents_of_version on messaging.template_contents (environment_id, template_id, version, created_at, id);
call platform.protect('messaging.template_contents', 'select, insert');

create table messaging.template_uses (
  environment_id bigint not null,
  used_id uuid not null,
  template_id uuid not null,
  primary key (environment_id, used_id, template_id),
  foreign key (used_id, environment_id) references messaging.templates (id, environment_id),
  foreign key (template_id, environment_id) references messaging.templates (id, environment_id)
);
comment on table messaging.template_uses is 'Layouts and partials that the published templates name themselves.';
create index template_uses_of_template on messaging.template_uses (environment_id, template_id);
call platform.protect('messaging.template_uses', 'select, insert, delete');
