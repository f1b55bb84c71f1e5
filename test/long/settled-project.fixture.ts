import { newId, type ProjectScope } from '#kernel';
import type { TestDatabase } from '#testing/database';
import { fillEnvironment } from '#testing/filled-environment';

/** Keys and ids of one thing of each kind that a project has lists of. */
export interface SettledProject {
  readonly topicKey: string;
  readonly campaignKey: string;
  readonly segmentId: string;
  readonly importId: string;
  readonly automationId: string;
}

/** One in so many people is suppressed, has a test mail, … */
const SOME = 1;
/** One topic, segment, automation, invoice to so many people, and ten campaigns. */
const THINGS = 100;

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
  const [importId, segmentId, automationId] = [newId(), newId(), newId()];
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
  await query(
    `insert into messaging.test_inbox_messages (id, environment_id, delivery_id, kind, to_address, to_key, from_address, subject, links, raw, received_at)
     select platform.new_id(), $1, platform.new_id(), case n when $2::int / 2 then 'OPT_IN' else 'CAMPAIGN' end, 'person.' || n || '@example.com', 'person.' || n || '@example.com', 'news@example.com',
       'Offer', '{}', ''::bytea, now() - make_interval(secs => n)
     from generate_series(1, $2::int) n`,
    [environmentId, people / SOME],
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
  return { topicKey, campaignKey, segmentId, importId, automationId };
}
