import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';

/** How many subscribers count for a tenant's plan. */
@Injectable()
export class LiveSubscribersQuery {
  constructor(private readonly database: Database) {}

  /** In the live environments of all the tenant's projects. Reads the counters instead of counting rows. */
  ofTenant(scope: ProjectScope): Promise<number> {
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<{ count: number }>`
        select audience.live_subscribers_of_tenant() as count
      `.execute(this.database.tables());
      return rows[0]?.count ?? 0;
    });
  }
}
