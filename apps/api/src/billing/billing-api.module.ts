import { Module } from '@nestjs/common';
import { BillingModule } from '#billing';
import { BillingController } from './billing.controller.js';
import { InvoiceLinks } from './invoice-links.service.js';

/** Subscription, plans, invoices and usage over HTTP. */
@Module({ imports: [BillingModule], controllers: [BillingController], providers: [InvoiceLinks] })
export class BillingApiModule {}
