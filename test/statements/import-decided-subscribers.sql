-- Makes subscribers of rows that the import has decided about one by one: erased addresses, rows checked anew.
/* import_decided_subscribers */ with made as (
        insert into audience.subscribers (environment_id, source, status, created_at, updated_at, id, email, email_key,
          first_name, last_name, phone, locale, time_zone, custom_fields, subscriber_key)
        select $1, 'IMPORT', $2, $3::timestamptz, $4::timestamptz, platform.new_id(),
          n.email, n.email_key, n.first_name, n.last_name, n.phone, n.locale, n.time_zone,
          n.custom_fields::jsonb, n.subscriber_key
        from rows from (
          unnest($5::text[],
            $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[]),
          access.next_subscriber_keys($13)
        ) as n(email, email_key, first_name, last_name, phone, locale, time_zone, custom_fields, subscriber_key)
        returning id, status, created_at
      ),
    changed as materialized (
    select m.id as subscriber_id, m.status as subscriber_status, m.created_at as subscriber_created_at, c.*,
      null::text as from_status, false as has_expired
    from made m cross join unnest($14::uuid[], $15::text[],
    $16::timestamptz[], $17::timestamptz[],
    $18::timestamptz[], $19::timestamptz[],
    $20::timestamptz[]) as c(topic_id, status, granted_at, confirmed_at, revoked_at, token_expires_at, subscribed_at)
  ),
    written as (insert into audience.consents (environment_id, subscriber_id, subscriber_status, subscriber_created_at, topic_id, status, granted_at, confirmed_at, revoked_at, token_expires_at, subscribed_at) select $21::bigint, subscriber_id, subscriber_status, subscriber_created_at, topic_id, status, granted_at, confirmed_at, revoked_at, token_expires_at, subscribed_at from changed returning topic_id),
    recorded as (
      insert into audience.consent_ledger (environment_id, id, subscriber_id, topic_id, from_status, to_status, occurred_at,
        actor, actor_id, source, source_url, ip_address, user_agent, consent_text, form_version, message_id,
        text_locale, text_version)
      select $22::bigint, platform.new_id(), subscriber_id, topic_id, from_status, status, $23::timestamptz,
    $24, $25, $26, $27, $28, $29,
    $30, $31, $32,
    $33, $34::int from changed where from_status is distinct from status
      returning id
    ),
    asked as (
      insert into audience.confirmations (id, environment_id, subscriber_id, topic_ids, is_repeat, created_at, expires_at)
      select platform.new_id(), $35::bigint, subscriber_id, array_agg(topic_id), $36::boolean,
        $37::timestamptz,
        max(token_expires_at)
      from changed where status = 'PENDING_CONFIRMATION' and $38::boolean group by subscriber_id
      returning id
    )
      select count(*) as number, (select array_agg(id) from asked) as confirmation_ids from made b;
