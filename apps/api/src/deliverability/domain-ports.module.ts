import { Global, Module } from '@nestjs/common';
import { BillingModule, PlanFeaturesQuery } from '#billing';
import { DomainPlan, DomainUsage } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { CampaignDomainUsageQuery, MessagingModule } from '#messaging';

const planBy = (features: PlanFeaturesQuery): DomainPlan => ({
  includesDomain: (scope: ProjectScope) => features.allows(scope, 'customDomain'),
});

/** Gives the deliverability context what it needs of campaigns and plans, which it does not know. */
@Global()
@Module({
  imports: [BillingModule, MessagingModule],
  providers: [
    { provide: DomainUsage, useExisting: CampaignDomainUsageQuery },
    { provide: DomainPlan, useFactory: planBy, inject: [PlanFeaturesQuery] },
  ],
  exports: [DomainPlan, DomainUsage],
})
export class DomainPortsModule {}
