import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Cursor, ProjectScope } from '#kernel';
import { address, AudienceFixture, PROOF } from '../audience.fixture.js';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import { CountersService } from '../counters.service.js';
import { SuppressionsService } from '../suppressions/suppressions.service.js';
import type { TopicView } from '../topics/topics.query.js';
import type { SubscriberView } from './subscriber.js';
import { type SubscriberFilter, SubscribersQuery } from './subscribers.query.js';

const COUNT = 4_250;
const SIZE = 100;

describe('a long list of subscribers', () => {
  let audience: AudienceFixture;
  let scope: ProjectScope;
  let topic: TopicView;
  let everyone: readonly { readonly id: string; readonly created_at: Date; readonly status: string }[];

  beforeAll(async () => {
    audience = await AudienceFixture.open();
    scope = await audience.scope();
    topic = await audience.topic(scope);
    await insertSubscribers(audience.test, scope, topic.id, COUNT);
    // A hundred a day, so that many share a moment.
    await audience.test.query(
      `update audience.subscribers set created_at = timestamptz '2026-01-01 12:00Z' - n / 100 * interval '1 day'
       from (select id as wanted, row_number() over (order by md5(id::text)) as n from audience.subscribers) r where id = wanted`,
    );
    for (const n of [1, 50, 2_500]) {
      await audience
        .get(SuppressionsService)
        .suppress(scope, address(`reader-${n}@example.com`), 'HARD_BOUNCE', PROOF);
    }
    everyone = await audience.test.query(
      'select id, created_at, status from audience.subscribers order by created_at desc, id desc',
    );
  });
  afterAll(() => audience.close());

  const page = (filter: SubscriberFilter, number: number) =>
    audience.get(SubscribersQuery).page(scope, filter, { page: number, size: SIZE });

  async function pages(
    filter: SubscriberFilter,
    count = COUNT,
  ): Promise<{ items: SubscriberView[]; totals: Set<number> }> {
    const items: SubscriberView[] = [];
    const totals = new Set<number>();
    for (let number = 0; number * SIZE < count + SIZE; number += 1) {
      const { items: some, totalElements } = await page(filter, number);
      items.push(...some);
      totals.add(totalElements);
    }
    return { items, totals };
  }

  /** All pages by cursor; `between` happens between them. */
  async function walk(filter: SubscriberFilter, between = async () => {}): Promise<SubscriberView[]> {
    const items: SubscriberView[] = [];
    let after: Cursor | undefined;
    do {
      const request = { size: SIZE, after };
      const {
        next,
        items: some,
        totalElements,
      } = await audience.get(SubscribersQuery).page(scope, filter, request);
      items.push(...some);
      after = next === null ? undefined : { page: 0, totalElements, place: next };
      await between();
    } while (after !== undefined);
    return items;
  }

  it.each<[string, () => SubscriberFilter, (person: (typeof everyone)[number]) => boolean]>([
    ['all of them', () => ({}), () => true],
    ['those of a status', () => ({ status: 'ACTIVE' }), ({ status }) => status === 'ACTIVE'],
    ['those of a topic', () => ({ topicKey: topic.topicKey }), () => true],
    [
      'those of a topic and a status',
      () => ({ topicKey: topic.topicKey, status: 'ACTIVE' }),
      ({ status }) => status === 'ACTIVE',
    ],
    [
      'those between two moments',
      () => ({
        createdAfter: new Date('2025-11-22T12:00:00Z'),
        createdBefore: new Date('2025-12-31T12:00:00.001Z'),
      }),
      ({ created_at }) =>
        created_at > new Date('2025-11-22T12:00:00Z') && created_at <= new Date('2025-12-31T12:00:00Z'),
    ],
    ['those who changed since a moment', () => ({ updatedAfter: new Date('2026-01-01') }), () => true],
    ['those whose address begins so', () => ({ q: 'reader-' }), () => true],
    ['those whose address and first name begin so', () => ({ q: 'READER' }), () => true],
  ])('has %s once, in order, from whichever end a page is looked for', async (_name, filter, matches) => {
    const { items, totals } = await pages(filter());
    const wanted = everyone.filter((person) => matches(person)).map(({ id }) => id);
    expect(wanted.length).toBeGreaterThan(3_800);
    expect(items.map(({ id }) => id)).toEqual(wanted);
    expect(totals).toEqual(new Set([wanted.length]));
    expect((await walk(filter())).map(({ id }) => id)).toEqual(wanted);
  });

  it.each([0, 3, 499, 500, 2_000, COUNT - 500, COUNT - 499, COUNT - 3, COUNT])(
    'knows how many changed since a moment when %i did',
    async (changed) => {
      const moment = new Date('2026-06-01T00:00:00Z');
      await audience.test.query(
        `update audience.subscribers set updated_at = at
         from (
           select id as wanted, $1::timestamptz + interval '1 second' * (row_number() over (order by id) <= $2)::int as at
           from audience.subscribers
         ) r
         where id = wanted and updated_at <> at`,
        [moment, changed],
      );
      expect((await page({ updatedAfter: moment }, 0)).totalElements).toBe(changed);
    },
  );

  it('is empty behind its end, and keeps its total there', async () => {
    expect(await page({}, 2_000_000_000)).toEqual({ items: [], totalElements: COUNT, next: null });
  });

  it.each<[string, () => SubscriberFilter]>([
    ['all of them', () => ({})],
    ['those of a status', () => ({ status: 'ACTIVE' })],
    ['those of a topic', () => ({ topicKey: topic.topicKey })],
    ['those whose address begins so', () => ({ q: 'reader-' })],
    ['those whose address begins so and who are active', () => ({ q: 'reader-', status: 'ACTIVE' })],
  ])('shows %s once by cursor, while others come and go', async (_name, filter) => {
    const wanted = (await walk(filter())).map(({ id }) => id);
    const leaving = wanted.filter((_id, index) => index % 41 === 7);
    let turns = 0;
    const seen = await walk(filter(), async () => {
      turns += 1;
      await audience.test.query('delete from audience.consents where subscriber_id = any($1)', [
        [leaving[turns * 2], leaving.at(-turns)],
      ]);
      await audience.test.query('delete from audience.subscribers where id = any($1)', [
        [leaving[turns * 2], leaving.at(-turns)],
      ]);
      await insertSubscribers(audience.test, scope, topic.id, 1, `newcomer-${wanted.length}-${turns}`);
    });
    const ids = seen.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const stayed = wanted.filter((id) => !leaving.includes(id));
    expect(ids.filter((id) => stayed.includes(id))).toEqual(stayed);
  });

  it('shows the same by its numbers whichever part of it is marked, as others come and go', async () => {
    const expectSame = async () => {
      const wanted = await audience.test.query<{ id: string }>(
        'select id from audience.subscribers order by created_at desc, id desc',
      );
      const { items, totals } = await pages({}, wanted.length);
      expect(items.map(({ id }) => id)).toEqual(wanted.map(({ id }) => id));
      expect(totals).toEqual(new Set([wanted.length]));
    };
    const fold = () => audience.get(CountersService).fold({ perMark: 300 });
    await fold();
    await expectSame();
    expect((await audience.test.query('select 1 from audience.list_marks')).length).toBeGreaterThan(10);
    // The youngest, people of a time that is marked already, and some who leave; without and with what is folded.
    await insertSubscribers(audience.test, scope, topic.id, 350, 'youngest.example');
    await insertSubscribers(audience.test, scope, topic.id, 350, 'older.example');
    await audience.test.query(
      `update audience.subscribers set created_at = timestamptz '2025-12-20 12:00Z' + interval '1 hour' * (length(email) % 3)
       where email like '%@older.example'`,
    );
    await audience.test.query(`delete from audience.subscribers where email like '%7@%'`);
    await expectSame();
    await fold();
    await expectSame();
    await audience.test.query(
      `delete from audience.subscribers where email like '%@%est.example' or email like '%@older.example'`,
    );
    await expectSame();
    await fold();
    await expectSame();
    expect((await audience.get(CountersService).check()).differences).toEqual([]);
  });
});
