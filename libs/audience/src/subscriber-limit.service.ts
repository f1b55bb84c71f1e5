import { Inject, Injectable, Optional } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { DomainValidationError, type ProjectScope } from '#kernel';
import { Database, named } from '#platform';
import { AudiencePlan } from './audience-plan.query.js';

const UNLIMITED = -1;

/** The number of subscribers that a transaction may create, and the plan's limit. */
export interface Reservation {
  readonly granted: number;
  readonly max: number;
}

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

  /** Statement that reserves one more in the caller's transaction, which `refuseFull` judges by its row. */
  reservation(scope: ProjectScope): RawBuilder<Reservation> {
    return this.#reserving(scope, 1);
  }

  /** The part of `wanted` that the caller's transaction may create; near the limit others wait for it. Lock addresses first. */
  async reserve(scope: ProjectScope, wanted: number): Promise<number> {
    const { rows } = await this.#reserving(scope, wanted).execute(this.database.tables());
    return rows[0]!.granted;
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

  #reserving(scope: ProjectScope, wanted: number): RawBuilder<Reservation> {
    const isLimited = scope.environment === 'LIVE' && this.plan !== undefined;
    const max = isLimited ? this.plan.maxSubscribers(scope) : sql<number>`${UNLIMITED}::bigint`;
    return sql<Reservation>`${named('reserve_subscribers')}
      select p.max, audience.reserve_subscribers(${wanted}::int, p.max,
        ${wanted === 1 ? ROOM_FOR_ALL : ROOM_FOR_IMPORTS}::bigint) as granted
      from (select ${max} as max) p`;
  }
}

/** Throws DomainValidationError when nothing was granted. */
export function refuseFull({ granted, max }: Reservation): void {
  if (granted === 0)
    throw new DomainValidationError({ email: `the plan's limit of ${max} subscribers is reached` });
}
