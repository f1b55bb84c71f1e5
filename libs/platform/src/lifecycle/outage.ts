/** Whom an outage is told to. */
export interface OutageListener {
  readonly begins: (error: unknown) => void;
  readonly ends: () => void;
}

/**
 * Tells once that something is away, and once that it is back, however many connections notice it and however often
 * each of them tries again.
 */
export class Outage {
  readonly #without = new Set<object>();

  constructor(private readonly listener: OutageListener) {}

  /** `connection` does not reach it. */
  noticed(connection: object, error: unknown): void {
    const isNew = this.#without.size === 0;
    this.#without.add(connection);
    if (isNew) this.listener.begins(error);
  }

  /** `connection` reaches it again, or is not used any more. */
  isOver(connection: object): void {
    if (this.#without.delete(connection) && this.#without.size === 0) this.listener.ends();
  }
}
