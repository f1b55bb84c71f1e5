import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ProjectScope } from '#kernel';
import * as fc from '#testing/random/properties';
import { AudienceFixture, HOUR, PROOF } from '../audience.fixture.js';
import type { TopicView } from '../topics/topics.query.js';
import { act, type Consent, type ConsentAction, subscriberStatus } from './consent.js';
import { ConsentRepository } from './consent.repository.js';

const PEOPLE = 4;
const ACTIONS = ['grant', 'offer', 'join', 'confirm', 'askAgain', 'revoke'] as const;

interface Step {
  readonly action: (typeof ACTIONS)[number];
  readonly people: readonly number[];
  readonly topics: readonly number[];
  readonly waitMs: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  action: fc.constantFrom(...ACTIONS),
  people: fc.uniqueArray(fc.nat(PEOPLE - 1), { minLength: 1 }),
  topics: fc.uniqueArray(fc.nat(2), { minLength: 1 }),
  waitMs: fc.constantFrom(0, HOUR, 30 * HOUR),
});

/** Each consent as the rule says, by person and topic, and how many entries its record has. */
class Model {
  readonly consents = new Map<string, Consent>();
  entries = 0;

  act(action: ConsentAction, subscriberId: string, topic: TopicView, at: Date): void {
    const key = `${subscriberId} ${topic.id}`;
    const before = this.consents.get(key) ?? null;
    const { consent, from, hasExpired } = act(before, action, topic, at);
    this.entries += (hasExpired ? 1 : 0) + ((consent?.status ?? null) === from ? 0 : 1);
    if (consent !== null) this.consents.set(key, consent);
  }
}

describe('the writer of consents', () => {
  let audience: AudienceFixture;
  beforeAll(async () => {
    audience = await AudienceFixture.open();
  });
  afterAll(() => audience.close());

  /** Subscribers of a topic that no step touches, all of them suppressed by nobody. */
  async function world() {
    const scope = await audience.scope();
    const topics: TopicView[] = [];
    for (const doubleOptInEnabled of [false, true, true])
      topics.push(await audience.topic(scope, { doubleOptInEnabled }));
    const other = await audience.topic(scope, { doubleOptInEnabled: true });
    const ids: string[] = [];
    for (let index = 0; index < PEOPLE; index += 1)
      ids.push((await audience.subscribe(scope, `person-${index}@example.com`, other)).id);
    return { scope, topics, ids, other };
  }

  const stored = ({ environmentId }: ProjectScope, otherId: string) =>
    audience.test.query<Consent & { key: string }>(
      `select subscriber_id || ' ' || topic_id as key, topic_id as "topicId", status, granted_at as "grantedAt",
         confirmed_at as "confirmedAt", revoked_at as "revokedAt", token_expires_at as "tokenExpiresAt",
         subscribed_at as "subscribedAt"
       from audience.consents where environment_id = $1 and topic_id <> $2`,
      [environmentId, otherId],
    );

  it('does to the consents of many what the rule says of each, and records every change', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        const { scope, topics, ids, other } = await world();
        const model = new Model();
        for (const { action, people, topics: chosen, waitMs } of steps) {
          audience.clock.advance(waitMs);
          const subscriberIds = people.map((index) => ids[index]!);
          const named = chosen.map((index) => topics[index]!);
          const order =
            action === 'grant' || action === 'offer' || action === 'join'
              ? { subscriberIds, action, topics: named }
              : { subscriberIds, action, topicIds: named.map(({ id }) => id) };
          await audience.get(ConsentRepository).change(scope, order, PROOF);
          for (const id of subscriberIds)
            for (const topic of named) model.act(action, id, topic, audience.clock.now());
        }
        const rows = await stored(scope, other.id);
        expect(new Map(rows.map(({ key, ...consent }) => [key, consent]))).toEqual(model.consents);
        const [recorded] = await audience.test.query(
          'select count(*)::int as entries from audience.consent_ledger where environment_id = $1 and topic_id <> $2',
          [scope.environmentId, other.id],
        );
        expect(recorded).toEqual({ entries: model.entries });
      }),
      { numRuns: fc.runs(25), endOnFailure: true },
    );
  });

  it('gives everybody the status that follows, and asks each person once for all that is to be confirmed', async () => {
    const { scope, topics, ids } = await world();
    const asked = await audience.requestedMails(scope);
    await audience
      .get(ConsentRepository)
      .change(scope, { subscriberIds: ids, action: 'grant', topics: topics.slice(1) }, PROOF);
    expect(await audience.requestedMails(scope)).toHaveLength(asked.length + PEOPLE);
    expect(await audience.statusOf(scope, 'person-0@example.com')).toBe('PENDING_CONFIRMATION');
    const [first = '', ...others] = ids;
    const writer = audience.get(ConsentRepository);
    await writer.change(scope, { subscriberIds: others, action: 'confirm' }, PROOF);
    await writer.change(scope, { subscriberIds: [first], action: 'revoke' }, PROOF);
    expect(await audience.statusOf(scope, 'person-1@example.com')).toBe(
      subscriberStatus(null, ['SUBSCRIBED']),
    );
    expect(await audience.statusOf(scope, 'person-0@example.com')).toBe('UNSUBSCRIBED');
  });
});
