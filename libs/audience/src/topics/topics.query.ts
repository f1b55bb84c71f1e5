import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { NotFoundError, type Page, type PageRequest, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { type Counted, countedPage } from '../counted-page.js';
import { topicCounts } from '../counters/counters.query.js';
import { isTopicKey, type Topic, type TopicStatus } from './topic.js';

export interface TopicView extends Topic {
  /** Everyone whose consent is subscribed or pending. */
  readonly subscriberCount: number;
  /** Everyone who is subscribed and on no suppression list. */
  readonly activeSubscriberCount: number;
}

export interface TopicFilter {
  readonly status?: TopicStatus | undefined;
}

export interface NamedTopic {
  readonly id: string;
  readonly topicKey: string;
  readonly name: string;
  readonly status: TopicStatus;
}

/** Reads topics with their counts. One that was deleted is not there. */
@Injectable()
export class TopicsQuery {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** Newest first. */
  page(scope: ProjectScope, { status }: TopicFilter, { page, size }: PageRequest): Promise<Page<TopicView>> {
    const matching = sql`from audience.topics t where t.environment_id = ${scope.environmentId} and t.deleted_at is null
      and (${status ?? null}::text is null or t.status = ${status ?? null})`;
    const wanted = sql`select t.* ${matching} order by t.created_at desc, t.id desc limit ${size} offset ${page * size}`;
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Counted<TopicView>>`
        select n.total, v.* from (select count(*) as total ${matching}) n
        left join (${viewsOf(scope, wanted)}) v on true
        order by v."createdAt" desc, v.id desc
      `.execute(db);
      return countedPage(rows, itemOf);
    });
  }

  /** Throws NotFoundError. */
  async byKey(scope: ProjectScope, topicKey: string): Promise<TopicView> {
    if (!isTopicKey(topicKey)) throw new NotFoundError();
    const wanted = sql`select t.* from audience.topics t
      where t.environment_id = ${scope.environmentId} and t.topic_key = ${topicKey} and t.deleted_at is null`;
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await viewsOf(scope, wanted).execute(db);
      if (rows[0] === undefined) throw new NotFoundError();
      return rows[0];
    });
  }

  /** The id behind a key, or null. */
  async idOf(scope: ProjectScope, topicKey: string): Promise<string | null> {
    if (!isTopicKey(topicKey)) return null;
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ id: string }>`
        select id from audience.topics
        where environment_id = ${scope.environmentId} and topic_key = ${topicKey} and deleted_at is null
      `.execute(db);
      return rows[0]?.id ?? null;
    });
  }

  /** Those of the ids that are topics of this project, in no order. */
  named(scope: ProjectScope, topicIds: readonly string[]): Promise<readonly NamedTopic[]> {
    return this.#named(scope, topicIds, sql``);
  }

  /** The same for who is about to use them: none is deleted before the transaction ends. */
  held(scope: ProjectScope, topicIds: readonly string[]): Promise<readonly NamedTopic[]> {
    return this.#named(scope, topicIds, sql`order by id for key share`);
  }

  async #named(
    scope: ProjectScope,
    topicIds: readonly string[],
    lock: RawBuilder<unknown>,
  ): Promise<readonly NamedTopic[]> {
    if (topicIds.length === 0) return [];
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<NamedTopic>`
        select id, topic_key as "topicKey", name, status from audience.topics
        where environment_id = ${scope.environmentId} and id = any(${[...topicIds]}::uuid[]) and deleted_at is null
        ${lock}
      `.execute(db);
      return rows;
    });
  }
}

function viewsOf(scope: ProjectScope, wanted: RawBuilder<unknown>): RawBuilder<TopicView> {
  return sql<TopicView>`
    select w.id, w.topic_key as "topicKey", w.name, w.description, w.status, w.visibility, w.priority, w.icon,
      w.double_opt_in_enabled as "doubleOptInEnabled", w.created_at as "createdAt", w.updated_at as "updatedAt",
      n.subscribers as "subscriberCount", n.active as "activeSubscriberCount"
    from (${wanted}) w cross join lateral (${topicCounts(scope, sql`w.id`)}) n
  `;
}

function itemOf(row: Counted<TopicView>): TopicView | null {
  if (row.id === null) return null;
  return {
    id: row.id,
    topicKey: row.topicKey,
    name: row.name,
    description: row.description,
    status: row.status,
    visibility: row.visibility,
    priority: row.priority,
    icon: row.icon,
    doubleOptInEnabled: row.doubleOptInEnabled,
    subscriberCount: row.subscriberCount,
    activeSubscriberCount: row.activeSubscriberCount,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}
