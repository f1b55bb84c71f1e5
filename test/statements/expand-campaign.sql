-- Queues a chunk of the recipients of a campaign to one topic.
/* expand_campaign */ with candidates as materialized (
        select c.subscriber_id from audience.consents c
          where c.environment_id = $1 and c.topic_id = $2 and c.status = 'SUBSCRIBED' and c.subscribed_at <= $3
            and c.subscriber_id > $4::uuid order by 1 limit 1000
      ), people as materialized (
        select b.id, b.email, b.email_key, b.locale, b.time_zone from audience.subscribers b
        where b.environment_id = $5 and b.id = any(array(select subscriber_id from candidates))
          and (b.paused_until is null or b.paused_until <= $6)
      ), audience as (
        select p.id as subscriber_id, p.email as address, p.email_key as address_key, p.locale, p.time_zone from people p
        where not exists (
          select 1 from audience.suppressions s where s.environment_id = $7 and s.email_key = p.email_key offset 0
        ) and true
      ), page as materialized (
        select a.subscriber_id, a.address, a.address_key, a.locale, a.time_zone, platform.new_id() as id from audience a
      ), added as (
        insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address,
          address_key, locale, message_id, state, next_attempt_at, created_at)
        select page.id, $8::date, $9, 'CAMPAIGN', $10,
          page.subscriber_id, page.address, page.address_key, page.locale, '<' || page.id || '@' || $11::text || '>',
          'PENDING', $12::timestamptz, $13
        from page
        returning next_attempt_at, id
      ), opened as (
        select * from added
      ), front as (
        update messaging.campaigns c set front_at = first.next_attempt_at, front_id = first.id
        from (select o.next_attempt_at, o.id from opened o order by o.next_attempt_at, o.id limit 1) first
        where c.id = $14 and c.environment_id = $15
          and (first.next_attempt_at, first.id) < (c.front_at, c.front_id)
      )
      select (select count(*) from candidates) as looked_at,
        (select count(*) from opened) as added,
        (select subscriber_id from candidates order by subscriber_id desc limit 1) as last;
