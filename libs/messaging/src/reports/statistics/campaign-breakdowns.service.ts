import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { EnvironmentsQuery } from '#access';
import { Clock, type ProjectScope } from '#kernel';
import {
  cancel,
  Database,
  done,
  drainEnvironments,
  enqueue,
  type JobContext,
  type JobResult,
  jobType,
  leaseDue,
  Periodic,
  present,
  presentAnd,
  ResumableJob,
} from '#platform';
import { sentCampaign } from '../../campaigns/campaign.repository.js';
import {
  type LanguageFigures,
  languageFigures,
  type ProviderFigures,
  providerFigures,
  type TranslatedMails,
} from './campaign-figures.query.js';
import { linkClicks } from './campaign-links.query.js';
import { settledVariants } from './campaign-figures.query.js';
import type { VariantFigures } from '../../campaigns/variant-figures.query.js';
import type { LinkClicks } from './report-facts.js';
import { FEWEST_MAILS_OF_DOMAIN } from './report-facts.js';

/** Counts the breakdown of a campaign in advance, so that readers do not wait for it. */
export const countBreakdown = jobType<{ campaignId: string }>('campaigns.count_breakdown', 'reports');

export interface CampaignBreakdown {
  readonly links: readonly LinkClicks[];
  readonly providers: readonly ProviderFigures[];
  readonly languages: readonly LanguageFigures[];
  /** None without variants. */
  readonly variants: readonly VariantFigures[];
  readonly countedAt: Date;
  /** False when anything was sent, opened or returned since. */
  readonly isCurrent: boolean;
}

export interface BrokenDownCampaign extends TranslatedMails {
  /** Their number. */
  readonly variants: number;
  readonly queuedAt: Date;
}

/** A campaign that somebody looks at, with the number of mails that were sent. */
interface ShownCampaign extends BrokenDownCampaign {
  readonly totalSent: number;
}

interface KeptBreakdown extends CampaignBreakdown {
  /** Duration of the count. */
  readonly milliseconds: number;
}

interface StoredBreakdown extends Omit<KeptBreakdown, 'isCurrent'> {
  readonly version: string;
}

/** A campaign with more mails than these, which take a quarter of a second, is counted by a worker. */
const COUNTED_AT_ONCE = 50_000;
/** A campaign that has ended longer ago without a worker waits until somebody looks. */
const MISSED_MS = 600_000;
/** A worker that has not counted by then is taken for dead. */
const LEASE_MS = 600_000;
/** More links than these say nothing on one page. */
const MOST_LINKS = 10;
/** While a campaign goes on, counting takes no more than this share of the time, however often it is looked at. */
const SHARE_OF_TIME = 0.05;
/** Failures after which the periodic task tries again. */
const TRIES = 3;
const COUNTING_LOCK = 7_240_611;
const ERASURE_LOCK = 7_240_612;

/**
 * A campaign's figures by link, mailbox provider, language and variant, counted from its counters and all its deliveries and kept until one of
 * the campaign's counters changes; while those change they may be old, but never by more than twenty times as long as counting
 * takes. No reader waits for a large campaign: a worker counts it when it has ended, whenever it has become twice as old, and
 * after somebody has looked, who sees the old figures until then.
 */
@Injectable()
export class CampaignBreakdownsService {
  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentsQuery,
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
      await this.#bringForward(scope, campaign.id);
      return kept;
    });
  }

  @ResumableJob(countBreakdown)
  async countInAdvance(
    scope: ProjectScope,
    { campaignId }: { campaignId: string },
    { failures }: JobContext,
  ): Promise<JobResult> {
    if (failures >= TRIES) return cancel('It failed again and again.');
    await this.count(scope, campaignId);
    return done;
  }

  /** Requests the counts of large campaigns' breakdowns that are due. */
  @Periodic('request-due-breakdowns', { everyMs: 10_000 })
  async requestDue(): Promise<void> {
    if (!(await this.database.holds(areBreakdownsDue))) return;
    await drainEnvironments(this.database, DUE_BREAKDOWNS, async (environmentId, most) => {
      const scope = await this.environments.find(environmentId);
      if (scope === null) return 0;
      const due = await takeDueBreakdowns(this.database, scope, most);
      for (const campaignId of due) await enqueue(this.database, scope, countBreakdown({ campaignId }));
      return due.length;
    });
  }

  /** Counts a campaign whose figures are not current, and says when it is due again; nothing of one that is gone. */
  count(scope: ProjectScope, campaignId: string): Promise<void> {
    return this.database.transaction(scope, async () => {
      const campaign = await sentCampaign(this.database.tables(), scope, campaignId).executeTakeFirst();
      if (campaign === undefined) return this.#forgetDue(scope, campaignId);
      const { milliseconds } = await this.#current(scope, campaign);
      await this.#postpone(scope, campaign, milliseconds);
    });
  }

  /** Counts in one transaction at a time; those that waited for it use its result. */
  async #current(scope: ProjectScope, campaign: BrokenDownCampaign): Promise<KeptBreakdown> {
    const tables = this.database.tables();
    await sql`select pg_advisory_xact_lock(${COUNTING_LOCK}, hashtext(${campaign.id}))`.execute(tables);
    await sql`select pg_advisory_xact_lock_shared(${ERASURE_LOCK}, ${scope.environmentId}::int)`.execute(
      tables,
    );
    const kept = await this.#kept(scope, campaign.id);
    return kept !== null && (kept.isCurrent || this.#isYoung(kept)) ? kept : this.#count(scope, campaign);
  }

  async #kept(scope: ProjectScope, campaignId: string): Promise<KeptBreakdown | null> {
    const { rows } = await sql<StoredBreakdown & { readonly currentVersion: string }>`
      select version, links, providers, languages, variants, counted_at, milliseconds,
        ${versionOf(scope, campaignId)} as current_version
      from messaging.campaign_breakdowns
      where campaign_id = ${campaignId} and environment_id = ${scope.environmentId}
    `.execute(this.database.tables());
    const [row] = rows;
    if (row === undefined) return null;
    const { version, currentVersion, ...kept } = row;
    return { ...kept, isCurrent: version === currentVersion };
  }

  #isYoung({ countedAt, milliseconds }: KeptBreakdown): boolean {
    return (this.clock.now().getTime() - countedAt.getTime()) * SHARE_OF_TIME < milliseconds;
  }

  /** Has a campaign counted as soon as possible. */
  async #bringForward({ environmentId }: ProjectScope, campaignId: string): Promise<void> {
    const now = this.clock.now();
    await sql`
      insert into messaging.breakdowns_due as b (campaign_id, environment_id, due_at, earliest_at)
      values (${campaignId}, ${environmentId}, ${now}, ${now})
      on conflict (campaign_id, environment_id) do update set due_at = greatest(b.earliest_at, excluded.due_at)
        where b.due_at > greatest(b.earliest_at, excluded.due_at)
    `.execute(this.database.tables());
  }

  /** Writes down when a campaign that was counted is counted next; nothing for one that nobody counts by itself. */
  async #postpone(
    { environmentId }: ProjectScope,
    campaign: BrokenDownCampaign,
    countedIn: number,
  ): Promise<void> {
    const now = this.clock.now().getTime();
    const earliest = now + countedIn / SHARE_OF_TIME;
    const doubled = now + (now - campaign.queuedAt.getTime());
    await sql`
      update messaging.breakdowns_due
      set due_at = ${new Date(Math.max(earliest, doubled))}, earliest_at = ${new Date(earliest)}
      where campaign_id = ${campaign.id} and environment_id = ${environmentId}
    `.execute(this.database.tables());
  }

  async #forgetDue({ environmentId }: ProjectScope, campaignId: string): Promise<void> {
    await sql`
      delete from messaging.breakdowns_due where campaign_id = ${campaignId} and environment_id = ${environmentId}
    `.execute(this.database.tables());
  }

  async #count(scope: ProjectScope, campaign: BrokenDownCampaign): Promise<KeptBreakdown> {
    const [countedAt, began] = [this.clock.now(), performance.now()];
    const { version, links, providers, languages, variants } = await this.database.read(
      scope,
      { onReplica: true },
      async () => ({
        // Looked up first: a change during the count makes it out of date, at worst without need.
        version: await this.#versionOf(scope, campaign.id),
        links: (await linkClicks(this.database, scope, campaign.id)).slice(0, MOST_LINKS),
        providers: await providerFigures(this.database, scope, campaign, FEWEST_MAILS_OF_DOMAIN),
        languages: await languageFigures(this.database, scope, campaign),
        variants: await settledVariants(this.database, scope, campaign),
      }),
    );
    const milliseconds = Math.round(performance.now() - began);
    await sql`
      insert into messaging.campaign_breakdowns as b (campaign_id, environment_id, version, links, providers, languages,
        variants, counted_at, milliseconds)
      values (${campaign.id}, ${scope.environmentId}, ${version}, ${JSON.stringify(links)}, ${JSON.stringify(providers)},
        ${JSON.stringify(languages)}, ${JSON.stringify(variants)}, ${countedAt}, ${milliseconds})
      on conflict (campaign_id, environment_id) do update set version = excluded.version, links = excluded.links,
        providers = excluded.providers, languages = excluded.languages, variants = excluded.variants,
        counted_at = excluded.counted_at, milliseconds = excluded.milliseconds
    `.execute(this.database.tables());
    return { links, providers, languages, variants, countedAt, milliseconds, isCurrent: true };
  }

  async #versionOf(scope: ProjectScope, campaignId: string): Promise<string | undefined> {
    const version = sql<{ version: string }>`select ${versionOf(scope, campaignId)} as version`;
    const { rows } = await version.execute(this.database.tables());
    return rows[0]?.version;
  }
}

/**
 * Forgets figures that count the mails of a subscriber who is about to be erased: their provider loses one. Waits for counts
 * under way, and holds off others until the end of the transaction.
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

/** Every change of a counter gives its row another xmin (PostgreSQL, 5.6); links come in sets that are only added to, as recipients. */
const versionOf = (scope: ProjectScope, campaignId: string) => sql`(
  select coalesce(string_agg(k.writer || ':' || k.xmin::text, ',' order by k.writer), '') || '/'
    || (select count(*) from messaging.link_sets l
      where l.campaign_id = ${campaignId} and l.environment_id = ${scope.environmentId})
    || '/' || (select c.expanded_emails from messaging.campaigns c
      where c.id = ${campaignId} and c.environment_id = ${scope.environmentId})
  from messaging.campaign_counters k
  where k.campaign_id = ${campaignId} and k.environment_id = ${scope.environmentId}
)`;

/** Condition for a campaign `c` that has just ended and has no time to be counted yet. */
const isLargeAndEnded = sql`
  c.status = 'SENT' and c.completed_at between ${presentAnd(-MISSED_MS)} and ${present}
  and c.deleted_at is null and not exists (
    select 1 from messaging.breakdowns_due b where b.campaign_id = c.id and b.environment_id = c.environment_id
  )
  and (select sum(k.sent) from messaging.campaign_counters k
    where k.campaign_id = c.id and k.environment_id = c.environment_id) > ${COUNTED_AT_ONCE}
`;

const isDue = sql`due_at <= ${present}`;

/** Condition that any campaign is to be counted now. */
const areBreakdownsDue = sql`
  exists (select 1 from messaging.breakdowns_due where ${isDue})
  or exists (select 1 from messaging.campaigns c where ${isLargeAndEnded})
`;

/** Due campaigns, so many in one transaction. */
const DUE_BREAKDOWNS = {
  rows: sql`(
    select environment_id from messaging.breakdowns_due where ${isDue}
    union all select c.environment_id from messaging.campaigns c where ${isLargeAndEnded}
  ) due`,
  batch: 20,
};

/** Takes campaigns of an environment that are due, or large and have just ended; each is due again when nobody has counted it. */
async function takeDueBreakdowns(database: Database, scope: ProjectScope, most: number): Promise<string[]> {
  const { environmentId } = scope;
  const lease = presentAnd(LEASE_MS);
  const due = leaseDue({
    table: 'messaging.breakdowns_due',
    key: 'campaign_id',
    environmentId,
    due: 'due_at',
    limit: most,
    leaseMs: LEASE_MS,
    set: sql`, earliest_at = ${lease}`,
  });
  const { rows } = await sql<{ campaignId: string }>`
    with ended as (
      insert into messaging.breakdowns_due (campaign_id, environment_id, due_at, earliest_at)
      select c.id, c.environment_id, ${lease}, ${lease} from messaging.campaigns c
      where c.environment_id = ${scope.environmentId} and ${isLargeAndEnded}
      on conflict do nothing
      returning campaign_id
    ), taken as (
      ${due} returning campaign_id
    )
    select * from ended union all select * from taken
  `.execute(database.tables());
  return rows.map(({ campaignId }) => campaignId);
}
