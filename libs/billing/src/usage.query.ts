import { Inject, Injectable, Optional } from '@nestjs/common';
import { NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { BillingTables } from './billing-tables.js';
import { CreditsQuery } from './credits.query.js';
import { EmailQuotaService } from './email-quota.service.js';
import { UNLIMITED } from './plan.js';
import { SubscriptionsQuery } from './subscriptions/subscriptions.query.js';

/** The used amount of one thing and its limit; −1 is unlimited. */
export interface Usage {
  readonly current: number;
  readonly limit: number;
}

/** A tenant's use of its plan; months are those of its subscription. */
export interface UsageSummary {
  readonly subscribers: Usage;
  readonly campaigns: Usage;
  readonly projects: Usage;
  readonly aiCredits: Usage;
  readonly emails: Usage;
}

/** 0–100 with two decimals, rounded down so that only a limit that is reached says 100; 0 without a limit. */
export function percentOf({ current, limit }: Usage): number {
  if (limit === UNLIMITED) return 0;
  if (current >= limit) return limit === 0 && current === 0 ? 0 : 100;
  return Math.floor((current * 10_000) / limit) / 100;
}

/** The subscribers that count for the plan: a port of the context that keeps them. */
export abstract class SubscriberCount {
  /** In the live environments of all projects of the scope's tenant. */
  abstract liveOfTenant(scope: ProjectScope): Promise<number>;
}

/** Reads a tenant's use of its plan. */
@Injectable()
export class UsageQuery {
  constructor(
    private readonly database: Database,
    private readonly subscriptions: SubscriptionsQuery,
    private readonly emails: EmailQuotaService,
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
          current: (await this.subscribers?.liveOfTenant(scope)) ?? 0,
          limit: limits.maxSubscribers,
        },
        campaigns: { current: campaigns, limit: limits.maxCampaignsPerMonth },
        projects: { current: projects, limit: limits.maxProjects },
        aiCredits: { current: await this.credits.since(scope, start), limit: aiCredits },
        emails: { current: await this.emails.committed(scope, start), limit: limits.maxEmailsPerMonth },
      };
    });
  }

  /** Campaigns of the month that began at `start`, and all projects, of which a scope sees only its own. */
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
