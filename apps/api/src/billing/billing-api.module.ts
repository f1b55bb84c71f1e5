import { Module } from '@nestjs/common';
import { BillingModule } from '#billing';
import { BillingController } from './billing.controller.js';

/** Subscription, plans, invoices and usage over HTTP. */
@Module({ imports: [BillingModule], controllers: [BillingController] })
export class BillingApiModule {}
