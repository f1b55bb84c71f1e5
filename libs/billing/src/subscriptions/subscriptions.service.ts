import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock } from '#kernel';
import { Database } from '#platform';

/** Begins what tenants have subscribed to. */
@Injectable()
export class SubscriptionsService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Puts a tenant on the free plan from now on; a tenant that has a subscription keeps it. */
  async startFree(tenantId: number): Promise<void> {
    const now = this.clock.now();
    await this.database.system(({ db }) =>
      sql`
        insert into billing.subscriptions (tenant_id, plan_tier, plan_version_id, status, billing_interval, anchored_at, created_at, updated_at)
        values (${tenantId}, 'FREE', billing.plan_version_of('FREE', null), 'ACTIVE', 'MONTHLY', ${now}, ${now}, ${now})
        on conflict (tenant_id) do nothing
      `.execute(db),
    );
  }
}
