import type { CustomFieldValues } from '../custom-fields/custom-field.js';

/** Who a claimed mail goes to, with what its merge tags need. */
export interface Recipient {
  readonly subscriberId: string;
  readonly email: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly phone: string | null;
  /** The values of active fields by key, the field's default where the person has none. */
  readonly customFields: CustomFieldValues;
  /** Those of the asked topics that the person is subscribed to, by name. */
  readonly topicNames: readonly string[];
  /** Why no mail may go now; the first that applies. */
  readonly obstacle: 'suppressed' | 'unsubscribed' | 'paused' | null;
}

/** Who a campaign would reach, each person counted once: `matched` is the sum of the others. */
export interface AudienceBreakdown {
  /** Asked for mail to a topic, whether they confirmed it or not. */
  readonly matched: number;
  readonly unconfirmed: number;
  /** On the suppression list by their own wish or by complaint. */
  readonly suppressed: number;
  readonly bounced: number;
  /** Held back for now: they paused all mail. */
  readonly capped: number;
  readonly willReceive: number;
}

/** The breakdown, and how many of those who would receive it have their mailbox at each of the domains asked for. */
export interface AudienceSurvey {
  readonly breakdown: AudienceBreakdown;
  /** Domains without any are missing. */
  readonly recipientsByDomain: ReadonlyMap<string, number>;
}

/** Whom a mail is for: the topics, and the segments if any are named. */
export interface ChosenAudience {
  readonly topicIds: readonly string[];
  readonly segmentIds: readonly string[];
}

/** How an audience is walked. */
export interface AudienceWalk {
  /** The last of the subscribers that were seen. */
  readonly after?: string | undefined;
  /** The id of a frozen audience. */
  readonly frozen?: string | undefined;
  /** How many are looked at. */
  readonly size: number;
}
