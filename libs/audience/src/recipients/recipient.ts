import type { CustomFieldValues } from '../custom-fields/custom-field.js';

/** The recipient of a claimed mail, with the values for its merge tags. */
export interface Recipient {
  readonly subscriberId: string;
  readonly email: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly phone: string | null;
  /** BCP 47; null: not known. */
  readonly locale: string | null;
  readonly timeZone: string | null;
  /** The values of active fields by key, the field's default where the person has none. */
  readonly customFields: CustomFieldValues;
  /** Those of the asked topics that the person is subscribed to, by name. */
  readonly topicNames: readonly string[];
  /** The first reason why no mail may be sent now, or null. */
  readonly obstacle: 'suppressed' | 'unsubscribed' | 'paused' | null;
}

/** The people whom a campaign would reach or not, each counted once: `matched` is the sum of the others. */
export interface AudienceBreakdown {
  /** Signed up for a topic, confirmed or not. */
  readonly matched: number;
  readonly unconfirmed: number;
  /** Suppressed by request or complaint. */
  readonly suppressed: number;
  readonly bounced: number;
  /** Paused all mail. */
  readonly capped: number;
  readonly willReceive: number;
}

/** The breakdown, and how many of those who would receive it have their mailbox at each of the domains asked for. */
export interface AudienceSurvey {
  readonly breakdown: AudienceBreakdown;
  /** Domains without any are missing. */
  readonly recipientsByDomain: ReadonlyMap<string, number>;
}

/** The audience of a mail: topics, and segments if any are named. */
export interface ChosenAudience {
  readonly topicIds: readonly string[];
  readonly segmentIds: readonly string[];
}

/** A page of an audience. */
export interface AudienceChunk {
  /** The last subscriber of the page before. */
  readonly after?: string | undefined;
  /** The id of a frozen audience. */
  readonly frozen?: string | undefined;
  /** How many subscribers to look at. */
  readonly size: number;
}
