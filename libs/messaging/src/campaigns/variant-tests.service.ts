import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { durationAfter, parseDuration } from '#audience';
import { Clock, type ProjectScope } from '#kernel';
import {
  Database,
  done,
  doneUnlessAborted,
  enqueue,
  type JobContext,
  type JobResult,
  jobType,
  LOGGER,
  present,
  ResumableJob,
  snooze,
} from '#platform';
import { movingFrontBack } from '../deliveries/campaign-front.query.js';
import { wakeSenders } from '../deliveries/delivery-queue.query.js';
import { type Campaign, UNDER_WAY } from './campaign.js';
import { CampaignLifecycleService } from './campaign-lifecycle.service.js';
import { CampaignRepository } from './campaign.repository.js';
import { refuseUnlessVariant, type TestResult, type VariantTest, winnerOf } from './campaign-variants.js';
import { countsOfEach, settledTest, variantFigures } from './variant-figures.query.js';

const CHUNK = 5_000;
/** While mails of the test are still to leave, its end is looked at so often. */
const LOOK_AGAIN_MS = 60_000;
const FIRST = '00000000-0000-0000-0000-000000000000';

/** Ends a campaign's test when it is due. */
export const decideVariant = jobType<{ campaignId: string }>('campaigns.decide_variant', 'campaigns');

/** Has those get the winner who waited for it. */
export const releaseRest = jobType<{ campaignId: string }>('campaigns.release_rest', 'campaigns');

/** The moment at which a test is decided whose mails had ended at `settledAt`. */
export function decisionAt({ decideAfter }: Pick<VariantTest, 'decideAfter'>, settledAt: Date): Date {
  const parsed = parseDuration(decideAfter);
  if ('fault' in parsed) throw new Error(`The duration of a test ${parsed.fault}.`);
  return durationAfter(settledAt, parsed.duration);
}

/** Campaigns' A/B tests from the last recipient queued to the last one released. */
@Injectable()
export class VariantTestsService {
  constructor(
    private readonly database: Database,
    private readonly campaigns: CampaignRepository,
    private readonly lifecycle: CampaignLifecycleService,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Ends the test by hand: the rest of the audience gets the variant of this number. `InvalidStateError` unless a test runs,
   * `DomainValidationError` for a number that no variant has.
   */
  choose(scope: ProjectScope, campaignKey: string, winner: number): Promise<Campaign> {
    return this.campaigns.whileLocked(scope, campaignKey, async (campaign, now) => {
      campaign.refuseUnlessTesting();
      refuseUnlessVariant(campaign, winner);
      await this.#decide(scope, campaign, { winner, byRule: false }, now);
      return campaign;
    });
  }

  /** Ends the test by its rule once it is due, and waits until then; says so where somebody has to choose. */
  @ResumableJob(decideVariant)
  async decideWhenDue(scope: ProjectScope, { campaignId }: { campaignId: string }): Promise<JobResult> {
    const testing = await this.campaigns.find(scope, campaignId);
    if (testing === null || !isDecidable(testing)) return done;
    const due = await this.database.transaction(scope, () => this.#dueAt(scope, testing));
    const now = this.clock.now();
    if (due === null) return snooze(new Date(now.getTime() + LOOK_AGAIN_MS));
    if (due > now) return snooze(due);
    return this.database.transaction(scope, async () => {
      const campaign = await this.campaigns.lockById(scope, campaignId);
      if (campaign === null || !isDecidable(campaign)) return done;
      const counts = await this.#counts(scope, campaign);
      const winner = winnerOf(counts, campaign.test);
      if (winner === null) await this.#ask(scope, campaign, now);
      else await this.#decide(scope, campaign, { winner, byRule: true, counts }, now);
      return done;
    });
  }

  /** Makes the rest of a decided campaign due, a chunk a transaction; it can be killed anywhere and goes on. */
  @ResumableJob(releaseRest)
  async release(
    scope: ProjectScope,
    { campaignId }: { campaignId: string },
    { signal }: Pick<JobContext, 'signal'>,
  ): Promise<JobResult> {
    let after: string | null = FIRST;
    while (!signal.aborted && after !== null) after = await this.#releaseNext(scope, campaignId, after);
    return doneUnlessAborted(signal);
  }

  /** Null while its mails have not left. */
  async #dueAt(scope: ProjectScope, campaign: TestedCampaign): Promise<Date | null> {
    const settled = await settledTest(this.database, scope, mailsOf(campaign));
    if (settled === null) return null;
    const { expandedAt, test } = campaign;
    return decisionAt(test, settled === 'none' || settled < expandedAt ? expandedAt : settled);
  }

  async #counts(scope: ProjectScope, campaign: Campaign): Promise<TestResult['counts']> {
    const figures = await variantFigures(this.database, scope, mailsOf(campaign), true);
    return countsOfEach(figures, campaign.variants.length);
  }

  async #decide(
    scope: ProjectScope,
    campaign: Campaign,
    decision: Pick<TestResult, 'winner' | 'byRule'> & Partial<Pick<TestResult, 'counts'>>,
    now: Date,
  ): Promise<void> {
    const counts = decision.counts ?? (await this.#counts(scope, campaign));
    campaign.decide({ ...decision, counts, decidedAt: now.toISOString() }, now);
    await enqueue(this.database, scope, releaseRest({ campaignId: campaign.id }));
    await this.lifecycle.publish(scope, 'campaign.decided', campaign, { winningVariant: decision.winner });
  }

  async #ask(scope: ProjectScope, campaign: Campaign, now: Date): Promise<void> {
    campaign.testUndecidedAt = now;
    campaign.updatedAt = now;
    this.logger.warn(
      { campaignId: campaign.id },
      'a campaign’s test is undecided; a variant has to be chosen',
    );
    await this.lifecycle.publish(scope, 'campaign.undecided', campaign);
  }

  /** The last one of a chunk; null when none was left, or the campaign has ended. */
  #releaseNext(scope: ProjectScope, campaignId: string, after: string): Promise<string | null> {
    return this.database.transaction(scope, async () => {
      const campaign = await this.campaigns.lockById(scope, campaignId);
      if (campaign?.testPhase !== 'DECIDED' || !UNDER_WAY.includes(campaign.status)) return null;
      const { id, queuedOn } = mailsOf(campaign);
      const { environmentId } = scope;
      const { rows } = await sql<{ last: string | null }>`
        /* release_rest */ with waiting as materialized (
          select d.id from messaging.deliveries d
          where d.source_id = ${id} and d.kind = 'CAMPAIGN' and d.queued_on = ${queuedOn}::date and d.environment_id = ${environmentId}
            and d.next_attempt_at = 'infinity' and d.id > ${after}::uuid and d.finished_at is null
          order by d.id limit ${CHUNK} for update
        ), opened as (
          update messaging.deliveries d set next_attempt_at = ${present}
          from waiting where d.id = waiting.id and d.queued_on = ${queuedOn}::date and d.environment_id = ${environmentId}
          returning d.next_attempt_at, d.id
        ), front as (${movingFrontBack(scope, id, sql`opened`)})
        select (select id from opened order by id desc limit 1) as last
      `.execute(this.database.tables());
      wakeSenders(this.database);
      return rows[0]?.last ?? null;
    });
  }
}

/** A campaign whose test is to be decided by its rule. */
type TestedCampaign = Campaign & { readonly test: VariantTest; readonly expandedAt: Date };

function isDecidable(campaign: Campaign): campaign is TestedCampaign {
  const { test, testPhase, testUndecidedAt, expandedAt } = campaign;
  if (test === null || expandedAt === null || !campaign.allows('chooseVariant')) return false;
  return testPhase === 'TESTING' && testUndecidedAt === null && test.by !== 'MANUAL';
}

function mailsOf({ id, queuedAt }: Campaign) {
  if (queuedAt === null) throw new Error('A campaign with a test was queued.');
  return { id, queuedOn: queuedAt.toISOString().slice(0, 10) };
}
