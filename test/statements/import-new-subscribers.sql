-- Makes subscribers of the valid rows of a range whose addresses are new, with consents, record and confirmation requests.
/* import_new_subscribers */ with taken as (
        delete from audience.import_rows r
        where r.environment_id = $1 and r.import_id = $2
          and r.row_number between $3 and $4 and r.email is not null
          and r.external_id is null
          and (
            select b.id from audience.subscribers b
            where b.environment_id = $5 and b.email_key = r.email_key
          ) is null
          and ((
      exists (
        select 1 from audience.suppressions s
        where s.environment_id = $6 and s.email_key = r.email_key
      ) or (
        -- once for all rows: without any, no address is digested
        exists (select 1 from audience.erased_suppressions s where s.environment_id = $7)
        and exists (
          select 1 from audience.erased_suppressions s
          where s.environment_id = $8 and s.address_digest = sha256($9::bytea || sha256($10::bytea || audience.utf8(r.email_key)))
        )
      )
    )) is false
          and ((
      -- once for all rows: without any, no address is digested
      exists (select 1 from audience.erased_addresses e where e.environment_id = $11)
      and exists (
        select 1 from audience.erased_addresses e
        where e.environment_id = $12 and e.address_digest = sha256($13::bytea || sha256($14::bytea || audience.utf8(r.email_key)))
      )
    )) is false
        returning r.row_number, r.email, r.email_key, r.first_name, r.last_name, r.phone, r.locale,
          r.time_zone, r.custom_fields
      ), made as (
        insert into audience.subscribers (environment_id, source, status, created_at, updated_at, id, subscriber_key,
          email, email_key, first_name, last_name, phone, locale, time_zone, custom_fields)
        select $15, 'IMPORT', $16, $17::timestamptz, $18::timestamptz,
          platform.new_id(), k.project_key || '-' || k.numbers[t.place],
          t.email, t.email_key, t.first_name, t.last_name, t.phone, t.locale, t.time_zone, t.custom_fields
        from (select *, row_number() over () as place from taken) t
        cross join access.next_subscriber_numbers((select count(*)::int from taken)) k
        returning id, status, created_at
      ),
    changed as materialized (
    select m.id as subscriber_id, m.status as subscriber_status, m.created_at as subscriber_created_at, c.*,
      null::text as from_status, false as has_expired
    from made m cross join unnest($19::uuid[], $20::text[],
    $21::timestamptz[], $22::timestamptz[],
    $23::timestamptz[], $24::timestamptz[],
    $25::timestamptz[]) as c(topic_id, status, granted_at, confirmed_at, revoked_at, token_expires_at, subscribed_at)
  ),
    written as (insert into audience.consents (environment_id, subscriber_id, subscriber_status, subscriber_created_at, topic_id, status, granted_at, confirmed_at, revoked_at, token_expires_at, subscribed_at) select $26::bigint, subscriber_id, subscriber_status, subscriber_created_at, topic_id, status, granted_at, confirmed_at, revoked_at, token_expires_at, subscribed_at from changed returning topic_id),
    recorded as (
      insert into audience.consent_ledger (environment_id, id, subscriber_id, topic_id, from_status, to_status, occurred_at,
        actor, actor_id, source, source_url, ip_address, user_agent, consent_text, form_version, message_id,
        text_locale, text_version, address_change)
      select $27::bigint, platform.new_id(), subscriber_id, topic_id, from_status, status, $28::timestamptz,
    $29, $30, $31, $32, $33, $34,
    $35, $36, $37,
    $38, $39::int,
    $40::jsonb from changed
      where from_status is distinct from status or $41::boolean
      returning id
    ),
    asked as (
      insert into audience.confirmations (id, environment_id, subscriber_id, topic_ids, is_repeat, created_at, expires_at)
      select platform.new_id(), $42::bigint, subscriber_id, array_agg(topic_id), $43::boolean,
        $44::timestamptz,
        max(token_expires_at)
      from changed where status = 'PENDING_CONFIRMATION' and $45::boolean group by subscriber_id
      returning id
    )
      select count(*) as number, (select array_agg(id) from asked) as confirmation_ids from made b;
