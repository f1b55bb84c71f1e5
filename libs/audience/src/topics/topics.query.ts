import { Injectable } from '@nestjs/common';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { isUuid, NotFoundError, type Page, type PageRequest, type Place, type ProjectScope } from '#kernel';
import { Database, limitOf, NEWEST_FIRST, totalOf } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import { type Counted, countedPage } from '../counted-page.js';
import { topicCounts } from '../counters.query.js';
import { isTopicKey, type Topic, type TopicFields, type TopicStatus, type TopicTexts } from './topic.js';

export interface TopicView extends TopicFields, Pick<Topic, 'id' | 'topicKey' | 'createdAt' | 'updatedAt'> {
  /** The number of subscribed and pending consents. */
  readonly subscriberCount: number;
  /** The number of people who are subscribed and not suppressed. */
  readonly activeSubscriberCount: number;
}

export interface TopicFilter {
  readonly status?: TopicStatus | undefined;
}

export type NamedTopic = Pick<Topic, 'id' | 'topicKey' | 'name' | 'status'> & TopicTexts;

export type ConfirmableTopic = NamedTopic & Pick<Topic, 'optInTemplateKey'>;

const NAMED = ['id', 'topicKey', 'name', 'description', 'translations', 'status'] as const;

/** SQL: the topics among these ids, an array, as JSON; in no order. */
export function namedTopics(
  { environmentId }: ProjectScope,
  topicIds: RawBuilder<unknown>,
): RawBuilder<readonly ConfirmableTopic[]> {
  return sql<readonly ConfirmableTopic[]>`(
    select coalesce(json_agg(json_build_object('id', t.id, 'topicKey', t.topic_key, 'name', t.name, 'description', t.description,
      'translations', t.translations, 'status', t.status, 'optInTemplateKey', t.opt_in_template_key)), '[]')
    from audience.topics t
    where t.environment_id = ${environmentId} and t.deleted_at is null and t.id = any(${topicIds})
  )`;
}

/** Reads topics with their counts. Does not find deleted ones. */
@Injectable()
export class TopicsQuery {
  constructor(private readonly database: Database) {}

  /** Newest first. */
  page(scope: ProjectScope, { status }: TopicFilter, request: PageRequest): Promise<Page<TopicView>> {
    const matching = sql`from audience.topics t where t.environment_id = ${scope.environmentId} and t.deleted_at is null
      and (${status ?? null}::text is null or t.status = ${status ?? null})`;
    const wanted = sql`
      select t.* ${matching} and ${NEWEST_FIRST.isBehind(request)}
      order by ${NEWEST_FIRST.by} ${limitOf(request)}`;
    return this.database.read(scope, { isList: true }, async () => {
      const { rows } = await sql<Counted<TopicView>>`
        select n.total, v.* from (select ${totalOf(request, sql`(select count(*) ${matching})`)} as total) n
        left join (${viewsOf(scope, wanted)}) v on true
        order by v.created_at desc, v.id desc
      `.execute(this.database.tables());
      return countedPage(rows, request);
    });
  }

  /** Throws NotFoundError. */
  async byKey(scope: ProjectScope, topicKey: string): Promise<TopicView> {
    if (!isTopicKey(topicKey)) throw new NotFoundError();
    const wanted = sql`select t.* from audience.topics t
      where t.environment_id = ${scope.environmentId} and t.topic_key = ${topicKey} and t.deleted_at is null`;
    return this.database.transaction(scope, async () => {
      const { rows } = await viewsOf(scope, wanted).execute(this.database.tables());
      if (rows[0] === undefined) throw new NotFoundError();
      const { place: _place, ...topic } = rows[0];
      return topic;
    });
  }

  /** The id behind a key, or null. */
  async idOf(scope: ProjectScope, topicKey: string): Promise<string | null> {
    if (!isTopicKey(topicKey)) return null;
    return this.database.transaction(scope, async () => {
      const row = await topicsOf(this.database.tables(), scope)
        .select('id')
        .where('topicKey', '=', topicKey)
        .executeTakeFirst();
      return row?.id ?? null;
    });
  }

  /** The topic behind a key, or null. */
  async withKey(scope: ProjectScope, topicKey: string): Promise<NamedTopic | null> {
    if (!isTopicKey(topicKey)) return null;
    return this.database.transaction(scope, async () => {
      const topic = topicsOf(this.database.tables(), scope).select(NAMED).where('topicKey', '=', topicKey);
      return (await topic.executeTakeFirst()) ?? null;
    });
  }

  /** The topics of this project among these ids, in no order. */
  async named(scope: ProjectScope, topicIds: readonly string[]): Promise<readonly NamedTopic[]> {
    if (topicIds.length === 0) return [];
    return this.database.transaction(scope, () => this.#named(scope, topicIds).execute());
  }

  /** The same, locked against deletion until the transaction ends, for callers that will refer to them. */
  async held(scope: ProjectScope, topicIds: readonly string[]): Promise<readonly NamedTopic[]> {
    if (topicIds.length === 0) return [];
    return this.database.transaction(scope, () =>
      this.#named(scope, topicIds).orderBy('id').forKeyShare().execute(),
    );
  }

  /** Keys and names of topics by their ids, also of deleted ones. */
  async keysAndNames(
    scope: ProjectScope,
    topicIds: readonly string[],
  ): Promise<ReadonlyMap<string, Pick<NamedTopic, 'topicKey' | 'name'>>> {
    if (topicIds.length === 0) return new Map();
    return this.database.transaction(scope, async () => {
      const topics = await this.database
        .tables<AudienceTables>()
        .selectFrom('audience.topics')
        .select(['id', 'topicKey', 'name'])
        .where('environmentId', '=', scope.environmentId)
        .where((eb) => eb('id', '=', eb.fn.any(eb.val([...topicIds]))))
        .execute();
      return new Map(topics.map((topic) => [topic.id, topic]));
    });
  }

  /** The topics of this project among these ids and keys, by what was given. */
  async chosen(
    scope: ProjectScope,
    idsOrKeys: readonly string[],
  ): Promise<ReadonlyMap<string, Pick<NamedTopic, 'id'>>> {
    if (idsOrKeys.length === 0) return new Map();
    return this.database.transaction(scope, async () => {
      const rows = await topicsOf(this.database.tables(), scope)
        .select(['id', 'topicKey'])
        .where((eb) =>
          eb.or([
            eb('id', '=', sql<string>`any(${idsOrKeys.filter(isUuid)}::uuid[])`),
            eb('topicKey', '=', sql<string>`any(${idsOrKeys.filter(isTopicKey)}::text[])`),
          ]),
        )
        .execute();
      return new Map(rows.flatMap((topic) => [[topic.id, topic] as const, [topic.topicKey, topic] as const]));
    });
  }

  #named(scope: ProjectScope, topicIds: readonly string[]) {
    return topicsOf(this.database.tables(), scope).select(NAMED).where('id', 'in', topicIds);
  }
}

function topicsOf(tables: Kysely<AudienceTables>, { environmentId }: ProjectScope) {
  return tables
    .selectFrom('audience.topics')
    .where('environmentId', '=', environmentId)
    .where('deletedAt', 'is', null);
}

type PlacedTopic = TopicView & { readonly place: Place };

/** Counts laterally, for each topic of the page. */
function viewsOf(scope: ProjectScope, wanted: RawBuilder<unknown>): RawBuilder<PlacedTopic> {
  return sql<PlacedTopic>`
    select w.id, w.topic_key, w.name, w.description, w.status, w.visibility, w.priority, w.icon,
      w.double_opt_in_enabled, w.opt_in_template_key, w.translations, w.metadata, w.created_at, w.updated_at,
      n.subscribers as subscriber_count, n.active as active_subscriber_count,
      json_build_array(w.created_at, w.id) as place
    from (${wanted}) w cross join lateral (${topicCounts(scope, sql`w.id`)}) n
  `;
}
