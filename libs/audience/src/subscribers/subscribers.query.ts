import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import {
  type EmailAddress,
  hostName,
  NotFoundError,
  type Page,
  type PageRequest,
  type ProjectScope,
} from '#kernel';
import { Database } from '#platform';
import { type Counted, countedPage } from '../counted-page.js';
import { isTopicKey } from '../topics/topic.js';
import type { Subscriber, SubscriberStatus } from './subscriber.js';
import { subscriberColumns, SubscriberRepository } from './subscriber.repository.js';

export interface SubscriberFilter {
  readonly status?: SubscriberStatus | undefined;
  /** Subscribed to this topic, or asked to confirm it. */
  readonly topicKey?: string | undefined;
  /** How the address, the first or the last name begins, in upper or lower case. */
  readonly q?: string | undefined;
  /** Excluding the moment itself, as the others. */
  readonly createdAfter?: Date | undefined;
  readonly createdBefore?: Date | undefined;
  readonly updatedAfter?: Date | undefined;
}

/** Reads subscribers. */
@Injectable()
export class SubscribersQuery {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SubscriberRepository) private readonly subscribers: SubscriberRepository,
  ) {}

  /** Newest first. */
  page(
    scope: ProjectScope,
    filter: SubscriberFilter,
    { page, size }: PageRequest,
  ): Promise<Page<Subscriber>> {
    const matching = sql`from audience.subscribers b where ${sql.join(conditions(scope, filter), sql` and `)}`;
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Counted<Subscriber>>`
        select n.total, p.* from (select count(*) as total ${matching}) n
        left join (
          select ${subscriberColumns} ${matching}
          order by b.created_at desc, b.id desc limit ${size} offset ${page * size}
        ) p on true
        order by p."createdAt" desc, p.id desc
      `.execute(db);
      return countedPage(rows, itemOf);
    });
  }

  /** Throws NotFoundError. */
  async byAddress(scope: ProjectScope, address: EmailAddress): Promise<Subscriber> {
    const subscriber = await this.subscribers.find(scope, address.key);
    if (subscriber === null) throw new NotFoundError();
    return subscriber;
  }
}

function conditions(scope: ProjectScope, filter: SubscriberFilter): RawBuilder<unknown>[] {
  const { status, topicKey, q, createdAfter, createdBefore, updatedAfter } = filter;
  return [
    sql`b.environment_id = ${scope.environmentId}`,
    ...(status === undefined ? [] : [sql`b.status = ${status}`]),
    ...(createdAfter === undefined ? [] : [sql`b.created_at > ${createdAfter}`]),
    ...(createdBefore === undefined ? [] : [sql`b.created_at < ${createdBefore}`]),
    ...(updatedAfter === undefined ? [] : [sql`b.updated_at > ${updatedAfter}`]),
    ...(topicKey === undefined ? [] : [inTopic(scope, topicKey)]),
    ...(q === undefined || q === '' ? [] : [beginsWith(q)]),
  ];
}

function inTopic(scope: ProjectScope, topicKey: string): RawBuilder<unknown> {
  if (!isTopicKey(topicKey)) return sql`false`;
  return sql`exists (
    select from audience.consents c
    where c.environment_id = ${scope.environmentId} and c.subscriber_id = b.id
      and c.status in ('SUBSCRIBED', 'PENDING_CONFIRMATION')
      and c.topic_id = (
        select t.id from audience.topics t where t.environment_id = ${scope.environmentId} and t.topic_key = ${topicKey}
      )
  )`;
}

/** No text of these columns sorts behind a prefix followed by this character, and before the next prefix. */
const LAST_CHARACTER = '\u{10ffff}';

/** A prefix as a range of the "C" order, which may use an index where LIKE may not, and knows no wildcards. */
function beginsWith(q: string): RawBuilder<unknown> {
  const email = addressPrefix(q);
  return sql`(
    (b.email_key >= ${email} and b.email_key < ${email + LAST_CHARACTER})
    or (b.first_name_key >= lower(${q}) and b.first_name_key < lower(${q}) || ${LAST_CHARACTER})
    or (b.last_name_key >= lower(${q}) and b.last_name_key < lower(${q}) || ${LAST_CHARACTER})
  )`;
}

/** How the key of an address begins that begins with `q`: a whole international domain becomes its A-labels. */
function addressPrefix(q: string): string {
  const at = q.lastIndexOf('@');
  const domain = at === -1 ? null : hostName(q.slice(at + 1));
  return domain === null ? q.toLowerCase() : `${q.slice(0, at).toLowerCase()}@${domain}`;
}

function itemOf(row: Counted<Subscriber>): Subscriber | null {
  if (row.id === null) return null;
  return {
    id: row.id,
    subscriberKey: row.subscriberKey,
    email: row.email,
    firstName: row.firstName,
    lastName: row.lastName,
    phone: row.phone,
    status: row.status,
    source: row.source,
    customFields: row.customFields,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}
