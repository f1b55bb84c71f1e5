-- Row-level security for the owner of the tables as well. Where a login owns them and a statement of the programs got out
-- of its role, it would have seen every row. Superusers alone still pass.
--
-- The owner sees rows in functions with definer's rights, each of which answers one question of its own: they and nothing
-- else run with pg_catalog as their whole search path. (A function cannot set a parameter of ours unless a superuser made
-- it.) And it does where it says `set mailwright.owner = 'on'`, as migrations do. Foreign keys are checked past it by
-- PostgreSQL itself.

create function platform.is_owner_at_work() returns boolean language sql stable parallel safe
  return current_setting('search_path') = 'pg_catalog' or coalesce(current_setting('mailwright.owner', true), '') = 'on';

-- Called after every migration, for the tables that it made.
create procedure platform.force_policies() language plpgsql as $$
declare
  schema_owner oid := (select nspowner from pg_namespace where nspname = 'platform');
  target record;
begin
  for target in
    select c.oid::regclass as name from pg_class c
    where c.relowner = schema_owner and c.relrowsecurity and c.relkind in ('r', 'p')
      and not exists (select from pg_policy p where p.polrelid = c.oid and p.polname = 'owner_rows')
  loop
    execute format('alter table %s force row level security', target.name);
    execute format('create policy owner_rows on %s to %I using (platform.is_owner_at_work()) '
      'with check (platform.is_owner_at_work())', target.name, pg_get_userbyid(schema_owner));
  end loop;
end $$;
revoke all on procedure platform.force_policies from public;

-- Its rows are those of its own condition. As the owner's it would now be asked by a policy, under which no condition on
-- texts may use an index; mailwright_system's policies are `true`, which is none. Later migrations drop it and make it anew.
grant create on schema audience to mailwright_system;
alter view audience.scoped_subscribers owner to mailwright_system;
revoke create on schema audience from mailwright_system;

-- The owner may become our roles, and has none of their rights before it did. Before 16 a membership has no say in that.
do $$
begin
  if current_setting('server_version_num')::int >= 160000 and not (select rolsuper from pg_roles where rolname = current_user) then
    execute format('grant mailwright_app, mailwright_system to %I with inherit false, set true', current_user);
  end if;
end $$;

-- Of the file's text, so that a change of what was applied is noticed.
alter table public.schema_migrations add column digest text;
