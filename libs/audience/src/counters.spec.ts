import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import * as fc from '#testing/random/properties';
import {
  AudienceWorkload,
  COMMON_KINDS,
  type Place,
  RARE_KINDS,
  TOPICS,
} from './audience-workload.fixture.js';
import { AudienceFixture } from './audience.fixture.js';
import { SUBSCRIBER_STATUSES, SUPPRESSION_REASONS } from './consents/consent.js';
import { CountersService } from './counters.service.js';
import { SubscribersQuery } from './subscribers/subscribers.query.js';
import { SuppressionsService } from './suppressions/suppressions.service.js';
import { TopicsQuery } from './topics/topics.query.js';

const OPERATIONS = fc.runs(500);
const PEOPLE = 25;
const WRITERS = 20;

const operation = fc.record({
  kind: fc.oneof(
    { weight: 10, arbitrary: fc.constantFrom(...COMMON_KINDS) },
    { weight: 1, arbitrary: fc.constantFrom(...RARE_KINDS) },
  ),
  place: fc.nat({ max: 1 }),
  person: fc.nat({ max: PEOPLE - 1 }),
  topic: fc.nat({ max: TOPICS - 1 }),
  reason: fc.constantFrom(...SUPPRESSION_REASONS),
});

interface Person {
  readonly email_key: string;
  readonly status: string;
  readonly reason: string | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly consents: Readonly<Record<string, string>> | null;
}

describe('counters', () => {
  let audience: AudienceFixture;
  let workload: AudienceWorkload;

  beforeAll(async () => {
    audience = await AudienceFixture.open(WRITERS);
    workload = new AudienceWorkload(audience);
  });
  afterAll(() => audience.close());

  async function expectNoDifference(): Promise<void> {
    const { differences, statusDifferences, strayConsents } = await audience.get(CountersService).check();
    expect({ differences, statusDifferences, strayConsents }).toEqual({
      differences: [],
      statusDifferences: [],
      strayConsents: [],
    });
  }

  /** Compares the totals of lists and topics with a count over all rows. */
  async function expectExactTotals({ scope }: Place): Promise<void> {
    const people = await audience.test.query<Person>(
      `select b.email_key, b.status, s.reason, b.created_at, b.updated_at,
         (select json_object_agg(c.topic_id, c.status) from audience.consents c where c.subscriber_id = b.id) as consents
       from audience.subscribers b
       left join audience.suppressions s on s.environment_id = b.environment_id and s.email_key = b.email_key
       where b.environment_id = $1 order by b.created_at, b.id`,
      [scope.environmentId],
    );
    const list = (filter: Parameters<SubscribersQuery['page']>[1]) =>
      audience.get(SubscribersQuery).page(scope, filter, { page: 0, size: 1 });
    expect((await list({})).totalElements).toBe(people.length);
    const moment = people[Math.floor(people.length / 3)]?.created_at ?? audience.clock.now();
    const isLater = ({ created_at }: Person) => created_at > moment;
    const end = new Date(Math.max(...people.map(({ created_at }) => created_at.getTime())));
    expect((await list({ createdAfter: moment })).totalElements).toBe(people.filter(isLater).length);
    expect((await list({ createdAfter: moment, createdBefore: end })).totalElements).toBe(
      people.filter((person) => isLater(person) && person.created_at < end).length,
    );
    expect((await list({ updatedAfter: moment })).totalElements).toBe(
      people.filter(({ updated_at }) => updated_at > moment).length,
    );
    for (const status of SUBSCRIBER_STATUSES) {
      const ofStatus = people.filter((person) => person.status === status);
      expect((await list({ status })).totalElements).toBe(ofStatus.length);
      expect((await list({ status, createdAfter: moment })).totalElements).toBe(
        ofStatus.filter(isLater).length,
      );
    }
    const topics = await audience.get(TopicsQuery).page(scope, {}, { page: 0, size: 10 });
    for (const { id, topicKey, subscriberCount, activeSubscriberCount } of topics.items) {
      const isIn = ({ consents }: Person) =>
        ['SUBSCRIBED', 'PENDING_CONFIRMATION'].includes(consents?.[id] ?? '');
      const isActive = ({ consents, reason }: Person) => consents?.[id] === 'SUBSCRIBED' && reason === null;
      expect({ subscriberCount, activeSubscriberCount }).toEqual({
        subscriberCount: people.filter(isIn).length,
        activeSubscriberCount: people.filter(isActive).length,
      });
      const status = 'ACTIVE';
      expect((await list({ topicKey })).totalElements).toBe(subscriberCount);
      expect((await list({ topicKey, status })).totalElements).toBe(
        people.filter((person) => isIn(person) && person.status === status).length,
      );
    }
    for (const reason of SUPPRESSION_REASONS) {
      const [counted] = await audience.test.query<{ count: string }>(
        'select count(*) from audience.suppressions where environment_id = $1 and reason = $2',
        [scope.environmentId, reason],
      );
      const { totalElements } = await audience
        .get(SuppressionsService)
        .page(scope, { reason }, { page: 0, size: 1 });
      expect(totalElements).toBe(Number(counted?.count));
    }
  }

  it(`agree with a count after any ${OPERATIONS} operations, in the middle of them too`, async () => {
    const length = { minLength: OPERATIONS, maxLength: OPERATIONS, size: 'max' } as const;
    await fc.assert(
      fc.asyncProperty(fc.array(operation, length), async (operations) => {
        const both = await workload.places();
        for (const [index, wanted] of operations.entries()) {
          await workload.act(both[wanted.place]!, wanted);
          if (index % 100 !== 99) continue;
          await expectNoDifference();
          for (const one of both) await expectExactTotals(one);
        }
        await audience.get(CountersService).fold();
        expect(await audience.test.query('select 1 from audience.counter_deltas')).toEqual([]);
        for (const one of both) await expectExactTotals(one);
      }),
      // One run that is long: in the full run, too, it comes to its end.
      { numRuns: 1, endOnFailure: true, interruptAfterTimeLimit: 3_600_000 },
    );
  });

  it(`stay exact while ${WRITERS} write at once and their deltas are folded`, async () => {
    const both = await workload.places();
    const scripts = fc.sample(fc.array(operation, { minLength: 25, maxLength: 25 }), WRITERS);
    const writing = new AbortController();
    const folding = (async () => {
      while (!writing.signal.aborted) await audience.get(CountersService).fold({ perMark: 7 });
    })();
    try {
      await Promise.all(
        scripts.map(async (script) => {
          for (const wanted of script)
            await workload.act(both[wanted.place]!, { ...wanted, person: wanted.person % 8 });
        }),
      );
    } finally {
      writing.abort();
      await folding;
    }
    await expectNoDifference();
    for (const one of both) await expectExactTotals(one);
  });

  it('cost one row a counter and statement, however many rows it writes', async () => {
    const [{ scope, topics }] = await workload.places();
    await audience.get(CountersService).fold();
    const at = audience.clock.now();
    await audience.database.transaction(scope, () =>
      sql`
        with people as (
          insert into audience.subscribers (id, environment_id, subscriber_key, email, email_key, source, status, created_at, updated_at)
          select platform.new_id(), ${scope.environmentId}, 'N-' || n, n || '@example.com', n || '@example.com', 'IMPORT',
            'ACTIVE', ${at}::timestamptz, ${at}::timestamptz
          from generate_series(1, 5000) n returning id
        )
        insert into audience.consents (subscriber_id, topic_id, environment_id, status)
        select id, ${topics[0]!.id}, ${scope.environmentId}, 'SUBSCRIBED' from people
      `.execute(audience.database.tables()),
    );
    const deltas = await audience.test.query<{ kind: string; delta: string }>(
      'select kind, delta from audience.counter_deltas order by kind',
    );
    expect(deltas.map(({ kind, delta }) => `${kind} ${delta}`)).toEqual([
      'CREATED 5000',
      'SUBSCRIBED 5000',
      'SUBSCRIBERS 5000',
    ]);
  });

  it('can neither be written for another environment nor be set by a request', async () => {
    const [{ scope }, other] = await workload.places();
    const write = (statement: ReturnType<typeof sql>) =>
      audience.database.transaction(scope, () => statement.execute(audience.database.tables()));
    await expect(
      write(
        sql`insert into audience.counter_deltas values (${other.scope.environmentId}, 'SUBSCRIBERS', '', 'ACTIVE', 1)`,
      ),
    ).rejects.toThrow('row-level security');
    await expect(write(sql`update audience.counters set value = 0`)).rejects.toThrow('permission denied');
  });
});
