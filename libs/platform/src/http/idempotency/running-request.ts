import type { IdempotencyKeysQuery, Lease } from './idempotency-keys.query.js';
import type { AnswerSeal, StoredAnswer } from './sealed-answer.js';

const RENEW_EVERY_MS = 20_000;

/** A request that holds its idempotency key; the lock is renewed for as long as it runs. */
export class RunningRequest {
  #lease: Lease | null;
  readonly #timer: NodeJS.Timeout;

  constructor(
    private readonly keys: IdempotencyKeysQuery,
    private readonly seal: AnswerSeal,
    lease: Lease,
  ) {
    this.#lease = lease;
    this.#timer = setInterval(() => void this.#renew(), RENEW_EVERY_MS).unref();
  }

  /** Ends the run and keeps its answer. */
  async complete(requestHash: Buffer, answer: StoredAnswer): Promise<void> {
    const lease = this.abandon();
    if (lease !== null) await this.keys.complete(lease, requestHash, answer.status, this.seal.seal(answer));
  }

  /** Ends the run and frees the key. */
  async release(): Promise<void> {
    const lease = this.abandon();
    if (lease !== null) await this.keys.release(lease);
  }

  /** Leaves the lock to run out: nobody knows whether the handler has finished. */
  abandon(): Lease | null {
    clearInterval(this.#timer);
    const lease = this.#lease;
    this.#lease = null;
    return lease;
  }

  async #renew(): Promise<void> {
    const lease = this.#lease;
    if (lease === null) return;
    try {
      const renewed = await this.keys.renew(lease);
      if (this.#lease === lease) this.#lease = renewed;
    } catch {
      // The lock lasts for two more tries.
    }
  }
}
