import { Global, Module } from '@nestjs/common';
import { BillingModule, PlanFeaturesQuery } from '#billing';
import { DomainPlan, DomainUsage } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { CampaignDomainUsageQuery, MessagingModule } from '#messaging';

const planBy = (features: PlanFeaturesQuery): DomainPlan => ({
  includesDomain: (scope: ProjectScope) => features.allows(scope, 'customDomain'),
});

/** Tells whether a domain's mail is on its way, and who may have one: who knows domains does not know campaigns or plans. */
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
