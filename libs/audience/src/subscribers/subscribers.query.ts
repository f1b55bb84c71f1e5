import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type EmailAddress, NotFoundError, type Page, type PageRequest, type ProjectScope } from '#kernel';
import { Database, environmentOf, neverJoined, NEWEST_FIRST } from '#platform';
import { type Counted, countedPage } from '../counted-page.js';
import { isTopicKey } from '../topics/topic.js';
import type { SubscriberView } from './subscriber.js';
import { listed, type SubscriberFilter } from './subscriber-list.query.js';
import { subscriberColumns } from './subscriber-columns.query.js';

export type { SubscriberFilter } from './subscriber-list.query.js';

const NOBODY: Page<SubscriberView> = { items: [], totalElements: 0, next: null };

/** Reads subscribers. */
@Injectable()
export class SubscribersQuery {
  constructor(private readonly database: Database) {}

  /** Newest first. */
  async page(
    scope: ProjectScope,
    filter: SubscriberFilter,
    request: PageRequest,
  ): Promise<Page<SubscriberView>> {
    if (filter.topicKey !== undefined && !isTopicKey(filter.topicKey)) return NOBODY;
    const rows = await this.database.statement(
      scope,
      sql<Counted<SubscriberView>>`
        with ${listed(scope, filter, request)}
        select n.total, s.* from n
        left join (
          select b.* from p cross join lateral (
            select ${subscriberColumns(scope)}, ${NEWEST_FIRST.place} as place from audience.subscribers b
            where b.environment_id = ${environmentOf(scope)} and b.id = p.id ${neverJoined}
          ) b
        ) s on true
        order by s."createdAt" desc, s.id desc
      `,
      { isList: true },
    );
    return countedPage(rows, request);
  }

  /** Throws NotFoundError. */
  async byAddress(scope: ProjectScope, address: EmailAddress): Promise<SubscriberView> {
    // The most frequent query: a transaction would take three round trips.
    const [subscriber] = await this.database.statement(
      scope,
      sql<SubscriberView>`
        select ${subscriberColumns(scope)} from audience.subscribers b
        where b.environment_id = ${environmentOf(scope)} and b.email_key = ${address.key}
      `,
    );
    if (subscriber === undefined) throw new NotFoundError();
    return subscriber;
  }
}
