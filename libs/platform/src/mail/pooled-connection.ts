import type { OutgoingMessage, SendOutcome } from './mail-transport.js';
import { Backoff } from './backoff.js';
import { RouteUnavailable } from './smtp-opening.js';
import type { Attempt } from './smtp-attempt.js';
import type { SmtpSession } from './smtp-session.js';

/** One connection of the pool: it carries one message at a time, and is opened again when its session has ended. */
export class PooledConnection {
  /** For when this one cannot connect though others can: the relay allows fewer connections than the pool has. */
  readonly backoff = new Backoff();
  readonly #open: () => Promise<SmtpSession>;
  readonly #messagesPerConnection: number;
  readonly #idleMs: number;
  #session: SmtpSession | null = null;
  #ending: Promise<void> = Promise.resolve();
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(open: () => Promise<SmtpSession>, messagesPerConnection: number, idleMs: number) {
    this.#open = open;
    this.#messagesPerConnection = messagesPerConnection;
    this.#idleMs = idleMs;
  }

  /** Whether a session stands ready. */
  get live(): boolean {
    return this.#session?.usable ?? false;
  }

  /** Sends, opening a session first where none is. Rejects with RouteUnavailable; then the message was not tried. */
  async deliver(message: OutgoingMessage): Promise<SendOutcome> {
    clearTimeout(this.#idleTimer);
    const reused = this.live;
    let attempt = await this.#attempt(message);
    // The relay may have ended a session that was idle. Nothing was accepted, so this is no second delivery.
    if (reused && attempt.again === 'reconnected') attempt = await this.#attempt(message);
    const { outcome } = attempt;
    if (outcome.kind === 'route-unavailable') throw new RouteUnavailable(outcome.stage, outcome.detail);
    if (this.#session !== null && this.#session.transactions >= this.#messagesPerConnection)
      void this.endSession();
    return outcome;
  }

  /** Called when it has nothing to do: the session ends after a while. */
  idle(): void {
    clearTimeout(this.#idleTimer);
    if (this.live) this.#idleTimer = setTimeout(() => void this.endSession(), this.#idleMs);
  }

  /** Ends the session with QUIT. The relay may count connections: the next one waits until this one is gone. */
  endSession(): Promise<void> {
    clearTimeout(this.#idleTimer);
    const session = this.#session;
    this.#session = null;
    if (session !== null) this.#ending = session.quit();
    return this.#ending;
  }

  async #attempt(message: OutgoingMessage): Promise<Attempt> {
    if (!this.live) {
      await this.endSession();
      this.#session = await this.#open();
    }
    const session = this.#session;
    if (session === null) throw new Error('A connection without a session cannot send.');
    return session.send(message);
  }
}
