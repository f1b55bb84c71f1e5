-- A consent that was written with its subscriber's next status is not written again when that status follows.
create or replace function audience.count_subscribers() returns trigger language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  moved record;
  counted record;
begin
  if tg_op = 'INSERT' then
    for counted in
      select environment_id, 'SUBSCRIBERS' as kind, '' as key, status, count(*) as delta, null::timestamptz as created_at
      from rows_after group by environment_id, status
      union all
      select environment_id, 'CREATED', audience.day_of(created_at), status, count(*), created_at
      from rows_after group by environment_id, created_at, status
    loop
      insert into audience.counter_deltas (environment_id, kind, key, state, delta, created_at)
      values (counted.environment_id, counted.kind, counted.key, counted.status, counted.delta, counted.created_at);
    end loop;
    return null;
  end if;
  if tg_op = 'DELETE' then
    for counted in
      select environment_id, 'SUBSCRIBERS' as kind, '' as key, status, -count(*) as delta, null::timestamptz as created_at
      from rows_before group by environment_id, status
      union all
      select environment_id, 'CREATED', audience.day_of(created_at), status, -count(*), created_at
      from rows_before group by environment_id, created_at, status
    loop
      insert into audience.counter_deltas (environment_id, kind, key, state, delta, created_at)
      values (counted.environment_id, counted.kind, counted.key, counted.status, counted.delta, counted.created_at);
    end loop;
    return null;
  end if;
  for moved in
    select environment_id, array_agg(id) as ids, array_agg(status) as statuses, array_agg(created_at) as created
    from (
      select environment_id, id, max(status) filter (where is_after) as status, max(created_at) filter (where is_after) as created_at
      from (
        select environment_id, id, status, created_at, false as is_after from rows_before
        union all
        select environment_id, id, status, created_at, true from rows_after
      ) r
      group by environment_id, id having min(status) <> max(status) or min(created_at) <> max(created_at)
    ) m
    group by environment_id
  loop
    if cardinality(moved.ids) = 1 then
      -- Through a subselect: a node of Citus crashes on an element of an array in SET.
      update audience.consents c set subscriber_status = m.status, subscriber_created_at = m.created_at
      from (select moved.statuses[1] as status, moved.created[1] as created_at) m
      where c.environment_id = moved.environment_id and c.subscriber_id = moved.ids[1]
        and (c.subscriber_status, c.subscriber_created_at) is distinct from (m.status, m.created_at);
    else
      update audience.consents c set subscriber_status = m.status, subscriber_created_at = m.created_at
      from unnest(moved.ids, moved.statuses, moved.created) as m(id, status, created_at)
      where c.environment_id = moved.environment_id and c.subscriber_id = m.id;
    end if;
  end loop;
  if not found then return null; end if;
  for counted in
    with changed as (
      select environment_id, status, created_at, sign, min(created_at) over person <> max(created_at) over person as is_moved
      from (
        select environment_id, id, status, created_at, -1 as sign from rows_before
        union all
        select environment_id, id, status, created_at, 1 from rows_after
      ) r
      window person as (partition by environment_id, id)
    )
    select environment_id, kind, key, state, created_at, sum(sign) as delta from (
      select environment_id, 'SUBSCRIBERS' as kind, '' as key, status as state, null::timestamptz as created_at, sign from changed
      union all
      select environment_id, 'CREATED', audience.day_of(created_at), status, case when is_moved then created_at end, sign from changed
    ) r
    group by environment_id, kind, key, state, created_at having sum(sign) <> 0
  loop
    insert into audience.counter_deltas (environment_id, kind, key, state, delta, created_at)
    values (counted.environment_id, counted.kind, counted.key, counted.state, counted.delta, counted.created_at);
  end loop;
  return null;
end $$;
