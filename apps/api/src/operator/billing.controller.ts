import { Body, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { z } from 'zod';
import {
  BILLING_REASONS,
  CreditsQuery,
  CreditsService,
  INVOICE_STATUSES,
  InvoicesQuery,
  PLAN_TIERS,
  PlanRepository,
  SUBSCRIPTION_STATUSES,
  SubscriptionsService,
} from '#billing';
import { AccountsService } from '#operator';
import {
  int64,
  Operation,
  OperatorController,
  pageOf,
  pageQuery,
  PLACES,
  strictBody,
  timestamp,
  toPage,
} from '#platform/http';
import { creditBalanceView } from '../billing/billing.dto.js';
import { leftOut, prose, requiredLine } from '../fields.js';

const INTERVALS = ['MONTHLY', 'YEARLY'] as const;
const cents = int64.meta({ description: 'In minor units of the currency.' });
const currency = z.string().meta({ description: 'ISO 4217.', example: 'EUR' });

export const offeredPlans = z.array(
  z
    .object({
      tier: z.enum(PLAN_TIERS),
      version: z.int(),
      name: z.string(),
      variants: z.array(
        z.object({
          aiCredits: z.int().meta({ description: 'AI credits a month.' }),
          prices: z.array(z.object({ currency, monthlyCents: cents, yearlyCents: cents })),
        }),
      ),
    })
    .meta({ id: 'OfferedPlan' }),
);

export const subscriptionReport = z
  .object({
    tenantKey: z.string(),
    planTier: z.enum(PLAN_TIERS),
    planVersion: z.int(),
    status: z.enum(SUBSCRIPTION_STATUSES),
    billingInterval: z.enum(INTERVALS),
    aiCredits: z.int().meta({ description: 'AI credits a month.' }),
    currency,
    currentPeriodStart: timestamp.nullable(),
    currentPeriodEnd: timestamp.nullable(),
    trialEndsAt: timestamp.nullable(),
    pendingPlanTier: z.enum(PLAN_TIERS).nullable().meta({ description: 'The plan after the period.' }),
    pendingAiCredits: z.int().nullable(),
    pendingBillingInterval: z.enum(INTERVALS).nullable(),
    cancelAtPeriodEnd: z.boolean(),
    cancelledAt: timestamp.nullable(),
    cancellationReason: z.string().nullable(),
    pastDueSince: timestamp.nullable(),
    restrictedSince: timestamp.nullable(),
    endedAt: timestamp.nullable(),
    provider: z.string().meta({ description: 'MANUAL: the operator marks invoices as paid; STRIPE.' }),
    openInvoices: z.int(),
  })
  .meta({ id: 'SubscriptionReport' });

export const changeSubscriptionBody = strictBody({
  tier: leftOut(z.enum(PLAN_TIERS)),
  interval: leftOut(z.enum(INTERVALS)),
  currency: leftOut(z.string().length(3)).transform((code) => code?.toUpperCase()),
  aiCredits: leftOut(z.int().min(0)).meta({ description: 'A month: one of the plan’s variants.' }),
  trialDays: leftOut(z.int().min(0)).meta({ description: 'Days before the first invoice.' }),
  provider: leftOut(z.enum(['MANUAL', 'STRIPE'])).meta({
    description: 'A subscription that is paid through Stripe stays there until it is cancelled.',
  }),
  buyer: strictBody({
    name: leftOut(requiredLine(200)),
    address: leftOut(prose(1000)),
    taxId: leftOut(requiredLine(100)),
  })
    .nullish()
    .meta({ description: 'The buyer on its next invoices; what is left out stays.' }),
}).meta({ id: 'ChangeSubscription' });

export const cancelSubscriptionBody = strictBody({
  when: z.enum(['PERIOD_END', 'NOW']).nullish().meta({ default: 'PERIOD_END' }),
  reason: prose(1000).nullish(),
}).meta({ id: 'CancelSubscription' });

const invoiceListQuery = pageQuery({ status: z.enum(INVOICE_STATUSES).optional() }, [
  PLACES.time,
  PLACES.number,
]);
export const invoicePage = pageOf(
  z
    .object({
      id: int64,
      status: z.enum(INVOICE_STATUSES),
      invoiceNumber: z.string().nullable().meta({ example: 'ACME-2026-000001' }),
      billingReason: z.enum(BILLING_REASONS),
      amountCents: cents,
      currency,
      invoiceUrl: z.string().nullable().meta({
        format: 'uri',
        description: 'A page that needs no key, valid for 30 days; null for a draft.',
      }),
      dueAt: timestamp.nullable(),
      paidAt: timestamp.nullable(),
      createdAt: timestamp,
    })
    .meta({ id: 'TenantInvoice' }),
  'TenantInvoicePage',
);

export const addCreditsBody = strictBody({
  type: z.enum(['GRANT', 'ADJUSTMENT']).meta({ description: 'An ADJUSTMENT may take credits.' }),
  credits: z.int().meta({ description: 'Negative takes credits, at most as many as there are.' }),
  description: prose(200).nullish().meta({ description: 'The reason, in the tenant’s ledger.' }),
}).meta({ id: 'AddCredits' });

@OperatorController('plans', { tag: 'Operator billing' })
export class PlansController {
  constructor(private readonly plans: PlanRepository) {}

  @Get()
  @Operation({
    operationId: 'listOfferedPlans',
    sdk: 'plans.all',
    summary: 'List the plans on offer, with their prices',
    scope: 'billing:read',
    response: { status: 200, schema: offeredPlans },
  })
  async list() {
    return (await this.plans.onOffer()).map(({ tier, version, name, variants }) => ({
      tier,
      version,
      name,
      variants: variants.map(({ aiCredits, prices }) => ({ aiCredits, prices: [...prices] })),
    }));
  }
}

@OperatorController('tenants/:tenantKey', { tag: 'Operator billing' })
export class TenantBillingController {
  constructor(
    private readonly accounts: AccountsService,
    private readonly invoices: InvoicesQuery,
    private readonly balances: CreditsQuery,
    private readonly credits: CreditsService,
  ) {}

  @Get('subscription')
  @Operation({
    operationId: 'getTenantSubscription',
    sdk: 'subscriptions.get',
    summary: 'Get the subscription of a tenant',
    scope: 'billing:read',
    response: { status: 200, schema: subscriptionReport },
  })
  async subscription(@Param('tenantKey') tenantKey: string) {
    return this.accounts.subscription((await this.accounts.tenant(tenantKey)).id);
  }

  @Patch('subscription')
  @Operation({
    operationId: 'changeTenantSubscription',
    sdk: 'subscriptions.update',
    summary: 'Change the subscription of a tenant',
    description: 'Upgrades apply at once, downgrades when the period ends. What is left out stays.',
    scope: 'billing:write',
    body: changeSubscriptionBody,
    response: { status: 200, schema: subscriptionReport },
    problems: [409],
  })
  async change(
    @Param('tenantKey') tenantKey: string,
    @Body({ schema: changeSubscriptionBody }) { buyer, ...wanted }: z.output<typeof changeSubscriptionBody>,
  ) {
    const { id } = await this.accounts.tenant(tenantKey);
    await this.accounts.changeSubscription(id, { ...wanted, buyer: buyer ?? {} });
    return this.accounts.subscription(id);
  }

  @Post('subscription/cancel')
  @Operation({
    operationId: 'cancelTenantSubscription',
    sdk: 'subscriptions.cancel',
    summary: 'Cancel the subscription of a tenant',
    scope: 'billing:write',
    body: cancelSubscriptionBody,
    response: { status: 200, schema: subscriptionReport },
    problems: [409],
  })
  async cancel(
    @Param('tenantKey') tenantKey: string,
    @Body({ schema: cancelSubscriptionBody }) { when, reason }: z.output<typeof cancelSubscriptionBody>,
  ) {
    const { id } = await this.accounts.tenant(tenantKey);
    await this.accounts.cancelSubscription(id, when === 'NOW' ? 'at-once' : 'at-period-end', reason ?? null);
    return this.accounts.subscription(id);
  }

  @Get('invoices')
  @Operation({
    operationId: 'listTenantInvoices',
    sdk: 'invoices.all',
    summary: 'List the invoices of a tenant, newest first',
    description: 'The pages of invoices name the buyer: the audit log has this read.',
    scope: 'billing:read',
    query: invoiceListQuery,
    response: { status: 200, schema: invoicePage },
    showsPeople: true,
  })
  async list(
    @Param('tenantKey') tenantKey: string,
    @Query({ schema: invoiceListQuery }) { status, ...asked }: z.output<typeof invoiceListQuery>,
  ) {
    const { id } = await this.accounts.tenant(tenantKey);
    return toPage(asked, await this.invoices.pageOfTenant(id, status, asked));
  }

  @Get('credits')
  @Operation({
    operationId: 'getTenantCredits',
    sdk: 'credits.balance',
    summary: 'Get the AI credits of a tenant',
    scope: 'billing:read',
    response: { status: 200, schema: creditBalanceView },
  })
  async balance(@Param('tenantKey') tenantKey: string) {
    return this.balances.ofTenant((await this.accounts.tenant(tenantKey)).id);
  }

  @Post('credits')
  @Operation({
    operationId: 'addTenantCredits',
    sdk: 'credits.add',
    summary: 'Grant a tenant AI credits that do not expire, or adjust them',
    description: 'Send an `Idempotency-Key`: an answer that was lost is not booked twice.',
    scope: 'billing:write',
    body: addCreditsBody,
    response: { status: 200, schema: creditBalanceView },
  })
  async add(
    @Param('tenantKey') tenantKey: string,
    @Body({ schema: addCreditsBody }) { description, ...addition }: z.output<typeof addCreditsBody>,
  ) {
    const { id } = await this.accounts.tenant(tenantKey);
    await this.credits.add(id, { ...addition, description: description ?? 'Granted by the operator' });
    return this.balances.ofTenant(id);
  }
}

@OperatorController('invoices', { tag: 'Operator billing' })
export class InvoicesController {
  constructor(private readonly subscriptions: SubscriptionsService) {}

  @Post(':invoiceNumber/pay')
  @Operation({
    operationId: 'payInvoice',
    sdk: 'invoices.pay',
    summary: 'Mark an invoice as paid',
    description: 'Its subscription continues.',
    scope: 'billing:write',
    response: { status: 204 },
    problems: [409],
  })
  async pay(@Param('invoiceNumber') invoiceNumber: string) {
    await this.subscriptions.payInvoice(invoiceNumber);
  }

  @Post(':invoiceNumber/void')
  @Operation({
    operationId: 'voidInvoice',
    sdk: 'invoices.void',
    summary: 'Void an invoice',
    description: 'It keeps its number.',
    scope: 'billing:write',
    response: { status: 204 },
    problems: [409],
  })
  async void(@Param('invoiceNumber') invoiceNumber: string) {
    await this.subscriptions.voidInvoice(invoiceNumber);
  }
}
