import { Global, Module } from '@nestjs/common';
import { AudienceFeatures, SubscriberAllowance } from '#audience';
import { BillingModule, PlanFeaturesQuery, SubscriberLimitQuery } from '#billing';

/** Tells the audience what the tenant's plan allows: the two contexts do not know each other. */
@Global()
@Module({
  imports: [BillingModule],
  providers: [
    { provide: AudienceFeatures, useExisting: PlanFeaturesQuery },
    { provide: SubscriberAllowance, useExisting: SubscriberLimitQuery },
  ],
  exports: [AudienceFeatures, SubscriberAllowance],
})
export class SubscriberAllowanceModule {}
