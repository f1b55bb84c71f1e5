-- Claims a batch of a campaign, from its front on.
/* claim_campaign */
      with present as materialized (
        select coalesce(
    (select e.epoch from messaging.server_epoch e where e.environment_id = $1), 0
  ) as epoch
      ), candidates as (
        select d.id, d.queued_on, d.state, d.lease_epoch, d.possible_duplicate from messaging.deliveries d
        where d.environment_id = $2 and d.source_id = $3 and d.kind = 'CAMPAIGN' and d.queued_on = $4::date and d.finished_at is null
          and (d.next_attempt_at, d.id) >= (
            (select c.front_at from messaging.campaigns c where c.id = $5 and c.environment_id = $6),
            (select c.front_id from messaging.campaigns c where c.id = $7 and c.environment_id = $8)
          )
          and exists (
            select 1 from messaging.campaigns c
            where c.id = $9 and c.environment_id = d.environment_id and (c.status = 'SENDING') is true
              and c.usage_period is not distinct from $10::timestamptz
          ) and d.next_attempt_at <= platform.now()
          and (d.state in ('PENDING', 'DEFERRED') or (d.state in ('CLAIMED', 'SENDING') and d.lease_until <= platform.now()))
        order by d.next_attempt_at, d.id limit least($11::bigint, $12) for update skip locked
      ), due as materialized (
        select d.id, d.queued_on, coalesce((d.state = 'SENDING' or (d.state = 'CLAIMED' and d.lease_epoch <> present.epoch)), false) as in_doubt,
          d.possible_duplicate, present.epoch, platform.now() as claimed_at
        from (select * from candidates limit 1000) d cross join present
      )
      update messaging.deliveries d set state = 'CLAIMED',
        lease_token = $13, lease_until = platform.now() + $14::float8 * interval '1 millisecond',
        lease_epoch = case when $15::boolean then nullif(due.epoch, 0) end,
        possible_duplicate = d.possible_duplicate or due.in_doubt
      from due where d.id = due.id and d.queued_on = due.queued_on and d.environment_id = $16
      returning d.id, d.queued_on, d.kind, d.source_id, d.subscriber_id, d.address, d.locale, d.message_id, d.lease_token,
        d.lease_epoch, d.attempt, d.created_at, coalesce(d.due_since, due.claimed_at) as due_since,
        due.in_doubt as interrupted, due.possible_duplicate, d.relay_key, d.traceparent,
        coalesce(d.variant, (
          select c.winning_variant from messaging.campaigns c where c.id = $17 and c.environment_id = $18
        )) as variant;
