import { Injectable } from '@nestjs/common';
import type { Stripe } from 'stripe';
import { DomainValidationError, InvalidStateError, NotFoundError } from '#kernel';
import { Database } from '#platform';
import type { BillingTables } from '../billing-tables.js';
import {
  type OpenSubscription,
  SubscriptionAccountsService,
} from '../subscriptions/subscription-accounts.service.js';
import {
  type ChangeOutcome,
  SubscriptionsService,
  type WantedSubscription,
} from '../subscriptions/subscriptions.service.js';
import { compareTerms, type Terms } from '../subscriptions/terms.js';
import { StripeApiService } from './stripe-api.service.js';
import { outsideState } from './stripe-mapping.js';
import { StripeSyncService } from './stripe-sync.service.js';

/** An object at Stripe that a tenant is billed for and that is unknown here. */
export interface StripeStray {
  readonly tenantId: number;
  /** Stripe's id of the subscription or the invoice. */
  readonly objectId: string;
  /** `told`: by an event; `found`: among the customer's subscriptions. */
  readonly source: 'told' | 'found';
}

/** The operator's changes of subscriptions paid through Stripe, which renews them, makes their invoices and takes the money. */
@Injectable()
export class StripeSubscriptionsService {
  constructor(
    private readonly database: Database,
    private readonly stripe: StripeApiService,
    private readonly accounts: SubscriptionAccountsService,
    private readonly subscriptions: SubscriptionsService,
    private readonly sync: StripeSyncService,
  ) {}

  /** Throws `DomainValidationError` where Stripe is not configured. */
  refuseIfOff(): void {
    if (!this.stripe.isOn)
      throw new DomainValidationError({
        provider: 'must not be STRIPE: STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET are not set',
      });
  }

  /**
   * Begins or changes a tenant's subscription at Stripe. Throws `DomainValidationError`, `InvalidStateError`, or
   * the errors of `StripeApiService`; then nothing of ours was changed.
   */
  async set(tenantId: number, wanted: WantedSubscription): Promise<ChangeOutcome> {
    await this.#keepCustomer(tenantId, wanted);
    const { outcome, invoiceId } = await this.accounts.change(tenantId, async (open) => {
      const terms = await this.subscriptions.termsFor(open.account.state.terms, wanted);
      const externalId = renewedAs(open);
      return externalId === null
        ? this.#create(open, terms, wanted.trialDays)
        : this.#update(open, externalId, terms);
    });
    if (invoiceId !== null) await this.sync.sync(invoiceId);
    return outcome;
  }

  /** Ends it at Stripe when the period is over, or at once. */
  async cancel(tenantId: number, when: 'at-period-end' | 'at-once', reason: string | null): Promise<void> {
    await this.accounts.change(tenantId, async ({ account, subscription: { externalId }, now }) => {
      if (externalId === null) throw new NotFoundError();
      const subscription = await this.stripe.cancel(externalId, when);
      account.cancel(when, reason, now);
      account.follow(outsideState(subscription), now);
    });
  }

  /** Unknown objects that Stripe bills customers for, a request each; from events alone without a key. Throws Stripe's errors. */
  async strays(): Promise<StripeStray[]> {
    const { told, customers } = await this.database.system(async () => ({
      told: await this.#told(),
      customers: await this.#customers(),
    }));
    const strays: StripeStray[] = told.map((stray) => ({ ...stray, source: 'told' }));
    if (!this.stripe.isOn) return strays;
    for (const { tenantId, externalCustomerId, externalId } of customers) {
      const found = await this.database.system(() => this.stripe.strays(externalCustomerId, externalId));
      strays.push(...found.map(({ id }) => ({ tenantId, objectId: id, source: 'found' as const })));
    }
    return strays;
  }

  #told() {
    return this.database
      .tables<BillingTables>()
      .selectFrom('billing.stripe_events')
      .select(['strayTenantId as tenantId', 'objectId'])
      .distinct()
      .where('strayTenantId', 'is not', null)
      .orderBy('strayTenantId')
      .orderBy('objectId')
      .$narrowType<{ tenantId: number }>()
      .execute();
  }

  #customers() {
    return this.database
      .tables<BillingTables>()
      .selectFrom('billing.subscriptions')
      .select(['tenantId', 'externalCustomerId', 'externalId'])
      .where('externalCustomerId', 'is not', null)
      .orderBy('tenantId')
      .$narrowType<{ externalCustomerId: string }>()
      .execute();
  }

  /** Keeps the customer in a transaction of its own: with it, a subscription begun there and not noted here is found again. */
  async #keepCustomer(tenantId: number, wanted: WantedSubscription): Promise<void> {
    await this.accounts.change(tenantId, async (open) => {
      refuseFree(await this.subscriptions.termsFor(open.account.state.terms, wanted));
      if (renewedAs(open) === null) await this.stripe.customer(open.subscription);
    });
  }

  async #create(
    { subscription: ours, account, now }: OpenSubscription,
    terms: Terms,
    trialDays: number | undefined,
  ) {
    const subscription = await this.stripe.begin(ours, terms, trialDays);
    ours.externalId = subscription.id;
    account.handOver(terms, outsideState(subscription), now);
    return { outcome: 'begun' as const, invoiceId: latestInvoice(subscription) };
  }

  async #update({ account, now }: OpenSubscription, externalId: string, terms: Terms) {
    const current = account.state.terms;
    const more = compareTerms(current, terms);
    if (more === 0) return { outcome: 'unchanged' as const, invoiceId: null };
    if (terms.currency !== current.currency || (more < 0 && terms.interval !== current.interval)) {
      throw new InvalidStateError(
        'Stripe cannot go to another currency or a shorter interval: cancel at the period’s end and begin anew.',
        account.state.status,
        ['CANCELLED'],
      );
    }
    const subscription = await this.stripe.change(externalId, terms, more > 0);
    const outcome: 'at-once' | 'at-period-end' = more > 0 ? 'at-once' : 'at-period-end';
    account.note(terms, outcome);
    if (more > 0) account.follow(outsideState(subscription), now);
    return { outcome, invoiceId: more > 0 ? latestInvoice(subscription) : null };
  }
}

function refuseFree({ priceCents, tier }: Terms): void {
  if (priceCents > 0) return;
  throw new InvalidStateError('What is free is not paid through Stripe.', tier, ['STANDARD', 'PRO']);
}

/** Stripe's id of the subscription that it renews; null when none goes on. */
function renewedAs({ account, subscription }: OpenSubscription): string | null {
  const { status, isRenewedElsewhere } = account.state;
  return isRenewedElsewhere && status !== 'CANCELLED' && status !== 'EXPIRED'
    ? subscription.externalId
    : null;
}

function latestInvoice({ latest_invoice: invoice }: Stripe.Subscription): string | null {
  return typeof invoice === 'string' ? invoice : (invoice?.id ?? null);
}
