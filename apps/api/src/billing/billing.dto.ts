import { z } from 'zod';
import {
  BILLING_REASONS,
  CREDIT_TRANSACTION_TYPES,
  INVOICE_STATUSES,
  isCurrency,
  percentOf,
  type Plan,
  PLAN_TIERS,
  priceIn,
  type Subscription,
  SUBSCRIPTION_STATUSES,
  type UsageSummary,
} from '#billing';
import { type Answer, int64, pageOf, timestamp } from '#platform/http';

const limit = (of: string) => z.int().meta({ description: `${of}; −1 is unlimited.` });
const cents = int64.meta({ description: 'In minor units of the currency.', example: 2_900 });
const currency = z.string().meta({ description: 'ISO 4217.', example: 'USD' });

const planLimits = z
  .object({
    maxSubscribers: limit('Subscribers in the live environments of all projects together'),
    maxCampaignsPerMonth: limit('Campaigns created in live environments in a month of the subscription'),
    maxProjects: limit('Projects'),
    maxAiRequestsPerMonth: limit('Requests to AI features in a month of the subscription'),
    maxUsers: limit('People'),
    maxEmailsPerMonth: limit('E-mails of live environments in a month of the subscription'),
    customFieldsEnabled: z.boolean(),
    automationsEnabled: z.boolean(),
    advancedSegmentsEnabled: z.boolean(),
    customDomainEnabled: z.boolean(),
    apiAccessEnabled: z.boolean(),
    prioritySupport: z.boolean(),
  })
  .meta({ id: 'PlanLimits' });

const planTier = z.enum(PLAN_TIERS);
const aiCredits = z.int().meta({ description: 'AI credits a month.' });

export const subscriptionView = z
  .object({
    id: int64.nullable(),
    planTier: planTier.nullable(),
    status: z.enum(SUBSCRIPTION_STATUSES).nullable(),
    billingInterval: z.enum(['MONTHLY', 'YEARLY']).nullable(),
    aiCreditsTier: aiCredits
      .nullable()
      .meta({ description: 'Included AI credits a month: the `aiCredits` of its variant.' }),
    pendingPlanTier: planTier
      .nullable()
      .meta({ description: 'The plan from the end of the period; null when it does not change.' }),
    pendingAiCreditsTier: aiCredits.nullable(),
    pendingPlanEffectiveAt: timestamp.nullable(),
    currentPeriodStart: timestamp.nullable(),
    currentPeriodEnd: timestamp.nullable(),
    cancelledAt: timestamp.nullable().meta({ description: 'When the cancellation was requested.' }),
    cancellationReason: z.string().nullable(),
    cancelAtPeriodEnd: z.boolean(),
    isSendingAllowed: z.boolean(),
    limits: planLimits,
    createdAt: timestamp.nullable(),
    updatedAt: timestamp.nullable(),
  })
  .meta({ id: 'Subscription' });

export function toSubscriptionView(subscription: Subscription): Answer<typeof subscriptionView> {
  const { currentPeriod, pendingPlanTier } = subscription;
  return {
    id: subscription.id,
    planTier: subscription.planTier,
    status: subscription.status,
    billingInterval: subscription.billingInterval,
    aiCreditsTier: subscription.aiCredits,
    pendingPlanTier,
    pendingAiCreditsTier: subscription.pendingAiCredits,
    pendingPlanEffectiveAt: pendingPlanTier === null ? null : currentPeriod.end,
    currentPeriodStart: currentPeriod.start,
    currentPeriodEnd: currentPeriod.end,
    cancelledAt: subscription.cancelledAt,
    cancellationReason: subscription.cancellationReason,
    cancelAtPeriodEnd: subscription.cancelAtPeriodEnd,
    isSendingAllowed: subscription.isSendingAllowed,
    limits: subscription.limits,
    createdAt: subscription.createdAt,
    updatedAt: subscription.updatedAt,
  };
}

export const planListQuery = z.object({
  currency: z
    .string()
    .transform((code) => code.toUpperCase())
    .refine(isCurrency, { error: 'must be an ISO 4217 currency code' })
    .optional()
    .meta({
      description:
        'ISO 4217. Default: the currency of the subscription, else USD. A plan without prices in this currency shows them in USD; `baseCurrency` says which.',
      example: 'EUR',
    }),
});

const planView = z
  .object({
    tier: planTier.nullable(),
    name: z.string().nullable(),
    description: z.string().nullable(),
    limits: planLimits,
    variants: z.array(
      z
        .object({
          id: int64.nullable(),
          aiCredits,
          monthlyPriceCents: cents,
          yearlyPriceCents: cents,
          baseCurrency: currency.nullable(),
        })
        .meta({ id: 'PlanVariant' }),
    ),
    isCurrent: z.boolean().meta({ description: 'Whether the tenant is subscribed to this plan.' }),
  })
  .meta({ id: 'Plan' });

export const planList = z.array(planView);

export function toPlanView(
  { tier, name, description, limits, variants }: Plan,
  wantedCurrency: string,
  currentTier: string | null,
): Answer<typeof planView> {
  return {
    tier,
    name,
    description,
    limits,
    variants: variants.map((variant) => {
      const price = priceIn(variant, wantedCurrency);
      return {
        id: variant.id,
        aiCredits: variant.aiCredits,
        monthlyPriceCents: price.monthlyCents,
        yearlyPriceCents: price.yearlyCents,
        baseCurrency: price.currency,
      };
    }),
    isCurrent: tier === currentTier,
  };
}

const invoiceView = z
  .object({
    id: int64.nullable(),
    externalId: z.string().nullable().meta({ description: 'The payment provider’s id.' }),
    status: z.enum(INVOICE_STATUSES).nullable(),
    amountCents: cents.meta({ description: 'The amount due including tax, in minor units of the currency.' }),
    currency: currency.nullable(),
    invoiceUrl: z.string().nullable().meta({
      format: 'uri',
      description: 'A page that needs no key, valid for 30 days. Append `.pdf` for a PDF.',
    }),
    invoiceNumber: z.string().nullable().meta({ example: 'ACME-2026-000001' }),
    billingReason: z.enum(BILLING_REASONS).nullable(),
    paidAt: timestamp.nullable(),
    createdAt: timestamp.nullable(),
  })
  .meta({ id: 'Invoice' });

export const invoicePage = pageOf(invoiceView, 'InvoicePage');

const percent = z
  .number()
  .meta({ description: '0–100 with two decimals; 0 without a limit.', example: 12.34 });

export const usageView = z
  .object({
    subscribersCurrent: int64,
    subscribersLimit: limit('Subscribers'),
    subscribersPercent: percent,
    campaignsCurrentMonth: int64,
    campaignsLimit: limit('Campaigns a month'),
    campaignsPercent: percent,
    projectsCurrent: int64,
    projectsLimit: limit('Projects'),
    aiCreditsCurrentMonth: int64,
    aiCreditsLimit: limit('AI credits a month'),
    aiCreditsPercent: percent,
    emailsCurrentMonth: int64.meta({
      description: 'E-mails sent, and reserved for campaigns that are queued or sending.',
    }),
    emailsLimit: limit('E-mails a month'),
    emailsPercent: percent,
  })
  .meta({ id: 'UsageSummary' });

export function toUsageView(usage: UsageSummary): Answer<typeof usageView> {
  return {
    subscribersCurrent: usage.subscribers.current,
    subscribersLimit: usage.subscribers.limit,
    subscribersPercent: percentOf(usage.subscribers),
    campaignsCurrentMonth: usage.campaigns.current,
    campaignsLimit: usage.campaigns.limit,
    campaignsPercent: percentOf(usage.campaigns),
    projectsCurrent: usage.projects.current,
    projectsLimit: usage.projects.limit,
    aiCreditsCurrentMonth: usage.aiCredits.current,
    aiCreditsLimit: usage.aiCredits.limit,
    aiCreditsPercent: percentOf(usage.aiCredits),
    emailsCurrentMonth: usage.emails.current,
    emailsLimit: usage.emails.limit,
    emailsPercent: percentOf(usage.emails),
  };
}

export const creditBalanceView = z
  .object({
    balance: int64.meta({
      description: 'The available credits, without those reserved for work in progress.',
    }),
    creditsDepleted: z
      .boolean()
      .meta({ description: 'Whether no credits are left, or fewer than the last refused request needed.' }),
    lastUpdatedAt: timestamp.nullable(),
  })
  .meta({ id: 'CreditBalance' });

const creditTransactionView = z
  .object({
    id: z.uuid(),
    type: z.enum(CREDIT_TRANSACTION_TYPES).nullable(),
    amount: int64.meta({ description: 'Credits added; negative for credits taken.', example: -12 }),
    balanceAfter: int64.meta({ description: 'The sum of all amounts up to this one.' }),
    referenceId: z
      .uuid()
      .nullable()
      .meta({ description: 'What used the credits, such as a version of a report.' }),
    description: z.string().nullable(),
    createdAt: timestamp,
  })
  .meta({ id: 'CreditTransaction' });

export const creditTransactionPage = pageOf(creditTransactionView, 'CreditTransactionPage');
