import { Inject, Injectable, Optional } from '@nestjs/common';
import { sql } from 'kysely';
import { DomainValidationError, type ProjectScope } from '#kernel';
import { Database, named } from '#platform';
import { AudiencePlan } from './audience-plan.js';

const UNLIMITED = -1;

/**
 * At this distance from the limit new subscribers do not wait for each other: it exceeds the number of concurrent transactions,
 * which a count does not see.
 */
const ROOM_FOR_ALL = 1_000;

/** The distance for callers that create thousands at a time: room for some tens of such transactions. */
const ROOM_FOR_IMPORTS = 50_000;

/**
 * Enforces the plan's limit of subscribers exactly, under any concurrency. Far from the limit, transactions run in parallel; near
 * it, they count and add one at a time. The test environment has no limit.
 */
@Injectable()
export class SubscriberLimitService {
  constructor(
    private readonly database: Database,
    @Optional() @Inject(AudiencePlan) private readonly plan: AudiencePlan | undefined,
  ) {}

  /** Reserves one more in the caller's transaction. Throws DomainValidationError. */
  async admit(scope: ProjectScope): Promise<void> {
    const { granted, max } = await this.#reserve(scope, 1);
    if (granted === 0)
      throw new DomainValidationError({ email: `the plan's limit of ${max} subscribers is reached` });
  }

  /** The part of `wanted` that the caller's transaction may create; near the limit others wait for it. Lock addresses first. */
  async reserve(scope: ProjectScope, wanted: number): Promise<number> {
    return (await this.#reserve(scope, wanted)).granted;
  }

  /** Subscribers in the live environments of all the tenant's projects. Reads the counters instead of counting rows. */
  liveOfTenant(scope: ProjectScope): Promise<number> {
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<{ count: number }>`
        select audience.live_subscribers_of_tenant() as count
      `.execute(this.database.tables());
      return rows[0]?.count ?? 0;
    });
  }

  async #reserve(
    scope: ProjectScope,
    wanted: number,
  ): Promise<{ readonly granted: number; readonly max: number }> {
    if (scope.environment !== 'LIVE' || this.plan === undefined) return { granted: wanted, max: UNLIMITED };
    const max = await this.plan.maxSubscribers(scope);
    if (max === UNLIMITED) return { granted: wanted, max };
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<{ granted: number }>`${named('reserve_subscribers')}
        select audience.reserve_subscribers(${wanted}::int, ${max}::bigint,
          ${wanted === 1 ? ROOM_FOR_ALL : ROOM_FOR_IMPORTS}::bigint) as granted
      `.execute(this.database.tables());
      return { granted: rows[0]!.granted, max };
    });
  }
}
