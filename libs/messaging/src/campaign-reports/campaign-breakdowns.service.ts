import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { Database, type Sql } from '#platform';
import { type LinkClicks, linkClicks } from '../reports/link-clicks.js';
import { type CampaignMails, type ProviderFigures, providerFigures } from '../reports/provider-figures.js';
import { FEWEST_MAILS_OF_DOMAIN } from './report-facts.js';

export interface CampaignBreakdown {
  readonly links: readonly LinkClicks[];
  readonly providers: readonly ProviderFigures[];
  readonly countedAt: Date;
  /** Whether anything was sent, opened or returned since. */
  readonly isCurrent: boolean;
}

export interface BrokenDownCampaign extends CampaignMails {
  readonly queuedAt: Date;
}

interface StoredBreakdown extends Omit<CampaignBreakdown, 'isCurrent'> {
  readonly version: string;
  readonly milliseconds: number;
}

/** More links than these say nothing on one page. */
const MOST_LINKS = 10;
/** While a campaign goes on, counting takes no more than this share of the time, however often it is looked at. */
const SHARE_OF_TIME = 0.05;
const COUNTING_LOCK = 7_240_611;
const ERASURE_LOCK = 7_240_612;

/**
 * A campaign's figures by link and by mailbox provider. They are counted from all its deliveries and clicks and kept
 * until one of the campaign's counters changes; while those change they may be old, but never by more than twenty times
 * as long as counting takes.
 */
@Injectable()
export class CampaignBreakdowns {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  of(scope: ProjectScope, campaign: BrokenDownCampaign): Promise<CampaignBreakdown> {
    return this.database.transaction(scope, async ({ db }) => {
      const kept = await this.#kept(db, campaign.id);
      if (kept !== null) return kept;
      // One counts, and who came meanwhile takes what it found.
      await sql`select pg_advisory_xact_lock(${COUNTING_LOCK}, hashtext(${campaign.id}))`.execute(db);
      await sql`select pg_advisory_xact_lock_shared(${ERASURE_LOCK}, ${scope.environmentId}::int)`.execute(
        db,
      );
      return (await this.#kept(db, campaign.id)) ?? (await this.#count(scope, db, campaign));
    });
  }

  /** Null when there is none, or it is too old. */
  async #kept(db: Sql, campaignId: string): Promise<CampaignBreakdown | null> {
    const { rows } = await sql<StoredBreakdown & { readonly currentVersion: string }>`
      select version, links, providers, counted_at as "countedAt", milliseconds, ${versionOf(campaignId)} as "currentVersion"
      from messaging.campaign_breakdowns where campaign_id = ${campaignId}
    `.execute(db);
    const [row] = rows;
    if (row === undefined) return null;
    const { links, providers, countedAt, milliseconds } = row;
    const isCurrent = row.version === row.currentVersion;
    const age = this.clock.now().getTime() - countedAt.getTime();
    return isCurrent || age * SHARE_OF_TIME < milliseconds
      ? { links, providers, countedAt, isCurrent }
      : null;
  }

  async #count(scope: ProjectScope, db: Sql, campaign: BrokenDownCampaign): Promise<CampaignBreakdown> {
    const [countedAt, began] = [this.clock.now(), performance.now()];
    // Looked up first: what changes while it is counted makes it out of date, at worst without need.
    const { rows } = await sql<{ version: string }>`select ${versionOf(campaign.id)} as version`.execute(db);
    const links = (await linkClicks(db, campaign)).slice(0, MOST_LINKS);
    const providers = await providerFigures(scope, db, campaign, FEWEST_MAILS_OF_DOMAIN);
    const milliseconds = Math.round(performance.now() - began);
    await sql`
      insert into messaging.campaign_breakdowns as b (campaign_id, environment_id, version, links, providers, counted_at, milliseconds)
      values (${campaign.id}, ${scope.environmentId}, ${rows[0]?.version}, ${JSON.stringify(links)}, ${JSON.stringify(providers)},
        ${countedAt}, ${milliseconds})
      on conflict (campaign_id) do update set version = excluded.version, links = excluded.links, providers = excluded.providers,
        counted_at = excluded.counted_at, milliseconds = excluded.milliseconds
    `.execute(db);
    return { links, providers, countedAt, isCurrent: true };
  }
}

/**
 * Forgets what was counted with the mails of a subscriber who is about to be erased: their provider loses one. What is
 * being counted is waited for, and until the end of the transaction nothing is.
 */
export async function forgetBreakdowns(
  db: Sql,
  { environmentId }: ProjectScope,
  subscriberId: string,
): Promise<void> {
  await sql`select pg_advisory_xact_lock(${ERASURE_LOCK}, ${environmentId}::int)`.execute(db);
  await sql`
    delete from messaging.campaign_breakdowns b using messaging.deliveries d
    where d.environment_id = ${environmentId} and d.subscriber_id = ${subscriberId} and d.kind = 'CAMPAIGN'
      and b.campaign_id = d.source_id
  `.execute(db);
}

/** Every change of a counter gives its row another xmin (PostgreSQL, 5.6); links come in sets that are only added to. */
const versionOf = (campaignId: string) => sql`(
  select coalesce(string_agg(k.writer || ':' || k.xmin::text, ',' order by k.writer), '') || '/'
    || (select count(*) from messaging.link_sets l where l.campaign_id = ${campaignId})
  from messaging.campaign_counters k where k.campaign_id = ${campaignId}
)`;
