import { Module } from '@nestjs/common';
import { CreditCheckQuery } from './credits/credit-check.query.js';
import { StripeCheckQuery } from './stripe/stripe-check.query.js';
import { CreditsQuery } from './credits/credits.query.js';
import { CreditsService } from './credits/credits.service.js';
import { ExpireCredits } from './credits/expire-credits.task.js';
import { MonthlyCreditsService } from './credits/monthly-credits.service.js';
import { AccessModule } from '#access';
import { InvoiceIssuing } from './invoices/invoice-issuing.service.js';
import { InvoiceLinks } from './invoices/invoice-links.service.js';
import { InvoiceRepository } from './invoices/invoice.repository.js';
import { InvoicesQuery } from './invoices/invoices.query.js';
import { OperatorInvoicesQuery } from './invoices/operator-invoices.query.js';
import { PlanRepository } from './plans/plan.repository.js';
import { PlansQuery } from './plans/plans.query.js';
import { ApplyStripeEvents } from './stripe/apply-stripe-events.task.js';
import { CancelExpiredAtStripe } from './stripe/cancel-expired-at-stripe.task.js';
import { stripeClient } from './stripe/stripe-client.provider.js';
import { StripeApi } from './stripe/stripe-api.service.js';
import { StripeEvents } from './stripe/stripe-events.service.js';
import { StripeInvoices } from './stripe/stripe-invoices.repository.js';
import { StripeSubscriptions } from './stripe/stripe-subscriptions.service.js';
import { StripeSync } from './stripe/stripe-sync.service.js';
import { AdvanceSubscriptions } from './subscriptions/advance-subscriptions.task.js';
import { InvoicePayments } from './subscriptions/invoice-payments.service.js';
import { StripeCancellations } from './subscriptions/stripe-cancellations.repository.js';
import { SubscriptionAccounts } from './subscriptions/subscription-accounts.service.js';
import { SubscriptionChanges } from './subscriptions/subscription-changes.service.js';
import { SubscriptionEffects } from './subscriptions/subscription-effects.service.js';
import { SubscriptionReportQuery } from './subscriptions/subscription-report.query.js';
import { SubscriptionRepository } from './subscriptions/subscription.repository.js';
import { SubscriptionsQuery } from './subscriptions/subscriptions.query.js';
import { SubscriptionsService } from './subscriptions/subscriptions.service.js';
import { CampaignAllowance } from './usage/campaign-allowance.service.js';
import { EmailQuota } from './usage/email-quota.service.js';
import { PlanFeaturesQuery } from './usage/plan-features.query.js';
import { ProjectAllowance } from './usage/project-allowance.service.js';
import { SubscriberLimitQuery } from './usage/subscriber-limit.query.js';
import { UsageQuery } from './usage/usage.query.js';

const services = [
  CreditCheckQuery,
  StripeCheckQuery,
  CreditsQuery,
  CreditsService,
  ExpireCredits,
  MonthlyCreditsService,
  AdvanceSubscriptions,
  ApplyStripeEvents,
  CampaignAllowance,
  CancelExpiredAtStripe,
  EmailQuota,
  InvoiceLinks,
  InvoicePayments,
  InvoicesQuery,
  OperatorInvoicesQuery,
  PlanFeaturesQuery,
  PlansQuery,
  ProjectAllowance,
  StripeEvents,
  StripeSubscriptions,
  SubscriberLimitQuery,
  SubscriptionChanges,
  SubscriptionReportQuery,
  SubscriptionsQuery,
  SubscriptionsService,
  UsageQuery,
];

/** What tenants have subscribed to and how much of it they have used. */
@Module({
  imports: [AccessModule],
  providers: [
    ...services,
    InvoiceIssuing,
    InvoiceRepository,
    PlanRepository,
    StripeApi,
    stripeClient,
    StripeCancellations,
    StripeInvoices,
    StripeSync,
    SubscriptionAccounts,
    SubscriptionEffects,
    SubscriptionRepository,
  ],
  exports: services,
})
export class BillingModule {}
