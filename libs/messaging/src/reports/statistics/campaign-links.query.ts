import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { campaignNamed } from '../../campaigns/campaign.repository.js';
import type { LinkClicks } from './report-facts.js';

/** Clicks of people on a link of a campaign's own content, or of one of its translations. */
export interface LinkFigures {
  readonly url: string;
  /** Place in the mail, which begins with 1; of several contents that were sent, the last one's. */
  readonly linkNumber: number;
  /** Locale of the translation; null: the campaign's own content. */
  readonly locale: string | null;
  readonly clicks: number;
  /** Mails through which people followed it. */
  readonly uniqueClicks: number;
}

/** Reads the clicks on a campaign's links from their counters. */
@Injectable()
export class CampaignLinksQuery {
  constructor(private readonly database: Database) {}

  /** The most followed first; none before sending, or without tracking. `NotFoundError` without such a campaign. */
  of(scope: ProjectScope, campaignKey: string): Promise<LinkFigures[]> {
    return this.database.transaction(scope, async () => {
      const { id } = await campaignNamed(this.database.tables(), scope, campaignKey)
        .select('id')
        .executeTakeFirstOrThrow(() => new NotFoundError());
      return linkFigures(this.database, scope, id);
    });
  }
}

/** Every tracked link of a campaign and of its translations, the most followed first. */
async function linkFigures(
  database: Database,
  { environmentId }: ProjectScope,
  campaignId: string,
): Promise<LinkFigures[]> {
  const { rows } = await sql<LinkFigures>`
    with links as (
      select s.id, s.translation, u.url, u.number::int as number
      from messaging.link_sets s cross join lateral unnest(s.urls) with ordinality u(url, number)
      where s.campaign_id = ${campaignId} and s.environment_id = ${environmentId}
    )
    select l.url, (array_agg(l.number order by l.id desc))[1] as link_number, l.translation as locale,
      coalesce(sum(k.clicked), 0)::bigint as clicks, coalesce(sum(k.unique_clicks), 0)::bigint as unique_clicks
    from links l left join messaging.link_counters k
      on k.campaign_id = ${campaignId} and k.environment_id = ${environmentId} and k.link_set = l.id and k.link_number = l.number
    group by l.url, l.translation
    order by clicks desc, link_number, l.translation nulls first, l.url
  `.execute(database.tables());
  return rows;
}

/** Every address that a campaign's links lead to, in whatever language, the most followed first. */
export async function linkClicks(
  database: Database,
  scope: ProjectScope,
  campaignId: string,
): Promise<LinkClicks[]> {
  const links = await linkFigures(database, scope, campaignId);
  return [...Map.groupBy(links, ({ url }) => url)]
    .map(([url, ofOne]) => ({ url, clickers: ofOne.reduce((sum, link) => sum + link.uniqueClicks, 0) }))
    .sort((one, other) => other.clickers - one.clickers || (one.url < other.url ? -1 : 1));
}
