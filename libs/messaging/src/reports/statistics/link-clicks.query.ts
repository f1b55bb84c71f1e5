import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { type Database, environmentOf, isOf } from '#platform';
import { settledFigures } from './settled-figures.query.js';

/** How many people's mails a link was followed from. */
export interface LinkClicks {
  readonly url: string;
  /** Mails through which people followed it. */
  readonly clickers: number;
}

/**
 * Every tracked link of a campaign in all of its translations, the most followed first. A campaign that was sent with other
 * content later has more than one set of links: of its own content, those that differ are left out.
 */
export async function linkClicks(
  database: Database,
  scope: ProjectScope,
  { id, queuedAt }: { readonly id: string; readonly queuedAt: Date },
): Promise<LinkClicks[]> {
  const environment = environmentOf(scope);
  const { rows } = await sql<LinkClicks>`
    with places as (
      select u.number, min(u.url) as url
      from messaging.link_sets s cross join lateral unnest(s.urls) with ordinality u(url, number)
      where s.campaign_id = ${id} and s.environment_id = ${environment} and s.translation is null
      group by u.number having count(distinct u.url) = 1
    ), links as (
      select url from places
      union select unnest(s.urls) from messaging.link_sets s
      where s.campaign_id = ${id} and s.environment_id = ${environment} and s.translation is not null
    ), clicks as (
      select case when e.url is null then e.link_number end as number, e.url, count(distinct e.delivery_id) as clickers
      from messaging.delivery_events e
      where e.campaign_id = ${id} and ${isOf(scope, sql`e.environment_id`)} and e.type = 'CLICKED'
        and e.classification = 'human' and e.occurred_at >= ${queuedAt}
      group by 1, 2
    ), counted as (
      select coalesce(c.url, p.url) as url, sum(c.clickers) as clickers from clicks c left join places p using (number) group by 1
    )
    select l.url, coalesce(c.clickers, 0)::bigint as clickers from links l left join counted c using (url)
    order by clickers desc, l.url
  `.execute(database.tables());
  return (await settledFigures<LinkClicks[]>(database, scope, id, 'links')) ?? rows;
}
