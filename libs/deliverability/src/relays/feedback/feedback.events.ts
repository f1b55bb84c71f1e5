import { defineEvent } from '#kernel';
import type { ReportFacts } from '../../bounces/report-facts.js';

/** An event that names its mail by the provider's own id alone. */
export interface FeedbackByMessageId {
  readonly messageId: string;
  /** Of the address that the event names. */
  readonly addressMark: string | null;
  /** What is kept of it; null for a reader who unsubscribed. */
  readonly facts: ReportFacts | null;
}

/** A provider told of mails whose deliveries are still to be found. */
export const MessagesReported = defineEvent<{
  /** ISO 8601. */
  receivedAt: string;
  /** When they are looked for, ISO 8601; at once where it is left out. */
  lookAt?: string;
  /** Whether no two mails ever have the same id. */
  idIsUnique: boolean;
  reports: readonly FeedbackByMessageId[];
}>('deliverability.messages_reported.v1');
