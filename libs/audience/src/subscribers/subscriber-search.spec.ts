import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PageRequest, ProjectScope } from '#kernel';
import { AudienceFixture } from '../audience.fixture.js';
import { listed, type SubscriberFilter, SubscribersQuery, tooMany } from './subscribers.query.js';

/** More than the first page is sorted from, and more than the list is walked for it. */
const ADAS = 20_500;
const GRACES = 5_500;
const SIZE = 50;

describe('a search that many are found by', () => {
  let audience: AudienceFixture;
  let scope: ProjectScope;

  beforeAll(async () => {
    audience = await AudienceFixture.open();
    scope = await audience.scope();
  });
  afterAll(() => audience?.close());

  /** One a second; every seventh has a last name that begins like the first names. */
  const insert = (firstName: string, count: number, from: string) =>
    audience.test.query(
      `insert into audience.subscribers (id, environment_id, subscriber_key, email, email_key, first_name, last_name, source,
         status, created_at, updated_at)
       select platform.new_id(), $1, $2 || n, $2 || n, $2 || n, $2, case when n % 7 = 0 then 'Adams' end, 'API', 'ACTIVE',
         $4::timestamptz + make_interval(secs => n), $4::timestamptz + make_interval(secs => case when n % 3 = 0 then n else 0 end)
       from generate_series(1, $3::int) n`,
      [scope.environmentId, firstName, count, from],
    );
  const find = (filter: SubscriberFilter, request: PageRequest) =>
    audience.get(SubscribersQuery).page(scope, filter, request);
  const search = (q: string, page: number) => find({ q }, { page, size: SIZE });
  const newest = async (condition: string, page: number) => {
    const rows = await audience.test.query<{ id: string }>(
      `select id from audience.subscribers where environment_id = $1 and ${condition}
       order by created_at desc, id desc limit ${SIZE} offset ${page * SIZE}`,
      [scope.environmentId],
    );
    return rows.map(({ id }) => id);
  };
  const count = async (condition: string) =>
    (
      await audience.test.query(
        `select 1 from audience.subscribers where environment_id = $1 and ${condition}`,
        [scope.environmentId],
      )
    ).length;

  it.each([
    ['among the newest', 'ada', `first_name = 'ada' or last_name = 'Adams'`],
    ['long before all others', 'ada', `first_name = 'ada' or last_name = 'Adams'`],
    ['in one place only', 'grace', `first_name = 'grace'`],
  ])('finds each of them once, the newest first, %s', async (where, q, condition) => {
    if (where === 'among the newest') await insert('ada', ADAS, '2026-01-01');
    if (where === 'long before all others') await insert('grace', GRACES, '2026-06-01');
    for (const page of [0, 1, 400]) {
      const { items, totalElements } = await search(q, page);
      expect(totalElements).toBe(await count(`(${condition})`));
      expect(items.map(({ id }) => id)).toEqual(await newest(`(${condition})`, page));
    }
  });

  it('finds those who meet other conditions, whether they are looked up or compared as sets', async () => {
    const [topic] = await audience.test.query<{ id: string }>(
      `insert into audience.topics (id, environment_id, topic_key, name, status, double_opt_in_enabled, created_at, updated_at)
       values (platform.new_id(), $1, 'FOUND-1', 'Found', 'ACTIVE', false, now(), now()) returning id`,
      [scope.environmentId],
    );
    await audience.test.query(
      `update audience.subscribers set status = 'UNSUBSCRIBED' where environment_id = $1 and right(subscriber_key, 1) = '7'`,
      [scope.environmentId],
    );
    await audience.test.query(
      `insert into audience.consents (environment_id, subscriber_id, topic_id, status, granted_at, subscribed_at)
       select environment_id, id, $2, 'SUBSCRIBED', now(), now() from audience.subscribers
       where environment_id = $1 and right(subscriber_key, 1) in ('5', '7')`,
      [scope.environmentId, topic?.id],
    );
    const inTopic = `right(subscriber_key, 1) in ('5', '7')`;
    const after = new Date('2026-01-01T02:00:00Z');
    const filters: readonly [SubscriberFilter, string][] = [
      [{ status: 'UNSUBSCRIBED' }, `status = 'UNSUBSCRIBED'`],
      [{ topicKey: 'FOUND-1' }, inTopic],
      [{ topicKey: 'FOUND-1', status: 'ACTIVE' }, `${inTopic} and status = 'ACTIVE'`],
      [{ createdAfter: after, status: 'ACTIVE' }, `created_at > '2026-01-01 02:00Z' and status = 'ACTIVE'`],
      [{ updatedAfter: after }, `updated_at > '2026-01-01 02:00Z'`],
      [{ updatedAfter: after, topicKey: 'FOUND-1' }, `updated_at > '2026-01-01 02:00Z' and ${inTopic}`],
    ];
    for (const [q, found] of [
      ['ada', `(first_name = 'ada' or last_name = 'Adams')`],
      ['ada20', `email_key like 'ada20%'`],
    ] as const) {
      for (const [filter, condition] of filters) {
        const wanted = `${found} and ${condition}`;
        for (const page of [0, 1, 30]) {
          const { items, totalElements } = await find({ ...filter, q }, { page, size: SIZE });
          expect(totalElements).toBe(await count(wanted));
          expect(items.map(({ id }) => id)).toEqual(await newest(wanted, page));
        }
        const first = await find({ ...filter, q }, { after: null, size: SIZE });
        const place = first.next ?? [];
        const cursor = { page: 1, totalElements: first.totalElements, place };
        const second =
          first.next === null ? [] : (await find({ ...filter, q }, { after: cursor, size: SIZE })).items;
        expect(second.map(({ id }) => id)).toEqual(await newest(wanted, 1));
      }
    }
  });

  it('is refused when it takes too long, and says what would do', () => {
    const canceled = Object.assign(new Error('canceling statement due to statement timeout'), {
      code: '57014',
    });
    expect(tooMany({ q: 'a' }, canceled)).toMatchObject({ errors: { q: expect.stringMatching(/more of/) } });
    expect(tooMany({ updatedAfter: new Date() }, canceled)).toMatchObject({
      errors: { updatedAfter: expect.stringMatching(/later/) },
    });
    expect(tooMany({ status: 'ACTIVE' }, canceled)).toBe(canceled);
    expect(tooMany({ q: 'a' }, new Error('else'))).not.toHaveProperty('errors');
  });

  it('is the same statement when all of a query string is passed, empty filters included', () => {
    const statement = (filter: SubscriberFilter) =>
      audience.database.compile(listed(scope, filter, { page: 0, size: SIZE })).sql;
    const queryString = { q: 'ada', page: 0, size: SIZE, status: undefined };
    expect(statement(queryString)).toBe(statement({ q: 'ada' }));
    expect(statement({ ...queryString, status: 'ACTIVE' })).not.toBe(statement({ q: 'ada' }));
  });
});
