create table messaging.media (
  id uuid not null,
  environment_id bigint not null,
  name text not null,
  filename text,
  content_type text not null check (content_type in ('image/png', 'image/jpeg', 'image/gif', 'image/webp')),
  width integer not null,
  height integer not null,
  bytes integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  shown_on date,
  primary key (id, environment_id)
);
comment on table messaging.media is 'Images that mails show by their URL. Their bytes are on disk or in S3, written before the row is.';
comment on column messaging.media.name is 'Random, in the URL; it begins with the environment''s id in base 36.';
comment on column messaging.media.shown_on is 'Day of the last mail that is known to show it, as far as no content that names it is kept.';
create unique index media_name on messaging.media (environment_id, name);
create index media_in_order on messaging.media (environment_id, created_at, id);
call platform.protect('messaging.media', 'select, insert, update, delete');

create table messaging.media_uses (
  media_id uuid not null,
  kind text not null check (kind in ('campaign', 'automation', 'automation-version', 'template')),
  user_id uuid not null,
  environment_id bigint not null,
  primary key (media_id, kind, user_id, environment_id),
  foreign key (media_id, environment_id) references messaging.media (id, environment_id) on delete cascade
);
comment on table messaging.media_uses is 'Content that names an image; written by the triggers `note_media`.';
create index media_uses_of_user on messaging.media_uses (environment_id, user_id);
call platform.protect('messaging.media_uses', 'select, insert, delete');

create table messaging.media_usage (
  environment_id bigint primary key,
  bytes bigint not null
);
comment on table messaging.media_usage is 'Size of an environment''s images together, which its quota bounds.';
call platform.protect('messaging.media_usage', 'select, insert, update');

create table messaging.media_removals (
  environment_id bigint not null,
  name text not null,
  due_at timestamptz not null,
  primary key (environment_id, name)
);
comment on table messaging.media_removals is 'Files to be removed from the storage: of images that were deleted, and of uploads that have not ended when they are due.';
create index media_removals_due on messaging.media_removals (due_at);
call platform.protect('messaging.media_removals', 'select, insert, update, delete');

-- Arguments: the kind of the content, the column with its id, and the columns with its text.
create function messaging.note_media() returns trigger language plpgsql as $$
declare
  content jsonb := case tg_op when 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
  environment bigint := content ->> 'environment_id';
  owner uuid := content ->> tg_argv[1];
  is_deleted boolean := tg_op = 'DELETE' or content ->> 'deleted_at' is not null;
  today date := (platform.now() at time zone 'UTC')::date;
  written text := '';
  names text[];
  dropped uuid[];
begin
  for i in 2 .. tg_nargs - 1 loop
    exit when is_deleted;
    written := concat_ws(' ', written, content ->> tg_argv[i]);
  end loop;
  names := array(select distinct m[1] from regexp_matches(written, '\m([0-9a-z]{1,13}-[0-9a-f]{32})\M', 'g') m);
  with gone as (
    delete from messaging.media_uses u
    where u.environment_id = environment and u.user_id = owner and (u.kind = tg_argv[0] or is_deleted)
    returning u.media_id
  ) select array_agg(g.media_id) into dropped from gone g;
  if cardinality(names) > 0 then
    -- Locked: an image that is being deleted is no longer there, or is kept until this is committed.
    insert into messaging.media_uses (media_id, kind, user_id, environment_id)
    select m.id, tg_argv[0], owner, environment from messaging.media m
    where m.environment_id = environment and m.name = any(names) for key share
    on conflict (media_id, kind, user_id, environment_id) do nothing;
  end if;
  if dropped is not null and content ->> 'status' is distinct from 'DRAFT' then
    -- Mails may have shown it until now.
    update messaging.media m set shown_on = greatest(m.shown_on, today)
    where m.environment_id = environment and m.id = any(dropped);
  end if;
  return null;
end $$;
comment on function messaging.note_media is 'Keeps `media_uses` of a content that is written or deleted.';

create trigger note_media_of_new after insert or delete on messaging.campaigns for each row
  execute function messaging.note_media('campaign', 'id', 'content_json', 'translations');
create trigger note_media_of_changed after update of content_json, translations, deleted_at on messaging.campaigns for each row
  execute function messaging.note_media('campaign', 'id', 'content_json', 'translations');
create trigger note_media_of_new after insert or delete on messaging.automations for each row
  execute function messaging.note_media('automation', 'id', 'nodes');
create trigger note_media_of_changed after update of nodes, deleted_at on messaging.automations for each row
  execute function messaging.note_media('automation', 'id', 'nodes');
-- People in a version before the newest may get mails of it for a while: the day of its end is kept with the image.
create trigger note_media_of_new after insert on messaging.automation_versions for each row
  execute function messaging.note_media('automation-version', 'automation_id', 'nodes');
