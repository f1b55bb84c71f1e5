import type { DmarcAlignment } from '../dns/dmarc-policy.js';
import type { RelayStanding } from '../relays/relay-standing.query.js';

/** All that the checks need to know of a campaign; gathered by who asks. */
export interface CampaignFacts {
  /** Topics that the campaign names and that exist. */
  readonly topics: readonly { readonly name: string; readonly status: string }[];
  /** Segments that the campaign names and that exist. */
  readonly segments: readonly { readonly name: string; readonly status: string }[];
  /** How many of each it names that were deleted since. */
  readonly deleted: { readonly topics: number; readonly segments: number };
  /** Segments that it names, or that these name, whose rules are no longer valid. */
  readonly segmentFaults: readonly { readonly name: string; readonly fault: string }[];
  /** How many would receive it now. */
  readonly recipients: number;
  /** Where recipients are and mail is held to a limit now; null where nothing limits. */
  readonly destinations: readonly DestinationFacts[] | null;
  readonly sender: SenderFacts;
  /** The project's relays that take campaigns, none where the installation's does; null where no mail leaves. */
  readonly relays: readonly RelayFacts[] | null;
  readonly sendingAllowed: boolean;
  /** E-mails left in the period; null where they are not counted. */
  readonly emailsRemaining: number | null;
  /** What is wrong with merge tags, one phrase each: `{{ subscriber.nmae }} is not known`. */
  readonly mergeTagFaults: readonly string[];
  /** Why the content cannot be made into a mail; null when it can. */
  readonly contentFault: string | null;
  /** Null when it cannot be made into a mail, or its merge tags not be told from its text: nothing more can be said. */
  readonly content: ContentFacts | null;
  readonly now: Date;
}

type RelayFacts = Pick<RelayStanding, 'name' | 'status' | 'isSilent'>;

/** How fast a destination takes mail. */
export interface DestinationFacts {
  readonly destination: string;
  readonly recipients: number;
  /** Null: as much as there is, once it is not slowed down any more. */
  readonly mailsPerSecond: number | null;
  /** Until when it gets one mail a minute, since it does not trust us. */
  readonly slowUntil: Date | null;
}

/** Whom it is from, and what its domain is worth. */
export interface SenderFacts {
  /** The host part of From. */
  readonly host: string;
  /** Whether a verified domain is asked for: not in the test environment, or by configuration. */
  readonly needsDomain: boolean;
  /** The project's sending domain, if it has one. */
  readonly domain: DomainFacts | null;
  /** Where readers' answers go: the domains of From and Reply-To; null where no mail leaves. */
  readonly replies: readonly ReplyDomain[] | null;
}

export interface ReplyDomain {
  readonly domain: string;
  /** Null when DNS does not tell. */
  readonly canReceive: boolean | null;
}

export interface DomainFacts {
  /**
   * How mail from a host below the domain fares by the DMARC policy that rules that host. Null for mail from the domain
   * itself, which always aligns, and where no policy is known.
   */
  readonly alignment: DmarcAlignment | null;
  readonly domainName: string;
  /** From is at the domain or below it. */
  readonly covers: boolean;
  readonly verified: boolean;
  readonly sendingAllowed: boolean;
  readonly verifiedAt: Date | null;
  /** A sentence; null when it is not suspended. */
  readonly suspensionReason: string | null;
  /** What the last look at its DMARC record found; null when there was none. */
  readonly dmarc: {
    readonly status: 'PENDING' | 'VERIFIED' | 'FAILED';
    readonly failureReason: string | null;
    /** What to do next about a valid one; null when nothing is left to do. */
    readonly advice: string | null;
  } | null;
}

/** Of the parts of the mail, compiled and with their merge tags still in them. */
export interface ContentFacts {
  /** Without its merge tags. */
  readonly subject: string;
  readonly hasSubject: boolean;
  /** As written; null or blank when there is none. */
  readonly previewText: string | null;
  readonly empty: boolean;
  /** One that its reader can see. */
  readonly hasUnsubscribeLink: boolean;
  /** A reader sees the sender's postal address. */
  readonly hasPostalAddress: boolean;
  /** What its author wrote and sanitising took away, each with its path. */
  readonly removed: readonly string[];
  /** Texts that have nearly the colour of what is behind them; null where too many styles had to be looked at. */
  readonly unreadable: readonly string[] | null;
  /** What is wrong with links, one phrase each. */
  readonly linkFaults: readonly string[];
  /** What a reader of the HTML part sees, without footer and merge tags. */
  readonly visibleText: string;
  /** The `alt` of each image. */
  readonly images: readonly string[];
  /** Of the HTML part as it is sent: encoded, with its footer, tracked links, pixel and a sample reader's values. */
  readonly htmlBytes: number;
  /** The author's own text part; null when it is made from the HTML. */
  readonly ownText: string | null;
  /** Where its links and images lead. */
  readonly urls: readonly string[];
  /** It uses something of the person that it is for; null when its merge tags cannot be read. */
  readonly personal: boolean | null;
}
