import type { IdempotencyKeysQuery, Lease } from './idempotency-keys.query.js';
import type { AnswerSeal, StoredAnswer } from './sealed-answer.js';

/** The lock lasts for three more tries. */
const RENEW_EVERY_MS = 1_000;
/** How long a handler may go on after its request ran out of time: longer than the database lets it. */
const OUTLIVED_MS = 60_000;

/** A request that holds its idempotency key; the lock is renewed for as long as it runs. */
export class RunningRequest {
  #lease: Lease | null;
  readonly #timer: NodeJS.Timeout;

  constructor(
    private readonly keys: IdempotencyKeysQuery,
    private readonly seal: AnswerSeal,
    lease: Lease,
    /** Of the request; unknown while its body arrives. */
    readonly requestHash: Buffer,
  ) {
    this.#lease = lease;
    this.#timer = setInterval(() => void this.#renew(), RENEW_EVERY_MS).unref();
  }

  /** Ends the run and keeps its answer. */
  async complete(requestHash: Buffer, answer: StoredAnswer): Promise<void> {
    const lease = this.#end();
    if (lease !== null) await this.keys.complete(lease, requestHash, answer.status, this.seal.seal(answer));
  }

  /** Ends the run and frees the key. */
  async release(): Promise<void> {
    const lease = this.#end();
    if (lease !== null) await this.keys.release(lease);
  }

  /** Nobody knows when the handler ends: the lock is kept for as long as it may take, and then left to run out. */
  outlive(): void {
    setTimeout(() => this.#end(), OUTLIVED_MS).unref();
  }

  #end(): Lease | null {
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
      // It is tried again before the lock ends.
    }
  }
}
