import { LRUCache } from 'lru-cache';

/** A look-up under way: since when, and what had been forgotten until then. */
interface Reading {
  readonly hash: string;
  readonly startedAt: number;
  readonly epoch: number;
}

interface Entry<Value> {
  readonly value: Value;
  readonly readAt: number;
}

/**
 * What is known of the keys last used, by the hex of their hash: at most `capacity` of them, each for
 * `maxAgeMs` from the moment its reading began. The caller's clock gives all times, in milliseconds.
 */
export class ApiKeyCache<Value> {
  readonly #entries: LRUCache<string, Entry<Value>>;
  /** Grows with each forgetting, so that a reading under way at that time is not kept. */
  #epoch = 0;

  constructor(
    capacity: number,
    private readonly maxAgeMs: number,
  ) {
    this.#entries = new LRUCache({ max: capacity });
  }

  get(hash: string, now: number): Value | undefined {
    const entry = this.#entries.get(hash);
    if (entry === undefined) return undefined;
    const age = now - entry.readAt;
    // A clock that was set back must not make anything older than it is allowed to be.
    if (age >= 0 && age < this.maxAgeMs) return entry.value;
    this.#entries.delete(hash);
    return undefined;
  }

  /** To be called before the value is read from the database. */
  beginReading(hash: string, now: number): Reading {
    return { hash, startedAt: now, epoch: this.#epoch };
  }

  keep({ hash, startedAt, epoch }: Reading, value: Value): void {
    if (epoch !== this.#epoch) return;
    this.#entries.set(hash, { value, readAt: startedAt });
  }

  forget(hash: string): void {
    this.#epoch += 1;
    this.#entries.delete(hash);
  }

  forgetAll(): void {
    this.#epoch += 1;
    this.#entries.clear();
  }
}
