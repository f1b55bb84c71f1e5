import { InvalidStateError } from '#kernel';

export const CAMPAIGN_STATUSES = [
  'DRAFT',
  'SCHEDULED',
  'QUEUED_FOR_SENDING',
  'SENDING',
  'PAUSED',
  'SENT',
  'CANCELLED',
  'FAILED',
  'ARCHIVED',
] as const;
export type CampaignStatus = (typeof CAMPAIGN_STATUSES)[number];

export const SEND_STRATEGIES = ['DRAFT', 'IMMEDIATE', 'SCHEDULED'] as const;
export type SendStrategy = (typeof SEND_STRATEGIES)[number];

export type PreSendStatus = 'PENDING' | 'PASSED' | 'WARNING' | 'FAILED';

/** What the author writes: content, sender, audience, intention. */
export interface CampaignDraft {
  readonly name: string;
  readonly subject: string;
  readonly previewText: string | null;
  readonly contentJson: string | null;
  readonly contentText: string | null;
  readonly fromEmail: string | null;
  readonly fromName: string | null;
  readonly topicIds: readonly string[];
  readonly segmentIds: readonly string[];
  readonly sendStrategy: SendStrategy | null;
  readonly scheduledAt: Date | null;
}

export interface CampaignIdentity {
  readonly id: string;
  readonly environmentId: number;
  readonly campaignKey: string;
}

/** What a pre-send analysis found: points from 0 to 100 and a verdict. */
export interface PreSendVerdict {
  readonly score: number;
  readonly status: PreSendStatus;
}

/** What `send` promises: how many are to receive it and which period's e-mails are set aside for them. */
export interface Queueing {
  readonly recipients: number;
  /** Null where e-mails are not counted. */
  readonly usagePeriod: Date | null;
}

/** `<PROJECT>-<n>`, the number padded to three digits. */
const CAMPAIGN_KEY = /^[A-Z][A-Z0-9]{1,7}-\d{3,19}$/;

/** Whether a campaign can have this key at all: what can't is not looked up. */
export function isCampaignKey(text: string): boolean {
  return CAMPAIGN_KEY.test(text);
}

const EDITABLE: readonly CampaignStatus[] = ['DRAFT', 'SCHEDULED', 'FAILED'];
const SENDABLE: readonly CampaignStatus[] = ['DRAFT', 'SCHEDULED', 'FAILED'];

/** What a pre-send analysis looks at. */
const ANALYSED: ReadonlySet<string> = new Set<keyof CampaignDraft>([
  'subject',
  'previewText',
  'contentJson',
  'contentText',
  'fromEmail',
  'fromName',
  'topicIds',
  'segmentIds',
]);

/** A mail to everybody who wants its topics: written, checked, queued once, sent. */
export class Campaign {
  readonly id: string;
  readonly environmentId: number;
  readonly campaignKey: string;
  name: string;
  subject: string;
  previewText: string | null;
  contentJson: string | null;
  contentText: string | null;
  fromEmail: string | null;
  fromName: string | null;
  topicIds: string[];
  segmentIds: string[];
  sendStrategy: SendStrategy | null;
  scheduledAt: Date | null;
  status: CampaignStatus = 'DRAFT';
  failureReason: string | null = null;
  estimatedRecipientCount: number | null = null;
  preSendScore: number | null = null;
  preSendStatus: PreSendStatus | null = null;
  queuedAt: Date | null = null;
  usagePeriod: Date | null = null;
  reservedEmails = 0;
  completedAt: Date | null = null;
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
    this.fromEmail = draft.fromEmail;
    this.fromName = draft.fromName;
    this.topicIds = [...draft.topicIds];
    this.segmentIds = [...draft.segmentIds];
    this.sendStrategy = draft.sendStrategy;
    this.scheduledAt = draft.scheduledAt;
    this.createdAt = now;
    this.updatedAt = now;
  }

  /** Takes changes over; of other content or another audience the analysis is void. Throws unless it can still be edited. */
  revise(changes: Partial<CampaignDraft>, now: Date): void {
    this.refuseUnless(EDITABLE, 'cannot be changed');
    const { topicIds, segmentIds, ...plain } = changes;
    if (Object.keys(changes).length === 0) return;
    Object.assign(this, plain);
    if (topicIds !== undefined) this.topicIds = [...topicIds];
    if (segmentIds !== undefined) this.segmentIds = [...segmentIds];
    if (this.status === 'SCHEDULED' && this.scheduledAt === null) this.status = 'DRAFT';
    if (Object.keys(changes).some((field) => ANALYSED.has(field))) {
      this.preSendScore = null;
      this.preSendStatus = null;
    }
    this.updatedAt = now;
  }

  /** Throws what `send` throws when the campaign's state does not allow it. */
  refuseUnlessSendable(): void {
    this.refuseUnless(SENDABLE, 'cannot be sent');
  }

  judge({ score, status }: PreSendVerdict): void {
    this.preSendScore = score;
    this.preSendStatus = status;
  }

  /** `send`: from now on the audience is frozen and the worker has it. */
  queue({ recipients, usagePeriod }: Queueing, now: Date): void {
    this.refuseUnlessSendable();
    this.status = 'QUEUED_FOR_SENDING';
    this.failureReason = null;
    this.estimatedRecipientCount = recipients;
    this.queuedAt = now;
    this.usagePeriod = usagePeriod;
    this.reservedEmails = usagePeriod === null ? 0 : recipients;
    this.updatedAt = now;
  }

  private refuseUnless(allowed: readonly CampaignStatus[], what: string): void {
    if (allowed.includes(this.status)) return;
    throw new InvalidStateError(`The campaign ${what} while it is ${this.status}.`, this.status, allowed);
  }
}
