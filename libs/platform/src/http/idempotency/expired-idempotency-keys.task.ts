import type { Database } from '../../database/database.js';
import { PeriodicTask } from '../../jobs/periodic-tasks.js';
import { IdempotencyKeysQuery } from './idempotency-keys.query.js';

/** Removes idempotency keys a day after their request. */
export class ExpiredIdempotencyKeysTask extends PeriodicTask {
  override readonly name = 'platform.expired_idempotency_keys';
  override readonly everyMs = 10 * 60 * 1000;

  readonly #keys: IdempotencyKeysQuery;

  constructor(database: Database) {
    super();
    this.#keys = new IdempotencyKeysQuery(database);
  }

  override async run(): Promise<void> {
    await this.#keys.removeExpired();
  }
}
