import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { InUseError, NotFoundError, type ProjectScope } from '#kernel';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import { address, AudienceFixture, PROOF } from '../audience.fixture.js';
import { SuppressionsService } from '../suppressions/suppressions.service.js';
import { UsageCatalogueService } from '../usage-catalogue.service.js';
import { TopicsQuery } from './topics.query.js';
import { TopicsService } from './topics.service.js';

const MANY = 1_300;
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

  describe('deleting a topic', () => {
    async function counts({ environmentId }: ProjectScope, topicId: string) {
      const [row] = await audience.test.query(
        `select (select count(*)::int from audience.consents where topic_id = $1) as consents,
           (select count(*)::int from audience.subscribers where environment_id = $2 and status = 'UNSUBSCRIBED') as left,
           (select count(*)::int from audience.consent_ledger
            where topic_id = $1 and from_status = 'SUBSCRIBED' and to_status = 'UNSUBSCRIBED'
              and actor = 'API_KEY' and actor_id = 'key-7' and source = 'topic-deleted') as recorded`,
        [topicId, environmentId],
      );
      return row;
    }

    it('removes the first consents at once and hands the others over, each with its end recorded', async () => {
      const scope = await audience.scope();
      const topic = await audience.topic(scope);
      await insertSubscribers(audience.test, scope, topic.id, MANY);
      await service.delete(scope, topic.topicKey, 'key-7');
      await expect(audience.get(TopicsQuery).byKey(scope, topic.topicKey)).rejects.toThrow(NotFoundError);
      expect(await counts(scope, topic.id)).toEqual({ consents: MANY - 1_000, left: 1_000, recorded: 1_000 });
      const events = await audience.test.query(
        `select payload from platform.jobs where environment_id = $1 and name = 'topics.remove_consents'`,
        [scope.environmentId],
      );
      const deletion = { topicId: topic.id, apiKeyId: 'key-7' };
      expect(events).toEqual([{ payload: deletion }]);
      expect(await service.removeConsents(scope, deletion)).toBe(false);
      expect(await service.removeConsents(scope, deletion)).toBe(false);
      expect(await counts(scope, topic.id)).toEqual({ consents: 0, left: MANY, recorded: MANY });
    });

    it('never removes consents of a topic that stands', async () => {
      const scope = await audience.scope();
      const topic = await audience.topic(scope);
      await insertSubscribers(audience.test, scope, topic.id, 2);
      expect(await service.removeConsents(scope, { topicId: topic.id, apiKeyId: null })).toBe(false);
      expect(await counts(scope, topic.id)).toMatchObject({ consents: 2 });
    });

    it('is refused while somebody who registered uses it', async () => {
      const scope = await audience.scope();
      const topic = await audience.topic(scope);
      let inUse = true;
      const user = { kind: 'automation', key: 'ACME-7', name: 'Welcome', of: topic.id } as const;
      audience
        .get(UsageCatalogueService)
        .register({ users: 'automation', usesOf: () => Promise.resolve(inUse ? [user] : []) });
      await expect(service.delete(scope, topic.topicKey, null)).rejects.toThrow(
        new InUseError('The topic', [user]),
      );
      expect((await audience.get(TopicsQuery).byKey(scope, topic.topicKey)).id).toBe(topic.id);
      inUse = false;
      await service.delete(scope, topic.topicKey, null);
      expect(await audience.get(TopicsQuery).named(scope, [topic.id])).toEqual([]);
    });
  });
});
