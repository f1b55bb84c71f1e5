import { doublingBackoff } from '#kernel';
import { MailTransport, type NextMessage, type OutgoingMessage, type SendOutcome } from './mail-transport.js';
import {
  openSession,
  parseSmtpUrl,
  RouteUnavailable,
  type SmtpRoute,
  type SmtpTimeouts,
} from './smtp-route.js';
import { type Attempt, mayMindEnvelopes, type SmtpSession } from './smtp-session.js';

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 30_000;

/**
 * Circuit breaker: pauses of 0.2 s, twice as long each time up to 30 s, each followed by one trial. Times are of a monotonic
 * clock.
 */
export class CircuitBreaker {
  #failures = 0;
  #until = 0;
  #failedAt = Number.NEGATIVE_INFINITY;
  #onTrial = false;

  /** True if it may be tried now: between failure and success, once for each pause. */
  mayTry(now: number): boolean {
    if (this.#failures === 0) return true;
    if (this.#onTrial || now < this.#until) return false;
    this.#onTrial = true;
    return true;
  }

  /** Milliseconds until the pause is over. */
  remaining(now: number): number {
    return this.#failures === 0 ? 0 : Math.max(0, this.#until - now);
  }

  /** Counts attempts that were under way together and fail together once. */
  failed(startedAt: number, now: number): void {
    if (startedAt < this.#failedAt) return;
    this.#failures += 1;
    this.#until = now + doublingBackoff(this.#failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    this.#failedAt = now;
    this.#onTrial = false;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#onTrial = false;
  }
}

/** Memory of a relay that minds the next envelope with a message, which RFC 2920 §3.1 allows. */
export class EnvelopesAhead {
  #isTaken = false;
  #isMinded = false;

  get areInUse(): boolean {
    return !this.#isMinded;
  }

  /** The relay took a message whose envelope had left ahead. */
  taken(): void {
    this.#isTaken = true;
  }

  /** The relay refused a message that it took when it came alone. */
  minded(): void {
    this.#isMinded = true;
  }

  /** A message followed by an envelope had no answer. Where the relay is known to take them, that has other reasons. */
  lost(): void {
    if (!this.#isTaken) this.#isMinded = true;
  }
}

interface ConnectionOptions {
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
  /** Used when others can connect: the relay allows fewer connections than the pool has. */
  readonly backoff = new CircuitBreaker();
  #session: SmtpSession | null = null;
  #ending: Promise<void> = Promise.resolve();
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(private readonly options: ConnectionOptions) {}

  /** A session is ready. */
  get live(): boolean {
    return this.#session?.usable ?? false;
  }

  /** The message whose envelope the relay has already. */
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

export interface SmtpTransportOptions {
  /** See `parseSmtpUrl`; or a function that is asked with each connection, and rejects with RouteUnavailable. */
  readonly url: string | (() => Promise<SmtpRoute>);
  /** At most so many connections, and so many messages in flight. */
  readonly connections: number;
  /** A connection is renewed after this many messages. */
  readonly messagesPerConnection: number;
  /** The name given in EHLO. */
  readonly ehloName: string;
  /**
   * Milliseconds; by default those of RFC 5321 §4.5.3.2. Connections without mail end after `idle`, with an envelope ahead after
   * `ahead`.
   */
  readonly timeouts?: Partial<SmtpTimeouts & { readonly idle: number; readonly ahead: number }>;
  /** Hears why a connection could not be opened. The message may hold the relay's words: redact it. */
  readonly onConnectionError?: (error: Error) => void;
}

interface Waiting {
  readonly message: OutgoingMessage;
  readonly next: NextMessage;
  resolve(outcome: SendOutcome): void;
  reject(error: unknown): void;
}

const TIMEOUTS = {
  connect: 30_000,
  greeting: 300_000,
  reply: 300_000,
  data: 600_000,
  idle: 15_000,
  // A relay under stress waits ten seconds for a line, and would miss the message that comes later.
  ahead: 1_000,
};

/** Sends through a relay over a few connections that are kept and reused. Opens none before the first message. */
export class SmtpTransport extends MailTransport {
  readonly #pool: readonly PooledConnection[];
  readonly #free: PooledConnection[];
  readonly #queue: Waiting[] = [];
  readonly #relay = new CircuitBreaker();
  readonly #onConnectionError: (error: Error) => void;
  #lastFailure = new RouteUnavailable('connect', 'The relay was not tried yet.');
  #closing: PromiseWithResolvers<void> | null = null;

  /** Throws when the URL is wrong. */
  constructor(options: SmtpTransportOptions) {
    super();
    const { messagesPerConnection, ehloName } = options;
    const find = routeFinder(options.url);
    const timeouts = { ...TIMEOUTS, ...options.timeouts };
    const ahead = new EnvelopesAhead();
    const open = async () => openSession(await find(), ehloName, timeouts);
    const pooled = { open, messagesPerConnection, idleMs: timeouts.idle, aheadMs: timeouts.ahead, ahead };
    this.#pool = Array.from({ length: options.connections }, () => new PooledConnection(pooled));
    this.#free = [...this.#pool];
    this.#onConnectionError = options.onConnectionError ?? (() => {});
  }

  override get capacity(): number {
    return this.#pool.length;
  }

  override send(message: OutgoingMessage, next: NextMessage = () => undefined): Promise<SendOutcome> {
    if (this.#closing !== null) {
      return Promise.resolve(unavailable(new RouteUnavailable('connect', 'The transport is closed.')));
    }
    return new Promise((resolve, reject) => {
      const waiting = { message, next, resolve, reject };
      const at = this.#free.findIndex((connection) => connection.offered === message);
      const [holder] = at === -1 ? [] : this.#free.splice(at, 1);
      if (holder !== undefined) return void this.#run(holder, waiting);
      this.#queue.push(waiting);
      this.#dispatch();
    });
  }

  override async close(): Promise<void> {
    this.#closing ??= Promise.withResolvers();
    this.#settleClose();
    await this.#closing.promise;
    await Promise.all(this.#pool.map((connection) => connection.endSession()));
  }

  #dispatch(): void {
    while (this.#queue.length > 0) {
      const connection = this.#takeConnection();
      if (connection === undefined) return;
      void this.#run(connection);
    }
  }

  /** Prefers a connection with a session, so that spare ones become idle; last, one whose relay waits for another message. */
  #takeConnection(): PooledConnection | undefined {
    const now = performance.now();
    let at = this.#free.findLastIndex((connection) => connection.live && connection.offered === null);
    if (at === -1)
      at = this.#free.findLastIndex(({ live, backoff }) => !live && backoff.remaining(now) === 0);
    if (at === -1) at = this.#free.findLastIndex(({ live }) => live);
    if (at === -1 && this.#free.length === this.#pool.length) at = 0;
    return at === -1 ? undefined : this.#free.splice(at, 1)[0];
  }

  async #run(connection: PooledConnection, first = this.#queue.shift()): Promise<void> {
    for (let waiting = first; waiting !== undefined; waiting = this.#queue.shift()) {
      if (!(await this.#deliver(connection, waiting)) || connection.offered !== null) break;
    }
    connection.idle();
    this.#free.push(connection);
    this.#dispatch();
    this.#settleClose();
  }

  /** False when the connection has to pause and the message went back to the queue. */
  async #deliver(connection: PooledConnection, waiting: Waiting): Promise<boolean> {
    const startedAt = performance.now();
    if (!connection.live && !this.#relay.mayTry(startedAt)) {
      waiting.resolve(unavailable(this.#lastFailure));
      return true;
    }
    try {
      const next = () => (this.#queue.length > 0 ? undefined : waiting.next());
      waiting.resolve(await connection.deliver(waiting.message, next));
    } catch (error) {
      if (error instanceof RouteUnavailable) return this.#failed(connection, waiting, error, startedAt);
      waiting.reject(error);
    }
    this.#relay.succeeded();
    connection.backoff.succeeded();
    return true;
  }

  #failed(
    connection: PooledConnection,
    waiting: Waiting,
    error: RouteUnavailable,
    startedAt: number,
  ): boolean {
    const now = performance.now();
    this.#lastFailure = error;
    this.#onConnectionError(error);
    if (!this.#pool.some((other) => other !== connection && other.live)) {
      this.#relay.failed(startedAt, now);
      waiting.resolve(unavailable(error));
      return true;
    }
    // The relay works for others, so it only allows fewer connections than the pool has: leave the message to them.
    connection.backoff.failed(startedAt, now);
    this.#queue.unshift(waiting);
    setTimeout(() => this.#dispatch(), Math.ceil(connection.backoff.remaining(now)) + 1).unref();
    return false;
  }

  #settleClose(): void {
    const atRest = this.#queue.length === 0 && this.#free.length === this.#pool.length;
    if (atRest) this.#closing?.resolve();
  }
}

function routeFinder(url: SmtpTransportOptions['url']): () => Promise<SmtpRoute> {
  if (typeof url === 'function') return url;
  const route = parseSmtpUrl(url);
  return () => Promise.resolve(route);
}

function unavailable({ stage, message }: RouteUnavailable): SendOutcome {
  return { kind: 'route-unavailable', stage, detail: message };
}
