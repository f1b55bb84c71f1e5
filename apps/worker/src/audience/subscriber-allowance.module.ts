import { Global, Module } from '@nestjs/common';
import { SubscriberAllowance } from '#audience';
import { BillingModule, SubscriberLimitQuery } from '#billing';

/** Tells the audience what the tenant's plan allows: the two contexts do not know each other. */
@Global()
@Module({
  imports: [BillingModule],
  providers: [{ provide: SubscriberAllowance, useExisting: SubscriberLimitQuery }],
  exports: [SubscriberAllowance],
})
export class SubscriberAllowanceModule {}
