import { defineEntity, p } from '@mikro-orm/postgresql';
import type { PlanTier } from '../plan.js';
import type { BillingInterval } from './billing-period.js';
import type { SubscriptionStatus } from './subscription-account.js';
import { type PaymentProviderName, Subscription } from './subscription.js';

/** billing.subscriptions, but for `next_due_at`: the repository keeps that time, in which −infinity and infinity stand. */
export const SubscriptionSchema = defineEntity({
  class: Subscription,
  tableName: 'subscriptions',
  schema: 'billing',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    tenantId: p.bigint('number'),
    status: p.string().$type<SubscriptionStatus>(),
    planTier: p.string().$type<PlanTier>(),
    planVersionId: p.bigint('number').nullable(),
    billingInterval: p.string().$type<BillingInterval>(),
    aiCredits: p.integer().nullable(),
    currency: p.text().default('USD'),
    pendingPlanTier: p.string().$type<PlanTier>().nullable(),
    pendingPlanVersionId: p.bigint('number').nullable(),
    pendingBillingInterval: p.string().$type<BillingInterval>().nullable(),
    pendingAiCredits: p.integer().nullable(),
    pendingCurrency: p.text().nullable(),
    anchoredAt: p.datetime(3),
    currentPeriodStart: p.datetime(3).nullable(),
    currentPeriodEnd: p.datetime(3).nullable(),
    trialEndsAt: p.datetime(3).nullable(),
    cancelAtPeriodEnd: p.boolean().default(false),
    cancelledAt: p.datetime(3).nullable(),
    cancellationReason: p.text().nullable(),
    pastDueSince: p.datetime(3).nullable(),
    restrictedSince: p.datetime(3).nullable(),
    endedAt: p.datetime(3).nullable(),
    provider: p.string().$type<PaymentProviderName>().default('MANUAL'),
    externalId: p.text().nullable(),
    externalCustomerId: p.text().nullable(),
    buyerName: p.text().nullable(),
    buyerAddress: p.text().nullable(),
    buyerTaxId: p.text().nullable(),
    announcedMonth: p.datetime(3).nullable(),
    announcedCredits: p.integer().nullable(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
  },
});
