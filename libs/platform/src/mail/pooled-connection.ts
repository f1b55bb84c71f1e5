import { Backoff } from './backoff.js';
import type { EnvelopesAhead } from './envelopes-ahead.js';
import type { NextMessage, OutgoingMessage, SendOutcome } from './mail-transport.js';
import { RouteUnavailable } from './smtp-opening.js';
import { type Attempt, mayMindEnvelopes } from './smtp-attempt.js';
import type { SmtpSession } from './smtp-session.js';

interface PooledConnectionOptions {
  readonly open: () => Promise<SmtpSession>;
  readonly messagesPerConnection: number;
  /** After so many milliseconds without a message the session ends. */
  readonly idleMs: number;
  /** So long an envelope that left ahead waits for its message. */
  readonly aheadMs: number;
  readonly ahead: EnvelopesAhead;
}

const nothing: NextMessage = () => undefined;

/** One connection of the pool: it carries one message at a time, and is opened again when its session has ended. */
export class PooledConnection {
  /** For when this one cannot connect though others can: the relay allows fewer connections than the pool has. */
  readonly backoff = new Backoff();
  #session: SmtpSession | null = null;
  #ending: Promise<void> = Promise.resolve();
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(private readonly options: PooledConnectionOptions) {}

  /** Whether a session stands ready. */
  get live(): boolean {
    return this.#session?.usable ?? false;
  }

  /** Whose envelope the relay has already. */
  get offered(): OutgoingMessage | null {
    return this.live ? (this.#session?.offered ?? null) : null;
  }

  /** Sends, opening a session first where none is. Rejects with RouteUnavailable; then the message was not tried. */
  async deliver(message: OutgoingMessage, next: NextMessage): Promise<SendOutcome> {
    clearTimeout(this.#idleTimer);
    const { ahead, messagesPerConnection } = this.options;
    const reused = this.live;
    const isAhead = this.offered === message;
    let attempt = await this.#attempt(message, next);
    if (isAhead && attempt.outcome.kind === 'accepted') ahead.taken();
    if (attempt.outcome.kind === 'ambiguous' && this.#session?.offered) ahead.lost();
    // The relay may have ended a session that was idle. Nothing was accepted, so this is no second delivery.
    if (reused && attempt.again === 'reconnected') attempt = await this.#attempt(message, next);
    if (attempt.again === 'alone') {
      attempt = await this.#attempt(message, nothing);
      if (!mayMindEnvelopes(attempt.outcome)) ahead.minded();
    }
    const { outcome } = attempt;
    if (outcome.kind === 'route-unavailable') throw new RouteUnavailable(outcome.stage, outcome.detail);
    if (this.#session !== null && this.#session.transactions >= messagesPerConnection) void this.endSession();
    return outcome;
  }

  /** Called when it has nothing to do: the session ends after a while. */
  idle(): void {
    clearTimeout(this.#idleTimer);
    const { idleMs, aheadMs } = this.options;
    const limitMs = this.offered === null ? idleMs : aheadMs;
    if (this.live) this.#idleTimer = setTimeout(() => void this.endSession(), limitMs);
  }

  /** Ends the session with QUIT. The relay may count connections: the next one waits until this one is gone. */
  endSession(): Promise<void> {
    clearTimeout(this.#idleTimer);
    const session = this.#session;
    this.#session = null;
    if (session !== null) this.#ending = session.quit();
    return this.#ending;
  }

  async #attempt(message: OutgoingMessage, next: NextMessage): Promise<Attempt> {
    const { open, ahead, messagesPerConnection } = this.options;
    const isForAnother = this.offered !== null && this.offered !== message;
    if (!this.live || isForAnother) {
      await this.endSession();
      this.#session = await open();
    }
    const session = this.#session;
    if (session === null) throw new Error('A connection without a session cannot send.');
    const isLast = session.transactions + 1 >= messagesPerConnection;
    return session.send(message, isLast || !ahead.areInUse ? nothing : next);
  }
}
