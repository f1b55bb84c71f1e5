import type { CampaignTranslations } from './campaign-translations.js';

export const SEND_STRATEGIES = ['DRAFT', 'IMMEDIATE', 'SCHEDULED'] as const;
export type SendStrategy = (typeof SEND_STRATEGIES)[number];

export type PreSendStatus = 'PENDING' | 'PASSED' | 'WARNING' | 'FAILED';

/** What the author writes: content, sender, audience, intention. */
export interface CampaignDraft {
  readonly name: string;
  /** Null: none yet, with which nothing can be sent. */
  readonly subject: string | null;
  readonly previewText: string | null;
  readonly contentJson: string | null;
  readonly contentText: string | null;
  readonly translations: CampaignTranslations;
  readonly fromEmail: string | null;
  readonly fromName: string | null;
  /** Where answers go; null: to the sender. */
  readonly replyTo: string | null;
  readonly topicIds: readonly string[];
  readonly segmentIds: readonly string[];
  readonly sendStrategy: SendStrategy | null;
  readonly scheduledAt: Date | null;
  /** As `parseLocalTime` returns it: each recipient gets it when it is that time where they are. */
  readonly scheduledAtLocal: string | null;
}

/** All that an estimate of the recipients depends on, to compare. */
export function audienceParts({ topicIds, segmentIds }: CampaignDraft): string {
  return JSON.stringify([topicIds, segmentIds]);
}

/** All that an analysis looks at, to compare. */
export function analysedParts(draft: CampaignDraft): string {
  const { fromEmail, fromName, translations } = draft;
  const others = Object.entries(translations).sort(([one], [other]) => (one < other ? -1 : 1));
  const contents = [['', draft] as const, ...others].map(
    ([locale, { subject, previewText, contentJson, contentText }]) => [
      locale,
      subject,
      previewText,
      contentJson,
      contentText,
    ],
  );
  return JSON.stringify([contents, fromEmail, fromName, audienceParts(draft)]);
}

/** What to do with a mail that was handed over without a final reply: send it once more, or leave it at that. */
export type AmbiguousPolicy = 'RESEND' | 'HOLD';

export interface CampaignIdentity {
  readonly id: string;
  readonly environmentId: number;
  readonly campaignKey: string;
}

/** What a pre-send analysis found: points from 0 to 100, a verdict, and how many would receive it. */
export interface PreSendVerdict {
  readonly score: number;
  readonly status: PreSendStatus;
  readonly recipients: number;
}

/** What `send` promises: how many are to receive it and which period's e-mails are set aside for them. */
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

/** Whether a campaign can have this key at all: what can't is not looked up. */
export function isCampaignKey(text: string): boolean {
  return CAMPAIGN_KEY.test(text);
}
