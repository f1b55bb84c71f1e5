import type { BounceClass } from '../../bounces/bounce-class.js';
import type { RecordPurpose } from '../../dns/dns-record.js';

export const RELAY_TLS = ['IMPLICIT', 'REQUIRED', 'OPPORTUNISTIC'] as const;
/** TLS from the first octet (RFC 8314 §3.3), STARTTLS or nothing, STARTTLS where it is offered. */
export type RelayTls = (typeof RELAY_TLS)[number];

export const RELAY_STREAMS = ['OPT_IN', 'CAMPAIGN', 'AUTOMATION', 'TRANSACTIONAL', 'TEST'] as const;
/** A kind of mail that a relay takes. */
export type RelayStream = (typeof RELAY_STREAMS)[number];

export const RELAY_SIGNING = ['OWN', 'RELAY'] as const;
/** DKIM signer: we, with the sending domain's keys, or the relay alone. */
export type RelaySigning = (typeof RELAY_SIGNING)[number];

export const RELAY_STATUSES = ['ACTIVE', 'PAUSED', 'FAILING'] as const;
export type RelayStatus = (typeof RELAY_STATUSES)[number];

export const RELAY_OPTIONS = ['configurationSet', 'messageStream', 'region', 'domain'] as const;
/** An option that only some kinds take. */
export type RelayOption = (typeof RELAY_OPTIONS)[number];
export type RelayOptions = Partial<Readonly<Record<RelayOption, string>>>;

/** A request to `POST /feedback/{kind}/{token}`, as it came. */
export interface FeedbackRequest {
  /** In lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Not parsed: what is signed are its octets. */
  readonly body: Buffer;
  readonly receivedAt: Date;
}

/** Proof of a request: the owner's key for the relay, and documents of the provider. */
export interface FeedbackProof {
  /**
   * The relay's `feedbackKey`, null where it is not set: a shared secret (Mailgun, GENERIC), a public key (SendGrid), what the
   * provider sends as its password (Brevo, Postmark), the TopicArn that alone may post (SES).
   */
  readonly key: string | null;
  /** The text of a document that the provider serves, e.g. SNS's certificate, cached. The format must have checked the host. */
  fetchText(url: string): Promise<string>;
}

/** Content of an event about one mail to one person. */
export type FeedbackFact =
  | {
      readonly kind: 'bounce';
      readonly class: BounceClass;
      readonly basicCode: number | null;
      readonly enhancedCode: string | null;
      /** The server's words; may hold addresses. */
      readonly excerpt: string | null;
    }
  | { readonly kind: 'complaint' }
  | { readonly kind: 'delivered' }
  | { readonly kind: 'unsubscribed' };

export type FeedbackEvent = FeedbackFact & {
  /** Our own token as the provider gives it back; null where the event has none. */
  readonly token: string | null;
  readonly providerMessageId: string | null;
  readonly address: string | null;
};

/** A proved request, read. */
export interface ReadFeedback {
  readonly events: readonly FeedbackEvent[];
  /** An address to ask once, by which the provider is told that we listen (SNS's SubscribeURL). */
  readonly confirmUrl?: string;
  readonly onceToken?: OnceToken;
}

/**
 * A nonce for requests whose signature does not cover the events. A value seen before `until` is a replay, whose events change
 * nothing; later, `isGenuine` refuses it. Kept in the transaction of the events, since the provider may repeat after a failure.
 */
export interface OnceToken {
  /** At most 255 characters. */
  readonly value: string;
  readonly until: Date;
}

/** Proves and reads a provider's events. */
export interface FeedbackFormat {
  /**
   * Checks that the request is the provider's as its documentation says, with its age where that has a bound. False for
   * anything missing, malformed or wrong; rejects only when `fetchText` does.
   */
  isGenuine(request: FeedbackRequest, proof: FeedbackProof): boolean | Promise<boolean>;
  /**
   * Leaves out other kinds of events and unreadable ones. Bounded by the number of events that the provider puts into a request.
   * Throws `UnreadableFeedbackError` if the body is not the provider's.
   */
  read(request: FeedbackRequest): ReadFeedback;
}

/** The body is not what the provider sends. */
export class UnreadableFeedbackError extends Error {}

export interface RelayEndpoint {
  readonly host: string;
  readonly port: number;
  readonly tls: RelayTls;
}

/** A mail about to be handed over. */
export interface MailForRelay {
  /** Names our delivery in the provider's events. ASCII letters, digits, `+`, `.`, `-`, `_`; at most 64. */
  readonly token: string;
  readonly stream: RelayStream;
  readonly options: RelayOptions;
}

/** The values of an option that a kind can use. */
export interface OptionValues {
  readonly pattern: RegExp;
  /** Completes `must be …`. */
  readonly inWords: string;
}

/** Form of a relay's `feedbackKey`; any other one could never prove anything. */
export interface FeedbackKeyForm {
  isUsable(key: string): boolean;
  /** Completes `must be …`. */
  readonly inWords: string;
}

/**
 * The particulars of one provider's relay. A new one is a file here, a line in `kinds.ts`, a stand-in in test/support/relays and
 * a page in docs/relays/. Every statement about a provider names the page of its documentation in a comment.
 */
export interface RelayKindRules {
  /** In words, e.g. `Amazon SES`. */
  readonly name: string;
  /** The options that it takes, and which values of each, null for any; others are refused. */
  readonly options: Partial<Readonly<Record<RelayOption, OptionValues | null>>>;
  /** The option that says where it is reached: needed where host and port are left out. */
  readonly endpointOption?: RelayOption;
  /** The username of a relay that has a password and names none. */
  readonly username?: string;
  /** Default of host and port; null where only the client can know. */
  endpoint(options: RelayOptions): RelayEndpoint | null;
  /** `ALWAYS`: no signature of ours gets through, the relay alone signs. Left out: the client chooses. */
  readonly signs?: 'ALWAYS';
  /** Header fields, in lower case, that it replaces: our signature leaves them out. */
  readonly replacedHeaders: readonly string[];
  /** Header fields that it wants before the message: never one that our signature covers. */
  headersOf(mail: MailForRelay): readonly (readonly [name: string, value: string])[];
  /** The id that its events name, from the words of its reply to the body (`SmtpReply.text`); null where they hold none. */
  messageIdOf(replyText: string): string | null;
  /** True if ids never repeat; else an event is a mail's only if the recipient's address matches as well. */
  readonly idIsUnique: boolean;
  /** Records of the sending domain that mail by this relay needs. */
  readonly dnsRecords: readonly RecordPurpose[];
  /** Left out: any key. */
  readonly feedbackKey?: FeedbackKeyForm;
  readonly feedback: FeedbackFormat;
}
