import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { newId, type ProjectScope } from '#kernel';
import * as fc from '#testing/random/properties';
import { AudienceFixture, HOUR } from './audience.fixture.js';
import type { AudienceBreakdown } from './audience-breakdown.query.js';
import { RecipientsQuery } from './recipients.query.js';
import { SegmentsService } from './segments/segments.service.js';

const RUNS = fc.runs(60);
const MOST_PEOPLE = 25;
const TOPICS = 3;
const SUPPRESSIONS = [
  null,
  null,
  null,
  'HARD_BOUNCE',
  'GLOBAL_UNSUBSCRIBE',
  'SPAM_COMPLAINT',
  'BLOCKED',
] as const;
const CONSENTS = [
  'NONE',
  'PENDING_CONFIRMATION',
  'SUBSCRIBED',
  'SUBSCRIBED_LATER',
  'UNSUBSCRIBED',
  'EXPIRED',
] as const;

const DOMAINS = ['gmail.com', 'web.de', 'example.com', 'xn--bcher-kva.example'];
const ASKED_DOMAINS = ['gmail.com', 'xn--bcher-kva.example', 'nobody.example'];

const person = fc.record({
  domain: fc.constantFrom(...DOMAINS),
  consents: fc.array(fc.constantFrom(...CONSENTS), { minLength: TOPICS, maxLength: TOPICS }),
  suppression: fc.constantFrom(...SUPPRESSIONS),
  /** Hours until the pause ends; null: never paused. */
  pausedFor: fc.constantFrom(null, null, null, 0, -1, 1),
  /** Found by the rule. */
  isApi: fc.boolean(),
  /** Member of the static segment. */
  isListed: fc.boolean(),
});
type Person = typeof person extends fc.Arbitrary<infer Value> ? Value : never;

const asked = fc.record({
  people: fc.array(person, { maxLength: MOST_PEOPLE }),
  topics: fc.subarray([0, 1, 2], { minLength: 1 }),
  segments: fc.subarray(['rule', 'list'] as const),
});
type Asked = typeof asked extends fc.Arbitrary<infer Value> ? Value : never;
type Standing = Exclude<keyof AudienceBreakdown, 'matched'>;

/** One of each standing, and somebody who is none of the audience's: asked before what is drawn, so that no run is without them. */
const plain: Person = {
  domain: 'gmail.com',
  consents: ['SUBSCRIBED', 'NONE', 'NONE'],
  suppression: null,
  pausedFor: null,
  isApi: true,
  isListed: false,
};
const oneOfEach: Asked = {
  people: [
    plain,
    { ...plain, consents: ['PENDING_CONFIRMATION', 'NONE', 'NONE'] },
    { ...plain, suppression: 'SPAM_COMPLAINT' },
    { ...plain, suppression: 'HARD_BOUNCE' },
    { ...plain, pausedFor: 1 },
    { ...plain, consents: ['UNSUBSCRIBED', 'NONE', 'SUBSCRIBED'] },
  ],
  topics: [0, 1],
  segments: ['rule'],
};

describe('the breakdown of an audience', () => {
  let audience: AudienceFixture;
  let query: RecipientsQuery;

  beforeAll(async () => {
    audience = await AudienceFixture.open();
    query = audience.get(RecipientsQuery);
  });
  afterAll(() => audience.close());

  it('counts whom the rules say, and as recipients exactly those whom a send writes down', async () => {
    await fc.assert(
      fc.asyncProperty(asked, async (world) => {
        const scope = await audience.scope();
        const now = audience.clock.now();
        const { topicIds, segmentIds, ids } = await settle(audience, scope, world);
        const standings = world.people.map((one) => standingOf(one, world));
        const surveyed = await query.survey(scope, { topicIds, segmentIds }, ASKED_DOMAINS, now);
        expect(surveyed.breakdown).toEqual(tally(standings));
        const domains = world.people.flatMap(({ domain }, at) =>
          standings[at] === 'willReceive' && ASKED_DOMAINS.includes(domain) ? [domain] : [],
        );
        const counted = Map.groupBy(domains, (domain) => domain);
        expect(surveyed.recipientsByDomain).toEqual(
          new Map([...counted].map(([domain, { length }]) => [domain, length])),
        );
        const receivers = ids.filter((_, at) => standings[at] === 'willReceive').sort();
        expect(await expanded(scope, { topicIds, segmentIds }, now)).toEqual(receivers);
        expect(await query.count(scope, { topicIds, segmentIds }, now)).toBe(receivers.length);
      }),
      { numRuns: RUNS, examples: [[oneOfEach]] },
    );
  });

  it('tells each standing by the words of the rule', () => {
    expect(oneOfEach.people.map((one) => standingOf(one, oneOfEach))).toEqual([
      'willReceive',
      'unconfirmed',
      'suppressed',
      'bounced',
      'capped',
      null,
    ]);
  });

  /** As a campaign is expanded: frozen first where segments are named, then taken chunk by chunk. */
  async function expanded(
    scope: ProjectScope,
    chosen: { readonly topicIds: string[]; readonly segmentIds: string[] },
    now: Date,
  ): Promise<string[]> {
    const frozen = chosen.segmentIds.length === 0 ? undefined : newId();
    if (frozen !== undefined) await query.freeze(scope, frozen, chosen, now);
    return audience.database.transaction(scope, async () => {
      const candidates = query.audience(scope, chosen.topicIds, now, { frozen, size: 100_000 });
      const { rows } = await sql<{ id: string }>`
        with ${candidates} select a.subscriber_id as id from audience a order by a.subscriber_id`.execute(
        audience.database.tables(),
      );
      return rows.map(({ id }) => id);
    });
  }
});

/** Standing by the words of the rule, one person at a time: the first reason that applies; null outside the audience. */
function standingOf(one: Person, { topics, segments }: Asked): Standing | null {
  const consents = topics.map((topic) => one.consents[topic]);
  const isSubscribed = consents.includes('SUBSCRIBED');
  if (!isSubscribed && !consents.includes('PENDING_CONFIRMATION')) return null;
  const isChosen = { rule: one.isApi, list: one.isListed };
  if (segments.length > 0 && !segments.some((segment) => isChosen[segment])) return null;
  if (one.suppression !== null) return one.suppression === 'HARD_BOUNCE' ? 'bounced' : 'suppressed';
  if (!isSubscribed) return 'unconfirmed';
  return one.pausedFor !== null && one.pausedFor > 0 ? 'capped' : 'willReceive';
}

function tally(standings: readonly (Standing | null)[]): AudienceBreakdown {
  const of = (wanted: Standing) => standings.filter((standing) => standing === wanted).length;
  return {
    matched: standings.filter((standing) => standing !== null).length,
    unconfirmed: of('unconfirmed'),
    suppressed: of('suppressed'),
    bounced: of('bounced'),
    capped: of('capped'),
    willReceive: of('willReceive'),
  };
}

/** Puts the people into an environment of their own, with three topics and two segments. */
async function settle(audience: AudienceFixture, scope: ProjectScope, { people, topics, segments }: Asked) {
  const known = [await audience.topic(scope), await audience.topic(scope), await audience.topic(scope)];
  const byRule = await audience.get(SegmentsService).create(scope, {
    name: 'By a rule',
    rules: JSON.stringify({ version: 1, where: { field: 'source', op: 'eq', value: 'API' } }),
  });
  const byList = await audience.get(SegmentsService).create(scope, { name: 'By hand', type: 'STATIC' });
  const segmentId = { rule: byRule.id, list: byList.id };
  const ids: string[] = [];
  for (const numbered of people.entries())
    ids.push(await insertPerson(audience, scope, numbered, known, byList.id));
  return {
    ids,
    topicIds: topics.map((topic) => known[topic]!.id),
    segmentIds: segments.map((segment) => segmentId[segment]),
  };
}

async function insertPerson(
  audience: AudienceFixture,
  { environmentId }: ProjectScope,
  [number, { domain, consents, suppression, pausedFor, isApi, isListed }]: readonly [number, Person],
  topics: readonly { readonly id: string }[],
  listId: string,
): Promise<string> {
  const [id, now] = [newId(), audience.clock.now()];
  const email = `person-${number}@${domain}`;
  const after = (hours: number) => new Date(now.getTime() + hours * HOUR);
  const run = audience.test.query.bind(audience.test);
  await run(
    `insert into audience.subscribers (id, environment_id, subscriber_key, email, email_key, source, status, paused_until, created_at, updated_at)
     values ($1, $2, $3, $4, $4, $5, 'ACTIVE', $6, $7, $7)`,
    [
      id,
      environmentId,
      `APIT-${number}`,
      email,
      isApi ? 'API' : 'FORM',
      pausedFor === null ? null : after(pausedFor),
      now,
    ],
  );
  for (const [topic, given] of consents.entries()) {
    if (given === 'NONE') continue;
    const since = given === 'SUBSCRIBED' ? after(-topic) : given === 'SUBSCRIBED_LATER' ? after(1) : null;
    await run(
      `insert into audience.consents (subscriber_id, topic_id, environment_id, status, subscribed_at) values ($1, $2, $3, $4, $5)`,
      [id, topics[topic]?.id, environmentId, since === null ? given : 'SUBSCRIBED', since],
    );
  }
  if (suppression !== null)
    await run(
      `insert into audience.suppressions (environment_id, email_key, email, reason, suppressed_at) values ($1, $2, $2, $3, $4)`,
      [environmentId, email, suppression, now],
    );
  if (isListed)
    await run(
      `insert into audience.segment_members (subscriber_id, segment_id, environment_id, added_at) values ($1, $2, $3, $4)`,
      [id, listId, environmentId, now],
    );
  return id;
}
