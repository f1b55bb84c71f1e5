-- Records a batch of reported events: finds the people, takes the clients' own ids, writes what is new.
/* record_events */ with people as materialized (
      select id, email_key, external_id from audience.subscribers
      where environment_id = $1 and email_key = any($2::text[])
      order by id for key share
    ), given as materialized (
      select g.place - 1 as place, g.id, coalesce(p.id, x.id) as subscriber_id, g.name, g.properties, g.occurred_at, g.unique_id, g.once
      from unnest($3::uuid[], $4::text[], $5::text[],
        $6::text[],
        $7::text[],
        $8::timestamptz[],
        $9::text[], $10::text[])
        with ordinality g(id, email_key, external_id, name, properties, occurred_at, unique_id, once, place)
      left join people p on p.email_key = g.email_key left join people x on x.external_id = g.external_id
    ), first as (
      insert into audience.event_unique_ids as u (unique_id, environment_id, event_id, recorded_at)
      select distinct on (g.once) g.once, $11, g.id, $12 from given g
      where g.once is not null and g.subscriber_id is not null order by g.once, g.place
      on conflict (unique_id, environment_id) do update set event_id = excluded.event_id, recorded_at = excluded.recorded_at
        where u.recorded_at <= $13
      returning event_id
    ), recorded as (
      insert into audience.subscriber_events (id, occurred_at, environment_id, subscriber_id, name, properties, unique_id,
        created_at)
      select g.id, g.occurred_at, $14, g.subscriber_id, g.name, g.properties::jsonb, g.unique_id, $15
      from given g
      where g.subscriber_id is not null and (g.once is null or g.id in (select event_id from first))
      returning id
    )
    select (select count(*)::int from recorded) as accepted,
      array(select g.place::int from given g where g.subscriber_id is null order by g.place) as unknown,
      (select g.subscriber_id from given g where g.place = 0) as first_person;
