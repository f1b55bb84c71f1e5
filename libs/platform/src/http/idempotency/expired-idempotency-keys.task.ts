import { PeriodicTask } from '../../jobs/periodic-tasks.js';
import type { IdempotencyKeysQuery } from './idempotency-keys.query.js';

/** Removes idempotency keys a day after their request. */
export class ExpiredIdempotencyKeysTask extends PeriodicTask {
  override readonly name = 'platform.expired_idempotency_keys';
  override readonly everyMs = 10 * 60 * 1000;

  constructor(private readonly keys: IdempotencyKeysQuery) {
    super();
  }

  override async run(): Promise<void> {
    await this.keys.removeExpired();
  }
}
