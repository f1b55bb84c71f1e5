import { InvalidStateError, UnavailableError } from '#kernel';
import {
  type AmbiguousPolicy,
  analysedParts,
  audienceParts,
  type CampaignDraft,
  type CampaignIdentity,
  type PreSendStatus,
  type PreSendVerdict,
  type Queueing,
  type SendStrategy,
  type UnboundEmails,
} from './campaign-draft.js';
import type { CampaignTranslations } from './campaign-translations.js';
import { changedTimes, lastTimeOf } from './campaign-times.js';
import { ScheduleMissingError } from './campaign.errors.js';
import {
  ALLOWED_STATUSES,
  CAMPAIGN_ACTIONS,
  type CampaignAction,
  type CampaignStatus,
  UNDER_WAY,
} from './campaign-status.js';

export {
  type CampaignDraft,
  isCampaignKey,
  type PreSendStatus,
  SEND_STRATEGIES,
  type SendStrategy,
} from './campaign-draft.js';
export { CAMPAIGN_STATUSES, type CampaignStatus } from './campaign-status.js';

/** How long the worker takes at most to notice that a campaign was stopped, and to end its deliveries, seconds. */
const NOTICED_SECONDS = 1;
const CLOSED_SECONDS = 60;

/** A mail to everybody who wants its topics: written, checked, queued once, sent. */
export class Campaign {
  readonly id: string;
  readonly environmentId: number;
  readonly campaignKey: string;
  name: string;
  subject: string | null;
  previewText: string | null;
  contentJson: string | null;
  contentText: string | null;
  translations: CampaignTranslations;
  fromEmail: string | null;
  fromName: string | null;
  replyTo: string | null;
  topicIds: string[];
  segmentIds: string[];
  sendStrategy: SendStrategy | null;
  scheduledAt: Date | null = null;
  scheduledAtLocal: string | null = null;
  status: CampaignStatus = 'DRAFT';
  failureReason: string | null = null;
  estimatedRecipientCount: number | null = null;
  estimatedAt: Date | null = null;
  preSendScore: number | null = null;
  preSendStatus: PreSendStatus | null = null;
  queuedAt: Date | null = null;
  audienceAt: Date | null = null;
  expansionCursor: string | null = null;
  expandedAt: Date | null = null;
  ambiguousPolicy: AmbiguousPolicy = 'RESEND';
  usagePeriod: Date | null = null;
  reservedEmails = 0;
  expandedEmails = 0;
  closingSince: Date | null = null;
  retryFrom: Date | null = null;
  retryEmails = 0;
  completedAt: Date | null = null;
  deletedAt: Date | null = null;
  readonly createdAt: Date;
  updatedAt: Date;

  constructor(identity: CampaignIdentity, draft: CampaignDraft, now: Date) {
    this.id = identity.id;
    this.environmentId = identity.environmentId;
    this.campaignKey = identity.campaignKey;
    this.name = draft.name;
    this.subject = draft.subject;
    this.previewText = draft.previewText;
    this.contentJson = draft.contentJson;
    this.contentText = draft.contentText;
    this.translations = draft.translations;
    this.fromEmail = draft.fromEmail;
    this.fromName = draft.fromName;
    this.replyTo = draft.replyTo;
    this.topicIds = distinct(draft.topicIds);
    this.segmentIds = distinct(draft.segmentIds);
    this.sendStrategy = draft.sendStrategy;
    Object.assign(this, changedTimes(draft, this));
    this.createdAt = now;
    this.updatedAt = now;
  }

  /** Throws `InvalidStateError` unless the campaign's state allows it. */
  refuseUnlessAllowed(action: CampaignAction): void {
    const allowed = ALLOWED_STATUSES[action];
    if (allowed.includes(this.status)) return;
    const message = `The campaign ${CAMPAIGN_ACTIONS[action]} while it is ${this.status}.`;
    throw new InvalidStateError(message, this.status, allowed);
  }

  allows(action: CampaignAction): boolean {
    return ALLOWED_STATUSES[action].includes(this.status);
  }

  /** Takes changes over. An analysis is void when what it looked at has changed; a schedule stands. */
  revise(changes: Partial<CampaignDraft>, now: Date): void {
    this.refuseUnlessAllowed('change');
    const { topicIds, segmentIds, ...plain } = changes;
    if (Object.keys(changes).length === 0) return;
    const [partsBefore, audienceBefore] = [analysedParts(this), audienceParts(this)];
    Object.assign(this, plain, changedTimes(changes, this));
    if (topicIds !== undefined) this.topicIds = distinct(topicIds);
    if (segmentIds !== undefined) this.segmentIds = distinct(segmentIds);
    if (this.status === 'SCHEDULED' && this.scheduledAt === null) this.status = 'DRAFT';
    if (analysedParts(this) !== partsBefore) {
      this.preSendScore = null;
      this.preSendStatus = null;
    }
    if (audienceParts(this) !== audienceBefore) {
      this.estimatedRecipientCount = null;
      this.estimatedAt = null;
    }
    this.updatedAt = now;
  }

  judge({ score, status, recipients }: PreSendVerdict, now: Date): void {
    this.preSendScore = score;
    this.preSendStatus = status;
    this.estimate(recipients, now);
  }

  /** Throws what `schedule` throws: `InvalidStateError`, or `ScheduleMissingError` without a time to come. */
  refuseUnlessSchedulable(now: Date): void {
    this.refuseUnlessAllowed('schedule');
    const last = lastTimeOf(this);
    if (last === null || last <= now) throw new ScheduleMissingError();
  }

  schedule(now: Date): void {
    this.refuseUnlessSchedulable(now);
    this.status = 'SCHEDULED';
    this.updatedAt = now;
  }

  /**
   * Throws what `send` throws: `InvalidStateError`, or `UnavailableError` while the worker still ends the
   * deliveries of a sending that failed.
   */
  refuseUnlessSendable(): void {
    this.refuseUnlessAllowed('send');
    this.refuseWhileClosing(NOTICED_SECONDS);
  }

  /** `send`: from now on the audience is frozen and the worker has it. Before its time it goes to everybody at once. */
  queue({ recipients, usagePeriod }: Queueing, now: Date, policy: AmbiguousPolicy = 'RESEND'): void {
    this.refuseUnlessSendable();
    if (this.scheduledAtLocal !== null && !this.isDue(now))
      Object.assign(this, changedTimes({ scheduledAt: null }, this));
    this.status = 'QUEUED_FOR_SENDING';
    this.failureReason = null;
    this.estimate(recipients, now);
    this.queuedAt ??= now;
    this.audienceAt = now;
    this.expansionCursor = null;
    this.expandedAt = null;
    this.expandedEmails = 0;
    this.ambiguousPolicy = policy;
    this.usagePeriod = usagePeriod;
    this.reservedEmails = usagePeriod === null ? 0 : recipients;
    this.updatedAt = now;
  }

  pause(now: Date): void {
    this.refuseUnlessAllowed('pause');
    this.status = 'PAUSED';
    this.updatedAt = now;
  }

  resume(now: Date): void {
    this.refuseUnlessAllowed('resume');
    this.status = 'SENDING';
    this.failureReason = null;
    this.updatedAt = now;
  }

  /** Ends it: nobody gets it from now on, and the worker ends the open deliveries. */
  cancel(now: Date): UnboundEmails {
    this.refuseUnlessAllowed('cancel');
    return this.end('CANCELLED', now);
  }

  /** Ends it because it cannot go on. Null when it had ended already. */
  fail(reason: string, now: Date): UnboundEmails | null {
    if (this.status !== 'SCHEDULED' && !UNDER_WAY.includes(this.status)) return null;
    this.failureReason = reason;
    return this.end('FAILED', now);
  }

  /** Puts it away for good: from now on it can only be looked at. Throws as `send` does. */
  archive(now: Date): void {
    this.refuseUnlessAllowed('archive');
    this.refuseWhileClosing(CLOSED_SECONDS);
    this.status = 'ARCHIVED';
    this.updatedAt = now;
  }

  /** `retry-failed`: so many deliveries are to be put back. */
  retryFailed({ recipients, usagePeriod }: Queueing, now: Date): void {
    this.refuseUnlessAllowed('retryFailed');
    this.status = 'SENDING';
    this.usagePeriod = usagePeriod;
    this.retryFrom = now;
    this.retryEmails = usagePeriod === null ? 0 : recipients;
    this.completedAt = null;
    this.updatedAt = now;
  }

  /** Its time has come; what has failed since and is sent again keeps to the hours of its recipients. */
  private isDue(now: Date): boolean {
    return this.status !== 'DRAFT' && this.scheduledAt !== null && this.scheduledAt <= now;
  }

  private refuseWhileClosing(retryAfterSeconds: number): void {
    if (this.closingSince === null) return;
    throw new UnavailableError('The worker is still ending deliveries of this campaign.', retryAfterSeconds);
  }

  private end(status: 'CANCELLED' | 'FAILED', now: Date): UnboundEmails {
    const { usagePeriod } = this;
    const wasUnderWay = UNDER_WAY.includes(this.status);
    const emails =
      usagePeriod === null ? 0 : Math.max(0, this.reservedEmails - this.expandedEmails) + this.retryEmails;
    this.status = status;
    this.updatedAt = now;
    if (!wasUnderWay) return { usagePeriod: null, emails: 0 };
    this.closingSince = now;
    this.reservedEmails = usagePeriod === null ? 0 : this.expandedEmails;
    this.retryEmails = 0;
    this.retryFrom = null;
    return { usagePeriod, emails };
  }

  private estimate(recipients: number, now: Date): void {
    this.estimatedRecipientCount = recipients;
    this.estimatedAt = now;
  }
}

const distinct = (ids: readonly string[]): string[] => [...new Set(ids)];
