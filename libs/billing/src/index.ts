export { BillingModule } from './billing.module.js';
export { billingEntities, type BillingTables } from './billing-tables.js';
export { type CreditDiscrepancy, CreditCheckQuery } from './credits/credit-check.query.js';
export { StripeCheckQuery } from './stripe/stripe-check.query.js';
export {
  CREDIT_TRANSACTION_TYPES,
  type CreditBalance,
  type CreditReservation,
  type CreditTransaction,
} from './credits/credit.js';
export { CreditsDepleted } from './credits/credit.events.js';
export { CreditsQuery } from './credits/credits.query.js';
export { CreditsService } from './credits/credits.service.js';
export { ExpireCredits } from './credits/expire-credits.task.js';
export { MonthlyCreditsService } from './credits/monthly-credits.service.js';
export {
  BILLING_REASONS,
  INVOICE_STATUSES,
  dueCents,
  type InvoiceDocument as Invoice,
  type InvoiceLine,
  type InvoiceParty,
  type InvoiceSummary,
} from './invoices/invoice.js';
export { InvoiceLinks } from './invoices/invoice-links.service.js';
export { type ListedInvoice, OperatorInvoicesQuery } from './invoices/operator-invoices.query.js';
export { InvoicePayments } from './subscriptions/invoice-payments.service.js';
export { InvoicesQuery } from './invoices/invoices.query.js';
export { isCurrency } from './plans/currency.js';
export {
  BASE_CURRENCY,
  type Plan,
  PLAN_TIERS,
  type PlanLimits,
  type PlanTier,
  priceIn,
  UNLIMITED,
} from './plans/plan.js';
export { PlansQuery } from './plans/plans.query.js';
export { ApplyStripeEvents } from './stripe/apply-stripe-events.task.js';
export { CancelExpiredAtStripe } from './stripe/cancel-expired-at-stripe.task.js';
export { StripeEvents } from './stripe/stripe-events.service.js';
export { StripeSubscriptions } from './stripe/stripe-subscriptions.service.js';
export { AdvanceSubscriptions } from './subscriptions/advance-subscriptions.task.js';
export { type BillingInterval, type BillingPeriod, billingPeriod } from './subscriptions/billing-period.js';
export {
  type ChangeOutcome,
  SubscriptionChanges,
  type WantedSubscription,
} from './subscriptions/subscription-changes.service.js';
export {
  type SubscriptionReport,
  SubscriptionReportQuery,
} from './subscriptions/subscription-report.query.js';
export { SubscriptionPeriodStarted } from './subscriptions/subscription.events.js';
export { SUBSCRIPTION_STATUSES, type SubscriptionStatus } from './subscriptions/subscription-status.js';
export type { BuyerDetails, CurrentSubscription as Subscription } from './subscriptions/subscription.js';
export { SubscriptionsQuery } from './subscriptions/subscriptions.query.js';
export { SubscriptionsService } from './subscriptions/subscriptions.service.js';
export { CampaignAllowance } from './usage/campaign-allowance.service.js';
export { EmailQuota, type EmailReservation } from './usage/email-quota.service.js';
export { PlanFeaturesQuery } from './usage/plan-features.query.js';
export { ProjectAllowance } from './usage/project-allowance.service.js';
export { SubscriberLimitQuery } from './usage/subscriber-limit.query.js';
export { SubscriberCount } from './usage/usage-sources.js';
export { percentOf, type UsageSummary } from './usage/usage.js';
export { UsageQuery } from './usage/usage.query.js';
