-- Makes subscribers of rows that the import has decided about one by one: erased addresses, rows checked anew.
/* import_decided_subscribers */ with made as (
        insert into audience.subscribers (environment_id, source, status, created_at, updated_at, id, email, email_key,
          external_id, first_name, last_name, phone, locale, time_zone, custom_fields, subscriber_key)
        select $1, 'IMPORT', $2, $3::timestamptz, $4::timestamptz, platform.new_id(),
          n.email, n.email_key, n.external_id, n.first_name, n.last_name, n.phone, n.locale, n.time_zone,
          n.custom_fields::jsonb, k.project_key || '-' || k.numbers[n.place]
        from unnest($5::text[],
          $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[])
          with ordinality as n(email, email_key, external_id, first_name, last_name, phone, locale, time_zone, custom_fields, place)
        cross join access.next_subscriber_numbers($14) k
        returning id, status, created_at
      ),
    changed as materialized (
    select m.id as subscriber_id, m.status as subscriber_status, m.created_at as subscriber_created_at, c.*,
      null::text as from_status, false as has_expired
    from made m cross join unnest($15::uuid[], $16::text[],
    $17::timestamptz[], $18::timestamptz[],
    $19::timestamptz[], $20::timestamptz[],
    $21::timestamptz[]) as c(topic_id, status, granted_at, confirmed_at, revoked_at, token_expires_at, subscribed_at)
  ),
    written as (insert into audience.consents (environment_id, subscriber_id, subscriber_status, subscriber_created_at, topic_id, status, granted_at, confirmed_at, revoked_at, token_expires_at, subscribed_at) select $22::bigint, subscriber_id, subscriber_status, subscriber_created_at, topic_id, status, granted_at, confirmed_at, revoked_at, token_expires_at, subscribed_at from changed returning topic_id),
    recorded as (
      insert into audience.consent_ledger (environment_id, id, subscriber_id, topic_id, from_status, to_status, occurred_at,
        actor, actor_id, source, source_url, ip_address, user_agent, consent_text, form_version, message_id,
        text_locale, text_version, address_change)
      select $23::bigint, platform.new_id(), subscriber_id, topic_id, from_status, status, $24::timestamptz,
    $25, $26, $27, $28, $29, $30,
    $31, $32, $33,
    $34, $35::int,
    $36::jsonb from changed
      where from_status is distinct from status or $37::boolean
      returning id
    ),
    asked as (
      insert into audience.confirmations (id, environment_id, subscriber_id, topic_ids, is_repeat, created_at, expires_at)
      select platform.new_id(), $38::bigint, subscriber_id, array_agg(topic_id), $39::boolean,
        $40::timestamptz,
        max(token_expires_at)
      from changed where status = 'PENDING_CONFIRMATION' and $41::boolean group by subscriber_id
      returning id
    )
      select count(*) as number, (select array_agg(id) from asked) as confirmation_ids from made b;
