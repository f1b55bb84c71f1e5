-- Ends attempts of deliveries and marks what goes on the wire next: one mail that the relay took, one without a relay.
/* outcome_batch */ with sent as (
        update messaging.deliveries d set state = 'SENT', reason = null, last_error = null,
          attempt = d.attempt + (d.state = 'CLAIMED')::int, sent_at = platform.now(), finished_at = platform.now(),
          lease_token = null, lease_until = null, lease_epoch = null
        where d.id = any($1::uuid[]) and d.environment_id = $2 and d.queued_on = $3::date and d.queued_on >= '2026-03-01'::date and d.queued_on < '2026-04-01'::date
          and ((d.id, d.lease_token) not in (
            select k.id, k.lease_token from unnest($4::uuid[], $5::uuid[]) as k(id, lease_token)
          )) is false
        returning d.id, d.state, d.reason, d.kind, d.source_id, d.environment_id, d.relay_key, d.address_key
      ), told as materialized (select $6::jsonb as outcomes), rest as (
        update messaging.deliveries d set (state, reason, last_error, attempt, next_attempt_at, possible_duplicate,
          due_since, provider_message_id, sent_at, finished_at) = (
          select o.state, o.reason, o.last_error,
            greatest(d.attempt + o.tried * (d.state = 'CLAIMED')::int - o.uncounted, 0),
            greatest(o.next_attempt_at, d.next_attempt_at), o.possible_duplicate, coalesce(o.due_since, d.due_since),
            o.provider_message_id, case when o.state = 'SENT' then platform.now() end,
            case when o.state <> 'DEFERRED' then platform.now() end
          from told t cross join lateral jsonb_to_record(t.outcomes -> (d.id || '/' || d.lease_token)) as o(
            state text, reason text, last_error text, next_attempt_at timestamptz, due_since timestamptz,
            possible_duplicate boolean, provider_message_id text, tried int, uncounted int)
        ), lease_token = null, lease_until = null, lease_epoch = null
        where d.id = any($7::uuid[]) and d.environment_id = $8 and d.queued_on = $9::date and d.queued_on >= '2026-03-01'::date and d.queued_on < '2026-04-01'::date
          and ((d.id, d.lease_token) not in (
            select k.id, k.lease_token from unnest($10::uuid[], $11::uuid[]) as k(id, lease_token)
          )) is false
        returning d.id, d.state, d.reason, d.kind, d.source_id, d.environment_id, d.relay_key, d.address_key
      ), written as (
        select * from sent union all select * from rest
      ), newly_sent as (
        select source_id, environment_id, count(*) as n from written
        where kind = 'CAMPAIGN' and state = 'SENT' group by source_id, environment_id order by source_id
      ), counted_sent as (
        insert into messaging.campaign_counters as c (campaign_id, writer, environment_id, sent, first_sent_at, last_sent_at)
        select source_id, $12, environment_id, n, platform.now(), platform.now() from newly_sent
        on conflict (campaign_id, writer, environment_id) do update set sent = c.sent + excluded.sent,
          first_sent_at = least(c.first_sent_at, excluded.first_sent_at),
          last_sent_at = greatest(c.last_sent_at, excluded.last_sent_at)
        returning 1
      ), counted_minute as (
        insert into messaging.campaign_minutes as m (campaign_id, minute, writer, environment_id, sent, delivered)
        select source_id, date_trunc('minute', platform.now()), $13, environment_id, n, n from newly_sent
        -- after the counters, as everywhere: one order of locks
        where (select count(*) from counted_sent) >= 0
        on conflict (campaign_id, minute, writer, environment_id) do update set sent = m.sent + excluded.sent,
          delivered = m.delivered + excluded.delivered
        returning 1
      ), counted_hour as (
        insert into messaging.mail_hours as h (environment_id, hour, campaign_id, relay_key, provider, writer, "sent", "delivered")
    select v.environment_id, date_bin('1 hour', v.at, timestamptz '2000-01-01Z'), coalesce(v.campaign_id, '00000000-0000-0000-0000-000000000000'), v.relay_key, v.provider, $14::int, sum("v"."sent"), sum("v"."delivered")
    from (
            select environment_id, platform.now() as at, case when kind = 'CAMPAIGN' then source_id end as campaign_id,
              coalesce(relay_key, '') as relay_key, coalesce($15::jsonb ->> split_part(address_key, '@', 2), 'other') as provider, 1 as sent, 1 as delivered
            from written where kind in ('CAMPAIGN', 'AUTOMATION') and state = 'SENT') v where (select count(*) from "counted_minute") >= 0
    group by 1, 2, 3, 4, 5 having sum("v"."sent") <> 0 or sum("v"."delivered") <> 0 order by 1, 2, 3, 4, 5
    on conflict (environment_id, hour, campaign_id, relay_key, provider, writer) do update set "sent" = "h"."sent" + "excluded"."sent", "delivered" = "h"."delivered" + "excluded"."delivered"
      ), ended as materialized (
        -- by itself: on Citus a function asks nothing where a query of one table calls it
        select $16::timestamptz as period, count(*) filter (where state in ('SENT', 'AMBIGUOUS')) as used,
          count(*) filter (where state in ('FAILED', 'SKIPPED')) as released
        from written
      ), settled as (
        select (billing.settle_emails($17, n.period, n.used, n.released)) is null from ended n
        where n.period is not null and n.used + n.released > 0
      ), marked as (
        update messaging.deliveries d set state = 'SENDING', attempt = d.attempt + 1,
          lease_until = platform.now() + $18::float8 * interval '1 millisecond', relay_key = $19::jsonb ->> d.id::text
        where d.id = any($20::uuid[]) and d.environment_id = $21 and d.queued_on = $22::date and d.queued_on >= '2026-03-01'::date and d.queued_on < '2026-04-01'::date
          and ((d.id, d.lease_token) not in (
            select k.id, k.lease_token from unnest($23::uuid[], $24::uuid[]) as k(id, lease_token)
          )) is false and d.state = 'CLAIMED' and ((d.kind = 'CAMPAIGN' and exists (
            select 1 from messaging.campaigns c
            where c.id = d.source_id and c.environment_id = $25 and (c.status = 'SENDING') is true
              and exists (
      select 1 from audience.subscribers b
      where b.id = d.subscriber_id and b.environment_id = $26 and (b.paused_until is null or b.paused_until <= $27)
        and exists (
          select 1 from audience.consents k
          where k.subscriber_id = b.id and k.environment_id = $28
            and k.topic_id = any(c.topic_ids) and k.status = 'SUBSCRIBED'
        )
        and not exists (
          select 1 from audience.suppressions s where s.environment_id = $29 and s.email_key = b.email_key
        )
    )
          ))) is true
        returning d.id
      )
      select array_to_string(array(select id from marked), ',') as marked,
        (select coalesce(jsonb_agg(jsonb_build_object('id', id, 'reason', reason)), '[]') from written
          where state = 'FAILED') as failed,
        array_to_string(array(select id from written where state = 'SENT'), ',') as sent,
        coalesce((select e.epoch from messaging.server_epoch e where e.environment_id = $30), 0) as epoch,
        (select count(*) from settled) as settled;
