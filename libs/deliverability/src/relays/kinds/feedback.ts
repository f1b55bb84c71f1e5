import type { BounceClass } from '../../bounces/bounce-rule.js';

/** A request to `POST /feedback/{kind}/{token}`, as it came. */
export interface FeedbackRequest {
  /** In lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Not parsed: what is signed are its octets. */
  readonly body: Buffer;
  readonly receivedAt: Date;
}

/** What the relay's owner has entered for it, and what is asked of the network. */
export interface FeedbackProof {
  /**
   * The relay's `feedbackKey`, null where it is not set: a shared secret (Mailgun, GENERIC), a public key (SendGrid), what the
   * provider sends as its password (Brevo, Postmark), the TopicArn that alone may post (SES).
   */
  readonly key: string | null;
  /** The text of a document that the provider serves, e.g. SNS's certificate. Only hosts that the format itself has checked are asked; it is kept. */
  fetchText(url: string): Promise<string>;
}

/** What an event says about one mail to one person. */
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
 * What a provider gives each request that its signature alone does not bind to its events. A relay that has seen the value
 * before `until` sees a replay, whose events change nothing; later, `isGenuine` refuses it. It is kept together with what the
 * events change, or not at all: after a failure of ours the provider may come again with the same.
 */
export interface OnceToken {
  /** At most 255 characters. */
  readonly value: string;
  readonly until: Date;
}

/** How a provider's events are proved and read. */
export interface FeedbackFormat {
  /**
   * Whether the request is the provider's, by what its documentation says to check, replay included where it names a bound.
   * False for whatever is missing, malformed or wrong; rejects only when `fetchText` does.
   */
  isGenuine(request: FeedbackRequest, proof: FeedbackProof): Promise<boolean>;
  /**
   * Events of other kinds, and what cannot be understood of one, are left out; the others are read. What one request costs is
   * bounded, by how many events the provider puts into one. Throws `UnreadableFeedbackError` when the body as a whole is none of the provider's.
   */
  read(request: FeedbackRequest): ReadFeedback;
}

/** The body is not what the provider sends. */
export class UnreadableFeedbackError extends Error {}
