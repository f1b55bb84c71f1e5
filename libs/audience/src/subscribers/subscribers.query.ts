import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import {
  type EmailAddress,
  NotFoundError,
  offsetOf,
  type Page,
  type PageRequest,
  type ProjectScope,
} from '#kernel';
import { Database, limitOf, ListOrder, neverJoined, NEWEST_FIRST, totalOf, named } from '#platform';
import type { SubscriberStatus } from '../consents/consent.js';
import { type Counted, countedPage } from '../counted-page.js';
import { changedCount, createdCount, subscriberCount, topicSubscriberCount } from '../counters.query.js';
import { isTopicKey } from '../topics/topic.js';
import { normalizedName, type SubscriberView } from './subscriber.js';
import { subscriberColumns } from './subscriber.repository.js';
import { everyoneFound, searched } from './subscriber-search.query.js';

export interface SubscriberFilter {
  readonly status?: SubscriberStatus | undefined;
  /** Subscribers whose consent to this topic is subscribed or pending. */
  readonly topicKey?: string | undefined;
  /** The beginning of the address, first name or last name, case-insensitive. */
  readonly q?: string | undefined;
  /** Exclusive, like the others. */
  readonly createdAfter?: Date | undefined;
  readonly createdBefore?: Date | undefined;
  readonly updatedAfter?: Date | undefined;
}

const NOBODY: Page<SubscriberView> = { items: [], totalElements: 0, next: null };

/** The most subscribers changed since a time to sort. */
const SORTED = 5_000;
/** Up to this offset a page is read from the beginning of the list. */
const NEAR = 2_000;

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
      sql<Counted<SubscriberView>>`${named('list_subscribers')}
        with ${listed(scope, filter, request)}
        select n.total, s.* from n
        left join (
          select b.* from p cross join lateral (
            select ${subscriberColumns(scope)}, ${NEWEST_FIRST.place} as place from audience.subscribers b
            where b.environment_id = ${scope.environmentId} and b.id = p.id ${neverJoined}
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
      sql<SubscriberView>`${named('subscriber_of_address')}
        select ${subscriberColumns(scope)} from audience.subscribers b
        where b.environment_id = ${scope.environmentId} and b.email_key = ${address.key}
      `,
    );
    if (subscriber === undefined) throw new NotFoundError();
    return subscriber;
  }
}

/**
 * The rest of a WITH: `n`, one row with the `total` of matches, and `p`, the `id`s on the page in no order. Both read only
 * indexes, when these have all columns: OFFSET skips too many rows to look them up.
 */
export function listed(
  scope: ProjectScope,
  filter: SubscriberFilter,
  request: PageRequest,
): RawBuilder<unknown> {
  const q = normalizedName(filter.q ?? '');
  const { updatedAfter } = filter;
  if (q !== '') {
    if (isWhole(filter)) return searched(scope, q, request);
    return sql`
      f as materialized (${among(everyoneFound(scope, q, request), scope, filter)}),
      n as materialized (select ${totalOf(request, sql`(select count(*) from f)`)} as total),
      p as (select id from f order by created_at desc, id desc ${limitOf(request)})
    `;
  }
  if (updatedAfter !== undefined) return changed(scope, filter, request, updatedAfter);
  if (isWhole(filter) && offsetOf(request) > NEAR) return marked(scope, request);
  return sql`
    n as materialized (select ${totalOf(request, total(scope, filter))} as total),
    p as (${walk(scope, filter, request)})`;
}

/** Subscribers changed since a time: few are sorted, many are soon met on a walk in the order of the list. */
function changed(
  scope: ProjectScope,
  filter: SubscriberFilter,
  request: PageRequest,
  updatedAfter: Date,
): RawBuilder<unknown> {
  const areFew = sql`(select count(*) <= ${SORTED} from changed)`;
  const sorted = { ...filter, updatedAfter: undefined };
  return sql`
    changed as materialized (
      select b.id, b.created_at from audience.subscribers b
      where b.environment_id = ${scope.environmentId} and b.updated_at > ${updatedAfter} limit ${SORTED + 1}
    ),
    f as materialized (${among(sql`select * from changed where ${areFew}`, scope, sorted)}),
    n as materialized (
      select ${totalOf(request, sql`case when ${areFew} then (select count(*) from f) else ${total(scope, filter)} end`)} as total
    ),
    p as (
      (select id from f where ${areFew} and ${NEWEST_FIRST.isBehind(request)} order by ${NEWEST_FIRST.by} ${limitOf(request)})
      union all
      (select id from (${walk(scope, filter, request)}) w where not ${areFew})
    )
  `;
}

/** No filter but words. Checks each property by name: a filter may have more, such as a whole query string. */
function isWhole(filter: SubscriberFilter): boolean {
  const { status, topicKey, createdAfter, createdBefore, updatedAfter } = filter;
  return [status, topicKey, createdAfter, createdBefore, updatedAfter].every((value) => value === undefined);
}

/**
 * Reads a page of everybody behind the nearest mark before it: `reached` people were created up to a mark, those in deltas that are
 * not folded yet included, so the rest stands before it in the list. Nobody is marked yet among the youngest.
 */
function marked(scope: ProjectScope, request: PageRequest): RawBuilder<unknown> {
  const before = offsetOf(request);
  return sql`
    n as materialized (select ${totalOf(request, subscriberCount(scope))} as total),
    mark as materialized (
      select until, reached - (select total - ${before} from n) as passed
      from (
        select until, is_mark, sum(subscribers) over (order by until)::bigint as reached
        from (
          select m.until, m.subscribers, true as is_mark from audience.list_marks m where m.environment_id = ${scope.environmentId}
          union all
          select d.created_at, d.delta, false from audience.counter_deltas d
          where d.environment_id = ${scope.environmentId} and d.kind = 'CREATED' and d.created_at is not null
        ) d
      ) r
      where is_mark and reached >= (select total - ${before} from n)
      order by until limit 1
    ),
    p as (
      select b.id from audience.subscribers b
      where b.environment_id = ${scope.environmentId} and b.created_at <= (select coalesce(max(until), 'infinity') from mark)
      order by ${NEWEST_FIRST.by} limit ${request.size + 1} offset coalesce((select passed from mark), ${before})
    )`;
}

/** Reads the counters when they have the total, else counts a range of an index. */
function total(scope: ProjectScope, filter: SubscriberFilter): RawBuilder<number> {
  const { status, topicKey, createdAfter, createdBefore, updatedAfter } = filter;
  const isDated = createdAfter !== undefined || createdBefore !== undefined;
  if (updatedAfter !== undefined && !isDated && status === undefined && topicKey === undefined) {
    return changedCount(scope, updatedAfter);
  }
  if (updatedAfter !== undefined || (isDated && topicKey !== undefined)) {
    return sql<number>`(select count(*) from ${matching(scope, filter)})`;
  }
  if (topicKey !== undefined) return topicSubscriberCount(scope, topicId(scope, topicKey), status);
  return isDated
    ? createdCount(scope, { createdAfter, createdBefore }, status)
    : subscriberCount(scope, status);
}

/** Reads a page in the order of an index, from the nearer end of the list. */
function walk(scope: ProjectScope, filter: SubscriberFilter, request: PageRequest): RawBuilder<unknown> {
  const before = offsetOf(request);
  // One more says whether there are more.
  const size = request.size + 1;
  const rows = matching(scope, filter);
  const { id, createdAt, order } = orderedBy(filter);
  const forward = sql`and ${order.isBehind(request)} order by ${order.by} ${limitOf(request)}`;
  if (before <= NEAR) return sql`select ${id} as id from ${rows} ${forward}`;
  const after = sql`n.total - ${before + size}`;
  // The outer LIMIT is for the planner only, which takes a computed one for a tenth of the list.
  return sql`
    select id from (
      (select ${id} as id from ${rows} and ${before} <= (select ${after} from n) ${forward})
      union all
      (select ${id} from ${rows} and ${before} > (select ${after} from n) order by ${createdAt}, ${id}
       limit (select greatest(0, least(${size}, n.total - ${before})) from n)
       offset (select greatest(0, ${after}) from n))
    ) u limit ${size}
  `;
}

/** The table whose index has the order of the list: that of the subscribers, or of the topic's consents. */
function orderedBy({ topicKey }: SubscriberFilter) {
  return topicKey === undefined ? OF_EVERYBODY : OF_TOPIC;
}

const orderOf = (createdAt: string, id: string, status: string) => ({
  id: sql.ref(id),
  createdAt: sql.ref(createdAt),
  status: sql.ref(status),
  order: new ListOrder([
    [createdAt, 'timestamptz'],
    [id, 'uuid'],
  ]),
});

const OF_EVERYBODY = orderOf('b.created_at', 'b.id', 'b.status');
const OF_TOPIC = orderOf('c.subscriber_created_at', 'c.subscriber_id', 'c.subscriber_status');

/** Tables and a WHERE, to which more conditions can be added. */
function matching(scope: ProjectScope, filter: SubscriberFilter): RawBuilder<unknown> {
  const { topicKey, updatedAfter } = filter;
  const conditions = sql`${conditionsOf(filter, orderedBy(filter))}
    ${updatedAfter === undefined ? sql`` : sql`and b.updated_at > ${updatedAfter}`}`;
  if (topicKey === undefined) {
    return sql`audience.subscribers b where b.environment_id = ${scope.environmentId} ${conditions}`;
  }
  const subscribers = sql`join audience.subscribers b on b.environment_id = c.environment_id and b.id = c.subscriber_id`;
  return sql`audience.consents c ${updatedAfter === undefined ? sql`` : subscribers}
    where ${inTopic(scope, topicKey)} ${conditions}`;
}

function conditionsOf(
  { status, createdAfter, createdBefore }: SubscriberFilter,
  columns: Readonly<Record<'status' | 'createdAt', RawBuilder<unknown>>>,
): RawBuilder<unknown> {
  return sql`
    ${status === undefined ? sql`` : sql`and ${columns.status} = ${status}`}
    ${createdAfter === undefined ? sql`` : sql`and ${columns.createdAt} > ${createdAfter}`}
    ${createdBefore === undefined ? sql`` : sql`and ${columns.createdAt} < ${createdBefore}`}
  `;
}

function inTopic(scope: ProjectScope, topicKey: string): RawBuilder<unknown> {
  return sql`c.environment_id = ${scope.environmentId} and c.topic_id = ${topicId(scope, topicKey)}
    and c.status in ('SUBSCRIBED', 'PENDING_CONFIRMATION')`;
}

function topicId(scope: ProjectScope, topicKey: string): RawBuilder<unknown> {
  return sql`(
    select t.id from audience.topics t
    where t.environment_id = ${scope.environmentId} and t.topic_key = ${topicKey} and t.deleted_at is null
  )`;
}

/**
 * The `people`, by `id` and `created_at`, who meet the other conditions; reads rows only for conditions on them. An OFFSET keeps
 * the planner from joining, so that each is looked up: a join compared them with everybody in the topic.
 */
function among(
  people: RawBuilder<unknown>,
  scope: ProjectScope,
  filter: SubscriberFilter,
): RawBuilder<unknown> {
  const { status, topicKey, updatedAfter } = filter;
  const ofRow = status !== undefined || updatedAfter !== undefined;
  return sql`
    select f.id, f.created_at
    from (${people}) f
    ${
      ofRow
        ? sql`cross join lateral (select b.status, b.updated_at from audience.subscribers b
          where b.environment_id = ${scope.environmentId} and b.id = f.id ${neverJoined}) b`
        : sql``
    }
    ${topicKey === undefined ? sql`` : sql`cross join lateral (select 1 from audience.consents c where c.subscriber_id = f.id and ${inTopic(scope, topicKey)} ${neverJoined}) c`}
    where true ${conditionsOf(filter, { status: sql`b.status`, createdAt: sql`f.created_at` })}
      ${updatedAfter === undefined ? sql`` : sql`and b.updated_at > ${updatedAfter}`}
  `;
}
