import { newId, type ProjectScope } from '#kernel';
import type { TestDatabase } from '#testing/postgres/database';
import { createProject } from '#testing/fixtures/fixtures';

/** Runs SQL as the owner of the database. */
export type Query = TestDatabase['query'];

export interface AudienceSize {
  readonly subscribers: number;
  /** Mails, opens, clicks and the project's own events together. */
  readonly events: number;
}

export interface AudienceData {
  readonly scope: ProjectScope;
  /** Nine in ten people have consented to the first, a third to the second, one in fifty to the third. */
  readonly topics: readonly { readonly id: string; readonly topicKey: string }[];
  readonly campaigns: readonly { readonly id: string; readonly campaignKey: string }[];
  /** The moment that everything lies before. */
  readonly now: Date;
}

/** Its values are spread evenly, and those of one field tell nothing of those of another. */
export const CUSTOM_FIELDS = [
  { key: 'plan', type: 'SELECT', options: ['free', 'starter', 'pro', 'team'] },
  { key: 'age', type: 'NUMBER', options: [] },
  { key: 'vip', type: 'BOOLEAN', options: [] },
  { key: 'city', type: 'TEXT', options: [] },
  { key: 'birthday', type: 'DATE', options: [] },
  { key: 'last_login', type: 'DATETIME', options: [] },
] as const;

const CAMPAIGNS = 24;
/** Shares of the events: opens, clicks, mails and the project's own events. */
const SHARES = { opened: 0.5, clicked: 0.12, sent: 0.18, custom: 0.2 } as const;
const TABLES = [
  'audience.subscribers',
  'audience.consents',
  'audience.subscriber_events',
  'messaging.deliveries',
  'messaging.delivery_events',
];

/** A number from 0 to below `bound`, by row and purpose; the same on every machine. */
const random = (row: string, purpose: number, bound: number | string) =>
  `(((hashint8extended((${row})::bigint, ${purpose}) & 9223372036854775807) % (${bound}))::bigint)`;

/**
 * A project of its own with subscribers, their consents and six custom fields, and a year of events, made by the
 * server. Indexes that enforce nothing are dropped first and made anew at the end.
 */
export async function fillAudience(
  query: Query,
  { subscribers, events }: AudienceSize,
): Promise<AudienceData> {
  const now = new Date();
  const { live: scope } = await createProject({ query } as TestDatabase, 'BENCH');
  const topics = await insertTopics(query, scope);
  const campaigns = await insertCampaigns(
    query,
    scope,
    topics.map(({ id }) => id),
  );
  await insertFields(query, scope);
  await makePartitions(query);
  await withoutIndexes(query, async () => {
    await insertSubscribers(query, scope, subscribers, now);
    await insertConsents(query, scope, topics, now);
    await insertMailEvents(
      query,
      scope,
      campaigns,
      { type: 'OPENED', quantity: Math.round(events * SHARES.opened) },
      subscribers,
    );
    await insertMailEvents(
      query,
      scope,
      campaigns,
      { type: 'CLICKED', quantity: Math.round(events * SHARES.clicked) },
      subscribers,
    );
    await insertDeliveries(query, scope, campaigns, Math.round(events * SHARES.sent), subscribers);
    await insertCustomEvents(query, scope, Math.round(events * SHARES.custom), subscribers);
    await query('drop table bench_people');
  });
  for (const table of TABLES) await query(`vacuum (analyze) ${table}`);
  return { scope, topics, campaigns, now };
}

async function insertTopics(query: Query, { environmentId }: ProjectScope) {
  const topics = [1, 2, 3].map((number) => ({ id: newId(), topicKey: `BENCH-${number}` }));
  for (const { id, topicKey } of topics) {
    await query(
      `insert into audience.topics (id, environment_id, topic_key, name, status, double_opt_in_enabled, created_at, updated_at)
       values ($1, $2, $3, $3, 'ACTIVE', false, now(), now())`,
      [id, environmentId, topicKey],
    );
  }
  return topics;
}

async function insertCampaigns(query: Query, { environmentId }: ProjectScope, topicIds: readonly string[]) {
  const campaigns = Array.from({ length: CAMPAIGNS }, (_, number) => ({
    id: newId(),
    campaignKey: `BENCH-${String(number + 1).padStart(3, '0')}`,
  }));
  for (const [number, { id, campaignKey }] of campaigns.entries()) {
    await query(
      `insert into messaging.campaigns (id, environment_id, campaign_key, name, subject, topic_ids, status, created_at, updated_at)
       values ($1, $2, $3, $3, $3, $4, 'SENT', now(), now())`,
      [id, environmentId, campaignKey, [topicIds[number % topicIds.length]]],
    );
  }
  return campaigns;
}

async function insertFields(query: Query, { environmentId }: ProjectScope): Promise<void> {
  for (const { key, type, options } of CUSTOM_FIELDS) {
    await query(
      `insert into audience.custom_fields (id, environment_id, key, type, display_name, is_required, options, status, created_at, updated_at)
       values ($1, $2, $3, $4, $3, false, $5, 'ACTIVE', now(), now())`,
      [newId(), environmentId, key, type, JSON.stringify(options.map((value) => ({ value, label: value })))],
    );
  }
}

/** Months of their own for the last year. */
export async function makePartitions(query: Query): Promise<void> {
  for (const table of [
    'messaging.deliveries',
    'messaging.delivery_events',
    'messaging.delivery_engagement',
    'audience.subscriber_events',
  ]) {
    await query(`alter table ${table} detach partition ${table}_earlier`);
    await query(
      `select platform.ensure_month($1::regclass, (now() - make_interval(months => back))::date) from generate_series(0, 13) back`,
      [table],
    );
    const [before] = await query<{ day: string }>(
      `select to_char(now() - interval '13 months', 'YYYY-MM-01') as day`,
    );
    await query(
      `alter table ${table} attach partition ${table}_earlier for values from (minvalue) to ('${before?.day}')`,
    );
  }
}

async function withoutIndexes(query: Query, work: () => Promise<void>): Promise<void> {
  const indexes = await query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') as definition
     from pg_index where indrelid = any($1::text[]::regclass[]) and not indisunique`,
    [TABLES],
  );
  for (const { name } of indexes) await query(`drop index ${name}`);
  await work();
  for (const { definition } of indexes) await query(definition);
}

async function insertSubscribers(
  query: Query,
  { environmentId }: ProjectScope,
  quantity: number,
  now: Date,
): Promise<void> {
  await query(
    `insert into audience.subscribers (id, environment_id, subscriber_key, email, email_key, first_name, last_name, source, status,
       custom_fields, created_at, updated_at)
     select platform.new_id(), $1, 'BENCH-' || n, 'Person.' || n || '@Example' || ${random('n', 1, 500)} || '.com',
       'person.' || n || '@example' || ${random('n', 1, 500)} || '.com',
       (array['Ada', 'Émile', 'Grace', 'Linus', 'Müller', 'Zoë', 'Jürgen', 'Olga'])[1 + ${random('n', 2, 8)}], 'Family' || ${random('n', 3, 20_000)},
       (array['API', 'IMPORT', 'FORM'])[1 + ${random('n', 4, 3)}], case when ${random('n', 5, 20)} = 0 then 'UNSUBSCRIBED' else 'ACTIVE' end,
       jsonb_strip_nulls(jsonb_build_object(
         'plan', (array['free', 'starter', 'pro', 'team', null])[1 + ${random('n', 6, 5)}],
         'age', case when ${random('n', 7, 10)} > 0 then 18 + ${random('n', 8, 70)} end,
         'vip', ${random('n', 9, 20)} = 0,
         'city', (array['Berlin', 'Zürich', 'Springfield', 'İstanbul', 'Ἀθῆναι'])[1 + ${random('n', 10, 5)}] || ' ' || ${random('n', 11, 2_000)},
         'birthday', to_char(date '1950-01-01' + ${random('n', 12, 20_000)}::int, 'YYYY-MM-DD'),
         'last_login', to_char(($2::timestamptz - make_interval(secs => ${random('n', 13, 60_000_000)})) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS".000Z"')
       )),
       $2::timestamptz - make_interval(secs => ${random('n', 14, 94_000_000)}), $2
     from generate_series(1, $3::int) n`,
    [environmentId, now, quantity],
  );
  await query(
    `create unlogged table bench_people as
     select row_number() over (order by id) - 1 as n, id from audience.subscribers where environment_id = ${environmentId}`,
  );
  await query('create unique index on bench_people (n)');
  await query('analyze bench_people');
}

async function insertConsents(
  query: Query,
  { environmentId }: ProjectScope,
  topics: AudienceData['topics'],
  now: Date,
): Promise<void> {
  for (const [index, { id }] of topics.entries()) {
    const share = [900, 333, 20][index] ?? 0;
    await query(
      `insert into audience.consents (subscriber_id, topic_id, environment_id, status, granted_at, subscribed_at, revoked_at)
       select p.id, $1, $2, case when gone then 'UNSUBSCRIBED' else 'SUBSCRIBED' end, at, case when not gone then at end, case when gone then at end
       from bench_people p
       cross join lateral (select ${random('p.n', 20 + index, 12)} = 0 as gone, $3::timestamptz - make_interval(secs => ${random('p.n', 30 + index, 60_000_000)}) as at) c
       where ${random('p.n', 40 + index, 1_000)} < $4::int`,
      [id, environmentId, now, share],
    );
  }
}

/** Somebody, and when: a few do much, most do little; a third of all was within the last month. */
const SOMEBODY = `select n, floor(power(${random('n', 50, 1_000_000)} / 1000000.0, 1.6) * $2::int)::bigint as person,
  now() - make_interval(secs => power(${random('n', 51, 1_000_000)} / 1000000.0, 2) * 31000000) as at from generate_series(1, $1::int) n`;

async function insertMailEvents(
  query: Query,
  { environmentId }: ProjectScope,
  campaigns: AudienceData['campaigns'],
  { type, quantity }: { readonly type: string; readonly quantity: number },
  people: number,
): Promise<void> {
  await query(
    `insert into messaging.delivery_events (id, occurred_at, environment_id, campaign_id, delivery_id, subscriber_id, type, url)
     select gen_random_uuid(), e.at, $3, ($4::uuid[])[1 + ${random('e.n', 52, CAMPAIGNS)}], gen_random_uuid(), p.id, $5,
       case when $5 = 'CLICKED' then 'https://shop.example/' || ${random('e.n', 53, 20)} end
     from (${SOMEBODY.replaceAll(', 50,', type === 'CLICKED' ? ', 60,' : ', 61,').replaceAll(', 51,', type === 'CLICKED' ? ', 62,' : ', 63,')}) e join bench_people p on p.n = e.person`,
    [quantity, people, environmentId, campaigns.map(({ id }) => id), type],
  );
}

async function insertDeliveries(
  query: Query,
  { environmentId }: ProjectScope,
  campaigns: AudienceData['campaigns'],
  quantity: number,
  people: number,
): Promise<void> {
  await query(
    `insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address, address_key, message_id, state,
       attempt, next_attempt_at, sent_at, created_at, finished_at)
     select gen_random_uuid(), e.at::date, $3, 'CAMPAIGN', ($4::uuid[])[1 + ${random('e.n', 52, CAMPAIGNS)}], p.id, 'person@example.com',
       e.n::text, '<' || e.n || '@bench.example>', 'SENT', 1, e.at, e.at, e.at, e.at
     from (${SOMEBODY} order by at) e join bench_people p on p.n = e.person
     on conflict do nothing`,
    [quantity, people, environmentId, campaigns.map(({ id }) => id)],
  );
}

async function insertCustomEvents(
  query: Query,
  { environmentId }: ProjectScope,
  quantity: number,
  people: number,
): Promise<void> {
  await query(
    `insert into audience.subscriber_events (id, occurred_at, environment_id, subscriber_id, name, properties, created_at)
     select gen_random_uuid(), e.at, $3, p.id, (array['order.paid', 'page.viewed', 'cart.left'])[1 + ${random('e.n', 54, 3)}],
       jsonb_build_object('total', ${random('e.n', 55, 200)}), e.at
     from (${SOMEBODY}) e join bench_people p on p.n = e.person`,
    [quantity, people, environmentId],
  );
}
