-- Row-level security for the owner of the tables as well. Where a login owns them and a statement of the programs got out
-- of its role, it would have seen every row. Superusers alone still pass.
--
-- The owner sees rows in functions with definer's rights, each of which answers one question of its own: they and nothing
-- else run with pg_catalog as their whole search path. (A function cannot set a parameter of ours unless a superuser made
-- it.) And it does where it says `set mailwright.owner = 'on'`, as migrations do. Foreign keys are checked past it by
-- PostgreSQL itself.

-- Stands for whoever owns the schema, so that a dump can be restored by an owner of another name.
do $$
begin
  if not exists (select from pg_roles where rolname = 'mailwright_owner') then
    create role mailwright_owner nologin;
  end if;
exception when duplicate_object or unique_violation then null; -- another database of this server was faster
end $$;

-- The owner may become our roles, and has none of their rights before it did. Before 16 a membership has no say in that.
do $$
begin
  execute format('grant mailwright_owner to %I', current_user);
  if current_setting('server_version_num')::int >= 160000 and not (select rolsuper from pg_roles where rolname = current_user) then
    execute format('grant mailwright_app, mailwright_system to %I with inherit false, set true', current_user);
  end if;
end $$;

create function platform.is_owner_at_work() returns boolean language sql stable parallel safe
  return current_setting('search_path') = 'pg_catalog' or coalesce(current_setting('mailwright.owner', true), '') = 'on';

-- Called after every migration, for the tables that it made, and by each `migrate`, since a dump may be restored without
-- its owners.
create procedure platform.force_policies() language plpgsql as $$
declare
  schema_owner oid := (select nspowner from pg_namespace where nspname = 'platform');
  target regclass;
begin
  for target in
    select c.oid from pg_class c
    where c.relowner = schema_owner and c.relrowsecurity and c.relkind in ('r', 'p') and not c.relforcerowsecurity
  loop
    execute format('alter table %s force row level security', target);
    execute format('create policy owner_rows on %s to mailwright_owner using (platform.is_owner_at_work()) '
      'with check (platform.is_owner_at_work())', target);
  end loop;
  -- Its rows are those of its own condition. As the owner's it would be asked by a policy, under which no condition on
  -- texts may use an index; mailwright_system's policies are `true`, which is none. Who changes it drops it and makes it
  -- anew.
  if (select relowner from pg_class where oid = 'audience.scoped_subscribers'::regclass) <> 'mailwright_system'::regrole then
    grant create on schema audience to mailwright_system;
    alter view audience.scoped_subscribers owner to mailwright_system;
    revoke create on schema audience from mailwright_system;
  end if;
end $$;
revoke all on procedure platform.force_policies from public;

-- Of the file's text, so that a change of what was applied is noticed.
alter table public.schema_migrations add column digest text;
