import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, NotFoundError, type ProjectScope } from '#kernel';
import {
  Database,
  doneUnlessAborted,
  enqueue,
  type JobContext,
  type JobResult,
  jobType,
  ResumableJob,
} from '#platform';
import { consentProof } from '../consents/consent.js';
import { ConsentRepository } from '../consents/consent.repository.js';
import { UsageCatalogueService } from '../usage-catalogue.service.js';
import type { NewTopic, TopicPatch } from './topic.js';
import { TopicRepository } from './topic.repository.js';
import { TopicsQuery, type TopicView } from './topics.query.js';

/** Removes the remaining consents to a deleted topic. `apiKeyId`: the key of the request. */
export const removeTopicConsents = jobType<{ topicId: string; apiKeyId: string | null }>(
  'topics.remove_consents',
  'erasures',
);
type DeletedTopic = Parameters<typeof removeTopicConsents>[0];

/** Consents that a transaction removes with their topic. */
const CHUNK = 1_000;

/** Creates, changes and deletes topics. A change applies to consents granted after it. */
@Injectable()
export class TopicsService {
  constructor(
    private readonly database: Database,
    private readonly topics: TopicRepository,
    private readonly query: TopicsQuery,
    private readonly usage: UsageCatalogueService,
    private readonly consents: ConsentRepository,
    private readonly clock: Clock,
  ) {}

  create(scope: ProjectScope, input: NewTopic): Promise<TopicView> {
    return this.database.transaction(scope, async () => {
      const { topicKey } = await this.topics.add(scope, input, this.clock.now());
      return this.query.byKey(scope, topicKey);
    });
  }

  /** Throws NotFoundError, InUseError. */
  update(scope: ProjectScope, topicKey: string, patch: TopicPatch): Promise<TopicView> {
    return this.database.transaction(scope, async () => {
      const turnsOff = patch.status !== undefined && patch.status !== 'ACTIVE';
      if (turnsOff) await this.usage.close(scope);
      const topic = await this.topics.lock(scope, topicKey, turnsOff ? 'delete' : 'change');
      if (topic === null) throw new NotFoundError();
      if (turnsOff && topic.status === 'ACTIVE')
        await this.usage.refuseIfNeededActive(scope, 'The topic', { kind: 'topic', ids: [topic.id] });
      topic.change(patch, this.clock.now());
      await this.database.em.flush();
      return this.query.byKey(scope, topicKey);
    });
  }

  /**
   * Deletes a topic at once, and its consents in chunks, one transaction each: the first here, the others by the job for
   * `removeTopicConsents`. The consent record stays and includes each revocation. Throws NotFoundError, InUseError.
   */
  async delete(scope: ProjectScope, topicKey: string, apiKeyId: string | null): Promise<void> {
    const topicId = await this.database.transaction(scope, async () => {
      await this.usage.close(scope);
      const topic = await this.topics.lock(scope, topicKey, 'delete');
      if (topic === null) throw new NotFoundError();
      await this.usage.refuseIfUsed(scope, 'The topic', { kind: 'topic', ids: [topic.id] });
      topic.delete(this.clock.now());
      await this.database.em.flush();
      await enqueue(this.database, scope, removeTopicConsents({ topicId: topic.id, apiKeyId }));
      return topic.id;
    });
    // After releasing the lock of the topic: granting consent locks the subscriber first.
    await this.removeConsents(scope, { topicId, apiKeyId });
  }

  @ResumableJob(removeTopicConsents)
  async removeAllConsents(
    scope: ProjectScope,
    deletion: DeletedTopic,
    { signal }: JobContext,
  ): Promise<JobResult> {
    while (!signal.aborted && (await this.removeConsents(scope, deletion)));
    return doneUnlessAborted(signal);
  }

  /** Removes a chunk of the consents to a deleted topic; false when none is left. */
  removeConsents(scope: ProjectScope, { topicId, apiKeyId }: DeletedTopic): Promise<boolean> {
    const proof = consentProof('API_KEY', apiKeyId, { source: 'topic-deleted' });
    return this.database.transaction(scope, async () => {
      const subscriberIds = await this.#lockSubscribers(scope, topicId);
      await this.consents.remove(scope, subscriberIds, topicId, proof);
      return subscriberIds.length === CHUNK;
    });
  }

  async #lockSubscribers(scope: ProjectScope, topicId: string): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select b.id from audience.subscribers b
      where b.environment_id = ${scope.environmentId} and b.id = any(array(
        select c.subscriber_id from audience.consents c
        where c.environment_id = ${scope.environmentId} and c.topic_id = ${topicId}
          and (select t.deleted_at is not null from audience.topics t
            where t.environment_id = ${scope.environmentId} and t.id = ${topicId})
        limit ${CHUNK}
      ))
      order by b.id for update
    `.execute(this.database.tables());
    return rows.map(({ id }) => id);
  }
}
