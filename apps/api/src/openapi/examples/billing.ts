import type { z } from 'zod';
import type {
  creditBalanceView,
  creditTransactionPage,
  invoicePage,
  planList,
  subscriptionView,
  usageView,
} from '../../billing/billing.dto.js';
import { onePage, type WrittenExamples } from './written-example.js';

type Subscription = z.output<typeof subscriptionView>;

const FREE_LIMITS: Subscription['limits'] = {
  maxSubscribers: 10_000,
  maxCampaignsPerMonth: 500,
  maxProjects: 3,
  maxAiRequestsPerMonth: 50,
  maxUsers: 3,
  maxEmailsPerMonth: 50_000,
  customFieldsEnabled: true,
  automationsEnabled: true,
  advancedSegmentsEnabled: true,
  customDomainEnabled: true,
  apiAccessEnabled: true,
  prioritySupport: false,
};

const STANDARD_LIMITS: Subscription['limits'] = {
  ...FREE_LIMITS,
  maxSubscribers: 100_000,
  maxCampaignsPerMonth: 5_000,
  maxProjects: 20,
  maxAiRequestsPerMonth: 1_000,
  maxUsers: 20,
  maxEmailsPerMonth: 1_000_000,
};

const SUBSCRIPTION: Subscription = {
  id: 1,
  planTier: 'STANDARD',
  status: 'ACTIVE',
  billingInterval: 'MONTHLY',
  aiCreditsTier: 500,
  pendingPlanTier: null,
  pendingAiCreditsTier: null,
  pendingPlanEffectiveAt: null,
  currentPeriodStart: '2026-03-01T00:00:00.000Z',
  currentPeriodEnd: '2026-04-01T00:00:00.000Z',
  cancelledAt: null,
  cancellationReason: null,
  cancelAtPeriodEnd: false,
  isSendingAllowed: true,
  limits: STANDARD_LIMITS,
  createdAt: '2026-01-12T08:00:00.000Z',
  updatedAt: '2026-03-01T00:00:00.000Z',
};

const PLANS = [
  {
    tier: 'FREE',
    name: 'Free',
    description: 'For a first product and its first ten thousand readers.',
    limits: FREE_LIMITS,
    variants: [{ id: 1, aiCredits: 50, monthlyPriceCents: 0, yearlyPriceCents: 0, baseCurrency: 'USD' }],
    isCurrent: false,
  },
  {
    tier: 'STANDARD',
    name: 'Standard',
    description: 'For teams that write to their readers every week.',
    limits: STANDARD_LIMITS,
    variants: [
      { id: 2, aiCredits: 500, monthlyPriceCents: 2_900, yearlyPriceCents: 29_000, baseCurrency: 'USD' },
      { id: 3, aiCredits: 1_000, monthlyPriceCents: 3_900, yearlyPriceCents: 39_000, baseCurrency: 'USD' },
    ],
    isCurrent: true,
  },
] satisfies z.output<typeof planList>;

const INVOICES = onePage({
  id: 1,
  externalId: null,
  status: 'PAID',
  amountCents: 2_900,
  currency: 'USD',
  invoiceUrl: 'https://mailwright.example/i/Vb3nXk7Rz0mQ5wTy2HcLpA',
  invoiceNumber: 'ACME-2026-000001',
  billingReason: 'subscription_cycle',
  paidAt: '2026-03-01T00:05:00.000Z',
  createdAt: '2026-03-01T00:00:00.000Z',
}) satisfies z.output<typeof invoicePage>;

const USAGE = {
  subscribersCurrent: 1_310,
  subscribersLimit: 100_000,
  subscribersPercent: 1.31,
  campaignsCurrentMonth: 4,
  campaignsLimit: 5_000,
  campaignsPercent: 0.08,
  projectsCurrent: 1,
  projectsLimit: 20,
  aiCreditsCurrentMonth: 12,
  aiCreditsLimit: 500,
  aiCreditsPercent: 2.4,
  emailsCurrentMonth: 1_300,
  emailsLimit: 1_000_000,
  emailsPercent: 0.13,
} satisfies z.output<typeof usageView>;

const BALANCE = {
  balance: 488,
  creditsDepleted: false,
  lastUpdatedAt: '2026-03-05T08:02:00.000Z',
} satisfies z.output<typeof creditBalanceView>;

const TRANSACTIONS = onePage(
  {
    id: '019cbd04-94c0-7a31-9c3e-2f6b8a4d1ea1',
    type: 'CONSUMPTION',
    amount: -12,
    balanceAfter: 488,
    referenceId: '019cbd04-1f90-7f08-9c3e-2f6b8a4d1ea2',
    description: 'Campaign report',
    createdAt: '2026-03-05T08:02:00.000Z',
  },
  {
    id: '019ca6b1-dc00-7d55-9c3e-2f6b8a4d1ea0',
    type: 'GRANT',
    amount: 500,
    balanceAfter: 500,
    referenceId: null,
    description: 'Monthly credits',
    createdAt: '2026-03-01T00:00:00.000Z',
  },
) satisfies z.output<typeof creditTransactionPage>;

export const BILLING_EXAMPLES: WrittenExamples = {
  getSubscription: { answer: SUBSCRIPTION },
  listPlans: { answer: PLANS },
  listInvoices: { answer: INVOICES },
  getUsage: { answer: USAGE },
  getCreditBalance: { answer: BALANCE },
  listCreditTransactions: { answer: TRANSACTIONS },
};
