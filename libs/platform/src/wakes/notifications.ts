/** Called with the payload, or with null when messages may have been missed and the caller must look for itself. */
export type NotificationHandler = (payload: string | null) => void;

/**
 * Hears the wake-ups of all processes, for the life of the process. A wake-up is only ever a hint: whoever listens also
 * looks from time to time.
 */
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

  /** The connection was lost and is back: whoever listens looks. */
  protected deliverMissed(): void {
    for (const channel of this.channels) this.deliver(channel, null);
  }
}
