import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import {
  DomainValidationError,
  NotFoundError,
  offsetOf,
  type Page,
  type PageRequest,
  type ProjectScope,
} from '#kernel';
import {
  Database,
  limitOf,
  ListOrder,
  neverJoined,
  NEWEST_FIRST,
  named,
  SQL_STATE,
  sqlStateOf,
  totalOf,
} from '#platform';
import type { SubscriberStatus } from '../consents/consent.js';
import { type Counted, countedPage } from '../counted-page.js';
import { changedCount, createdCount, subscriberCount, topicSubscriberCount } from '../counters.query.js';
import { isTopicKey } from '../topics/topic.js';
import { normalizedName, type SubscriberRef, type SubscriberView } from './subscriber.js';
import { isNamed, subscriberColumns } from './subscriber.repository.js';
import { everyoneFound, foundUpTo, isFound, newestBehind, searched } from './subscriber-search.query.js';

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
/** The most subscribers who are looked up rather than compared as sets, which reads everybody who meets a filter. */
const LOOKED_UP = 20_000;
/** Up to this offset a page is read from the beginning of the list. */
const NEAR = 2_000;

/** Reads subscribers. */
@Injectable()
export class SubscribersQuery {
  constructor(private readonly database: Database) {}

  /** Newest first. Throws DomainValidationError when more are found or were changed than can be counted in time. */
  async page(
    scope: ProjectScope,
    filter: SubscriberFilter,
    request: PageRequest,
  ): Promise<Page<SubscriberView>> {
    if (filter.topicKey !== undefined && !isTopicKey(filter.topicKey)) return NOBODY;
    const asked = this.database.statement(
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
        order by s.created_at desc, s.id desc
      `,
      { isList: true },
    );
    const rows = await asked.catch((error: unknown) => {
      throw tooMany(filter, error);
    });
    return countedPage(rows, request);
  }

  /** Throws NotFoundError. */
  async get(scope: ProjectScope, ref: SubscriberRef): Promise<SubscriberView> {
    // The most frequent query: a transaction would take three round trips.
    const [subscriber] = await this.database.statement(
      scope,
      sql<SubscriberView>`${named('subscriber_of_path')}
        select ${subscriberColumns(scope)} from audience.subscribers b
        where b.environment_id = ${scope.environmentId} and ${isNamed(ref)}
      `,
    );
    if (subscriber === undefined) throw new NotFoundError();
    return subscriber;
  }
}

/** The error of a list that took too long, as the client's where another request would do; else `error`. */
export function tooMany({ q, updatedAfter }: SubscriberFilter, error: unknown): unknown {
  if (sqlStateOf(error) !== SQL_STATE.queryCanceled) return error;
  if (q !== undefined && q !== '')
    return new DomainValidationError({
      q: 'finds more people than can be counted in time: give more of the address or name',
    });
  return updatedAfter === undefined
    ? error
    : new DomainValidationError({
        updatedAfter: 'finds more people than can be counted in time: give a later time',
      });
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
    return searchedAmong(scope, q, filter, request);
  }
  if (updatedAfter !== undefined) return changed(scope, filter, request, updatedAfter);
  if (isWhole(filter) && offsetOf(request) > NEAR) return marked(scope, request);
  return sql`
    n as materialized (select ${totalOf(request, total(scope, filter))} as total),
    p as (${walk(scope, filter, request)})`;
}

/**
 * People found by `q` who meet other conditions: few are looked up, many are compared as sets of index entries. Behind a cursor,
 * many are soon met on a walk in the order of the list.
 */
function searchedAmong(
  scope: ProjectScope,
  q: string,
  filter: SubscriberFilter,
  request: PageRequest,
): RawBuilder<unknown> {
  const areFew = sql`(select are_few from size)`;
  const found = everyoneFound(scope, q, request);
  const { id, createdAt, order } = orderedBy(filter);
  const walked = sql`select b.id, b.created_at from (${newestBehind(scope, request)}) b
    where ${isFound(q)} and not ${areFew}`;
  const isWalk = request.after ? sql`true` : sql`false`;
  return sql`
    size as materialized (select count(*) <= ${LOOKED_UP} as are_few from (${foundUpTo(scope, q, request, LOOKED_UP + 1)}) found),
    w as materialized (
      select id from (${among(sql`select * from (${walked}) w where ${isWalk}`, scope, filter)}) w
      order by created_at desc, id desc ${limitOf(request)}
    ),
    f as materialized (
      ${among(sql`select * from (${found}) found where ${areFew}`, scope, filter)}
      union all
      (
        select * from (${found}) found where not ${areFew}
        intersect
        select ${id}, ${createdAt} from ${matching(scope, filter)} and ${order.isBehind(request)} and not ${areFew}
      )
    ),
    n as materialized (select ${totalOf(request, sql`(select count(*) from f)`)} as total),
    p as (
      select id from w where (select count(*) from w) = ${request.size + 1}
      union all
      select id from (
        select id, created_at from f where (select count(*) from w) < ${request.size + 1}
        order by created_at desc, id desc ${limitOf(request)}
      ) sorted
    )`;
}

/** Subscribers changed since a time: few are sorted, many are soon met on a walk in the order of the list. */
function changed(
  scope: ProjectScope,
  filter: SubscriberFilter,
  request: PageRequest,
  updatedAfter: Date,
): RawBuilder<unknown> {
  const most = filter.topicKey === undefined ? SORTED : LOOKED_UP;
  const areFew = sql`(select count(*) <= ${most} from changed)`;
  const sorted = { ...filter, updatedAfter: undefined };
  return sql`
    changed as materialized (
      select b.id, b.created_at from audience.subscribers b
      where b.environment_id = ${scope.environmentId} and b.updated_at > ${updatedAfter} limit ${most + 1}
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
  if (updatedAfter !== undefined && topicKey !== undefined) {
    // Two indexes are compared as sets: a join looked up everybody in the topic.
    return sql<number>`(select count(*) from (
      select b.id from audience.subscribers b where b.environment_id = ${scope.environmentId} and b.updated_at > ${updatedAfter}
      intersect all
      select c.subscriber_id from ${matching(scope, { ...filter, updatedAfter: undefined })}
    ) common)`;
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
  const { id, createdAt, order } = orderedBy(filter);
  // The range leads into that index: before the first statistics, sorting everybody seems cheaper where another one is smaller.
  const rows = sql`${matching(scope, filter)} ${isWhole(filter) ? sql`and b.created_at <= 'infinity'` : sql``}`;
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
  const subscribers = sql`join audience.subscribers b
    on b.environment_id = c.environment_id and b.created_at = c.subscriber_created_at and b.id = c.subscriber_id`;
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
 * the planner from joining, so that each is looked up: a join compared them with everybody in the topic. Each look-up says all
 * that an index begins with, so that there is no wrong one: by id alone, an index of statuses was read from end to end for each.
 */
function among(
  people: RawBuilder<unknown>,
  scope: ProjectScope,
  filter: SubscriberFilter,
): RawBuilder<unknown> {
  const { status, topicKey, updatedAfter, ...dates } = filter;
  const ofStatus = topicKey === undefined ? status : undefined;
  const subscriber = sql`cross join lateral (
      select from audience.subscribers b
      where b.environment_id = ${scope.environmentId} and b.created_at = f.created_at and b.id = f.id
        ${ofStatus === undefined ? sql`` : sql`and b.status = ${ofStatus}`}
        ${updatedAfter === undefined ? sql`` : sql`and b.updated_at > ${updatedAfter}`} ${neverJoined}
    ) b`;
  const consent = sql`cross join lateral (
      select from audience.consents c
      where ${inTopic(scope, topicKey ?? '')} and c.subscriber_created_at = f.created_at and c.subscriber_id = f.id
        ${conditionsOf({ status }, OF_TOPIC)} ${neverJoined}
    ) c`;
  return sql`
    select f.id, f.created_at
    from (${people}) f
    ${ofStatus === undefined && updatedAfter === undefined ? sql`` : subscriber}
    ${topicKey === undefined ? sql`` : consent}
    where true ${conditionsOf(dates, { status: sql`null`, createdAt: sql`f.created_at` })}
  `;
}
