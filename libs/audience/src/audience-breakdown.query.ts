import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';

/** The people that a campaign would reach or not, each counted once: `matched` is the sum of the others. */
export interface AudienceBreakdown {
  /** Signed up for a topic, confirmed or not. */
  readonly matched: number;
  readonly unconfirmed: number;
  /** Suppressed by request, by complaint or by hand. */
  readonly suppressed: number;
  readonly bounced: number;
  /** Paused all mail. */
  readonly capped: number;
  readonly willReceive: number;
}

/** A breakdown of the people at one of the domains; null: at all others. */
interface DomainBreakdown extends AudienceBreakdown {
  readonly domain: string | null;
}

/** The breakdown, with the number of recipients at each of the domains asked for. */
export interface AudienceSurvey {
  readonly breakdown: AudienceBreakdown;
  /** Domains without any are missing. */
  readonly recipientsByDomain: ReadonlyMap<string, number>;
}

/**
 * Counts the people who asked for mail to the topics, by the obstacle that keeps it from them, for each of the domains.
 * `people` is the table of a JOIN with the beginning of its ON, whose `b` is a subscriber.
 */
export function breakdownByDomain(
  people: RawBuilder<unknown>,
  { environmentId }: ProjectScope,
  { topicIds, domains }: { readonly topicIds: readonly string[]; readonly domains: readonly string[] },
  asOf: Date,
): RawBuilder<DomainBreakdown> {
  // Each person has one consent to a topic.
  const isOfOneTopic = topicIds.length === 1;
  const isConfirmed = sql`c.status = 'SUBSCRIBED'`;
  // The domains are a join: a list would be searched from its start for each person.
  return sql<DomainBreakdown>`/* audience_breakdown */
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
      from (
        select c.subscriber_id, ${isOfOneTopic ? isConfirmed : sql`bool_or(${isConfirmed})`} as subscribed
        from audience.consents c
        where c.environment_id = ${environmentId} and ${oneOf(topicIds)}
          and (c.status = 'PENDING_CONFIRMATION' or (${isConfirmed} and c.subscribed_at <= ${asOf}))
        ${isOfOneTopic ? sql`` : sql`group by c.subscriber_id`}
      ) k
      join ${people} and b.id = k.subscriber_id and b.environment_id = ${environmentId}
      left join audience.suppressions s on s.environment_id = b.environment_id and s.email_key = b.email_key
      left join (select distinct unnest(${[...domains]}::text[]) as domain) d
        on d.domain collate "C" = split_part(b.email_key, '@', -1)
    ) p
    group by p.domain
  `;
}

export function surveyOf(rows: readonly DomainBreakdown[]): AudienceSurvey {
  const breakdown = { matched: 0, unconfirmed: 0, suppressed: 0, bounced: 0, capped: 0, willReceive: 0 };
  const names = Object.keys(breakdown) as (keyof typeof breakdown)[];
  for (const row of rows) for (const name of names) breakdown[name] += row[name];
  const known = rows.flatMap(({ domain, willReceive }) =>
    domain === null || willReceive === 0 ? [] : [[domain, willReceive] as const],
  );
  return { breakdown, recipientsByDomain: new Map(known) };
}

/** One topic is compared directly: the planner then knows that a subscriber has one consent to it. */
export function oneOf(topicIds: readonly string[]): RawBuilder<unknown> {
  const [only, ...others] = topicIds;
  if (only !== undefined && others.length === 0) return sql`c.topic_id = ${only}::uuid`;
  return sql`c.topic_id = any(${[...topicIds]}::uuid[])`;
}
