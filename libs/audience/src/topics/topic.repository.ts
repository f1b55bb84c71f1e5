import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { isTopicKey, type Topic, type TopicFields } from './topic.js';

const columns = sql`id, topic_key as "topicKey", name, description, status, visibility, priority, icon,
  double_opt_in_enabled as "doubleOptInEnabled", created_at as "createdAt", updated_at as "updatedAt"`;

/** The topics of a project, to change them or to grant consent to them. One that was deleted is not there. */
@Injectable()
export class TopicRepository {
  constructor(@Inject(Database) private readonly database: Database) {}

  insert(scope: ProjectScope, id: string, fields: TopicFields, at: Date): Promise<Topic> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Topic>`
        insert into audience.topics (id, environment_id, topic_key, name, description, status, visibility, priority,
          icon, double_opt_in_enabled, created_at, updated_at)
        values (${id}, ${scope.environmentId}, access.next_key('topic'), ${fields.name}, ${fields.description},
          ${fields.status}, ${fields.visibility}, ${fields.priority}, ${fields.icon}, ${fields.doubleOptInEnabled}, ${at}, ${at})
        returning ${columns}
      `.execute(db);
      return rows[0]!;
    });
  }

  /** Writes all fields. */
  update(scope: ProjectScope, id: string, fields: TopicFields, at: Date): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await sql`
        update audience.topics set name = ${fields.name}, description = ${fields.description}, status = ${fields.status},
          visibility = ${fields.visibility}, priority = ${fields.priority}, icon = ${fields.icon}, double_opt_in_enabled = ${fields.doubleOptInEnabled},
          updated_at = ${at}
        where environment_id = ${scope.environmentId} and id = ${id}
      `.execute(db);
    });
  }

  /**
   * The topic of this key, kept from change by others until the transaction ends; null when there is none. Who
   * is about to delete it also waits for all who are granting consent to it.
   */
  async lock(
    scope: ProjectScope,
    topicKey: string,
    reason: 'change' | 'delete' = 'change',
  ): Promise<Topic | null> {
    if (!isTopicKey(topicKey)) return null;
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Topic>`
        select ${columns} from audience.topics
        where environment_id = ${scope.environmentId} and topic_key = ${topicKey} and deleted_at is null
        ${reason === 'change' ? sql`for no key update` : sql`for update`}
      `.execute(db);
      return rows[0] ?? null;
    });
  }

  /** From now on there is no such topic. */
  markDeleted(scope: ProjectScope, id: string, at: Date): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await sql`
        update audience.topics set deleted_at = ${at}, updated_at = ${at}
        where environment_id = ${scope.environmentId} and id = ${id}
      `.execute(db);
    });
  }

  /** Those of the keys that are topics, by key; none of them is deleted before the transaction ends. */
  async named(scope: ProjectScope, topicKeys: readonly string[]): Promise<ReadonlyMap<string, Topic>> {
    const possible = [...new Set(topicKeys)].filter(isTopicKey);
    if (possible.length === 0) return new Map();
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Topic>`
        select ${columns} from audience.topics
        where environment_id = ${scope.environmentId} and topic_key = any(${possible}::text[]) and deleted_at is null
        order by id for key share
      `.execute(db);
      return new Map(rows.map((topic) => [topic.topicKey, topic]));
    });
  }
}
