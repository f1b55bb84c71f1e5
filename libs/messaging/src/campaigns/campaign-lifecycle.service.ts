import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { EmailQuotaService } from '#billing';
import { type PreSendCheck, quotaMessage, SENDING_NOT_ALLOWED, summarise } from '#deliverability';
import { Clock, InvalidStateError, type ProjectScope } from '#kernel';
import { AuditTrail, CONFIG, type Config, Database, enqueue, jobType, LOGGER, Publisher } from '#platform';
import { wakeSenders } from '../deliveries/delivery-queue.query.js';
import { MediaService } from '../media/media.service.js';
import type { ResolvedContent } from '../templates/template.js';
import { TemplateContentsQuery } from '../templates/template-contents.query.js';
import { type Campaign, lastTimeOf, type UnboundEmails } from './campaign.js';
import { describeFailures, PreSendRejectedError } from './campaign.errors.js';
import { CampaignRepository } from './campaign.repository.js';
import { FailedDeliveriesService, retryFailedDeliveries } from './failed-deliveries.service.js';
import { type CampaignAnalysis, PreSendAnalysisService } from './pre-send-analysis.service.js';
import { SendingStopsService } from './sending-stops.service.js';

/** Queues the recipients of a campaign: `send` was accepted, or its time has come. */
export const expandCampaign = jobType<{ campaignId: string }>('campaigns.expand', 'campaigns');

/** Ends the open deliveries of a campaign that was cancelled, or failed, while the worker had it. */
export const closeCampaign = jobType<{ campaignId: string }>('campaigns.close', 'campaigns');

/** The fields of a campaign that its webhooks carry. */
export type PublishedCampaign = Pick<
  Campaign,
  | 'id'
  | 'campaignKey'
  | 'name'
  | 'subject'
  | 'variants'
  | 'templateContentId'
  | 'status'
  | 'metadata'
  | 'estimatedRecipientCount'
  | 'scheduledAt'
  | 'scheduledAtLocal'
  | 'completedAt'
>;

/** A scheduled campaign is started no later than this after the last recipient's time. */
const LATEST_START_MS = 24 * 60 * 60_000;

/**
 * The life of a campaign after it was written, in running order. Between `send` and the end the worker has it: it queues the
 * recipients (`CampaignExpansionService`), sends, and ends it when no delivery is open (`CampaignClosingService`).
 */
@Injectable()
export class CampaignLifecycleService {
  constructor(
    private readonly database: Database,
    private readonly campaigns: CampaignRepository,
    private readonly analysis: PreSendAnalysisService,
    private readonly quota: EmailQuotaService,
    private readonly stops: SendingStopsService,
    private readonly failed: FailedDeliveriesService,
    private readonly templates: TemplateContentsQuery,
    private readonly media: MediaService,
    private readonly publisher: Publisher,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Queues the campaign. Of two that call at once one succeeds; the other gets `InvalidStateError`.
   * `PreSendRejectedError` has the failed checks, and the campaign keeps the verdict.
   */
  send(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    return this.#checked(scope, campaignKey, (campaign, now) => this.#start(scope, campaign, now));
  }

  /** Has the campaign go out at its time, when it is checked once more. Throws as `send` does, and `ScheduleMissingError`. */
  schedule(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    return this.#checked(scope, campaignKey, async (campaign, now) => {
      campaign.refuseUnlessSchedulable(now);
      const analysis = await this.analysis.analyse(scope, campaign, now);
      campaign.judge(analysis, now);
      if (analysis.status === 'FAILED') return analysis;
      campaign.keepTemplates(analysis.templates);
      campaign.schedule(now);
      await this.publish(scope, 'campaign.scheduled', campaign);
      return analysis;
    });
  }

  /**
   * Queues a scheduled campaign whose time has come, or fails it when it does not pass its checks or is more than a day late;
   * resolves to why it failed. Does nothing when it no longer waits for its time, or another worker has it.
   */
  startDue(scope: ProjectScope, campaignId: string): Promise<string | null> {
    return this.database.transaction(scope, async () => {
      const campaign = await this.campaigns.lockScheduled(scope, campaignId);
      const now = this.clock.now();
      if (campaign === null || campaign.scheduledAt === null || campaign.scheduledAt > now) return null;
      const last = lastTimeOf(campaign) ?? campaign.scheduledAt;
      const isMissed = now.getTime() - last.getTime() > LATEST_START_MS;
      const obstacle = isMissed ? 'missed' : await this.#tryToStart(scope, campaign, now);
      if (obstacle !== null) await this.#fail(scope, campaign, obstacle);
      return obstacle;
    });
  }

  /** Holds it, or `InvalidStateError`. At most what is on a wire still goes out. */
  pause(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    return this.#change(scope, campaignKey, (campaign, now) => campaign.pause(now));
  }

  /** Continues a paused one, or `InvalidStateError`: also while the project’s sending is stopped. */
  resume(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    return this.#change(scope, campaignKey, async (campaign, now) => {
      campaign.refuseUnlessAllowed('resume');
      const stopped = await this.stops.reasonOf(scope);
      if (stopped !== null)
        throw new InvalidStateError(`The project’s sending is stopped: ${stopped}`, campaign.status, []);
      campaign.resume(now);
      wakeSenders(this.database);
    });
  }

  /** Ends it for good, or `InvalidStateError`. Mail on a wire is sent, and recorded. */
  cancel(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    return this.#change(scope, campaignKey, (campaign, now) =>
      this.#stop(scope, campaign, campaign.cancel(now)),
    );
  }

  /** FAILED, with the reason in the log and in the problem of the next `send`. Does nothing when it has ended already. */
  async fail(scope: ProjectScope, campaignId: string, reason: string): Promise<void> {
    const failed = await this.database.transaction(scope, async () => {
      const campaign = await this.campaigns.lockById(scope, campaignId);
      return campaign !== null && this.#fail(scope, campaign, reason);
    });
    if (failed) this.logger.error({ campaignId, reason }, 'a campaign failed');
  }

  /**
   * Sends a campaign that is SENT again to those who did not get it for a temporary reason; nothing changes when there are none.
   * `PreSendRejectedError` when the period has too few e-mails left for them, or a merge tag has lost its custom field since.
   */
  async retryFailed(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    const sent = await this.campaigns.named(scope, campaignKey);
    // Compiles it ahead, while nothing is locked.
    if (sent.allows('retryFailed')) await this.analysis.mergeTagFault(scope, sent);
    return this.#change(scope, campaignKey, async (campaign, now) => {
      campaign.refuseUnlessAllowed('retryFailed');
      const recipients = await this.failed.count(scope, campaign);
      if (recipients === 0) return;
      const fault = await this.analysis.mergeTagFault(scope, campaign);
      if (fault !== null) throw new PreSendRejectedError([fault]);
      const reserved = await this.#reserve(scope, recipients, now);
      if ('shortage' in reserved) throw new PreSendRejectedError([reserved.shortage]);
      campaign.retryFailed({ recipients, ...reserved }, now);
      await enqueue(this.database, scope, retryFailedDeliveries({ campaignId: campaign.id }));
    });
  }

  /** Puts it away for good, or `InvalidStateError`, or `UnavailableError` while the worker still ends its deliveries. */
  archive(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    return this.#change(scope, campaignKey, (campaign, now) => campaign.archive(now));
  }

  /** Publishes a change of state, in the transaction that makes it. */
  async publish(
    scope: ProjectScope,
    type: `campaign.${'scheduled' | 'queued' | 'sent' | 'failed' | 'decided' | 'undecided'}`,
    campaign: PublishedCampaign,
    more?: { readonly failureReason: string } | { readonly winningVariant: number },
  ): Promise<void> {
    if (!this.publisher.hasListeners(scope, type)) return;
    const own = campaign.subject ?? campaign.variants[0]?.subject;
    const subject = own ?? (await this.#kept(scope, campaign))?.subject ?? null;
    await this.publisher.publish(scope, { type, data: { ...dataOf({ ...campaign, subject }), ...more } });
  }

  async #kept(
    scope: ProjectScope,
    { templateContentId: id }: Pick<Campaign, 'templateContentId'>,
  ): Promise<ResolvedContent | null> {
    return id === null ? null : await this.templates.withId(scope, id);
  }

  /** Images of content of its own are in use as long as the campaign is there; those of a template's while mails may show them. */
  async #noteImages(scope: ProjectScope, campaign: Campaign, now: Date): Promise<void> {
    for (const id of campaign.templateContentIds)
      await this.media.noteShown(scope, [JSON.stringify(await this.templates.withId(scope, id))], now);
  }

  #change(
    scope: ProjectScope,
    campaignKey: string,
    change: (campaign: Campaign, now: Date) => Promise<void> | void,
  ): Promise<Campaign> {
    return this.campaigns.whileLocked(scope, campaignKey, async (campaign, now) => {
      await change(campaign, now);
      return campaign;
    });
  }

  /** Runs `check` with the campaign locked, its content compiled ahead; its verdict stays when it is FAILED. */
  async #checked(
    scope: ProjectScope,
    campaignKey: string,
    check: (campaign: Campaign, now: Date) => Promise<CampaignAnalysis>,
  ): Promise<Campaign> {
    await this.analysis.prepare(scope, await this.campaigns.named(scope, campaignKey));
    const [campaign, { status, checks }] = await this.campaigns.whileLocked(
      scope,
      campaignKey,
      async (locked, now) => {
        const analysis = await check(locked, now);
        // It keeps the verdict, and is refused.
        if (analysis.status === 'FAILED') AuditTrail.current?.close();
        return [locked, analysis] as const;
      },
    );
    if (status === 'FAILED') throw new PreSendRejectedError(checks, campaign.failureReason);
    return campaign;
  }

  /** Checks a locked campaign, reserves its e-mails and queues it. With a FAILED analysis nothing but the verdict has changed. */
  async #start(scope: ProjectScope, campaign: Campaign, now: Date): Promise<CampaignAnalysis> {
    campaign.refuseUnlessSendable();
    if (campaign.queuedAt !== null) await this.campaigns.refuseWithoutDeliveries(scope, campaign);
    const found = await this.analysis.analyse(scope, campaign, now);
    const analysis = found.status === 'FAILED' ? found : await this.#queue(scope, campaign, found, now);
    campaign.judge(analysis, now);
    return analysis;
  }

  /** Null when it is queued, else why it cannot be. */
  async #tryToStart(scope: ProjectScope, campaign: Campaign, now: Date): Promise<string | null> {
    const { status, checks } = await this.#start(scope, campaign, now);
    return status === 'FAILED' ? describeFailures(checks) : null;
  }

  async #queue(
    scope: ProjectScope,
    campaign: Campaign,
    analysis: CampaignAnalysis,
    now: Date,
  ): Promise<CampaignAnalysis> {
    const { recipients, checks } = analysis;
    const reserved = await this.#reserve(scope, recipients, now);
    // Another campaign was faster between the check and the reservation.
    if ('shortage' in reserved) return { ...analysis, ...summarise(withCheck(checks, reserved.shortage)) };
    campaign.keepTemplates(analysis.templates);
    await this.#noteImages(scope, campaign, now);
    campaign.queue({ recipients, ...reserved }, now, this.config.AMBIGUOUS_POLICY);
    await enqueue(this.database, scope, expandCampaign({ campaignId: campaign.id }));
    await this.publish(scope, 'campaign.queued', campaign);
    return analysis;
  }

  /** Sets e-mails aside in the billing period, or says what is short. The test environment is not metered. */
  async #reserve(
    scope: ProjectScope,
    emails: number,
    now: Date,
  ): Promise<{ readonly usagePeriod: Date | null } | { readonly shortage: PreSendCheck }> {
    if (scope.environment === 'TEST') return { usagePeriod: null };
    const { granted, periodStart, remaining, isSendingAllowed } = await this.quota.reserve(
      scope,
      emails,
      now,
    );
    if (granted) return { usagePeriod: periodStart };
    const failed = { severity: 'CRITICAL', result: 'FAIL' } as const;
    return isSendingAllowed
      ? { shortage: { ...failed, code: 'email-quota', message: quotaMessage(emails, remaining) } }
      : { shortage: { ...failed, code: 'subscription-active', message: SENDING_NOT_ALLOWED } };
  }

  /** False when it had ended already. */
  async #fail(scope: ProjectScope, campaign: Campaign, failureReason: string): Promise<boolean> {
    const unbound = campaign.fail(failureReason, this.clock.now());
    if (unbound === null) return false;
    await this.#stop(scope, campaign, unbound);
    await this.publish(scope, 'campaign.failed', campaign, { failureReason });
    return true;
  }

  /** Gives unbound e-mails back and has the worker end the open deliveries. */
  async #stop(
    scope: ProjectScope,
    campaign: Campaign,
    { usagePeriod, emails }: UnboundEmails,
  ): Promise<void> {
    if (usagePeriod !== null) await this.quota.settle(scope, usagePeriod, { used: 0, released: emails });
    if (campaign.closingSince !== null)
      await enqueue(this.database, scope, closeCampaign({ campaignId: campaign.id }));
  }
}

const withCheck = (checks: readonly PreSendCheck[], made: PreSendCheck): PreSendCheck[] =>
  checks.map((check) => (check.code === made.code ? made : check));

function dataOf({ id, campaignKey, name, subject, status, ...rest }: PublishedCampaign) {
  const { metadata, estimatedRecipientCount, scheduledAt, scheduledAtLocal, completedAt } = rest;
  return {
    id,
    campaignKey,
    name,
    subject,
    status,
    metadata,
    estimatedRecipientCount,
    scheduledAt,
    scheduledAtLocal,
    completedAt,
  };
}
