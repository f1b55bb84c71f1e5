import { Module } from '@nestjs/common';
import { BillingModule } from '#billing';
import { BillingController } from './billing.controller.js';
import { CreditsController } from './credits.controller.js';
import { StripeWebhooksController } from './stripe-webhooks.controller.js';

/** Subscription, plans, invoices, usage and AI credits over HTTP. */
@Module({
  imports: [BillingModule],
  controllers: [BillingController, CreditsController, StripeWebhooksController],
})
export class BillingApiModule {}
