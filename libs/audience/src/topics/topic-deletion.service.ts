import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, NotFoundError, type ProjectScope } from '#kernel';
import { Database, publish } from '#platform';
import { consentProof } from '../consents/consent.js';
import { ConsentRepository } from '../consents/consent.repository.js';
import { UsageCatalogue } from '../usage/usage-catalogue.service.js';
import { TopicDeleted } from './topic.events.js';
import { TopicRepository } from './topic.repository.js';

const CHUNK = 1_000;

/**
 * Deletes topics. The topic is gone at once; its consents are removed in chunks, one transaction each: the first by the
 * request, the others by the job for `TopicDeleted`. The consent record stays and includes each revocation.
 */
@Injectable()
export class TopicDeletionService {
  constructor(
    private readonly database: Database,
    private readonly topics: TopicRepository,
    private readonly usage: UsageCatalogue,
    private readonly consents: ConsentRepository,
    private readonly clock: Clock,
  ) {}

  /** Throws NotFoundError, InUseError. */
  async delete(scope: ProjectScope, topicKey: string, apiKeyId: string | null): Promise<void> {
    const topicId = await this.database.transaction(scope, async () => {
      await this.usage.close(scope);
      const topic = await this.topics.lock(scope, topicKey, 'delete');
      if (topic === null) throw new NotFoundError();
      await this.usage.refuseIfUsed(scope, 'The topic', { kind: 'topic', ids: [topic.id] });
      topic.delete(this.clock.now());
      await this.database.em.flush();
      await publish(this.database, scope, TopicDeleted({ topicId: topic.id, apiKeyId }));
      return topic.id;
    });
    // After releasing the lock of the topic: granting consent locks the subscriber first.
    await this.removeConsents(scope, { topicId, apiKeyId });
  }

  /** Removes a chunk of the consents to a deleted topic; false when none is left. */
  removeConsents(
    scope: ProjectScope,
    { topicId, apiKeyId }: { readonly topicId: string; readonly apiKeyId: string | null },
  ): Promise<boolean> {
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
