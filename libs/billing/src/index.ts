export { BillingModule } from './billing.module.js';
export { type CreditDiscrepancy, CreditCheckQuery } from './credits/credit-check.query.js';
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
export { PLAN_CATALOGUE } from './plans/plan-catalogue.js';
export { type Plan, type PlanLimits, type PlanTier, UNLIMITED } from './plans/plan.js';
export { type BillingInterval, type BillingPeriod, billingPeriod } from './subscriptions/billing-period.js';
export type { Subscription, SubscriptionStatus } from './subscriptions/subscription.js';
export { SubscriptionsQuery } from './subscriptions/subscriptions.query.js';
export { SubscriptionsService } from './subscriptions/subscriptions.service.js';
export { EmailQuota, type EmailReservation } from './usage/email-quota.service.js';
export { SubscriberLimitQuery } from './usage/subscriber-limit.query.js';
