import { Controller, Get, HttpCode, Post, Query, Req } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import {
  BASE_CURRENCY,
  CreditsQuery,
  InvoicesQuery,
  InvoicesService,
  PlanRepository,
  StripeEventsService,
  SubscriptionsQuery,
  UsageQuery,
} from '#billing';
import { NotFoundError, type ProjectScope } from '#kernel';
import { ApiController, InScope, Operation, pageQuery, PLACES, ProblemError, toPage } from '#platform/http';
import {
  creditBalanceView,
  creditTransactionPage,
  invoicePage,
  planList,
  planListQuery,
  subscriptionView,
  toPlanView,
  toSubscriptionView,
  toUsageView,
  usageView,
} from './billing.dto.js';

const invoiceListQuery = pageQuery({}, [PLACES.time, PLACES.number]);

/** Read-only: the operator changes subscriptions. */
@ApiController('billing', { tag: 'Billing' })
export class BillingController {
  constructor(
    private readonly subscriptions: SubscriptionsQuery,
    private readonly planCatalogue: PlanRepository,
    private readonly invoiceList: InvoicesQuery,
    private readonly usages: UsageQuery,
    private readonly links: InvoicesService,
  ) {}

  @Get('subscription')
  @Operation({
    operationId: 'getSubscription',
    sdk: 'billing.subscription',
    summary: 'Get the subscription',
    description: 'The subscription belongs to the tenant: all its projects and both environments share it.',
    scope: 'billing:read',
    response: { status: 200, schema: subscriptionView },
    problems: [404],
  })
  async subscription(@InScope() scope: ProjectScope) {
    const subscription = await this.subscriptions.ofTenant(scope);
    if (subscription === null) throw new NotFoundError();
    return toSubscriptionView(subscription);
  }

  @Get('plans')
  @Operation({
    operationId: 'listPlans',
    sdk: 'billing.plans',
    summary: 'List the plans on offer, smallest first',
    description: 'When a plan changes, existing subscriptions keep their price and limits.',
    scope: 'billing:read',
    query: planListQuery,
    response: { status: 200, schema: planList },
  })
  async plans(
    @InScope() scope: ProjectScope,
    @Query({ schema: planListQuery }) { currency }: z.output<typeof planListQuery>,
  ) {
    const subscription = await this.subscriptions.ofTenant(scope);
    const wanted = currency ?? subscription?.currency ?? BASE_CURRENCY;
    const plans = await this.planCatalogue.onOffer(scope);
    return plans.map((plan) => toPlanView(plan, wanted, subscription?.planTier ?? null));
  }

  @Get('invoices')
  @Operation({
    operationId: 'listInvoices',
    sdk: 'billing.invoices',
    summary: 'List invoices, newest first',
    scope: 'billing:read',
    query: invoiceListQuery,
    response: { status: 200, schema: invoicePage },
  })
  async invoices(
    @InScope() scope: ProjectScope,
    @Query({ schema: invoiceListQuery }) query: z.output<typeof invoiceListQuery>,
  ) {
    const page = await this.invoiceList.page(scope, query);
    const items = page.items.map((invoice) => ({ ...invoice, invoiceUrl: this.links.urlOf(scope, invoice) }));
    return toPage(query, { ...page, items });
  }

  @Get('usage')
  @Operation({
    operationId: 'getUsage',
    sdk: 'billing.usage',
    summary: 'Get the usage of the plan',
    description: 'Months run from one monthly anniversary of the subscription to the next, in UTC.',
    scope: 'billing:read',
    response: { status: 200, schema: usageView },
    problems: [404],
  })
  async usage(@InScope() scope: ProjectScope) {
    return toUsageView(await this.usages.ofTenant(scope));
  }
}

const transactionListQuery = pageQuery({}, [PLACES.number]);

/** AI credits belong to the tenant: all its projects and both environments share them. */
@ApiController('credits', { tag: 'AI credits' })
export class CreditsController {
  constructor(private readonly credits: CreditsQuery) {}

  @Get('balance')
  @Operation({
    operationId: 'getCreditBalance',
    sdk: 'credits.balance',
    summary: 'Get the balance of AI credits',
    scope: 'credits:read',
    response: { status: 200, schema: creditBalanceView },
  })
  balance(@InScope() scope: ProjectScope) {
    return this.credits.balance(scope);
  }

  @Get('transactions')
  @Operation({
    operationId: 'listCreditTransactions',
    sdk: 'credits.transactions',
    summary: 'List the ledger of AI credits, newest first',
    scope: 'credits:read',
    query: transactionListQuery,
    response: { status: 200, schema: creditTransactionPage },
  })
  async transactions(
    @InScope() scope: ProjectScope,
    @Query({ schema: transactionListQuery }) query: z.output<typeof transactionListQuery>,
  ) {
    return toPage(query, await this.credits.transactions(scope, query));
  }
}

const NO_SNAPSHOT =
  'The body is no event with its object: the endpoint at Stripe must send snapshot payloads, not thin ones.';

/** Receives Stripe's events, authenticated by the signature over the body. */
@ApiExcludeController()
@Controller('stripe/webhooks')
export class StripeWebhooksController {
  constructor(private readonly events: StripeEventsService) {}

  /** Answers 200 once the event is stored; a worker processes it. 404 while Stripe is not configured. */
  @Post()
  @HttpCode(200)
  async receive(@Req() request: FastifyRequest): Promise<{ received: true }> {
    if (!this.events.isOn) throw new NotFoundError();
    const signature = request.headers['stripe-signature'];
    const receipt =
      request.rawBody instanceof Buffer && typeof signature === 'string'
        ? await this.events.receive(request.rawBody, signature)
        : 'foreign';
    if (receipt === 'foreign') throw new ProblemError('unauthorized');
    if (receipt === 'unreadable') throw new ProblemError('validation-error', { detail: NO_SNAPSHOT });
    return { received: true };
  }
}
