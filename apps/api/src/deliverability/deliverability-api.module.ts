import { Global, Module } from '@nestjs/common';
import { AudienceModule, UsageCatalogueService } from '#audience';
import { BillingModule, PlanLimitsService } from '#billing';
import { DomainPlan, DomainUsage, BouncesModule, SendingDomainsModule } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { FeedbackController } from './feedback.controller.js';
import { RelaysController } from './relays.controller.js';
import { SendingDomainController } from './sending-domain.controller.js';

/** The sending domain, the relays and what they report over HTTP. */
@Module({
  imports: [BouncesModule, SendingDomainsModule],
  controllers: [FeedbackController, RelaysController, SendingDomainController],
})
export class DeliverabilityApiModule {}

const planBy = (features: PlanLimitsService): DomainPlan => ({
  includesDomain: (scope: ProjectScope) => features.allows(scope, 'customDomain'),
});

const usageBy = (usage: UsageCatalogueService): DomainUsage => ({
  async refuseIfUsed(scope: ProjectScope) {
    await usage.close(scope);
    await usage.refuseIfUsed(scope, 'The sending domain', { kind: 'sending domain' });
  },
});

/** Gives the deliverability context what it needs of senders and plans, which it does not know. */
@Global()
@Module({
  imports: [AudienceModule, BillingModule],
  providers: [
    { provide: DomainUsage, useFactory: usageBy, inject: [UsageCatalogueService] },
    { provide: DomainPlan, useFactory: planBy, inject: [PlanLimitsService] },
  ],
  exports: [DomainPlan, DomainUsage],
})
export class DomainPortsModule {}
