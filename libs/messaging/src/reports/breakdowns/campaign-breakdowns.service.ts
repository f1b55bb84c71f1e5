import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { Database, environmentOf } from '#platform';
import { sentCampaign } from '../../campaigns/campaign.repository.js';
import { type LinkClicks, linkClicks } from '../statistics/link-clicks.query.js';
import {
  type LanguageFigures,
  languageFigures,
  type TranslatedMails,
} from '../statistics/language-figures.query.js';
import { type ProviderFigures, providerFigures } from '../statistics/provider-figures.query.js';
import {
  bringForward,
  COUNTED_AT_ONCE,
  forgetDue,
  type NextCount,
  postpone,
} from './breakdowns-due.query.js';
import { FEWEST_MAILS_OF_DOMAIN } from '../statistics/report-facts.js';

export interface CampaignBreakdown {
  readonly links: readonly LinkClicks[];
  readonly providers: readonly ProviderFigures[];
  readonly languages: readonly LanguageFigures[];
  readonly countedAt: Date;
  /** Whether anything was sent, opened or returned since. */
  readonly isCurrent: boolean;
}

export interface BrokenDownCampaign extends TranslatedMails {
  readonly queuedAt: Date;
}

/** A campaign that somebody looks at, with how many mails were sent. */
export interface ShownCampaign extends BrokenDownCampaign {
  readonly totalSent: number;
}

interface KeptBreakdown extends CampaignBreakdown {
  /** How long counting took. */
  readonly milliseconds: number;
}

interface StoredBreakdown extends Omit<KeptBreakdown, 'isCurrent'> {
  readonly version: string;
}

/** More links than these say nothing on one page. */
const MOST_LINKS = 10;
/** While a campaign goes on, counting takes no more than this share of the time, however often it is looked at. */
const SHARE_OF_TIME = 0.05;
const COUNTING_LOCK = 7_240_611;
const ERASURE_LOCK = 7_240_612;

/**
 * A campaign's figures by link, by mailbox provider and by language. They are counted from all its deliveries and clicks and kept
 * until one of the campaign's counters changes; while those change they may be old, but never by more than twenty times
 * as long as counting takes. Of a large campaign nobody who looks waits for it: a worker counts when the campaign has
 * ended, whenever it has become twice as old, and after somebody has looked, who is shown what there is until then.
 */
@Injectable()
export class CampaignBreakdowns {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Null when a worker has not counted yet. */
  of(scope: ProjectScope, campaign: ShownCampaign): Promise<CampaignBreakdown | null> {
    return this.database.transaction(scope, async () => {
      const kept = await this.#kept(scope, campaign.id);
      if (kept?.isCurrent === true) return kept;
      if (campaign.totalSent <= COUNTED_AT_ONCE) {
        return kept !== null && this.#isYoung(kept) ? kept : this.#current(scope, campaign);
      }
      await bringForward(this.database, scope, campaign.id, this.clock.now());
      return kept;
    });
  }

  /** Counts a campaign whose figures are not current, and says when it is due again; nothing of one that is gone. */
  count(scope: ProjectScope, campaignId: string): Promise<void> {
    return this.database.transaction(scope, async () => {
      const campaign = await sentCampaign(this.database.tables(), scope, campaignId).executeTakeFirst();
      if (campaign === undefined) return forgetDue(this.database, scope, campaignId);
      const { milliseconds } = await this.#current(scope, campaign);
      await postpone(this.database, scope, campaign.id, this.#next(campaign, milliseconds));
    });
  }

  /** One transaction counts at a time; those that waited for it use its result. */
  async #current(scope: ProjectScope, campaign: BrokenDownCampaign): Promise<KeptBreakdown> {
    await sql`select pg_advisory_xact_lock(${COUNTING_LOCK}, hashtext(${campaign.id}))`.execute(
      this.database.tables(),
    );
    await sql`select pg_advisory_xact_lock_shared(${ERASURE_LOCK}, ${scope.environmentId}::int)`.execute(
      this.database.tables(),
    );
    const kept = await this.#kept(scope, campaign.id);
    return kept !== null && (kept.isCurrent || this.#isYoung(kept)) ? kept : this.#count(scope, campaign);
  }

  async #kept(scope: ProjectScope, campaignId: string): Promise<KeptBreakdown | null> {
    const { rows } = await sql<StoredBreakdown & { readonly currentVersion: string }>`
      select version, links, providers, languages, counted_at, milliseconds, ${versionOf(scope, campaignId)} as current_version
      from messaging.campaign_breakdowns
      where campaign_id = ${campaignId} and environment_id = ${environmentOf(scope)}
    `.execute(this.database.tables());
    const [row] = rows;
    if (row === undefined) return null;
    const { version, currentVersion, ...kept } = row;
    return { ...kept, isCurrent: version === currentVersion };
  }

  #isYoung({ countedAt, milliseconds }: KeptBreakdown): boolean {
    return (this.clock.now().getTime() - countedAt.getTime()) * SHARE_OF_TIME < milliseconds;
  }

  #next({ queuedAt }: BrokenDownCampaign, milliseconds: number): NextCount {
    const now = this.clock.now().getTime();
    const earliest = now + milliseconds / SHARE_OF_TIME;
    const doubled = now + (now - queuedAt.getTime());
    return { dueAt: new Date(Math.max(earliest, doubled)), earliestAt: new Date(earliest) };
  }

  async #count(scope: ProjectScope, campaign: BrokenDownCampaign): Promise<KeptBreakdown> {
    const [countedAt, began] = [this.clock.now(), performance.now()];
    const { version, links, providers, languages } = await this.database.replicaRead(scope, async () => ({
      // Looked up first: what changes while it is counted makes it out of date, at worst without need.
      version: await this.#versionOf(scope, campaign.id),
      links: (await linkClicks(this.database, scope, campaign)).slice(0, MOST_LINKS),
      providers: await providerFigures(this.database, scope, campaign, FEWEST_MAILS_OF_DOMAIN),
      languages: await languageFigures(this.database, scope, campaign),
    }));
    const milliseconds = Math.round(performance.now() - began);
    await sql`
      insert into messaging.campaign_breakdowns as b (campaign_id, environment_id, version, links, providers, languages, counted_at,
        milliseconds)
      values (${campaign.id}, ${scope.environmentId}, ${version}, ${JSON.stringify(links)}, ${JSON.stringify(providers)},
        ${JSON.stringify(languages)}, ${countedAt}, ${milliseconds})
      on conflict (campaign_id, environment_id) do update set version = excluded.version, links = excluded.links, providers = excluded.providers,
        languages = excluded.languages, counted_at = excluded.counted_at, milliseconds = excluded.milliseconds
    `.execute(this.database.tables());
    return { links, providers, languages, countedAt, milliseconds, isCurrent: true };
  }

  async #versionOf(scope: ProjectScope, campaignId: string): Promise<string | undefined> {
    const { rows } = await sql<{
      version: string;
    }>`select ${versionOf(scope, campaignId)} as version`.execute(this.database.tables());
    return rows[0]?.version;
  }
}

/**
 * Forgets what was counted with the mails of a subscriber who is about to be erased: their provider loses one. What is
 * being counted is waited for, and until the end of the transaction nothing is.
 */
export async function forgetBreakdowns(
  database: Database,
  { environmentId }: ProjectScope,
  subscriberId: string,
): Promise<void> {
  await sql`select pg_advisory_xact_lock(${ERASURE_LOCK}, ${environmentId}::int)`.execute(database.tables());
  await sql`
    with forgotten as (
      delete from messaging.campaign_breakdowns b using messaging.deliveries d
      where d.environment_id = ${environmentId} and d.subscriber_id = ${subscriberId} and d.kind = 'CAMPAIGN'
        and b.campaign_id = d.source_id and b.environment_id = d.environment_id
      returning b.campaign_id
    )
    update messaging.breakdowns_due u set due_at = u.earliest_at from forgotten f
    where u.campaign_id = f.campaign_id and u.environment_id = ${environmentId} and u.due_at > u.earliest_at
  `.execute(database.tables());
}

/** Every change of a counter gives its row another xmin (PostgreSQL, 5.6); links come in sets that are only added to. */
const versionOf = (scope: ProjectScope, campaignId: string) => sql`(
  select coalesce(string_agg(k.writer || ':' || k.xmin::text, ',' order by k.writer), '') || '/'
    || (select count(*) from messaging.link_sets l
      where l.campaign_id = ${campaignId} and l.environment_id = ${environmentOf(scope)})
  from messaging.campaign_counters k
  where k.campaign_id = ${campaignId} and k.environment_id = ${environmentOf(scope)}
)`;
