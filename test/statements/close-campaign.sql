-- Ends a chunk of the open deliveries of a campaign that was cancelled or failed.
/* close_campaign */ with present as materialized (
        select coalesce(
    (select e.epoch from messaging.server_epoch e where e.environment_id = $1), 0
  ) as epoch
      ), open as materialized (
        select d.id, d.queued_on, d.next_attempt_at, coalesce((d.state = 'SENDING' or (d.state = 'CLAIMED' and d.lease_epoch <> (select epoch from present))), false) as in_doubt
        from messaging.campaigns c cross join messaging.deliveries d
        where c.id = $2 and c.environment_id = $3 and d.source_id = c.id and d.environment_id = c.environment_id and d.kind = 'CAMPAIGN'
          and d.queued_on = (c.queued_at at time zone 'UTC')::date and d.finished_at is null
          and (d.next_attempt_at, d.id) >= (c.front_at, c.front_id)
          and (d.next_attempt_at, d.id) > ($4::timestamptz, $5::uuid)
          and (not coalesce((d.state = 'SENDING' or (d.state = 'CLAIMED' and d.lease_epoch <> (select epoch from present))), false) or d.lease_until <= $6)
        order by d.next_attempt_at, d.id limit 5000 for update of d skip locked
      ), ended as (
        update messaging.deliveries d set
          state = case when open.in_doubt then 'AMBIGUOUS' else 'CANCELLED' end,
          reason = case when open.in_doubt then 'no-reply' else $7 end,
          finished_at = $8, lease_token = null, lease_until = null, lease_epoch = null
        from open where d.id = open.id and d.queued_on = open.queued_on and d.environment_id = $9
        returning d.state
      )
      select count(*) filter (where state = 'CANCELLED') as cancelled, count(*) filter (where state = 'AMBIGUOUS') as unknown,
        (
          select jsonb_build_object('at', next_attempt_at, 'id', id) from open order by next_attempt_at desc, id desc limit 1
        ) as last
      from ended;
