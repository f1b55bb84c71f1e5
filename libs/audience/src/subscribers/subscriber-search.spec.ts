import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ProjectScope } from '#kernel';
import { AudienceFixture } from '../audience.fixture.js';
import { listed, type SubscriberFilter, SubscribersQuery } from './subscribers.query.js';

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
         $4::timestamptz + make_interval(secs => n), now()
       from generate_series(1, $3::int) n`,
      [scope.environmentId, firstName, count, from],
    );
  const search = (q: string, page: number) =>
    audience.get(SubscribersQuery).page(scope, { q }, { page, size: SIZE });
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

  it('is the same statement when all of a query string is passed, empty filters included', () => {
    const statement = (filter: SubscriberFilter) =>
      audience.database.compile(listed(scope, filter, { page: 0, size: SIZE })).sql;
    const queryString = { q: 'ada', page: 0, size: SIZE, status: undefined };
    expect(statement(queryString)).toBe(statement({ q: 'ada' }));
    expect(statement({ ...queryString, status: 'ACTIVE' })).not.toBe(statement({ q: 'ada' }));
  });
});
