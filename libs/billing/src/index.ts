export { billingEntities } from './billing-tables.js';
export { BillingModule } from './billing.module.js';
export { CREDIT_TRANSACTION_TYPES, type CreditBalance, type CreditTransaction } from './credit.js';
export { CreditsQuery } from './credits.query.js';
export { CreditsService } from './credits.service.js';
export { type EmailPlan, EmailQuotaService, isEmailShortage } from './email-quota.service.js';
export { PlanLimitsService } from './plan-limits.service.js';
export {
  BASE_CURRENCY,
  isCurrency,
  type Plan,
  PLAN_TIERS,
  type PlanLimits,
  priceIn,
  UNLIMITED,
} from './plan.js';
export { PlanRepository } from './plan.repository.js';
export { percentOf, SubscriberCount, UsageQuery, type UsageSummary } from './usage.query.js';
export {
  BILLING_REASONS,
  dueCents,
  INVOICE_STATUSES,
  type InvoiceDocument as Invoice,
  type InvoiceLine,
  type InvoiceParty,
  type InvoiceSummary,
} from './invoices/invoice.js';
export { InvoicesQuery, type ListedInvoice } from './invoices/invoices.query.js';
export { InvoicesService } from './invoices/invoices.service.js';
export { StripeEventsService } from './stripe/stripe-events.service.js';
export { StripeSubscriptionsService } from './stripe/stripe-subscriptions.service.js';
export { SUBSCRIPTION_STATUSES } from './subscriptions/subscription-account.js';
export type { BuyerDetails, CurrentSubscription as Subscription } from './subscriptions/subscription.js';
export { type SubscriptionReport, SubscriptionsQuery } from './subscriptions/subscriptions.query.js';
export {
  type ChangeOutcome,
  SubscriptionsService,
  type WantedSubscription,
} from './subscriptions/subscriptions.service.js';
