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
 * Keeps a tenant within its plan's number of subscribers, exactly, however many are made at once. Far from the
 * limit they are made side by side; near it one transaction at a time counts and adds. The test environment
 * has no limit.
 */
@Injectable()
export class SubscriberLimitService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Optional() @Inject(SubscriberLimit) private readonly limit: SubscriberLimit | undefined,
  ) {}

  /** Lets one more be made in the caller's transaction. Throws DomainValidationError. */
  async admit(scope: ProjectScope): Promise<void> {
    const { granted, max } = await this.#reserve(scope, 1);
    if (granted === 0) {
      throw new DomainValidationError({ email: `the plan's limit of ${max} subscribers is reached` });
    }
  }

  /**
   * How many of `wanted` may be made in the caller's transaction; others near the limit wait until it ends. Take
   * the locks of addresses before.
   */
  async reserve(scope: ProjectScope, wanted: number): Promise<number> {
    return (await this.#reserve(scope, wanted)).granted;
  }

  async #reserve(scope: ProjectScope, wanted: number): Promise<Reservation> {
    if (scope.environment !== 'LIVE' || this.limit === undefined) return { granted: wanted, max: UNLIMITED };
    const max = await this.limit.max(scope);
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
