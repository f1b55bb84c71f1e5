import { newId, type ProjectScope } from '#kernel';
import type { TestDatabase } from '../postgres/database.js';

type Query = TestDatabase['query'];

export interface FilledEnvironment {
  /** Topic of everybody. */
  readonly topicKey: string;
  /** Topic of a few. */
  readonly smallTopicId: string;
  /** The last of three that were sent to everybody. */
  readonly campaignKey: string;
}

/** So many days ago they were sent. */
const SENT_DAYS_AGO = [70, 40, 10];

/**
 * An environment with so many subscribers, `person.1@example.com` and so on, a topic of all and one of the first `few` of them,
 * and three campaigns that were sent to all, of which one mail in five was opened: made by the server, counters included.
 */
export async function fillEnvironment(
  query: Query,
  { projectId, environmentId }: ProjectScope,
  people: number,
  few: number,
): Promise<FilledEnvironment> {
  const [topicId, smallTopicId] = [newId(), newId()];
  await query(
    `insert into audience.topics (id, environment_id, topic_key, name, status, double_opt_in_enabled, created_at, updated_at)
     values ($1, $3, 'BENCH-1', 'All', 'ACTIVE', false, now(), now()), ($2, $3, 'BENCH-2', 'Few', 'ACTIVE', false, now(), now())`,
    [topicId, smallTopicId, environmentId],
  );
  await query(
    `insert into audience.custom_fields (id, environment_id, key, type, display_name, is_required, options, status, created_at, updated_at)
     values ($1, $2, 'plan', 'TEXT', 'Plan', false, '[]', 'ACTIVE', now(), now())`,
    [newId(), environmentId],
  );
  await query(
    `with people as (
       insert into audience.subscribers (id, environment_id, subscriber_key, email, email_key, first_name, last_name, source, status,
         custom_fields, created_at, updated_at)
       select platform.new_id(), $1, 'BENCH-' || n, 'person.' || n || '@example.com', 'person.' || n || '@example.com',
         (array['Ada', 'Émile', 'Grace', 'Linus', 'Müller', 'Zoë', 'Jürgen', 'Olga'])[1 + n % 8], 'Family' || n % 5003,
         'IMPORT', case when n % 20 = 0 then 'UNSUBSCRIBED' else 'ACTIVE' end,
         jsonb_build_object('plan', (array['free', 'starter', 'pro', 'team'])[1 + n % 4], 'age', 18 + n % 71),
         now() - make_interval(mins => $2::int - n), now()
       from generate_series(1, $2::int) n
       returning id, email_key
     )
     insert into audience.consents (subscriber_id, topic_id, environment_id, status, granted_at, subscribed_at)
     select people.id, topic, $1, 'SUBSCRIBED', now() - interval '90 days', now() - interval '90 days'
     from people cross join unnest($3::uuid[]) with ordinality as topics (topic, place)
     where place = 1 or substr(email_key, 8, position('@' in email_key) - 8)::int <= $4`,
    [environmentId, people, [topicId, smallTopicId], few],
  );
  for (const [place, days] of SENT_DAYS_AGO.entries())
    await insertCampaign(query, environmentId, { topicId, campaignKey: `BENCH-00${place + 1}`, days });
  await query(`select setval('access.key_campaign_${projectId}', ${SENT_DAYS_AGO.length})`);
  return { topicKey: 'BENCH-1', smallTopicId, campaignKey: `BENCH-00${SENT_DAYS_AGO.length}` };
}

async function insertCampaign(
  query: Query,
  environmentId: number,
  {
    topicId,
    campaignKey,
    days,
  }: { readonly topicId: string; readonly campaignKey: string; readonly days: number },
): Promise<void> {
  const id = newId();
  const values = [id, environmentId, days];
  await query(
    `insert into messaging.campaigns (id, environment_id, campaign_key, name, subject, topic_ids, status, queued_at, expanded_at,
       created_at, updated_at)
     select $1, $2, $4, $4, $4, array[$5::uuid], 'SENT', at, at, at, at from (select now() - make_interval(days => $3)) as t (at)`,
    [...values, campaignKey, topicId],
  );
  await query(
    `with sent as (
       insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address, address_key, message_id,
         state, attempt, next_attempt_at, sent_at, created_at, finished_at)
       select platform.new_id(), queued_on, $2, 'CAMPAIGN', $1, id, email, email_key,
         '<' || id || '.' || queued_on || '@bench.example>', 'SENT', 1, at, at, at, at
       from audience.subscribers cross join (select at, (at at time zone 'UTC')::date from (select now() - make_interval(days => $3)) as t (at)) as q (at, queued_on)
       where environment_id = $2
       returning id, queued_on, subscriber_id, sent_at
     ), opened as (
       select id, queued_on, subscriber_id, sent_at + make_interval(mins => (random() * 4000)::int) as at from sent where random() < 0.2
     ), events as (
       insert into messaging.delivery_events (id, occurred_at, environment_id, campaign_id, delivery_id, subscriber_id, type)
       select platform.new_id(), at, $2, $1, id, subscriber_id, 'OPENED' from opened
     ), engagement as (
       insert into messaging.delivery_engagement (delivery_id, queued_on, environment_id, campaign_id, opens, first_opened_at)
       select id, queued_on, $2, $1, 1, at from opened
     )
     insert into messaging.campaign_counters (campaign_id, writer, environment_id, sent, opened, unique_opens, first_sent_at, last_sent_at,
       last_event_at)
     select $1::uuid, 0, $2, (select count(*) from sent), count(*), count(*), min(at), min(at), max(at) from opened`,
    values,
  );
}
