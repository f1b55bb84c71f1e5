import { Inject, Injectable } from '@nestjs/common';
import { type Kysely, sql } from 'kysely';
import { newId, type ProjectScope } from '#kernel';
import { CompiledOnce, Database } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import { nextKey } from '../next-key.query.js';
import { type GrantableTopic, isTopicKey, type NewTopic, Topic } from './topic.js';

/** Locked in one order, so that nobody waits for somebody who waits for them. */
const NAMED = new CompiledOnce(
  (tables: Kysely<AudienceTables>, environmentId: number, topicKeys: readonly string[]) =>
    tables
      .selectFrom('audience.topics')
      .select(['id', 'topicKey', 'status', 'visibility', 'doubleOptInEnabled'])
      .where('environmentId', '=', environmentId)
      .where('topicKey', '=', sql<string>`any(${topicKeys}::text[])`)
      .where('deletedAt', 'is', null)
      .orderBy('id')
      .forKeyShare(),
);

/** The topics of a project, to change them or to grant consent to them. One that was deleted is not there. */
@Injectable()
export class TopicRepository {
  constructor(@Inject(Database) private readonly database: Database) {}

  add(scope: ProjectScope, wanted: NewTopic, now: Date): Promise<Topic> {
    return this.database.transaction(scope, async () => {
      const topicKey = await nextKey(this.database, 'topic');
      const topic = new Topic({ id: newId(), environmentId: scope.environmentId, topicKey }, wanted, now);
      await this.database.em.persist(topic).flush();
      return topic;
    });
  }

  /**
   * The topic of this key, kept from change by others until the transaction ends; null when there is none. Who
   * is about to delete it also waits for all who are granting consent to it. The unit of work knows no lock but that one.
   */
  async lock(
    { environmentId }: ProjectScope,
    topicKey: string,
    reason: 'change' | 'delete' = 'change',
  ): Promise<Topic | null> {
    if (!isTopicKey(topicKey)) return null;
    const topic = this.database
      .tables<AudienceTables>()
      .selectFrom('audience.topics')
      .selectAll()
      .where('environmentId', '=', environmentId)
      .where('topicKey', '=', topicKey)
      .where('deletedAt', 'is', null);
    const row = await (reason === 'change' ? topic.forNoKeyUpdate() : topic.forUpdate()).executeTakeFirst();
    return row === undefined ? null : this.database.em.map(Topic, row, { mapped: true });
  }

  /** Those of the keys that are topics, by key; none of them is deleted before the transaction ends. */
  async named(
    scope: ProjectScope,
    topicKeys: readonly string[],
  ): Promise<ReadonlyMap<string, GrantableTopic>> {
    const possible = [...new Set(topicKeys)].filter(isTopicKey);
    if (possible.length === 0) return new Map();
    return this.database.transaction(scope, async () => {
      const topics = await NAMED.run(this.database.tables(), scope.environmentId, possible);
      return new Map(topics.map((topic) => [topic.topicKey, topic]));
    });
  }
}
