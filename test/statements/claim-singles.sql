-- Claims mails that belong to no campaign.
/* claim_singles */
      with present as materialized (
        select coalesce(
    (select e.epoch from messaging.server_epoch e where e.environment_id = $1), 0
  ) as epoch
      ), candidates as (
        select d.id, d.queued_on, d.state, d.lease_epoch, d.possible_duplicate from messaging.deliveries d
        where d.environment_id = $2 and d.single_ended_at is null and d.kind = 'AUTOMATION' and d.next_attempt_at <= platform.now()
          and (d.state in ('PENDING', 'DEFERRED') or (d.state in ('CLAIMED', 'SENDING') and d.lease_until <= platform.now()))
        order by d.next_attempt_at, d.id limit least($3::bigint, $4) for update skip locked
      ), due as materialized (
        select d.id, d.queued_on, coalesce((d.state = 'SENDING' or (d.state = 'CLAIMED' and d.lease_epoch <> present.epoch)), false) as in_doubt,
          d.possible_duplicate, present.epoch, platform.now() as claimed_at
        from (select * from candidates limit 1000) d cross join present
      )
      update messaging.deliveries d set state = 'CLAIMED',
        lease_token = $5, lease_until = platform.now() + $6::float8 * interval '1 millisecond',
        lease_epoch = case when $7::boolean then nullif(due.epoch, 0) end,
        possible_duplicate = d.possible_duplicate or due.in_doubt
      from due where d.id = due.id and d.queued_on = due.queued_on and d.environment_id = $8
      returning d.id, d.queued_on, d.kind, d.source_id, d.subscriber_id, d.address, d.locale, d.message_id, d.lease_token,
        d.lease_epoch, d.attempt, d.created_at, coalesce(d.due_since, due.claimed_at) as due_since,
        due.in_doubt as interrupted, due.possible_duplicate, d.relay_key, d.traceparent,
        d.variant;
