import { sql } from 'kysely';
import type { Database } from '#platform';

/** How many people's mails a link was followed from. */
export interface LinkClicks {
  readonly url: string;
  /** Mails through which people followed it. */
  readonly clickers: number;
}

/**
 * Every tracked link of a campaign, the most followed first. A campaign that was sent with other content later has more
 * than one set of links: those that differ are left out.
 */
export async function linkClicks(
  database: Database,
  { id, queuedAt }: { readonly id: string; readonly queuedAt: Date },
): Promise<LinkClicks[]> {
  const { rows } = await sql<LinkClicks>`
    with places as (
      select u.number, min(u.url) as url
      from messaging.link_sets s cross join lateral unnest(s.urls) with ordinality u(url, number)
      where s.campaign_id = ${id}
      group by u.number having count(distinct u.url) = 1
    ), clicks as (
      select e.link_number as number, count(distinct e.delivery_id) as clickers
      from messaging.delivery_events e
      where e.campaign_id = ${id} and e.type = 'CLICKED' and e.classification = 'human' and e.occurred_at >= ${queuedAt}
      group by e.link_number
    )
    select p.url, coalesce(c.clickers, 0)::bigint as clickers from places p left join clicks c using (number)
    order by clickers desc, p.url
  `.execute(database.tables());
  return rows;
}
