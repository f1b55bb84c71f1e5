import { Module } from '@nestjs/common';
import { AccessModule } from '#access';
import { CreditsQuery } from './credits.query.js';
import { CreditsService } from './credits.service.js';
import { EmailQuotaService } from './email-quota.service.js';
import { InvoiceRepository } from './invoices/invoice.repository.js';
import { InvoicesQuery } from './invoices/invoices.query.js';
import { InvoicesService } from './invoices/invoices.service.js';
import { PlanLimitsService } from './plan-limits.service.js';
import { PlanRepository } from './plan.repository.js';
import { StripeApiService } from './stripe/stripe-api.service.js';
import { StripeCancellationsService } from './stripe/stripe-cancellations.service.js';
import { stripeClient } from './stripe/stripe-client.provider.js';
import { StripeEventsService } from './stripe/stripe-events.service.js';
import { StripeSubscriptionsService } from './stripe/stripe-subscriptions.service.js';
import { StripeSyncService } from './stripe/stripe-sync.service.js';
import { SubscriptionAccountsService } from './subscriptions/subscription-accounts.service.js';
import { SubscriptionRepository } from './subscriptions/subscription.repository.js';
import { SubscriptionsQuery } from './subscriptions/subscriptions.query.js';
import { SubscriptionsService } from './subscriptions/subscriptions.service.js';
import { UsageQuery } from './usage.query.js';

const INTERNAL = [
  InvoiceRepository,
  StripeApiService,
  stripeClient,
  StripeCancellationsService,
  StripeSyncService,
  SubscriptionAccountsService,
  SubscriptionRepository,
];

const SERVICES = [
  CreditsQuery,
  CreditsService,
  EmailQuotaService,
  InvoicesQuery,
  InvoicesService,
  PlanLimitsService,
  PlanRepository,
  StripeEventsService,
  StripeSubscriptionsService,
  SubscriptionsQuery,
  SubscriptionsService,
  UsageQuery,
];

/** Plans, subscriptions and invoices of tenants, and the use of their plans. */
@Module({ imports: [AccessModule], providers: [...INTERNAL, ...SERVICES], exports: SERVICES })
export class BillingModule {}
