import { Inject, Injectable, Optional } from '@nestjs/common';
import { sql } from 'kysely';
import { DomainValidationError, type ProjectScope } from '#kernel';
import { Database, prepared } from '#platform';
import { ROOM_FOR_ALL, ROOM_FOR_IMPORTS, SubscriberLimit, UNLIMITED } from './subscriber-limit.js';

interface Reservation {
  readonly granted: number;
  readonly max: number;
}

/**
 * Enforces the plan's limit of subscribers exactly, under any concurrency. Far from the limit, transactions run in
 * parallel; near it, they count and add one at a time. The test environment has no limit.
 */
@Injectable()
export class SubscriberLimitService {
  constructor(
    private readonly database: Database,
    @Optional() @Inject(SubscriberLimit) private readonly limit: SubscriberLimit | undefined,
  ) {}

  /** Reserves one more in the caller's transaction. Throws DomainValidationError. */
  async admit(scope: ProjectScope): Promise<void> {
    const { granted, max } = await this.#reserve(scope, 1);
    if (granted === 0) {
      throw new DomainValidationError({ email: `the plan's limit of ${max} subscribers is reached` });
    }
  }

  /**
   * Returns how many of `wanted` the caller's transaction may create; near the limit others wait until it ends. Lock
   * addresses first.
   */
  async reserve(scope: ProjectScope, wanted: number): Promise<number> {
    return (await this.#reserve(scope, wanted)).granted;
  }

  async #reserve(scope: ProjectScope, wanted: number): Promise<Reservation> {
    if (scope.environment !== 'LIVE' || this.limit === undefined) return { granted: wanted, max: UNLIMITED };
    const max = await this.limit.maxSubscribers(scope);
    if (max === UNLIMITED) return { granted: wanted, max };
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<{ granted: number }>`${prepared}
        select audience.reserve_subscribers(${wanted}::int, ${max}::bigint,
          ${wanted === 1 ? ROOM_FOR_ALL : ROOM_FOR_IMPORTS}::bigint) as granted
      `.execute(this.database.tables());
      return { granted: rows[0]!.granted, max };
    });
  }
}
