/** Called with the payload, or with null when messages may have been missed and the caller must look for itself. */
export type NotificationHandler = (payload: string | null) => void;

/** Tells listeners on a channel, in any process, that there may be something to do. */
export interface Notification {
  readonly channel: string;
  readonly payload: string;
}

/** Listens to the notifications of all processes. Each is only a hint: a listener also looks from time to time. */
export abstract class Notifications {
  readonly #handlers = new Map<string, Set<NotificationHandler>>();

  abstract start(): Promise<void>;

  abstract stop(): Promise<void>;

  /** Has the messages on `channel` delivered, from now on and after each new connection. */
  protected abstract subscribe(channel: string): void;

  /** Calls `handler` for each message on `channel`; the returned function ends that. */
  listen(channel: string, handler: NotificationHandler): () => void {
    const handlers = this.#handlers.get(channel) ?? new Set();
    const isFirst = !this.#handlers.has(channel);
    this.#handlers.set(channel, handlers.add(handler));
    if (isFirst) this.subscribe(channel);
    return () => handlers.delete(handler);
  }

  protected get channels(): readonly string[] {
    return [...this.#handlers.keys()];
  }

  protected deliver(channel: string, payload: string | null): void {
    for (const handler of this.#handlers.get(channel) ?? []) handler(payload);
  }

  /** Has all listeners look, after the connection was lost and is back. */
  protected deliverMissed(): void {
    for (const channel of this.channels) this.deliver(channel, null);
  }
}

/** Carries notifications to other processes. */
export interface NotificationTransport {
  send(notifications: readonly Notification[]): Promise<unknown>;
  close(): void;
}

const SEND_EVERY_MS = 50;

/**
 * Sends the notifications of this process: the first at once, those of the next 50 ms together. PostgreSQL commits transactions
 * with a NOTIFY one after the other, so none is sent in a transaction that does anything else. A lost one delays a listener.
 */
export class Notifier {
  #waiting = new Map<string, Notification>();
  #sending: Promise<void> | undefined;
  #isStopping = false;
  #endPause: () => void = () => undefined;

  constructor(private readonly transport: NotificationTransport) {}

  notify(notifications: readonly Notification[]): void {
    for (const one of notifications) this.#waiting.set(`${one.channel} ${one.payload}`, one);
    if (this.#waiting.size > 0) this.#sending ??= this.#sendAll();
  }

  /** Sends what waits. */
  async close(): Promise<void> {
    this.#isStopping = true;
    this.#endPause();
    await this.#sending;
    this.transport.close();
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.size > 0) {
      const notifications = [...this.#waiting.values()];
      this.#waiting.clear();
      await Promise.all([this.transport.send(notifications).catch(() => undefined), this.#pause()]);
    }
    this.#sending = undefined;
  }

  #pause(): Promise<void> {
    if (this.#isStopping) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, SEND_EVERY_MS);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
