import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { newId, type ProjectScope } from '#kernel';
import { DeliveryActivityQuery } from '#messaging';
import * as fc from '#testing/random/properties';
import {
  CONSENTS,
  days,
  EMAILS,
  EVENT_NAMES,
  FIELDS,
  type KnownKeys,
  moments,
  NOW,
  numbers,
  ruleNodes,
  SOURCES,
  STATUSES,
  texts,
  URLS,
} from '#testing/random/segment-rules';
import { address, AudienceFixture } from '../audience.fixture.js';
import { ActivityCatalogue, RuleCatalogueQuery } from './rule-catalogue.query.js';
import { evaluate, type EventFact, type SubscriberFacts } from './rule-evaluator.fixture.js';
import { readRules, referencesIn } from './rule-reader.js';
import type { RuleNode } from './rule.js';
import { SubscriberRulesService } from './subscriber-rules.service.js';

const RULES = 300;
const PEOPLE = 60;

const MAIL_EVENTS = ['OPENED', 'CLICKED', 'COMPLAINED', 'UNSUBSCRIBED', 'SENT', 'BOUNCED'] as const;

interface Campaign {
  readonly id: string;
  readonly key: string;
  readonly topicIds: readonly string[];
}

interface World {
  readonly scope: ProjectScope;
  readonly known: KnownKeys;
  readonly people: ReadonlyMap<string, SubscriberFacts>;
  readonly dynamicSegments: ReadonlyMap<string, RuleNode>;
}

describe('rules in SQL', () => {
  let audience: AudienceFixture;
  let world: World;

  beforeAll(async () => {
    audience = await AudienceFixture.open();
    new DeliveryActivityQuery(audience.database, audience.get(ActivityCatalogue)).onModuleInit();
    world = await createWorld(audience);
  });
  afterAll(() => audience.close());

  it('hold for the same people as the rules read plainly', async () => {
    const { scope, known, people, dynamicSegments } = world;
    const predicates = audience.get(SubscriberRulesService);
    await fc.assert(
      fc.asyncProperty(ruleNodes(known), async (where) => {
        const rules = JSON.stringify({ version: 1, where });
        const found = await audience.database.transaction(scope, async () => {
          const read = await predicates.read(scope, rules, null);
          const predicate = await predicates.ofRules(scope, read, NOW);
          const { rows } = await sql<{ id: string }>`
            select b.id from audience.scoped_subscribers b
            where b.environment_id = ${scope.environmentId} and ${predicate} order by b.id
          `.execute(audience.database.tables());
          return { read, ids: rows.map(({ id }) => id) };
        });
        const expected = [...people].flatMap(([id, facts]) =>
          evaluate(found.read.where, facts, { now: NOW, dynamicSegments }) ? [id] : [],
        );
        expect(found.ids).toEqual(expected.sort());
      }),
      { numRuns: fc.runs(RULES) },
    );
  });

  it('mostly tell people apart, without which they would show nothing', async () => {
    const { scope, known, people, dynamicSegments } = world;
    const predicates = audience.get(SubscriberRulesService);
    let telling = 0;
    for (const node of fc.sample(ruleNodes(known), { numRuns: RULES, seed: 1 })) {
      const { where } = await predicates.read(scope, JSON.stringify({ version: 1, where: node }), null);
      const found = [...people.values()].filter((facts) =>
        evaluate(where, facts, { now: NOW, dynamicSegments }),
      );
      if (found.length > 0 && found.length < people.size) telling += 1;
    }
    expect(telling).toBeGreaterThan(RULES / 2);
  });
});

/** Somebody of whom anything may be known, or nothing. */
async function createWorld(audience: AudienceFixture): Promise<World> {
  const scope = await audience.scope();
  const topics = [await audience.topic(scope), await audience.topic(scope), await audience.topic(scope)];
  const campaigns = [[0], [1], [0, 2]].map((indexes, number) => ({
    id: newId(),
    key: `APIT-00${number + 1}`,
    topicIds: indexes.map((index) => topics[index]!.id),
  }));
  for (const { id, key, topicIds } of campaigns) {
    await audience.test.query(
      `insert into messaging.campaigns (id, environment_id, campaign_key, name, subject, topic_ids, status, created_at, updated_at)
       values ($1, $2, $3, 'Offer', 'Offer', $4, 'SENT', now(), now())`,
      [id, scope.environmentId, key, topicIds],
    );
  }
  for (const [key, { type, options }] of Object.entries(FIELDS)) {
    await audience.test.query(
      `insert into audience.custom_fields (id, environment_id, key, type, display_name, is_required, options, status, created_at, updated_at)
       values ($1, $2, $3, $4, $3, false, $5, 'ACTIVE', now(), now())`,
      [
        newId(),
        scope.environmentId,
        key,
        type,
        JSON.stringify(options.map((value) => ({ value, label: value }))),
      ],
    );
  }
  const statics = await Promise.all(
    ['APIT-1', 'APIT-2'].map((key) => insertSegment(audience, scope, key, null)),
  );
  const facts = fc.sample(
    peopleOf(
      topics.map(({ id }) => id),
      campaigns,
      statics,
    ),
    PEOPLE,
  );
  const people = new Map(
    facts.map((each, index) => [
      newId(),
      {
        ...each,
        emailKey: emailOf(index).key,
        externalId: each.externalId === null ? null : `${each.externalId}${index}`,
      },
    ]),
  );
  await insertPeople(audience, scope, people);
  const keys = {
    topicKeys: topics.map(({ topicKey }) => topicKey),
    campaignKeys: campaigns.map(({ key }) => key),
  };
  const dynamicSegments = await createDynamic(audience, scope, keys);
  const segmentKeys = ['APIT-1', 'APIT-2', 'APIT-3', 'APIT-4'];
  return { scope, known: { ...keys, segmentKeys }, people, dynamicSegments };
}

function emailOf(index: number) {
  const email = EMAILS[index % EMAILS.length]!;
  return address(index < EMAILS.length ? email : email.replace('@', `.${index}@`));
}

/** A dynamic segment, and one that names it and a static one. */
async function createDynamic(
  audience: AudienceFixture,
  scope: ProjectScope,
  keys: Omit<KnownKeys, 'segmentKeys'>,
) {
  const found = new Map<string, RuleNode>();
  const whereOf = [
    {
      or: [
        { field: 'custom.plan', op: 'eq', value: 'pro' },
        { field: 'custom.age', op: 'gte', value: 1 },
      ],
    },
    {
      and: [
        { segment: { segmentKey: 'APIT-3', member: false } },
        { not: { segment: { segmentKey: 'APIT-1', member: true } } },
        { event: { type: 'OPENED', topicKey: keys.topicKeys[0] }, count: { op: 'lte', value: 1 } },
      ],
    },
  ];
  for (const [index, where] of whereOf.entries()) {
    const json = { version: 1, where };
    const catalogue = await audience.get(RuleCatalogueQuery).find(scope, referencesIn(json), null);
    const read = readRules(json, catalogue);
    if ('errors' in read) throw new Error(JSON.stringify(read.errors));
    const id = await insertSegment(audience, scope, `APIT-${index + 3}`, JSON.stringify(json));
    for (const used of read.rules.segmentIds) {
      await audience.test.query('insert into audience.segment_references values ($1, $2, $3)', [
        id,
        used,
        scope.environmentId,
      ]);
    }
    found.set(id, read.rules.where);
  }
  return found;
}

async function insertSegment(
  audience: AudienceFixture,
  scope: ProjectScope,
  key: string,
  rules: string | null,
) {
  const id = newId();
  await audience.test.query(
    `insert into audience.segments (id, environment_id, segment_key, name, type, status, rules, is_due, created_at, updated_at)
     values ($1, $2, $3, $3, $4, 'ACTIVE', $5, false, now(), now())`,
    [id, scope.environmentId, key, rules === null ? 'STATIC' : 'DYNAMIC', rules],
  );
  return id;
}

function peopleOf(
  topicIds: readonly string[],
  campaigns: readonly Campaign[],
  segmentIds: readonly string[],
) {
  const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { freq: 3 });
  const oldValue = fc.constantFrom<unknown>('x', 3, true, ['a'], { deep: 1 });
  const value = (arbitrary: fc.Arbitrary<unknown>) =>
    fc.option(fc.oneof({ weight: 9, arbitrary }, { weight: 1, arbitrary: oldValue }), {
      nil: undefined,
      freq: 3,
    });
  const customFields = fc
    .record({
      plan: value(fc.constantFrom(...FIELDS.plan.options)),
      tags: value(fc.uniqueArray(fc.constantFrom(...FIELDS.tags.options), { maxLength: 3 })),
      note: value(texts),
      essay: value(texts),
      age: value(fc.integer({ min: -3, max: 6 })),
      score: value(numbers),
      vip: value(fc.boolean()),
      birthday: value(days),
      seen: value(moments.map((moment) => moment.toISOString())),
    })
    .map((fields) => Object.fromEntries(Object.entries(fields).filter(([, each]) => each !== undefined)));
  const consents = fc.uniqueArray(
    fc.record({
      topicId: fc.constantFrom(...topicIds),
      status: fc.constantFrom(...CONSENTS),
      since: maybe(moments),
    }),
    { selector: ({ topicId }) => topicId, maxLength: topicIds.length },
  );
  return fc.record({
    externalId: maybe(texts),
    firstName: maybe(texts),
    lastName: maybe(texts),
    phone: maybe(texts),
    locale: maybe(texts),
    timeZone: maybe(texts),
    status: fc.constantFrom(...STATUSES),
    source: fc.constantFrom(...SOURCES),
    createdAt: moments,
    customFields,
    consents,
    segmentIds: fc.subarray([...segmentIds]).map((ids) => new Set(ids)),
    events: fc.array(fc.oneof(mailEvents(campaigns), customEvents()), { maxLength: 8 }),
  });
}

function mailEvents(campaigns: readonly Campaign[]): fc.Arbitrary<EventFact> {
  return fc
    .record({
      type: fc.constantFrom(...MAIL_EVENTS),
      campaign: fc.constantFrom(...campaigns),
      occurredAt: moments,
      url: fc.constantFrom(...URLS),
    })
    .map(({ campaign, ...event }): EventFact => ({
      ...event,
      campaignId: campaign.id,
      topicIds: campaign.topicIds,
    }));
}

function customEvents(): fc.Arbitrary<EventFact> {
  return fc
    .record({
      name: fc.constantFrom(...EVENT_NAMES),
      occurredAt: moments,
      properties: fc.record({ total: fc.integer({ min: 0, max: 3 }) }, { requiredKeys: [] }),
    })
    .map((event) => ({ type: 'CUSTOM', ...event }));
}

async function insertPeople(
  audience: AudienceFixture,
  scope: ProjectScope,
  people: Map<string, SubscriberFacts>,
) {
  const { test } = audience;
  for (const [index, [id, person]] of [...people].entries()) {
    await test.query(
      `insert into audience.subscribers (id, environment_id, subscriber_key, email, email_key, first_name, last_name, phone, locale, time_zone, source, status, custom_fields, created_at, updated_at, external_id)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14, $15)`,
      [
        id,
        scope.environmentId,
        `APIT-${index}`,
        emailOf(index).value,
        person.emailKey,
        person.firstName,
        person.lastName,
        person.phone,
        person.locale,
        person.timeZone,
        person.source,
        person.status,
        JSON.stringify(person.customFields),
        person.createdAt,
        person.externalId,
      ],
    );
    for (const { topicId, status, since } of person.consents) {
      const column = {
        SUBSCRIBED: 'subscribed_at',
        PENDING_CONFIRMATION: 'granted_at',
        UNSUBSCRIBED: 'revoked_at',
        EXPIRED: 'token_expires_at',
      }[status];
      await test.query(
        `insert into audience.consents (subscriber_id, topic_id, environment_id, status, ${column}) values ($1, $2, $3, $4, $5)`,
        [id, topicId, scope.environmentId, status, since],
      );
    }
    for (const segmentId of person.segmentIds) {
      await test.query('insert into audience.segment_members values ($1, $2, $3, now())', [
        id,
        segmentId,
        scope.environmentId,
      ]);
    }
    people.set(id, { ...person, events: await insertEvents(audience, scope, id, person.events) });
  }
}

/** Mails and what happened to them, one delivery an event; returns what the events come to. */
async function insertEvents(
  audience: AudienceFixture,
  scope: ProjectScope,
  subscriberId: string,
  events: readonly EventFact[],
) {
  const facts: EventFact[] = [];
  for (const event of events) {
    facts.push(...factsOf(event));
    if (event.type === 'CUSTOM') {
      await audience.test.query(
        `insert into audience.subscriber_events (id, occurred_at, environment_id, subscriber_id, name, properties, created_at)
         values ($1, $2, $3, $4, $5, $6, now())`,
        [newId(), event.occurredAt, scope.environmentId, subscriberId, event.name, event.properties],
      );
    } else if (event.type === 'SENT' || event.type === 'BOUNCED') {
      await insertDelivery(audience, scope, subscriberId, event);
    } else {
      await audience.test.query(
        `insert into messaging.delivery_events (id, occurred_at, environment_id, campaign_id, delivery_id, subscriber_id, type, url)
         values ($1, $2, $3, $4, $5, $6, $7, $8)`,
        [
          newId(),
          event.occurredAt,
          scope.environmentId,
          event.campaignId,
          newId(),
          subscriberId,
          event.type,
          event.type === 'CLICKED' ? event.url : null,
        ],
      );
    }
  }
  return facts;
}

async function insertDelivery(
  audience: AudienceFixture,
  scope: ProjectScope,
  subscriberId: string,
  event: EventFact,
) {
  const id = newId();
  await audience.test.query(
    `insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address, address_key, message_id, state, next_attempt_at, sent_at, bounced_at, created_at)
     values ($1, current_date - floor(random() * 100000)::int, $2, 'CAMPAIGN', $3, $4, 'x', $5, 'x', 'SENT', now(), $6, $7, now())`,
    [
      id,
      scope.environmentId,
      event.campaignId,
      subscriberId,
      id,
      event.occurredAt,
      event.type === 'BOUNCED' ? event.occurredAt : null,
    ],
  );
}

/** A click counts as an open; what was sent and did not bounce was delivered. */
function factsOf(event: EventFact): EventFact[] {
  const also: Partial<Record<EventFact['type'], EventFact['type']>> = {
    CLICKED: 'OPENED',
    SENT: 'DELIVERED',
    BOUNCED: 'SENT',
  };
  const type = also[event.type];
  return type === undefined ? [event] : [event, { ...event, type }];
}
