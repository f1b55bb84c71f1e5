/**
 * How many subscribers a tenant has, counted in one live environment after the other. A function by its definer's rights counts them
 * in one statement, and on Citus those of its own environment alone: nodes are told role and environment of the transaction. On one
 * PostgreSQL this form takes 0.2 ms instead of 0.01, with one environment.
 */
export const COUNTING_EACH_ENVIRONMENT = `
  create or replace function access.live_environments_of_tenant() returns setof bigint
    language sql stable security definer set search_path = pg_catalog as $$
    select e.id from access.projects p
    join access.project_environments e on e.project_id = p.id and e.environment = 'LIVE'
    where p.tenant_id = platform.tenant_id()
  $$;
  comment on function access.live_environments_of_tenant is
    'The live environments of all projects of the scope''s tenant. By definer''s rights: a scope sees only its own project''s row.';
  revoke all on function access.live_environments_of_tenant from public;
  grant execute on function access.live_environments_of_tenant to mailwright_app;

  create or replace function audience.live_subscribers_of_tenant() returns bigint language plpgsql as $$
  declare
    own text := current_setting('mailwright.environment_id');
    environment bigint;
    counted bigint;
    total bigint := 0;
  begin
    for environment in select * from access.live_environments_of_tenant() loop
      execute format('set local mailwright.environment_id = %L', environment);
      select coalesce(sum(v.value), 0) into counted
      from audience.counter_values v where v.environment_id = environment and v.kind = 'SUBSCRIBERS';
      total := total + counted;
    end loop;
    execute format('set local mailwright.environment_id = %L', own);
    return total;
  end $$`;
