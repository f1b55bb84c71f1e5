import { Global, Module } from '@nestjs/common';
import { AudienceModule, SubscriberLimitService } from '#audience';
import { BillingModule, SubscriberCount } from '#billing';
import { BillingController, CreditsController, StripeWebhooksController } from './billing.controller.js';

/** Subscription, plans, invoices, usage and AI credits over HTTP. */
@Module({
  imports: [BillingModule],
  controllers: [BillingController, CreditsController, StripeWebhooksController],
})
export class BillingApiModule {}

/** Gives billing the usage that other contexts count: contexts do not know each other. */
@Global()
@Module({
  imports: [AudienceModule],
  providers: [{ provide: SubscriberCount, useExisting: SubscriberLimitService }],
  exports: [SubscriberCount],
})
export class UsageSourcesModule {}
