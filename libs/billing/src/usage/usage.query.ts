import { Inject, Injectable, Optional } from '@nestjs/common';
import { NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { BillingTables } from '../billing-tables.js';
import { CreditsQuery } from '../credits/credits.query.js';
import { SubscriptionsQuery } from '../subscriptions/subscriptions.query.js';
import { EmailQuota } from './email-quota.service.js';
import type { UsageSummary } from './usage.js';
import { SubscriberCount } from './usage-sources.js';

/** Reads what a tenant uses of its plan. */
@Injectable()
export class UsageQuery {
  constructor(
    private readonly database: Database,
    private readonly subscriptions: SubscriptionsQuery,
    private readonly emails: EmailQuota,
    @Optional() @Inject(SubscriberCount) private readonly subscribers: SubscriberCount | undefined,
    private readonly credits: CreditsQuery,
  ) {}

  /** Throws `NotFoundError` when the tenant has no subscription. */
  ofTenant(scope: ProjectScope): Promise<UsageSummary> {
    return this.database.transaction(scope, async () => {
      const subscription = await this.subscriptions.ofTenant(scope);
      if (subscription === null) throw new NotFoundError();
      const { limits, aiCredits, currentMonth } = subscription;
      const { start } = currentMonth;
      const { campaigns, projects } = await this.#counted(scope, start);
      return {
        subscribers: {
          current: (await this.subscribers?.ofTenant(scope)) ?? 0,
          limit: limits.maxSubscribers,
        },
        campaigns: { current: campaigns, limit: limits.maxCampaignsPerMonth },
        projects: { current: projects, limit: limits.maxProjects },
        aiCredits: { current: await this.credits.since(scope, start), limit: aiCredits },
        emails: { current: await this.emails.committed(scope, start), limit: limits.maxEmailsPerMonth },
      };
    });
  }

  /** Campaigns of the month that began at `start`, and projects, of which a scope sees only its own. */
  #counted({ tenantId }: ProjectScope, start: Date): Promise<{ campaigns: number; projects: number }> {
    return this.database
      .tables<BillingTables>()
      .selectNoFrom((eb) => [
        eb.fn<number>('access.projects_of_tenant').as('projects'),
        eb.fn
          .coalesce(
            eb
              .selectFrom('billing.campaign_usage')
              .select('campaigns')
              .where('tenantId', '=', tenantId)
              .where('periodStart', '=', start),
            eb.lit(0),
          )
          .as('campaigns'),
      ])
      .executeTakeFirstOrThrow();
  }
}
