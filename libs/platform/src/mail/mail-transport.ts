import type { MailBody } from '#kernel';

/** A finished message with its envelope; one recipient, as one reply must mean one delivery. */
export interface OutgoingMessage {
  /** The return path; empty for the null sender (RFC 5321 §4.5.5). */
  readonly envelopeFrom: string;
  readonly envelopeTo: string;
  /** Headers and body, not dot-stuffed. A buffer is looked through: bare CR and LF are sent as CRLF. */
  readonly raw: Buffer | MailBody;
}

/** Stages of a session after its opening; `body` is all after the 354 reply. */
type TransactionStage = 'mail' | 'rcpt' | 'data' | 'body';

/** Stage of an SMTP session. `session`: at any of them the relay refused a command as such, not this message or its recipient. */
export type SmtpStage = 'connect' | 'greeting' | 'tls' | 'ehlo' | 'auth' | TransactionStage | 'session';

/**
 * A relay's reply, or one in place of it (RFC 3463 §3): 421 4.4.2 for a connection lost before acceptance, 421 4.4.1 for a
 * missing reply; 5.3.4, 5.6.3, 5.6.7 or 5.6.9 for a message that the relay cannot take by its own EHLO answer.
 */
export interface SmtpReply {
  readonly code: number;
  readonly enhancedCode: string | null;
  /** The lines without their codes, joined by spaces. May repeat addresses: redact it before logging. */
  readonly text: string;
}

/** Outcome of one attempt. `send` never rejects: each way to fail is one of these. */
export type SendOutcome =
  /** The relay took responsibility for the message (RFC 5321 §6.1). */
  | { readonly kind: 'accepted'; readonly reply: SmtpReply }
  /** Not accepted, and may be tried again: 4xx, the session broke before the message was handed over, or at `session`. */
  | { readonly kind: 'temporary'; readonly reply: SmtpReply; readonly stage: SmtpStage }
  /** Refused for good: 5xx for this message. */
  | { readonly kind: 'permanent'; readonly reply: SmtpReply; readonly stage: SmtpStage }
  /** The message was handed over and no final reply came: it may or may not have been accepted. */
  | { readonly kind: 'ambiguous'; readonly detail: string }
  /** The relay cannot be used now. Nothing was tried with this message; its attempts should not count. */
  | { readonly kind: 'route-unavailable'; readonly detail: string; readonly stage: SmtpStage };

/** Names the message that will probably be sent next, which need not be. */
export type NextMessage = () => OutgoingMessage | undefined;

/** A way out for mail. */
export abstract class MailTransport {
  /**
   * Resolves once the fate of this attempt is known; waits its turn when all connections are busy. `next` is asked when the
   * message leaves: the envelope of what it names may leave with it, and is used when the same object is sent shortly after.
   */
  abstract send(message: OutgoingMessage, next?: NextMessage): Promise<SendOutcome>;

  /** Most messages in flight at once; further ones wait in the order of their `send`. */
  abstract get capacity(): number;

  /** Finishes what was handed to `send`, then ends the connections. Later messages are route-unavailable. */
  abstract close(): Promise<void>;
}
