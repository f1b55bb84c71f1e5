import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { InUseError, NotFoundError, type ProjectScope } from '#kernel';
import { insertSubscribers } from '#testing/subscribers';
import { AudienceFixture } from '../audience.fixture.js';
import { UsageCatalogue } from '../usage/usage-catalogue.service.js';
import { TopicDeletionService } from './topic-deletion.service.js';
import { TopicsQuery } from './topics.query.js';

const MANY = 1_300;

describe('deleting a topic', () => {
  let audience: AudienceFixture;
  let service: TopicDeletionService;

  beforeAll(async () => {
    audience = await AudienceFixture.open();
    service = audience.get(TopicDeletionService);
  });
  afterAll(() => audience.close());

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
      `select payload from platform.outbox where environment_id = $1 and event_name = 'audience.topic_deleted.v1'`,
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
      .get(UsageCatalogue)
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
