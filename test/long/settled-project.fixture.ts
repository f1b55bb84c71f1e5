import { newId, type ProjectScope } from '#kernel';
import type { TestDatabase } from '#testing/postgres/database';
import { fillEnvironment } from '#testing/programs/filled-environment';

/** Keys and ids of one thing of each kind that a project has lists of. */
export interface SettledProject {
  readonly topicKey: string;
  readonly campaignKey: string;
  readonly segmentId: string;
  readonly importId: string;
  readonly automationId: string;
  /** A message with as many events as there are people. */
  readonly messageId: string;
  /** A template with as many versions as there are people. */
  readonly templateKey: string;
  /** A webhook endpoint with as many deliveries as there are people, of which each tenth failed. */
  readonly endpointId: string;
  /** Addresses of two of the people, of whom the second was and did more than others; null: there are none. */
  readonly email: string | null;
  readonly busyEmail: string | null;
}

/** One in so many people is suppressed, has a test mail, … */
const SOME = 1;
/** One topic, segment, automation, invoice to so many people, ten campaigns, and one thing of each kind that the busiest did. */
const THINGS = 100;

const [EMAIL, BUSY_EMAIL] = ['person.7@example.com', 'person.8@example.com'];

/** The subscriber whom every seventh event in the log is about. */
export const LOGGED_PERSON = '019aa3b5-0000-7000-8000-000000000000';

/**
 * Fills a test environment, by the server: `people` people with consents, three campaigns to all of them, everybody in a segment and in an automation; and
 * of all else that is listed as much as so many people may have made.
 */
export async function settle(
  database: TestDatabase,
  scope: ProjectScope,
  people: number,
): Promise<SettledProject> {
  const { environmentId, tenantId } = scope;
  const query = (text: string, values: unknown[] = []) => database.query(text, values);
  const { topicKey, campaignKey } = await fillEnvironment(
    query as TestDatabase['query'],
    scope,
    people,
    Math.ceil(people / THINGS),
  );
  await query(
    `insert into messaging.link_sets (environment_id, campaign_id, queued_on, urls, signature, created_at)
     select environment_id, id, (queued_at at time zone 'UTC')::date, array['https://acme.example/'], '', now()
     from messaging.campaigns where environment_id = $1 and campaign_key = $2`,
    [environmentId, campaignKey],
  );
  await query('delete from audience.custom_fields where environment_id = $1', [environmentId]);
  await query(
    `update audience.subscribers set updated_at = now() + interval '2 hours'
     where environment_id = $1 and subscriber_key in ('BENCH-3', 'BENCH-33', 'BENCH-333')`,
    [environmentId],
  );
  await query(
    `update messaging.deliveries set state = 'FAILED', reason = 'sender'
     where environment_id = $1 and get_byte(uuid_send(id), 15) < 8`,
    [environmentId],
  );
  await query(
    `update messaging.campaigns c set front_at = d.next_attempt_at, front_id = d.id from (
       select distinct on (source_id) source_id, next_attempt_at, id from messaging.deliveries where environment_id = $1
       order by source_id, next_attempt_at desc, id desc
     ) d where c.id = d.source_id and c.environment_id = $1`,
    [environmentId],
  );
  await query(
    `insert into audience.suppressions (environment_id, email_key, email, reason, suppressed_at)
     select $1, 'gone.' || n || '@example.com', 'gone.' || n || '@example.com',
       (array['GLOBAL_UNSUBSCRIBE', 'SPAM_COMPLAINT', 'HARD_BOUNCE'])[1 + n % 3], now() - make_interval(mins => n)
     from generate_series(1, $2::int) n`,
    [environmentId, people / SOME],
  );
  await query(
    `insert into webhooks.events (id, environment_id, type, subscriber_id, data, occurred_at, sequence)
     select platform.new_id(), $1, (array['email.sent', 'email.opened', 'email.bounced'])[1 + n % 3],
       case when n % 7 = 0 then $3::uuid else platform.new_id() end, '{}', now() - make_interval(secs => $2 - n), n
     from generate_series(1, $2::int) n`,
    [environmentId, people, LOGGED_PERSON],
  );
  await query('insert into webhooks.sequences (environment_id, last) values ($1, $2)', [
    environmentId,
    people,
  ]);
  const endpointId = newId();
  await query(
    `insert into webhooks.endpoints (id, environment_id, project_id, url, event_types, secret, status, created_at, updated_at)
     select case n when 1 then $1 else platform.new_id() end, $2, pe.project_id, 'http://127.0.0.1:9/' || n, '{}', '-', 'DISABLED', now(), now()
     from access.project_environments pe cross join generate_series(1, 20) n where pe.id = $2`,
    [endpointId, environmentId],
  );
  await query(
    `insert into webhooks.deliveries (id, environment_id, endpoint_id, event_id, event_type, state, attempts, next_attempt_at, finished_at, created_at)
     select platform.new_id(), $2, $1, id, type, case when sequence % 10 = 0 then 'FAILED' else 'DELIVERED' end, 1, occurred_at, occurred_at, occurred_at
     from webhooks.events where environment_id = $2`,
    [endpointId, environmentId],
  );
  const [importId, segmentId, automationId, messageId] = [newId(), newId(), newId(), newId()];
  await query(
    `insert into audience.imports (id, environment_id, status, on_conflict, topic_keys, proof, total, failed, created_at, completed_at)
     values ($1, $2, 'COMPLETED', 'UPSERT', '{}', '{}', $3, $3, now(), now())`,
    [importId, environmentId, people / SOME],
  );
  await query(
    `insert into audience.import_errors (import_id, row_number, environment_id, email, email_key, errors)
     select $1, n, $2, 'bad.' || n || '@example.com', 'bad.' || n || '@example.com', '[{"field": "age", "message": "must be a number"}]'
     from generate_series(1, $3::int) n`,
    [importId, environmentId, people / SOME],
  );
  await query(
    `insert into audience.segments (id, environment_id, segment_key, name, type, status, member_count, is_due, created_at, updated_at)
     select case n when 0 then $1 else platform.new_id() end, $2, 'SETTLED-' || n, 'Segment ' || n, 'STATIC', 'ACTIVE', case n when 0 then $3::int else 0 end, false,
       now() - make_interval(mins => n), now()
     from generate_series(0, $3::int / ${THINGS}) n`,
    [segmentId, environmentId, people],
  );
  await query(
    `insert into audience.segment_members (subscriber_id, segment_id, environment_id, added_at)
     select id, $1, environment_id, created_at from audience.subscribers where environment_id = $2`,
    [segmentId, environmentId],
  );
  await query(
    `insert into audience.topics (id, environment_id, topic_key, name, status, double_opt_in_enabled, created_at, updated_at)
     select platform.new_id(), $1, 'SETTLED-' || n, 'Topic ' || n, 'ACTIVE', false, now() - make_interval(mins => n), now()
     from generate_series(1, $2::int / ${THINGS}) n`,
    [environmentId, people],
  );
  await query(
    `insert into messaging.campaigns (id, environment_id, campaign_key, name, subject, topic_ids, status, created_at, updated_at)
     select platform.new_id(), $1, 'SETTLED-' || 1000 + n, 'Campaign ' || n, 'Offer', array[t.id], 'DRAFT', now() - make_interval(mins => n), now()
     from generate_series(1, $2::int / ${THINGS} * 10) n cross join (select id from audience.topics where environment_id = $1 and topic_key = $3) t`,
    [environmentId, people, topicKey],
  );
  await query(
    `with made as (
       insert into messaging.automations (id, environment_id, automation_key, name, status, trigger_type, nodes, edges, node_count, created_at, updated_at)
       select case n when 0 then $1 else platform.new_id() end, $2, 'SETTLED-' || n, 'Automation ' || n, 'PAUSED', 'custom_event', '[]', '[]', 0,
         now() - make_interval(mins => n), now()
       from generate_series(0, $3::int / ${THINGS}) n
       returning id, number
     ), version as (
       insert into messaging.automation_versions (environment_id, automation_id, version, trigger_type, nodes, edges, mail_topic_ids, topic_ids, segment_ids, created_at)
       values ($2, $1, 1, 'custom_event', $4, '[]', '{}', '{}', '{}', now()) returning id
     ), counter as (
       insert into messaging.automation_counters (automation_number, writer, environment_id, entered, completed)
       select number, 0, $2, $3::int, $3::int from made where id = $1
     )
     insert into messaging.automation_runs (environment_id, automation_number, version_id, entered_at, finished_at, id, subscriber_id, position, status)
     select $2, made.number, version.id, now(), now(), platform.new_id(), s.id, 0, 'COMPLETED'
     from made cross join version cross join audience.subscribers s where made.id = $1 and s.environment_id = $2`,
    [
      automationId,
      environmentId,
      people,
      JSON.stringify([{ id: 'start', type: 'trigger', config: { eventName: 'order.paid' } }]),
    ],
  );
  await act(query as TestDatabase['query'], environmentId, topicKey, Math.ceil(people / THINGS));
  await query(
    `insert into messaging.test_inbox_messages (id, environment_id, delivery_id, kind, to_address, to_key, from_address, subject, links, raw, received_at)
     select platform.new_id(), $1, platform.new_id(), case n when $2::int / 2 then 'OPT_IN' else 'CAMPAIGN' end, 'person.' || n || '@example.com', 'person.' || n || '@example.com', 'news@example.com',
       'Offer', '{}', ''::bytea, now() - make_interval(secs => n)
     from generate_series(1, $2::int) n`,
    [environmentId, people / SOME],
  );
  await query(
    `with made as (
       insert into messaging.messages (id, environment_id, created_at, updated_at, queued_on, status, to_email, to_digest, subject, purpose, tags, keep, ambiguous, content, finished_at, template_key)
       select platform.new_id(), $1, now() - make_interval(secs => n), now(), current_date, case n % 500 when 7 then 'BOUNCED' else 'SENT' end,
         'person.' || n || '@example.com', sha256(('person.' || n)::bytea), 'Receipt', 'Order', array['receipt'], 'CONTENT', 'RESEND', '{}', now(),
         case when n % 1000 = 77 then 'APIT-2' else 'APIT-1' end
       from generate_series(1, $2::int) n returning id, created_at, to_email
     ), copied as (
       insert into messaging.message_copies (environment_id, digest, created_at, message_id)
       select $1, sha256('archive'), created_at, id from made
     )
     insert into messaging.message_tags (environment_id, tag, created_at, message_id)
     select $1, 'receipt', created_at, id from made
     union all select $1, 'rare', created_at, id from made where to_email like 'person.77%@example.com'`,
    [environmentId, people],
  );
  await query(
    `with made as (
       insert into messaging.messages (id, environment_id, created_at, updated_at, queued_on, status, to_email, purpose, keep, ambiguous)
       select $2, $1, now(), now(), current_date, 'SENT', '', 'Order', 'CONTENT', 'RESEND' returning id
     )
     insert into messaging.message_events (environment_id, message_id, occurred_at, id, type, agent)
     select $1, made.id, now() - make_interval(secs => n), platform.new_id(), 'OPENED', 'other' from made, generate_series(1, $3::int) n`,
    [environmentId, messageId, people],
  );
  await query(
    `with made as (
       insert into messaging.media (id, environment_id, name, content_type, width, height, bytes, created_at, updated_at)
       select platform.new_id(), $1, 'a-' || md5(n::text), 'image/png', 600, 200, 20000, now() - make_interval(secs => n), now()
       from generate_series(1, $2::int) n returning id
     )
     insert into messaging.media_uses (media_id, kind, user_id, environment_id)
     select made.id, 'campaign', c.id, $1 from (select id, row_number() over () as n from made) made
     join (select id, row_number() over () as n from messaging.campaigns where environment_id = $1 limit 50) c
       on c.n = 1 or made.n = 7`,
    [environmentId, people / SOME],
  );
  await query(
    `with made as (
       insert into messaging.templates (id, environment_id, template_key, alias, name, kind, draft, created_at, updated_at)
       select platform.new_id(), $1, 'TPLS-' || n, 'template-' || n, 'Receipt', case when n % 7919 = 7 then 'PARTIAL' else 'MESSAGE' end, '{}',
         now() - make_interval(secs => n), now()
       from generate_series(1, greatest($2::int, 1)) n returning id, template_key
     )
     insert into messaging.template_versions (id, environment_id, template_id, version, content, created_at)
     select platform.new_id(), $1, made.id, n, '{}', now() - make_interval(secs => $2 - n) from made, generate_series(1, $2::int) n
     where made.template_key = 'TPLS-1'`,
    [environmentId, people],
  );
  await query('insert into billing.credit_accounts (tenant_id) values ($1) on conflict do nothing', [
    tenantId,
  ]);
  await query(
    `insert into billing.credit_transactions (id, tenant_id, sequence, type, amount, monthly, balance_after, created_at)
     select platform.new_id(), $1, n, 'GRANT', 1, 0, n, now() from generate_series(1, $2::int / ${THINGS}) n`,
    [tenantId, people],
  );
  await query(
    `insert into billing.invoices (public_id, tenant_id, subscription_id, status, billing_reason, currency, subtotal_cents, tax_rate_bp, tax_cents, amount_cents,
       seller, buyer, created_at, updated_at)
     select platform.new_id(), $1, s.id, 'DRAFT', 'subscription_cycle', 'EUR', 100, 0, 0, 100, '{}', '{}', now() - make_interval(mins => n), now()
     from generate_series(1, $2::int / ${THINGS}) n cross join billing.subscriptions s where s.tenant_id = $1`,
    [tenantId, people],
  );
  return {
    topicKey,
    campaignKey,
    segmentId,
    importId,
    automationId,
    messageId,
    templateKey: 'TPLS-1',
    endpointId,
    email: people === 0 ? null : EMAIL,
    busyEmail: people === 0 ? null : BUSY_EMAIL,
  };
}

/**
 * Adds activity in the days before the last campaign: of everybody one thing of each kind but mails, which they have; of one of
 * them many, mails of an automation included.
 */
async function act(
  query: TestDatabase['query'],
  environmentId: number,
  topicKey: string,
  much: number,
): Promise<void> {
  const everybody = `select s.id as subscriber_id, s.environment_id, now() - make_interval(days => 10, hours => n) as at, n
    from audience.subscribers s cross join generate_series(1, case s.email_key when '${BUSY_EMAIL}' then $2::int else 1 end) n
    where s.environment_id = $1`;
  await query(
    `insert into audience.subscriber_events (id, environment_id, subscriber_id, name, properties, occurred_at, created_at)
     select platform.new_id(), environment_id, subscriber_id, 'order.' || n % 5, '{}', at, at from (${everybody}) e`,
    [environmentId, much],
  );
  await query(
    `insert into audience.field_changes (id, environment_id, subscriber_id, occurred_at, actor, changes)
     select platform.new_id(), environment_id, subscriber_id, at, 'API_KEY', '{}' from (${everybody}) e`,
    [environmentId, much],
  );
  await query(
    `insert into audience.consent_ledger (id, environment_id, subscriber_id, topic_id, occurred_at, from_status, to_status, actor)
     select platform.new_id(), e.environment_id, e.subscriber_id, t.id, e.at, null, 'SUBSCRIBED', 'API_KEY'
     from (${everybody}) e join audience.topics t on t.environment_id = e.environment_id and t.topic_key = $3`,
    [environmentId, much, topicKey],
  );
  await query(
    `insert into messaging.automation_runs (environment_id, automation_number, version_id, entered_at, finished_at, id, subscriber_id, position, status)
     select r.environment_id, a.number, r.version_id, now(), now(), platform.new_id(), r.subscriber_id, 0, 'COMPLETED'
     from messaging.automation_runs r join audience.subscribers s on s.id = r.subscriber_id and s.environment_id = r.environment_id
     join messaging.automations a on a.environment_id = r.environment_id and a.number <> r.automation_number
     where r.environment_id = $1 and s.email_key = '${BUSY_EMAIL}'`,
    [environmentId],
  );
  await query(
    `with sent as (
       insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address, address_key, message_id,
         state, attempt, next_attempt_at, sent_at, created_at, finished_at)
       select platform.new_id(), (at at time zone 'UTC')::date, environment_id, 'AUTOMATION', messaging.step_id(run_id, 1 + n % 200), subscriber_id,
         '${BUSY_EMAIL}', '${BUSY_EMAIL}', '<' || n || '@settled.example>', 'SENT', 1, at, at, at, at
       from (${everybody}) e cross join lateral (
         select r.id as run_id, s.email_key from messaging.automation_runs r
         join audience.subscribers s on s.id = r.subscriber_id and s.environment_id = r.environment_id
         where r.subscriber_id = e.subscriber_id and r.environment_id = e.environment_id order by r.id limit 1
       ) r
       where email_key = '${BUSY_EMAIL}'
       returning id, environment_id, subscriber_id, sent_at
     )
     insert into messaging.delivery_events (id, occurred_at, environment_id, delivery_id, subscriber_id, type, link_number)
     select platform.new_id(), sent_at, environment_id, id, subscriber_id, type, case type when 'CLICKED' then 1 end
     from sent cross join unnest(array['OPENED', 'CLICKED']) type`,
    [environmentId, much],
  );
}
