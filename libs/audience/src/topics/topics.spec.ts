import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NotFoundError } from '#kernel';
import { address, AudienceFixture, PROOF } from '../audience.fixture.js';
import { SuppressionsService } from '../suppressions/suppressions.service.js';
import { TopicsQuery } from './topics.query.js';
import { TopicsService } from './topics.service.js';

const FIRST_PAGE = { page: 0, size: 20 };

describe('topics', () => {
  let audience: AudienceFixture;
  let service: TopicsService;
  let query: TopicsQuery;

  beforeAll(async () => {
    audience = await AudienceFixture.open();
    service = audience.get(TopicsService);
    query = audience.get(TopicsQuery);
  });
  afterAll(() => audience.close());

  it('are active and double opt-in unless they say otherwise', async () => {
    const scope = await audience.scope();
    const topic = await service.create(scope, { name: 'News' });
    expect(topic).toMatchObject({
      topicKey: 'APIT-1',
      name: 'News',
      description: null,
      status: 'ACTIVE',
      priority: null,
      icon: null,
      doubleOptInEnabled: true,
      subscriberCount: 0,
      activeSubscriberCount: 0,
    });
    expect(await query.byKey(scope, 'APIT-1')).toEqual(topic);
  });

  it('count who is subscribed or pending, and who can be mailed', async () => {
    const scope = await audience.scope();
    const news = await audience.topic(scope);
    const offers = await audience.topic(scope, { doubleOptInEnabled: true });
    const empty = await audience.topic(scope);
    for (const name of ['a', 'b', 'c', 'd'])
      await audience.subscribe(scope, `${name}@example.com`, news, offers);
    const suppressions = audience.get(SuppressionsService);
    await suppressions.suppress(scope, address('a@example.com'), 'HARD_BOUNCE', PROOF);
    await suppressions.suppress(scope, address('b@example.com'), 'SPAM_COMPLAINT', PROOF);
    await suppressions.suppress(scope, address('c@example.com'), 'GLOBAL_UNSUBSCRIBE', PROOF);
    const { items, totalElements } = await query.page(scope, {}, FIRST_PAGE);
    const counts = Object.fromEntries(
      items.map((topic) => [topic.topicKey, [topic.subscriberCount, topic.activeSubscriberCount]]),
    );
    expect(counts).toEqual({ [news.topicKey]: [3, 1], [offers.topicKey]: [3, 0], [empty.topicKey]: [0, 0] });
    expect(totalElements).toBe(3);
  });

  it('are listed newest first, by status if wanted, with a total even past the end', async () => {
    const scope = await audience.scope();
    for (const status of ['ACTIVE', 'ARCHIVED', 'ACTIVE'] as const) await audience.topic(scope, { status });
    const keys = async (...[filter, page]: [Parameters<TopicsQuery['page']>[1], number]) => {
      const { items, totalElements } = await query.page(scope, filter, { page, size: 2 });
      return [items.map(({ topicKey }) => topicKey), totalElements];
    };
    expect(await keys({}, 0)).toEqual([['APIT-3', 'APIT-2'], 3]);
    expect(await keys({}, 1)).toEqual([['APIT-1'], 3]);
    expect(await keys({}, 9)).toEqual([[], 3]);
    expect(await keys({ status: 'ARCHIVED' }, 0)).toEqual([['APIT-2'], 1]);
    expect(await keys({ status: 'INACTIVE' }, 0)).toEqual([[], 0]);
  });

  it('change as a merge-patch says, and not at all when it says nothing new', async () => {
    const scope = await audience.scope();
    const created = await audience.topic(scope, { description: 'All of it', priority: 'HIGH' });
    audience.clock.advance(1_000);
    expect(await service.update(scope, created.topicKey, {})).toEqual(created);
    expect(await service.update(scope, created.topicKey, { name: 'News' })).toEqual(created);
    const patch = { description: null, status: 'INACTIVE', doubleOptInEnabled: true } as const;
    const changed = await service.update(scope, created.topicKey, patch);
    expect(changed).toEqual({ ...created, ...patch, updatedAt: audience.clock.now() });
  });

  it('of other projects and of the other environment do not exist', async () => {
    const { live, test } = await audience.project('ONE');
    const other = await audience.scope('ONE');
    const topic = await audience.topic(test);
    for (const stranger of [live, other]) {
      await expect(query.byKey(stranger, topic.topicKey)).rejects.toThrow(NotFoundError);
      await expect(service.update(stranger, topic.topicKey, { name: 'Mine' })).rejects.toThrow(NotFoundError);
      expect(await query.named(stranger, [topic.id])).toEqual([]);
    }
    expect(await query.named(test, [topic.id])).toEqual([
      {
        id: topic.id,
        topicKey: topic.topicKey,
        name: 'News',
        description: null,
        translations: {},
        status: 'ACTIVE',
      },
    ]);
    await expect(query.byKey(test, 'no \u0000 key')).rejects.toThrow(NotFoundError);
  });
});
