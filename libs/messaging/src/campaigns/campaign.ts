import {
  firstMomentOf,
  InvalidStateError,
  lastMomentOf,
  type Metadata,
  type MetadataPatch,
  patchedMetadata,
  UnavailableError,
} from '#kernel';
import { type CampaignTranslations, CONTENT_PARTS } from '../content/document/translated-content.js';
import { ScheduleMissingError } from './campaign.errors.js';
import type {
  CampaignVariant,
  TestPatch,
  TestResult,
  VariantTemplate,
  VariantTest,
} from './campaign-variants.js';

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

const EDITABLE: readonly CampaignStatus[] = ['DRAFT', 'SCHEDULED', 'FAILED'];

/** The states in which the worker has a campaign: from here it can fail. */
export const UNDER_WAY: readonly CampaignStatus[] = ['QUEUED_FOR_SENDING', 'SENDING', 'PAUSED'];

/** The states in which each action is allowed, and the words for a refusal. */
export const CAMPAIGN_ACTIONS = {
  change: { allowed: EDITABLE, refusal: 'cannot be changed' },
  delete: { allowed: [...EDITABLE, 'CANCELLED'], refusal: 'cannot be deleted' },
  resend: { allowed: ['SENT'], refusal: 'cannot be sent to those who did not open it' },
  schedule: { allowed: ['DRAFT'], refusal: 'cannot be scheduled' },
  send: { allowed: EDITABLE, refusal: 'cannot be sent' },
  cancel: { allowed: ['SCHEDULED', ...UNDER_WAY], refusal: 'cannot be cancelled' },
  pause: { allowed: ['SENDING'], refusal: 'cannot be paused' },
  resume: { allowed: ['PAUSED'], refusal: 'cannot be resumed' },
  retryFailed: { allowed: ['SENT'], refusal: 'cannot be retried' },
  chooseVariant: { allowed: ['SENDING', 'PAUSED', 'SENT'], refusal: 'has no variants to choose from' },
  test: { allowed: CAMPAIGN_STATUSES.filter((status) => status !== 'ARCHIVED'), refusal: 'cannot be tested' },
  archive: { allowed: ['SENT', 'CANCELLED', 'FAILED'], refusal: 'cannot be archived' },
} as const satisfies Record<string, { allowed: readonly CampaignStatus[]; refusal: string }>;
export type CampaignAction = keyof typeof CAMPAIGN_ACTIONS;

export const SEND_STRATEGIES = ['DRAFT', 'IMMEDIATE', 'SCHEDULED'] as const;
export type SendStrategy = (typeof SEND_STRATEGIES)[number];

export type PreSendStatus = 'PENDING' | 'PASSED' | 'WARNING' | 'FAILED';

/** Policy for a mail that was handed over without a final reply: send it once more, or leave it at that. */
export type AmbiguousPolicy = 'RESEND' | 'HOLD';

/** The author's part of a campaign: content, sender, audience, intention. */
export const DRAFT_FIELDS = [
  'name',
  ...CONTENT_PARTS,
  'translations',
  'templateKey',
  'templateVersion',
  'variants',
  'test',
  'fromEmail',
  'fromName',
  'replyTo',
  'topicIds',
  'segmentIds',
  'sendStrategy',
  'scheduledAt',
  'scheduledAtLocal',
] as const;
export type CampaignDraft = Readonly<Pick<Campaign, (typeof DRAFT_FIELDS)[number]>>;

/** A new draft; what is left out is empty. */
export type NewCampaign = Pick<CampaignDraft, 'name'> & CampaignChanges;

/** The author's changes; absent keys of metadata stay. */
export type CampaignChanges = Partial<CampaignDraft> & { readonly metadata?: MetadataPatch | undefined };

/** Changes to a campaign that has a test already. */
export type CampaignPatch = Omit<CampaignChanges, 'test'> & { readonly test?: TestPatch | null | undefined };

/** All that says which content a campaign's mails have: see `CampaignContentsQuery`. */
export type ContentSource = Readonly<
  Pick<
    Campaign,
    (typeof CONTENT_PARTS)[number] | 'translations' | 'templateKey' | 'templateVersion' | 'templateContentId'
  >
>;

/** Content of a template that never changes. */
export interface KeptTemplate {
  readonly templateId: string;
  readonly contentId: string;
  readonly version: number;
}

/** Contents that a campaign and its variants keep from now on: null where they have no template, or keep one already. */
export interface KeptTemplates {
  readonly own: KeptTemplate | null;
  /** In their order; the rest keeps none. */
  readonly ofVariants: readonly (KeptTemplate | null)[];
}

export type CampaignIdentity = Pick<Campaign, 'id' | 'environmentId' | 'campaignKey'>;

/** The result of a pre-send analysis: points from 0 to 100, a verdict, and how many would receive it. */
export interface PreSendVerdict {
  readonly score: number;
  readonly status: PreSendStatus;
  readonly recipients: number;
}

/** The promise of `send`: how many are to receive it and which period's e-mails are set aside for them. */
export interface Queueing {
  readonly recipients: number;
  /** Null where e-mails are not counted. */
  readonly usagePeriod: Date | null;
}

/** E-mails that were set aside and are bound to no delivery: to be given back to their period. */
export interface UnboundEmails {
  readonly usagePeriod: Date | null;
  readonly emails: number;
}

/** `<PROJECT>-<n>`, the number padded to three digits. */
const CAMPAIGN_KEY = /^[A-Z][A-Z0-9]{1,7}-\d{3,19}$/;

/** True for a key that a campaign can have; others are not looked up. */
export function isCampaignKey(text: string): boolean {
  return CAMPAIGN_KEY.test(text);
}

/** The longest that the worker takes to notice that a campaign was stopped, and to end its deliveries, seconds. */
const NOTICED_SECONDS = 1;
const CLOSED_SECONDS = 60;

/** A mail to everybody who wants its topics: written, checked, queued once, sent. */
export class Campaign {
  readonly id: string;
  readonly environmentId: number;
  readonly campaignKey: string;
  name: string;
  /** Null: none yet, with which nothing can be sent. */
  subject: string | null = null;
  previewText: string | null = null;
  contentJson: string | null = null;
  contentText: string | null = null;
  translations: CampaignTranslations = {};
  /** The template that its content is from, in place of its own. */
  templateKey: string | null = null;
  /** Null: the one in use. */
  templateVersion: number | null = null;
  /** The content that it keeps from the moment that it is scheduled or sent. */
  templateContentId: string | null = null;
  /** True where it keeps a version that nobody named: the one that was in use. */
  isVersionKept = false;
  /** Contents of an A/B test, none or two to five; the first is number 1. */
  variants: readonly CampaignVariant[] = [];
  /** Null without variants. */
  test: VariantTest | null = null;
  testPhase: 'TESTING' | 'DECIDED' | null = null;
  /** Number of the variant that the rest of the audience gets; null until it is decided. */
  winningVariant: number | null = null;
  /** When its test came to no result, and a choice was asked for. */
  testUndecidedAt: Date | null = null;
  testResult: TestResult | null = null;
  fromEmail: string | null = null;
  fromName: string | null = null;
  /** The address for answers; null: the sender's. */
  replyTo: string | null = null;
  topicIds: readonly string[] = [];
  segmentIds: readonly string[] = [];
  sendStrategy: SendStrategy | null = null;
  scheduledAt: Date | null = null;
  /** As `parseLocalTime` returns it: each recipient gets it when it is that time where they are. */
  scheduledAtLocal: string | null = null;
  /** Key of a sent campaign: only those who got that one and did not open it are the audience. Null: all whom it names. */
  resendOf: string | null = null;
  metadata: Metadata = {};
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

  constructor(identity: CampaignIdentity, draft: NewCampaign, now: Date) {
    this.id = identity.id;
    this.environmentId = identity.environmentId;
    this.campaignKey = identity.campaignKey;
    this.name = draft.name;
    this.write(draft);
    this.createdAt = now;
    this.updatedAt = now;
  }

  allows(action: CampaignAction): boolean {
    const allowed: readonly CampaignStatus[] = CAMPAIGN_ACTIONS[action].allowed;
    return allowed.includes(this.status);
  }

  /** Throws `InvalidStateError` unless the campaign's state allows it. */
  refuseUnlessAllowed(action: CampaignAction): void {
    if (this.allows(action)) return;
    const { allowed, refusal } = CAMPAIGN_ACTIONS[action];
    throw new InvalidStateError(`The campaign ${refusal} while it is ${this.status}.`, this.status, allowed);
  }

  /** The author's part, without times and `sendStrategy`. */
  copy() {
    const { name, subject, previewText, contentJson, contentText, translations } = this;
    const { templateKey, templateVersion, variants, test } = this;
    const { fromEmail, fromName, replyTo, topicIds, segmentIds, metadata } = this;
    const content = { subject, previewText, contentJson, contentText, translations };
    const source = { ...content, templateKey, templateVersion, variants, test };
    return { name, ...source, fromEmail, fromName, replyTo, topicIds, segmentIds, metadata };
  }

  /** Applies changes. An analysis is void when a part that it looked at has changed; a schedule stands. */
  revise(changes: CampaignChanges, now: Date): void {
    this.refuseUnlessAllowed('change');
    if (Object.keys(changes).length === 0) return;
    const [partsBefore, audienceBefore] = [analysedParts(this), audienceParts(this)];
    this.write(changes);
    if (this.status === 'SCHEDULED' && this.scheduledAt === null) {
      this.status = 'DRAFT';
      this.releaseTemplates();
    }
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

  /** Keeps these contents of templates, whatever becomes of those. */
  keepTemplates({ own, ofVariants }: KeptTemplates): void {
    if (own !== null) Object.assign(this, keeping(own, this));
    if (ofVariants.every((kept) => kept === null)) return;
    this.variants = this.variants.map((variant, index) => {
      const kept = ofVariants[index] ?? null;
      return kept === null ? variant : { ...variant, ...keeping(kept, variant) };
    });
  }

  /** Goes by the versions in use again, but for those that its author named. */
  private releaseTemplates(): void {
    Object.assign(this, released(this));
    this.variants = this.variants.map((variant) => ({ ...variant, ...released(variant) }));
  }

  /** Ids of the contents that it keeps. */
  get templateContentIds(): string[] {
    return [this, ...this.variants].flatMap(({ templateContentId }) => templateContentId ?? []);
  }

  judge({ score, status, recipients }: PreSendVerdict, now: Date): void {
    this.preSendScore = score;
    this.preSendStatus = status;
    this.estimate(recipients, now);
  }

  /** Throws as `schedule` does: `InvalidStateError`, or `ScheduleMissingError` without a time to come. */
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

  /** Throws as `queue` does: `InvalidStateError`, or `UnavailableError` while deliveries of a failed sending are still ended. */
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
    // One that failed after its test was decided goes on with the winner.
    if (this.testPhase !== 'DECIDED') this.testPhase = this.test === null ? null : 'TESTING';
    this.testUndecidedAt = null;
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
    if (this.status === 'SCHEDULED') this.releaseTemplates();
    return this.end('FAILED', now);
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

  /** Throws `InvalidStateError` unless its test runs. */
  refuseUnlessTesting(): void {
    this.refuseUnlessAllowed('chooseVariant');
    if (this.testPhase === 'TESTING') return;
    const reason =
      this.testPhase === null ? 'The campaign has no variants.' : 'The campaign’s winner was chosen already.';
    throw new InvalidStateError(reason, this.status, []);
  }

  /** Ends the test: from now on those who have not got it get the winner. Throws as `refuseUnlessTesting` does. */
  decide(result: TestResult, now: Date): void {
    this.refuseUnlessTesting();
    this.testPhase = 'DECIDED';
    this.winningVariant = result.winner;
    this.testResult = result;
    this.testUndecidedAt = null;
    this.updatedAt = now;
  }

  /** Puts it away for good: from now on it can only be looked at. Throws as `queue` does. */
  archive(now: Date): void {
    this.refuseUnlessAllowed('archive');
    this.refuseWhileClosing(CLOSED_SECONDS);
    this.status = 'ARCHIVED';
    this.updatedAt = now;
  }

  private write(changes: CampaignChanges): void {
    const { topicIds = this.topicIds, segmentIds = this.segmentIds } = changes;
    const audience = { topicIds: distinct(topicIds), segmentIds: distinct(segmentIds) };
    const metadata = patchedMetadata(this.metadata, changes.metadata);
    const source = sourceWith(changes, this);
    Object.assign(this, changes, audience, changedTimes(changes, this), source, { metadata });
    if (this.templateContentId === null) this.isVersionKept = false;
    // Without variants there is nothing to test.
    if (this.variants.length === 0) this.test = null;
  }

  /** True once its time has come; a campaign that failed since and is sent again keeps to its recipients' hours. */
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
    const unexpanded = Math.max(0, this.reservedEmails - this.expandedEmails);
    const emails = usagePeriod === null ? 0 : unexpanded + this.retryEmails;
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

const keeping = ({ contentId, version }: KeptTemplate, before: VariantTemplate) => ({
  templateContentId: contentId,
  templateVersion: version,
  isVersionKept: before.templateVersion == null || before.isVersionKept === true,
});

const released = ({ isVersionKept }: VariantTemplate): VariantTemplate =>
  isVersionKept === true ? { templateContentId: null, templateVersion: null, isVersionKept: false } : {};

/** A campaign that has no content yet. */
export const NO_CONTENT: ContentSource = {
  subject: null,
  previewText: null,
  contentJson: null,
  contentText: null,
  translations: {},
  templateKey: null,
  templateVersion: null,
  templateContentId: null,
};

/** The times at which a campaign goes out; with a local time, `scheduledAt` is the first of its moments. */
export type CampaignTimes = Pick<CampaignDraft, 'scheduledAt' | 'scheduledAtLocal'>;

/** The times of `before` with changes: of a moment and a local time one takes the other's place. */
export function changedTimes(changes: Partial<CampaignTimes>, before: CampaignTimes): CampaignTimes {
  const { scheduledAt, scheduledAtLocal } = changes;
  if (typeof scheduledAtLocal === 'string')
    return { scheduledAt: firstMomentOf(scheduledAtLocal), scheduledAtLocal };
  const isCleared = scheduledAtLocal === null && before.scheduledAtLocal !== null;
  if (scheduledAt === undefined && !isCleared)
    return { scheduledAt: before.scheduledAt, scheduledAtLocal: before.scheduledAtLocal };
  return { scheduledAt: scheduledAt ?? null, scheduledAtLocal: null };
}

/** Source of the content after changes: content of its own and a template take each other's place. */
export function sourceWith(
  changes: Partial<Omit<ContentSource, 'subject' | 'previewText' | 'translations' | 'templateContentId'>>,
  before: ContentSource,
): Omit<ContentSource, 'subject' | 'previewText' | 'translations'> {
  const { templateKey, templateVersion, contentJson, contentText } = changes;
  const none = { templateKey: null, templateVersion: null, templateContentId: null };
  if (templateKey != null) {
    const version = { templateVersion: templateVersion ?? null, templateContentId: null };
    return { contentJson: null, contentText: null, templateKey, ...version };
  }
  const own = {
    contentJson: contentJson === undefined ? before.contentJson : contentJson,
    contentText: contentText === undefined ? before.contentText : contentText,
  };
  if (templateKey === null || own.contentJson !== null || own.contentText !== null)
    return { ...own, ...none };
  if (templateVersion !== undefined && before.templateKey !== null)
    return { ...own, templateKey: before.templateKey, templateVersion, templateContentId: null };
  return {
    ...own,
    templateKey: before.templateKey,
    templateVersion: before.templateVersion,
    templateContentId: before.templateContentId,
  };
}

/** The last moment at which a recipient is to get it. */
export function lastTimeOf({ scheduledAt, scheduledAtLocal }: CampaignTimes): Date | null {
  return scheduledAtLocal === null ? scheduledAt : lastMomentOf(scheduledAtLocal);
}

/** Faults of the times that an author chose, by field. */
export function timeFaults(
  { scheduledAt = null, scheduledAtLocal = null }: Partial<CampaignTimes>,
  now: Date,
): Readonly<Record<string, string>> {
  const last = lastTimeOf({ scheduledAt, scheduledAtLocal });
  if (last === null || last > now) return {};
  return { [scheduledAtLocal === null ? 'scheduledAt' : 'scheduledAtLocal']: 'must be in the future' };
}

/** All that an estimate of the recipients depends on, to compare. */
function audienceParts({ topicIds, segmentIds }: CampaignDraft): string {
  return JSON.stringify([topicIds, segmentIds]);
}

/** All that an analysis looks at, to compare. */
function analysedParts(draft: CampaignDraft & ContentSource): string {
  const { fromEmail, fromName, translations, templateKey, templateVersion, templateContentId } = draft;
  const others = Object.entries(translations).sort(([one], [other]) => (one < other ? -1 : 1));
  const contents = [['', draft] as const, ...others].map(([locale, content]) => [
    locale,
    ...CONTENT_PARTS.map((part) => content[part]),
  ]);
  const template = [templateKey, templateVersion, templateContentId];
  const { variants, test } = draft;
  return JSON.stringify([contents, template, variants, test, fromEmail, fromName, audienceParts(draft)]);
}

const distinct = (ids: readonly string[]): string[] => [...new Set(ids)];
