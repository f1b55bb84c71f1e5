import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { type Database, environmentOf } from '#platform';
import { settledFigures } from './settled-figures.query.js';

/** What became of mails. */
export interface MailFigures {
  readonly sent: number;
  readonly delivered: number;
  readonly bounced: number;
  /** Mails that somebody opened; a click counts as an open. */
  readonly opened: number;
  readonly clicked: number;
}

/** What became of a campaign's mails to one mailbox provider, the domain of the address. */
export interface ProviderFigures extends MailFigures {
  /** Null for all the providers together that are not named. */
  readonly domain: string | null;
}

/** Where a campaign's mails are. */
export interface CampaignMails {
  readonly id: string;
  /** `2026-03-01`: the partition of the deliveries. */
  readonly queuedOn: string;
}

/** The largest providers; the others are told together. */
const MOST_NAMED = 12;

/**
 * The providers of a campaign, the largest first. One with fewer than `fewest` of its mails is not named: it might be one
 * person's own. The others come last, together.
 */
export async function providerFigures(
  database: Database,
  scope: ProjectScope,
  campaign: CampaignMails,
  fewest: number,
): Promise<ProviderFigures[]> {
  const { rows } = await sql<ProviderFigures>`
    with counted(domain, sent, bounced, opened, clicked) as (
      ${figuresBy(sql`split_part(d.address_key, '@', 2)`, scope, campaign)}
    ), ranked as (
      select *, case when sent >= ${fewest} and domain <> ''
          and row_number() over (order by domain = '', sent desc, domain) <= ${MOST_NAMED} then domain end as name
      from counted
    )
    select name as domain, sum(sent)::bigint as sent, (sum(sent) - sum(bounced))::bigint as delivered,
      sum(bounced)::bigint as bounced, sum(opened)::bigint as opened, sum(clicked)::bigint as clicked
    from ranked group by name order by name is null, sum(ranked.sent) desc, name
  `.execute(database.tables());
  return (await settledFigures<ProviderFigures[]>(database, scope, campaign.id, 'providers')) ?? rows;
}

/** A SELECT of a campaign's mails that were sent, by what `key` says of each delivery `d`: key, sent, bounced, opened, clicked. */
export function figuresBy(
  key: RawBuilder<unknown>,
  scope: ProjectScope,
  { id, queuedOn }: CampaignMails,
): RawBuilder<unknown> {
  return sql`
    select ${key}, count(*), count(d.bounced_at), count(*) filter (where g.opens > 0 or g.clicks > 0),
      count(*) filter (where g.clicks > 0)
    from messaging.deliveries d
    left join messaging.delivery_engagement g
      on g.delivery_id = d.id and g.environment_id = d.environment_id and g.queued_on = ${queuedOn}::date
        and g.campaign_id = ${id}
    where d.source_id = ${id} and d.queued_on = ${queuedOn}::date and d.environment_id = ${environmentOf(scope)}
      and d.kind = 'CAMPAIGN' and d.state = 'SENT'
    group by 1
  `;
}
