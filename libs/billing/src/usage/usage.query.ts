import { Inject, Injectable, Optional } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { billingPeriod } from '../subscriptions/billing-period.js';
import { SubscriptionsQuery } from '../subscriptions/subscriptions.query.js';
import { EmailQuota } from './email-quota.service.js';
import type { UsageSummary } from './usage.js';
import { AiCreditUsage, SubscriberCount } from './usage-sources.js';

/** Reads what a tenant uses of its plan. */
@Injectable()
export class UsageQuery {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SubscriptionsQuery) private readonly subscriptions: SubscriptionsQuery,
    @Inject(EmailQuota) private readonly emails: EmailQuota,
    @Inject(Clock) private readonly clock: Clock,
    @Optional() @Inject(SubscriberCount) private readonly subscribers: SubscriberCount | undefined,
    @Optional() @Inject(AiCreditUsage) private readonly credits: AiCreditUsage | undefined,
  ) {}

  /** Throws `NotFoundError` when the tenant has no subscription. */
  ofTenant(scope: ProjectScope): Promise<UsageSummary> {
    return this.database.transaction(scope, async ({ db }) => {
      const subscription = await this.subscriptions.ofTenant(scope);
      if (subscription === null) throw new NotFoundError();
      const { limits, aiCredits, anchoredAt } = subscription;
      const { start } = billingPeriod(anchoredAt, this.clock.now());
      const { rows } = await sql<{ campaigns: number; projects: number }>`
        select access.projects_of_tenant() as projects,
          coalesce((select u.campaigns from billing.campaign_usage u
            where u.tenant_id = ${scope.tenantId} and u.period_start = ${start}), 0) as campaigns
      `.execute(db);
      const { campaigns = 0, projects = 0 } = rows[0] ?? {};
      return {
        subscribers: {
          current: (await this.subscribers?.ofTenant(scope)) ?? 0,
          limit: limits.maxSubscribers,
        },
        campaigns: { current: campaigns, limit: limits.maxCampaignsPerMonth },
        projects: { current: projects, limit: limits.maxProjects },
        aiCredits: { current: (await this.credits?.since(scope, start)) ?? 0, limit: aiCredits },
        emails: { current: await this.emails.committed(scope, start), limit: limits.maxEmailsPerMonth },
      };
    });
  }
}
