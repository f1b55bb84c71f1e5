import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { environmentOf, isOf, neverJoined } from '#platform';
import type { AudienceBreakdown } from './recipient.js';

/** Comes before every id (RFC 9562 §5.9). */
export const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** All at once, as sets: `people` is a FROM with the beginning of its WHERE, whose `b` is a subscriber. */
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
          and ${oneOf(topicIds)} and ${standing(asOf)}
      )
      and not exists (
        select 1 from audience.suppressions s
        where s.environment_id = ${scope.environmentId} and s.email_key = b.email_key
      )
  `;
}

/**
 * The same for who looks at some thousand of them after the other; the rest of a WITH: `candidates`, the `subscriber_id`s of the
 * next `size` to look at, in their order, and `audience`, whom of them a mail may go to. Who is looked at comes from an index in
 * the order of the ids, the people from that of their key by all these ids at once; what else is asked is looked up for
 * each, by an OFFSET that keeps the planner from joining. A join would read all of the topic for each few thousand, and more
 * than once where the statistics are older than the people.
 */
export function recipientsInOrder(
  scope: ProjectScope,
  topicIds: readonly string[],
  asOf: Date,
  chunk: OrderedChunk,
): RawBuilder<unknown> {
  const environment = environmentOf(scope);
  const isSubscribed = sql`exists (
    select 1 from audience.consents c
    where ${isOf(scope, sql`c.environment_id`)} and c.subscriber_id = p.id and ${oneOf(topicIds)} and ${standing(asOf)}
    ${neverJoined}
  )`;
  const isOfOneTopic = chunk.frozen === undefined && topicIds.length === 1;
  return sql`
    candidates as materialized (${candidates(environment, topicIds, asOf, chunk)} order by 1 limit ${chunk.size}),
    people as materialized (
      select b.id, b.email, b.email_key, b.locale, b.time_zone from audience.subscribers b
      where ${isOf(scope, sql`b.environment_id`)} and b.id = any(array(select subscriber_id from candidates))
        and (b.paused_until is null or b.paused_until <= ${asOf})
    ),
    audience as (
      select p.id as subscriber_id, p.email as address, p.email_key as address_key, p.locale, p.time_zone from people p
      where not exists (
        select 1 from audience.suppressions s where s.environment_id = ${environment} and s.email_key = p.email_key ${neverJoined}
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
  environment: RawBuilder<unknown>,
  topicIds: readonly string[],
  asOf: Date,
  { after, frozen }: OrderedChunk,
): RawBuilder<unknown> {
  if (frozen !== undefined) {
    return sql`select f.subscriber_id from audience.frozen_audience_members f
      where f.environment_id = ${environment} and f.audience_id = ${frozen} and f.subscriber_id > ${after}::uuid`;
  }
  const [only, ...others] = topicIds;
  if (only !== undefined && others.length === 0) {
    return sql`select c.subscriber_id from audience.consents c
      where c.environment_id = ${environment} and c.topic_id = ${only} and ${standing(asOf)} and c.subscriber_id > ${after}::uuid`;
  }
  return sql`select b.id as subscriber_id from audience.subscribers b where b.environment_id = ${environment} and b.id > ${after}::uuid`;
}

function standing(asOf: Date): RawBuilder<unknown> {
  return sql`c.status = 'SUBSCRIBED' and c.subscribed_at <= ${asOf}`;
}

/** A breakdown of those at one of the domains; null: of all others. */
export interface DomainStandings extends AudienceBreakdown {
  readonly domain: string | null;
}

/**
 * How many of those who asked for mail to the topics would get it, and what keeps it from the others, apart for each of
 * the domains. `people` is what a JOIN names, with the beginning of its ON, whose `b` is a subscriber.
 */
export function standings(
  people: RawBuilder<unknown>,
  scope: ProjectScope,
  { topicIds, domains }: { readonly topicIds: readonly string[]; readonly domains: readonly string[] },
  asOf: Date,
): RawBuilder<DomainStandings> {
  return sql<DomainStandings>`
        select p.domain, count(*) as matched,
          count(*) filter (where p.standing = 'bounced') as bounced,
          count(*) filter (where p.standing = 'suppressed') as suppressed,
          count(*) filter (where p.standing = 'unconfirmed') as unconfirmed,
          count(*) filter (where p.standing = 'paused') as capped,
          count(*) filter (where p.standing is null) as will_receive
        from (
          select case when s.reason = 'HARD_BOUNCE' then 'bounced' when s.reason is not null then 'suppressed'
            when not k.subscribed then 'unconfirmed' when b.paused_until > ${asOf} then 'paused' end as standing,
            d.domain
          from (${wishes(scope, topicIds, asOf)}) k
          join ${people} and b.id = k.subscriber_id and b.environment_id = ${scope.environmentId}
          left join audience.suppressions s on s.environment_id = b.environment_id and s.email_key = b.email_key
          ${amongDomains(domains)}
        ) p
        group by p.domain
      `;
}

/**
 * The address's domain where it is one of these; the rest are one group, so that there are few. As a join: a list of a
 * hundred would be searched from its beginning for each of a million.
 */
function amongDomains(domains: readonly string[]): RawBuilder<unknown> {
  return sql`left join (select distinct unnest(${[...domains]}::text[]) as domain) d
            on d.domain collate "C" = split_part(b.email_key, '@', -1)`;
}

/**
 * Who asked for mail to the topics, once each, and whether one of their consents stands. A person has one consent to a
 * topic: of a single topic nothing needs to be aggregated, which at a million people is a third of the work.
 */
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
