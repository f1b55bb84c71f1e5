import type { DmarcAlignment } from '../dns/dmarc-policy.js';
import type { RelaySummary } from '../relays/relays.query.js';

/** Facts of a campaign that the checks need; gathered by the caller. */
export interface CampaignFacts {
  /** Topics that the campaign names and that exist. */
  readonly topics: readonly { readonly name: string; readonly status: string }[];
  /** Segments that the campaign names and that exist. */
  readonly segments: readonly { readonly name: string; readonly status: string }[];
  /** Number of named topics and segments deleted since. */
  readonly deleted: { readonly topics: number; readonly segments: number };
  /** Segments that it names, or that these name, whose rules are no longer valid. */
  readonly segmentFaults: readonly { readonly name: string; readonly fault: string }[];
  /** Number of subscribers who would receive it now. */
  readonly recipients: number;
  /** Limited destinations of the recipients; null where nothing limits. */
  readonly destinations: readonly DestinationFacts[] | null;
  readonly sender: SenderFacts;
  /** The project's relays that take campaigns, none where the installation's does; null where no mail leaves. */
  readonly relays: readonly RelayFacts[] | null;
  readonly sendingAllowed: boolean;
  /** E-mails left in the period; null where they are not counted. */
  readonly emailsRemaining: number | null;
  /** Faults of merge tags, one phrase each: `{{ subscriber.nmae }} is not known`. */
  readonly mergeTagFaults: readonly string[];
  /** Why the content cannot be made into a mail; null when it can. */
  readonly contentFault: string | null;
  /** Null when it cannot be made into a mail, or its merge tags not be told from its text: nothing more can be said. */
  readonly content: ContentFacts | null;
  /** Reasons why its variants cannot be compared, or say something else than they should; null without variants. */
  readonly variantFaults: readonly string[] | null;
  readonly now: Date;
}

type RelayFacts = Pick<RelaySummary, 'name' | 'status' | 'isSilent'>;

/** Speed at which a destination takes mail. */
export interface DestinationFacts {
  readonly destination: string;
  readonly recipients: number;
  /** Null: as much as there is, once it is not slowed down any more. */
  readonly mailsPerSecond: number | null;
  /** End of a slow-down to one mail a minute, after refusals for our reputation. */
  readonly slowUntil: Date | null;
}

/** The sender, and the state of its domain. */
export interface SenderFacts {
  /** The host part of From. */
  readonly host: string;
  /** True if a verified domain is required: not in the test environment, or by configuration. */
  readonly needsDomain: boolean;
  /** The project's sending domain, if it has one. */
  readonly domain: DomainFacts | null;
  /** Domains of From and Reply-To, which answers go to; null where no mail leaves. */
  readonly replies: readonly ReplyDomain[] | null;
}

export interface ReplyDomain {
  readonly domain: string;
  /** Null when DNS does not tell. */
  readonly canReceive: boolean | null;
}

export interface DomainFacts {
  /** Alignment of mail from a host below the domain; null for the domain itself, which aligns, or without a known policy. */
  readonly alignment: DmarcAlignment | null;
  readonly domainName: string;
  /** From is at the domain or below it. */
  readonly covers: boolean;
  readonly verified: boolean;
  readonly sendingAllowed: boolean;
  readonly verifiedAt: Date | null;
  /** A sentence; null when it is not suspended. */
  readonly suspensionReason: string | null;
  /** Last check of its DMARC record; null before the first. */
  readonly dmarc: {
    readonly status: 'PENDING' | 'VERIFIED' | 'FAILED';
    readonly failureReason: string | null;
    /** The next step for a valid record; null if there is none. */
    readonly advice: string | null;
  } | null;
}

/** The compiled parts of the mail, merge tags still in them. */
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
  /** Content that sanitising took away, each with its path. */
  readonly removed: readonly string[];
  /** Texts that have nearly the colour of what is behind them; null where too many styles had to be looked at. */
  readonly unreadable: readonly string[] | null;
  /** Faults of links, one phrase each. */
  readonly linkFaults: readonly string[];
  /** Visible text of the HTML part, without footer and merge tags. */
  readonly visibleText: string;
  /** The `alt` of each image. */
  readonly images: readonly string[];
  /** Size of the HTML part as it is sent: encoded, with footer, tracked links, pixel and a sample reader's values. */
  readonly htmlBytes: number;
  /** The author's own text part; null when it is made from the HTML. */
  readonly ownText: string | null;
  /** URLs of its links and images. */
  readonly urls: readonly string[];
  /** URLs of those that name an uploaded image which is not there. */
  readonly goneImages: readonly string[];
  /** URLs that begin with a value of the reader and lead nowhere for readers without it. */
  readonly emptyLinks: readonly string[];
  /** True if its subject is nothing but values that a reader may not have. */
  readonly subjectMayBeEmpty: boolean;
  /** True if it uses data of its reader; null if its merge tags cannot be read. */
  readonly personal: boolean | null;
}
