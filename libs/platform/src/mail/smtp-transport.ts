import { Backoff } from './backoff.js';
import { EnvelopesAhead } from './envelopes-ahead.js';
import { MailTransport, type NextMessage, type OutgoingMessage, type SendOutcome } from './mail-transport.js';
import { PooledConnection } from './pooled-connection.js';
import { openSession, RouteUnavailable, type SmtpTimeouts } from './smtp-opening.js';
import { parseSmtpUrl, type SmtpRoute } from './smtp-route.js';

export interface SmtpTransportOptions {
  /** See parseSmtpUrl for its forms; or what is asked for the way with each connection, and rejects with RouteUnavailable. */
  readonly url: string | (() => Promise<SmtpRoute>);
  /** At most so many connections, and so many messages in flight. */
  readonly connections: number;
  /** A connection is renewed after this many messages. */
  readonly messagesPerConnection: number;
  /** The name given in EHLO. */
  readonly ehloName: string;
  /** Milliseconds; the defaults are those of RFC 5321 §4.5.3.2 where it names one. `idle`: after how long without mail a connection is ended, `ahead`: when the relay waits for a message. */
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
  // A relay under stress waits ten seconds for a line, and would not hear the message that comes when it has given up.
  ahead: 1_000,
};

/** Sends through a relay over a few connections that are kept and reused. Opens none before the first message. */
export class SmtpTransport extends MailTransport {
  readonly #pool: readonly PooledConnection[];
  readonly #free: PooledConnection[];
  readonly #queue: Waiting[] = [];
  readonly #relay = new Backoff();
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
    this.#pool = Array.from(
      { length: options.connections },
      () =>
        new PooledConnection({
          open,
          messagesPerConnection,
          idleMs: timeouts.idle,
          aheadMs: timeouts.ahead,
          ahead,
        }),
    );
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

  /**
   * A connection with a session if there is one, so that spare connections become idle and end. One whose relay waits for another
   * message is the last choice: its session has to end.
   */
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
      // Who waits is served before who may come.
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
