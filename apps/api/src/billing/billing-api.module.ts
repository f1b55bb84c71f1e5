import { Module } from '@nestjs/common';
import { BillingModule } from '#billing';
import { BillingController } from './billing.controller.js';
import { StripeWebhooksController } from './stripe-webhooks.controller.js';

/** Subscription, plans, invoices and usage over HTTP. */
@Module({ imports: [BillingModule], controllers: [BillingController, StripeWebhooksController] })
export class BillingApiModule {}
