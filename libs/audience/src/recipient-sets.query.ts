import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { isOf, neverJoined } from '#platform';

/** Comes before every id (RFC 9562 §5.9). */
export const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** A SELECT of all recipients as a set; `people` is a FROM with the beginning of its WHERE, whose `b` is a subscriber. */
export function recipientsAmong(
  people: RawBuilder<unknown>,
  scope: ProjectScope,
  topicIds: readonly string[],
  asOf: Date,
): RawBuilder<unknown> {
  return sql`
    select b.environment_id, b.id as subscriber_id, b.email as address, b.email_key as address_key
    from ${people} b.environment_id = ${scope.environmentId}
      and (b.paused_until is null or b.paused_until <= ${asOf})
      and exists (
        select 1 from audience.consents c
        where c.environment_id = ${scope.environmentId} and c.subscriber_id = b.id
          and ${oneOf(topicIds)} and ${isSubscribedAt(asOf)}
      )
      and not exists (
        select 1 from audience.suppressions s
        where s.environment_id = ${scope.environmentId} and s.email_key = b.email_key
      )
  `;
}

/**
 * The same a page at a time: see `RecipientsQuery.audience`. Candidates come from an index in the order of the ids. All other
 * conditions are looked up one by one (`neverJoined`): a join would read the whole topic for each page.
 */
export function recipientsInOrder(
  scope: ProjectScope,
  topicIds: readonly string[],
  asOf: Date,
  chunk: OrderedChunk,
): RawBuilder<unknown> {
  const { environmentId } = scope;
  const isSubscribed = sql`exists (
    select 1 from audience.consents c
    where ${isOf(scope, sql`c.environment_id`)} and c.subscriber_id = p.id and ${oneOf(topicIds)} and ${isSubscribedAt(asOf)}
    ${neverJoined}
  )`;
  const isOfOneTopic = chunk.frozen === undefined && topicIds.length === 1;
  return sql`
    candidates as materialized (${candidates(scope, topicIds, asOf, chunk)} order by 1 limit ${chunk.size}),
    people as materialized (
      select b.id, b.email, b.email_key, b.locale, b.time_zone from audience.subscribers b
      where ${isOf(scope, sql`b.environment_id`)} and b.id = any(array(select subscriber_id from candidates))
        and (b.paused_until is null or b.paused_until <= ${asOf})
    ),
    audience as (
      select p.id as subscriber_id, p.email as address, p.email_key as address_key, p.locale, p.time_zone from people p
      where not exists (
        select 1 from audience.suppressions s where s.environment_id = ${environmentId} and s.email_key = p.email_key ${neverJoined}
      ) and ${isOfOneTopic ? sql`true` : isSubscribed}
    )
  `;
}

interface OrderedChunk {
  readonly after: string;
  readonly frozen: string | undefined;
  readonly size: number;
}

/** The table to page through: the frozen audience, else the one topic, else all subscribers. */
function candidates(
  { environmentId }: ProjectScope,
  topicIds: readonly string[],
  asOf: Date,
  { after, frozen }: OrderedChunk,
): RawBuilder<unknown> {
  if (frozen !== undefined) {
    return sql`select f.subscriber_id from audience.frozen_audience_members f
      where f.environment_id = ${environmentId} and f.audience_id = ${frozen} and f.subscriber_id > ${after}::uuid`;
  }
  const [only, ...others] = topicIds;
  if (only !== undefined && others.length === 0) {
    return sql`select c.subscriber_id from audience.consents c
      where c.environment_id = ${environmentId} and c.topic_id = ${only} and ${isSubscribedAt(asOf)}
        and c.subscriber_id > ${after}::uuid`;
  }
  return sql`
    select b.id as subscriber_id from audience.subscribers b
    where b.environment_id = ${environmentId} and b.id > ${after}::uuid`;
}

function isSubscribedAt(asOf: Date): RawBuilder<unknown> {
  return sql`c.status = 'SUBSCRIBED' and c.subscribed_at <= ${asOf}`;
}

/** The people that a campaign would reach or not, each counted once: `matched` is the sum of the others. */
export interface AudienceBreakdown {
  /** Signed up for a topic, confirmed or not. */
  readonly matched: number;
  readonly unconfirmed: number;
  /** Suppressed by request or complaint. */
  readonly suppressed: number;
  readonly bounced: number;
  /** Paused all mail. */
  readonly capped: number;
  readonly willReceive: number;
}

/** A breakdown of the people at one of the domains; null: at all others. */
export interface DomainBreakdown extends AudienceBreakdown {
  readonly domain: string | null;
}

/**
 * Counts the people who asked for mail to the topics, by the obstacle that keeps it from them, for each of the domains.
 * `people` is the table of a JOIN with the beginning of its ON, whose `b` is a subscriber.
 */
export function breakdownByDomain(
  people: RawBuilder<unknown>,
  scope: ProjectScope,
  { topicIds, domains }: { readonly topicIds: readonly string[]; readonly domains: readonly string[] },
  asOf: Date,
): RawBuilder<DomainBreakdown> {
  return sql<DomainBreakdown>`
        select p.domain, count(*) as matched,
          count(*) filter (where p.obstacle = 'bounced') as bounced,
          count(*) filter (where p.obstacle = 'suppressed') as suppressed,
          count(*) filter (where p.obstacle = 'unconfirmed') as unconfirmed,
          count(*) filter (where p.obstacle = 'paused') as capped,
          count(*) filter (where p.obstacle is null) as will_receive
        from (
          select case when s.reason = 'HARD_BOUNCE' then 'bounced' when s.reason is not null then 'suppressed'
            when not k.subscribed then 'unconfirmed' when b.paused_until > ${asOf} then 'paused' end as obstacle,
            d.domain
          from (${wishes(scope, topicIds, asOf)}) k
          join ${people} and b.id = k.subscriber_id and b.environment_id = ${scope.environmentId}
          left join audience.suppressions s on s.environment_id = b.environment_id and s.email_key = b.email_key
          ${amongDomains(domains)}
        ) p
        group by p.domain
      `;
}

/** The address's domain if it is one of these, else null. As a join: a list would be searched from its start for each person. */
function amongDomains(domains: readonly string[]): RawBuilder<unknown> {
  return sql`left join (select distinct unnest(${[...domains]}::text[]) as domain) d
            on d.domain collate "C" = split_part(b.email_key, '@', -1)`;
}

/** The people who asked for mail to the topics, once each, with `subscribed` when one consent is confirmed. */
function wishes(scope: ProjectScope, topicIds: readonly string[], asOf: Date): RawBuilder<unknown> {
  const consents = sql`
    audience.consents c
    where c.environment_id = ${scope.environmentId} and ${oneOf(topicIds)}
      and (c.status = 'PENDING_CONFIRMATION' or (c.status = 'SUBSCRIBED' and c.subscribed_at <= ${asOf}))
  `;
  if (topicIds.length === 1)
    return sql`select c.subscriber_id, c.status = 'SUBSCRIBED' as subscribed from ${consents}`;
  return sql`
    select c.subscriber_id, bool_or(c.status = 'SUBSCRIBED') as subscribed from ${consents} group by c.subscriber_id
  `;
}

/** One topic is compared directly: the planner then knows that a subscriber has one consent to it. */
export function oneOf(topicIds: readonly string[]): RawBuilder<unknown> {
  const [only, ...others] = topicIds;
  if (only !== undefined && others.length === 0) return sql`c.topic_id = ${only}::uuid`;
  return sql`c.topic_id = any(${[...topicIds]}::uuid[])`;
}
