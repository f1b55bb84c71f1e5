import { Injectable } from '@nestjs/common';
import { type Kysely, sql } from 'kysely';
import { newId, NotFoundError, type ProjectScope } from '#kernel';
import { PreparedQuery, Database } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import { nextKey } from '../next-key.query.js';
import { type GrantableTopic, isTopicKey, type NewTopic, Topic } from './topic.js';

/** Locks in one order, which prevents deadlocks. */
const NAMED = new PreparedQuery(
  'lock_topics',
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

/** The topics of a project, for changing them or granting consent. Does not find deleted ones. */
@Injectable()
export class TopicRepository {
  constructor(private readonly database: Database) {}

  add(scope: ProjectScope, wanted: NewTopic, now: Date): Promise<Topic> {
    return this.database.transaction(scope, async () => {
      const topicKey = await nextKey(this.database, 'topic');
      const topic = new Topic({ id: newId(), environmentId: scope.environmentId, topicKey }, wanted, now);
      await this.database.em.persist(topic).flush();
      return topic;
    });
  }

  /**
   * Finds a topic by key and locks it against changes by others until the transaction ends; null when there is none. For deletion
   * the lock also waits for transactions that grant consent; the unit of work has only that lock.
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

  /** The topic with this key, locked against deletion until the transaction ends. */
  async find(scope: ProjectScope, topicKey: string): Promise<GrantableTopic | undefined> {
    return (await this.named(scope, [topicKey])).get(topicKey);
  }

  /** The same; throws NotFoundError when there is none. */
  async existing(scope: ProjectScope, topicKey: string): Promise<GrantableTopic> {
    const topic = await this.find(scope, topicKey);
    if (topic === undefined) throw new NotFoundError();
    return topic;
  }

  /** The topics with these ids. */
  async ofIds(
    { environmentId }: ProjectScope,
    topicIds: readonly string[],
  ): Promise<readonly Pick<GrantableTopic, 'id' | 'doubleOptInEnabled'>[]> {
    return this.database
      .tables<AudienceTables>()
      .selectFrom('audience.topics')
      .select(['id', 'doubleOptInEnabled'])
      .where('environmentId', '=', environmentId)
      .where('id', '=', sql<string>`any(${topicIds}::uuid[])`)
      .where('deletedAt', 'is', null)
      .execute();
  }

  /** The topics with these keys, by key, locked against deletion until the transaction ends. */
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
