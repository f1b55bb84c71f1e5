/** Stages at which a sink can be told to behave; `body-start` is the first octets after the 354 reply, `body` the final dot. */
export type SinkStage =
  | 'greeting'
  | 'ehlo'
  | 'auth'
  | 'mail'
  | 'rcpt'
  | 'data'
  | 'body-start'
  | 'body'
  | 'rset'
  | 'quit';

/**
 * Action of a sink instead of the usual: give this reply (`550 5.1.1 No such user`), give it and end the
 * connection, end the connection without a reply, or with a TCP reset, say nothing for ever, give an octet of a reply
 * now and then without ever ending it, or answer as usual but later, after a while or when the test calls `answer`.
 * `reset` and `trickle` need startRawSmtpSink.
 */
export type SinkAction =
  | { readonly reply: string }
  | { readonly replyThenDrop: string }
  | 'drop'
  | 'reset'
  | 'hang'
  | 'trickle'
  | { readonly delayMs: number }
  | { readonly hold: (answer: () => void) => void };

/** The transaction that a rule is asked about. */
export interface SinkTransaction {
  readonly connectionId: string;
  readonly from: string;
  readonly to: readonly string[];
}

export interface SinkRule {
  readonly at: SinkStage;
  readonly action: SinkAction;
  /** Number of times that it applies; for ever when left out. */
  readonly times?: number;
  readonly when?: (transaction: SinkTransaction) => boolean;
}

/** A mail as a sink received it. Sinks with `keep: 'index'` leave `raw` empty. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly messageId: string | null;
  /** As composed: without dot-stuffing. */
  readonly raw: Buffer;
  readonly receivedAt: number;
  readonly connectionId: string;
  /** True if it came over TLS. */
  readonly secure: boolean;
}

/** Interface of both sinks for a test. */
export interface SmtpSink {
  readonly port: number;
  /** For SmtpTransport, credentials included. */
  readonly url: string;
  /** Accepted mails, the oldest first. */
  readonly messages: readonly ReceivedMail[];
  readonly connections: ConnectionCount;
  count(): number;
  /** Forgets mails and counts, not rules. */
  clear(): void;
  /** Adds a rule; of several that fit, the oldest wins. Returns how to take it back. */
  behave(rule: SinkRule): () => void;
  /** Drops all connections and refuses new ones. */
  stop(): Promise<void>;
}

/** The rules of one sink, in the order in which they were made. */
export class SinkRules {
  readonly #rules: { readonly rule: SinkRule; left: number }[] = [];

  behave(rule: SinkRule): () => void {
    const entry = { rule, left: rule.times ?? Number.POSITIVE_INFINITY };
    this.#rules.push(entry);
    return () => {
      entry.left = 0;
    };
  }

  /** The action for this moment, null for the usual behaviour. Uses up one of the rule's times. */
  take(at: SinkStage, transaction: SinkTransaction): SinkAction | null {
    const entry = this.#rules.find(
      ({ rule, left }) => left > 0 && rule.at === at && (rule.when?.(transaction) ?? true),
    );
    if (entry === undefined) return null;
    entry.left--;
    return entry.rule.action;
  }
}

/** Number of connections that were made, are open, and were open at once at most. */
export class ConnectionCount {
  total = 0;
  open = 0;
  peak = 0;

  opened(): void {
    this.total++;
    this.open++;
    this.peak = Math.max(this.peak, this.open);
  }

  closed(): void {
    this.open--;
  }

  clear(): void {
    this.total = this.open;
    this.peak = this.open;
  }
}

/** The Message-ID of a mail of which at least the headers are given, null without one. */
export function messageIdOf(raw: Buffer): string | null {
  const end = raw.indexOf('\r\n\r\n');
  const headers = raw.toString('latin1', 0, end === -1 ? raw.length : end);
  return /^message-id:\s*(<[^>\r\n]*>)/im.exec(headers)?.[1] ?? null;
}
