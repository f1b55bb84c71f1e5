import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import sharp from 'sharp';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { expectProblem } from '#testing/http/problems';
import { sharedSystem, type System, type SystemProject } from '#testing/programs/system';

const COUNT = 23;
const LISTS = [
  { path: '/topics', table: 'audience.topics', time: 'created_at', id: 'id' },
  { path: '/subscribers', table: 'audience.subscribers', time: 'created_at', id: 'id' },
  { path: '/suppressions', table: 'audience.suppressions', time: 'suppressed_at', id: 'email' },
  { path: '/campaigns', table: 'messaging.campaigns', time: 'created_at', id: 'id' },
  { path: '/media', table: 'messaging.media', time: 'created_at', id: 'id' },
  { path: '/messages', table: 'messaging.messages', time: 'created_at', id: 'id' },
  { path: '/templates', table: 'messaging.templates', time: 'created_at', id: 'id' },
  { path: '/api-keys', table: 'access.api_keys', time: 'created_at', id: 'id' },
  { path: '/test-inbox/messages', table: 'messaging.test_inbox_messages', time: 'received_at', id: 'id' },
] as const;

type Row = Readonly<Record<string, string>>;

describe('lists', () => {
  let system: System;
  let project: SystemProject;
  let client: ApiClient;
  let topicKeys: string[];
  let topicIds: string[];

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
    const numbers = Array.from({ length: COUNT }, (_unused, index) => index);
    const topics: ApiAnswer[] = [];
    for (const number of numbers) topics.push(await client.post('/topics', { name: `Topic ${number}` }));
    topicKeys = topics.map((topic) => topic.at('topicKey'));
    topicIds = topics.map((topic) => topic.at('id'));
    const picture = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#c33' } })
      .png()
      .toBuffer();
    for (const _ of numbers)
      await client.post('/media', picture, { headers: { 'content-type': 'image/png' } });
    await Promise.all(
      numbers.map(async (number) => {
        const email = `person${number}@example.com`;
        await client.post('/subscribers', { email, topicKeys: [topicKeys[0]], consent: { source: 'form' } });
        await client.post('/suppressions', { email: `gone${number}@example.com` });
        await client.post('/templates', { name: `Template ${number}`, kind: 'MESSAGE' });
        // The key that asks is one of them.
        if (number > 0) await client.post('/api-keys', { name: `Key ${number}`, scopes: ['topics:read'] });
        const message = {
          purpose: 'test',
          subject: 'x',
          text: 'x',
          scheduledAt: new Date(Date.now() + 86_400_000),
        };
        await client.post('/messages', { to: email, ...message });
        await client.post('/campaigns', {
          name: `Campaign ${number}`,
          subject: 'x',
          topicIds: [topicIds[number % 2]],
        });
      }),
    );
    await eventually('all confirmation mails', async () => (await total('/test-inbox/messages')) === COUNT);
  });
  afterAll(() => system?.stop());

  const total = async (path: string) => (await client.get(path)).at<number>('pagination', 'totalElements');
  const rowsOf = (answer: ApiAnswer) => answer.at<Row[]>('data');

  describe.each(LISTS)('of $path', ({ path, table, time, id }) => {
    const walk = async (size: number): Promise<string[]> => {
      const seen: string[] = [];
      for (let page = 0; ; page += 1) {
        const answer = await client.get(`${path}?page=${page}&size=${size}`);
        seen.push(...rowsOf(answer).map((row) => row[id] ?? ''));
        if (!answer.at<boolean>('pagination', 'hasNext')) return seen;
      }
    };

    it('have 20 on a page unless asked otherwise', async () => {
      const first = await client.get(path);
      expect(rowsOf(first)).toHaveLength(20);
      expect(first.at('pagination')).toEqual({
        page: 0,
        size: 20,
        totalElements: COUNT,
        totalPages: 2,
        hasNext: true,
        hasPrevious: false,
      });
      const second = await client.get(`${path}?page=1`);
      expect(rowsOf(second)).toHaveLength(COUNT - 20);
      expect(second.at('pagination')).toMatchObject({
        page: 1,
        hasNext: false,
        hasPrevious: true,
      });
      const whole = await client.get(`${path}?size=${COUNT}`);
      expect(whole.at('pagination')).toMatchObject({
        size: COUNT,
        totalPages: 1,
        hasNext: false,
        hasPrevious: false,
      });
    });

    it('take a size over 100 as 100', async () => {
      for (const size of ['101', '5000', '999999999']) {
        expect((await client.get(`${path}?size=${size}`)).at('pagination')).toMatchObject({
          size: 100,
          totalPages: 1,
        });
      }
    });

    it('are empty past their end', async () => {
      const past = await client.get(`${path}?page=7&size=10`);
      expect(past.body).toEqual({
        data: [],
        pagination: {
          page: 7,
          size: 10,
          totalElements: COUNT,
          totalPages: 3,
          hasNext: false,
          hasPrevious: true,
        },
      });
    });

    it.each([
      'page=-1',
      'page=x',
      'page=1.5',
      'page=',
      'page=1e1',
      'size=0',
      'size=-5',
      'size=x',
      'size=2.5',
      'size=',
      'size=1&size=2',
      'page=0x1',
    ])('refuse %s', async (query) => {
      const errors = { [query.split('=')[0] ?? '']: expect.any(String) };
      expect(
        expectProblem(await client.get(`${path}?${query}`), 400, 'validation-error', { errors })['errors'],
      ).toEqual(errors);
    });

    it('name both faults at once', async () => {
      const errors = { page: expect.any(String), size: expect.any(String) };
      expectProblem(await client.get(`${path}?page=-1&size=0`), 400, 'validation-error', { errors });
    });

    it('link to their neighbours', async () => {
      const linksOf = (answer: ApiAnswer) =>
        new Map(
          [...(answer.headers.get('link') ?? '').matchAll(/<([^>]+)>; rel="(\w+)"/g)].map(
            ([, url = '', rel = '']) => [rel, url],
          ),
        );
      const middle = linksOf(await client.get(`${path}?page=1&size=10`));
      expect([...middle.keys()].sort()).toEqual(['next', 'prev']);
      const next = new URL(middle.get('next') ?? '');
      expect([next.pathname, next.searchParams.get('page'), next.searchParams.get('size')]).toEqual([
        `/api/v1${path}`,
        '2',
        '10',
      ]);
      expect([...linksOf(await client.get(`${path}?size=10`)).keys()]).toEqual(['next']);
      expect([...linksOf(await client.get(`${path}?size=10&page=2`)).keys()]).toEqual(['prev']);
      expect((await client.get(`${path}?size=100`)).headers.get('link')).toBeNull();
      const followed = await client.get(next.pathname.replace('/api/v1', '') + next.search);
      expect(followed.at('pagination')).toMatchObject({ page: 2, hasNext: false });
      const after = (await client.get(`${path}?size=10&after=`)).at('pagination', 'next');
      const behind = linksOf(await client.get(`${path}?size=10&after=${after}`));
      expect([...behind.keys()]).toEqual(['next']);
      const last = new URL(behind.get('next') ?? '');
      expect(rowsOf(await client.get(path + last.search))).toEqual(rowsOf(followed));
    });

    it('are walked through by cursor', async () => {
      const whole = rowsOf(await client.get(`${path}?size=100`));
      const seen: Row[] = [];
      let query = 'size=9&after=';
      for (const page of [0, 1, 2]) {
        const answer = await client.get(`${path}?${query}`);
        const next = answer.at<string | null>('pagination', 'next');
        const hasNext = next !== null;
        expect(answer.at('pagination')).toMatchObject({
          page,
          totalElements: COUNT,
          totalPages: 3,
          hasNext,
          hasPrevious: page > 0,
        });
        expect(hasNext).toBe(page < 2);
        seen.push(...rowsOf(answer));
        query = `size=9&after=${next}`;
      }
      expect(seen).toEqual(whole);
    });

    it('refuse a cursor beside a page, and what is no cursor of theirs', async () => {
      const next = (await client.get(`${path}?size=2&after=`)).at('pagination', 'next');
      const errors = { page: expect.any(String), after: expect.any(String) };
      expectProblem(await client.get(`${path}?page=0&after=${next}`), 400, 'validation-error', { errors });
      const moment = '2026-03-01T00:00:00.123456+00:00';
      const someId = '019aa3b5-7c1e-7d55-9c3e-2f6b8a4d1e90';
      const forged = [
        [0],
        [0, 1, 2, 3],
        [-1, 1, moment, someId],
        [1, 1, '9999999-01-01', someId],
        [1, 1, '2026-02-30T00:00:00Z', someId],
        [1, 1, moment, { id: someId }],
        [1, 1, moment, someId, someId],
        [1, 1, `${moment}' or true --`, someId],
        'x',
        null,
      ].map((content) => Buffer.from(JSON.stringify(content)).toString('base64url'));
      for (const cursor of ['x', `${next}x`, next.slice(1), `%20${next}`, ...forged]) {
        const refused = await client.get(`${path}?after=${cursor}`);
        expect([cursor, refused.status]).toEqual([cursor, 400]);
        expectProblem(refused, 400, 'validation-error', {
          errors: { after: 'must be the next of a page of this list with these filters' },
        });
      }
    });

    it('show the newest first', async () => {
      const times = rowsOf(await client.get(`${path}?size=100`)).map(
        (row) => row['createdAt'] ?? row['suppressedAt'] ?? row['receivedAt'] ?? '',
      );
      expect(times).toEqual(times.toSorted().toReversed());
      expect(times.every((text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text))).toBe(true);
    });

    it('show each row once, though all were made at the same moment', async () => {
      await system.database.query(
        `update ${table} set ${time} = '2026-03-01T00:00:00.000Z' where environment_id = $1`,
        [project.test.environmentId],
      );
      const inOne = await walk(100);
      expect(new Set(inOne).size).toBe(COUNT);
      for (const size of [1, 3, 7]) expect(await walk(size)).toEqual(inOne);
    });
  });

  describe('can be filtered:', () => {
    const found = async (path: string, field: string): Promise<string[]> =>
      rowsOf(await client.get(path)).map((row) => row[field] ?? '');

    it('topics by status', async () => {
      await client.patch(`/topics/${topicKeys[3]}`, { status: 'ARCHIVED' });
      await client.patch(`/topics/${topicKeys[4]}`, { status: 'INACTIVE' });
      expect(await found('/topics?status=ARCHIVED', 'topicKey')).toEqual([topicKeys[3]]);
      expect(await found('/topics?status=INACTIVE', 'topicKey')).toEqual([topicKeys[4]]);
      expect(await total('/topics?status=ACTIVE')).toBe(COUNT - 2);
    });

    it('all the way of a walk, whose cursor is of no other list', async () => {
      const begun = await client.get('/topics?status=ACTIVE&size=2&after=');
      const next = begun.at('pagination', 'next');
      const onward = await client.get(`/topics?after=${next}&fields=data.topicKey&size=3&status=ACTIVE`);
      expect([onward.status, rowsOf(onward).length]).toEqual([200, 3]);
      const errors = { after: 'must be the next of a page of this list with these filters' };
      for (const list of ['/topics?status=INACTIVE', '/topics?', '/segments?status=ACTIVE']) {
        const refused = await client.get(`${list}&after=${next}`);
        expectProblem(refused, 400, 'validation-error', { errors });
      }
    });

    it('subscribers by status, topic, prefix and time', async () => {
      const consent = { source: 'form' };
      const single = await client.post('/topics', { name: 'Single', doubleOptInEnabled: false });
      const since = new Date(Date.now() - 1).toISOString();
      const grace = {
        email: 'Grace.Hopper@Navy.example',
        firstName: 'Grace',
        lastName: 'Höpper%',
        topicKeys: [single.at('topicKey')],
        consent,
      };
      expect((await client.post('/subscribers', grace)).status).toBe(201);
      const list = (query: string) => found(`/subscribers?${query}`, 'email');
      for (const query of [
        'status=ACTIVE',
        `topicKey=${single.at('topicKey')}`,
        'q=grace',
        'q=GRACE.hop',
        'q=h%C3%B6pp',
        'q=H%C3%96PPER%25',
        `createdAfter=${since}`,
        `updatedAfter=${since}`,
        `createdAfter=${encodeURIComponent('2026-03-02T01:00:00+01:00')}`,
        `q=gra&status=ACTIVE&topicKey=${single.at('topicKey')}`,
      ]) {
        expect([query, await list(query)]).toEqual([query, [grace.email]]);
      }
      expect(await total('/subscribers?status=PENDING_CONFIRMATION')).toBe(COUNT);
      expect(await total(`/subscribers?topicKey=${topicKeys[0]}`)).toBe(COUNT);
      expect(await total(`/subscribers?createdBefore=${since}`)).toBe(COUNT);
      expect(await total('/subscribers?q=person1')).toBe(11);
      for (const nobody of [
        'q=%25',
        'q=_',
        'q=race',
        'topicKey=APIT-999',
        'topicKey=nonsense',
        'status=BOUNCED',
        `createdBefore=2020-01-01T00:00:00Z`,
      ]) {
        expect([nobody, await list(nobody)]).toEqual([nobody, []]);
      }
    });

    it('suppressions by reason', async () => {
      await client.post('/suppressions', { email: 'spam@example.com', reason: 'SPAM_COMPLAINT' });
      expect(await found('/suppressions?reason=SPAM_COMPLAINT', 'email')).toEqual(['spam@example.com']);
      expect(await total('/suppressions?reason=GLOBAL_UNSUBSCRIBE')).toBe(COUNT);
      expect(await total('/suppressions?reason=HARD_BOUNCE')).toBe(0);
    });

    it('campaigns by status and topic', async () => {
      expect(await total('/campaigns?status=DRAFT')).toBe(COUNT);
      expect(await total('/campaigns?status=SENT')).toBe(0);
      expect(await total(`/campaigns?topicKey=${topicKeys[0]}`)).toBe(12);
      expect(await total(`/campaigns?topicKey=${topicKeys[1]}&status=DRAFT`)).toBe(11);
      expect(await total('/campaigns?topicKey=APIT-999')).toBe(0);
    });

    it('the test inbox by address and kind', async () => {
      expect(await found('/test-inbox/messages?to=PERSON7%40example.com', 'to')).toEqual([
        'person7@example.com',
      ]);
      expect(await total('/test-inbox/messages?kind=OPT_IN')).toBe(COUNT);
      expect(await total('/test-inbox/messages?kind=CAMPAIGN')).toBe(0);
      expect(await total('/test-inbox/messages?to=nobody')).toBe(0);
    });

    it.each([
      '/topics?status=active',
      '/topics?status=',
      '/subscribers?status=GONE',
      '/subscribers?createdAfter=yesterday',
      '/subscribers?createdBefore=2026-02-30T00:00:00Z',
      '/subscribers?updatedAfter=2026-01-01',
      '/suppressions?reason=X',
      '/campaigns?status=X',
      '/test-inbox/messages?kind=X',
    ])('but not by what cannot be: %s', async (path) => {
      const name = /\?(\w+)=/.exec(path)?.[1] ?? '';
      expectProblem(await client.get(path), 400, 'validation-error', {
        errors: { [name]: expect.any(String) },
      });
    });
  });
});
